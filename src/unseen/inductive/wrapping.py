"""How a meta-estimator looks at the estimator it wraps."""

from __future__ import annotations

from typing import Any

from unseen.inductive.eszsl import ESZSL


def wrapped(meta: Any) -> Any:
    """Return the estimator inside; ESZSL when none was given."""
    return ESZSL() if meta.estimator is None else meta.estimator


def wrapped_parameters(meta: Any) -> tuple[object, Any]:
    """Return the semantics and candidates in force: the meta-estimator's own, or those inside."""
    semantics, candidates = wrapped(meta)._parameters()
    return (
        semantics if meta.semantics is None else meta.semantics,
        candidates if meta.candidates is None else meta.candidates,
    )

"""How a fitted model leaves its process: as a file, as a formula, or as a copy for a worker."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from importlib import import_module
from os import PathLike
from typing import Any, ClassVar

from unseen.statistics.scorer import Scorer
from unseen.typing import Array

NOTED = ("transduction_", "labelled_round_")
"""What a fitted model notes of its training rows: no worker needs it."""


class ExportableModel:
    """A model that can be written to a file and, if its scores are a formula, to other formats."""

    _write_file: ClassVar[Callable[[Any, str | PathLike[str]], None]]
    """Set by :mod:`unseen.persistence`: estimators know no files."""

    def save(self, path: str | PathLike[str]) -> None:
        """Write the fitted model to one file, which :func:`unseen.load` reads.

        The file holds numbers and texts, never code. An old file is replaced only when the new one is
        complete. See the guide for what is in it.

        Parameters
        ----------
        path : str or path
            By custom it ends in ``.safetensors``.
        """
        if not hasattr(type(self), "_write_file"):
            import_module("unseen.persistence")  # sets it: estimators themselves know no files
        type(self)._write_file(self, path)

    def _scorer(self, vectors: Array) -> Scorer:
        """Return what ``_scores(X, vectors)`` computes, as a formula that can be written elsewhere.

        A model whose scores have another form leaves this as it is, and is not exported.
        """
        raise NotImplementedError

    def _formula(self, vectors: Array) -> Scorer:
        """Return ``_scorer``, unless a subclass has written ``_scores`` anew and left it behind."""
        for cls in type(self).__mro__:
            if "_scorer" in vars(cls):
                return self._scorer(vectors)
            if "_scores" in vars(cls):
                break
        raise NotImplementedError


def bare(model: object) -> Any:
    """Return a copy of a fitted model without what it noted of its training rows, to be sent."""
    sent = copy(model)
    for name in NOTED:
        vars(sent).pop(name, None)
    if hasattr(sent, "estimator_"):
        sent.estimator_ = bare(sent.estimator_)
    return sent

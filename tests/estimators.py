"""Every method of the library, and variants of some: the contract suites run over these.

The methods come from the catalogue, so a new one is here without an entry.
"""

from __future__ import annotations

import copy
from typing import Any

from sklearn.base import clone
from threadpoolctl import threadpool_limits

from toys import Toy
from unseen import ASTE, ESZSL, SJE, TASTE, FastTraining, PrototypeRidge, SelfPaced, SynC
from unseen.methods import find, select


def build_all(*, transductive: bool) -> list[Any]:
    """Build our methods of one kind that learn from labelled rows, with their defaults, seeded."""
    methods = [find(name) for name in select(transductive=transductive, fast=False)]
    own = [m for m in methods if m.package == "unseen" and m.estimator.needs_labelled_rows]
    return [m.build(random_state=0) for m in own]


INDUCTIVE: list[Any] = [*build_all(transductive=False), SynC(loss="struct", random_state=0)]
TRANSDUCTIVE: list[Any] = [TASTE(), SelfPaced(ESZSL()), FastTraining(TASTE())]
ESTIMATORS: list[Any] = [
    *INDUCTIVE,
    *build_all(transductive=True),
    SelfPaced(ESZSL()),
    FastTraining(TASTE()),
    ASTE(solver="sgd", max_iter=5, random_state=0),
    FastTraining(ESZSL()),
    FastTraining(ASTE()),
    FastTraining(PrototypeRidge()),
    FastTraining(SJE(random_state=0)),
    SelfPaced(FastTraining(ESZSL())),
    FastTraining(SelfPaced(PrototypeRidge())),
    SelfPaced(SJE(random_state=0), selection="threshold"),
]


_FITS: dict[tuple[int, bytes], Any] = {}


def fitted(estimator: Any, toy: Toy, **changes: Any) -> Any:
    """Return the estimator, fitted to the seen rows and the pool of a toy.

    Many tests begin with the same fit of one of ``ESTIMATORS``: it is made once in a process, and each
    test has a copy of its own. It takes one thread.
    """
    model = clone(estimator).set_params(**({"semantics": toy.semantics} | changes))
    place = next((i for i, known in enumerate(ESTIMATORS) if known is estimator), None)
    if place is None or changes:
        return model.fit(*toy.transductive())
    key = (place, toy.X.tobytes())
    if key not in _FITS:
        with threadpool_limits(1):
            _FITS[key] = model.fit(*toy.transductive())
    return copy.deepcopy(_FITS[key])


def name_of(estimator: Any) -> str:
    """A short name for a test id: Fast(SelfPaced(ESZSL))."""
    own = type(estimator).__name__
    inner = getattr(estimator, "estimator", None)
    if inner is not None:
        return f"{own}({name_of(inner)})"
    return (
        own
        + ("-sgd" if getattr(estimator, "solver", "") == "sgd" else "")
        + ("-struct" if getattr(estimator, "loss", "") == "struct" else "")
    )

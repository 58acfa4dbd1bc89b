"""Every public estimator, once: the contract suites run over these."""

from __future__ import annotations

from typing import Any

from unseen import (
    ASTE,
    ESZSL,
    RKT,
    SJE,
    SMS,
    TASTE,
    TMVHLP,
    UDA,
    BiDiLEL,
    FastTraining,
    MaxMarginSSL,
    PrototypePropagation,
    PrototypeRidge,
    SelfPaced,
    SelfPacedPrototypes,
    SemiSupervisedClustering,
    WDVSc,
)

INDUCTIVE: list[Any] = [PrototypeRidge(), ESZSL(), SJE(random_state=0), ASTE()]
TRANSDUCTIVE: list[Any] = [TASTE(), SelfPaced(ESZSL()), FastTraining(TASTE())]
ESTIMATORS: list[Any] = [
    *INDUCTIVE,
    *TRANSDUCTIVE,
    ASTE(solver="sgd", max_iter=5, random_state=0),
    FastTraining(ESZSL()),
    FastTraining(ASTE()),
    FastTraining(PrototypeRidge()),
    FastTraining(SJE(random_state=0)),
    SelfPaced(FastTraining(ESZSL())),
    SelfPacedPrototypes(random_state=0),
    FastTraining(SelfPacedPrototypes(random_state=0)),
    FastTraining(SelfPaced(PrototypeRidge())),
    SelfPaced(SJE(random_state=0), selection="threshold"),
    WDVSc(),
    PrototypePropagation(),
    BiDiLEL(),
    UDA(),
    SMS(),
    TMVHLP(),
    SemiSupervisedClustering(),
    RKT(),
    MaxMarginSSL(random_state=0),
]


def name_of(estimator: Any) -> str:
    """A short name for a test id: Fast(SelfPaced(ESZSL))."""
    own = type(estimator).__name__
    inner = getattr(estimator, "estimator", None)
    if inner is not None:
        return f"{own}({name_of(inner)})"
    return own + ("-sgd" if getattr(estimator, "solver", "") == "sgd" else "")

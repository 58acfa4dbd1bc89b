"""Every public estimator, once: the contract suites run over these."""

from __future__ import annotations

from typing import Any

from unseen import (
    ALE,
    ASTE,
    CMT,
    DAP,
    ESZSL,
    HAT,
    IAP,
    JLSE,
    KDICA,
    RKT,
    SAE,
    SJE,
    SMS,
    SSE,
    TASTE,
    TMVHLP,
    UDA,
    BiDiLEL,
    DeViSE,
    FastTraining,
    LatEm,
    MaxMarginSSL,
    MetricZSL,
    PrototypePropagation,
    PrototypeRidge,
    SelfPaced,
    SelfPacedPrototypes,
    SemiSupervisedClustering,
    SynC,
    WDVSc,
)

STOCHASTIC: list[Any] = [
    SJE(random_state=0),
    DeViSE(random_state=0),
    ALE(random_state=0),
    LatEm(random_state=0),
    SSE(random_state=0),
    SynC(loss="struct", random_state=0),
]
INDUCTIVE: list[Any] = [
    PrototypeRidge(),
    ESZSL(),
    ASTE(),
    *STOCHASTIC,
    CMT(),
    DAP(),
    HAT(),
    IAP(),
    JLSE(),
    KDICA(),
    MetricZSL(),
    SAE(),
    SynC(),
]
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
    SelfPacedPrototypes(),
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
    return (
        own
        + ("-sgd" if getattr(estimator, "solver", "") == "sgd" else "")
        + ("-struct" if getattr(estimator, "loss", "") == "struct" else "")
    )

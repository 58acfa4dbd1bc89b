"""One small run that the suite shares: every kind of cell, on simulated rows."""

from __future__ import annotations

import pytest

from unseen.experiments import Experiment, Specification, Store, make_plan, run
from unseen.experiments.generalised_settings import GENERALISED

TINY = "simulated-aPY@0.03x32"
SMALL = "simulated-AwA@0.01x24"
METHODS = (
    *("PrototypeRidge", "Fast-PrototypeRidge", "ESZSL", "Fast-ESZSL", "SJE", "ASTE", "Fast-ASTE"),
    *("TASTE", "Fast-TASTE", "SelfPacedPrototypes"),
)
PUBLISHED = ("ESZSL", "Fast-ESZSL", "SAE", "WDVSc", "RKT")
FIXED = (("margin", "fixed"), ("max_iter", 2))
PRIORS = ("uniform", "estimated", "known")


@pytest.fixture(scope="session")
def specification():
    return Specification(
        "tiny",
        (
            Experiment("data", (TINY,), ("audit", "A-distance")),
            Experiment("main", (TINY,), METHODS, trials=2),
            Experiment("another", (SMALL,), ("ESZSL", "ASTE", "Fast-ASTE", "TASTE")),
            Experiment("general", (TINY,), ("ASTE", "TASTE"), settings=tuple(GENERALISED)),
            Experiment("priors", (TINY,), ("TASTE", "SelfPacedPrototypes"), priors=PRIORS),
            Experiment("shares", (TINY,), ("ESZSL",), trials=2, shares=(0.0, 0.5, 1.0)),
            Experiment("C", (TINY,), ("ASTE",), C=(0.1, 1.0, 10.0)),
            Experiment("printed", (TINY,), ("ESZSL", "ASTE", "Fast-ASTE", "TASTE"), preset="printed"),
            Experiment("published", (TINY,), PUBLISHED, preset="published"),
            Experiment("fixed", (TINY,), ("ASTE",), preset="published", parameters=FIXED),
        ),
    )


@pytest.fixture(scope="session")
def finished(specification, tmp_path_factory):
    """The plan and an open store that holds all of it."""
    plan = make_plan(specification)
    with Store(tmp_path_factory.mktemp("run") / "results.sqlite") as store:
        run(plan, store)
        yield plan, store

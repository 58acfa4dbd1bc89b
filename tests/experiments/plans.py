"""Plans that tests build for themselves."""

from __future__ import annotations

from unseen.experiments import Experiment, Plan, Specification, make_plan


def tiny_plan(methods: tuple[str, ...], trials: int = 1) -> Plan:
    wanted = Experiment("tiny", ("simulated-aPY@0.03x32",), methods, trials=trials)
    return make_plan(Specification("tiny", (wanted,)))

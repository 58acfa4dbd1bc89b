"""How many modules a fit walks through, and how often it goes back and forth between them.

A stranger who follows a fit with a debugger enters these modules. The limits are the figures of today:
a change that needs more should say why, and one that needs fewer should lower them.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import FrameType

import pytest

import unseen
from unseen.datasets import load_letters_to_digits

ROOT = Path(unseen.__file__).parent
NOT_STEPS = ("<module>", "<genexpr>", "<listcomp>", "<dictcomp>", "<lambda>")

LIMITS = {
    "ASTE": (11, 20, 1),
    "TASTE": (22, 49, 2),
    "SelfPacedPrototypes": (15, 27, 0),
}
"""Modules, ways from one module to another, and pairs of modules that call each other both ways."""


@cache
def module_of(file: str) -> str | None:
    path = Path(file)
    return path.relative_to(ROOT).as_posix() if path.is_relative_to(ROOT) else None


def walked(run: Callable[[], object]) -> tuple[set[str], set[tuple[str, str]]]:
    """Return the modules that a call enters, and the ways between them."""
    modules: set[str] = set()
    ways: set[tuple[str, str]] = set()

    def step(frame: FrameType, event: str, _: object) -> None:
        here = module_of(frame.f_code.co_filename) if event == "call" else None
        if here is None or frame.f_code.co_name in NOT_STEPS:
            return
        modules.add(here)
        above = frame.f_back
        while above is not None and (caller := module_of(above.f_code.co_filename)) is None:
            above = above.f_back
        if above is not None and caller != here:
            ways.add((caller, here))

    sys.setprofile(step)
    try:
        run()
    finally:
        sys.setprofile(None)
    return modules, ways


@pytest.mark.parametrize("name", LIMITS)
def test_a_fit_is_no_longer_a_walk_than_it_was(name: str) -> None:
    data = load_letters_to_digits()
    X, y = data.transductive()

    def run() -> None:
        model = getattr(unseen, name)(data.semantics)
        if name == "ASTE":
            model.fit(data.X[data.train], data.y[data.train]).predict(data.X[data.test_unseen])
        else:
            model.fit(X, y)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run()  # what is imported when it is needed is imported now
        modules, ways = walked(run)
    both = {pair for pair in ways if pair[::-1] in ways}
    figures = len(modules), len(ways), len(both) // 2
    longer = [have > limit for have, limit in zip(figures, LIMITS[name], strict=True)]
    assert not any(longer), f"{name}: {figures}, and before {LIMITS[name]}; {sorted(ways)}"

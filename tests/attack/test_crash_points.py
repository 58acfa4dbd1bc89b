"""Kills inside every kind of write, and power losses after each step of it; `make attack` has more."""

from __future__ import annotations

import shutil
import sys

import pytest
from crash_points import SCENES, run_crash_points

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="needs LD_PRELOAD and /proc"),
    pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler"),
]
KILLS = 3


def test_kills_inside_every_kind_of_write_and_power_losses_lose_nothing(tmp_path):
    found = run_crash_points(KILLS, tmp_path)
    assert list(found) == list(SCENES)
    for name, counts in found.items():
        assert counts["hits"] == KILLS, name
        assert counts["power losses"] == 2 * counts["steps"], name


def test_the_attack_finds_a_careless_write(tmp_path):
    with pytest.raises(AssertionError, match=r"careless|ModelFileError"):
        run_crash_points(KILLS, tmp_path, ["careless"])

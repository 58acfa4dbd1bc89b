"""The study of answers runs on the embedded letters."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


def test_every_part_on_letters(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import answers

    monkeypatch.setattr(answers, "CALIBRATED", ("SelfPacedPrototypes", "ESZSL"))
    answers.main(["--datasets", "letters", "--rows", "20"])
    printed = capsys.readouterr().out
    assert {line.split()[0] for line in printed.splitlines()} >= {"calibration", "strangers", "review"}
    errors = [float(value) for value in re.findall(r"ECE (\d\.\d+)", printed)]
    assert len(errors) == 2
    assert max(errors) < 0.2
    assert "unnamed classes" in printed
    assert re.search(r"chosen [+-]\d+\.\d, least confident [+-]", printed)

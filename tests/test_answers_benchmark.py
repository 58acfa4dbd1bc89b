"""The study of answers runs on the embedded letters."""

from __future__ import annotations

from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


def test_every_part_on_letters(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import answers

    methods = ["SelfPacedPrototypes", "ESZSL"]
    answers.main(["--sets", "letters", "--rows", "12", "--methods", *methods])
    printed = capsys.readouterr().out
    tables = {table.split()[1]: table for table in printed.split("\n\n")}
    assert list(tables) == ["calibration:", "strangers:", "generalised:", "review:"]
    assert column(tables["calibration:"], "ECE") == pytest.approx([0.0, 0.0], abs=0.2)
    kinds = ["no strangers", "rows of seen classes", "unnamed classes"]
    wanted = [f"{name}, {kind}" for kind in kinds for name in methods]
    assert titles(tables["strangers:"]) == wanted
    assert titles(tables["generalised:"]) == [
        "SelfPacedPrototypes, unseen rows known",
        "SelfPacedPrototypes, mixed pool",
        "ESZSL, with offset",
        "ESZSL, as it is",
    ]
    assert titles(tables["review:"]) == ["SelfPacedPrototypes"]
    assert column(tables["review:"], "reviewed rows") == [20]


def test_seen_classes_alone_can_be_held_out(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import answers

    given = ["--sets", "letters", "--rows", "10", "--parts", "calibration", "--methods", "ESZSL"]
    answers.main([*given, "--folds", "--draws", "2"])
    captured = capsys.readouterr()
    assert [line.split(":")[0] for line in captured.err.splitlines()] == [
        "calibration letters draw 0",
        "calibration letters draw 1",
    ]
    assert titles(captured.out) == ["ESZSL"]


def cells(table: str) -> list[list[str]]:
    """Return the cells of a table in Markdown, without the line below its heads."""
    lines = [line.strip("|").split("|") for line in table.strip().splitlines()]
    return [[cell.strip() for cell in line] for number, line in enumerate(lines) if number != 1]


def titles(table: str) -> list[str]:
    return [line[1] for line in cells(table)[1:]]


def column(table: str, head: str) -> list[float]:
    heads, *lines = cells(table)
    return [float(line[heads.index(head)]) for line in lines]

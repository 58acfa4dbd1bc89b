"""The guide "Your own data in five minutes": every block is run, every output compared."""

from __future__ import annotations

import contextlib
import doctest
import io
import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from unseen.cli.dataset_commands import app

GUIDE = Path(__file__).parents[2] / "docs" / "guide" / "data.md"
BLOCK = re.compile(r"^```(python|text|console)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def matches(wanted: str, got: str) -> bool:
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    return doctest.OutputChecker().check_output(wanted, got, flags)


def test_the_guide_runs_as_it_stands(tmp_path, monkeypatch):
    pytest.importorskip("PIL")
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    printed = ""
    kinds = []
    for kind, text in BLOCK.findall(GUIDE.read_text(encoding="utf-8")):
        kinds.append(kind)
        if kind == "python":
            with contextlib.redirect_stdout(io.StringIO()) as output:
                exec(compile(text, str(GUIDE), "exec"), names)
            printed = output.getvalue()
        elif kind == "text":
            assert matches(text, printed), f"expected:\n{text}\ngot:\n{printed}"
        else:
            run_commands(text)
    assert {"python", "text", "console"} <= set(kinds)


def run_commands(text: str) -> None:
    for line in text.splitlines():
        command = shlex.split(line.removeprefix("$ "))
        assert command[:2] == ["unseen", "datasets"]
        result = CliRunner().invoke(app, command[2:])
        assert result.exit_code == 0, f"{line}\n{result.output}"


def test_the_guide_starts_from_a_csv_and_a_folder_of_photographs():
    text = GUIDE.read_text(encoding="utf-8")
    assert text.startswith("# Your own data in five minutes")
    assert "## From a CSV" in text
    assert "## From a folder of photographs" in text

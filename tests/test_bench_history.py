"""The history of speed: what a line says, and two source trees in one run."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

TOP = Path(__file__).parents[1]


def history(*arguments: object) -> subprocess.CompletedProcess[str]:
    run = [sys.executable, TOP / "benchmarks" / "history.py", *arguments, "--repeat", "1"]
    return subprocess.run([str(part) for part in run], capture_output=True, text=True, check=False)


needs_git = pytest.mark.skipif(not (TOP / ".git").exists(), reason="needs the repository's history")


@needs_git
def test_a_line_for_each_figure(tmp_path):
    out = tmp_path / "history.jsonl"
    run = history("--only", "import", "--out", out)
    assert run.returncode == 0, run.stderr
    (line,) = [json.loads(text) for text in out.read_text().splitlines()]
    assert set(line) == {"figure", "processor_seconds", "commit", "machine", "date", "load"}
    assert line["figure"] == "import unseen"
    assert line["processor_seconds"] > 0


@needs_git
def test_a_revision_beside_this_tree():
    run = history("--only", "import", "--compare", "HEAD")
    assert run.returncode == 0, run.stderr
    cells = run.stdout.splitlines()[-1].strip("| ").split(" | ")
    assert cells[0] == "import unseen"
    assert float(cells[3]) > 0


def test_a_figure_that_is_not_there():
    run = history("--only", "nothing")
    assert run.returncode == 1
    assert "no figure begins so; there are: import unseen" in run.stderr

"""``unseen demo`` and the main command in a temporary folder."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys

import numpy as np
import pytest
from typer.testing import CliRunner

import unseen.cli
from unseen.cli import app, main
from unseen.cli.demo import measure, shown_methods
from unseen.datasets.record import ZeroShotDataset
from unseen.datasets.safety import atomic_file
from unseen.exceptions import DataError

NAMES = [
    prefix + name
    for name in ("PrototypeRidge", "ESZSL", "SJE", "ASTE", "TASTE")
    for prefix in ("", "Fast-")
] + ["SelfPacedPrototypes"]
FILES = ["digits.png", "table.csv", "table.json"]


@pytest.fixture
def run():
    runner = CliRunner(env={"COLUMNS": "80", "NO_COLOR": "1", "TERM": "dumb"})

    def invoke(*arguments, code=0):
        result = runner.invoke(app, [str(a) for a in arguments])
        assert result.exit_code == code, result.output
        return result

    return invoke


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    """The demo as a user runs it, with its output piped."""
    folder = tmp_path_factory.mktemp("demo")
    done = subprocess.run(
        [
            sys.executable,
            "-W",
            "error::UserWarning",
            "-m",
            "unseen",
            "demo",
            "--out",
            "here",
            "--seed",
            "3",
        ],
        cwd=folder,
        env={**os.environ, "COLUMNS": "80"},
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return folder / "here", done


def test_one_table_with_every_method(shown):
    _, done = shown
    lines = done.stdout.splitlines()
    assert [n for n in NAMES if any(line.startswith(f"│ {n} ") for line in lines)] == NAMES
    assert "gradient orientations" in lines[0]
    assert max(map(len, lines)) <= 80
    assert done.stderr == ""


def test_it_ends_with_what_it_wrote(shown):
    folder, done = shown
    last = done.stdout.splitlines()[-1]
    assert last == "wrote " + ", ".join(f"here/{name}" for name in FILES)
    assert sorted(path.name for path in folder.iterdir()) == FILES
    assert (folder / "digits.png").read_bytes().startswith(b"\x89PNG")


def test_csv_and_json_hold_the_table(shown):
    folder, _ = shown
    report = json.loads((folder / "table.json").read_text(encoding="utf-8"))
    assert (report["dataset"], report["seed"]) == ("letters-to-digits", 3)
    assert [r["method"] for r in report["results"]] == NAMES
    with (folder / "table.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    for row, result in zip(rows, report["results"], strict=True):
        assert row == {key: str(value) for key, value in result.items()}
        seen, unseen_ = result["seen_among_all"], result["unseen_among_all"]
        expected = 2 * seen * unseen_ / (seen + unseen_) if seen + unseen_ else 0
        assert result["harmonic"] == pytest.approx(expected)
        assert result["unseen_among_unseen"] >= unseen_ - 1e-9


def test_numbers_that_the_issue_asks_for(shown):
    folder, _ = shown
    results = json.loads((folder / "table.json").read_text(encoding="utf-8"))["results"]
    accuracy = {r["method"]: r["unseen_among_unseen"] for r in results}
    assert accuracy["ASTE"] >= 0.58
    assert max(r["unseen_among_unseen"] for r in results if r["transductive"]) >= 0.70


def test_json_goes_to_stdout(run, tmp_path, monkeypatch):
    only = [m for m in shown_methods() if m.name == "SJE"]
    monkeypatch.setattr(unseen.cli.demo, "shown_methods", lambda: only)
    result = run("demo", "--json", "--out", tmp_path / "x")
    assert [r["method"] for r in json.loads(result.stdout)["results"]] == ["SJE"]


def test_every_method_is_asked_from_the_same_start():
    semantics = {"a": [1.0, 0.0], "b": [0.0, 1.0], "c": [1.0, 1.0]}
    data = ZeroShotDataset(
        X=np.array([[1.0, 0.1], [0.9, 0.0], [0.1, 1.0], [0.8, 0.9]] * 2),
        y=np.array(["a", "a", "b", "c"] * 2),
        semantics=semantics,
        train=[0, 1, 2, 4],
        test_seen=[5, 6],
        test_unseen=[3, 7],
    )
    for method in (m for m in shown_methods() if m.plain_name == "TASTE"):
        model, result = measure(method, data)
        assert set(model.transduction_[len(data.train) :]) == {"c"}  # the pool was asked for unseen
        assert result.unseen_among_unseen == 1.0


def test_the_seed_reaches_what_draws_at_random():
    seeds = [m.build(random_state=5).get_params() for m in shown_methods() if m.plain_name == "SJE"]
    assert [s.get("random_state", s.get("estimator__random_state")) for s in seeds] == [5, 5]


def test_help_and_version(run):
    text = run("--help").output
    assert "demo" in text
    assert "datasets" in text
    assert "Example: unseen demo" in run("demo", "--help").output
    assert run("--version").output.strip() == f"unseen {unseen.__version__}"


@pytest.mark.parametrize("error", [DataError("there is [no] such file"), ValueError("not a number")])
def test_a_fault_is_one_line_and_code_2(error, monkeypatch, capsys):
    def fail():
        raise error

    monkeypatch.setattr(unseen.cli, "app", fail)
    monkeypatch.delenv("UNSEEN_DEBUG", raising=False)
    with pytest.raises(SystemExit) as stop:
        main()
    assert stop.value.code == 2
    assert capsys.readouterr().err == f"error: {error}\n"
    monkeypatch.setenv("UNSEEN_DEBUG", "1")
    with pytest.raises(type(error)):
        main()


def test_debug_shows_the_traceback(run, monkeypatch):
    monkeypatch.setenv("UNSEEN_DEBUG", "0")
    run("--debug", "datasets", "list")
    assert os.environ["UNSEEN_DEBUG"] == "1"


def test_an_unwritable_folder_is_named(tmp_path, monkeypatch, capsys):
    (tmp_path / "file").write_text("in the way")
    monkeypatch.delenv("UNSEEN_DEBUG", raising=False)
    monkeypatch.setattr(sys, "argv", ["unseen", "demo", "--out", str(tmp_path / "file")])
    only = shown_methods()[4:5]
    monkeypatch.setattr(unseen.cli.demo, "shown_methods", lambda: only)
    with pytest.raises(SystemExit) as stop:
        main()
    assert stop.value.code == 2
    assert str(tmp_path / "file") in capsys.readouterr().err


def test_files_are_whole_or_not_there(tmp_path):
    def break_off():
        with atomic_file(tmp_path / "a.txt") as path:
            path.write_text("half")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        break_off()
    assert list(tmp_path.iterdir()) == []
    with atomic_file(tmp_path / "deep" / "a.txt") as path:
        np.savetxt(path, [1.0])
    assert [p.name for p in (tmp_path / "deep").iterdir()] == ["a.txt"]

"""``unseen label`` loses nothing and hides nothing: earlier results, unread files, interruptions."""

from __future__ import annotations

import csv
import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from pictures import COLOURS, NOBODY_LABELLED, picture, write_attributes, write_pictures
from unseen import cli
from unseen.cli.progress import TimeLeft, extracting, time_text
from unseen.exceptions import DataError
from unseen.features import Progress

SEEN = [name for name in COLOURS if name not in NOBODY_LABELLED]
BASE = ("label", "--seen", "seen", "--classes", "classes.csv", "--backbone", "colours")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("UNSEEN_CACHE", str(tmp_path / "cache"))
    write_pictures(tmp_path / "seen", SEEN, each=4)
    write_pictures(tmp_path / "new", NOBODY_LABELLED, each=4)
    write_attributes(tmp_path / "classes.csv")
    return tmp_path


def run(*arguments):
    result = CliRunner(env={"COLUMNS": "200"}).invoke(cli.app, [*BASE, *arguments])
    assert result.exit_code == 0, (result.output, result.exception)
    return result.output


def test_a_trial_does_not_touch_the_labels(folder):
    run("--unlabelled", "new")
    before = Path("labels.csv").read_bytes()
    said = run("--hold-out", "red,green,blue")
    assert "wrote trial.csv" in said
    assert Path("labels.csv").read_bytes() == before


def test_an_earlier_result_is_replaced_only_if_asked_and_kept(folder):
    run("--unlabelled", "new")
    Path("labels.csv").write_text("image,label\nmy own work\n")
    result = CliRunner().invoke(cli.app, [*BASE, "--unlabelled", "new"])
    assert isinstance(result.exception, DataError)
    assert "labels.csv: is there already, from an earlier run, and is left as it is" in str(
        result.exception
    )
    assert "my own work" in Path("labels.csv").read_text()
    said = run("--unlabelled", "new", "--force")
    assert "kept the earlier ones as labels.csv.bak" in said
    assert "my own work" in Path("labels.csv.bak").read_text()
    Path("labels.csv").write_text("image,label\nmore work\n")
    assert "labels.csv.bak2" in run("--unlabelled", "new", "--force")
    assert "my own work" in Path("labels.csv.bak").read_text()
    assert "more work" in Path("labels.csv.bak2").read_text()


def test_the_page_is_kept_as_well(folder):
    Path("r.html").write_text("<p>notes in the margin")
    result = CliRunner().invoke(cli.app, [*BASE, "--unlabelled", "new", "--report", "r.html"])
    assert "r.html: is there already" in str(result.exception)
    assert not Path("labels.csv").exists(), "it is refused before anything is computed"


def test_every_file_that_is_not_read_is_named_with_the_reason(folder):
    (folder / "new" / "notes.txt").write_text("shopping list")
    (folder / "new" / "raw.cr2").write_bytes(b"raw")
    (folder / "new" / "broken.jpg").write_bytes(b"")
    (folder / "seen" / "lost.png").write_bytes(picture(COLOURS["red"]))
    (folder / "seen" / "red" / "more").mkdir()
    (folder / "seen" / "red" / "more" / "deep.png").write_bytes(picture(COLOURS["red"]))
    (folder / "new" / ".hidden.txt").write_text("no word about this one")
    said = run("--unlabelled", "new", "--report", "r.html")
    reasons = {
        "notes.txt": ".txt is no picture format that is read",
        "raw.cr2": ".cr2 is no picture format that is read",
        "broken.jpg": "the file is empty",
        "lost.png": "it lies in no folder of a class",
        "deep.png": "it lies too deep",
    }
    assert "5 files not read:" in said
    with Path("labels.csv").open(newline="") as file:
        rows = {Path(row["image"]).name: row for row in csv.DictReader(file)}
    page = Path("r.html").read_text()
    for name, reason in reasons.items():
        assert f"{name}: {reason}" in said
        assert rows[name]["problem"].startswith(reason)
        assert rows[name]["label"] == ""
        assert name in page
        assert reason in page
    assert "hidden" not in said


def test_without_a_problem_there_is_no_such_column(folder):
    run("--unlabelled", "new")
    assert Path("labels.csv").read_text().splitlines()[0] == "image,label,confidence,runner_up"


def test_the_result_says_what_it_rests_on(folder):
    said = run("--unlabelled", "new")
    assert "rests on: learned from 32 photographs of 8 seen classes, and 12 without a label" in said
    assert "described by 3 attributes; features colours; method SelfPacedPrototypes" in said


def test_unused_descriptions_are_noted_with_the_option(folder):
    lines = Path("classes.csv").read_text().splitlines()
    described = [
        line + ("," + ("description" if not n else "as its name says")) for n, line in enumerate(lines)
    ]
    Path("classes.csv").write_text("\n".join(described))
    arguments = [a for a in BASE if a not in ("--words", "none")]
    said = CliRunner(env={"COLUMNS": "200"}).invoke(cli.app, [*arguments, "--unlabelled", "new"]).output
    assert "the descriptions of the classes were not used. To use both: --words minilm." in said


def test_a_class_column_of_another_name(folder):
    text = Path("classes.csv").read_text().replace("class,", "Tier;", 1).replace(",", ";")
    Path("classes.csv").write_text(text)
    result = CliRunner().invoke(cli.app, [*BASE, "--unlabelled", "new"])
    assert "no column 'class'; columns are 'Tier', 'redness'" in str(result.exception)
    run("--unlabelled", "new", "--class-column", "Tier")


def test_notes_are_for_who_labels(folder):
    """Uneven classes are said in plain words; evenness and rehearsals stay in the model."""
    for name in NOBODY_LABELLED[1:]:
        for path in (folder / "new" / name).glob("*.png"):
            path.unlink()
    said = run("--unlabelled", "new")
    assert "ehearsal" not in said
    assert "evenness" not in said


def test_an_interruption_says_what_is_kept(tmp_path):
    write_pictures(tmp_path / "seen", SEEN)
    code = (
        "import sys, signal, os, pictures; from unseen import cli\n"
        "compute = pictures.Colours.__call__\n"
        "def interrupt(self, batch):\n"
        "    if self.seen: os.kill(os.getpid(), signal.SIGINT)\n"
        "    return compute(self, batch)\n"
        "pictures.Colours.__call__ = interrupt\n"
        "sys.argv = ['unseen', 'extract', 'seen', '--backbone', 'colours', '--cache', 'cache']\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler); cli.main()"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 130
    assert "Stopped. What was computed of 16 of 48 photographs is kept" in done.stderr
    assert "the same command goes on from there" in done.stderr


class Clock:
    """Seconds that pass when they are told to."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


def test_without_a_terminal_there_is_a_line_every_few_seconds(capsys):
    clock = Clock()
    with extracting("learning", clock=clock) as show:
        for done in range(1, 101):
            clock.now += 0.5
            show(Progress(100, done))
        clock.now += 6
        show.round(2, None)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 11
    assert lines[0] == "photographs: 10 of 100, about 45 s left"
    assert lines[-1] == "learning: round 2"


@pytest.mark.parametrize("known", [0, 60])
@pytest.mark.parametrize("batch", [1, 16])
def test_the_time_left_is_true_to_a_factor_of_two(known, batch):
    """Known items first, in no time; then batches, the first of which is slow; then a steady pace."""
    clock, total, pace = Clock(), 400, 0.25
    left = TimeLeft(clock)
    ends = known * 0.001 + 5 + (total - known) * pace
    said = []
    for done in range(1, total + 1):
        if done <= known:
            clock.now += 0.001
        elif (done - known - 1) % batch == 0:
            clock.now += pace * batch + (5 if done - known == 1 else 0)
        seconds = left.after(Progress(total, done, reused=min(done, known)))
        if seconds is not None and ends - clock.now > 5:
            said.append(seconds / (ends - clock.now))
    assert len(said) > total / 2
    assert 0.5 < min(said) <= max(said) < 2


def test_times_are_said_as_people_do():
    assert time_text(130) == "about 2 min left"


def test_no_arguments_say_three_things_to_do():
    said = CliRunner().invoke(cli.app, []).output
    for command in ("unseen demo", "unseen label --seen", "unseen studio", "unseen bench --list"):
        assert command in said


def test_the_help_is_grouped_by_task():
    said = CliRunner(env={"COLUMNS": "120"}).invoke(cli.app, ["--help"]).output
    panels = (cli.START, cli.LABEL, cli.MODELS, cli.DATA, cli.STUDY)
    places = [said.index(panel) for panel in panels]
    assert places == sorted(places)

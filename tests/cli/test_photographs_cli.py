"""``unseen label``, ``extract``, ``fit``, ``predict`` and ``add-class`` in a temporary folder."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from typer.testing import CliRunner

import unseen
from pictures import COLOURS, NOBODY_LABELLED, Colours, write_attributes, write_pictures
from unseen import cli
from unseen.cli.photo_commands import _facts
from unseen.datasets import load_table
from unseen.features import register_backbone
from unseen.labelling import Recipe

COMMANDS = ("label", "extract", "fit", "predict", "add-class")
SEEN = [name for name in COLOURS if name not in NOBODY_LABELLED]


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("UNSEEN_CACHE", str(tmp_path / "cache"))
    runner = CliRunner(env={"COLUMNS": "120", "NO_COLOR": "1", "TERM": "dumb"})

    def invoke(*arguments, code=0):
        result = runner.invoke(cli.app, [str(a) for a in arguments])
        assert result.exit_code == code, (result.output, result.exception)
        return result

    return invoke


@pytest.fixture
def photos(tmp_path):
    write_pictures(tmp_path / "seen", SEEN)
    write_pictures(tmp_path / "new", NOBODY_LABELLED)
    write_attributes(tmp_path / "classes.csv")
    (tmp_path / "new" / "broken.jpg").write_bytes(b"no picture")
    return ("--seen", "seen", "--classes", "classes.csv", "--backbone", "colours")


def read(path):
    with open(path, newline="") as file:  # noqa: PTH123
        return list(csv.DictReader(file))


def labelled(rows):
    return [row for row in rows if row["label"]]


def right(rows):
    return np.mean([row["image"].startswith(row["label"]) for row in rows])


def test_help_shows_an_example_and_its_options(run):
    listed = run("--help").output
    assert "Exit codes" in listed
    assert "--install-completion" in listed
    for command in COMMANDS:
        assert command in listed
        text = run(command, "--help").output
        assert f"Example: unseen {command}" in text
        assert "--json" in text


def test_label_in_one_command(run, photos, tmp_path):
    result = run("label", *photos, "--unlabelled", "new", "--out", "l.csv", "--report", "r.html")
    rows = read("l.csv")
    assert list(rows[0]) == ["image", "label", "confidence", "runner_up", "problem"]
    assert rows[-1] == {
        "image": "broken.jpg",
        "label": "",
        "confidence": "",
        "runner_up": "",
        "problem": "it is no picture that can be read",
    }
    rows = labelled(rows)
    assert len(rows) == 18
    assert right(rows) > 0.9
    assert [float(r["confidence"]) for r in rows] == sorted(float(r["confidence"]) for r in rows)
    assert "wrote l.csv and r.html: 18 photographs" in result.output
    assert "1 file not read:" in result.output
    assert "new/broken.jpg: it is no picture that can be read" in result.output
    assert "descriptions of 11 classes: " in result.output
    assert "rests on: learned from 48 photographs of 8 seen classes" in result.output
    assert "data:image/jpeg" in (tmp_path / "r.html").read_text()


def test_label_as_json(run, photos):
    told = json.loads(run("label", *photos, "--unlabelled", "new", "--json").stdout)
    assert told["photographs"] == 18
    assert told["skipped"] == [
        {"image": "new/broken.jpg", "reason": "it is no picture that can be read"}
    ]
    assert told["features"] == {"computed": 66, "reused": 0}
    assert told["semantics"]["columns"] == 3
    assert told["labels"][0].keys() == {"image", "label", "confidence", "runner_up"}
    again = json.loads(run("label", *photos, "--unlabelled", "new", "--json", "--force").stdout)
    assert again["features"] == {"computed": 0, "reused": 66}
    assert again["labels"] == told["labels"]


@pytest.mark.parametrize("method", ["SelfPacedPrototypes", "TASTE", "SJE", "Fast-ASTE"])
def test_command_line_and_studio_give_the_same_labels(run, photos, tmp_path, method):
    """The same folders make the same labels.csv, byte by byte, for methods that draw at random too."""
    from unseen.serving.studio.data_sources import photographs
    from unseen.serving.studio.outcomes import learn
    from unseen.serving.studio.studio_downloads import write_labels

    run("label", *photos, "--unlabelled", "new", "--method", method, "--out", "labels.csv")
    data = photographs(
        tmp_path / "seen", tmp_path / "new", tmp_path / "classes.csv", backbone="colours"
    )
    written = write_labels(learn(data, method), tmp_path / "studio")
    assert written.read_bytes() == (tmp_path / "labels.csv").read_bytes()


def test_a_trial(run, photos, tmp_path):
    write_pictures(tmp_path / "seen", NOBODY_LABELLED)
    (tmp_path / "held.txt").write_text("\n".join(NOBODY_LABELLED))
    output = run("label", *photos, "--hold-out", "held.txt").output
    assert "right per class (guessing: 33.3%)" in output
    told = json.loads(run("label", *photos, "--hold-out", "held.txt", "--force", "--json").stdout)
    assert told["accuracy_per_class"] > 0.9


def test_skipped_photographs_are_an_exit_code_only_if_asked(run, photos):
    run("label", *photos, "--unlabelled", "new", "--strict", code=3)
    run("extract", "new", "--backbone", "colours", "--strict", code=3)
    run("extract", "new", "--backbone", "colours", code=0)


def test_extract_writes_what_the_loaders_read(run, photos):
    output = run("extract", "new", "--backbone", "colours", "--out", "f.npz").output
    assert "wrote f.npz: 18 photographs × 6 numbers, 18 computed now, 0 known" in output
    with np.load("f.npz") as held:
        assert held["X"].shape == (18, 6)
        assert set(held["y"].tolist()) == set(NOBODY_LABELLED)
    told = json.loads(run("extract", ".", "--backbone", "colours", "--out", "f.csv", "--json").stdout)
    assert (told["computed"], told["reused"]) == (48, 18)
    data = load_table("f.csv", "classes.csv", split=list(NOBODY_LABELLED))
    assert data.X.shape == (66, 6)


def test_fit_predict_and_add_a_class_without_training(run, photos, tmp_path):
    write_attributes(tmp_path / "classes.csv", [n for n in COLOURS if n != "purple"])
    write_attributes(tmp_path / "purple.csv", ["purple"])
    output = run("fit", *photos, "--out", "m.safetensors").output
    assert "wrote m.safetensors: SelfPacedPrototypes on 8 seen classes, answers among 2" in output
    run("predict", "m.safetensors", "new", "--out", "before.csv", "--report", "r.html")
    assert "purple" not in {row["label"] for row in read("before.csv")}
    told = json.loads(
        run(
            "add-class", "m.safetensors", "--classes", "purple.csv", "--out", "n.safetensors", "--json"
        ).stdout
    )
    assert told["added"] == ["purple"]
    assert sorted(told["candidates"]) == sorted(NOBODY_LABELLED)
    told = json.loads(run("predict", "n.safetensors", "new", "--out", "after.csv", "--json").stdout)
    assert told["photographs"] == 18
    rows = read("after.csv")
    assert right(labelled(rows)) > 0.9
    run("add-class", "m.safetensors", "--classes", "purple.csv")  # in its own file
    assert "purple" in unseen.load("m.safetensors").classes_
    result = run("predict", "m.safetensors", "new", "--candidates", "orange,white", "--out", "two.csv")
    assert {row["label"] for row in labelled(read("two.csv"))} <= {"orange", "white"}
    assert "18 photographs" in result.output


def test_a_class_is_added_by_its_name(run, photos, monkeypatch):
    class Spectrum:
        name = identity = "spectrum"
        prompt = "{}"

        def __call__(self, texts):
            return np.array([COLOURS[t.split()[0]] for t in texts], dtype=float)

    monkeypatch.setattr("unseen.labelling.classes.words", lambda name: Spectrum())
    run("fit", "--seen", "seen", "--candidates", "orange,white", "--backbone", "colours", "--out", "w")
    run("add-class", "w", "--name", "violet", "--description", "purple as can be")
    run("predict", "w", "new", "--out", "l.csv")
    found = [row["image"].split("/")[0] for row in read("l.csv") if row["label"] == "violet"]
    assert set(found) == {"purple"}
    assert len(found) >= 5


def failure(run, *arguments):
    """Return what the user reads; the command raises, and main turns it into one line and code 2."""
    result = CliRunner().invoke(cli.app, [str(a) for a in arguments])
    assert isinstance(result.exception, ValueError), result.output
    return str(result.exception)


def test_what_is_wrong_is_one_line(run, photos, tmp_path):
    assert "Give --unlabelled FOLDER" in failure(run, "label", *photos)
    assert "There is no method 'ASTEE'" in failure(
        run, "label", *photos, "--unlabelled", "new", "--method", "ASTEE"
    )
    assert "must end in .npz or .csv" in failure(run, "extract", "new", "--out", "f.mat")
    assert "Give --classes FILE, or --name" in failure(run, "add-class", "m")
    assert "There is no backbone 'colour'" in failure(run, "extract", "new", "--backbone", "colour")
    run("fit", *photos, "--out", "m")
    assert "knows the class 'red' already" in failure(run, "add-class", "m", "--classes", "classes.csv")
    (tmp_path / "m").write_bytes(b"no model")
    assert "is no model file that can be used" in failure(run, "predict", "m", "new")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--unlabelled", "new", "--candidates", "mauve"], "See --candidates."),
        (["--unlabelled", "new", "--hold-out", "red"], "See --unlabelled and --hold-out."),
    ],
)
def test_the_command_line_names_the_option_of_an_error(
    run, photos, monkeypatch, capsys, arguments, said
):
    """The library names no option; the command adds it."""
    assert "--" not in failure(run, "label", *photos, *arguments)
    monkeypatch.setattr("sys.argv", ["unseen", "label", *photos, *arguments])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 2
    assert said in capsys.readouterr().err


def test_a_model_goes_with_its_backbone(run, photos, monkeypatch):
    run("fit", *photos, "--out", "m")
    with monkeypatch.context() as patch:
        patch.setattr("pictures.Colours.width", 7)
        assert "was fitted on 6 features, and colours gives 7" in failure(run, "predict", "m", "new")

    class Other(Colours):
        def __init__(self):
            super().__init__()
            self.identity = "colours | 2"

    register_backbone("colours", lambda rest, weights: Other())
    try:
        assert "with other weights or another view" in failure(run, "predict", "m", "new")
    finally:
        register_backbone("colours", lambda rest, weights: Colours())


def test_a_model_saved_from_python_needs_the_name_of_its_backbone(run, photos):
    model = unseen.ESZSL({"red": [1.0, 0], "blue": [0, 1.0], "white": [1.0, 1]})
    rng = np.random.default_rng(0)
    model.fit(rng.normal(size=(8, 6)), ["red", "blue"] * 4).save("m")
    assert "does not say which backbone" in failure(run, "predict", "m", "new")
    run("predict", "m", "new", "--backbone", "colours")
    assert "does not say what its class vectors mean" in failure(
        run, "add-class", "m", "--classes", "classes.csv"
    )


def test_interrupted_it_leaves_with_130(tmp_path):
    write_pictures(tmp_path / "seen", SEEN)
    code = (
        "import sys, signal, os, pictures; from unseen import cli\n"
        "def interrupt(self, batch): os.kill(os.getpid(), signal.SIGINT)\n"
        "pictures.Colours.__call__ = interrupt\n"
        "sys.argv = ['unseen', 'extract', 'seen', '--backbone', 'colours', '--cache', 'cache']\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler); cli.main()"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=environment)
    assert done.returncode == 130


def test_the_command_leaves_with_2_and_says_one_line(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "unseen", "label", "--seen", "absent", "--unlabelled", "absent"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2
    assert done.stderr == "error: absent: no such folder.\n"


@pytest.mark.parametrize(
    ("even", "said"),
    [
        (0.9, ", class shares leaning to equal ones"),
        (0.1, ", class shares learned from these photographs"),
        (None, ""),
    ],
)
def test_the_report_says_where_class_shares_come_from(even, said):
    review = None if even is None else SimpleNamespace(even=even)
    pictures = SimpleNamespace(seen=["a"], seen_classes=["b"])
    recipe = Recipe(attributes=("c",))
    preparation = SimpleNamespace(recipe=recipe, pictures=pictures)
    data = SimpleNamespace(pool=["e"], features="colours")
    task = SimpleNamespace(data=data, method="Method", strangers=None)
    fitted = SimpleNamespace(model=SimpleNamespace(review_=review), task=task)
    assert _facts(preparation, fitted)["method"] == f"Method{said}"

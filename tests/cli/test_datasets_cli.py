"""``unseen datasets`` in a temporary folder: output, JSON and exit codes."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

from unseen.cli.dataset_commands import app
from unseen.datasets import convert, load_dataset, simulate
from unseen.datasets.conversion import LAYOUTS


@pytest.fixture
def run():
    runner = CliRunner(env={"COLUMNS": "120", "NO_COLOR": "1", "TERM": "dumb"})

    def invoke(*arguments, code=0):
        result = runner.invoke(app, [str(a) for a in arguments])
        assert result.exit_code == code, result.output
        return result

    return invoke


@pytest.fixture(scope="module")
def data():
    return simulate("aPY", scale=0.05, n_features=32, random_state=0)


@pytest.fixture
def folder(data, tmp_path):
    convert(data, tmp_path / "mine", "awa")
    return tmp_path / "mine"


def test_help_shows_an_example_for_every_command(run):
    text = run("--help").output
    for command in ("list", "fetch", "info", "audit", "convert", "simulate"):
        assert command in text
        assert f"Example: unseen datasets {command}" in run(command, "--help").output


def test_list(run):
    assert "xlsa17" in run("list").output
    listed = json.loads(run("list", "--json").output)
    assert {a["name"] for a in listed["fetch"]} >= {"xlsa17", "cub", "apy"}


def test_info(run, folder, data):
    assert "simulated aPY" in run("info", folder).output
    facts = json.loads(run("info", folder, "--json").output)
    assert (facts["layout"], facts["rows"], facts["columns"]) == ("awa", len(data.X), 32)
    assert facts["unseen classes"] == 12


def test_audit_of_sound_data(run, folder):
    text = run("audit", folder, "--counts").output
    assert "0 errors" in text
    assert "simulated_001" in text
    assert json.loads(run("audit", folder, "--json").output)["findings"][0]["severity"] == "info"


def test_audit_leaves_with_1_where_it_finds_an_error(run, data, tmp_path):
    X = np.array(data.X)
    X[0] = np.nan
    convert(replace(data, X=X), tmp_path / "bad.npz", "npz")
    text = run("audit", tmp_path / "bad.npz", code=1).output
    assert "error not-finite" in text
    assert "remedy" in text
    found = json.loads(run("audit", tmp_path / "bad.npz", "--json", code=1).output)
    assert found["findings"][0]["code"] == "not-finite"


@pytest.mark.parametrize("to", LAYOUTS)
def test_convert(run, folder, data, tmp_path, to):
    target = tmp_path / ("out.npz" if to == "npz" else "out")
    result = run("convert", folder, target, "--to", to)
    assert str(target) in result.stdout
    assert np.array_equal(load_dataset(target).X, data.X)
    run("convert", folder, target, "--to", to, code=2)


def test_options_reach_the_loader(run, folder, data, tmp_path):
    some = data.seen_classes[0]
    (tmp_path / "unseen.txt").write_text(f"{some}\n")
    facts = json.loads(run("info", folder, "--unseen", tmp_path / "unseen.txt", "--json").output)
    assert facts["unseen classes"] == 1
    np.save(tmp_path / "f.npy", np.zeros((len(data.X), 3)))
    facts = json.loads(run("info", folder, "--features", tmp_path / "f.npy", "--json").output)
    assert facts["columns"] == 3


def test_files_and_pictures_of_your_own(run, tmp_path):
    image = pytest.importorskip("PIL.Image")
    (tmp_path / "x.csv").write_text("class,a,b\nfox,1,2\nfox,2,2\nbat,3,4\n")
    (tmp_path / "c.csv").write_text("class,flies\nfox,0\nbat,1\n")
    (tmp_path / "u.txt").write_text("bat\n")
    np.save(tmp_path / "x.npy", np.ones((3, 4)))
    (tmp_path / "y.txt").write_text("fox\nfox\nbat\n")
    for name in ("fox", "bat"):
        (tmp_path / "photos" / name).mkdir(parents=True)
        image.new("RGB", (20, 20)).save(tmp_path / "photos" / name / "1.png")
    told = ["--semantics", tmp_path / "c.csv", "--unseen", tmp_path / "u.txt", "--json"]
    for path, more, columns in (
        (tmp_path / "x.csv", [], 2),
        (tmp_path / "x.npy", ["-o", f"labels={tmp_path / 'y.txt'}"], 4),
        (tmp_path / "photos", ["--layout", "images"], 480),
    ):
        facts = json.loads(run("info", path, *told, *more).output)
        assert facts["columns"] == columns
        assert facts["unseen classes"] == 1
    assert "Give semantics" in run("info", tmp_path / "x.csv", code=2).stderr
    assert "NAME=VALUE" in run("info", tmp_path / "x.csv", "-o", "labels", code=2).stderr


def test_options_of_a_loader(run, folder):
    limit = run("info", folder, "-o", "max_bytes=8", code=0)  # .npy is mapped: no limit
    assert "simulated" in limit.output
    assert "takes no option 'colour'" in run("info", folder, "-o", "colour=red", code=2).stderr


def test_simulate(run, tmp_path):
    run("simulate", "CUB", tmp_path / "s.npz", "--scale", "0.05", "--n-features", "8")
    assert load_dataset(tmp_path / "s.npz").name == "simulated CUB"
    run("simulate", "MNIST", tmp_path / "t.npz", code=2)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["audit", "nowhere"], "nowhere: no such file or folder"),
        (["info", "."], "is in no layout known here"),
        (["fetch", "mnist"], "'mnist' is not known"),
        (
            ["fetch", "apy", "--url", "http://127.0.0.1:9/x", "--to", "d", "--trust-first"],
            "place it as",
        ),
    ],
)
def test_bad_input_leaves_with_2_and_no_traceback(run, tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    result = run(*arguments, code=2)
    assert message in result.stderr.replace("\n", "")
    assert "Traceback" not in result.output


def test_messages_are_not_read_as_markup(run, tmp_path):
    path = tmp_path / "[bold]x"
    assert "[bold]x" in run("audit", path, code=2).stderr.replace("\n", "")

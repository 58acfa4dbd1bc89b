"""``unseen label`` without one labelled photograph, by a model of pictures and texts."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from image_text_models import SCALE, write_model, write_onnx_halves
from pictures import write_pictures
from unseen import cli, labelling
from unseen.features import image_text_model, text_encoder
from unseen.serving.vision import Vision

NAMES = ("red", "green", "blue", "yellow")
ONNX = ("--backbone", "onnx:halves/image.onnx", "--words", "onnx:halves/text.onnx")


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("UNSEEN_CACHE", str(tmp_path / "cache"))
    runner = CliRunner(env={"COLUMNS": "120", "NO_COLOR": "1", "TERM": "dumb"})
    write_pictures(tmp_path / "photos", NAMES, each=8)
    (tmp_path / "photos" / "broken.jpg").write_bytes(b"no picture")
    (tmp_path / "names.txt").write_text("\n".join(NAMES))

    def invoke(*arguments, code=0, command="label"):
        result = runner.invoke(cli.app, [command, *[str(a) for a in arguments]])
        assert result.exit_code == code, (result.output, result.exception)
        return result

    return invoke


@pytest.fixture
def halves(tmp_path):
    write_onnx_halves(tmp_path / "halves")
    return tmp_path / "halves"


def read(path):
    with Path(path).open(newline="") as file:
        return [row for row in csv.DictReader(file) if row["label"]]


@pytest.mark.parametrize("kind", ["clip", "siglip"])
def test_photographs_and_prompts(run, tmp_path, kind, monkeypatch):
    """Random weights show that the path is whole; nothing is said of accuracy."""
    write_model(tmp_path / kind, kind)
    (tmp_path / "prompts.csv").write_text(
        "class,prompt,prompt_2\nred,a photo of a {},a drawing of the {}\nfox,,\ngiant_panda,the {},\n"
    )
    fitted = []
    fit = labelling.fit
    monkeypatch.setattr(labelling, "fit", lambda *task: fitted.append(fit(*task)) or fitted[-1])
    given = ("--unlabelled", "photos", "--classes", "prompts.csv", "--backbone", f"hf:{kind}")
    result = run(*given, "--out", "l.csv", "--report", "r.html", "--prompt", "a drawing of a {}")
    rows = read("l.csv")
    assert list(rows[0]) == ["image", "label", "confidence", "runner_up", "start", "problem"]
    assert len(rows) == 32
    assert {row["label"] for row in rows} <= {"red", "fox", "giant_panda"}
    assert "first answers (by the largest cosine)" in result.output or "no first" in result.output
    assert "wrote l.csv and r.html: 32 photographs" in result.output
    assert "1 file not read:" in result.output
    assert "32 photographs" in Path("r.html").read_text()

    model, data = fitted[0].model, fitted[0].task.data
    assert type(model).__name__ == "SharedSpacePrototypes"
    assert model.scale == pytest.approx(SCALE, rel=1e-5)  # that of the model, not the default
    encoder = text_encoder(f"hf:{kind}")
    two = encoder(["a photo of a red", "a drawing of the red"]).mean(axis=0)
    for name, expected in {
        "red": two,
        "fox": encoder(["a drawing of a fox"])[0],
        "giant_panda": encoder(["the giant panda"])[0],
    }.items():
        vector = data.table[name]
        cosine = vector @ expected / np.linalg.norm(vector) / np.linalg.norm(expected)
        assert cosine == pytest.approx(1, abs=1e-5)

    again = json.loads(run(*given, "--out", "l2.csv", "--json").stdout)
    assert again["features"] == {"computed": 0, "reused": 32}
    assert again["changed"] == sum(row["label"] != row["start"] for row in again["labels"])
    assert again["seen_classes"] == []


def test_onnx_halves_label_colours(run, halves):
    result = run("--unlabelled", "photos", "--classes", "names.txt", *ONNX, "--out", "l.csv")
    rows = read("l.csv")
    assert len(rows) == 32
    assert np.mean([row["image"].startswith(row["label"]) for row in rows]) == 1
    assert "no scale is known for its cosines" in result.output
    (halves / "image.onnx.json").write_text(
        json.dumps({**json.loads((halves / "image.onnx.json").read_text()), "scale": 30})
    )
    result = run("--unlabelled", "photos", "--candidates", "red,blue", *ONNX, "--out", "two.csv")
    assert "no scale is known" not in result.output
    assert {row["label"] for row in read("two.csv")} == {"red", "blue"}


def test_labelled_photographs_are_used_if_there_are_some(run, halves, tmp_path):
    write_pictures(tmp_path / "seen", ("red",), each=3)
    given = ("--seen", "seen", "--unlabelled", "photos", "--classes", "names.txt", *ONNX)
    summary = json.loads(
        run(*given, "--method", "SharedSpacePrototypes", "--candidates", "all", "--json").stdout
    )
    assert summary["seen_classes"] == ["red"]
    right = [row["image"].startswith(row["label"]) for row in summary["labels"]]
    assert np.mean(right) == 1


@pytest.mark.parametrize("kind", ["clip", "onnx"])
def test_a_model_file_answers_new_photographs_and_learns_a_class(run, halves, tmp_path, kind):
    """The file says that its class vectors are those of the model that sees the pictures."""
    encoders = ("--backbone", "hf:clip") if kind == "clip" else ONNX
    if kind == "clip":
        write_model(tmp_path / "clip", "clip")
    three = ("--classes", "three.txt", *encoders)
    (tmp_path / "three.txt").write_text("red\ngreen\nblue")
    result = run("--unlabelled", "photos", *three, "--out", "m.safetensors", command="fit")
    assert "wrote m.safetensors: SharedSpacePrototypes on 0 seen classes" in result.output
    run("m.safetensors", "photos", *encoders[:2], "--out", "l.csv", command="predict")
    rows = read("l.csv")
    assert len(rows) == 32
    words = ("--words", encoders[-1])
    added = run("m.safetensors", "--name", "yellow", *words, command="add-class")
    assert "added yellow; it answers among 4 classes" in added.output
    run("m.safetensors", "photos", *encoders[:2], "--out", "four.csv", command="predict")
    if kind == "onnx":  # its encoders know colours
        assert np.mean([row["image"].startswith(row["label"]) for row in read("four.csv")]) == 1
    model, origin = labelling.load_model(Path("m.safetensors"))
    assert origin["shared"] is True
    vision = Vision(Path("m.safetensors"), origin, model.n_features_in_, encoders[1])
    assert vision.backbone.identity == origin["identity"]
    vision.stop()
    expected = image_text_model(encoders[1], encoders[3] if kind == "onnx" else "").texts(
        ["a photo of a yellow"]
    )[0]
    vector = model.semantics["yellow"]
    cosine = vector @ expected / np.linalg.norm(vector) / np.linalg.norm(expected)
    assert cosine == pytest.approx(1, abs=1e-5)


def test_a_fit_without_labels_needs_photographs_and_a_model_of_both(run, halves):
    told = str(run("--classes", "names.txt", *ONNX, command="fit", code=1).exception)
    assert "Give --unlabelled FOLDER, photographs to compare with the class texts." in told
    told = run("--unlabelled", "photos", "--classes", "names.txt", command="fit", code=1).exception
    assert "--backbone hf:FOLDER, a CLIP or SigLIP, which compares photographs" in str(told)


def test_a_trial_with_held_out_folders(run, halves, tmp_path):
    (tmp_path / "photos" / "broken.jpg").unlink()
    given = ("--seen", "photos", "--hold-out", "green,blue", "--classes", "names.txt", *ONNX)
    summary = json.loads(run(*given, "--method", "SharedSpacePrototypes", "--json").stdout)
    assert summary["accuracy_per_class"] == summary["start_accuracy_per_class"] == 1


def test_other_methods_get_the_scale_or_are_refused(run, halves):
    model = image_text_model(ONNX[1], ONNX[3])
    preparation = labelling.prepare_with_texts(
        model, unlabelled=Path("photos"), classes=Path("names.txt")
    )
    data = labelling.extract(preparation, model.images, None)
    assert labelling.fit(labelling.Task(data, "CosineZSL")).model.scale == 100
    given = ("--unlabelled", "photos", "--classes", "names.txt", *ONNX)
    error = run(*given, "--method", "SelfPacedPrototypes", code=1).exception
    assert "SelfPacedPrototypes needs labelled rows, and there are none" in str(error)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("--unlabelled", "photos"), "Without any: --backbone hf:FOLDER"),
        (("--unlabelled", "photos", *ONNX), "Which classes to look for is not known"),
        (("--classes", "names.txt", *ONNX), "Give --unlabelled FOLDER"),
        (("--classes", "names.txt", "--hold-out", "red", *ONNX), "no class can be held out"),
        (("--seen", "photos", "--hold-out", "red", "--prompt", "{}"), "--prompt goes with"),
        (("--unlabelled", "photos", "--classes", "names.txt", *ONNX[:2]), "half for texts is needed"),
    ],
)
def test_what_is_missing_is_said(run, halves, given, said):
    assert said in str(run(*given, code=1).exception)

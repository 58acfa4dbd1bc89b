"""``unseen label --texts``, ``fit --texts`` and ``predict`` on texts in a temporary folder."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest
from typer.testing import CliRunner

import unseen
from texts import Bags, topics, write_classes, write_texts
from unseen import cli


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("UNSEEN_CACHE", str(tmp_path / "cache"))
    for place in ("unseen.features.text_encoder", "unseen.labelling.text_models.text_encoder"):
        monkeypatch.setattr(place, lambda name="minilm": Bags())
    write_texts(tmp_path / "tickets.csv")
    write_classes(tmp_path / "classes.csv")
    runner = CliRunner(env={"COLUMNS": "120", "NO_COLOR": "1", "TERM": "dumb"})

    def invoke(*arguments, code=0):
        result = runner.invoke(cli.app, [str(a) for a in arguments])
        assert result.exit_code == code, (result.output, result.exception)
        return result

    return invoke


TEXTS = ("--texts", "tickets.csv", "--column", "text", "--classes", "classes.csv")


def read(path):
    with open(path, newline="") as file:  # noqa: PTH123
        return list(csv.DictReader(file))


def test_label_in_one_command(run, tmp_path):
    result = run("label", *TEXTS, "--out", "l.csv", "--report", "r.html")
    rows = read("l.csv")
    assert len(rows) == 90
    right = [r["label"] == topics()[int(r["row"])][1] for r in rows]
    assert np.mean(right) > 0.9
    assert "wrote l.csv and r.html: 90 texts" in result.output
    assert "changed: " in result.output
    page = (tmp_path / "r.html").read_text()
    assert "Words that mark it" in page
    assert "http://" not in page


def test_label_as_json_and_from_the_cache(run):
    told = json.loads(run("label", *TEXTS, "--truth-column", "topic", "--json").stdout)
    assert told["texts"] == 90
    assert told["accuracy_per_class"] > 0.9
    assert told["features"]["computed"] > 0
    assert set(told["labels"][0]) == {
        *("row", "text", "label", "confidence", "unsure", "runner_up", "start")
    }
    again = json.loads(run("label", *TEXTS, "--truth-column", "topic", "--json", "--force").stdout)
    assert again["features"] == {"computed": 0, "reused": 90}
    assert again["labels"] == told["labels"]


def test_labelled_rows_and_skipped_texts(run, tmp_path):
    write_texts(tmp_path / "seen.csv", topics(4, seed=5), column="label")
    with (tmp_path / "tickets.csv").open("a") as file:
        file.write(",refund\n")
    result = run("label", *TEXTS, "--seen", "seen.csv", "--strict", code=3)
    assert "1 text not read:" in result.output
    assert "tickets.csv:92: the text is empty" in result.output


def test_own_vectors(run, tmp_path):
    np.save("X.npy", Bags()([text for text, _ in topics()]))
    np.save("T.npy", Bags()(["money back refund payment", "parcel delivery", "password login"]))
    given = ("--embeddings", "X.npy", "--class-embeddings", "T.npy")
    run("label", *given, "--classes", "classes.csv", "--out", "bare.csv")
    run("label", *TEXTS, *given, "--out", "l.csv")
    assert [r["label"] for r in read("bare.csv")] == [r["label"] for r in read("l.csv")]
    assert read("bare.csv")[0]["text"] == ""


def test_fit_predict_and_add_a_class(run, tmp_path, monkeypatch):
    output = run("fit", *TEXTS, "--out", "m.safetensors").output
    assert "SharedSpacePrototypes on 90 texts without a label and 0 with one" in output
    write_texts(tmp_path / "new.csv", topics(10, seed=3))
    run("predict", "m.safetensors", "new.csv", "--words", "bags", "--out", "p.csv")
    rows = read("p.csv")
    assert np.mean([r["label"] == topics(10, seed=3)[int(r["row"])][1] for r in rows]) > 0.9
    model = unseen.load("m.safetensors")
    assert model.origin_["texts"] == "bags"
    monkeypatch.setattr("unseen.labelling.classes.words", lambda name: Bags())
    run("add-class", "m.safetensors", "--name", "fees", "--words", "bags")
    larger = unseen.load("m.safetensors")
    assert larger.classes_.tolist() == [*model.classes_.tolist(), "fees"]
    np.testing.assert_allclose(larger.semantics["fees"], Bags()(["fees"])[0])  # the name as it is


def failure(*arguments):
    result = CliRunner().invoke(cli.app, [str(a) for a in arguments])
    assert isinstance(result.exception, ValueError), result.output
    return str(result.exception)


def test_what_is_wrong_is_one_line(run):
    assert "has no column 'body'" in failure("label", *TEXTS[:2], "--column", "body", *TEXTS[4:])
    assert "belong to photographs" in failure("label", *TEXTS, "--unlabelled", "photos")
    assert "goes with --embeddings" in failure("label", *TEXTS, "--class-embeddings", "T.npy")
    assert "or --texts FILE" in failure("label", "--unlabelled", "photos")
    assert "ESZSL needs labelled rows, and there are none" in failure(
        "label", *TEXTS, "--method", "ESZSL"
    )


def test_an_encoder_that_a_file_names_is_not_loaded(run, monkeypatch):
    run("fit", *TEXTS, "--out", "m.safetensors")
    told = failure("predict", "m.safetensors", "tickets.csv")
    assert "fitted on vectors of 'bags', which is not loaded because a file names it" in told
    run("predict", "m.safetensors", "tickets.csv", "--words", "bags")

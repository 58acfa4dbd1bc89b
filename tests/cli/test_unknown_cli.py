"""``--unknown``, ``--strangers`` and ``--set``: items that belong to no class, and prediction sets."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest
from test_photographs_cli import read
from test_photographs_cli import run as run_photos  # noqa: F401 - the fixture
from test_texts_cli import TEXTS, run  # noqa: F401 - the fixture

import unseen
from pictures import COLOURS, NOBODY_LABELLED, picture
from texts import topics, write_texts

MORE_COLOURS = {
    "olive": (110, 120, 20),
    "navy": (10, 20, 110),
    "teal": (10, 120, 110),
    "lime": (160, 250, 60),
    "maroon": (110, 10, 30),
    "rose": (230, 80, 130),
    "gold": (200, 170, 0),
    "coral": (250, 120, 100),
    "mint": (150, 240, 190),
    "black": (10, 10, 10),
    "sky": (120, 190, 250),
}
NEW, STRANGER = (*NOBODY_LABELLED, "teal", "lime"), "black"
"""Colours to find, and a colour with labelled pictures that is none of them."""


@pytest.fixture
def photos(tmp_path):
    """Pictures of seventeen seen colours; among the new pictures are eight of one of these."""
    colours = {**COLOURS, **MORE_COLOURS}
    for place, (name, colour) in enumerate(colours.items()):
        folder = tmp_path / ("new" if name in NEW else "seen") / name
        folder.mkdir(parents=True)
        for number in range(12):
            (folder / f"{number:02}.png").write_bytes(picture(colour, seed=100 * place + number))
    for number in range(8):
        path = tmp_path / "new" / f"{STRANGER}-{number}.png"
        path.write_bytes(picture(colours[STRANGER], seed=9000 + number))
    lines = [f"{name},{','.join(str(v / 255) for v in rgb)}" for name, rgb in colours.items()]
    (tmp_path / "classes.csv").write_text("class,redness,greenness,blueness\n" + "\n".join(lines))
    return ("--seen", "seen", "--classes", "classes.csv", "--backbone", "colours")


def strangers_of(rows, label):
    return [row["image"] for row in rows if row["label"] == label]


def test_photographs_of_no_class(run_photos, photos, tmp_path):  # noqa: F811
    asked = ("--unlabelled", "new", "--unknown", "none of these", "--strangers", "0.12")
    told = run_photos("label", *photos, *asked, "--out", "l.csv", "--report", "r.html")
    rows = read("l.csv")
    assert list(rows[0]) == ["image", "label", "confidence", "runner_up", "stranger"]
    called = strangers_of(rows, "none of these")
    assert len(called) == 9
    assert sum(name.startswith(STRANGER) for name in called) >= 7
    odds = {row["image"]: float(row["stranger"]) for row in rows}
    mean = [np.mean([odds[i] for i in odds if (i in called) == strange]) for strange in (True, False)]
    assert mean[0] > mean[1] + 0.3
    assert f"{len(called)} 'none of these'" in told.output
    assert "is said only where it is nearly certain" not in told.output
    page = (tmp_path / "r.html").read_text()
    assert "they seem to belong to no class" in page
    assert 'id="class-none-of-these"' in page


def test_without_a_share_the_careful_answer_is_explained(run_photos, photos):  # noqa: F811
    told = run_photos("label", *photos, "--unlabelled", "new", "--unknown", "other", "--out", "l.csv")
    assert "'other' is said only where it is nearly certain" in told.output
    assert "--strangers 0.1 for one in ten" in told.output


def test_every_method_answers_unknown(run_photos, photos):  # noqa: F811
    for method, found in {"Fast-ESZSL": 0, "PrototypeRidge": 7}.items():
        asked = ("--unlabelled", "new", "--strangers", "0.12", "--method", method)
        run_photos("label", *photos, *asked, "--out", f"{method}.csv")
        called = strangers_of(read(f"{method}.csv"), "unknown")
        assert len(called) == 9
        assert sum(name.startswith(STRANGER) for name in called) >= found, method


def test_a_model_file_knows_strangers(run_photos, photos):  # noqa: F811
    asked = (
        "--unlabelled",
        "new",
        "--unknown",
        "other",
        "--strangers",
        "0.12",
        "--out",
        "m.safetensors",
    )
    run_photos("fit", *photos, *asked)
    assert unseen.load("m.safetensors").unknown == "other"
    new = ("predict", "m.safetensors", "new", "--backbone", "colours")
    run_photos(*new, "--out", "p.csv")
    called = strangers_of(read("p.csv"), "other")
    assert len(called) == 9
    told = json.loads(run_photos(*new, "--out", "q.csv", "--unknown", "nobody", "--json").stdout)
    assert told["counts"]["nobody"] == len(called)
    assert told["unknown"] == "nobody"
    assert set(told["labels"][0]) == {"image", "label", "confidence", "runner_up", "stranger"}


def test_a_person_says_that_a_photograph_belongs_to_no_class(run_photos, photos):  # noqa: F811
    with open("known.csv", "w", newline="") as file:  # noqa: PTH123
        csv.writer(file).writerows(
            [("image", "label"), ("white/00.png", "none"), ("white/01.png", "white")]
        )
    asked = ("--unlabelled", "new", "--unknown", "none", "--known", "known.csv")
    for method in ("SelfPacedPrototypes", "ESZSL"):
        run_photos("label", *photos, *asked, "--out", f"{method}.csv", "--method", method)
        rows = {row["image"]: row for row in read(f"{method}.csv")}
        assert len(rows) == 68
        assert rows["white/00.png"]["label"] == "none"
        assert float(rows["white/00.png"]["stranger"]) == 1
        assert rows["white/01.png"]["label"] == "white"
        assert float(rows["white/01.png"]["confidence"]) == 1


def test_review_of_photographs(run_photos, photos, tmp_path):  # noqa: F811
    """Labels that a person gave to photographs go back, "none of these" among them."""
    asked = ("--unlabelled", "new", "--unknown", "none", "--out")
    told = run_photos("label", *photos, *asked, "l.csv", "--review", "5")
    assert "wrote review.csv: 5 to look at" in told.output
    rows = read("review.csv")
    assert list(rows[0]) == ["image", "label", "proposed", "confidence", "runner_up"]
    truth = {row["image"]: row["image"].split("/")[0] for row in rows}
    truth |= {image: "none" for image in truth if image.startswith(STRANGER)}
    with (tmp_path / "review.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows({**row, "label": truth[row["image"]]} for row in rows)
    again = run_photos(
        "label", *photos, *asked, "again.csv", "--known", "review.csv", "--review", "5", "--force"
    )
    assert "kept the earlier ones as review.csv.bak" in again.output
    answers = {row["image"]: row["label"] for row in read("again.csv")}
    assert {image: answers[image] for image in truth} == truth
    assert not {row["image"] for row in read("review.csv")} & set(truth)


def test_a_trial_judges_strangers_and_confidence(run_photos, photos, tmp_path):  # noqa: F811
    """A held-out class that is no candidate is a stranger, and counts as right when it is called so."""
    held = ("--hold-out", "red,green,blue,grey", "--candidates", "red,green,blue")
    told = run_photos(
        "label", *photos, *held, "--strangers", "0.25", "--out", "t.csv", "--report", "t.html", "--json"
    )
    result = json.loads(told.stdout)
    assert set(result["accuracy_by_class"]) == {"red", "green", "blue", "unknown"}
    assert 0 <= result["expected_calibration_error"] < 0.5
    assert 0 <= result["brier_score"] < 1
    page = (tmp_path / "t.html").read_text()
    assert "Is the confidence true?" in page
    assert "(ECE), Brier score" in page


def test_prediction_sets(run_photos, photos):  # noqa: F811
    run_photos("fit", *photos, "--out", "m.safetensors", "--candidates", "white,orange,purple")
    sizes = []
    for coverage in ("0.5", "0.99"):
        out = f"{coverage}.csv"
        told = run_photos(
            "predict", "m.safetensors", "new", "--backbone", "colours", "--set", coverage, "--out", out
        )
        assert f"sets at {coverage} of" in told.output
        rows = [row for row in read(out) if row["label"]]
        assert all(row["set"].split("|")[0] == row["label"] for row in rows)
        sizes.append(np.mean([len(row["set"].split("|")) for row in rows]))
    assert 1 <= sizes[0] <= sizes[1] <= 3


def test_texts_of_no_class(run, tmp_path):  # noqa: F811
    noise = [(f"zebra quantum violin {word}", "") for word in ("one", "two", "three", "four", "five")]
    write_texts(tmp_path / "tickets.csv", [*topics(), *noise])
    asked = ("--unknown", "other", "--strangers", "0.05")
    run("label", *TEXTS, *asked, "--out", "l.csv", "--report", "r.html")
    rows = read("l.csv")
    called = {int(row["row"]) for row in rows if row["label"] == "other"}
    assert len(called & set(range(90, 95))) >= 4
    own = [row["label"] == topics()[int(row["row"])][1] for row in rows if int(row["row"]) < 90]
    assert np.mean(own) > 0.9
    write_texts(tmp_path / "tickets.csv", [*topics(), *((text, "other") for text, _ in noise)])
    told = run("label", *TEXTS, *asked, "--truth-column", "topic", "--json")
    assert json.loads(told.stdout)["accuracy_by_class"]["other"] >= 0.8
    run("fit", *TEXTS, *asked, "--out", "m.safetensors")
    run("predict", "m.safetensors", "tickets.csv", "--words", "bags", "--out", "p.csv", "--set", "0.9")
    assert sum(row["label"] == "other" for row in read("p.csv")) >= 4


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (("--unknown", "refund", "--strangers", "0.1"), "'refund' is the name of a candidate"),
        (("--unknown", "other"), "Say which share of the items does, as 0.1 for one in ten"),
        (("--strangers", "2"), "--strangers takes 'auto' or a share between 0 and 1, as 0.1. Got '2'"),
        (
            ("--strangers", "0.1", "--method", "CosineZSL"),
            "use SharedSpacePrototypes and give a share of strangers",
        ),
        (("--set", "1"), "The coverage of prediction sets must be a number between 0 and 1. Got 1"),
    ],
)
def test_what_cannot_be_asked_of_texts(run, asked, message, tmp_path):  # noqa: F811
    with pytest.raises(AssertionError) as caught:
        run("label", *TEXTS, *asked)
    assert message in str(caught.value)
    assert not (tmp_path / "labels.csv").exists()


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (("fit", "--unknown", "other"), "--unknown needs --unlabelled FOLDER"),
        (("predict", "--unknown", "other"), "was not fitted to tell items that belong to no candidate"),
    ],
)
def test_what_cannot_be_asked_of_photographs(run_photos, photos, command, message):  # noqa: F811
    given = photos
    if command[0] == "predict":
        run_photos("fit", *photos, "--out", "m.safetensors")
        given = ("m.safetensors", "new", "--backbone", "colours")
    with pytest.raises(AssertionError) as caught:
        run_photos(command[0], *given, *command[1:])
    assert message in str(caught.value)

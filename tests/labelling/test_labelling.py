"""From folders and descriptions to labels: what is read, refused, learned and written."""

from __future__ import annotations

import csv
from dataclasses import replace

import numpy as np
import pytest

from pictures import COLOURS, NOBODY_LABELLED, Colours, picture, write_attributes, write_pictures
from unseen import DataError
from unseen.features import FeatureStore
from unseen.labelling import (
    UNUSED_DESCRIPTIONS,
    Task,
    extract,
    fit,
    from_names,
    gather,
    make_table,
    prepare,
    read_classes,
    read_known,
    write_known,
    write_report,
)

SEEN = [name for name in COLOURS if name not in NOBODY_LABELLED]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """``seen/<colour>``, ``new`` with pictures of other colours in a flat folder, ``classes.csv``."""
    root = tmp_path_factory.mktemp("photos")
    write_pictures(root / "seen", SEEN)
    write_pictures(root / "all")
    (root / "new").mkdir()
    for place, name in enumerate(NOBODY_LABELLED):
        for number in range(6):
            data = picture(COLOURS[name], seed=7000 + 100 * place + number)
            (root / "new" / f"{name}-{number}.png").write_bytes(data)
    write_attributes(root / "classes.csv")
    return root


@pytest.fixture(scope="module")
def data(folder):
    prepared = prepare(folder / "seen", unlabelled=folder / "new", classes=folder / "classes.csv")
    return extract(prepared, Colours(), None)


@pytest.fixture(scope="module")
def done(data):
    fitted = fit(Task(data))
    return fitted, fitted.labels()


def test_photographs_get_the_label_of_a_class_nobody_labelled(done):
    _, labels = done
    assert sorted(labels.candidates) == sorted(NOBODY_LABELLED)
    right = [a.item.startswith(a.label) for a in labels.answers]
    assert len(right) == 18
    assert np.mean(right) > 0.9


def test_the_least_sure_come_first(done, tmp_path):
    _, labels = done
    labels.write(tmp_path / "labels.csv")
    with (tmp_path / "labels.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["image", "label", "confidence", "runner_up"]
    confidence = [float(row["confidence"]) for row in rows]
    assert confidence == sorted(confidence)
    assert all(0 < c <= 1 for c in confidence)
    assert all(row["runner_up"] in set(NOBODY_LABELLED) - {row["label"]} for row in rows)


def test_a_trial_says_how_many_are_right_and_hides_the_labels(folder):
    """The truth of the held-out classes, shuffled, changes the score and not one answer."""
    names = ",".join(NOBODY_LABELLED)
    prepared = prepare(folder / "all", held_out=names, classes=folder / "classes.csv")
    data = extract(prepared, Colours(), None)
    labels = fit(Task(data)).labels()
    assert labels.accuracy > 0.9
    assert labels.by_class.keys() == set(NOBODY_LABELLED)
    again = fit(Task(replace(data, truth=data.truth[::-1]))).labels()
    assert again.accuracy < labels.accuracy
    assert [(a.item, a.label, a.confidence) for a in again.answers] == [
        (a.item, a.label, a.confidence) for a in labels.answers
    ]


def test_broken_photographs_are_left_out_and_never_fatal(folder, tmp_path):
    write_pictures(tmp_path / "seen", SEEN)
    write_pictures(tmp_path / "new", NOBODY_LABELLED)
    (tmp_path / "seen" / "red" / "00.png").write_bytes(b"")
    (tmp_path / "new" / "orange" / "00.png").write_bytes(b"no picture")
    prepared = prepare(tmp_path / "seen", unlabelled=tmp_path / "new", classes=folder / "classes.csv")
    data = extract(prepared, Colours(), None)
    labels = fit(Task(data)).labels()
    assert {b.path.parent.name for b in data.broken} == {"red", "orange"}
    assert len(labels.answers) == 17
    assert np.mean([a.item.startswith(a.label) for a in labels.answers]) > 0.9
    for path in (tmp_path / "seen" / "red").iterdir():
        path.write_bytes(b"")
    with pytest.raises(DataError, match="No picture of the class 'red' can be read"):
        extract(prepared, Colours(), None)


def test_features_are_kept_for_the_next_time(folder, tmp_path):
    prepared = prepare(folder / "seen", unlabelled=folder / "new", classes=folder / "classes.csv")
    with FeatureStore(tmp_path) as store:
        assert extract(prepared, Colours(), store).computed == 66
        assert extract(prepared, Colours(), store).reused == 66


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"candidates": "mauve"}, "no row for the class 'mauve'"),
        ({"candidates": "red,red"}, "names a class twice"),
        ({"classes": None}, "Which classes to look for is not known"),
        ({"held_out": "red"}, "not both"),
        ({"unlabelled": "seen"}, "every picture in it is one of the labelled ones"),
        ({"unlabelled": "absent"}, "no such folder"),
        ({"held_out": "mauve", "unlabelled": None}, "no pictures of the held-out class 'mauve'"),
    ],
)
def test_what_does_not_fit_together_is_refused(folder, options, message):
    given = {"unlabelled": "new", "classes": "classes.csv", **options}
    for key in ("unlabelled", "classes"):
        given[key] = None if given[key] is None else folder / given[key]
    with pytest.raises(DataError, match=message):
        prepare(folder / "seen", **given)


def test_a_folder_that_nothing_describes_is_named(folder, tmp_path):
    path = write_attributes(tmp_path / "few.csv", [n for n in COLOURS if n != "red"])
    with pytest.raises(DataError, match=r"seen/red: .*few\.csv has no row for the class 'red'"):
        prepare(folder / "seen", unlabelled=folder / "new", classes=path)
    path = write_attributes(tmp_path / "seen-only.csv", SEEN)
    with pytest.raises(DataError, match="every class in it has labelled pictures"):
        prepare(folder / "seen", unlabelled=folder / "new", classes=path)


def test_candidates_may_be_all_or_some(folder):
    given = {"unlabelled": folder / "new", "classes": folder / "classes.csv"}
    assert len(prepare(folder / "seen", candidates="all", **given).candidates) == len(COLOURS)
    assert prepare(folder / "seen", candidates="white,red", **given).candidates == ["white", "red"]


def test_labelled_pictures_inside_the_other_folder_are_not_labelled_again(folder):
    found = gather(folder / "seen", folder)
    assert not set(found.pool) & set(found.seen)


# ----------------------------------------------------------------------------- classes


def test_a_mark_for_missing_values_is_filled_and_told(tmp_path):
    rng = np.random.default_rng(0)
    rows = rng.uniform(1, 100, (20, 30))
    rows[3, 5] = -1
    lines = [f"c{i}," + ",".join(f"{v:.3f}" for v in row) for i, row in enumerate(rows)]
    header = "class," + ",".join(f"a{i}" for i in range(30))
    (tmp_path / "c.csv").write_text("\n".join([header, *lines]) + "\n")
    table, recipe, notes = make_table(read_classes(tmp_path / "c.csv"))
    assert table["c3"][5] == pytest.approx(np.delete(rows[:, 5], 3).mean(), abs=1e-3)
    assert "1 values of c3 are -1" in notes[0]
    assert recipe.attributes[:2] == ("a0", "a1")


class Length:
    """Words for tests: the length of a text, and how many e are in it."""

    name = identity = "length"
    prompt = "{}"

    def __call__(self, texts):
        return np.array([[len(t), 1 + t.count("e")] for t in texts], dtype=float)


@pytest.fixture
def simple_words(monkeypatch):
    monkeypatch.setattr("unseen.labelling.classes.words", lambda name: Length())


def test_names_descriptions_and_mixtures(tmp_path, simple_words):
    table, recipe, _ = make_table(from_names(["giant+panda", "fox"], "names"))
    np.testing.assert_array_equal(table["giant+panda"], [11, 1])
    assert recipe.words == "minilm"
    (tmp_path / "c.csv").write_text("class,description,big\nfox,red beast,0.5\nelk,large,1\n")
    given = read_classes(tmp_path / "c.csv")
    table, recipe, notes = make_table(given)
    assert table.vectors.shape == (2, 1)
    assert (recipe.words, notes) == ("", [UNUSED_DESCRIPTIONS])
    table, recipe, _ = make_table(given, "minilm")
    assert recipe.weight == 0.25
    assert table.vectors.shape == (2, 3)
    np.testing.assert_allclose(np.linalg.norm(table.vectors, axis=1), 1)
    np.testing.assert_allclose(table["fox"][1:] / table["fox"][2], [9 / 3, 1])
    (tmp_path / "names.txt").write_text("fox\nelk\n")
    assert make_table(read_classes(tmp_path / "names.txt"))[0]["elk"].tolist() == [3, 2]


def test_columns_of_new_classes_are_found_by_name(tmp_path):
    (tmp_path / "old.csv").write_text("class,big,red\nfox,0,1\nelk,1,0\n")
    (tmp_path / "new.csv").write_text("class,red,big\nbat,0.25,0.75\n")
    _, recipe, _ = make_table(read_classes(tmp_path / "old.csv"))
    assert recipe.make(read_classes(tmp_path / "new.csv"))["bat"].tolist() == [0.75, 0.25]
    (tmp_path / "odd.csv").write_text("class,red,large\nbat,0.25,0.75\n")
    with pytest.raises(DataError, match="has no column 'big'"):
        recipe.make(read_classes(tmp_path / "odd.csv"))
    (tmp_path / "more.csv").write_text("class,red,big,old\nbat,0.25,0.75,1\n")
    with pytest.raises(DataError, match="the column 'old' is none of the 2 attributes"):
        recipe.make(read_classes(tmp_path / "more.csv"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("kind,big\n1,1\n", "no column 'class'"),
        ("class,big\nfox,1\nfox,2\n", "names the class 'fox' twice"),
        ("class,big\n", "names no class"),
    ],
)
def test_a_table_that_cannot_be_used_is_named(tmp_path, text, message):
    (tmp_path / "c.csv").write_text(text)
    with pytest.raises(DataError, match=message):
        read_classes(tmp_path / "c.csv")


# ------------------------------------------------------------------------------ report


def test_the_report_stands_alone_and_escapes(done, tmp_path):
    _, labels = done
    write_report(
        tmp_path / "r.html", labels, {"method": "<b>x</b>"}, ["mind & this"], [("a<b>.jpg", "broken")]
    )
    text = (tmp_path / "r.html").read_text()
    assert text.count("data:image/jpeg;base64,") >= 18
    assert "&lt;b&gt;x&lt;/b&gt;" in text
    assert "a&lt;b&gt;.jpg" in text
    assert "mind &amp; this" in text
    assert "http://" not in text
    assert "https://" not in text
    assert "$" not in text.split("<script>")[0].replace("$style", "$")
    assert text.index(labels.answers[0].item) < text.index('id="classes"')


def test_labels_that_a_person_gave_are_read_as_they_were_written(data, tmp_path):
    given = {data.items[3]: data.candidates[0], data.items[0]: data.candidates[1]}
    write_known(tmp_path / "known.csv", given, data)
    assert (tmp_path / "known.csv").read_text(encoding="utf-8").startswith("image,label\n")
    assert read_known(tmp_path / "known.csv", data) == {3: data.candidates[0], 0: data.candidates[1]}


def test_written_labels_are_no_formulas(data, tmp_path):
    write_known(tmp_path / "known.csv", {"=2.png": "@fox"}, data)
    assert (tmp_path / "known.csv").read_text(encoding="utf-8") == "image,label\n'=2.png,'@fox\n"

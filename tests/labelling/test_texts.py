"""Texts to labels: files and their faults, encoding with a cache, own vectors, the report."""

from __future__ import annotations

import csv
import gzip
import json

import numpy as np
import pytest

from texts import CLASSES, Bags, topics, write_classes, write_texts
from unseen import DataError
from unseen.features import FeatureStore, encode_texts
from unseen.labelling import (
    Task,
    embedded_texts,
    extract_texts,
    fit,
    prepare_texts,
    read_texts,
    write_text_report,
)
from unseen.labelling.marking_words import marking_words
from unseen.labelling.text_files import read_class_texts

METHOD = "SharedSpacePrototypes"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    root = tmp_path_factory.mktemp("texts")
    write_texts(root / "tickets.csv")
    write_classes(root / "classes.csv")
    return root


@pytest.fixture(scope="module")
def done(folder):
    prepared = prepare_texts(folder / "tickets.csv", folder / "classes.csv", truth_column="topic")
    data = extract_texts(prepared, Bags(), None)
    return fit(Task(data, METHOD))


def test_texts_are_labelled_without_one_label(done):
    labels = done.labels()
    assert labels.kind == "texts"
    assert labels.candidates == list(CLASSES)
    assert labels.accuracy > 0.9
    assert labels.accuracy >= labels.start_accuracy


def test_labels_of_the_pool_are_those_of_the_method(done):
    assert done.predicted.tolist() == done.model.transduction_.tolist()
    np.testing.assert_allclose(done.probabilities.max(axis=1), done.model.confidence_)
    np.testing.assert_allclose(done.probabilities.sum(axis=1), 1)
    assert done.start.tolist() == done.model.start_.tolist()


def test_the_csv_has_row_text_label_and_whether_it_is_unsure(done, folder, tmp_path):
    done.labels().write(tmp_path / "labels.csv")
    with (tmp_path / "labels.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["row", "text", "label", "confidence", "unsure", "runner_up", "start"]
    texts = read_texts(folder / "tickets.csv").texts
    assert all(texts[int(row["row"])] == row["text"] for row in rows)
    assert all((float(r["confidence"]) < 0.5) == (r["unsure"] == "yes") for r in rows)
    assert [float(r["confidence"]) for r in rows] == sorted(float(r["confidence"]) for r in rows)


def test_the_report_shows_words_and_nearest_texts(done, tmp_path):
    write_text_report(tmp_path / "r.html", done, {"method": METHOD}, ["a note"])
    page = (tmp_path / "r.html").read_text()
    assert "texts labelled" in page
    assert "Words that mark it" in page
    assert "Nearest to the class" in page
    assert "a note" in page
    assert page.index(done.labels().answers[0].text) < page.index('id="classes"')


def test_labels_of_some_rows_are_used(folder, tmp_path):
    rows = [(text, topic if topic == "refund" else "") for text, topic in topics(3, seed=9)]
    write_texts(tmp_path / "some.csv", rows, column="label")
    prepared = prepare_texts(
        folder / "tickets.csv", folder / "classes.csv", seen=tmp_path / "some.csv", truth_column="topic"
    )
    data = extract_texts(prepared, Bags(), None)
    assert set(data.y) == {"refund"}
    fitted = fit(Task(data, METHOD))
    assert fitted.model.seen_classes_.tolist() == ["refund"]
    assert fitted.labels().accuracy > 0.9
    assert len(fitted.probabilities) == len(data.pool)


def write_as(path, rows):
    name = path.name.removesuffix(".gz")
    if name.endswith((".csv", ".tsv")):
        sign = "\t" if name.endswith(".tsv") else ","
        text = "text" + sign + "topic\n" + "".join(f'"{t}"{sign}{c}\n' for t, c in rows)
    elif name.endswith(".jsonl"):
        text = "".join(json.dumps({"text": t, "topic": c}) + "\n" for t, c in rows)
    else:
        pa = pytest.importorskip("pyarrow")
        import pyarrow.parquet as pq

        pq.write_table(pa.table({"text": [t for t, _ in rows], "topic": [c for _, c in rows]}), path)
        return path
    data = text.encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


@pytest.mark.parametrize(
    "name", ["a.csv", "a.tsv", "a.jsonl", "a.csv.gz", "a.tsv.gz", "a.jsonl.gz", "a.parquet"]
)
def test_every_format_gives_the_same_texts(tmp_path, name):
    rows = [("first, with a comma", "x"), ("", "y"), ("third\nof two lines", "z")]
    if "jsonl" not in name and "parquet" not in name:
        rows[2] = ("third of one line", "z")
    read = read_texts(write_as(tmp_path / name, rows), "text", "topic")
    assert read.texts == [rows[0][0], rows[2][0]]
    assert read.rows == [0, 2]
    assert read.labels == ["x", "z"]
    assert len(read.broken) == 1
    assert read.broken[0].reason == "the text is empty"


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", "body\nhello\n", r"a\.csv: line 1 has no column 'text'\. It has 'body'"),
        ("a.csv", "", "is empty. The first line names the columns"),
        ("a.csv", "text,b\nhello\n", "line 2 has 1 cells, but the header names 2"),
        ("a.csv", "text\n\n", "has no text in the column 'text'"),
        ("a.jsonl", '{"text": "a"}\n{"text": \n', "line 2: is no JSON"),
        ("a.jsonl", '{"text": "a"}\n[1]\n', "line 2: holds '.1.', but an object is needed"),
        ("a.jsonl", '{"text": ["a"]}\n', r"line 1, column 'text': holds .* but a text is needed"),
        ("a.jsonl", '{"other": 1}\n', "line 1 has no column 'text'"),
        ("a.jsonl.gz", "no gzip", "cannot be read"),
        ("a.docx", "x", r"Its name must end in \.csv"),
    ],
)
def test_faults_name_file_line_and_remedy(tmp_path, name, content, message):
    (tmp_path / name).write_text(content)
    with pytest.raises(DataError, match=message):
        read_texts(tmp_path / name)


def test_an_absent_file_is_named(tmp_path):
    with pytest.raises(DataError, match=r"absent\.csv: no such file"):
        read_texts(tmp_path / "absent.csv")


def test_a_class_has_one_text_or_several(tmp_path):
    path = tmp_path / "classes.csv"
    path.write_text(
        "name,description,example,example 2,owner\n"
        "refund,money back,where is my money,,Ann\n"
        "refund,,I want it back,,Ann\n"
        "parcel,,,,Bob\n"
    )
    given, of_row = read_class_texts(path)
    assert given.names == ["refund", "parcel"]
    assert given.descriptions == {"refund": ["money back", "where is my money", "I want it back"]}
    assert of_row == ["refund", "refund", "parcel"]
    (tmp_path / "names.txt").write_text("refund\nparcel\n")
    assert read_class_texts(tmp_path / "names.txt")[0].names == ["refund", "parcel"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("colour\nred\n", "no column 'class'; columns are 'colour'"),
        ("class,description\n,red\n", "line 2: the class has no name"),
        ("class\n", "names no class"),
    ],
)
def test_faults_of_classes_are_named(tmp_path, content, message):
    (tmp_path / "c.csv").write_text(content)
    with pytest.raises(DataError, match=message):
        read_class_texts(tmp_path / "c.csv")


def test_what_does_not_fit_together_is_refused(folder, tmp_path):
    tickets, classes = folder / "tickets.csv", folder / "classes.csv"
    with pytest.raises(DataError, match="Which classes there are is not known"):
        prepare_texts(tickets, None)
    with pytest.raises(DataError, match="no row for the class 'mauve'"):
        prepare_texts(tickets, classes, candidates="mauve")
    write_texts(tmp_path / "odd.csv", [("some text", "mauve")], column="label")
    with pytest.raises(DataError, match=r"odd\.csv: line 2: the label 'mauve' is none of the 3"):
        prepare_texts(tickets, classes, seen=tmp_path / "odd.csv")
    write_texts(tmp_path / "none.csv", [("some text", "")], column="label")
    with pytest.raises(DataError, match=r"none\.csv: no row has a label"):
        prepare_texts(tickets, classes, seen=tmp_path / "none.csv")


def test_own_vectors_give_the_labels_of_the_encoder(done, folder, tmp_path):
    data = done.task.data
    np.save(tmp_path / "X.npy", data.pool)
    np.save(tmp_path / "T.npy", data.table.vectors)
    prepared = prepare_texts(folder / "tickets.csv", folder / "classes.csv")
    own = embedded_texts(prepared, tmp_path / "X.npy", tmp_path / "T.npy")
    assert fit(Task(own, METHOD)).predicted.tolist() == done.predicted.tolist()
    bare = embedded_texts(
        prepare_texts(None, folder / "classes.csv"), tmp_path / "X.npy", tmp_path / "T.npy"
    )
    assert fit(Task(bare, METHOD)).labels().answers[0].text == ""
    with pytest.raises(DataError, match="the classes have none"):
        embedded_texts(prepared, tmp_path / "X.npy", None)
    np.save(tmp_path / "short.npy", data.pool[1:])
    with pytest.raises(DataError, match=r"short\.npy: has 89 rows, and .*tickets\.csv has 90"):
        embedded_texts(prepared, tmp_path / "short.npy", tmp_path / "T.npy")
    with pytest.raises(DataError, match=r"T\.npy: has 3 rows, and .*has 3|short\.npy: has 89 rows"):
        embedded_texts(prepared, tmp_path / "X.npy", tmp_path / "short.npy")
    np.save(tmp_path / "narrow.npy", data.table.vectors[:, 1:])
    with pytest.raises(DataError, match="Both must come from one encoder"):
        embedded_texts(prepared, tmp_path / "X.npy", tmp_path / "narrow.npy")
    np.save(tmp_path / "nan.npy", np.full_like(data.pool, np.nan))
    with pytest.raises(DataError, match=r"nan\.npy: row 0 holds NaN"):
        embedded_texts(prepared, tmp_path / "nan.npy", tmp_path / "T.npy")


def test_vectors_are_kept_and_an_interrupted_call_goes_on(tmp_path):
    texts = [f"{word} {n}" for n in range(5) for word in ("refund", "parcel")]
    texts.append(texts[0])

    class Dies(Bags):
        def __call__(self, batch):
            if self.seen >= 4:
                raise KeyboardInterrupt
            return super().__call__(batch)

    with FeatureStore(tmp_path) as store:
        with pytest.raises(KeyboardInterrupt):
            encode_texts(texts, Dies(), store, batch_size=2)
        again = encode_texts(texts, Bags(), store, batch_size=2)
        assert (again.computed, again.reused) == (6, 5)
        told = []
        known = encode_texts(texts, Bags(), store, on_progress=lambda p: told.append((p.done, p.total)))
        assert known.reused == 11
        assert told[-1] == (11, 11)
    np.testing.assert_array_equal(known.X, encode_texts(texts, Bags()).X)


def test_vectors_that_are_not_finite_are_refused():
    class Broken(Bags):
        def __call__(self, batch):
            return np.full((len(batch), self.width), np.nan)

    with pytest.raises(DataError, match="gave NaN or infinity for 1 texts"):
        encode_texts(["a"], Broken())


def test_marking_words_need_evidence():
    found = marking_words(["one two"] * 3, ["a", "b", "a"], ["a", "b", "c"])
    assert found == {"a": [], "b": [], "c": []}
    assert marking_words(["?"], ["a"], ["a"]) == {"a": []}

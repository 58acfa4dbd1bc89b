"""Settings without one label: their pools, cells and tables."""

from __future__ import annotations

import json

import numpy as np
import pytest

from unseen.datasets import ZeroShotDataset
from unseen.datasets.bundle import write_bundle
from unseen.exceptions import DataError
from unseen.experiments import Experiment, Specification, Store, make_plan, run, write_report
from unseen.experiments.result_tables import all_tables
from unseen.experiments.results import Results
from unseen.experiments.specification import parse
from unseen.experiments.summary import sentences
from unseen.experiments.unlabelled_pools import (
    POOL_SETTINGS,
    STREAM_ROWS,
    answer_pool,
    pool_batches,
)
from unseen.semantics import ClassTable

CLASSES, ROWS, WIDTH = 8, 40, 12
METHODS = ("CosineZSL", "SharedSpacePrototypes")
Y = np.repeat([f"kind {i}" for i in range(CLASSES)], ROWS)
NAMES = np.unique(Y)


def batches(setting, seed=0):
    return pool_batches(setting, Y, NAMES, np.random.default_rng(seed))


@pytest.fixture(scope="module")
def own_set(tmp_path_factory):
    random = np.random.default_rng(0)
    vectors = random.normal(size=(CLASSES, WIDTH))
    moved = vectors + 0.7 * random.normal(size=vectors.shape)
    X = np.repeat(moved, ROWS, axis=0) + 0.5 * random.normal(size=(len(Y), WIDTH))
    none = np.empty(0, dtype=np.intp)
    rows = np.arange(len(Y))
    table = ClassTable(NAMES, vectors)
    data = ZeroShotDataset(X, Y, table, rows[:200], none, rows[200:], "own", "own encoder")
    path = tmp_path_factory.mktemp("data") / "own.npz"
    write_bundle(data, path)
    return path


@pytest.fixture(scope="module")
def finished(own_set, tmp_path_factory):
    wanted = Experiment("one space", (str(own_set),), (*METHODS, "ESZSL"), 2, ("unlabelled",))
    plan, folder = make_plan(Specification("own", (wanted,))), tmp_path_factory.mktemp("run")
    with Store(folder / "results.sqlite") as store:
        run(plan, store)
        written = write_report(store, folder, plan.keys)
        yield Results(store.rows(plan.keys)), written


def test_small_pools_have_k_classes():
    for k, expected in (("2", 2), ("5", 5), ("all", CLASSES)):
        (rows,) = batches(f"unlabelled {k}/64")
        assert len(np.unique(rows)) == 64
        assert len(np.unique(Y[rows])) == expected
    assert len(batches("unlabelled 2/256")[0]) == 2 * ROWS  # no more rows than there are


def test_more_classes_than_there_are_is_refused():
    with pytest.raises(DataError, match=r"'unlabelled 10/64' needs more than 10 classes. There are 8"):
        batches("unlabelled 10/64")


def test_an_uneven_pool():
    (rows,) = batches("unlabelled 50:1")
    sizes = np.unique(Y[rows], return_counts=True)[1]
    assert (sizes.max(), sizes.min()) == (ROWS, 1)


def test_streams_hold_every_row_once():
    mixed, by_class = batches("unlabelled stream"), batches("unlabelled stream by class")
    for stream in (mixed, by_class):
        assert [len(part) for part in stream] == [STREAM_ROWS, len(Y) - STREAM_ROWS]
        assert sorted(np.concatenate(stream).tolist()) == list(range(len(Y)))
    assert len(np.unique(Y[mixed[0]])) == CLASSES
    labels = Y[np.concatenate(by_class)]
    assert (labels[1:] != labels[:-1]).sum() == CLASSES - 1


def test_no_label_reaches_a_method():
    class Spy:
        def fit(self, *given):
            self.given = given
            self.transduction_ = self.start_ = np.array(["kind 0"] * len(given[0]))
            return self

        def predict_proba(self, X):
            return np.full((len(X), CLASSES), 1 / CLASSES)

    spy, X = Spy(), np.zeros((len(Y), WIDTH))
    answers = answer_pool(spy, X, Y, batches("unlabelled full"))
    assert len(spy.given) == 1
    assert answers.gain == 0
    assert answers.accuracies[0] == pytest.approx(1 / CLASSES)
    assert answers.calibration_error == pytest.approx(0)


def test_cells_with_and_without_a_result(finished):
    results, _ = finished
    done = {row.setting for row in results.fits if row.method == "SharedSpacePrototypes"}
    too_many = {s for s in POOL_SETTINGS if s.split()[1].startswith(("10/", "25/"))}
    assert done == set(POOL_SETTINGS) - too_many
    skipped = {row.error for row in results.all if row.status == "skipped"}
    assert "'unlabelled 10/64' needs more than 10 classes. There are 8." in skipped
    assert "ESZSL needs labelled rows, and 'unlabelled full' has none." in skipped
    assert not any(row.status == "failed" for row in results.all)


def test_tables_and_sentence(finished):
    results, written = finished
    tables = {t.name: t for t in all_tables(results)}
    whole = {row[1].text: row for row in tables["unlabelled"].rows}
    assert whole["CosineZSL"][4].text == "+0.0"
    assert whole["SharedSpacePrototypes"][4].number > 3
    small = {(row[1].text, row[2].text): row for row in tables["small_pools"].rows}
    assert {k for _, k in small} == {"2", "5", "all"}
    for row in small.values():
        assert row[6].number <= min(value.number for value in row[3:6])
    (sentence,) = [s for s in sentences(results) if "without one label" in s]
    assert sentence.startswith("own.npz, without one label: SharedSpacePrototypes is best with")
    page = next(path for path in written if path.name == "report.html").read_text("utf-8")
    assert "No labelled rows — few classes, small pools" in page
    stored = next(path for path in written if path.name == "small_pools.json")
    assert json.loads(stored.read_text("utf-8"))


def test_a_specification_names_settings():
    text = '[[experiment]]\ndatasets = ["letters"]\nmethods = ["CosineZSL"]\nsettings = [{}]'
    wanted = parse(text.format('"unlabelled full", "unlabelled 5/64", "zsl"'), "mine", "mine")
    cells = make_plan(wanted).cells
    assert [c.setting for c in cells] == ["unlabelled full", "unlabelled 5/64", "zsl"]
    with pytest.raises(DataError, match="'settings' must be among zsl, gzsl, gzsl known, gzsl offset"):
        parse(text.format('"unlabelled 7/64"'), "mine", "mine")

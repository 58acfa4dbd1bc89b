"""The runner and the store: resume, failures, labels that no fit may reach."""

from __future__ import annotations

import dataclasses
import math
import os
import sqlite3
import sys
import time
from collections import Counter

import numpy as np
import pytest
from plans import tiny_plan

from unseen import ESZSL
from unseen.exceptions import DataError
from unseen.experiments import Cell, Experiment, Specification, Store, make_plan, registry, run
from unseen.experiments.execute import Outcome, execute, training_input
from unseen.experiments.run import Progress, attempt, pending
from unseen.methods import catalogue


def test_every_cell_has_a_row_with_all_that_a_reader_needs(finished):
    plan, store = finished
    rows = store.rows(plan.keys)
    assert [r.key for r in rows] == plan.keys
    assert {r.status for r in rows} == {"done", "diverged"}
    diverged = {(r.method, r.preset) for r in rows if r.status == "diverged"}
    assert diverged == {("ASTE", "printed"), ("Fast-ASTE", "printed"), ("TASTE", "printed")}
    for row in rows:
        assert row.versions["unseen"]
        assert row.data_hash
        assert Cell(**row.specification).key == row.key
        if row.status == "done" and row.method not in registry.MEASUREMENTS:
            assert row.seconds > 0
            assert row.predict_seconds > 0
            assert row.peak_mb > 10
            assert 0 <= row.accuracy <= 1
            assert row.metrics["by_class"]


def test_history_and_bound_terms_are_kept(finished):
    _, store = finished
    rows = [r for r in store.rows() if r.status == "done"]
    taste = next(r for r in rows if r.method == "TASTE" and r.history)
    assert {"round", "selected", "classes_covered", "purity", "newly_trusted"} <= set(taste.history[0])
    for row in rows:
        if "seen_error_rows" in row.metrics:
            assert row.metrics["seen_error_patterns"] <= row.metrics["seen_error_rows"] + 1e-9
    distance = next(r for r in rows if r.method == "A-distance")
    assert -2 <= distance.metrics["a_distance"] <= 2


def test_nothing_runs_twice(finished):
    plan, store = finished
    before = store.rows()
    assert pending(plan, store) == []
    assert run(plan, store).done == 0
    assert store.rows() == before or str(store.rows()) == str(before)


def test_a_failed_cell_is_kept_and_tried_again_on_request(tmp_path, monkeypatch):
    plan = tiny_plan(("ESZSL", "ASTE"))

    def broken(*given):
        raise RuntimeError("no luck")

    good = ESZSL._fit
    monkeypatch.setattr(ESZSL, "_fit", broken)
    with Store(tmp_path / "s.sqlite") as store:
        told = []
        progress = run(plan, store, on_progress=lambda p: told.append((p.done, p.failed)))
        assert (progress.done, progress.failed) == (2, 1)
        assert told == [(1, 1), (2, 1)]
        row = next(r for r in store.rows() if r.method == "ESZSL")
        assert row.status == "failed"
        assert "RuntimeError: no luck" in row.error
        monkeypatch.setattr(ESZSL, "_fit", good)
        assert run(plan, store).done == 0
        assert run(plan, store, retry=True).done == 1
        assert {r.status for r in store.rows()} == {"done"}


def test_processes_give_the_same_rows_as_one(tmp_path):
    plan = tiny_plan(("ESZSL", "SJE", "TASTE"), trials=2)
    with Store(tmp_path / "one.sqlite") as one, Store(tmp_path / "two.sqlite") as two:
        run(plan, one)
        run(plan, two, jobs=2)
        assert one.untimed() == two.untimed()


def test_a_dead_process_fails_its_cell_only(tmp_path, monkeypatch):
    plan = tiny_plan(("ESZSL", "ASTE", "SJE"))
    monkeypatch.setenv("UNSEEN_TEST_DIES", "ASTE")
    from unseen.experiments import workers

    monkeypatch.setattr(workers, "_serve", dying_serve)
    with Store(tmp_path / "s.sqlite") as store:
        run(plan, store, jobs=2)
        found = {r.method: r for r in store.rows()}
    assert found["ASTE"].status == "failed"
    assert "out of memory, or killed" in found["ASTE"].error
    assert found["ESZSL"].status == found["SJE"].status == "done"


def dying_serve(pipe, folder, threads):
    import os

    from unseen.experiments.run import Loader, attempt

    while True:
        try:
            cell = pipe.recv()
        except EOFError:
            return
        if cell.method == "ASTE":
            os._exit(9)
        pipe.send(attempt(cell, Loader(folder)))


@pytest.mark.parametrize("jobs", [0, True, 1.5])
def test_jobs_are_checked(finished, jobs):
    plan, store = finished
    with pytest.raises(ValueError, match="jobs must be an integer >= 1"):
        run(plan, store, jobs=jobs)


def test_another_file_is_no_store(tmp_path):
    path = tmp_path / "notes.sqlite"
    path.write_text("not a database, but long enough to be taken for one" * 40)
    with pytest.raises(DataError, match=r"notes\.sqlite: is not a store of results"):
        Store(path)


def test_the_store_is_written_ahead(tmp_path):
    with Store(tmp_path / "s.sqlite") as store:
        store.write(Cell("letters", "ESZSL"), Outcome("done", metrics={"accuracy": float("nan")}))
        mode = sqlite3.connect(store.path).execute("pragma journal_mode").fetchone()
        assert mode == ("wal",)
        assert store.rows()[0].metrics == {"accuracy": None}


@pytest.mark.parametrize("setting", ["zsl", "gzsl"])
@pytest.mark.parametrize("name", list(catalogue()))
def test_no_fit_can_reach_a_test_label(name, setting):
    """Poison every test label: what is learned, tuned and predicted must not move."""
    # Of 64 attributes, as many as features: methods that compare the two can be run as well.
    width = 32 if catalogue()[name].estimator.needs_labelled_rows else 64
    data = registry.load(f"simulated-aPY@0.03x{width}")
    cell = Cell(f"simulated-aPY@0.03x{width}", name, setting=setting)
    test = np.concatenate([data.test_seen, data.test_unseen])
    y = data.y.copy()
    y[data.test_unseen] = np.random.default_rng(1).permutation(y[data.test_unseen])
    y[data.test_seen] = np.random.default_rng(2).permutation(y[data.test_seen])
    poisoned = dataclasses.replace(data, y=y)
    assert (y[test] != data.y[test]).mean() > 0.5
    X, labels = training_input(cell, data)
    X_poisoned, labels_poisoned = training_input(cell, poisoned)
    np.testing.assert_array_equal(X, X_poisoned)
    assert labels.tolist() == labels_poisoned.tolist()
    assert sum(label is not None for label in labels) == len(data.train)
    found = execute(cell, data).metrics
    if setting == "zsl":  # the same predictions, counted against other labels
        other = execute(cell, poisoned).metrics
        sums = [np.sum(p["confusion"]["counts"], axis=0).tolist() for p in (found, other)]
        assert sums[0] == sums[1]


def test_what_a_data_set_or_a_method_lacks_is_skipped_with_the_reason():
    data = registry.load("simulated-aPY@0.03x32")
    bare = dataclasses.replace(data, test_seen=data.test_seen[:0])
    found = attempt(Cell("bare", "ESZSL", setting="gzsl"), lambda name: bare)
    assert (found.status, found.metrics) == ("skipped", {})
    assert "bare holds out no rows of seen classes" in found.error
    found = attempt(Cell("whole", "ESZSL", prior="known"), lambda name: data)
    assert (found.status, found.error) == ("skipped", "ESZSL does not offer the class prior 'known'.")
    for name in ("SharedSpacePrototypes", "CosineZSL", "ZLaP"):
        found = attempt(Cell("whole", name), lambda name: data)
        assert (found.status, found.metrics) == ("skipped", {})
        assert f"{name} needs features and semantics of one space, and whole has 32" in found.error


def test_one_row_a_class_and_shares():
    data = registry.load("simulated-aPY@0.03x32")
    for share, most in ((0.0, 1), (0.5, None)):
        _, y = training_input(Cell("simulated-aPY@0.03x32", "ESZSL", share=share), data)
        _, counts = np.unique(y.astype(str), return_counts=True)
        assert len(counts) == len(data.seen_classes)
        assert most is None or counts.max() == most
    assert abs(len(y) - len(data.train) / 2) < len(data.seen_classes)


def test_time_left_knows_that_methods_differ(monkeypatch):
    """Ten slow cells are left when all quick ones are done; the mean of all would be far too low."""
    cells = [Cell("a", method, trial) for method in ("quick", "slow") for trial in range(12)]
    others = [Cell("b", "slow"), Cell("b", "new")]
    waiting = Counter((cell.dataset, cell.method) for cell in [*cells, *others])
    progress = Progress(26, 0, started=0.0, waiting=waiting)
    assert math.isnan(progress.seconds_left)
    for cell in cells[:14]:
        progress.note(cell, Outcome("done", seconds=30.0 if cell.method == "slow" else 1.0))
    monkeypatch.setattr(time, "monotonic", lambda: 72.0)
    mean = (12 * 1.0 + 2 * 30.0) / 14
    assert progress.seconds_left == pytest.approx(10 * 30.0 + 30.0 + mean)


def test_time_left_without_a_fit(monkeypatch):
    """Cells that fail or measure data have no seconds of a fit."""
    progress = Progress(4, 1, started=0.0, waiting=Counter({("a", "audit"): 3}))
    progress.note(Cell("a", "audit"), Outcome("failed"))
    monkeypatch.setattr(time, "monotonic", lambda: 5.0)
    assert progress.seconds_left == pytest.approx(10.0)


def test_large_data_sets_are_run_first(monkeypatch, tmp_path):
    names = "letters", "simulated-aPY@0.03x32", "simulated-aPY@0.03x64"
    wanted = Experiment("three", names, ("ESZSL",))
    theirs = Experiment("published", names, ("ASTE",), preset="published")
    runner = sys.modules["unseen.experiments.run"]  # the package exports a function of this name
    monkeypatch.setattr(runner, "execute", lambda cell, data: Outcome("done"))
    order = []
    with Store(tmp_path / "store.sqlite") as store:
        plan = make_plan(Specification("three", (wanted, theirs)))
        run(plan, store, on_progress=lambda progress: order.append(progress.last))
    assert [c.dataset for c in order] == [n for n in (names[0], names[2], names[1]) for _ in range(2)]
    assert [c.preset for c in order] == ["published", "default"] * 3  # authors' forms take longest


def test_time_left_follows_the_size_of_data_sets():
    cells = [Cell("large", "ESZSL"), Cell("small", "ESZSL")]
    waiting = Counter((cell.dataset, cell.method) for cell in cells)
    progress = Progress(2, 0, waiting=waiting, sizes={"large": 100.0, "small": 1.0})
    progress.started = time.monotonic() - 10
    progress.note(cells[0], Outcome("done", seconds=10.0))
    assert 0.9 <= progress.seconds_left <= 1.2  # a tenth: the square root of the sizes


def test_a_process_has_no_more_threads_than_its_share(monkeypatch):
    from unseen.experiments import workers

    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "7")
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    with workers.blas_environment(2):
        assert {os.environ[name] for name in workers.THREAD_VARIABLES} == {"2"}
    assert os.environ["OPENBLAS_NUM_THREADS"] == "7"
    assert "OMP_NUM_THREADS" not in os.environ

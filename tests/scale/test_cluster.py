"""A cluster of two processes: Zarr rows, a scheduler's address, and a worker that dies on the way."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dask.array as da
import numpy as np
import pytest
import zarr
from distributed import Client, LocalCluster
from sklearn.base import clone
from typer.testing import CliRunner

from unseen import ASTE, ESZSL, TASTE, FastTraining, SelfPaced, SelfPacedPrototypes, load, open_rows
from unseen.cli import app
from unseen.exceptions import DataError
from unseen.inductive import bilinear
from unseen.rows import top_share
from unseen.scale import cluster as passes
from unseen.scale import connect, open_files
from unseen.statistics import review
from unseen.transductive.selection import BalancedSelection

ROWS, COLUMNS, SEEN, UNSEEN = 20_000, 32, 20, 5
TWO_ROUNDS = BalancedSelection(shares=(0.5, 1.0))


class Problem:
    """Rows in Zarr and in memory."""

    def __init__(self, folder: Path) -> None:
        random = np.random.default_rng(0)
        vectors = random.normal(size=(SEEN + UNSEEN, 10))
        means = vectors @ random.normal(size=(10, COLUMNS))
        true = random.integers(SEEN + UNSEEN, size=ROWS)
        self.X = (means[true] + 2 * random.normal(size=(ROWS, COLUMNS))).astype(np.float32)
        self.y = np.where(true < SEEN, true, -1)
        self.semantics = dict(enumerate(vectors))
        self.rows, self.labels = folder / "rows.zarr", folder / "labels.zarr"
        for path, values in ((self.rows, self.X), (self.labels, self.y)):
            chunks = (3000, *values.shape[1:])
            stored = zarr.create_array(path, shape=values.shape, chunks=chunks, dtype=values.dtype)
            stored[:] = values

    def opened(self) -> tuple[Any, Any]:
        rows, labels = open_rows(self.rows), open_rows(self.labels)
        assert isinstance(rows, da.Array)
        return rows.rechunk({0: 3000}), labels.rechunk({0: 3000})


@pytest.fixture(scope="module")
def problem(tmp_path_factory: pytest.TempPathFactory) -> Problem:
    return Problem(tmp_path_factory.mktemp("scale"))


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as workers,
        Client(workers) as client,
    ):
        yield client


class Killer:
    """Ends a worker's process before some pass of a fit, as a machine that fails would."""

    def __init__(self, client: Client, before: int) -> None:
        self.client, self.before, self.passes = client, before, 0
        self.computed = passes._computed

    def __call__(self, *arguments: Any) -> Any:
        self.passes += 1
        if self.passes == self.before:
            os.kill(next(iter(self.client.run(os.getpid).values())), signal.SIGKILL)
        return self.computed(*arguments)


@pytest.mark.parametrize(
    ("estimator", "before"),
    [
        (ASTE(), 4),
        (FastTraining(TASTE(selection=TWO_ROUNDS, settle=0)), 20),
        (SelfPacedPrototypes(normalise="unit"), 20),
    ],
    ids=["ASTE", "Fast-TASTE", "SelfPacedPrototypes"],
)
def test_the_answer_is_the_same_when_a_worker_is_killed(
    estimator: Any, before: int, problem: Problem, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    want = clone(estimator).set_params(semantics=problem.semantics, candidates="unseen")
    want.fit(problem.X, problem.y)
    killer = Killer(client, before)
    monkeypatch.setattr(passes, "_computed", killer)
    got = clone(want).fit(*problem.opened())
    assert killer.passes > before, "the worker was killed in the middle"
    scores, wanted = got.decision_function(problem.X), want.decision_function(problem.X)
    np.testing.assert_allclose(scores, wanted, atol=1e-4 * np.abs(wanted).max())
    if hasattr(want, "transduction_"):
        assert isinstance(got.transduction_, da.Array)
        np.testing.assert_array_equal(got.transduction_.compute(), want.transduction_)


@pytest.mark.parametrize(
    "estimator",
    [SelfPaced(ESZSL(), selection=TWO_ROUNDS), SelfPacedPrototypes(rounds=2)],
    ids=["SelfPaced", "SelfPacedPrototypes"],
)
def test_nothing_as_long_as_the_rows_reaches_the_client(
    estimator: Any, problem: Problem, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    longest = 0

    def watched(*arguments: Any) -> Any:
        nonlocal longest
        found = computed(*arguments)
        longest = max(longest, sum(len(a) for part in found for a in _arrays(part)))
        return found

    computed = passes._computed
    monkeypatch.setattr(passes, "_computed", watched)
    monkeypatch.setattr(bilinear, "TEMPERATURE_ROWS", 10)  # samples that are small against 20,000 rows
    monkeypatch.setattr(top_share, "ROWS_TO_GATHER", 100)
    monkeypatch.setattr(review, "SKETCH_ROWS", 300)
    model = clone(estimator).set_params(semantics=problem.semantics, candidates="unseen")
    model.fit(*problem.opened())
    assert 0 < longest < ROWS / 5  # the largest: 30 rows of 25 classes, with codes and weights


def _arrays(part: Any) -> list[Any]:
    if isinstance(part, (tuple, list)):
        return [a for p in part for a in _arrays(p)]
    return [part] if isinstance(part, np.ndarray) and part.ndim else []


@pytest.mark.parametrize("weight", [1, passes.SMALL], ids=["small", "large"])
def test_sums_over_many_chunks(weight: int) -> None:
    """Two levels of additions; what is given goes with the tasks, or is a node of its own."""
    values = np.arange(300.0)
    rows = passes.DaskChunks.of(da.from_array(values, chunks=1)).kept()
    assert len(rows.sizes) > passes.MOST_SPLIT
    (total,) = rows.summed(_times, given=(np.full(weight, 2.0),))
    np.testing.assert_array_equal(total, np.full(weight, 2 * values.sum()))


def _times(values: Any, factors: Any) -> tuple[Any]:
    return (values.sum() * factors,)


def test_the_command_line_takes_a_schedulers_address(
    problem: Problem, client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(open_files, "ANSWER", "300s")  # however busy the machine is
    model, answers, classes = tmp_path / "m.safetensors", tmp_path / "y.npy", tmp_path / "classes.csv"
    lines = ["class," + ",".join(f"a{i}" for i in range(10))]
    lines += [f"{k}," + ",".join(map(str, v)) for k, v in problem.semantics.items()]
    classes.write_text("\n".join(lines))
    common = ["--scheduler", client.scheduler.address]
    fit = [
        "fit",
        "--seen",
        str(problem.rows),
        "--labels",
        str(problem.labels),
        "--classes",
        str(classes),
    ]
    done = CliRunner().invoke(app, [*fit, "--out", str(model), *common])
    assert done.exit_code == 0, done.output
    predict = ["predict", str(model), str(problem.rows), "--out", str(answers), *common]
    done = CliRunner().invoke(app, predict)
    assert done.exit_code == 0, done.output
    want = load(model).predict(problem.X)
    np.testing.assert_array_equal(np.load(answers), want)


def test_a_scheduler_that_does_not_answer_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(open_files, "ANSWER", "200ms")  # nobody will, however long it waits
    with pytest.raises(DataError, match=r"tcp://127.0.0.1:1: no Dask scheduler answers there"):
        connect("tcp://127.0.0.1:1")


DYING_CLIENT = """
import os, signal, sys
from distributed import Client
from unseen import ASTE, open_rows
from unseen.scale import cluster as passes
import numpy as np

def die(*arguments):
    global count
    count += 1
    if count == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return computed(*arguments)

count, computed, passes._computed = 0, passes._computed, die
with Client(sys.argv[1]), np.load(sys.argv[4]) as table:
    rows, labels = open_rows(sys.argv[2]).rechunk({0: 3000}), open_rows(sys.argv[3]).rechunk({0: 3000})
    ASTE(dict(enumerate(table["vectors"])), candidates="unseen").fit(rows, labels)
"""


def test_a_killed_client_leaves_the_cluster_usable(
    problem: Problem, client: Client, tmp_path: Any
) -> None:
    """The client dies in the middle of a fit; the next one on the same workers has the same answer."""
    np.savez(tmp_path / "table.npz", vectors=np.stack(list(problem.semantics.values())))
    address = client.scheduler.address
    command = [sys.executable, "-c", DYING_CLIENT, address, problem.rows, problem.labels]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [*map(str, command), str(tmp_path / "table.npz")], env=environment, check=False
    )
    assert done.returncode == -signal.SIGKILL
    want = ASTE(problem.semantics, candidates="unseen").fit(problem.X, problem.y)
    got = clone(want).fit(*problem.opened())
    scores, wanted = got.decision_function(problem.X), want.decision_function(problem.X)
    np.testing.assert_allclose(scores, wanted, atol=1e-4 * np.abs(wanted).max())

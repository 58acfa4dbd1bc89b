"""The generalisation suite on a simulated data set: draws, folds, storage and tables."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
CLASSES, SEEN, ROWS, WIDTH = 16, 12, 6, 8


@pytest.fixture(scope="module", autouse=True)
def _benchmarks_on_path():
    sys.path.insert(0, str(BENCHMARKS))
    yield
    sys.path.remove(str(BENCHMARKS))


def arrays(seed=0):
    """Simulated: features are class vectors and noise, so that the space is shared."""
    random = np.random.default_rng(seed)
    vectors = random.normal(size=(CLASSES, WIDTH))
    y = np.repeat(np.arange(CLASSES), ROWS)
    X = vectors[y] + 0.3 * random.normal(size=(len(y), WIDTH))
    return {
        "X": X.astype(np.float16),
        "y": y,
        "class_names": np.array([f"kind {i:02d}" for i in range(CLASSES)]),
        "S": vectors.T.astype(np.float32),
        "S_other": random.normal(size=(WIDTH, CLASSES)).astype(np.float32),
        "trainval": np.flatnonzero(y < SEEN),
        "test_unseen": np.flatnonzero(y >= SEEN),
        "X_strangers": random.normal(size=(10, WIDTH)).astype(np.float16),
    }


def reordered(values, seed=1):
    """The same data with rows and classes in another order."""
    random = np.random.default_rng(seed)
    rows, classes = random.permutation(len(values["y"])), random.permutation(CLASSES)
    row_of, class_of = np.argsort(rows), np.argsort(classes)
    return values | {
        "X": values["X"][rows],
        "y": class_of[values["y"][rows]],
        "class_names": values["class_names"][classes],
        "S": values["S"][:, classes],
        "S_other": values["S_other"][:, classes],
        "trainval": row_of[values["trainval"]],
        "test_unseen": row_of[values["test_unseen"]],
    }


@pytest.fixture
def write(tmp_path):
    def to_file(values, name="toy"):
        path = tmp_path / f"{name}.npz"
        np.savez(path, **values)
        return str(path)

    return to_file


@pytest.fixture
def suite(tmp_path, monkeypatch, capsys):
    import generalise

    monkeypatch.chdir(tmp_path)

    def run(*arguments):
        generalise.main(["--data", str(tmp_path), *map(str, arguments)])
        return capsys.readouterr().out

    return run


def cells_of(line):
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_a_table_with_the_simple_answers_beside_the_method(suite, write):
    path = write(arrays())
    out = suite("--datasets", path, f"{path}:other", "--methods", "ESZSL", "--draws", 2)
    lines = out.splitlines()
    assert cells_of(lines[2]) == ["set", "cosine", "ridge", "ASTE", "best of these", "ESZSL"]
    shared, other = cells_of(lines[4]), cells_of(lines[5])
    assert shared[0] == "toy (8 features; 12 seen; chance 25.0)"
    assert float(shared[1]) > 90
    assert other[:2] == ["toy:other (8 features; 12 seen; chance 25.0)", "–"]
    assert cells_of(lines[6])[0] == "**mean**"
    assert float(cells_of(lines[6])[5]) == pytest.approx(
        (float(shared[5]) + float(other[5])) / 2, abs=0.11
    )
    assert "cosine: the mean is over 1 of 2 sets." in out
    assert "ESZSL: below the best simple answer by more than a point: " in out
    assert " of 4 runs, worst " in out


def test_hostile_pools_say_where_a_method_started(suite, write):
    pools = ("half absent", "strangers")
    out = suite(
        *("--datasets", write(arrays()), "--methods", "SelfPacedPrototypes"),
        *("--draws", 1, "--seeds", 2, "--pools", *pools),
    )
    for pool in pools:
        assert f"Pool: {pool}." in out
    assert out.count(" → ") == 4  # two pools: one set and the mean
    assert "of 2 runs" in out


def test_a_method_that_draws_at_random_is_run_with_several_random_states(suite, write):
    out = suite("--datasets", write(arrays()), "--methods", "MaxMarginSSL", "--draws", 2, "--seeds", 3)
    assert "the best simple answer by more than a point: " in out
    assert " of 6 runs" in out
    row = [float(number) for number in cells_of(out.splitlines()[4])[1:5]]
    assert row[3] >= max(row[:3])  # the best of each run, and the simple answers have one run a draw
    assert "MaxMarginSSL: seeds (random state and row order) differ by more than a point: " in out
    assert " of 2 draws, most " in out


def test_an_inductive_method_is_fitted_with_each_random_state(write, tmp_path, monkeypatch):
    import cells

    states = []
    method = cells.method
    monkeypatch.setattr(cells, "method", lambda *a: states.append(a[2]) or method(*a))
    path = write(arrays())
    for pool in ("full", "half absent"):
        for seed in range(2):
            for name in ("SJE", "ASTE"):
                assert not cells.run(cells.Cell(path, 0, pool, seed, name), tmp_path)[1].error
    assert sorted(states) == [0, 0, 1]  # SJE twice, ASTE once, whatever the pool


def test_orders_and_names_are_varied(suite, write):
    out = suite(
        *("--datasets", write(arrays()), "--methods", "ESZSL", "--draws", 1),
        *("--shuffles", 1, "--renamings", 1),
    )
    spreads = out[out.index("Highest less lowest") :].splitlines()[4]
    assert cells_of(spreads)[1].startswith("0.00 / ")  # ridge does not mind the order of rows


@pytest.mark.parametrize("folds", [False, True])
def test_draws_depend_on_neither_row_order_nor_class_order(write, tmp_path, folds):
    from draws import draw, load

    first = load(write(arrays(), "first"), tmp_path, folds)
    second = load(write(reordered(arrays()), "second"), tmp_path, folds)
    assert first.digest == second.digest
    held = set()
    for number in range(3):
        one, other = (draw(source.data, number, folds) for source in (first, second))
        assert one.unseen_classes.tolist() == other.unseen_classes.tolist()
        assert np.array_equal(one.X[one.train], other.X[other.train])
        assert not set(one.unseen_classes) & set(one.seen_classes)
        held.add(tuple(one.unseen_classes.tolist()))
    assert len(held) == 3


def test_folds_know_nothing_of_unseen_classes(suite, write, tmp_path):
    from draws import draw, load

    values = arrays()
    spoilt = {name: array.copy() for name, array in values.items()}
    unseen = spoilt.pop("test_unseen")
    spoilt["y"] = spoilt["y"].astype(float)
    spoilt["y"][unseen] = np.nan
    spoilt["X"][unseen] = np.nan
    spoilt["S"][:, SEEN:] = np.nan
    spoilt["X_strangers"][:] = np.nan
    path, clean = write(spoilt, "spoilt"), write(values, "clean")
    assert load(path, tmp_path, True).digest == load(clean, tmp_path, True).digest
    fold = draw(load(path, tmp_path, True).data, 0, True)
    assert set(fold.semantics) == set(values["class_names"][:SEEN])
    assert len(fold.unseen_classes) == SEEN // 4
    arguments = ("--methods", "ESZSL", "--draws", 2, "--folds", "--pools", "strangers", "--seeds", 1)
    tables = [suite("--datasets", p, *arguments).split(" (", 1)[1] for p in (path, clean)]
    assert tables[0].replace("spoilt", "clean") == tables[1]


def test_a_run_is_resumed_and_fresh_starts_again(suite, write, tmp_path, monkeypatch):
    import generalise

    calls = []
    monkeypatch.setattr(generalise, "run", counting(generalise.run, calls))
    asked = ("--datasets", write(arrays()), "--methods", "ESZSL", "--draws", 2)
    first = suite(*asked)
    assert len(calls) == 8
    store = tmp_path / "out" / "generalise.jsonl"
    lines = store.read_text().splitlines()
    assert len(lines) == 8
    store.write_text("\n".join(lines[:-1]) + "\n" + lines[-1][:20])  # the last line was cut off
    assert suite(*asked) == first
    assert len(calls) == 9
    suite(*asked, "--set", "gamma=1.0")
    assert len(calls) == 11
    suite(*asked, "--fresh")
    assert len(calls) == 19


def counting(run, calls):
    def counted(cell, folder):
        calls.append(cell)
        return run(cell, folder)

    return counted


def test_a_failure_is_told_and_not_stored(suite, write, tmp_path):
    asked = ("--datasets", write(arrays()), "--methods", "ESZSL", "--draws", 1)
    out = suite(*asked, "--set", "gamma=-1.0")
    assert "failed: ESZSL on " in out
    assert "'gamma' parameter" in out
    assert "gamma" not in (tmp_path / "out" / "generalise.jsonl").read_text()


def test_messages(suite, write):
    from unseen.exceptions import DataError

    path = write(arrays())
    with pytest.raises(DataError, match="no method 'Nothing'"):
        suite("--datasets", path, "--methods", "Nothing")
    with pytest.raises(DataError, match="None of the methods has a parameter depth"):
        suite("--datasets", path, "--methods", "ESZSL", "--set", "depth=3")
    with pytest.raises(DataError, match="has no S_words"):
        suite("--datasets", f"{path}:words", "--methods", "ESZSL")
    with pytest.raises(DataError, match="no such file"):
        suite("--datasets", "nowhere", "--methods", "ESZSL")


def test_every_data_set_has_a_title_in_the_tables_of_accuracies():
    from accuracy_tables import TITLES
    from settings import DATASETS

    assert set(TITLES) == set(DATASETS)

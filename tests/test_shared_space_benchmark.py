"""The benchmark of methods without labelled rows, on a simulated data set."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
CLASSES, SEEN, ROWS, WIDTH = 12, 9, 14, 16


@pytest.fixture(scope="module", autouse=True)
def _benchmarks_on_path():
    sys.path.insert(0, str(BENCHMARKS))
    yield
    sys.path.remove(str(BENCHMARKS))


@pytest.fixture(scope="module")
def own_file(tmp_path_factory):
    random = np.random.default_rng(0)
    vectors, y = random.normal(size=(CLASSES, WIDTH)), np.repeat(np.arange(CLASSES), ROWS)
    path = tmp_path_factory.mktemp("data") / "own.npz"
    np.savez(
        path,
        X=vectors[y] + 0.8 * random.normal(size=(len(y), WIDTH)),
        y=y,
        class_names=np.array([f"kind {i:02d}" for i in range(CLASSES)]),
        S=vectors.T,
        S_other=random.normal(size=(WIDTH, CLASSES)),
        trainval=np.flatnonzero(y < SEEN),
        test_unseen=np.flatnonzero(y >= SEEN),
        X_strangers=3 * random.normal(size=(20, WIDTH)),
    )
    return path


def run(own_file, tmp_path, *more):
    from shared_space import main

    out = tmp_path / "figures.json"
    main(["--datasets", str(own_file), "--draws", "2", "--json", str(out), *more])
    return json.loads(out.read_text(encoding="utf-8"))


def test_every_part_has_figures(own_file, tmp_path, capsys):
    figures = run(own_file, tmp_path, "--methods", "SharedSpacePrototypes", "CosineZSL")
    own, cosine = figures["SharedSpacePrototypes"], figures["CosineZSL"]
    assert set(own) == {"full", "batches", "50:1", "streams", "strangers", "labels"}
    assert cosine["full"]["own"]["gain"] == 0
    assert own["full"]["own"]["gain"] > -3
    settings = own["batches"]["own"]
    assert set(settings) == {f"{k}/{n}" for k in (2, 5, 10, "all") for n in (64, 256, 1000)}
    assert all(value == 0 for v in cosine["batches"]["own"].values() for value in v)
    assert own["strangers"]["own"]["AUROC"] > 0.5
    told = capsys.readouterr().out
    assert "SharedSpacePrototypes, over 1 data sets: full" in told
    assert "k = all" in told


def test_seen_classes_only(own_file, tmp_path, capsys):
    run(own_file, tmp_path, "--methods", "ZLaP!", "--seen", "--parts", "full")
    assert f"{SEEN * ROWS} rows, {SEEN} classes, seen classes only" in capsys.readouterr().out


def test_a_file_without_a_shared_space_is_refused(own_file, tmp_path):
    from unseen.exceptions import DataError

    with pytest.raises(DataError, match="features and semantics do not share a space"):
        run(f"{own_file}:other", tmp_path, "--parts", "full")

"""``unseen fit`` and ``unseen predict`` on features in files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from toys import make_toy
from unseen import TASTE, FastTraining, SelfPacedPrototypes, load
from unseen.cli import app
from unseen.exceptions import DataError


@pytest.mark.parametrize(
    ("named", "estimator"),
    [([], SelfPacedPrototypes()), (["--method", "Fast-TASTE"], FastTraining(TASTE()))],
    ids=["default", "Fast-TASTE"],
)
def test_parquet_with_names_from_fit_to_labels(
    named: list[str], estimator: Any, tmp_path: Path
) -> None:
    toy = make_toy(seen=8, unseen=3, p=12, rows=40)
    X, y = toy.transductive()
    rows, model, out = (tmp_path / n for n in ("rows.parquet", "m.safetensors", "labels.csv"))
    pq.write_table(pa.table({"x": list(X), "label": y.tolist()}), rows, row_group_size=100)
    classes = tmp_path / "classes.csv"
    header = "class," + ",".join(f"a{i}" for i in range(8))
    lines = [f"{k}," + ",".join(map(repr, v.tolist())) for k, v in toy.semantics.items()]
    classes.write_text("\n".join([header, *lines]))
    fit = ["fit", "--seen", str(rows), "--labels", str(rows), "--classes", str(classes), "--json"]
    done = CliRunner().invoke(app, [*fit, *named, "--out", str(model)])
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    assert told["candidates"] == sorted(set(toy.y[toy.unseen]))
    assert told["method"] == (named[-1] if named else "SelfPacedPrototypes")
    assert type(load(model)) is type(estimator)
    features = tmp_path / "features.npy"
    np.save(features, X)
    done = CliRunner().invoke(app, ["predict", str(model), str(features), "--out", str(out)])
    assert done.exit_code == 0, done.output
    want = estimator.set_params(semantics=toy.semantics).fit(X, y).predict(X)
    assert out.read_text().split("\n")[1:-1] == want.tolist()


def test_photographs_have_no_scheduler(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="--scheduler and --labels belong to features"):
        CliRunner().invoke(
            app,
            ["fit", "--seen", str(tmp_path), "--scheduler", "tcp://127.0.0.1:1"],
            catch_exceptions=False,
        )


@pytest.mark.parametrize("method", ["WDVSc", "CMT"])
def test_a_method_that_needs_all_rows_is_refused_by_name(method: str, tmp_path: Path) -> None:
    np.save(tmp_path / "X.npy", np.eye(3))
    np.save(tmp_path / "y.npy", np.arange(3))
    (tmp_path / "classes.csv").write_text("class,a\n0,1\n1,2\n2,3\n")
    files = [str(tmp_path / n) for n in ("X.npy", "y.npy", "classes.csv", "m.safetensors")]
    command = ["fit", "--seen", files[0], "--labels", files[1], "--classes", files[2]]
    remedy = rf"X.npy: is read in chunks, and {method} needs all rows in memory.*SelfPacedPrototypes"
    with pytest.raises(DataError, match=remedy):
        CliRunner().invoke(
            app, [*command, "--method", method, "--out", files[3]], catch_exceptions=False
        )
    assert not Path(files[3]).exists()


def test_labels_and_names_must_be_of_one_kind(tmp_path: Path) -> None:
    np.save(tmp_path / "X.npy", np.eye(3))
    np.save(tmp_path / "y.npy", np.arange(3))
    (tmp_path / "classes.csv").write_text("class,a\nfox,1\nbat,2\nowl,3\n")
    files = [str(tmp_path / n) for n in ("X.npy", "y.npy", "classes.csv")]
    command = ["fit", "--seen", files[0], "--labels", files[1], "--classes", files[2]]
    with pytest.raises(DataError, match="the labels are integers, but 'fox' is none"):
        CliRunner().invoke(app, command, catch_exceptions=False)

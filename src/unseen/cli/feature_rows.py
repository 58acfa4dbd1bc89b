"""``unseen fit`` and ``unseen predict`` on features: .npy, Zarr or Parquet, here or on a cluster."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
import typer

from unseen.cli import output
from unseen.exceptions import DataError

Labels = Annotated[
    Path | None,
    typer.Option(
        help="With features: a .npy or Zarr array of labels, or the Parquet files themselves. -1 or an "
        "empty cell is no label.",
        show_default=False,
    ),
]
LabelColumn = Annotated[
    str, typer.Option(help="The column of labels in Parquet, or in a file of texts.")
]
Scheduler = Annotated[
    str,
    typer.Option(
        help="With features: the address of a Dask scheduler whose workers see the same paths, as "
        "tcp://10.0.0.1:8786.",
        show_default=False,
    ),
]


def are_rows(path: Path) -> bool:
    """Tell features from a folder of photographs."""
    return path.suffix.lower() in (".npy", ".zarr") or _is_parquet(path)


def refuse(scheduler: str, path: Path | None, labels: Path | None = None) -> None:
    """Refuse what belongs to features, where there are photographs."""
    if scheduler or labels is not None:
        raise DataError(
            f"{path}: --scheduler and --labels belong to features: give a .npy, a .zarr or Parquet."
        )


def check_method(name: str, path: Path) -> None:
    """Refuse a method that cannot learn from rows in chunks."""
    from unseen import methods

    if methods.find(name).takes_chunks:
        return
    able = methods.select(takes_chunks=True)
    raise DataError(
        f"{path}: is read in chunks, and {name} needs all rows in memory. Take --method with one of "
        f"{', '.join(sorted(able))}; or, in Python, fit {name} on an array."
    )


def fit_rows(
    rows: Path,
    labels: Path | None,
    column: str,
    classes: Path | None,
    candidates: str,
    method: str,
    seed: int,
    scheduler: str,
    out: Path,
    as_json: bool,
) -> None:
    """Learn from features that need not fit in memory; write the model."""
    from unseen import labelling
    from unseen.methods import find
    from unseen.model_export import bare
    from unseen.persistence import save

    if labels is None or classes is None:
        raise DataError(f"{rows}: features need --labels and --classes.")
    check_method(method, rows)
    table, _, notes = labelling.make_table(labelling.read_classes(classes))
    with _engine(scheduler):
        X = _opened(rows, without=(column,) if labels == rows and _is_parquet(rows) else ())
        y = _opened(labels, column=column if _is_parquet(labels) else None)
        names = [_like(y.dtype, str(name), classes) for name in table.classes.tolist()]
        semantics = dict(zip(names, table.vectors, strict=True))
        wanted: object = candidates or None
        if candidates not in ("", "unseen", "seen", "all"):
            wanted = [_like(y.dtype, n.strip(), classes) for n in candidates.split(",")]
        model = find(method).build(semantics, candidates=wanted, random_state=seed)
        model.fit(X, y)
        save(bare(model), out)  # without a label for every row: predict gives them
    summary = {
        "command": "unseen fit",
        "out": str(out),
        "bytes": out.stat().st_size,
        "method": method,
        "rows": X.shape[0],
        "seen_classes": [str(c) for c in model.seen_classes_.tolist()],
        "candidates": [str(c) for c in model.classes_.tolist()],
        "notes": notes,
    }
    if as_json:
        output.print_json(summary)
        return
    output.print_notes(notes)
    typer.echo(
        f"wrote {out}: {method} on {X.shape[0]:,} rows of {len(model.seen_classes_)} seen classes, "
        f"answers among {len(model.classes_)}"
    )


def predict_rows(
    model: Path, rows: Path, candidates: str, scheduler: str, out: Path, as_json: bool
) -> None:
    """Label features with a model from a file; write one label a row."""
    from unseen import load
    from unseen.scale import write_labels

    fitted = load(model)
    if candidates:
        wanted: object = candidates
        if candidates not in ("unseen", "seen", "all"):
            dtype = fitted.seen_classes_.dtype
            wanted = [_like(dtype, n.strip(), model) for n in candidates.split(",")]
        fitted.set_params(candidates=wanted)
    with _engine(scheduler):
        X = _opened(rows)
        counts = write_labels(out, fitted.predict(X))
    summary = {"command": "unseen predict", "out": str(out), "rows": X.shape[0], "counts": counts}
    if as_json:
        output.print_json(summary)
    else:
        typer.echo(f"wrote {out}: {X.shape[0]:,} labels among {len(fitted.classes_)} classes")


@contextmanager
def _engine(scheduler: str) -> Iterator[None]:
    from unseen.scale import connect

    if not scheduler:
        yield
        return
    with connect(scheduler):
        yield


def _opened(path: Path, **options: Any) -> Any:
    from unseen.scale import open_rows

    return open_rows(path, **options)


def _is_parquet(path: Path) -> bool:
    return path.suffix.lower() == ".parquet" or (path.is_dir() and any(path.glob("*.parquet")))


def _like(dtype: npt.DTypeLike, name: str, source: Path) -> Any:
    """Return the name of a class as the labels have it: an integer where they are integers."""
    if np.dtype(dtype).kind not in "iu":
        return name
    try:
        return int(name)
    except ValueError:
        raise DataError(
            f"{source}: the labels are integers, but {name!r} is none. Name the classes by them."
        ) from None

"""``unseen extract``: photographs to features."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from unseen.cli import options, output
from unseen.cli.progress import extracting
from unseen.exceptions import DataError
from unseen.files import atomic_file
from unseen.typing import Array


def extract(
    folder: Annotated[Path, typer.Argument(help="A folder of photographs, in sub-folders or not.")],
    out: Annotated[Path, typer.Option(help="Where to write: .npz or .csv.")] = Path("features.npz"),
    backbone: options.BackboneName = "efficientnet-lite0",
    weights: options.Weights = None,
    allow_download: options.AllowDownload = False,
    cache: options.Cache = None,
    batch: Annotated[int, typer.Option(min=1, help="Photographs that go through at once.")] = 16,
    strict: options.Strict = False,
    as_json: options.AsJson = False,
) -> None:
    """Turn photographs into features, to be used from Python.

    The class of a photograph is the name of its folder. What is finished is kept, so that the same
    command goes on where it was killed.
    """
    from unseen import features
    from unseen.datasets.image_folder import any_folder

    if out.suffix.lower() not in (".npz", ".csv"):
        raise DataError(f"--out {out}: the name must end in .npz or .csv.")
    contents = any_folder(folder)
    network = features.backbone(backbone, weights)
    with features.FeatureStore(cache) as store, extracting() as on_progress:
        extraction = features.extract(
            contents.pictures, network, store, batch_size=batch, on_progress=on_progress
        )
        cache_path = str(store.path)
    unread = [*extraction.broken, *(features.Broken(*item) for item in contents.unread)]
    images = [path.relative_to(folder).as_posix() for path in extraction.paths]
    classes = [path.parent.name for path in extraction.paths]
    _write_features(out, extraction.X, images, classes, network.name)
    summary = {
        "command": "unseen extract",
        "out": str(out),
        "backbone": network.name,
        "photographs": len(extraction.paths),
        "columns": int(extraction.X.shape[1]),
        "computed": extraction.computed,
        "reused": extraction.reused,
        "cache": cache_path,
        "skipped": output.skipped_of(unread),
    }
    if as_json:
        output.print_json(summary)
    else:
        output.print_skipped(unread)
        typer.echo(
            f"wrote {out}: {len(extraction.paths)} photographs × {extraction.X.shape[1]} numbers, "
            f"{extraction.computed} computed now, {extraction.reused} known"
        )
        if out.suffix.lower() == ".npz":
            typer.echo(f"read it with: numpy.load({str(out)!r}), which has X, y and images")
    if strict and unread:
        raise typer.Exit(options.SKIPPED_EXIT_CODE)


def _write_features(out: Path, X: Array, images: list[str], classes: list[str], name: str) -> None:
    from unseen.datasets.table_files import write_table

    with atomic_file(out) as temporary:
        if out.suffix.lower() == ".csv":
            columns = [f"f{i}" for i in range(X.shape[1])]
            write_table(temporary, columns, {"class": classes, "image": images}, X)
            return
        with temporary.open("wb") as file:
            np.savez(file, X=X, y=np.array(classes), images=np.array(images), features=np.array(name))

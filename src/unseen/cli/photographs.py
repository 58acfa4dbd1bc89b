"""``unseen label`` and ``unseen extract``: photographs to labels, photographs to features."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console

from unseen.cli import shown
from unseen.datasets.safety import atomic_file
from unseen.exceptions import DataError
from unseen.methods import DEFAULT


def label(
    seen: shown.Seen,
    unlabelled: shown.Unlabelled = None,
    classes: shown.Classes = None,
    out: Annotated[Path, typer.Option(help="The CSV to write.")] = Path("labels.csv"),
    report: Annotated[
        Path | None, typer.Option(help="Also write a page with thumbnails.", show_default=False)
    ] = None,
    words: shown.Words = "",
    word_weight: shown.WordWeight = 0.5,
    candidates: shown.Candidates = "",
    hold_out: Annotated[
        str,
        typer.Option(
            help="A trial instead of --unlabelled: take these classes of SEEN, fox,bat or a .txt, as "
            "if nobody had labelled them, and say how many labels are right.",
            show_default=False,
        ),
    ] = "",
    method: shown.Method = DEFAULT,
    backbone: shown.BackboneName = "efficientnet-lite0",
    weights: shown.Weights = None,
    cache: shown.Cache = None,
    seed: shown.Seed = None,
    strict: shown.Strict = False,
    as_json: shown.AsJson = False,
) -> None:
    """Label photographs of classes that nobody has labelled.

    Needs labelled photographs of other classes, and a description of every class: attributes, texts,
    or just its name. Writes image, label, confidence, runner-up and the round that first trusted the
    label; the least sure come first. Killed and started again, it goes on where it was.
    """
    from unseen import labelling

    if unlabelled is None and not hold_out:
        raise DataError("Give --unlabelled FOLDER, what to label, or --hold-out for a trial.")
    task = labelling.prepare(
        seen,
        unlabelled=unlabelled,
        held_out=hold_out,
        classes=classes,
        words=words,
        weight=word_weight,
        candidates=candidates,
    )
    fitted, network = shown.learned(task, backbone, weights, cache, method, seed, quiet=as_json)
    labels = labelling.label(task, fitted)
    labels.write(out)
    if report is not None:
        labelling.write_report(
            report,
            labels,
            _facts(task, fitted, network.name, method),
            [*task.notes, *fitted.notes],
            [(str(b.path), b.reason) for b in fitted.broken],
            task.separation,
        )
    told = _told(task, fitted, labels, network, method, out, report)
    if as_json:
        shown.print_json(told)
    else:
        _print(labels, fitted, out, report)
    if strict and fitted.broken:
        raise typer.Exit(shown.SKIPPED)


def _facts(task: Any, fitted: Any, backbone: str, method: str) -> dict[str, str]:
    recipe = task.recipe
    known = [f"{len(recipe.attributes)} attributes"] * bool(recipe.attributes)
    known += [f"words by {recipe.words}"] * bool(recipe.words)
    seen = len(task.pictures.seen_classes)
    facts = {
        "learned from": f"{len(task.pictures.seen)} photographs of {seen} seen classes, "
        f"and {len(fitted.pool)} without a label",
        "described by": " and ".join(known),
        "features": backbone,
        "method": method,
    }
    review = getattr(fitted.model, "review_", None)
    if review is not None:
        how = "leaning to equal ones" if review.even >= 0.5 else "learned from these photographs"
        facts["method"] += f", class shares {how}"
    return facts


def _told(
    task: Any, fitted: Any, labels: Any, network: Any, method: str, out: Path, report: Path | None
) -> dict[str, Any]:
    return {
        "command": "unseen label",
        "out": str(out),
        "report": None if report is None else str(report),
        "method": method,
        "backbone": network.name,
        "features": {"computed": fitted.computed, "reused": fitted.reused},
        "seen_classes": task.pictures.seen_classes,
        "words": task.recipe.words,
        "semantics": shown.separation_json(task.separation),
        "notes": [*task.notes, *fitted.notes],
        "skipped": shown.skipped_of(fitted.broken),
        **shown.labels_json(labels),
    }


def _print(labels: Any, fitted: Any, out: Path, report: Path | None) -> None:
    console = Console(highlight=False, soft_wrap=True)
    shown.print_skipped(fitted.broken)
    shown.print_notes(fitted.notes)
    console.print(shown.labels_table(labels))
    if labels.accuracy is not None:
        chance = 1 / len(labels.candidates)
        console.print(
            f"trial: {labels.accuracy:.1%} right per class (chance {chance:.1%}); the labels of the "
            "held-out classes were used for this line only"
        )
    wrote = f"wrote {out}" + (f" and {report}" if report is not None else "")
    first = "; the unsure ones come first" if labels.unsure else ""
    console.print(f"{wrote}: {len(labels.answers)} photographs, {len(labels.unsure)} unsure{first}")


def extract(
    folder: Annotated[Path, typer.Argument(help="A folder of photographs, in sub-folders or not.")],
    out: Annotated[Path, typer.Option(help="Where to write: .npz or .csv.")] = Path("features.npz"),
    backbone: shown.BackboneName = "efficientnet-lite0",
    weights: shown.Weights = None,
    cache: shown.Cache = None,
    batch: Annotated[int, typer.Option(min=1, help="Photographs that go through at once.")] = 16,
    strict: shown.Strict = False,
    as_json: shown.AsJson = False,
) -> None:
    """Turn photographs into features, to be used from Python.

    The class of a photograph is the name of its folder. What is finished is kept, so that the same
    command goes on where it was killed.
    """
    from unseen import features
    from unseen.datasets.image_folder import list_all_images

    if out.suffix.lower() not in (".npz", ".csv"):
        raise DataError(f"--out {out}: the name must end in .npz or .csv.")
    paths = list_all_images(folder)
    network = features.backbone(backbone, weights)
    with features.FeatureStore(cache) as store, shown.extracting() as on_progress:
        found = features.extract(paths, network, store, batch_size=batch, on_progress=on_progress)
        kept = str(store.path)
    images = [path.relative_to(folder).as_posix() for path in found.paths]
    _write_features(out, found.X, images, [path.parent.name for path in found.paths], network.name)
    told = {
        "command": "unseen extract",
        "out": str(out),
        "backbone": network.name,
        "photographs": len(found.paths),
        "columns": int(found.X.shape[1]),
        "computed": found.computed,
        "reused": found.reused,
        "cache": kept,
        "skipped": shown.skipped_of(found.broken),
    }
    if as_json:
        shown.print_json(told)
    else:
        shown.print_skipped(found.broken)
        typer.echo(
            f"wrote {out}: {len(found.paths)} photographs × {found.X.shape[1]} numbers, "
            f"{found.computed} computed now, {found.reused} known"
        )
        if out.suffix.lower() == ".npz":
            typer.echo(f"read it with: numpy.load({str(out)!r}), which has X, y and images")
    if strict and found.broken:
        raise typer.Exit(shown.SKIPPED)


def _write_features(out: Path, X: Any, images: list[str], classes: list[str], name: str) -> None:
    from unseen.datasets.tabular import write_table

    with atomic_file(out) as temporary:
        if out.suffix.lower() == ".csv":
            columns = [f"f{i}" for i in range(X.shape[1])]
            write_table(temporary, columns, {"class": classes, "image": images}, X)
            return
        with temporary.open("wb") as file:
            np.savez(file, X=X, y=np.array(classes), images=np.array(images), features=np.array(name))

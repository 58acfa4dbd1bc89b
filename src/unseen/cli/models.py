"""``unseen fit``, ``unseen predict`` and ``unseen add-class``: a model in a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from unseen.cli import rows, shown
from unseen.exceptions import DataError
from unseen.methods import DEFAULT

Model = Annotated[Path, typer.Argument(help="A model file that unseen fit wrote.")]


def fit(
    seen: shown.Seen,
    out: Annotated[Path, typer.Option(help="The model file to write.")] = Path("model.safetensors"),
    unlabelled: shown.Unlabelled = None,
    classes: shown.Classes = None,
    words: shown.Words = "",
    word_weight: shown.WordWeight = 0.5,
    candidates: shown.Candidates = "",
    method: shown.Method = DEFAULT,
    backbone: shown.BackboneName = "efficientnet-lite0",
    weights: shown.Weights = None,
    cache: shown.Cache = None,
    seed: shown.Seed = None,
    labels: rows.Labels = None,
    label_column: rows.LabelColumn = "label",
    scheduler: rows.Scheduler = "",
    strict: shown.Strict = False,
    as_json: shown.AsJson = False,
) -> None:
    """Learn from labelled photographs and descriptions of all classes; keep the model in a file.

    With --unlabelled, methods that can learn from those photographs as well. The file holds numbers and
    names, never code; unseen predict uses it, and unseen add-class enlarges it.

    SEEN may also be features that need not fit in memory, with --labels: a .npy, a .zarr or Parquet,
    read in chunks here or by the workers of --scheduler. Methods for that: SelfPacedPrototypes, TASTE,
    ASTE, ESZSL and the Fast- ones; another is refused, never replaced.
    """
    from unseen import labelling

    if rows.are_rows(seen):
        rows.fit_rows(
            seen, labels, label_column, classes, candidates, method, seed, scheduler, out, as_json
        )
        return
    rows.refuse(scheduler, seen, labels)
    task = labelling.prepare(
        seen,
        unlabelled=unlabelled,
        classes=classes,
        words=words,
        weight=word_weight,
        candidates=candidates,
    )
    fitted, network = shown.learned(task, backbone, weights, cache, method, seed, quiet=as_json)
    labelling.save_model(out, task, fitted, network)
    told = {
        "command": "unseen fit",
        "out": str(out),
        "bytes": out.stat().st_size,
        "method": method,
        "backbone": network.name,
        "features": {"computed": fitted.computed, "reused": fitted.reused},
        "seen_classes": task.pictures.seen_classes,
        "candidates": task.candidates,
        "semantics": shown.separation_json(task.separation),
        "notes": [*task.notes, *fitted.notes],
        "skipped": shown.skipped_of(fitted.broken),
    }
    if as_json:
        shown.print_json(told)
    else:
        shown.print_skipped(fitted.broken)
        shown.print_notes(fitted.notes)
        typer.echo(
            f"wrote {out}: {method} on {len(task.pictures.seen_classes)} seen classes, answers among "
            f"{len(task.candidates)}"
        )
    if strict and fitted.broken:
        raise typer.Exit(shown.SKIPPED)


def predict(
    model: Model,
    folder: Annotated[
        Path, typer.Argument(help="A folder of photographs, or features: .npy, .zarr or Parquet.")
    ],
    out: Annotated[Path, typer.Option(help="The CSV to write.")] = Path("labels.csv"),
    report: Annotated[
        Path | None, typer.Option(help="Also write a page with thumbnails.", show_default=False)
    ] = None,
    candidates: Annotated[
        str,
        typer.Option(
            help="Among which classes to answer: fox,bat or a .txt, 'unseen', 'seen' or 'all'. By "
            "default those of the model.",
            show_default=False,
        ),
    ] = "",
    backbone: Annotated[
        str, typer.Option(help="By default the one the model was fitted with.", show_default=False)
    ] = "",
    weights: shown.Weights = None,
    cache: shown.Cache = None,
    scheduler: rows.Scheduler = "",
    strict: shown.Strict = False,
    as_json: shown.AsJson = False,
) -> None:
    """Label photographs with a model from a file; nothing is trained.

    Writes the columns of unseen label; the column 'round' is empty. Of features it writes one label
    a row, as .npy or as a CSV of one column.
    """
    from unseen import features, labelling

    if rows.are_rows(folder):
        rows.predict_rows(model, folder, candidates, scheduler, out, as_json)
        return
    rows.refuse(scheduler, folder)
    fitted, origin = labelling.load_model(model)
    name = backbone or origin.get("backbone", "")
    if not name:
        raise DataError(
            f"{model}: does not say which backbone its features come from: it was not written by "
            "unseen fit. Name it: --backbone."
        )
    network = features.backbone(name, weights)
    with features.FeatureStore(cache) as store, shown.extracting() as on_progress:
        labels, found = labelling.predict(
            model, fitted, origin, folder, network, store, candidates, on_progress
        )
    labels.write(out)
    if report is not None:
        facts = {"model": str(model), "features": network.name, "method": type(fitted).__name__}
        skipped = [(str(b.path), b.reason) for b in found.broken]
        labelling.write_report(report, labels, facts, [], skipped)
    if as_json:
        shown.print_json(
            {
                "command": "unseen predict",
                "out": str(out),
                "report": None if report is None else str(report),
                "features": {"computed": found.computed, "reused": found.reused},
                "skipped": shown.skipped_of(found.broken),
                **shown.labels_json(labels),
            }
        )
    else:
        shown.print_skipped(found.broken)
        Console().print(shown.labels_table(labels))
        typer.echo(f"wrote {out}: {len(labels.answers)} photographs, {len(labels.unsure)} unsure")
    if strict and found.broken:
        raise typer.Exit(shown.SKIPPED)


def add_class(
    model: Model,
    classes: Annotated[
        Path | None,
        typer.Option(
            help="The new classes, described like those that the model knows: the same attribute "
            "columns, or a column 'description', or a .txt of names.",
            show_default=False,
        ),
    ] = None,
    name: Annotated[
        str, typer.Option(help="One new class, for a model that knows words.", show_default=False)
    ] = "",
    description: Annotated[str, typer.Option(help="In words, with --name.", show_default=False)] = "",
    out: Annotated[
        Path | None,
        typer.Option(help="Another file to write; by default MODEL itself.", show_default=False),
    ] = None,
    as_json: shown.AsJson = False,
) -> None:
    """Make a model know more classes, without training and without photographs of them."""
    from unseen import labelling
    from unseen.persistence import save

    if (classes is None) == (not name):
        raise DataError("Give --classes FILE, or --name NAME, and not both.")
    fitted, origin = labelling.load_model(model)
    recipe = labelling.recipe_of(fitted, origin, model)
    if classes is None:
        told = {name: description} if description else None
        given = labelling.from_names([name], "--name", told)
    else:
        given = labelling.read_classes(classes)
    added = labelling.add_classes(fitted, recipe, given, model)
    target = out or model
    save(fitted, target)
    answers = [str(c) for c in fitted.classes_.tolist()]
    if as_json:
        shown.print_json(
            {"command": "unseen add-class", "out": str(target), "added": added, "candidates": answers}
        )
        return
    typer.echo(f"wrote {target}: added {', '.join(added)}; it answers among {len(answers)} classes")

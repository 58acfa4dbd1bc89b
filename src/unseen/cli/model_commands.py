"""``unseen fit``, ``unseen predict`` and ``unseen add-class``: a model in a file."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Annotated

import typer

from unseen.cli import feature_rows, options, output, task_options
from unseen.cli.image_text_fit import compares_with_texts, fit_with_texts
from unseen.cli.photo_commands import fit_photographs, photo_fit_json
from unseen.cli.progress import extracting
from unseen.cli.result_files import check_free, set_aside
from unseen.cli.task_options import TaskOptions
from unseen.cli.text_commands import TextInput, fit_text_model, predict_texts
from unseen.exceptions import DataError
from unseen.methods import DEFAULT, DEFAULT_FOR_TEXTS

Model = Annotated[Path, typer.Argument(help="A model file that unseen fit wrote.")]


def fit(
    seen: options.Seen = None,
    out: Annotated[Path, typer.Option(help="The model file to write.")] = Path("model.safetensors"),
    unlabelled: options.Unlabelled = None,
    texts: options.Texts = None,
    column: options.Column = "text",
    classes: options.Classes = None,
    words: options.Words = "",
    class_column: options.ClassColumn = "class",
    word_weight: options.WordWeight = None,
    prompt: options.Prompt = "",
    candidates: options.Candidates = "",
    method: options.Method = "",
    backbone: options.BackboneName = "efficientnet-lite0",
    weights: options.Weights = None,
    allow_download: options.AllowDownload = False,
    cache: options.Cache = None,
    seed: options.Seed = 0,
    labels: feature_rows.Labels = None,
    label_column: feature_rows.LabelColumn = "label",
    scheduler: feature_rows.Scheduler = "",
    unknown: task_options.Unknown = "",
    strangers: task_options.Strangers = "",
    strict: options.Strict = False,
    as_json: options.AsJson = False,
) -> None:
    """Learn from labelled photographs and descriptions of all classes; keep the model in a file.

    With --unlabelled, methods that can learn from those photographs as well; if --backbone is a model
    of pictures and texts, as CLIP is, no photograph needs a label. With --texts, from texts, of which
    none needs a label. The file holds numbers and names, never code; unseen predict uses it, and unseen
    add-class enlarges it.

    SEEN may also be features that need not fit in memory, with --labels: a .npy, a .zarr or Parquet,
    read in chunks here or by the workers of --scheduler. Methods for that: SelfPacedPrototypes, TASTE,
    ASTE, ESZSL and the Fast- ones; another is refused, never replaced.
    """
    from unseen import labelling

    if texts is not None:
        feature_rows.refuse(scheduler, texts, labels)
        given = TextInput(
            texts, column, classes, seen, label_column, class_column, candidates=candidates,
            words=words, cache=cache,
        )  # fmt: skip
        asked = TaskOptions(method or DEFAULT_FOR_TEXTS, seed, None, unknown, strangers)
        fit_text_model(given, asked, out, strict, as_json)
        return
    with_texts = compares_with_texts(seen, backbone, method)
    if seen is None and not with_texts:
        raise DataError(
            "Give --seen, labelled photographs or features; or --texts FILE; or --unlabelled FOLDER "
            "and --backbone hf:FOLDER, a CLIP or SigLIP, which compares photographs with texts."
        )
    method = method or (DEFAULT_FOR_TEXTS if with_texts else DEFAULT)
    asked = TaskOptions(method, seed, None, unknown, strangers)
    looks_for_strangers = bool(unknown or strangers)
    if seen is not None and feature_rows.are_rows(seen):
        if looks_for_strangers:
            raise DataError(
                f"{seen}: --unknown and --strangers need all rows in memory, and these come in chunks. "
                "In Python: SelfPacedPrototypes(semantics, strangers='auto').fit(np.asarray(X), y)."
            )
        feature_rows.fit_rows(
            seen, labels, label_column, classes, candidates, method, seed, scheduler, out, as_json
        )
        return
    feature_rows.refuse(scheduler, seen or unlabelled, labels)
    if looks_for_strangers and unlabelled is None:
        raise DataError(
            "--unknown needs --unlabelled FOLDER: photographs, of which some may belong to no class, "
            "tell how far is too far."
        )
    if with_texts or seen is None:
        if unlabelled is None:
            raise DataError("Give --unlabelled FOLDER, photographs to compare with the class texts.")
        preparation, fitted = fit_with_texts(
            backbone, words, cache, asked, as_json,
            seen=seen, unlabelled=unlabelled, classes=classes, prompt=prompt, candidates=candidates,
            class_column=class_column,
        )  # fmt: skip
    else:
        preparation = labelling.prepare(
            seen, unlabelled=unlabelled, classes=classes, words=words, weight=word_weight,
            candidates=candidates, class_column=class_column,
        )  # fmt: skip
        fitted = fit_photographs(preparation, backbone, weights, cache, asked, quiet=as_json)
    labelling.save_model(out, fitted)
    more = {"bytes": out.stat().st_size, "candidates": preparation.candidates}
    record = photo_fit_json("unseen fit", out, preparation, fitted) | more
    sentence = (
        f"wrote {out}: {method} on {len(preparation.pictures.seen_classes)} seen classes, answers "
        f"among {len(preparation.candidates)}"
    )
    output.print_fit(record, sentence, fitted, as_json)
    if strict and fitted.task.data.broken:
        raise typer.Exit(options.SKIPPED_EXIT_CODE)


def predict(
    model: Model,
    folder: Annotated[
        Path,
        typer.Argument(
            help="A folder of photographs; features: .npy, .zarr or Parquet; or, for a model of texts, "
            "a file of texts."
        ),
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
    column: options.Column = "text",
    words: Annotated[
        str,
        typer.Option(
            help="Of a model of texts: the encoder that it was fitted with, if that is not minilm.",
            show_default=False,
        ),
    ] = "",
    backbone: Annotated[
        str,
        typer.Option(
            help="By default the one the model was fitted with, if it is built in; another, as "
            "hf:NAME, must be named here.",
            show_default=False,
        ),
    ] = "",
    weights: options.Weights = None,
    allow_download: options.AllowDownload = False,
    cache: options.Cache = None,
    scheduler: feature_rows.Scheduler = "",
    unknown: Annotated[
        str,
        typer.Option(
            metavar="LABEL",
            help="Another label for items that belong to no class, of a model that was fitted with "
            "--unknown.",
            show_default=False,
        ),
    ] = "",
    coverage: task_options.Coverage = None,
    force: options.Force = False,
    strict: options.Strict = False,
    as_json: options.AsJson = False,
) -> None:
    """Label photographs with a model from a file; nothing is trained.

    Writes the columns of unseen label, and with --set the classes that are left. Of features it writes
    one label a row, as .npy or as a CSV of one column.
    """
    from unseen import features, labelling

    check_free(force, out, report)
    if labelling.is_text_file(folder) and labelling.of_texts(model):
        feature_rows.refuse(scheduler, folder)
        predict_texts(model, folder, column, candidates, words, cache, out, as_json, unknown, coverage)
        return
    if feature_rows.are_rows(folder):
        if unknown or coverage is not None:
            raise DataError(
                f"{folder}: of features only the labels are written, without --set and --unknown. In "
                "Python: model.predict_set(X, 0.9) and model.stranger_proba(X)."
            )
        feature_rows.predict_rows(model, folder, candidates, scheduler, out, as_json)
        return
    feature_rows.refuse(scheduler, folder)
    fitted, origin = labelling.load_model(model)
    network = labelling.model_backbone(model, origin, backbone, weights)
    with features.FeatureStore(cache) as store, extracting() as on_progress:
        labels, extraction = labelling.predict(
            model, fitted, origin, folder, network, store, candidates, on_progress, unknown, coverage
        )
    earlier = set_aside(out, report)
    labels.write(out)
    if report is not None:
        facts = {"model": str(model), "features": network.name, "method": type(fitted).__name__}
        skipped = [(str(b.path), b.reason) for b in extraction.broken]
        labelling.write_report(report, labels, facts, [], skipped)
    if as_json:
        output.print_json(
            {
                "command": "unseen predict",
                "out": str(out),
                "report": None if report is None else str(report),
                "features": {"computed": extraction.computed, "reused": extraction.reused},
                "skipped": output.skipped_of(extraction.broken),
                **output.labels_json(labels),
            }
        )
    else:
        output.print_answers(labels, extraction.broken, out, earlier)
    if strict and extraction.broken:
        raise typer.Exit(options.SKIPPED_EXIT_CODE)


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
    words: Annotated[
        str,
        typer.Option(
            help="The encoder that the model's class vectors were made by, if it is not minilm.",
            show_default=False,
        ),
    ] = "",
    allow_download: options.AllowDownload = False,
    out: Annotated[
        Path | None,
        typer.Option(help="Another file to write; by default MODEL itself.", show_default=False),
    ] = None,
    class_column: options.ClassColumn = "class",
    as_json: options.AsJson = False,
) -> None:
    """Make a model know more classes, without training and without photographs of them."""
    from unseen import labelling
    from unseen.persistence import changing, load, save

    if (classes is None) == (not name):
        raise DataError("Give --classes FILE, or --name NAME, and not both.")
    if classes is None:
        descriptions = {name: description} if description else None
        given = labelling.from_names([name], "--name", descriptions)
    else:
        given = labelling.read_classes(classes, class_column, take_words=True)
    target = out or model
    with changing(model) if target == model else nullcontext(load(model)) as fitted:
        recipe = labelling.recipe_of(fitted, labelling.model_origin(fitted, model), model, words)
        added = labelling.add_classes(fitted, recipe, given, model)
    if target != model:
        save(fitted, target)
    answers = [str(c) for c in fitted.classes_.tolist()]
    if as_json:
        output.print_json(
            {"command": "unseen add-class", "out": str(target), "added": added, "candidates": answers}
        )
        return
    typer.echo(f"wrote {target}: added {', '.join(added)}; it answers among {len(answers)} classes")

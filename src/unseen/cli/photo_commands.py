"""``unseen label``: photographs or texts to labels."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from unseen.cli import feature_rows, options, output, task_options
from unseen.cli.image_text_fit import compares_with_texts, fit_with_texts
from unseen.cli.progress import extracting
from unseen.cli.result_files import check_free, review_path, set_aside, write_review
from unseen.cli.task_options import TaskOptions
from unseen.cli.text_commands import TextInput, label_texts
from unseen.exceptions import DataError
from unseen.methods import DEFAULT, DEFAULT_FOR_TEXTS
from unseen.typing import JsonObject

if TYPE_CHECKING:
    from unseen.labelling import Fitted, Preparation


def label(
    seen: options.Seen = None,
    unlabelled: options.Unlabelled = None,
    texts: options.Texts = None,
    column: options.Column = "text",
    classes: options.Classes = None,
    class_column: options.ClassColumn = "class",
    out: Annotated[
        Path | None,
        typer.Option(
            help="The CSV to write: labels.csv by default, and trial.csv in a trial.",
            show_default=False,
        ),
    ] = None,
    report: Annotated[
        Path | None,
        typer.Option(help="Also write a page with thumbnails, or texts.", show_default=False),
    ] = None,
    words: options.Words = "",
    word_weight: options.WordWeight = None,
    prompt: options.Prompt = "",
    candidates: options.Candidates = "",
    hold_out: Annotated[
        str,
        typer.Option(
            help="A trial instead of --unlabelled: take these classes of SEEN, fox,bat or a .txt, as "
            "if nobody had labelled them, and say how many labels are right.",
            show_default=False,
        ),
    ] = "",
    label_column: feature_rows.LabelColumn = "label",
    truth_column: Annotated[
        str,
        typer.Option(
            help="A trial with --texts: a column of it with the right labels, to compare with.",
            show_default=False,
        ),
    ] = "",
    embeddings: options.Embeddings = None,
    class_embeddings: options.ClassEmbeddings = None,
    method: options.Method = "",
    backbone: options.BackboneName = "efficientnet-lite0",
    weights: options.Weights = None,
    allow_download: options.AllowDownload = False,
    cache: options.Cache = None,
    seed: options.Seed = 0,
    error: options.Error = None,
    review: Annotated[
        int,
        typer.Option(
            min=0,
            help="Also write review.csv beside the labels: the items whose labels, given by you, help "
            "most. Fill in its column 'label' and give it back with --known.",
            show_default=False,
        ),
    ] = 0,
    known: options.Known = None,
    unknown: task_options.Unknown = "",
    strangers: task_options.Strangers = "",
    coverage: task_options.Coverage = None,
    force: options.Force = False,
    strict: options.Strict = False,
    as_json: options.AsJson = False,
) -> None:
    """Label photographs of classes that nobody has labelled, or texts.

    Photographs need labelled photographs of other classes, and a description of every class:
    attributes, texts, or just its name. They need no label if --backbone is a model of pictures and
    texts, as CLIP is: --unlabelled photos --classes prompts.csv --backbone hf:FOLDER. Nor do texts:
    --texts tickets.csv --classes classes.csv. Writes image, label, confidence and
    runner-up; of texts row, text, label, confidence, unsure and runner-up. The least sure come first,
    and files that could not be read last. Killed and started again, it goes on where it was.

    Items that may belong to none of the classes: --unknown 'none of these'.
    """
    from unseen import labelling

    out = out or Path("trial.csv" if hold_out or truth_column else "labels.csv")
    check_free(force, out, report, review_path(out, review))
    if texts is not None or embeddings is not None:
        label_texts(
            TextInput(
                texts,
                column,
                classes,
                seen,
                label_column,
                class_column,
                truth_column,
                candidates,
                embeddings,
                class_embeddings,
                words,
                cache,
                error,
                review,
                coverage,
            ),
            TaskOptions(method or DEFAULT_FOR_TEXTS, seed, known, unknown, strangers),
            out,
            report,
            unlabelled,
            hold_out,
            strict,
            as_json,
        )
        return
    with_texts = compares_with_texts(seen, backbone, method)
    if seen is None and not with_texts:
        raise DataError(
            "Give --seen FOLDER, labelled photographs of other classes. Without any: --backbone "
            "hf:FOLDER, a CLIP or SigLIP, which compares photographs with texts; or --texts FILE."
        )
    if unlabelled is None and not hold_out:
        raise DataError("Give --unlabelled FOLDER, what to label, or --hold-out for a trial.")
    if prompt and not with_texts:
        raise DataError("--prompt goes with a --backbone of pictures and texts, and no --seen.")
    default = DEFAULT_FOR_TEXTS if with_texts else DEFAULT
    asked = TaskOptions(method or default, seed, known, unknown, strangers)
    if with_texts or seen is None:
        preparation, fitted = fit_with_texts(
            backbone, words, cache, asked, as_json,
            seen=seen, unlabelled=unlabelled, held_out=hold_out, classes=classes, prompt=prompt,
            candidates=candidates, class_column=class_column,
        )  # fmt: skip
    else:
        preparation = labelling.prepare(
            seen,
            unlabelled=unlabelled,
            held_out=hold_out,
            classes=classes,
            words=words,
            weight=word_weight,
            candidates=candidates,
            class_column=class_column,
        )
        fitted = fit_photographs(preparation, backbone, weights, cache, asked, as_json)
    labels = fitted.labels(coverage).expecting(error)
    facts = _facts(preparation, fitted)
    earlier = set_aside(out, report, review_path(out, review))
    labels.write(out)
    if report is not None:
        labelling.write_report(
            report,
            labels,
            facts,
            [*preparation.notes, *fitted.notes],
            fitted.task.data.skipped,
            preparation.separation,
        )
    if as_json:
        output.print_json(
            {
                **photo_fit_json("unseen label", out, preparation, fitted),
                "report": None if report is None else str(report),
                "words": preparation.recipe.words,
                **output.labels_json(labels),
            }
        )
    else:
        output.print_run(labels, fitted, facts, out, report, earlier)
    write_review(fitted, out, review, as_json)
    if strict and fitted.task.data.broken:
        raise typer.Exit(options.SKIPPED_EXIT_CODE)


def fit_photographs(
    preparation: Preparation,
    backbone: str,
    weights: Path | None,
    cache: Path | None,
    asked: TaskOptions,
    quiet: bool,
) -> Fitted:
    """Say how well the descriptions separate the classes, extract features, and fit."""
    from unseen import features, labelling

    asked.check(preparation.pictures.seen_classes)
    if not quiet:
        output.print_separation(preparation.separation)
        output.print_notes(preparation.notes)
    network = features.backbone(backbone, weights)
    with features.FeatureStore(cache) as store, extracting("learning") as show:
        data = labelling.extract(preparation, network, store, show)
        return labelling.fit(asked.task(data), show.round)


def photo_fit_json(command: str, out: Path, preparation: Preparation, fitted: Fitted) -> JsonObject:
    """Return what ``unseen label`` and ``unseen fit`` both say of a fit on photographs."""
    data = fitted.task.data
    return {
        **output.fit_json(command, out, fitted),
        "backbone": data.features,
        "seen_classes": preparation.pictures.seen_classes,
        "semantics": output.separation_json(preparation.separation),
        "notes": [*preparation.notes, *fitted.notes],
        "skipped": output.skipped_of(data.broken),
    }


def _facts(preparation: Preparation, fitted: Fitted) -> dict[str, str]:
    recipe, data = preparation.recipe, fitted.task.data
    described = [f"{len(recipe.attributes)} attributes"] * bool(recipe.attributes)
    share = f" (weight {recipe.weight:g})" if recipe.attributes else ""
    described += [f"names and descriptions by {recipe.words}{share}"] * bool(recipe.words)
    seen_classes = len(preparation.pictures.seen_classes)
    labelled = f"{len(preparation.pictures.seen)} photographs of {seen_classes} seen classes, and "
    without = f"{len(data.pool)} without a label" if seen_classes else f"{len(data.pool)} photographs"
    facts = {
        "learned from": labelled * bool(seen_classes) + without,
        "described by": " and ".join(described),
        "features": data.features,
        "method": fitted.task.method,
    }
    review = getattr(fitted.model, "review_", None)
    if review is not None:
        how = "leaning to equal ones" if review.even >= 0.5 else "learned from these photographs"
        facts["method"] += f", class shares {how}"
    return facts

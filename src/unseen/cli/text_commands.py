"""``unseen label --texts`` and ``unseen fit --texts``: texts to labels, texts to a model."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from unseen.cli import options, output
from unseen.cli.progress import extracting
from unseen.cli.result_files import review_path, set_aside, write_review
from unseen.cli.task_options import TaskOptions
from unseen.exceptions import DataError
from unseen.typing import JsonObject

if TYPE_CHECKING:
    from unseen.labelling import Fitted, TextPreparation


@dataclass(frozen=True)
class TextInput:
    """The options that say what is labelled and how."""

    texts: Path | None
    column: str
    classes: Path | None
    seen: Path | None
    label_column: str
    class_column: str = "class"
    truth_column: str = ""
    candidates: str = ""
    embeddings: Path | None = None
    class_embeddings: Path | None = None
    words: str = ""
    cache: Path | None = None
    error: float | None = None
    review: int = 0
    coverage: float | None = None


def label_texts(
    given: TextInput,
    asked: TaskOptions,
    out: Path,
    report: Path | None,
    unlabelled: Path | None,
    hold_out: str,
    strict: bool,
    as_json: bool,
) -> None:
    """Label texts; write the CSV, the page and a summary."""
    from unseen import features, labelling

    if unlabelled is not None or hold_out:
        raise DataError(
            "--unlabelled and --hold-out belong to photographs. Leave them out: --texts names what is "
            "labelled, and --truth-column makes it a trial."
        )
    preparation, fitted = fit_texts(given, asked)
    labels = fitted.labels(given.coverage).expecting(given.error)
    earlier = set_aside(out, report, review_path(out, given.review))
    labels.write(out)
    data = fitted.task.data
    separation = features.separation(data.table, data.candidates, _seen_classes(preparation))
    facts = _facts(preparation, fitted)
    if report is not None:
        labelling.write_text_report(report, fitted, facts, fitted.notes, separation, labels)
    if as_json:
        output.print_json(
            {
                **text_fit_json("unseen label", out, preparation, fitted),
                "report": None if report is None else str(report),
                "semantics": output.separation_json(separation),
                **output.labels_json(labels),
            }
        )
    else:
        output.print_separation(separation)
        output.print_run(labels, fitted, facts, out, report, earlier)
    write_review(fitted, out, given.review, as_json)
    if strict and data.broken:
        raise typer.Exit(options.SKIPPED_EXIT_CODE)


def fit_text_model(
    given: TextInput, asked: TaskOptions, out: Path, strict: bool, as_json: bool
) -> None:
    """Fit on texts and keep the model in a file."""
    from unseen import labelling

    preparation, fitted = fit_texts(given, asked)
    labelling.save_model(out, fitted)
    more = {"bytes": out.stat().st_size, "candidates": preparation.candidates}
    record = text_fit_json("unseen fit", out, preparation, fitted) | more
    data = fitted.task.data
    sentence = (
        f"wrote {out}: {fitted.task.method} on {len(data.pool)} texts without a label "
        f"and {len(data.X)} with one, answers among {len(preparation.candidates)}"
    )
    output.print_fit(record, sentence, fitted, as_json, "texts")
    if strict and data.broken:
        raise typer.Exit(options.SKIPPED_EXIT_CODE)


def predict_texts(
    path: Path,
    texts: Path,
    column: str,
    candidates: str,
    words: str,
    cache: Path | None,
    out: Path,
    as_json: bool,
    unknown: str = "",
    coverage: float | None = None,
) -> None:
    """Label texts with a model from a file; nothing is trained."""
    from unseen import features, labelling

    with features.FeatureStore(cache) as store, extracting(kind="texts") as show:
        labels, broken = labelling.predict_texts(
            path, texts, column, store, candidates, show, words, unknown, coverage
        )
    earlier = set_aside(out)
    labels.write(out)
    if as_json:
        skipped = [{"text": str(b.path), "reason": b.reason} for b in broken]
        head = {"command": "unseen predict", "out": str(out), "skipped": skipped}
        output.print_json({**head, **output.labels_json(labels)})
        return
    output.print_answers(labels, broken, out, earlier)


def fit_texts(given: TextInput, asked: TaskOptions) -> tuple[TextPreparation, Fitted]:
    """Read, encode and fit."""
    from unseen import features, labelling

    preparation = labelling.prepare_texts(
        given.texts,
        given.classes,
        column=given.column,
        seen=given.seen,
        label_column=given.label_column,
        class_column=given.class_column,
        truth_column=given.truth_column,
        candidates=given.candidates,
        unknown=asked.unknown,
    )
    asked.check(_seen_classes(preparation))
    if given.embeddings is not None:
        data = labelling.embedded_texts(preparation, given.embeddings, given.class_embeddings)
        return preparation, labelling.fit(asked.task(data))
    if given.class_embeddings is not None:
        raise DataError("--class-embeddings goes with --embeddings: both come from one encoder.")
    encoder = features.text_encoder(given.words or "minilm")
    with features.FeatureStore(given.cache) as store, extracting("learning", "texts") as show:
        data = labelling.extract_texts(preparation, encoder, store, show)
        return preparation, labelling.fit(asked.task(data), show.round)


def text_fit_json(command: str, out: Path, preparation: TextPreparation, fitted: Fitted) -> JsonObject:
    """Return what ``unseen label`` and ``unseen fit`` both say of a fit on texts."""
    data = fitted.task.data
    return {
        **output.fit_json(command, out, fitted),
        "encoder": data.features,
        "seen_classes": _seen_classes(preparation),
        "skipped": [{"text": str(b.path), "reason": b.reason} for b in data.broken],
    }


def _seen_classes(preparation: TextPreparation) -> list[str]:
    return sorted(set(preparation.seen.labels)) if preparation.seen is not None else []


def _facts(preparation: TextPreparation, fitted: Fitted) -> dict[str, str]:
    data, given = fitted.task.data, preparation.given
    labelled = f"{len(data.X)} texts of {len(_seen_classes(preparation))} classes with a label, and "
    several = sum(len(texts) for texts in given.descriptions.values())
    facts = {
        "learned from": (labelled if len(data.X) else "") + f"{len(data.pool)} texts without a label",
        "described by": f"{several} texts of {len(given.descriptions)} classes"
        if given.descriptions
        else "the names of the classes",
        "vectors": data.features,
        "method": fitted.task.method,
    }
    return facts if fitted.start is None else {**facts, "changed": output.changes(fitted)}

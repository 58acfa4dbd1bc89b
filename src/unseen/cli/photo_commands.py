"""``unseen label`` and ``unseen extract``: photographs to labels, photographs to features."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np
import typer

from unseen.cli import feature_rows, options, output
from unseen.cli.image_text_fit import compares_with_texts, fit_with_texts
from unseen.cli.text_commands import TextInput, changes, label_texts
from unseen.exceptions import DataError
from unseen.methods import DEFAULT
from unseen.typing import Array, JsonObject

if TYPE_CHECKING:
    from unseen.labelling import Fitted, Preparation
from unseen.files import atomic_file


def label(
    seen: options.Seen = None,
    unlabelled: options.Unlabelled = None,
    texts: options.Texts = None,
    column: options.Column = "text",
    classes: options.Classes = None,
    out: Annotated[Path, typer.Option(help="The CSV to write.")] = Path("labels.csv"),
    report: Annotated[
        Path | None,
        typer.Option(help="Also write a page with thumbnails, or texts.", show_default=False),
    ] = None,
    words: options.Words = "",
    word_weight: options.WordWeight = 0.5,
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
    strict: options.Strict = False,
    as_json: options.AsJson = False,
) -> None:
    """Label photographs of classes that nobody has labelled, or texts.

    Photographs need labelled photographs of other classes, and a description of every class:
    attributes, texts, or just its name. They need no label if --backbone is a model of pictures and
    texts, as CLIP is: --unlabelled photos --classes prompts.csv --backbone hf:FOLDER. Nor do texts:
    --texts tickets.csv --classes classes.csv. Writes image, label, confidence, runner-up and the round
    that first trusted the label; of texts row, text, label, confidence, unsure and runner-up. The least
    sure come first. Killed and started again, it goes on where it was.
    """
    from unseen import labelling

    if texts is not None or embeddings is not None:
        label_texts(
            TextInput(
                texts,
                column,
                classes,
                seen,
                label_column,
                truth_column,
                candidates,
                embeddings,
                class_embeddings,
                words,
                method,
                cache,
                seed,
            ),
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
    if with_texts or seen is None:
        preparation, fitted = fit_with_texts(
            backbone, words, cache, method, seed, as_json,
            seen=seen, unlabelled=unlabelled, held_out=hold_out, classes=classes, prompt=prompt,
            candidates=candidates,
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
        )
        fitted = fit_photographs(
            preparation, backbone, weights, cache, method or DEFAULT, seed, quiet=as_json
        )
    labels = fitted.labels()
    labels.write(out)
    if report is not None:
        labelling.write_report(
            report,
            labels,
            _facts(preparation, fitted),
            [*preparation.notes, *fitted.notes],
            fitted.task.data.skipped,
            preparation.separation,
        )
    if as_json:
        output.print_json(
            {
                **fit_json("unseen label", out, preparation, fitted),
                "report": None if report is None else str(report),
                "words": preparation.recipe.words,
                **output.labels_json(labels),
            }
        )
    else:
        if fitted.start is not None:
            typer.echo(f"changed: {changes(fitted)}")
        output.print_labels(labels, fitted, out, report)
    if strict and fitted.task.data.broken:
        raise typer.Exit(options.SKIPPED_EXIT_CODE)


def fit_photographs(
    preparation: Preparation,
    backbone: str,
    weights: Path | None,
    cache: Path | None,
    method: str,
    seed: int,
    quiet: bool,
) -> Fitted:
    """Say how well the descriptions separate the classes, extract features, and fit."""
    from unseen import features, labelling

    if not quiet:
        output.print_separation(preparation.separation)
        output.print_notes(preparation.notes)
    network = features.backbone(backbone, weights)
    with features.FeatureStore(cache) as store, output.extracting("learning") as on_progress:
        data = labelling.extract(preparation, network, store, on_progress)
        return labelling.fit(labelling.Task(data, method, seed))


def fit_json(command: str, out: Path, preparation: Preparation, fitted: Fitted) -> JsonObject:
    """Return what ``unseen label`` and ``unseen fit`` both say of a fit, as plain data."""
    data = fitted.task.data
    return {
        "command": command,
        "out": str(out),
        "method": fitted.task.method,
        "backbone": data.features,
        "changed": None if fitted.start is None else int((fitted.predicted != fitted.start).sum()),
        "features": {"computed": data.computed, "reused": data.reused},
        "seen_classes": preparation.pictures.seen_classes,
        "semantics": output.separation_json(preparation.separation),
        "notes": [*preparation.notes, *fitted.notes],
        "skipped": output.skipped_of(data.broken),
    }


def _facts(preparation: Preparation, fitted: Fitted) -> dict[str, str]:
    recipe, data = preparation.recipe, fitted.task.data
    described = [f"{len(recipe.attributes)} attributes"] * bool(recipe.attributes)
    described += [f"words by {recipe.words}"] * bool(recipe.words)
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
    from unseen.datasets.image_folder import list_all_images

    if out.suffix.lower() not in (".npz", ".csv"):
        raise DataError(f"--out {out}: the name must end in .npz or .csv.")
    paths = list_all_images(folder)
    network = features.backbone(backbone, weights)
    with features.FeatureStore(cache) as store, output.extracting() as on_progress:
        extraction = features.extract(paths, network, store, batch_size=batch, on_progress=on_progress)
        cache_path = str(store.path)
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
        "skipped": output.skipped_of(extraction.broken),
    }
    if as_json:
        output.print_json(summary)
    else:
        output.print_skipped(extraction.broken)
        typer.echo(
            f"wrote {out}: {len(extraction.paths)} photographs × {extraction.X.shape[1]} numbers, "
            f"{extraction.computed} computed now, {extraction.reused} known"
        )
        if out.suffix.lower() == ".npz":
            typer.echo(f"read it with: numpy.load({str(out)!r}), which has X, y and images")
    if strict and extraction.broken:
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

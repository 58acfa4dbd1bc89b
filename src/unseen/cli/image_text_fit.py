"""``unseen label`` with a model of pictures and texts: photographs are compared with class texts."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from unseen import methods
from unseen.cli import output
from unseen.cli.progress import extracting
from unseen.cli.task_options import TaskOptions

if TYPE_CHECKING:
    from unseen.labelling import Fitted, Preparation


def compares_with_texts(seen: Path | None, backbone: str, method: str) -> bool:
    """Tell whether photographs are compared with class texts by one model of both.

    They are where nobody labelled a photograph, and where a method is named that compares rows and
    class vectors of one space; the backbone must be one that can have a half for texts.
    """
    from unseen import features

    if not features.has_texts(backbone):
        return False
    return seen is None or bool(method and not methods.find(method).estimator.needs_labelled_rows)


def fit_with_texts(
    backbone: str,
    words: str,
    cache: Path | None,
    asked: TaskOptions,
    quiet: bool,
    **given: Any,
) -> tuple[Preparation, Fitted]:
    """Load both halves of the model, encode class texts and photographs, and fit.

    ``given`` goes to :func:`unseen.labelling.prepare_with_texts`.
    """
    from unseen import features, labelling

    model = features.image_text_model(backbone, words)
    with features.FeatureStore(cache) as store:
        preparation = labelling.prepare_with_texts(model, store, **given)
        asked.check(preparation.pictures.seen_classes)
        if not quiet:
            output.print_separation(preparation.separation)
            output.print_notes(preparation.notes)
        with extracting("learning") as show:
            data = labelling.extract(preparation, model.images, store, show)
            return preparation, labelling.fit(asked.task(data), show.round)

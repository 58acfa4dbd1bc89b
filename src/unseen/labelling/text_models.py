"""Models that were fitted on texts: which encoder they belong to, and answers for new texts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from unseen.exceptions import DataError
from unseen.features import (
    Broken,
    FeatureStore,
    Progress,
    TextEncoder,
    encode_texts,
    text_encoder,
)
from unseen.labelling.labels import Labels
from unseen.labelling.photo_models import (
    BUILT_IN_ENCODERS,
    load_model,
    model_labels,
    set_candidates,
    set_unknown,
)
from unseen.labelling.text_files import read_texts


def of_texts(path: Path) -> bool:
    """Tell whether a model file was fitted on texts."""
    return bool(load_model(path)[1].get("texts"))


def model_encoder(path: Path, origin: dict[str, object], columns: int, name: str = "") -> TextEncoder:
    """Return the encoder of a model that was fitted on texts.

    Parameters
    ----------
    path : path
        The model file, for messages.
    origin : dict
        What the model says of its features.
    columns : int
        How many features it was fitted on.
    name : str
        The encoder that the user names; needed where the model's is not built in.
    """
    encoder_name = str(origin.get("texts", ""))
    if not name and not encoder_name:
        raise DataError(f"{path}: was not fitted on texts, so it takes none. Fit a model on texts.")
    if not name and encoder_name not in BUILT_IN_ENCODERS:
        raise DataError(
            f"{path}: was fitted on vectors of {encoder_name!r}, which is not loaded because a file "
            "names it. If you trust it, name it yourself.",
            options=("words",),
        )
    encoder = text_encoder(name or encoder_name)
    if encoder.width != columns:
        raise DataError(
            f"{path}: was fitted on {columns} features, and {encoder.name} gives {encoder.width}. Name "
            "the encoder that it was fitted with.",
            options=("words",),
        )
    if encoder_name and origin.get("identity") != encoder.identity:
        raise DataError(
            f"{path}: was fitted on vectors of {encoder_name} with other weights than {encoder.name} "
            "has. Use the same weights, or fit again."
        )
    return encoder


def predict_texts(
    path: Path,
    texts: Path,
    column: str,
    store: FeatureStore | None,
    candidates: str = "",
    on_progress: Callable[[Progress], None] | None = None,
    words: str = "",
    unknown: str = "",
    coverage: float | None = None,
) -> tuple[Labels, list[Broken]]:
    """Label the texts of a file with a model from a file; also return what was skipped."""
    model, origin = load_model(path)
    encoder = model_encoder(path, origin, int(model.n_features_in_), words)
    rows = read_texts(texts, column)
    set_candidates(model, candidates)
    set_unknown(model, unknown, path)
    encoded = encode_texts(rows.texts, encoder, store, on_progress=on_progress)
    items = [str(row) for row in rows.rows]
    return model_labels(model, encoded.X, items, texts, coverage, texts=rows.texts), rows.broken

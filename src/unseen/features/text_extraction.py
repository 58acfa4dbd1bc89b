"""Texts → vectors: in batches of similar length, kept as they are computed."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from unseen.exceptions import DataError
from unseen.features.extraction import Progress, checked_vectors
from unseen.features.feature_store import FeatureStore
from unseen.features.words import TextEncoder, words

BATCH_TEXTS = 256
"""Texts that are encoded and kept together."""


@dataclass(frozen=True)
class EncodedTexts:
    """``X[i]`` is the vector of the i-th text."""

    X: npt.NDArray[np.float32]
    computed: int
    """Texts whose vectors were computed now."""
    reused: int
    """Texts whose vectors were kept from before, or are those of an equal text."""


def text_encoder(name: str = "minilm") -> TextEncoder:
    """Return an encoder that takes texts of any words: ``minilm``, ``hf:NAME`` or ``onnx:PATH``."""
    encoder = words(name)
    if not hasattr(encoder, "width"):
        raise DataError(
            f"{name}: is a file of word vectors, which has no vector for a text of other words. Use "
            "minilm, hf:NAME_OR_FOLDER or onnx:PATH.",
            options=("words",),
        )
    return encoder  # type: ignore[return-value]  # it has the one name more


def encode_texts(
    texts: Sequence[str],
    encoder: TextEncoder,
    store: FeatureStore | None = None,
    *,
    batch_size: int = BATCH_TEXTS,
    on_progress: Callable[[Progress], None] | None = None,
) -> EncodedTexts:
    """Return the vectors of texts.

    Equal texts are encoded once. With a store, a text that it knows for this encoder is not encoded
    again, and every batch is kept as soon as it is computed: an interrupted call goes on where it was.

    Parameters
    ----------
    texts : sequence of str
    encoder : TextEncoder
        See :func:`text_encoder`.
    store : FeatureStore, optional
    batch_size : int
    on_progress : callable, optional
        Called with a :class:`Progress` after every batch.

    Raises
    ------
    DataError
        If vectors come out NaN or infinite.

    Examples
    --------
    >>> class Letters:
    ...     name = identity = "letters"
    ...     width, prompt = 2, "{}"
    ...     def __call__(self, texts):
    ...         return np.array([[text.count("a"), text.count("o")] for text in texts])
    >>> encode_texts(["cat", "dog", "cat"], Letters()).X.tolist()
    [[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]]
    """
    if batch_size < 1:
        raise ValueError(f"The 'batch_size' parameter must be at least 1. Got {batch_size} instead.")
    X = np.empty((len(texts), encoder.width), np.float32)
    progress = Progress(len(texts))
    tell = on_progress or (lambda _: None)
    rows_of: dict[str, list[int]] = {}
    for row, text in enumerate(texts):
        rows_of.setdefault(text, []).append(row)
    unknown: list[str] = []
    for text, rows in rows_of.items():
        vector = None if store is None else store.get(encoder.identity, _key(text), encoder.width)
        if vector is None:
            unknown.append(text)
        else:
            X[rows] = vector
            progress.done += len(rows)
            progress.reused += len(rows)
    tell(progress)
    unknown.sort(key=len)  # batches of similar length need little padding
    for start in range(0, len(unknown), batch_size):
        batch = unknown[start : start + batch_size]
        vectors = checked_vectors(encoder.name, encoder.width, encoder(batch), len(batch), "texts")
        if store is not None:
            keys = [_key(text) for text in batch]
            store.put(encoder.identity, zip(keys, vectors, strict=True))
        for text, vector in zip(batch, vectors, strict=True):
            X[rows_of[text]] = vector
            progress.done += len(rows_of[text])
        tell(progress)
    return EncodedTexts(X, len(unknown), len(texts) - len(unknown))


class StoredEncoder:
    """A text encoder that runs in batches and keeps its vectors in a store.

    Parameters
    ----------
    encoder : TextEncoder
    store : FeatureStore, optional
    """

    def __init__(self, encoder: TextEncoder, store: FeatureStore | None) -> None:
        self.name, self.identity, self.prompt = encoder.name, encoder.identity, encoder.prompt
        self.width = encoder.width
        self._encoder, self._store = encoder, store

    def __call__(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """Return one vector a text; those in the store are not computed."""
        return encode_texts(texts, self._encoder, self._store).X


def _key(text: str) -> bytes:
    """Return the key of a text in the store; the first byte keeps texts apart from pictures."""
    return b"t" + hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=19).digest()

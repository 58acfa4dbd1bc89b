"""The forward pass of BERT in NumPy, for sentences of any lengths laid end to end without padding.

Devlin et al. (2019). A batch is one matrix of tokens, (T, width), in which the tokens of a sentence
are consecutive rows and sentences of equal length are neighbours. The dense layers are then matrix
products over all tokens, and attention is one batched product for each length. Temporaries are
allocated once for a batch.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from unseen.typing import Array

Float32 = npt.NDArray[np.float32]

GELU_BLOCK_NUMBERS = 32_768
"""Numbers to which GELU is applied at a time, so that its temporaries stay in the cache."""
GELU_LIMIT = np.float32(6.0)
"""Beyond this, the normal distribution function is 0 or 1 in single precision."""
GELU_COEFFICIENTS = tuple(
    np.float32(c)
    for c in (
        1.80561852e-09,
        -1.33446504e-07,
        3.96911100e-06,
        -5.52401698e-05,
        -3.31299558e-05,
        3.63342835e-02,
        7.97884216e-01,
    )
)
"""The polynomial p(x²), highest power first, with 2Φ(x) = 1 + tanh(x·p(x²)) to 1e-7 of x·Φ(x)."""


@dataclass(frozen=True)
class Norm:
    """A layer normalisation: scale and shift of each column."""

    scale: Float32
    shift: Float32
    epsilon: np.float32

    def __call__(self, x: Float32) -> None:
        """Normalise every row, in place."""
        x -= x.mean(axis=1, keepdims=True)
        variance = np.einsum("ij,ij->i", x, x) / np.float32(x.shape[1])
        x /= np.sqrt(variance + self.epsilon)[:, None]
        x *= self.scale
        x += self.shift


@dataclass(frozen=True)
class Layer:
    """One layer of BERT: attention, then two dense layers; each added to its input, normalised."""

    heads: int
    queries_keys_values: Float32
    """(width, 3·width), the three projections side by side; queries are scaled by 1/√(head width)."""
    projection_bias: Float32
    mixing: Float32
    mixing_bias: Float32
    attention_norm: Norm
    expansion: Float32
    expansion_bias: Float32
    contraction: Float32
    """Half of the published weights: ``gelu`` leaves out the factor ½."""
    contraction_bias: Float32
    output_norm: Norm

    @classmethod
    def read(cls, weights: Mapping[str, Array], place: str, heads: int, epsilon: float) -> Layer:
        """Return the layer whose weights are named ``place.…``, as transformers names them."""

        def dense(part: str) -> tuple[Float32, Float32]:
            weight, bias = weights[f"{place}.{part}.weight"], weights[f"{place}.{part}.bias"]
            return weight.T.astype(np.float32), bias.astype(np.float32)

        query, key, value = (dense(f"attention.self.{part}") for part in ("query", "key", "value"))
        scale = np.float32(1 / np.sqrt(query[0].shape[0] / heads))
        contraction, contraction_bias = dense("output.dense")
        return cls(
            heads,
            np.concatenate([query[0] * scale, key[0], value[0]], axis=1),
            np.concatenate([query[1] * scale, key[1], value[1]]),
            *dense("attention.output.dense"),
            read_norm(weights, f"{place}.attention.output.LayerNorm", epsilon),
            *dense("intermediate.dense"),
            contraction * np.float32(0.5),
            contraction_bias,
            read_norm(weights, f"{place}.output.LayerNorm", epsilon),
        )

    def __call__(self, hidden: Float32, runs: Sequence[tuple[slice, int]], work: Workspace) -> None:
        """Replace tokens by those of the next layer; ``runs`` are rows of sentences of one length."""
        projected = np.matmul(hidden, self.queries_keys_values, out=work.projected)
        projected += self.projection_bias
        for rows, length in runs:
            self._attend(projected[rows], length, work.mixed[rows])
        added = np.matmul(work.mixed, self.mixing, out=work.added)
        added += self.mixing_bias
        hidden += added
        self.attention_norm(hidden)
        inner = np.matmul(hidden, self.expansion, out=work.inner)
        inner += self.expansion_bias
        twice_gelu(inner)
        added = np.matmul(inner, self.contraction, out=work.added)
        added += self.contraction_bias
        hidden += added
        self.output_norm(hidden)

    def _attend(self, projected: Float32, length: int, mixed: Float32) -> None:
        """Write softmax(QKᵀ/√d)·V of every sentence and head into ``mixed``."""
        width = mixed.shape[1]
        parts = projected.reshape(-1, length, 3, self.heads, width // self.heads)
        query, key, value = parts.transpose(2, 0, 3, 1, 4)  # each (sentences, heads, length, d)
        scores = query @ key.swapaxes(-1, -2)
        scores -= scores.max(axis=-1, keepdims=True)
        np.exp(scores, out=scores)
        scores /= scores.sum(axis=-1, keepdims=True)
        shape = (-1, length, self.heads, width // self.heads)
        mixed.reshape(shape)[...] = (scores @ value).transpose(0, 2, 1, 3)


class Workspace:
    """Temporaries of a batch of T tokens, used again in every layer."""

    def __init__(self, tokens: int, layer: Layer) -> None:
        width = layer.mixing.shape[0]
        self.projected = np.empty((tokens, 3 * width), np.float32)
        self.mixed = np.empty((tokens, width), np.float32)
        self.added = np.empty((tokens, width), np.float32)
        self.inner = np.empty((tokens, layer.expansion.shape[1]), np.float32)


class Bert:
    """Token numbers of sentences → the mean of the last layer's tokens.

    Parameters
    ----------
    weights : mapping
        Name → array, as transformers names those of ``BertModel``.
    layers, heads : int
    epsilon : float
        Of the layer normalisations.
    """

    def __init__(self, weights: Mapping[str, Array], layers: int, heads: int, epsilon: float) -> None:
        self._words = weights["embeddings.word_embeddings.weight"].astype(np.float32, copy=False)
        positions = weights["embeddings.position_embeddings.weight"]
        kind = weights["embeddings.token_type_embeddings.weight"][0]
        self._positions = (positions + kind).astype(np.float32)
        self._norm = read_norm(weights, "embeddings.LayerNorm", epsilon)
        self._layers = [
            Layer.read(weights, f"encoder.layer.{i}", heads, epsilon) for i in range(layers)
        ]

    def __call__(self, sentences: Sequence[Sequence[int]]) -> Float32:
        """Return the mean token of each sentence, (n, width); the sentences are sorted by length."""
        lengths = np.array([len(tokens) for tokens in sentences])
        hidden = self._words[np.concatenate(sentences)]
        runs = list(_runs(lengths))
        for rows, length in runs:
            tokens = hidden[rows].reshape(-1, length, hidden.shape[1])
            tokens += self._positions[:length]
        self._norm(hidden)
        if self._layers:
            work = Workspace(len(hidden), self._layers[0])
            for layer in self._layers:
                layer(hidden, runs, work)
        starts = np.concatenate([[0], np.cumsum(lengths)[:-1]])
        return np.asarray(np.add.reduceat(hidden, starts, axis=0) / lengths[:, None].astype(np.float32))


def read_norm(weights: Mapping[str, Array], place: str, epsilon: float) -> Norm:
    """Return the layer normalisation whose weights are named ``place.…``."""
    scale, shift = weights[f"{place}.weight"], weights[f"{place}.bias"]
    return Norm(scale.astype(np.float32), shift.astype(np.float32), np.float32(epsilon))


def twice_gelu(x: Float32) -> None:
    """Replace x by 2·x·Φ(x) in place; Φ is the normal distribution function.

    The error function of SciPy takes 17 ns a number and longer than all matrix products together;
    this polynomial takes 3 ns.

    >>> x = np.array([[-1.0, 0.0, 1.0, 20.0]], dtype=np.float32)
    >>> twice_gelu(x)
    >>> (x / 2).round(4).tolist()
    [[-0.15870000422000885, 0.0, 0.8413000106811523, 20.0]]
    """
    flat = x.reshape(-1)
    clipped, square, power = (np.empty(GELU_BLOCK_NUMBERS, np.float32) for _ in range(3))
    for start in range(0, len(flat), GELU_BLOCK_NUMBERS):
        block = flat[start : start + GELU_BLOCK_NUMBERS]
        y, y2, p = (part[: len(block)] for part in (clipped, square, power))
        np.clip(block, -GELU_LIMIT, GELU_LIMIT, out=y)
        np.multiply(y, y, out=y2)
        np.multiply(y2, GELU_COEFFICIENTS[0], out=p)
        for coefficient in GELU_COEFFICIENTS[1:-1]:
            p += coefficient
            p *= y2
        p += GELU_COEFFICIENTS[-1]
        p *= y
        np.tanh(p, out=p)
        p += np.float32(1)
        block *= p


def _runs(lengths: Array) -> Iterator[tuple[slice, int]]:
    """Yield the rows of neighbouring sentences of one length, and that length."""
    edges = np.flatnonzero(np.diff(lengths)) + 1
    start = 0
    for group in np.split(lengths, edges):
        stop = start + int(group.sum())
        yield slice(start, stop), int(group[0])
        start = stop

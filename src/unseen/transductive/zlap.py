"""ZLaP: labels propagate from class texts to rows over a graph of nearest neighbours."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import numpy as np
from scipy import sparse

from unseen.advice import Advice
from unseen.citation import Citation
from unseen.published import CODE, choices, sets
from unseen.rows.kernels import scaled
from unseen.rows.passes import SCORE_BLOCK_NUMBERS, blocks, score_blocks
from unseen.statistics.entropy import KEPT_CLASSES
from unseen.statistics.neighbours import nearest
from unseen.transductive._shared_space import SharedSpaceClassifier, SoftLabelClassifier
from unseen.typing import Array, CandidateClasses, Codes

SMALLEST_STEP = 1e-8
"""The propagation ends when a step adds no more than this to any score."""

LEAST_SCORE = 1e-12
"""Scores are logarithms of values that are at least this."""


class ZLaP(SoftLabelClassifier):
    """Label propagation: (I − α·D^(−½)WD^(−½)) Z = Y on a graph of class texts and rows.

    Nodes are the texts, which Y labels by their classes, and the rows of the pool. A row has edges to
    its k nearest rows, weighted by their cosine, and to its k nearest texts, weighted by their cosine
    to the power γ, which brings both kinds of weight to one size; W is symmetric, D its row sums. A row
    has the class with the largest entry of Z.

    V. Stojnić, Y. Kalantidis and G. Tolias, "Label propagation for zero-shot classification with
    vision-language models", CVPR 2024. Graph and equation were checked against the authors' public
    program (vladan-stojnic/ZLaP). As there, a row is among its own k nearest, and its edge to itself is
    removed: k − 1 others are left. New rows are answered by the paper's sparse inductive form: every
    node of the pool votes with the one class, and the one score, that are largest in Z.

    Deviations: Z is summed as a series of powers, Σ (αŴ)ⁿY, for some classes at a time, where the
    authors run conjugate gradients. Of the scores of a row the 32 largest are kept. Among more than
    6,000 rows, neighbours are sought in the classes that the first answer puts first and second.
    Texts stand for themselves; the proxies of InMaP, with which the paper has further results, are not
    here. Labelled rows are not learned from. A class that joins after ``fit`` has the edges from new
    rows to its text only. A fitted model holds the pool.

    Parameters
    ----------
    semantics : mapping or DataFrame, class -> vector or vectors
        Embeddings of the class texts, as wide as the rows.
    candidates : {"all", "unseen", "seen"} or list of classes
    neighbours : int
        k.
    text_power : float
        γ.
    propagation : float
        α in [0, 1).

    Attributes
    ----------
    transduction_, start_ : arrays of N labels
    confidence_ : array of shape (M,)
        The share of the answer in the scores of each unlabelled row. It is no probability.
    history_ : list of SharedRound

    Examples
    --------
    >>> from unseen import ZLaP
    >>> texts = {"cat": [1.0, 0.0, 0.1], "dog": [0.0, 1.0, 0.1]}
    >>> X = [[0.9, 0.1, 0.4], [0.8, 0.0, 0.5], [0.1, 0.8, 0.5], [0.0, 0.9, 0.4]]
    >>> ZLaP(texts).fit(X).transduction_
    array(['cat', 'cat', 'dog', 'dog'], dtype='<U3')
    """

    advice = Advice(
        cost="the nearest neighbours of each row, and a propagation for some classes at a time",
        take="you want labels spread over a graph, from texts to rows",
        leave="the model must be small: it keeps its pool to answer new rows",
    )

    published = choices(
        sets("neighbours", 5, CODE, "vladan-stojnic/ZLaP."),
        sets("text_power", 5.0, CODE, "The same."),
        sets("propagation", 0.3, CODE, "The same."),
    )

    citation: ClassVar[Citation | None] = Citation(
        "Stojnić, Kalantidis and Tolias",
        "Label propagation for zero-shot classification with vision-language models",
        "CVPR",
        2024,
    )
    scale = "auto"
    _whole = ("neighbours",)
    _not_negative = ("text_power", "propagation")

    _pool: Array | None
    """The pool at unit length."""
    _votes: tuple[Codes, Array]
    """The class with the largest score at each node, texts first, and that score."""

    def __init__(
        self,
        semantics: object = None,
        candidates: CandidateClasses = "all",
        neighbours: int = 5,
        text_power: float = 5.0,
        propagation: float = 0.3,
    ) -> None:
        super(SharedSpaceClassifier, self).__init__(semantics, candidates)  # it has no scale
        self.neighbours = neighbours
        self.text_power = text_power
        self.propagation = propagation

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.neighbours < 1:
            self._refuse("neighbours", "an integer >= 1")
        if self.propagation >= 1:
            self._refuse("propagation", "a number in [0, 1)")

    def _forget(self) -> None:
        self._pool = None

    def _label_rounds(self, pool: Array, vectors: Array) -> Iterator[sparse.csr_matrix]:
        X, T = scaled(pool, "unit"), scaled(np.asarray(vectors, dtype=pool.dtype), "unit")
        to_texts = self._text_edges(X, T)
        yield _normalised(to_texts.indices.reshape(len(X), -1), to_texts.data.reshape(len(X), -1), T)
        among_rows = nearest(X, int(self.neighbours) - 1, to_texts.indices.reshape(len(X), -1)[:, :2])
        W = sparse.bmat([[None, to_texts.T], [to_texts, among_rows + among_rows.T]], format="csr")
        degree = np.asarray(W.sum(axis=1), dtype=float).ravel()
        root = sparse.diags(1 / np.sqrt(np.where(degree > 0, degree, 1)))
        places, values = self._propagated((root @ W @ root).tocsr().astype(X.dtype), len(T))
        best = values.argmax(axis=1)[:, None]
        self._votes = (
            np.take_along_axis(places, best, axis=1).ravel(),
            np.take_along_axis(values, best, axis=1).ravel(),
        )
        self._pool = X
        yield _normalised(places[len(T) :], values[len(T) :], T)

    def _text_edges(self, X: Array, T: Array) -> sparse.csr_matrix:
        """Return the edges of rows to their nearest texts, the nearest first, (N, L)."""
        count = min(int(self.neighbours), len(T))
        places, values = np.empty((len(X), count), dtype=np.intp), np.empty((len(X), count), X.dtype)
        for rows in score_blocks(len(X), len(T)):
            C = X[rows] @ T.T
            top = np.argpartition(C, -count, axis=1)[:, -count:]
            order = np.argsort(-np.take_along_axis(C, top, axis=1), axis=1, kind="stable")
            places[rows] = np.take_along_axis(top, order, axis=1)
            values[rows] = np.maximum(np.take_along_axis(C, places[rows], axis=1), 0)
        values **= X.dtype.type(self.text_power)
        starts = np.arange(0, len(X) * count + 1, count)
        return sparse.csr_matrix((values.ravel(), places.ravel(), starts), shape=(len(X), len(T)))

    def _propagated(self, W: sparse.csr_matrix, classes: int) -> tuple[Codes, Array]:
        """Return the classes and values of the largest scores of each node."""
        nodes, count = W.shape[0], min(KEPT_CLASSES, classes)
        places, values = np.empty((nodes, 0), dtype=np.int32), np.empty((nodes, 0), dtype=W.dtype)
        step = W * W.dtype.type(self.propagation)
        for part in blocks(classes, max(count, SCORE_BLOCK_NUMBERS // nodes)):
            width = part.stop - part.start
            term = np.zeros((nodes, width), dtype=W.dtype)
            term[part] = np.eye(width)
            Z = term.copy()
            while float(term.max()) > SMALLEST_STEP:
                term = step @ term
                Z += term
            values = np.concatenate([values, Z], axis=1)
            places = np.concatenate(
                [places, np.tile(np.arange(classes, dtype=np.int32)[part], (nodes, 1))], axis=1
            )
            if values.shape[1] > count:
                top = np.argpartition(values, -count, axis=1)[:, -count:]
                values = np.take_along_axis(values, top, axis=1)
                places = np.take_along_axis(places, top, axis=1)
        return places, values

    def _scores(self, X: Array, vectors: Array) -> Array:
        if self._pool is None:
            return self._first_scores(X, vectors)
        X, T = scaled(X, "unit"), scaled(np.asarray(vectors, dtype=X.dtype), "unit")
        column = np.full(len(self._fitted_keys), -1, dtype=np.intp)
        places = self._fitted_places(vectors)
        column[places[places >= 0]] = np.flatnonzero(places >= 0)
        voted, votes = column[self._votes[0]], np.where(column[self._votes[0]] < 0, 0, self._votes[1])
        fitted, L = len(self._fitted_keys), len(T)
        by_text = np.arange(L), np.ones(L)
        text_class = np.where(places >= 0, voted[places], by_text[0])
        text_vote = np.where(places >= 0, votes[places], by_text[1])
        nodes = np.concatenate([text_class, voted[fitted:]])
        strength = np.concatenate([text_vote, votes[fitted:]])
        table = sparse.csr_matrix((strength, (np.arange(len(nodes)), nodes % L)), (len(nodes), L))
        out = np.empty((len(X), L), dtype=X.dtype)
        count = min(int(self.neighbours), len(self._pool))
        for rows in blocks(len(X), max(1, SCORE_BLOCK_NUMBERS // len(self._pool))):
            C = X[rows] @ self._pool.T.astype(X.dtype)
            top = np.argpartition(C, -count, axis=1)[:, -count:]
            near = np.zeros((len(C), count), dtype=X.dtype)
            near[:] = np.maximum(np.take_along_axis(C, top, axis=1), 0)
            starts = np.arange(0, near.size + 1, count)
            shape = (len(C), len(self._pool))
            edges = sparse.hstack(
                [
                    self._text_edges(X[rows], T),
                    sparse.csr_matrix((near.ravel(), top.ravel(), starts), shape),
                ],
                format="csr",
            )
            out[rows] = np.log(np.maximum((edges @ table).toarray(), LEAST_SCORE))
        return out


def _normalised(places: Codes, values: Array, T: Array) -> sparse.csr_matrix:
    """Return scores as soft labels: those of a row sum to one."""
    total = values.sum(axis=1, keepdims=True)
    values = values / np.where(total > 0, total, 1)
    starts = np.arange(0, values.size + 1, values.shape[1])
    return sparse.csr_matrix((values.ravel(), places.ravel(), starts), shape=(len(values), len(T)))

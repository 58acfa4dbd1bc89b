"""Items and class texts in one space, without labelled rows: rounds on the pool.

Rows x and class vectors t are embeddings of one model, such as CLIP's or a sentence encoder's. The
start is softmax(τ·cos(x, t)). Each round estimates where the classes really lie,

    P = x̄ + b(t − t̄),   M = P + nc/(1 + nc)·(x̄ₖ − P),   W = scatter of the rows about M,

with b the slope between the two modalities, n the mass of a class, x̄ₖ its mean and c how far means lie
from their predictions, in units of W. It then labels rows anew by the sum of three scores: of the
Gaussian classes (M, W), of the start, and of the labels of a row's nearest neighbours. Scores are
brought to a wanted entropy before they are added, so that none drowns the others: no step minimises
an objective, and none is stated. Class shares are learned as far as labels contradict equal ones; as
far as the first answers speak for an even pool, classes that attract too many rows are held back.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy import sparse

from unseen.rows.kernels import scaled
from unseen.rows.known import Known
from unseen.rows.labelled import by_content
from unseen.rows.passes import blocks
from unseen.statistics.entropy import entropy, moved_mass, soft_labels, to_entropy
from unseen.statistics.neighbours import nearest
from unseen.statistics.shared_model import SharedModel, Sums, cosines
from unseen.typing import Array, Codes

ROUNDS = 4
"""Rounds at most. On seen classes of three text sets (tried: 3, 4, 5, 6), 6 gain as much in the mean,
and lose more where they lose."""

LEAST_MOVED = 2e-3
"""Rounds end when one moves less than this share of the label mass."""

SHARPENING = 0.5
"""The entropy of labels in the rounds, as a share of the start's."""

NEIGHBOUR_WEIGHT, NEIGHBOUR_ROWS = 2.0, 20.0
"""The neighbours' labels weigh NEIGHBOUR_WEIGHT·g/(g + NEIGHBOUR_ROWS), g the rows of a class.
(NEIGHBOUR_ROWS tried on seen classes: 10, 20.)"""

MOST_GAUSSIAN_WEIGHT = 1.0
"""Scores of Gaussian classes are log-odds: they count once at most, however sure the start is. In a
pool of one class that the start is sure of, they tell nothing, and more weight would raise noise."""

GAUSSIAN_ROWS = 5.0
"""Scores of Gaussian classes weigh size/(size + GAUSSIAN_ROWS), for about ``size`` rows of a class
(tried on seen classes: 0, 2, 5)."""

EXPECTED_EXCESS = 0.1
"""Squared variation of class sizes, beyond that of chance, which even pools show too."""

SAMPLE_ROWS = 1500
"""Rows, drawn by content, on which entropies are measured."""

LEAST_EXCESS = 1e-6
"""Of class sizes: with it, class shares are equal."""

EVEN_VARIATION = 2.0
"""Squared variation of the sizes of the first answers, beyond chance, at which a pool is as likely
taken for an even one as for one that lacks classes; in units of (1 − H/log L)², since first answers
that are hardly better than chance hide what is uneven. H is their mean entropy. Chosen on full pools of
twelve text sets and pools with 2 to 25 of their classes (tried: 0.3 to 2, with powers 0 to 2)."""

SHARE_WEIGHT = 0.8
"""Of learned class shares (tried: 0.7, 0.8, 1). With 1, pools of two classes gain more in the mean, and
a class whose text is poor is lost to a neighbour more often."""

GROUPS = 2
"""Best classes of a row among whose rows its neighbours are sought, where rows are many."""

BLOCK_NUMBERS = 2_000_000
"""Numbers of a block of scores."""


class SharedState(NamedTuple):
    """Where a round ended; the first state is the start."""

    labels: sparse.csr_matrix
    """Soft labels of the pool: the largest of each row."""
    codes: Codes
    """The best class of each row before class shares count."""
    moved: float
    """The share of label mass that changed its class."""
    model: SharedModel | None = None


class SharedPool:
    """Unlabelled rows, their neighbours, and a sample on which entropies are measured.

    Parameters
    ----------
    X : array of shape (N, p)
    vectors : array of shape (L, p)
        The candidates'.
    scale : float
        τ.
    neighbours : int
    equal : bool
        Whether class shares are taken to be equal.
    known : Known, optional
        Rows whose class is certain.
    """

    def __init__(
        self,
        X: Array,
        vectors: Array,
        scale: float,
        neighbours: int,
        equal: bool = False,
        known: Known | None = None,
    ) -> None:
        self._known = known
        self.X, self.vectors, self.scale, self._equal = X, vectors, scale, equal
        self.roots = scaled(X, "root")
        self._moments: Array | None = None
        self.sample = by_content(X)[:SAMPLE_ROWS]
        start = cosines(X[self.sample], vectors) * X.dtype.type(scale)
        self.entropy = entropy(start)
        factor = scale * to_entropy(start, SHARPENING * self.entropy)
        groups = np.empty((len(X), min(GROUPS, len(vectors))), dtype=np.intp)
        parts = []
        for rows in self.blocks():
            S = cosines(X[rows], vectors) * X.dtype.type(factor)
            best = np.argpartition(S, -groups.shape[1], axis=1)[:, -groups.shape[1] :]
            order = np.argsort(-np.take_along_axis(S, best, axis=1), axis=1, kind="stable")
            groups[rows] = np.take_along_axis(best, order, axis=1)
            parts.append(soft_labels(S))
        self.start = SharedState(self._clamped(parts), groups[:, 0], 1.0)
        self.evenness = 1.0 if equal else self._evenness(groups[:, 0])
        self.neighbours = nearest(X, neighbours, groups)

    def __len__(self) -> int:
        return len(self.X)

    def blocks(self) -> Iterator[slice]:
        """Cut the rows so that a block of scores stays small."""
        return blocks(len(self.X), max(64, BLOCK_NUMBERS // len(self.vectors)))

    def excess(self, codes: Codes) -> float:
        """Return the squared variation of class sizes beyond that of an even pool."""
        return self._excess_of(np.bincount(codes, minlength=len(self.vectors)))

    def _excess_of(self, sizes: Array) -> float:
        if self._equal:
            return LEAST_EXCESS
        return max(self._variation(sizes) - EXPECTED_EXCESS, LEAST_EXCESS)

    @staticmethod
    def _variation(sizes: Array) -> float:
        """Return the squared variation of class sizes beyond that of chance."""
        return float(sizes.var()) / float(sizes.mean()) ** 2 - len(sizes) / float(sizes.sum())

    def log_shares(self, mass: Array, excess: float | None = None) -> Array:
        """Return class shares in logarithms, equal ones if sizes vary no more than in an even pool."""
        excess = self._excess_of(mass) if excess is None else excess
        return np.asarray(SHARE_WEIGHT * np.log(mass + float(mass.sum()) / len(mass) / excess))

    def _evenness(self, codes: Codes) -> float:
        """Return how likely all classes are there in like number, from the first answers."""
        L = len(self.vectors)
        clear = 1 - self.entropy / np.log(L) if L > 1 else 1.0
        variation = max(self._variation(np.bincount(codes, minlength=L)), 0.0)
        limit = max(EVEN_VARIATION * clear**2, 1e-9)
        return float(1 / (1 + (variation / limit) ** 4))

    def balance(self, mass: Array) -> Array:
        """Return what is added to log-shares so that classes of a pool that may be even become so.

        Some class texts lie near many rows and attract those of other classes.
        """
        return np.asarray(-self.evenness * np.log((mass + 1) / (mass.mean() + 1)))

    def class_size(self, state: SharedState) -> float:
        """Return how many rows a class that is there has, about."""
        return len(self) / len(self.vectors) * (1 + self.excess(state.codes))

    def said(self, state: SharedState, rows: slice | Codes) -> sparse.csr_matrix:
        """Return what the neighbours of rows say of their classes."""
        size = self.class_size(state)
        weight = NEIGHBOUR_WEIGHT * size / (size + NEIGHBOUR_ROWS)
        return self.neighbours[rows] @ state.labels * self.X.dtype.type(weight)

    def sharpened(self, model: SharedModel, state: SharedState, wanted: float) -> SharedModel:
        """Return the model at the sharpness at which the sample's labels have this entropy."""
        few, means = self.sample, model.means[: len(self.vectors)]
        A = model.scorer(self.vectors, means, self.X.dtype)(
            self.X[few], self.roots[few], self.said(state, few)
        )
        return replace(model, sharpness=model.sharpness * to_entropy(A, wanted))

    def sums(self, state: SharedState) -> Sums:
        """Return the sums of the rows with their labels."""
        sums = Sums.of(self.roots, state.labels, self._moments)
        self._moments = sums.moments
        return sums

    def model(self, state: SharedState, known: Sums, vectors: Array) -> SharedModel:
        """Estimate the model of a round from soft labels and from ``known`` sums."""
        pool_sums = self.sums(state)
        tie = 1.0 if state.model is None else state.model.tie
        model = SharedModel.of(pool_sums.plus(known), vectors, self.scale, tie)
        mass = pool_sums.mass
        shares = self.log_shares(mass, self.excess(state.codes)) + self.balance(mass)
        model = replace(model, log_shares=shares)
        S = model.gaussian_scores(self.roots[self.sample], model.means[: len(self.vectors)])
        wanted = SHARPENING * self.entropy
        size = self.class_size(state)
        weight = min(to_entropy(S, wanted), MOST_GAUSSIAN_WEIGHT) * size / (size + GAUSSIAN_ROWS)
        return self.sharpened(replace(model, gaussian_weight=weight), state, wanted)

    def labelled(self, model: SharedModel, before: SharedState) -> SharedState:
        """Label the rows anew."""
        codes, parts, moved = np.empty(len(self), dtype=np.intp), [], 0.0
        scorer = model.scorer(self.vectors, model.means[: len(self.vectors)], self.X.dtype)
        for rows in self.blocks():
            A = scorer(self.X[rows], self.roots[rows], self.said(before, rows))
            codes[rows] = A.argmax(axis=1)
            A += model.log_shares.astype(A.dtype)
            parts.append(soft_labels(A))
            moved += moved_mass(parts[-1], before.labels[rows])
        return SharedState(self._clamped(parts), codes, moved / len(self), model)

    def _clamped(self, parts: list[sparse.csr_matrix]) -> sparse.csr_matrix:
        """Return the soft labels of all blocks; a known row has its class alone."""
        labels = sparse.vstack(parts, format="csr")
        if self._known is not None:
            places = labels.indices.reshape(len(self), -1)
            values = labels.data.reshape(len(self), -1)
            values[self._known.rows] = 0
            values[self._known.rows, 0] = 1
            places[self._known.rows, 0] = self._known.places
        return labels

    def answer(self, state: SharedState) -> tuple[Codes, Array, SharedModel | None]:
        """Return the pool's labels and probabilities at the entropy of the start, and the model."""
        model, means = state.model, self.vectors
        if model is not None:
            model, means = self.sharpened(model, state, self.entropy), model.means[: len(means)]
        codes, confidence = np.empty(len(self), dtype=np.intp), np.empty(len(self))
        scorer = None if model is None else model.scorer(self.vectors, means, self.X.dtype)
        for rows in self.blocks():
            if model is None or scorer is None:
                A = cosines(self.X[rows], self.vectors) * self.X.dtype.type(self.scale)
            else:
                A = scorer(self.X[rows], self.roots[rows], self.said(state, rows))
                A += model.log_shares.astype(A.dtype)
            codes[rows] = A.argmax(axis=1)
            A -= A.max(axis=1, keepdims=True)
            confidence[rows] = 1 / np.exp(A).sum(axis=1)
        return codes, confidence, model


def adapt_shared(
    pool: SharedPool, known: Sums, vectors: Array, rounds: int = ROUNDS
) -> Iterator[SharedState]:
    """Run the rounds; yield the start and the state after each.

    Parameters
    ----------
    pool : SharedPool
    known : Sums
        Of labelled rows and of earlier pools: the candidates' classes first, then others.
    vectors : array
        Of all these classes, in this order.
    rounds : int
    """
    state = pool.start
    yield state
    for _ in range(rounds):
        state = pool.labelled(pool.model(state, known, vectors), state)
        yield state
        if state.moved < LEAST_MOVED:
            return

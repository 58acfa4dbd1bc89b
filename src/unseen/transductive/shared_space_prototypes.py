"""SharedSpacePrototypes: items and class texts in one space, and not one labelled row."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar, Self

import numpy as np
from scipy import sparse

from unseen.advice import Advice
from unseen.citation import Citation
from unseen.rows.kernels import scaled
from unseen.statistics.shared_model import SharedModel, Sums
from unseen.statistics.shared_space import ROUNDS, SharedPool, SharedState, adapt_shared
from unseen.transductive._pool import Compress, Split
from unseen.transductive._shared_space import TRUSTED, SharedRound, SharedSpaceClassifier
from unseen.transductive._shared_space_strangers import DistantStrangers
from unseen.transductive.prototype_classifier import Places, class_keys
from unseen.transductive.rounds import show_round
from unseen.typing import Array, CandidateClasses, Codes, Label, RowValues


class SharedSpacePrototypes(DistantStrangers, SharedSpaceClassifier):
    """Prototypes that class texts predict and the pool corrects, with few labelled rows or none.

        start          softmax(τ·cos(x, t))
        each round     P = x̄ + b(t − t̄),  M = P + nc/(1 + nc)·(x̄ₖ − P),  W = scatter about M
                       softmax(f·(g·S + u·τ·cos + neighbours) + log shares)

    Rows x and class vectors t are embeddings of one model: CLIP, SigLIP, a sentence encoder. S are the
    scores of Gaussian classes with means M and the shrunk covariance W; b is the slope between the two
    modalities; c, how far means lie from their predictions, is estimated from the pool, and so is
    u = 0.3/(0.3 + c), the weight of the first answer; neighbours are the labels of the three rows
    nearest by cosine. f and g bring scores to half the entropy of the start in the rounds, and to all
    of it in the end, so that probabilities are as sure as those of the encoder. Class shares are equal
    unless the sizes of the predicted classes vary more than chance allows; where the first answers
    could be those of an even pool, classes that attract too many rows are held back. No step minimises
    an objective; ``moved`` in ``history_`` shows how labels settle.

    Labelled rows, of candidates or of other classes, count in b, M and W as rows whose class is
    certain; with none, the answer rests on texts and pool alone. The method is our own.

    Parameters
    ----------
    semantics : mapping or DataFrame, class -> vector or vectors
        Embeddings of the class texts, as wide as the rows. Several vectors of a class (names,
        descriptions, prompts) are brought to unit length and averaged.
    candidates : {"all", "unseen", "seen"} or list of classes
    scale : float or "auto"
        τ: 100 for CLIP (its ``logit_scale``), 20 for sentence encoders, which is "auto".
    class_prior : {"auto", "uniform"}
        "uniform" takes the classes to be of like size, and all of them to be there.
    rounds : int
        Rounds at most; 0 answers by cosine.
    neighbours : int
    strangers : None, float or "auto"
        The share of rows that belong to no candidate: so many of the pool, those farthest from every
        candidate, are answered with ``unknown``. "auto" learns the share in rehearsals, which need
        labelled rows of at least ten classes.
    unknown : label, optional
        The answer for strangers; None: "unknown", or -1 where classes are integers.

    Attributes
    ----------
    transduction_ : array of N labels
    start_ : array of N labels
        The first answer, by cosine; labelled rows as they are.
    confidence_ : array of shape (M,)
        The probability of the answer for each unlabelled row.
    diagnostics_ : dict
        ``changed``, the share of the pool whose answer is not that of the start; ``sureness``, the mean
        probability of these answers; ``evenness``, how likely the pool has all classes in like number;
        ``slope`` b and ``tie`` c.
    history_ : list of SharedRound
    stranger_proba_ : array of shape (N,)
        With ``strangers``: the probability of each row of X to belong to no candidate.

    Examples
    --------
    >>> from unseen import SharedSpacePrototypes
    >>> texts = {"cat": [1.0, 0.0, 0.1], "dog": [0.0, 1.0, 0.1]}
    >>> X = [[0.9, 0.1, 0.4], [0.8, 0.0, 0.5], [0.1, 0.8, 0.5], [0.0, 0.9, 0.4]]
    >>> SharedSpacePrototypes(texts).fit(X).transduction_
    array(['cat', 'cat', 'dog', 'dog'], dtype='<U3')
    """

    advice = Advice(
        cost=(
            "three nearest neighbours of each row, one p × p factorisation and a pass over the rows "
            "in each of ten rounds"
        ),
        take="rows and class texts are embeddings of one model, and no row has a label",
        leave=(
            "texts hardly tell the classes apart, or there are fewer rows than classes: its answer "
            "is then about that of cosine"
        ),
    )

    citation: ClassVar[Citation | None] = Citation(
        "The unseen developers", "Prototypes of class texts, corrected by a pool", "unseen", 2026
    )
    takes_known = True
    _whole = ("rounds", "neighbours")

    confidence_: Array
    diagnostics_: dict[str, float]
    _model: SharedModel | None
    _first_codes: Codes
    """The first answers, kept from one step of ``fit`` to the next."""

    def __init__(
        self,
        semantics: object = None,
        candidates: CandidateClasses = "all",
        scale: float | str = "auto",
        class_prior: str = "auto",
        rounds: int = ROUNDS,
        neighbours: int = 3,
        strangers: float | str | None = None,
        unknown: object = None,
    ) -> None:
        super().__init__(semantics, candidates, scale)
        self.class_prior = class_prior
        self.rounds = rounds
        self.neighbours = neighbours
        self.strangers = strangers
        self.unknown = unknown

    def partial_fit(
        self, X: RowValues, y: object = None, *, known: Mapping[int, Label] | None = None
    ) -> Self:
        """Go on with another batch of the pool; memory does not grow with the number of batches.

        What earlier batches said of the classes counts in their means and in the scatter. The batch is
        answered with its own class shares, new rows with those of all batches. ``transduction_`` is
        that of the batch.
        """
        self._earlier = getattr(self, "_seen_sums", None)
        try:
            return self.fit(X, y, known=known)
        finally:
            del self._earlier

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.class_prior not in ("auto", "uniform"):
            self._refuse("class_prior", "'auto' or 'uniform'")

    def _fit_split(self, split: Split, compress: Compress | None) -> Codes:
        self.history_, self.diagnostics_, self._model = [], {}, None
        first_round = self._nothing_found(split)
        if not len(split.pool):
            return first_round
        equal = self.class_prior == "uniform"
        pool = SharedPool(
            split.pool, split.vectors, self._scale(), int(self.neighbours), equal, split.known
        )
        self._first_codes = pool.start.codes
        known, vectors = self._known_sums(split)
        before = pool.start.codes
        for number, state in enumerate(adapt_shared(pool, known, vectors, int(self.rounds))):
            if split.observer is not None:
                show_round(split.observer, number, state.labels.toarray())
            if number:
                trusted = state.labels.max(axis=1).toarray().ravel() >= TRUSTED
                first_round[trusted & (first_round == 0)] = number
                self._note_round(number, state, before, trusted)
            before = state.codes
        self._conclude(pool, state, known, split)
        return first_round

    def _known_sums(self, split: Split) -> tuple[Sums, Array]:
        """Return the sums of labelled rows and of earlier batches, and the vectors of their classes."""
        L, (X, codes, weights) = len(split.vectors), split.rows
        place = np.full(len(split.seen), -1, dtype=np.intp)
        place[split.own[split.own >= 0]] = np.flatnonzero(split.own >= 0)
        others = np.flatnonzero(place < 0)
        place[others] = L + np.arange(len(others))
        values = np.ones(len(X)) if weights is None else weights.astype(float)
        shape = (len(X), L + len(others))
        labels = sparse.csr_matrix((values, (np.arange(len(X)), place[codes])), shape=shape)
        sums = Sums.of(scaled(X, "root"), labels)
        earlier = getattr(self, "_earlier", None)
        if earlier is not None and len(earlier.mass) == L:
            sums = earlier.plus(sums)
        return sums, np.vstack([split.vectors, split.seen[others]]).astype(float)

    def _note_round(self, number: int, state: SharedState, before: Codes, trusted: Array) -> None:
        covered = len(np.unique(state.codes[trusted]))
        changed, nothing = float((state.codes != before).mean()), float("nan")
        self.history_.append(
            SharedRound(number, TRUSTED, int(trusted.sum()), covered, nothing, changed, state.moved)
        )

    def _conclude(self, pool: SharedPool, state: SharedState, known: Sums, split: Split) -> None:
        """Answer at the entropy of the start, and keep what labels new rows."""
        codes, confidence, model = pool.answer(state)
        self._codes, self.confidence_, self._model = codes, confidence, model
        sums = pool.sums(state)
        earlier = getattr(self, "_earlier", None)
        if earlier is not None and len(earlier.mass) == len(sums.mass):
            balance, sums = pool.balance(sums.mass), sums.plus(earlier)
            if model is not None:
                self._model = replace(model, log_shares=pool.log_shares(sums.mass) + balance)
        self._seen_sums = sums
        changed = codes != pool.start.codes
        sureness = float(confidence[changed].mean()) if changed.any() else float("nan")
        self.diagnostics_ = {"changed": float(changed.mean()), "sureness": sureness}
        self.diagnostics_["evenness"] = pool.evenness
        if model is not None:
            self.diagnostics_ |= {"slope": model.slope, "tie": model.tie}

    def _start_codes(self, split: Split) -> Codes:
        if not len(split.pool):
            return super()._start_codes(split)
        codes = self._first_codes
        del self._first_codes
        return codes

    def _pool_codes(self, split: Split) -> Codes:
        return self._codes

    def _scores(self, X: Array, vectors: Array) -> Array:
        model = self._model
        if model is None:
            return self._first_scores(X, vectors)
        means, shares = model.predicted(vectors), np.full(len(vectors), model.log_shares.mean())
        fitted = Places(self._fitted_keys)
        for i, key in enumerate(class_keys(vectors)):
            place = fitted.take(key)
            if place is not None:
                means[i], shares[i] = model.means[place], model.log_shares[place]
        return np.asarray(
            model.scorer(vectors, means, X.dtype)(X, scaled(X, "root")) + shares.astype(X.dtype)
        )

    def stranger_score(self, X: object) -> Array:
        """Return half the squared distance of each row from the nearest candidate, in whitened space.

        High for rows that may belong to no candidate.
        """
        X = self._read_new(X)
        if self._model is None:
            return np.asarray(-self._first_scores(X, self._resolve()[1]).max(axis=1))
        roots = scaled(X, "root")
        Z = roots @ self._model.whitening.astype(X.dtype)
        S = self._model.gaussian_scores(roots, self._model.means[: len(self._fitted_keys)])
        return np.asarray(0.5 * np.einsum("ij,ij->i", Z, Z) - S.max(axis=1))

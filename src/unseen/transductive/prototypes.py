"""SelfPacedPrototypes: classes adapt to the pool, as far as rehearsal shows that it pays."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from scipy.special import softmax
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from unseen.exceptions import AdaptationWarning
from unseen.numerics.gaussian import ROUNDS, TRUSTED, Adaptation, Prior, adapt, assign, scores
from unseen.numerics.rehearsal import (
    FEWEST_TO_REHEARSE,
    Rehearsal,
    SeenModel,
    observe,
    rehearse,
    seen_model,
)
from unseen.numerics.rows import class_sums, class_weights, gram
from unseen.numerics.scorer import Affine, Scorer, SignedRoot, UnitLength
from unseen.numerics.space import to_be_powered
from unseen.numerics.whitening import power_normalise
from unseen.transductive.base import Compress, Split, TransductiveClassifier
from unseen.transductive.places import Places, keys
from unseen.transductive.rounds import Round, show_round

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class PrototypeRound(Round):
    """One line of ``history_``; ``threshold`` is the probability from which a row is trusted."""

    objective: float = float("nan")
    """F after the round, which is lower than before it."""
    coverage: float = float("nan")
    """The share of candidates that hold half a row or more."""


class SelfPacedPrototypes(TransductiveClassifier):
    """Class prototypes that semantics predict and the unlabelled rows correct.

        min over Q, μ, π  Σₙₖ Qₙₖ [ ½‖zₙ − μₖ‖² + log Qₙₖ/πₖ ] − αN/L Σₖ log πₖ
                          + ½ tr( C⁻¹(μ − P) Σ⁻¹(μ − P)ᵀ )
        subject to        Q ≥ 0, Σₖ Qₙₖ = 1, Σₖ πₖ = 1

    z are rows of the pool, whitened by the within-class covariance of the seen classes; Q their soft
    labels; μ the class means and π the class shares (where shares are imposed, Σₙ Qₙₖ = N·πₖ takes the
    place of the terms in π); P the prototypes that ridge regression predicts from semantics; Σ and C
    the covariance of its errors, over directions and over classes, from leaving each seen class out.
    A candidate with labelled rows is tied to their mean instead, as strongly as they are many, and held
    there beside unseen ones. Each round minimises exactly over μ and π, and then over Q. A row counts
    by its probability of belonging to a class, so sure rows lead: that is the self-pacing of SPASS (Yu,
    Ji, Guo and Pang, "Transductive zero-shot learning with adaptive structural embedding") in soft
    form, carried from the label space into the visual space.

    Whether to adapt is rehearsed: seen classes are held out, as many as there are candidates and with
    as many rows as the pool, and play the pool with all classes present, with half of them, and with
    sizes from 50 to 1. The pool's learned shares tell which it resembles. See the guide for the rule.

    Parameters
    ----------
    semantics : mapping or DataFrame, class -> vector, optional
        A vector for every class, seen and unseen. None means one-hot: a semi-supervised
        nearest-mean classifier in whitened space.
    candidates : {"unseen", "seen", "all"} or list of classes
        Among which classes the unlabelled rows are. It may change after ``fit``: a class that was no
        candidate then keeps its own mean or its predicted prototype.
    class_prior : {"auto", "uniform", "estimated"}, None or mapping class -> share
        π. "estimated" learns the shares; "auto" does too, but imposes equal ones if they gain in
        rehearsal and the pool looks even. None: classes are taken to be alike, and nothing is imposed.
    adaptation : {"auto", "full", "cautious", "none"}
        "cautious" ties means much tighter; "auto" rehearses.
    rounds : int
        Stop at this round; 0 is the inductive answer.
    shrinkage : float in [0, 1] or "auto"
        Of the covariance that whitens.
    normalise : bool or "auto"
        Take signed square roots and unit length first; "auto": with 64 columns or more.
    rehearsals : int
        How many; 0 trusts full adaptation unseen.
    random_state : int, RandomState or None
        Draws the classes of the rehearsals; None draws the same ones every time.

    Attributes
    ----------
    transduction_ : array of N labels
    history_ : list of PrototypeRound
        One line a round taken; the objective falls from line to line. Empty if no round was taken.
    start_objective_ : float
        The objective before the first round; NaN without a pool.
    adaptation_ : str
        What was done: "full", "cautious" or "none".
    shares_ : array or None
        The class shares, imposed or learned.
    alarms_ : dict
        Name -> what is wrong and what was done about it; a warning is raised for each.
    diagnostics_ : dict
        Label-free: expected_purity, coverage, drift, evenness of the pool.
    rehearsal_ : Rehearsal or None
    means_ : array of shape (L, p)
        μ in whitened space.

    Examples
    --------
    >>> from unseen import SelfPacedPrototypes
    >>> semantics = {"cat": [1, 0], "dog": [0, 1], "owl": [0, 0], "fox": [1, 1], "elk": [0, 2]}
    >>> X = [[1.0, 0.0], [0.9, 0.1], [0.0, 1.0], [0.1, 1.0], [0.0, 0.1], [0.1, 0.9], [0.8, 0.9]]
    >>> y = ["cat", "cat", "dog", "dog", "owl", "dog", None]
    >>> SelfPacedPrototypes(semantics).fit(X, y).transduction_[-1]
    np.str_('fox')
    """

    adaptation_: str
    shares_: Array | None
    alarms_: dict[str, str]
    diagnostics_: dict[str, float]
    rehearsal_: Rehearsal | None
    means_: Array
    start_objective_: float
    takes_known: ClassVar[bool] = True

    def __init__(
        self,
        semantics: object = None,
        candidates: str | Sequence[Any] | Array = "unseen",
        class_prior: str | Mapping[Any, float] | None = "auto",
        adaptation: str = "auto",
        rounds: int = ROUNDS,
        shrinkage: float | str = "auto",
        normalise: bool | str = "auto",
        rehearsals: int = 9,
        random_state: Any = None,
    ) -> None:
        super().__init__(semantics, candidates)
        self.class_prior = class_prior
        self.adaptation = adaptation
        self.rounds = rounds
        self.shrinkage = shrinkage
        self.normalise = normalise
        self.rehearsals = rehearsals
        self.random_state = random_state

    def _fit_split(
        self, split: Split, candidates: Array, vectors: Array, compress: Compress | None
    ) -> Array:
        self._check_parameters(candidates)
        one_hot, seen = self._parameters()[0] is None, self._seen_vectors()
        self._powered = self._power(split.rows.X.shape[1])
        rows = split.rows._replace(X=self._prepared(split.rows.X))
        moments = gram(rows.X, rows.weights)
        sums = class_sums(rows.X, rows.codes, len(seen), rows.weights)
        counts = class_weights(rows.codes, len(seen), rows.weights)
        shrinkage = None if self.shrinkage == "auto" else float(self.shrinkage)
        dtype = rows.X.dtype
        self._model = seen_model(moments, sums, counts, None if one_hot else seen, shrinkage, dtype)
        self._width = int(seen.shape[1])
        self._seen_keys = keys(seen)
        own = self._own(candidates)
        Z = self._model.whitening(self._prepared(split.pool))
        self.alarms_, self.diagnostics_, self.rehearsal_ = {}, {}, None
        unknown = int((own < 0).sum())
        if self._must_rehearse(len(Z), unknown):
            self.rehearsal_ = rehearse(
                rows,
                seen,
                moments,
                shrinkage,
                unknown,
                max(len(Z), 1),
                self.rehearsals,
                self.rounds,
                self._seed(),
            )
        first_round = self._adapt(split, Z, candidates, vectors, own)
        found = None if self.rehearsal_ is None else self.rehearsal_.temperature
        self._calibrate(split.rows, seen, found)
        if len(Z):
            self._diagnose(Z)
        return first_round

    def _adapt(self, split: Split, Z: Array, candidates: Array, vectors: Array, own: Array) -> Array:
        """Adapt to the pool; set the means, the offsets and ``history_``."""
        self._fitted_keys = keys(vectors)
        self.adaptation_ = "none"
        prior = self._model.prior(vectors, own, False)
        if not len(Z):
            self.means_, self._offsets, self.history_ = prior.prototypes, np.zeros(len(own)), []
            self.start_objective_, self.shares_ = float("nan"), None
            return np.zeros(0, dtype=np.intp)
        shares, learn = self._shares(candidates)
        if len(own) > 1 and self.rounds:
            self.adaptation_ = self.adaptation
            if self.adaptation == "auto":
                self.adaptation_, equal = self._rehearsed(Z, prior)
                shares, learn = (np.full(len(own), 1 / len(own)), False) if equal else (shares, learn)
        if self.adaptation_ == "cautious":
            prior = self._model.prior(vectors, own, True)
        rounds = 0 if self.adaptation_ == "none" else self.rounds
        first_round = np.zeros(len(Z), dtype=np.intp)

        def note(number: int, Q: Array) -> None:
            show_round(split.observer, number, Q)
            if number:
                first_round[(first_round == 0) & (Q.max(axis=1) >= TRUSTED)] = number

        shares = shares if rounds else None
        found = adapt(Z, prior, shares, rounds, on_round=note, learn_shares=learn, known=split.known)
        self._keep(found, prior, len(Z))
        return first_round

    def _keep(self, found: Adaptation, prior: Prior, rows: int) -> None:
        first, *taken = found.steps
        self.means_ = found.means
        self.shares_ = found.shares if taken else None
        self._start_means = prior.prototypes
        self._offsets = found.assignment.offsets
        self.start_objective_ = first.objective
        self.history_ = [
            PrototypeRound(
                number,
                TRUSTED,
                step.trusted,
                step.covered,
                step.objective / rows,
                step.changed,
                step.objective,
                step.covered / len(prior.own),
            )
            for number, step in enumerate(taken, start=1)
        ]

    def _shares(self, candidates: Array) -> tuple[Array | None, bool]:
        """Return the class shares that ``class_prior`` imposes, and whether to learn them."""
        asked = self.class_prior
        if isinstance(asked, Mapping):
            return _given_shares(asked, candidates), False
        if asked == "uniform":
            return np.full(len(candidates), 1 / len(candidates)), False
        return None, asked is not None

    def _rehearsed(self, Z: Array, prior: Prior) -> tuple[str, bool]:
        """Say how far to adapt, and whether equal class shares are to be imposed."""
        report, unseen = self.rehearsal_, prior.own == 0
        if report is None:
            few = unseen.any() and self.rehearsals > 0
            return "cautious" if few else "full", False
        judged, shift = None, 0.0
        if unseen.all():
            even, shift = observe(Z, prior, report, self.rounds)
            self.diagnostics_ |= {"evenness": even, "shift": shift}
            judged = even if self.class_prior == "auto" else None
        imposed = isinstance(self.class_prior, Mapping) or self.class_prior == "uniform"
        free_to_choose = self.class_prior == "auto" and bool(unseen.all())
        advice = report.verdict(judged, shift, None if free_to_choose else imposed)
        if advice.alarm is not None:
            self._raise_alarm(advice.alarm, advice.adapt)
        return "full" if advice.adapt else "none", advice.equal and free_to_choose

    def _raise_alarm(self, alarm: str, adapt: bool) -> None:
        reason = {
            "uneven": "The pool's classes look less even than in rehearsals with every candidate "
            "present: some candidates may have no row, or few.",
            "rehearsal": "Adaptation lost accuracy in rehearsals on held-out seen classes.",
        }[alarm]
        held = "Adaptation is not made: the answer is the inductive one"
        done = "Rehearsals with such pools gained all the same: adaptation is made" if adapt else held
        self.alarms_[alarm] = f"{reason} {done}."
        warnings.warn(self.alarms_[alarm], AdaptationWarning, stacklevel=6)

    def _diagnose(self, Z: Array) -> None:
        end = scores(Z, self.means_) + self._offsets
        start = scores(Z, self._start_means)
        state = assign(end, None)
        self.diagnostics_ |= {
            "expected_purity": float(softmax(end / self.temperature_, axis=1).max(axis=1).mean()),
            "coverage": float((state.Q.sum(axis=0) >= 0.5).mean()),
            "drift": float((end.argmax(axis=1) != start.argmax(axis=1)).mean()),
        }

    def abstain_score(self, X: Any) -> Array:
        """Return how much better a seen class that is no candidate explains each row, (N,).

        High for rows that may belong to no candidate. It is a weak signal where classes overlap. Where
        every seen class is a candidate, it is half the squared distance from the nearest one.
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=[np.float64, np.float32], reset=False)
        candidates, vectors = self._resolve()
        self._check_width(vectors)
        best = self._scores(X, vectors).max(axis=1)
        Z = self._model.whitening(self._prepared(X))
        others = np.setdiff1d(np.arange(len(self.seen_classes_)), self._own(candidates))
        if len(others):
            return np.asarray(scores(Z, self._model.means[others]).max(axis=1) - best)
        return np.asarray(0.5 * np.einsum("ij,ij->i", Z, Z) - best)

    def _scores(self, X: Array, vectors: Array) -> Array:
        means, offsets = self._means_of(vectors)
        Z = self._model.whitening(self._prepared(X))
        return np.asarray(scores(Z, means) + offsets.astype(Z.dtype))

    def _scorer(self, vectors: Array) -> Scorer:
        model: SeenModel = self._model
        means, offsets = self._means_of(vectors)
        if model.predictor is None:  # one-hot: no class can be foretold
            coef, intercept = np.zeros((means.shape[1], self._width)), np.zeros(means.shape[1])
        else:
            coef, intercept = model.predictor.prototypes.coef, model.predictor.prototypes.intercept
        corrections = means - (vectors @ coef.T + intercept)
        scorer = Scorer(coef, intercept, corrections, offsets, weights=(1.0, 0.5, 0.0))
        scorer = scorer.after(Affine(model.whitening.center, model.whitening.inverse().T))
        return scorer.after(SignedRoot(), UnitLength()) if self._powered else scorer

    def _means_of(self, vectors: Array) -> tuple[Array, Array]:
        """Return a mean and an offset for each class: adapted, of labelled rows, or predicted.

        A class is known by its vector, so a vector that changed after ``fit`` is a new class.
        """
        model: SeenModel = self._model
        means = np.empty((len(vectors), model.means.shape[1]), dtype=model.means.dtype)
        offsets = np.zeros(len(vectors))
        fitted, seen = Places(self._fitted_keys), Places(self._seen_keys)
        for i, key in enumerate(keys(vectors)):
            place = fitted.take(key)
            if place is not None:
                means[i], offsets[i] = self.means_[place], self._offsets[place]
            elif (place := seen.take(key)) is not None:
                means[i] = model.means[place]
            elif model.predictor is not None:
                means[i] = model.predictor.prototypes(vectors[i])
        return means, offsets

    def _semantic_width(self) -> int:
        return self._width

    def _seed(self) -> int:
        if self.random_state is None:
            return 0
        return int(check_random_state(self.random_state).randint(2**31 - 1))

    def _must_rehearse(self, rows: int, unknown: int) -> bool:
        asked = self.adaptation == "auto" and self.rehearsals > 0 and self.rounds > 0
        return asked and rows > 0 and unknown > 1 and len(self.seen_classes_) >= FEWEST_TO_REHEARSE

    def _power(self, columns: int) -> bool:
        by_hand = self._switch("normalise")
        return to_be_powered(columns) if by_hand is None else by_hand

    def _prepared(self, X: Array) -> Array:
        return power_normalise(X) if self._powered else X

    def _check_parameters(self, candidates: Array) -> None:
        asked = self.class_prior
        if isinstance(asked, Mapping):
            _given_shares(asked, candidates)
        elif asked not in ("auto", "uniform", "estimated", None):
            self._refuse("class_prior", "'auto', 'uniform', 'estimated', None or a mapping")
        if self.adaptation not in ("auto", "full", "cautious", "none"):
            self._refuse("adaptation", "'auto', 'full', 'cautious' or 'none'")
        for name in ("rounds", "rehearsals"):
            value = getattr(self, name)
            if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or value < 0:
                self._refuse(name, "an integer >= 0")
        if self.shrinkage != "auto" and not (
            isinstance(self.shrinkage, (int, float, np.number)) and 0 <= self.shrinkage <= 1
        ):
            self._refuse("shrinkage", "'auto' or a number in [0, 1]")
        self._switch("normalise")


def _given_shares(prior: Mapping[Any, float], candidates: Array) -> Array:
    missing = [str(label) for label in candidates.tolist() if label not in prior]
    if missing:
        raise ValueError(
            f"The 'class_prior' parameter has no share for {len(missing)} candidate(s): "
            f"{', '.join(missing[:5])}. Give a share to every candidate."
        )
    shares = np.array([float(prior[label]) for label in candidates.tolist()])
    if not (np.isfinite(shares).all() and (shares >= 0).all() and shares.sum() > 0):
        raise ValueError("The 'class_prior' parameter must give shares >= 0, not all zero.")
    shares = np.maximum(shares / shares.sum(), 1e-6)
    return np.asarray(shares / shares.sum())

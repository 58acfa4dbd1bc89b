"""SelfPacedPrototypes: prototypes that semantics predict and the pool corrects."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from scipy.special import softmax
from sklearn.utils.validation import check_is_fitted, validate_data

from unseen.exceptions import AdaptationWarning
from unseen.rows.chunks import kept, mapped, summed
from unseen.statistics.gaussian_classes import (
    EVEN_TIE,
    ROUNDS,
    TRUSTED,
    Assignment,
    Plan,
    Pool,
    measured,
    scores,
)
from unseen.statistics.review import REHEARSALS, Review
from unseen.statistics.seen_model import PoolModel, SeenModel, pool_model
from unseen.statistics.sketch import review_pool
from unseen.statistics.transduction import Task, Transduction, transduce
from unseen.statistics.visual_space import Space, scaled_rows, seen_statistics, usual_scaling
from unseen.statistics.whitening import Scaling
from unseen.transductive._pool import Compress, Split, spread
from unseen.transductive.prototype_classifier import PrototypeClassifier
from unseen.transductive.rounds import Round, never, show_round
from unseen.typing import Array


@dataclass(frozen=True)
class PrototypeRound(Round):
    """One line of ``history_``; ``threshold`` is the probability from which a row is trusted."""

    FILE_KEY = "prototype-round"

    objective: float = float("nan")
    """F/τ after the round, for its own scale of the tie and its own metric."""
    coverage: float = float("nan")
    """The share of candidates that hold half a row or more."""
    moved: float = float("nan")
    """The share of label mass that changed its class."""
    error_scale: float = float("nan")
    """Squared errors of prediction in the pool, in units of those foretold."""


class SelfPacedPrototypes(PrototypeClassifier):
    """Class prototypes that semantics predict and the unlabelled rows correct.

        min over Q, μ, π  Σₙₖ Qₙₖ [ ½‖zₙ − μₖ‖² + τ log Qₙₖ/πₖ ] − ατN/L Σₖ log πₖ
                          + ½ tr( (cC)⁻¹(μ − P) Σ⁻¹(μ − P)ᵀ )
        subject to        Q ≥ 0, Σₖ Qₙₖ = 1, Σₖ πₖ = 1

    z are rows of the pool, whitened by the within-class covariance of the seen classes; Q their soft
    labels; μ the class means and π the class shares (where shares are imposed, Σₙ Qₙₖ = N·πₖ takes the
    place of the terms in π); P the prototypes that a Gaussian process predicts from semantics; Σ and C
    the covariance of its errors, over directions and over classes, from leaving each seen class out.
    Where features and semantics share one space, the process starts from the class vectors themselves.

    The start compares rows with P in a strongly shrunk space: directions that semantics cannot predict
    count for little there. Each round then minimises over μ and π and over Q in a weakly shrunk space.
    Two steps minimise nothing: the scale c of the tie is estimated from the pool by moments, and the
    metric discounts directions in which μ is not yet known, by its posterior variance. A row counts by
    its probability of belonging to a class, so sure rows lead: that is the self-pacing of SPASS (Yu,
    Ji, Guo and Pang, "Transductive zero-shot learning with adaptive structural embedding") in soft
    form, carried from the label space into the visual space.

    A candidate with labelled rows is tied to their mean instead, as strongly as they are many, and held
    there beside unseen ones. Whether the pool's classes are of like size is reviewed: seen classes are
    held out and play the pool, all of them, half of them, and with sizes from 50 to 1. The more the
    pool looks like even ones, the more its class shares lean to equal ones. Nothing is drawn at random:
    an answer depends neither on the order of rows nor on the names or the order of classes.

    Parameters
    ----------
    semantics : mapping or DataFrame, class -> vector, optional
        A vector for every class, seen and unseen. None means one-hot: a semi-supervised
        nearest-mean classifier in whitened space.
    candidates : {"unseen", "seen", "all"} or list of classes
        Among which classes the unlabelled rows are. It may change after ``fit``: a class that was no
        candidate then keeps its own mean or its predicted prototype.
    class_prior : {"auto", "uniform", "estimated"}, None or mapping class -> share
        π. "estimated" learns the shares; "auto" does too, and leans to equal ones as far as the review
        finds the pool even. None: classes are taken to be alike, and nothing is imposed.
    rounds : int
        Rounds at most; 0 is the inductive answer. A pool of another domain takes up to eight more, in
        which its own scatter counts.
    shrinkage : float in [0, 1] or "auto"
        Of the covariance that whitens in the rounds; "auto" is from 0.2 to 0.5, the more the fewer
        labelled rows there are.
    normalise : {"auto", "none", "unit", "root"}
        Rows as they are, at unit length, or as signed square roots at unit length. "auto": as they are
        with fewer than 64 columns, else roots of features that are hardly ever negative, and unit
        length of others.
    rehearsals : int
        How many; 0 reviews nothing, and class shares are learned.

    Attributes
    ----------
    transduction_ : array of N labels
    history_ : list of PrototypeRound
        One line a round taken. Empty if no round was taken.
    start_objective_ : float
        The objective before the first round; NaN without a pool.
    shares_ : array or None
        The class shares of the pool, imposed or learned.
    alarms_ : dict
        Name -> what is wrong and what was done about it; a warning is raised for each.
    diagnostics_ : dict
        Label-free: expected_purity, coverage, drift, error_scale.
    review_ : Review or None
        What rehearsals said of the pool.
    points_ : array of shape (L, p)
        The prototypes of the candidates, ω^½μ/√τ, in the space of scores.

    Examples
    --------
    >>> from unseen import SelfPacedPrototypes
    >>> semantics = {"cat": [1, 0], "dog": [0, 1], "owl": [0, 0], "fox": [1, 1], "elk": [0, 2]}
    >>> X = [[1.0, 0.0], [0.9, 0.1], [0.0, 1.0], [0.1, 1.0], [0.0, 0.1], [0.1, 0.9], [0.8, 0.9]]
    >>> y = ["cat", "cat", "dog", "dog", "owl", "dog", None]
    >>> SelfPacedPrototypes(semantics).fit(X, y).transduction_[-1]
    np.str_('fox')
    """

    takes_known = True
    takes_chunks = True
    _whole: ClassVar[tuple[str, ...]] = ("rounds", "rehearsals")

    shares_: Array | None
    alarms_: dict[str, str]
    diagnostics_: dict[str, float]
    review_: Review | None
    start_objective_: float

    def __init__(
        self,
        semantics: object = None,
        candidates: str | Sequence[Any] | Array = "unseen",
        class_prior: str | Mapping[Any, float] | None = "auto",
        rounds: int = ROUNDS,
        shrinkage: float | str = "auto",
        normalise: str = "auto",
        rehearsals: int = REHEARSALS,
    ) -> None:
        super().__init__(semantics, candidates)
        self.class_prior = class_prior
        self.rounds = rounds
        self.shrinkage = shrinkage
        self.normalise = normalise
        self.rehearsals = rehearsals

    def _fit_split(
        self, split: Split, candidates: Array, vectors: Array, compress: Compress | None
    ) -> Any:
        self._check_parameters()
        plan = self._plan(candidates)
        seen, own = self._seen_vectors(), self._own(candidates)
        self.alarms_, self.diagnostics_, self.review_ = {}, {}, None
        self.history_, self.shares_, self.start_objective_ = [], None, float("nan")
        learns = len(split.pool) > 0 and len(own) > 1 and self.rounds > 0
        if learns:  # the review comes first: its sample would lie beside matrices of p × p
            plan, self.review_ = self._reviewed(plan, split, seen, vectors, own)
        task = self._task(split, seen, vectors, own)
        model = task.model(task.statistics)
        if learns:
            return self._learn(task, model, plan, split, seen)
        before = pool_model(model, vectors, own)
        offsets = np.zeros(len(own))
        self._keep(model.start_space, model, before, before.start, offsets, seen, vectors)
        self._calibrate(split.rows, seen)
        return never(split.pool)

    def _task(self, split: Split, seen: Array, vectors: Array, own: Array) -> Task:
        """Take the sums over labelled rows."""
        statistics = seen_statistics(split.rows, len(seen), self._scaling(split.rows.X))
        described = None if self._parameters()[0] is None else seen
        shrinkage = None if self.shrinkage == "auto" else float(self.shrinkage)
        return Task(statistics, shrinkage, described, vectors, own, split.rows.X.dtype)

    def _learn(self, task: Task, model: SeenModel, plan: Plan, split: Split, seen: Array) -> Any:
        """Run the rounds; return the one that first trusted each row of the pool."""
        pool = Pool(scaled_rows(split.pool, model.space.scaling), model.space, split.known)
        watch = _Watch(split)
        done = transduce(task, model, pool, plan, watch.on_round)
        space = measured(done.model.space, done.found.metric)
        offsets = done.found.assignment.biases
        self._keep(space, done.model, done.before, done.found.points, offsets, seen, task.vectors)
        self._note_rounds(done, len(pool))
        temperature = None
        if self.review_ is not None:
            found = mapped(_final_scores, done.found.assignment.scores, given=(offsets,))
            temperature = self.review_.temperature * spread(found)
        self._calibrate(split.rows, seen, temperature)
        self._diagnose(done)
        return watch.first_round

    def _plan(self, candidates: Array) -> Plan:
        """Return how rounds are run, before any review."""
        if self.shrinkage is None:
            self._refuse("shrinkage", "'auto' or a number in [0, 1]")
        asked, equal = self.class_prior, np.full(len(candidates), 1 / len(candidates))
        if isinstance(asked, Mapping):
            return Plan(_given_shares(asked, candidates), rounds=self.rounds)
        if isinstance(asked, str) and asked == "uniform":
            return Plan(equal, EVEN_TIE, rounds=self.rounds)
        if asked is None or (isinstance(asked, str) and asked in ("auto", "estimated")):
            return Plan(learn_shares=asked is not None, rounds=self.rounds)
        self._refuse("class_prior", "'auto', 'uniform', 'estimated', None or a mapping")

    def _reviewed(
        self, plan: Plan, split: Split, seen: Array, vectors: Array, own: Array
    ) -> tuple[Plan, Review | None]:
        """Review the pool, if its class shares are free and all candidates are unseen."""
        auto = isinstance(self.class_prior, str) and self.class_prior == "auto"
        if not auto or (own >= 0).any() or self._parameters()[0] is None:
            return plan, None
        review = review_pool(split.rows, split.pool, seen, vectors, self.rehearsals)
        return (plan, None) if review is None else (review.plan(plan), review)

    def _keep(
        self,
        space: Space,
        model: SeenModel,
        before: PoolModel,
        points: Array,
        offsets: Array,
        seen: Array,
        vectors: Array,
    ) -> None:
        """Keep what scores are made of, in the space of the prototypes."""
        dtype = model.space.full_matrix.dtype
        self._space = replace(space, matrix=space.full_matrix.astype(dtype))
        self._keep_classes(seen, vectors, space.of_means(model.means).astype(dtype))
        self.points_, self._offsets = points.astype(dtype), offsets
        self._map = None
        if before.predictor is not None:
            self._map = before.predictor.in_space(space)

    def _note_rounds(self, done: Transduction, rows: int) -> None:
        first, *taken = done.steps
        self.start_objective_, self.shares_ = first.objective, done.found.shares
        self.history_ = [
            PrototypeRound(
                number,
                TRUSTED,
                step.trusted,
                step.covered,
                step.objective / rows,
                step.changed,
                step.objective,
                step.covered / len(done.before.start),
                step.moved,
                step.error_scale,
            )
            for number, step in enumerate(taken, start=1)
        ]
        self.alarms_ = {} if self.review_ is None else self.review_.alarms
        for alarm in self.alarms_.values():
            warnings.warn(alarm, AdaptationWarning, stacklevel=5)

    def _diagnose(self, done: Transduction) -> None:
        start, end = done.start, done.found.assignment
        given = start.biases, end.biases, self.temperature_
        purity, drift = summed(_purity_and_drift, start.scores, end.scores, given=given)
        rows = len(end.scores)
        self.diagnostics_ = {
            "expected_purity": float(purity) / rows,
            "coverage": float((done.found.totals[0] >= 0.5).mean()),
            "drift": float(drift) / rows,
            "error_scale": done.found.error_scale,
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
        Z = self._space(X)
        others = np.setdiff1d(np.arange(len(self.seen_classes_)), self._own(candidates))
        if len(others):
            return np.asarray(scores(Z, self._seen_points[others]).max(axis=1) - best)
        return np.asarray(0.5 * np.einsum("ij,ij->i", Z, Z) - best)

    def _scaling(self, X: Any) -> Scaling:
        asked = self.normalise
        if isinstance(asked, str) and asked == "auto":
            return usual_scaling(X)
        if asked in ("none", "unit", "root"):
            return asked  # type: ignore[return-value]
        self._refuse("normalise", "'auto', 'none', 'unit' or 'root'")


class _Watch:
    """Shows rounds to an observer, and notes which round first trusted each row."""

    def __init__(self, split: Split) -> None:
        self.observer = split.observer
        self.first_round = never(split.pool)

    def on_round(self, number: int, state: Assignment) -> None:
        if self.observer is not None:
            show_round(self.observer, number, state.labels)
        if number:
            before, given = self.first_round, (number,)
            self.first_round = kept(mapped(_first_trusted, before, state.labels, given=given))


def _final_scores(S: Array, biases: Array) -> Array:
    """Return the scores of a block; those of known rows, which are clamped, become zero."""
    return np.where(np.isfinite(S).all(axis=1, keepdims=True), S + biases, 0.0)


def _first_trusted(first_round: Array, labels: Array, number: int) -> Array:
    trusted = labels.max(axis=1) >= TRUSTED
    return np.where((first_round == 0) & trusted, number, first_round)


def _purity_and_drift(
    start: Array, end: Array, first: Array, last: Array, temperature: float
) -> tuple[Array, Array]:
    S = end + last
    changed = S.argmax(axis=1) != (start + first).argmax(axis=1)
    return softmax(S / temperature, axis=1).max(axis=1).sum(), changed.sum()


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

"""SelfPacedPrototypes: prototypes that semantics predict and the pool corrects."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar

import numpy as np

from unseen.advice import Advice
from unseen.citation import Citation
from unseen.exceptions import AdaptationWarning
from unseen.rows import kernels
from unseen.rows.labelled import Rows
from unseen.rows.passes import constant, kept, mapped, spread, summed
from unseen.statistics.adaptation import (
    EVEN_TIE,
    MIXED_SMOOTHING,
    ROUNDS,
    TRUSTED,
    Assignment,
    Plan,
    State,
    inductive_answer,
    transduce,
)
from unseen.statistics.review import REHEARSALS, Review, review_pool
from unseen.statistics.seen_model import Answer, Task
from unseen.statistics.unnamed import transduce_among_strangers
from unseen.transductive._pool import Compress, Split
from unseen.transductive._strangers import StrangerAnswers
from unseen.transductive.prototype_classifier import (
    PrototypeClassifier,
    PrototypeRound,
    read_shares,
)
from unseen.transductive.rounds import show_round
from unseen.typing import Array, CandidateClasses, ClassShares, RowValues


class SelfPacedPrototypes(StrangerAnswers, PrototypeClassifier):
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
        finds the pool even, and where seen and unseen classes are candidates together. None: classes
        are taken to be alike, and nothing is imposed.
    rounds : int
        Rounds at most; 0 is the inductive answer. Another domain takes up to 8 more, strangers up to 3.
    shrinkage : float in [0, 1] or "auto"
        How far the covariance that whitens in the rounds is shrunk; "auto": 0.2 to 0.5, more
        with fewer labelled rows.
    normalise : {"auto", "none", "unit", "root"}
        Rows as they are, at unit length, or as signed square roots at unit length. "auto": as they are
        with fewer than 64 columns, else roots of features that are hardly ever negative, and unit
        length of others.
    rehearsals : int
        How many; 0 reviews nothing, and class shares are learned.
    strangers : None, "auto" or float
        Whether rows of the pool may belong to no candidate; see :class:`~unseen.NoneOfThese`. "auto"
        calls few rows so, a number that share of the pool.
    unknown : label, optional
        The answer for strangers; None: "unknown", or -1 where classes are integers.

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
    stranger_proba_ : array of shape (N,)
        With ``strangers``: the probability of each row of X to belong to no candidate.
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

    citation = Citation("The unseen developers", "Self-paced prototypes", "unseen", 2026)

    advice = Advice(
        cost=(
            "one p × p eigenproblem, two passes over the pool in each of eight rounds, and six "
            "rehearsals on seen classes"
        ),
        take=(
            "you have the rows to be recognised: the flagship, the most accurate over all data sets "
            "here, in memory, in chunks or on a cluster"
        ),
        leave=(
            "there are fewer than about five rows of each class in the pool and features are weak, "
            "or each row must be answered alone: take ASTE"
        ),
    )

    takes_known = True
    takes_chunks = True
    without_pool: ClassVar[Mapping[str, object]] = {"rounds": 0, "rehearsals": 0}
    _whole: ClassVar[tuple[str, ...]] = ("rounds", "rehearsals")

    shares_: Array | None
    alarms_: dict[str, str]
    diagnostics_: dict[str, float]
    review_: Review | None
    start_objective_: float

    def __init__(
        self,
        semantics: object = None,
        candidates: CandidateClasses = "unseen",
        class_prior: str | ClassShares | None = "auto",
        rounds: int = ROUNDS,
        shrinkage: float | str = "auto",
        normalise: str = "auto",
        rehearsals: int = REHEARSALS,
        strangers: str | float | None = None,
        unknown: object = None,
    ) -> None:
        super().__init__(semantics, candidates)
        self.class_prior = class_prior
        self.rounds = rounds
        self.shrinkage = shrinkage
        self.normalise = normalise
        self.rehearsals = rehearsals
        self.strangers = strangers
        self.unknown = unknown

    def _fit_split(self, split: Split, compress: Compress | None) -> RowValues:
        plan, shrinkage = self._plan(split.candidates), self._shrinkage()
        self.alarms_, self.diagnostics_, self.review_, self.name_doubt_ = {}, {}, None, 0.0
        self.history_, self.shares_, self.start_objective_ = [], None, float("nan")
        self.strangers_ = None
        learns = len(split.pool) > 0 and len(split.own) > 1 and self.rounds > 0
        if learns:  # reviewed first: its sample and p × p matrices need not be in memory at once
            plan = self._reviewed(plan, split)
        task = self._task(split, shrinkage)
        if learns:
            return self._adapt(split, task, plan)
        self._keep(split, inductive_answer(task))
        self._calibrate(split.rows, split.seen)
        return constant(split.pool, 0)

    def _task(self, split: Split, shrinkage: float | None) -> Task:
        """Return what the pool is to be labelled with."""
        described = split.seen if split.described else None
        classes = len(split.seen), described, split.vectors, split.own
        return Task(split.rows, self._scaling(split.rows.X), shrinkage, *classes, split.known)

    def _adapt(self, split: Split, task: Task, plan: Plan) -> RowValues:
        """Run the rounds; return the one that first trusted each row of the pool."""
        among_strangers = self.strangers is not None and self.review_ is not None
        run = transduce_among_strangers if among_strangers else transduce
        stages = run(task, split.pool, plan)
        stage = next(stages)
        start, first_round = stage.state.assignment, constant(split.pool, 0)
        self.start_objective_ = stage.state.step.objective
        _show(split, 0, start)
        for number, stage in enumerate(stages, start=1):
            state = stage.state
            _show(split, number, state.assignment)
            self.history_.append(PrototypeRound.of(number, state.step, *state.assignment.scores.shape))
            surest = mapped(np.max, state.assignment.labels, given=(1,))
            trusted = mapped(np.greater_equal, surest, given=(TRUSTED,))
            first_round = kept(mapped(kernels.first_time, first_round, trusted, given=(number,)))
        stage = stage._replace(pool=replace(stage.pool, X=np.empty((0, 1))))  # they take memory
        self.shares_ = stage.state.shares
        self._keep(split, stage.answer())
        self._calibrate(split.rows, split.seen, self._temperature(stage.state.assignment))
        self._diagnose(start, stage.state)
        return first_round

    def _rehearse(self, rows: Rows, pool: RowValues | None = None) -> None:
        if self.review_ is None:
            super()._rehearse(rows, pool)
            return
        self.set_masses_ = self.review_.masses
        self.calibration_ = f"{len(self.review_.start)} rehearsals: held-out seen classes as the pool"

    def _settings_to_rehearse(self, rows: float, classes: float) -> Mapping[str, object]:
        return {"rehearsals": 0, "strangers": None}

    def _can_rehearse(self) -> bool:
        return self.rehearsals > 0 and super()._can_rehearse()

    def _temperature(self, end: Assignment) -> float | None:
        """Return the temperature that rehearsals gave, in the units of the pool's scores."""
        if self.review_ is None:
            return None
        scores = mapped(kernels.unclamped, end.scores, given=(end.biases,))
        return self.review_.temperature * spread(scores)

    def _plan(self, candidates: Array) -> Plan:
        """Return how rounds are run, before any review."""
        if self.shrinkage is None:
            self._refuse("shrinkage", "'auto' or a number in [0, 1]")
        asked, equal = self.class_prior, np.full(len(candidates), 1 / len(candidates))
        if isinstance(asked, Mapping):
            return Plan(read_shares(asked, candidates), rounds=self.rounds)
        if isinstance(asked, str) and asked == "uniform":
            return Plan(equal, EVEN_TIE, rounds=self.rounds)
        if asked is None or (isinstance(asked, str) and asked in ("auto", "estimated")):
            return Plan(learn_shares=asked is not None, rounds=self.rounds)
        self._refuse("class_prior", "'auto', 'uniform', 'estimated', None or a mapping")

    def _fits_without_called(self) -> bool:
        return self.review_ is None  # else the rounds have left strangers to other classes

    def _reviewed(self, plan: Plan, split: Split) -> Plan:
        """Review the pool, if its class shares are free and all candidates are unseen.

        Beside seen candidates, nearly equal shares are learned. Where strangers may be in the pool,
        shares are imposed halfway only: candidates would take rows of strangers to meet them.
        """
        auto = isinstance(self.class_prior, str) and self.class_prior == "auto"
        seen = split.own >= 0
        if auto and seen.any() and not seen.all():
            return plan._replace(smoothing=MIXED_SMOOTHING)
        if auto and split.reviewable:
            classes, halfway = (split.seen, split.vectors), self.strangers is not None
            self.review_ = review_pool(
                split.rows, split.pool, *classes, self.rehearsals, calibrates=True, halfway=halfway
            )
        if self.review_ is None:
            return plan
        self.alarms_, self.name_doubt_ = self.review_.alarms, self.review_.doubt
        for alarm in self.alarms_.values():
            warnings.warn(alarm, AdaptationWarning, stacklevel=5)
        return self.review_.plan(plan)

    def _keep(self, split: Split, answer: Answer) -> None:
        """Keep what scores are computed from."""
        self._space, self._map = answer.space, answer.map
        self._keep_classes(split.seen, split.vectors, answer.seen_points)
        self.points_, self._offsets = answer.points, answer.offsets

    def _diagnose(self, start: Assignment, state: State) -> None:
        end, rows = state.assignment, len(state.assignment.scores)
        given = start.biases, end.biases, self.temperature_
        purity, drift = summed(kernels.purity_and_drift, start.scores, end.scores, given=given)
        self.diagnostics_ = {
            "expected_purity": float(purity) / rows,
            "coverage": float((state.totals[0] >= 0.5).mean()),
            "drift": float(drift) / rows,
            "error_scale": state.step.error_scale,
        }


def _show(split: Split, number: int, assignment: Assignment) -> None:
    if split.observer is not None:
        show_round(split.observer, number, assignment.labels)

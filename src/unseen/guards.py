"""What every estimator refuses: input from which nothing can be learnt, and answers that are none."""

from __future__ import annotations

import sys
import warnings
from types import FrameType, TracebackType
from typing import Any, NoReturn

import numpy as np
from sklearn.utils.validation import check_array

from unseen.exceptions import NonFiniteScores
from unseen.semantics import ClassTable, place_among
from unseen.typing import Array, Codes

KEPT_STATE = {"_metadata_request", "_sklearn_output_config"}
"""Private attributes that scikit-learn's setters make, not ``fit``."""

RANGE_EXPONENT = 0.375
"""Numbers may be as large as max**0.375 of their type, 4e115 or 3e14, and as small as tiny**0.375: sums
of their squares then neither overflow nor vanish."""

SCORER_MODULE, SCORER_FRAMES = "sklearn.metrics._scorer", 12
"""Where scikit-learn's scorers are, and how many frames above an estimator they are looked for."""


class WholeFit:
    """The context of a ``fit``: it ends well, or the estimator is left unfitted.

    An exception, also KeyboardInterrupt, deletes all that this and earlier fits have learnt, so that no
    mixture of two models answers. Failures of linear algebra get a remedy.
    """

    def __init__(self, estimator: Any) -> None:
        self._estimator = estimator

    def __enter__(self) -> None:
        """Begin to fit; what was learnt before stays until something fails."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Forget all if there was an error, or if no probability can be computed."""
        temperature = getattr(self._estimator, "temperature_", 1.0)
        if error is None and 0 < temperature < np.inf:
            return
        _forget(self._estimator)
        if error is None or _is_numerical(error):
            _refuse_numbers(type(self._estimator).__name__, error or f"temperature {temperature}")


def _forget(estimator: Any) -> None:
    """Delete the attributes that ``fit`` has set: those with a leading or a trailing underscore."""
    kept = KEPT_STATE | set(estimator.get_params(deep=False))
    for name in [n for n in vars(estimator) if n not in kept and (n[0] == "_" or n[-1] == "_")]:
        delattr(estimator, name)


def _is_numerical(error: BaseException) -> bool:
    """Tell whether an error says that numbers got out of hand, and nothing that a user can act on."""
    if isinstance(error, (np.linalg.LinAlgError, ArithmeticError)):
        return True
    return isinstance(error, ValueError) and "must not contain infs or NaNs" in str(error)


def _refuse_numbers(owner: str, reason: object) -> NoReturn:
    raise ValueError(
        f"{owner} cannot learn from these numbers ({reason}): rows or class vectors are too large, too "
        "small or too much alike. Standardise X, for example with "
        "sklearn.preprocessing.StandardScaler, and check that classes have different vectors."
    ) from (reason if isinstance(reason, BaseException) else None)


def refuse_few_classes(classes: Array, width: int, semantics: object, owner: str) -> NoReturn:
    """Say that labelled rows of two classes are needed, and what to do where there are none."""
    remedy = "Label rows of another class."
    if semantics is not None and ClassTable.of(semantics).vectors.shape[1] == width:
        remedy = (
            "Label rows of another class; or, if rows and class vectors are embeddings in one space, "
            "fit SharedSpacePrototypes, which needs no labelled row."
        )
    raise ValueError(
        f"{owner} needs labelled rows of at least two classes. Got {len(classes)} class: "
        f"{classes.tolist()}. {remedy}"
    )


def check_learnable(X: Any, codes: Any, classes: Array, table: ClassTable, estimator: Any) -> None:
    """Refuse rows, labels and class vectors from which an estimator cannot learn."""
    owner = type(estimator).__name__
    _check_label_type(classes, table)
    vectors = table.vectors[table.positions(classes)]
    if estimator.needs_labelled_rows:
        _refuse_alike(X, codes, vectors, owner)
    _check_range(table.vectors, owner, "semantics", table.classes)
    if isinstance(X, np.ndarray):  # chunks are judged by their scores
        _check_range(X, owner, "X")


def _refuse_alike(X: Any, codes: Any, vectors: Array, owner: str) -> None:
    labelled = np.flatnonzero(codes >= 0 if isinstance(X, np.ndarray) else [])
    if len(labelled) > 1 and _all_alike(X, labelled):
        raise ValueError(
            f"X is constant: all {len(labelled)} labelled rows are the same, so {owner} can learn "
            "nothing from them. Check how the features were computed."
        )
    if len(vectors) > 1 and _all_alike(vectors, np.arange(len(vectors))):
        zero = " (zero)" if not vectors.any() else ""
        raise ValueError(
            f"semantics gives the same vector{zero} to all {len(vectors)} seen classes, so {owner} "
            "cannot tell them apart. Check how the vectors were computed."
        )


def _check_range(values: Array, owner: str, name: str, classes: Array | None = None) -> None:
    """Refuse numbers whose squares overflow or vanish."""
    limits = np.finfo(values.dtype)
    least, most = (float(v) ** RANGE_EXPONENT for v in (limits.tiny, limits.max))
    with np.errstate(all="ignore"):
        squares = float(np.einsum("ij,ij->", values, values))
    if least**2 <= squares <= most**2:  # one pass; else the largest number decides
        return
    largest = float(max(values.max(), -values.min()))
    if largest == 0 or least <= largest <= most:
        return
    much = "large" if largest > most else "small"
    row = int(np.flatnonzero((np.abs(values) == largest).any(axis=1))[0])
    where = f"row {row}" if classes is None else f"class {classes[row]!s}"
    raise ValueError(
        f"The numbers of {name} are too {much} for {owner}: the largest is {largest:.2g} ({where}), of "
        f"type {values.dtype}, and should lie between {least:.0e} and {most:.0e}. Check the units of "
        f"{where}; if they are right, scale {name}, for example to unit length."
    )


def _all_alike(values: Array, rows: Codes) -> bool:
    """Tell whether these rows are the same; of most arrays two rows say no."""
    first, second = values[rows[0]], values[rows[1]]
    return bool((first == second).all() and (values[rows] == first).all())


def _check_label_type(classes: Array, table: ClassTable) -> None:
    """Refuse labels of another type than the classes of semantics: none of them could be found."""
    kinds = ["strings" if a.dtype.kind in "US" else "integers" for a in (classes, table.classes)]
    if len(classes) and kinds[0] != kinds[1]:
        raise ValueError(
            f"y holds {kinds[0]} ({some_labels(classes)}), but the classes of semantics are {kinds[1]} "
            f"({some_labels(table.classes)}). Name the classes alike in both."
        )


def check_width(vectors: Array, width: int, owner: str) -> None:
    """Refuse semantics of another width than those that ``fit`` used."""
    if vectors.shape[1] != width:
        raise ValueError(
            f"semantics now has {vectors.shape[1]} columns, but {owner} was fitted with {width}. Give "
            "vectors of the same kind, or fit again."
        )


def candidate_codes(classes: Array, candidates: Array, wanted: object, owner: str) -> Codes:
    """Return the place of each candidate among the classes of y, -1 if it is not there.

    Where no class of y is a candidate, every answer would be wrong: that is refused.
    """
    codes = place_among(candidates, classes)
    if not len(classes):
        raise ValueError("y holds no label, so there is nothing to score. Give true labels.")
    others = np.delete(classes, codes[codes >= 0])
    asked = f"candidates={wanted!r}" if isinstance(wanted, str) else "a list of candidates"
    remedy = (
        "To score rows of seen classes, set candidates='seen' or 'all'. In cross-validation hold out "
        "whole classes: among_held_out(estimator, y) with cv=ClassWiseKFold(), or ClassWiseSearch, of "
        "unseen.model_selection."
    )
    if len(others) == len(classes):
        raise ValueError(
            f"None of the {len(classes)} class(es) of y is a candidate, so every answer would be "
            f"wrong: y holds {some_labels(classes)}, and {owner} answers among "
            f"{some_labels(candidates)} ({asked}). {remedy}"
        )
    if len(others):
        warnings.warn(
            f"{len(others)} of the {len(classes)} classes of y are no candidates of {owner} ({asked}), "
            f"and their rows count as wrong: {some_labels(others)}. {remedy}",
            UserWarning,
            stacklevel=3,
        )
    return codes


def check_scikit_learn_scorer(candidates: Array, wanted: object, owner: str) -> None:
    """Refuse to answer a scorer of scikit-learn none of whose true labels is a candidate.

    A scorer such as "accuracy" calls ``predict`` and compares the answer with labels that it does not
    pass on, and all answers would be wrong. The labels are read from the scorer's own frame. Where
    scikit-learn has other names for its parts, nothing is found and nothing is refused.
    """
    frame: FrameType | None = sys._getframe(1)
    for _ in range(SCORER_FRAMES):
        if frame is None or frame.f_globals.get("__name__") == SCORER_MODULE:
            break
        frame = frame.f_back
    else:
        return
    while frame is not None and frame.f_globals.get("__name__") == SCORER_MODULE:
        if "y_true" in frame.f_locals:
            labels = np.asarray(frame.f_locals["y_true"])
            if labels.dtype.kind == "f":  # integers that a missing value turned into floats
                labels = labels[np.isfinite(labels)].astype(np.int64)
            labels = np.unique(labels.astype(str))
            if len(labels) and not np.isin(labels, candidates.astype(str)).any():
                candidate_codes(labels, candidates.astype(str), wanted, owner)
            return
        frame = frame.f_back


def finite_scores(scores: Array, X: Array, vectors: Array, owner: str, temperature: float) -> Array:
    """Return scores whose probabilities are numbers; raise where one is not."""
    if np.isfinite(scores).all() and (temperature >= 1 or _divisible(scores, temperature)):
        return scores
    with np.errstate(all="ignore"):
        wrong = np.flatnonzero(~np.isfinite(scores / temperature).all(axis=1))
    if not len(wrong):
        return scores
    check_array(X, dtype=None, estimator=owner, input_name="X")  # says what is wrong, if it is in X
    largest, of_classes = (float(np.abs(a).max()) for a in (X[wrong[0]], vectors))
    raise NonFiniteScores(
        f"{owner} has no finite score for {len(wrong)} of {len(X)} rows. The first is row {wrong[0]}; "
        f"its largest number is {largest:.2g}, that of the class vectors {of_classes:.2g}. Give rows "
        "and vectors in the units of those that fit saw; if they are, standardise X and fit again.",
        rows=wrong.tolist(),
    )


def _divisible(scores: Array, temperature: float) -> bool:
    limit = float(np.finfo(scores.dtype).max) * temperature
    return bool(len(scores) == 0 or max(scores.max(), -scores.min()) < limit)


def some_labels(labels: Array) -> str:
    """Return the first labels, for a message."""
    return ", ".join(repr(v) for v in labels[:3].tolist()) + (", …" if len(labels) > 3 else "")

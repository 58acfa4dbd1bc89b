"""What ``fit`` and ``predict`` are given: parameters, labels and rows, read and checked once."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from itertools import islice
from numbers import Integral, Real
from traceback import walk_stack
from typing import Any, ClassVar, NoReturn

import numpy as np
from sklearn.utils.validation import _check_sample_weight, check_array, column_or_1d, validate_data

from unseen import array_likes, refusals
from unseen.blas_threads import OneThread, is_small
from unseen.label_codes import NO_LABEL, coded_labels
from unseen.rows import kernels
from unseen.rows.chunk_checks import checked_chunks, checked_weights, coded_chunks
from unseen.rows.labelled import Rows
from unseen.rows.passes import aligned, chunked, in_chunks, kept, mapped, marked, summed
from unseen.semantics import ClassTable
from unseen.typing import Array, Classifier, Codes, RowValues

UNLABELLED = NO_LABEL
FLOATS = [np.float64, np.float32]

KEPT_STATE = {"_metadata_request", "_sklearn_output_config", "_parent_callback_ctx"}
"""Private attributes that scikit-learn makes, not ``fit``."""

RANGE_EXPONENT = 0.375
"""Numbers may be as large as max**0.375 of their type, 4e115 or 3e14, and as small as tiny**0.375: sums
of their squares then neither overflow nor vanish."""

SCORER_MODULE, SCORER_FRAMES = "sklearn.metrics._scorer", 20
"""Where scikit-learn's scorers are, and how many frames above an estimator they are looked for."""


class InputChecks:
    """How an estimator reads its parameters, and refuses what they must not be."""

    _whole: ClassVar[tuple[str, ...]] = ()
    """Parameters that are integers >= 0."""
    _not_negative: ClassVar[tuple[str, ...]] = ()
    """Parameters that are numbers >= 0."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.sparse = True  # rows are made dense, up to a limit
        return tags

    def _check_parameters(self) -> None:
        """Refuse parameters of another type or range than the class says."""
        for name in self._whole:
            value = getattr(self, name)
            if type(value) is bool or not isinstance(value, Integral) or int(value) < 0:
                self._refuse(name, "an integer >= 0")
        for name in self._not_negative:
            value = getattr(self, name)
            if not isinstance(value, Real) or not 0 <= float(value) < np.inf:
                self._refuse(name, "a number >= 0")

    def _number(self, name: str) -> float | None:
        """Return a parameter that was given by hand, or None for "auto"."""
        value = getattr(self, name)
        if isinstance(value, str) and value == "auto":
            return None
        if isinstance(value, Real) and 0 <= float(value) < np.inf:
            return float(value)
        self._refuse(name, "'auto' or a number >= 0")

    def _refuse(self, name: str, wanted: str) -> NoReturn:
        """Say what a parameter must be."""
        raise ValueError(
            f"The '{name}' parameter of {type(self).__name__} must be {wanted}. "
            f"Got {getattr(self, name)!r} instead."
        )


@contextmanager
def whole_fit(estimator: Classifier, X: object) -> Iterator[None]:
    """Fit to the end, or leave the estimator unfitted; on a small X, with one thread of BLAS.

    An exception, also KeyboardInterrupt, deletes all that this and earlier fits have learnt, so that no
    mixture of two models answers. Failures of linear algebra get a remedy.
    """
    try:
        with OneThread() if is_small(X) else nullcontext():
            yield
        temperature = getattr(estimator, "temperature_", 1.0)
        if not 0 < temperature < np.inf:  # no probability can be computed
            raise FloatingPointError(f"temperature {temperature}")
    except BaseException as error:
        kept_state = KEPT_STATE | set(estimator.get_params(deep=False))
        for name in [n for n in vars(estimator) if n not in kept_state]:
            if name[0] == "_" or name[-1] == "_":  # what fit has set
                delattr(estimator, name)
        numerical = isinstance(error, (np.linalg.LinAlgError, ArithmeticError))
        if numerical or (isinstance(error, ValueError) and "must not contain infs or" in str(error)):
            refusals.refuse_numbers(type(estimator).__name__, error)
        raise


def read_training(
    estimator: Any, X: Any, y: Any, sample_weight: Any, minus_one: bool, takes_chunks: bool
) -> tuple[Rows, Array]:
    """Return the rows, coded (-1: unlabelled), and the classes: those with a row that has a weight.

    ``minus_one``: -1 marks an unlabelled row. ``takes_chunks``: rows need not be in memory.
    """
    owner = type(estimator).__name__
    if y is None and not estimator.needs_labelled_rows:
        y = np.full(len(X), None, dtype=object)
    if y is None:
        raise ValueError(
            f"{owner} requires y to be passed, but the target y is None. Give labels; or, if there are "
            "none, and rows and class vectors are embeddings in one space, fit SharedSpacePrototypes."
        )
    chunks = chunked(X)
    if chunks is not None and not takes_chunks:
        if not isinstance(X, np.ndarray):
            refusals.refuse_chunks(owner)
        chunks = None  # a memory map is an array to those that need all rows at once
    if chunks is not None:
        X = checked_chunks(chunks, None, owner)
        estimator.n_features_in_ = X.shape[1]
    else:
        frame = X
        if type(X) is not np.ndarray or X.ndim == 1:
            array_likes.warn_of_other_order(X, y, stacklevel=5)
            X = array_likes.readable_features(X, owner, note=True)
        X = validate_data(estimator, X, dtype=FLOATS, ensure_all_finite=False)
        if not all_finite(X):
            check_array(X, dtype=None, estimator=estimator, input_name="X")  # says what is wrong
    classes, codes = read_labels(aligned(X, y, "y"), minus_one)
    if chunks is None and type(frame) is not np.ndarray:
        array_likes.warn_of_label_columns(frame, X, classes, codes)
    if sample_weight is None:
        return Rows(X, codes), classes
    if chunks is not None:
        weights = aligned(X, sample_weight, "sample_weight")
        weights = kept(mapped(checked_weights, weights, given=(X.dtype,)))
    else:
        weights = _check_sample_weight(sample_weight, X, dtype=X.dtype, ensure_non_negative=True)
    (heavy,) = summed(_heavy, codes, weights, given=(len(classes),))
    used = np.flatnonzero(heavy)
    recode = np.full(len(classes) + 1, UNLABELLED)
    recode[used] = np.arange(len(used))
    return Rows(X, kept(mapped(kernels.at, codes, given=(recode,))), weights), classes[used]


def _heavy(codes: Codes, weights: Array, classes: int) -> tuple[Array]:
    """Return how many labelled rows of each class have a weight."""
    return (np.bincount(codes[(weights > 0) & (codes != UNLABELLED)], minlength=classes),)


def read_rows(estimator: Any, X: Any, finite: bool = True) -> Any:
    """Validate the rows that a fitted estimator is asked about; of chunks, as they are read."""
    chunks = chunked(X)
    if chunks is not None:
        return checked_chunks(chunks, estimator.n_features_in_, type(estimator).__name__)
    if type(X) is not np.ndarray or X.ndim == 1:
        X = array_likes.readable_features(X, type(estimator).__name__)
    return validate_data(estimator, X, dtype=FLOATS, reset=False, ensure_all_finite=finite)


def all_finite(X: Array) -> bool:
    """Tell whether no value is NaN or infinite: the sum of a row would be, too.

    A product with ones runs on all cores. The sum of large finite numbers may be infinite, too.
    """
    with np.errstate(all="ignore"):
        return bool(np.isfinite(X @ np.ones(X.shape[1], dtype=X.dtype)).all())


def read_labels(y: object, minus_one: bool = True) -> tuple[Array, Any]:
    """Return the sorted classes of ``y``, and the code of each row (-1 where it has no label).

    A row is unlabelled when its label is -1 (integer labels) or None or NaN (any other). Without
    ``minus_one``, -1 is a class as any other. Labels in chunks have codes in chunks.

    >>> read_labels(np.array(["b", None, "a"], dtype=object))
    (array(['a', 'b'], dtype='<U1'), array([ 1, -1,  0]))
    """
    if in_chunks(y):
        return coded_chunks(y, coded_labels, minus_one)
    if type(y) is not np.ndarray or y.ndim != 1:
        y = array_likes.readable_labels(y)
    return coded_labels(column_or_1d(y, warn=True), minus_one)


def labelled_rows(X: Any, codes: Any, weights: Any) -> Rows:
    """Leave the unlabelled rows out; nothing is copied where the others stand together."""
    return Rows(X, codes, weights).take(marked(has_label(codes)))


def has_label(codes: RowValues) -> Any:
    """Mark the rows with a label."""
    return mapped(np.not_equal, codes, given=(UNLABELLED,))


def check_training(rows: Rows, classes: Array, table: ClassTable, labelled: bool, owner: str) -> None:
    """Refuse labels of another type than the classes of ``table``, and numbers that cannot be used.

    ``labelled``: the estimator needs labelled rows, and class vectors that differ.
    """
    if len(classes) and (classes.dtype.kind in "US") != (table.classes.dtype.kind in "US"):
        refusals.refuse_label_type(classes, table.classes)
    if labelled:
        check_differences(rows.X, rows.codes, table.vectors[table.positions(classes)], owner)
    check_range(table.vectors, owner, "semantics", table.classes)
    check_range(rows.X, owner, "X")


def check_differences(X: Any, codes: Any, vectors: Array, owner: str) -> None:
    """Refuse labelled rows that are all the same, and seen classes that all have one vector."""
    labelled = np.flatnonzero(codes >= 0 if isinstance(X, np.ndarray) else [])
    if len(labelled) > 1 and _all_alike(X, labelled):
        refusals.refuse_constant_rows(len(labelled), owner)
    if len(vectors) > 1 and _all_alike(vectors, np.arange(len(vectors))):
        refusals.refuse_constant_vectors(vectors, owner)


def _all_alike(values: Array, rows: Codes) -> bool:
    """Tell whether these rows are the same; of most arrays two rows say no."""
    first, second = values[rows[0]], values[rows[1]]
    return bool((first == second).all() and (values[rows] == first).all())


def check_range(values: RowValues, owner: str, name: str, classes: Array | None = None) -> None:
    """Refuse numbers whose squares overflow or vanish; rows in chunks are judged by their scores."""
    if not isinstance(values, np.ndarray):
        return
    kind = np.finfo(values.dtype)
    least, most = (float(v) ** RANGE_EXPONENT for v in (kind.tiny, kind.max))
    with np.errstate(all="ignore"):
        squares = float(np.einsum("ij,ij->", values, values))
    if least**2 <= squares <= most**2:  # one pass; else the largest number decides
        return
    largest = float(max(values.max(), -values.min()))
    if largest != 0 and not least <= largest <= most:
        refusals.refuse_range(values, (least, most), owner, name, classes)


def finite_scores(scores: Array, X: Array, vectors: Array, owner: str, temperature: float) -> Array:
    """Return scores whose probabilities are numbers; raise where one is not."""
    most = float(np.finfo(scores.dtype).max) * temperature
    if np.isfinite(scores).all() and (temperature >= 1 or np.abs(scores).max(initial=0) < most):
        return scores
    with np.errstate(all="ignore"):
        wrong = np.flatnonzero(~np.isfinite(scores / temperature).all(axis=1))
    if len(wrong):
        refusals.refuse_scores(wrong, X, vectors, owner)
    return scores


def check_scikit_learn_scorer(candidates: Array, wanted: object, owner: str) -> None:
    """Refuse to answer a scorer of scikit-learn none of whose true labels is a candidate.

    A scorer such as "accuracy" calls ``predict`` and compares the answer with labels that it does not
    pass on, and all answers would be wrong. The labels are read from the scorer's own frame, if it has
    the names that are known here; else nothing is refused.
    """
    stack = islice(walk_stack(sys._getframe(1)), SCORER_FRAMES)
    scorers = (f.f_locals for f, _ in stack if f.f_globals.get("__name__") == SCORER_MODULE)
    labels = next((np.asarray(names["y_true"]) for names in scorers if "y_true" in names), None)
    if labels is None or not len(labels):
        return
    if labels.dtype.kind == "f":  # integers that a missing value turned into floats
        labels = labels[np.isfinite(labels)].astype(np.int64)
    labels, named = np.unique(labels.astype(str)), candidates.astype(str)
    if len(labels) and not np.isin(labels, named).any():
        refusals.scored_codes(labels, named, wanted, owner)

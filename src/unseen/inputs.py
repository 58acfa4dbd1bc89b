"""The gate of every estimator: what it is given is read and checked once, and a failed fit is undone.

A fit on small matrices takes one thread of BLAS: its threads wait for each other at the end of every
product and keep their cores busy while they wait, so that beside other work a small fit takes ten times
as long with them as without.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from functools import cache
from itertools import islice
from numbers import Integral, Real
from traceback import walk_stack
from typing import Any, ClassVar, NoReturn

import numpy as np
from sklearn.utils.validation import check_array, check_consistent_length, validate_data
from threadpoolctl import ThreadpoolController

from unseen import array_likes, refusals
from unseen.rows.chunk_checks import checked_chunks, weighted
from unseen.rows.chunks import Chunks
from unseen.rows.labelled import Rows
from unseen.semantics import ClassTable, read_labels
from unseen.typing import Array, Classifier, Codes, RowValues

FLOATS = [np.float64, np.float32]

OPENERS: list[Callable[[object], Chunks | None]] = []
"""What turns an array that is not in memory into chunks; :mod:`unseen.scale` fills the list."""

KEPT_STATE = {"_metadata_request", "_sklearn_output_config", "_parent_callback_ctx"}
"""Private attributes that scikit-learn sets, not ``fit``."""

RANGE_EXPONENT = 0.375
"""Numbers may be as large as max**0.375 of their type, 4e115 or 3e14, and as small as tiny**0.375: sums
of their squares then neither overflow nor vanish."""

SCORER_MODULE, SCORER_FRAMES = "sklearn.metrics._scorer", 20
"""Where scikit-learn's scorers are, and how many frames above an estimator they are looked for."""

MOST_WORK_OF_ONE_THREAD = 2e9
"""Multiplications of X.T @ X, or of X @ X.T if that is smaller, up to which a fit takes one thread:
about a tenth of a second on one core."""

_one_thread_in_force = threading.Lock()
_controller = cache(ThreadpoolController)  # the search for libraries takes milliseconds


class InputChecks:
    """How an estimator reads its parameters, and refuses values out of range."""

    _whole: ClassVar[tuple[str, ...]] = ()
    """Parameters that are integers >= 0."""
    _not_negative: ClassVar[tuple[str, ...]] = ()
    """Parameters that are numbers >= 0."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.sparse = True  # sparse rows are converted to dense ones, up to a limit
        return tags

    def _check_parameters(self) -> None:
        """Refuse parameters whose type or range is not the one that the class declares."""
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

    def _share(self, name: str) -> float | None:
        """Return a parameter that is None or a share, a number in (0, 1]."""
        value = getattr(self, name)
        if value is None or (isinstance(value, Real) and 0 < float(value) <= 1):
            return None if value is None else float(value)
        self._refuse(name, "None or a number in (0, 1]")

    def _refuse(self, name: str, wanted: str) -> NoReturn:
        """Say what a parameter must be."""
        raise ValueError(
            f"The '{name}' parameter of {type(self).__name__} must be {wanted}. "
            f"Got {getattr(self, name)!r} instead."
        )


def read_training(
    estimator: Any, X: Any, y: object, sample_weight: object, minus_one: bool, takes_chunks: bool
) -> tuple[Rows, Array]:
    """Return the rows, coded (-1: unlabelled), and the classes: those with a row that has a weight.

    ``minus_one``: -1 marks an unlabelled row. ``takes_chunks``: rows need not be in memory.
    """
    owner = type(estimator).__name__
    if y is None and not estimator.needs_labelled_rows:
        y = np.full(len(X), None, dtype=object)
    if y is None:
        refusals.refuse_no_labels(owner)
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
        sample_weight = aligned(X, sample_weight, "sample_weight")
    return weighted(Rows(X, codes), sample_weight, classes)


def read_rows(estimator: Any, X: Any, finite: bool = True) -> Any:
    """Check the rows that a fitted estimator is asked about; chunks are checked as they are read."""
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


def chunked(X: RowValues) -> Chunks | None:
    """Return rows that are not in memory as chunks, None for any other input."""
    if type(X) in (np.ndarray, list):
        return None
    if isinstance(X, Chunks):
        return X
    return next((chunks for opener in OPENERS if (chunks := opener(X)) is not None), None)


def aligned(rows: RowValues, values: Any, name: str) -> Any:
    """Return labels or weights, one a row: of chunks in the same chunks, else as they were given."""
    if values is None:
        return None
    if not isinstance(rows, Chunks):
        check_consistent_length(rows, values)
        return values
    chunks = rows.like(values)
    if chunks.sizes != rows.sizes or len(chunks.shape) != 1:
        raise ValueError(
            f"X has {len(rows)} rows, but {name} has shape {chunks.shape}: give one entry a row of X."
        )
    return chunks


@contextmanager
def whole_fit(estimator: Classifier, X: object) -> Iterator[None]:
    """Fit to the end, or leave the estimator unfitted; on a small X, with one thread of BLAS.

    An exception, also KeyboardInterrupt, deletes all that this and earlier fits have learnt, so that no
    mixture of two models answers. Failures of linear algebra get a remedy.
    """
    try:
        with one_thread() if is_small(X) else nullcontext():
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


def check_label_type(classes: Array, table: ClassTable) -> None:
    """Refuse integer labels where the classes of the table are strings, and the other way round."""
    if len(classes) and (classes.dtype.kind in "US") != (table.classes.dtype.kind in "US"):
        refusals.refuse_label_type(classes, table.classes)


def check_training(rows: Rows, table: ClassTable, seen: Array | None, owner: str) -> None:
    """Refuse numbers whose sums or differences carry no information.

    ``seen`` are the vectors of the seen classes, where labelled rows are needed and so must differ.
    """
    if seen is not None and isinstance(rows.X, np.ndarray):
        labelled = np.flatnonzero(rows.codes >= 0)
        if len(labelled) > 1 and _all_alike(rows.X, labelled):
            refusals.refuse_constant_rows(len(labelled), owner)
    if seen is not None and len(seen) > 1 and _all_alike(seen, np.arange(len(seen))):
        refusals.refuse_constant_vectors(seen, owner)
    check_range(table.vectors, owner, "semantics", table.classes)
    check_range(rows.X, owner, "X")


def _all_alike(values: Array, rows: Codes) -> bool:
    """Tell whether these rows are the same; for most arrays, comparing two of them is enough."""
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
    if labels is not None and len(labels):
        refusals.refuse_foreign_labels(labels, candidates, wanted, owner)


def is_small(X: object) -> bool:
    """Tell whether the products of a fit on ``X`` are too small to be worth several threads.

    >>> import numpy as np
    >>> is_small(np.empty((5_000, 128))), is_small(np.empty((24_295, 4_096), dtype="f4"))
    (True, False)
    """
    shape: tuple[int, ...] = getattr(X, "shape", ())
    return len(shape) == 2 and shape[0] * shape[1] * min(shape) <= MOST_WORK_OF_ONE_THREAD


@contextmanager
def one_thread() -> Iterator[None]:
    """Work on small matrices: BLAS has one thread, in the whole process.

    Where contexts overlap, the first sets the limit and restores it, and the others do nothing: if
    each restored what it met, the last of several Python threads could leave a limit behind.
    """
    if not _one_thread_in_force.acquire(blocking=False):
        yield
        return
    try:
        with _controller().limit(limits=1, user_api="blas"):
            yield
    finally:
        _one_thread_in_force.release()

"""Guards around ``fit`` and ``predict``: what can go wrong is refused, or undone.

Numbers must be such that sums of their squares can be computed. A fit is whole, or leaves nothing
behind. On small matrices it takes one thread of BLAS: its threads wait for
each other at the end of every product and keep their cores busy while they wait, so that beside other
work a small fit takes ten times as long with them as without.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache
from itertools import islice
from traceback import walk_stack

import numpy as np
from threadpoolctl import ThreadpoolController

from unseen import refusals
from unseen.rows.labelled import Rows
from unseen.semantics import ClassTable
from unseen.typing import Array, Classifier, Codes, RowValues

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


def check_label_type(classes: Array, table: ClassTable) -> None:
    """Refuse integer labels where the classes of the table are strings, and the other way round."""
    if len(classes) and (classes.dtype.kind in "US") != (table.classes.dtype.kind in "US"):
        refusals.refuse_label_type(classes, table.classes)


def check_training(rows: Rows, table: ClassTable, seen: Array | None, owner: str) -> None:
    """Refuse numbers whose sums or differences carry no information.

    ``seen`` are the vectors of the seen classes, where labelled rows are needed and so must differ.
    """
    if seen is not None:
        check_differences(rows.X, rows.codes, seen, owner)
    check_range(table.vectors, owner, "semantics", table.classes)
    check_range(rows.X, owner, "X")


def check_differences(X: RowValues, codes: RowValues, vectors: Array, owner: str) -> None:
    """Refuse labelled rows that are all the same, and seen classes that all have one vector."""
    if isinstance(X, np.ndarray) and isinstance(codes, np.ndarray):
        labelled = np.flatnonzero(codes >= 0)
        if len(labelled) > 1 and _all_alike(X, labelled):
            refusals.refuse_constant_rows(len(labelled), owner)
    if len(vectors) > 1 and _all_alike(vectors, np.arange(len(vectors))):
        refusals.refuse_constant_vectors(vectors, owner)


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
    if labels is None or not len(labels):
        return
    if labels.dtype.kind == "f":  # integers that a missing value turned into floats
        labels = labels[np.isfinite(labels)].astype(np.int64)
    labels, named = np.unique(labels.astype(str)), candidates.astype(str)
    if len(labels) and not np.isin(labels, named).any():
        refusals.scored_codes(labels, named, wanted, owner)


def is_small(X: object) -> bool:
    """Tell whether the products of a fit on ``X`` are too small to be worth several threads.

    >>> import numpy as np
    >>> is_small(np.empty((5_000, 128))), is_small(np.empty((24_295, 4_096), dtype="f4"))
    (True, False)
    """
    shape: tuple[int, ...] = getattr(X, "shape", ())
    return len(shape) == 2 and shape[0] * shape[1] * min(shape) <= MOST_WORK_OF_ONE_THREAD


class OneThread:
    """The context of work on small matrices: BLAS has one thread, in the whole process.

    Where contexts overlap, the first sets the limit and restores it, and the others do nothing: if
    each restored what it met, the last of several Python threads could leave a limit behind.
    """

    _in_force = threading.Lock()

    def __init__(self) -> None:
        self._limit: AbstractContextManager[object] | None = None

    def __enter__(self) -> None:
        """Set the limit, unless it is in force already."""
        if OneThread._in_force.acquire(blocking=False):
            self._limit = _controller().limit(limits=1, user_api="blas")
            self._limit.__enter__()

    def __exit__(self, *error: object) -> None:
        """Restore what was there, if this context set the limit."""
        if self._limit is not None:
            self._limit.__exit__(None, None, None)
            self._limit = None
            OneThread._in_force.release()


@cache
def _controller() -> ThreadpoolController:
    """Find the libraries of linear algebra once: the search takes milliseconds."""
    return ThreadpoolController()

"""DataEnlargement: more labelled rows of other classes, around any estimator."""

from __future__ import annotations

from typing import Any

import numpy as np

from unseen.advice import Advice
from unseen.inductive.wrapping import WrappingClassifier
from unseen.rows.labelled import Rows
from unseen.typing import Array, CandidateClasses


class DataEnlargement(WrappingClassifier):
    """Fit an estimator on the given rows and on auxiliary rows of further classes.

    More categories make the map from features to semantics more general. The auxiliary classes are seen
    classes: they need vectors in ``semantics``, and none may be an unseen class of the problem.

    X. Xu, T. Hospedales and S. Gong, "Semantic embedding space for zero-shot action recognition", ICIP
    2015. Deviations: any estimator, where the original has a kernel regression; its self-training and
    hubness correction are other parts of this library.

    Parameters
    ----------
    estimator : inductive estimator of this library
        It is cloned, never fitted itself; ESZSL when none is given.
    semantics, candidates : optional
        As for every estimator; None means those of ``estimator``.
    auxiliary : pair (X, y), optional
        Rows of the same features, and their classes. None adds nothing.

    Attributes
    ----------
    estimator_ : estimator
    enlarged_classes_ : array
        All classes that it was trained on.

    Examples
    --------
    >>> from unseen import DataEnlargement, ESZSL
    >>> semantics = {"cat": [1, 0], "dog": [0, 1], "fox": [1, 1], "owl": [0, 0.1]}
    >>> X, y = [[1.0, 0.0], [0.9, 0.1], [0.0, 1.0], [0.1, 1.0]], ["cat", "cat", "dog", "dog"]
    >>> more = [[0.0, 0.1], [0.1, 0.0]], ["owl", "owl"]
    >>> model = DataEnlargement(ESZSL(semantics, ["fox"]), auxiliary=more).fit(X, y)
    >>> model.enlarged_classes_.tolist()
    ['cat', 'dog', 'owl']
    """

    advice = Advice(
        cost="that of what it wraps, on more rows",
        take="you have labelled rows of further classes, with class vectors of the same kind",
        leave="the further classes come from another domain",
    )

    enlarged_classes_: Array

    def __init__(
        self,
        estimator: Any = None,
        semantics: object = None,
        candidates: CandidateClasses = None,
        auxiliary: tuple[object, object] | None = None,
    ) -> None:
        super().__init__(semantics, candidates)
        self.estimator = estimator
        self.auxiliary = auxiliary

    def _learn(self, rows: Rows, held: Rows | None = None) -> DataEnlargement:
        classes, all_rows = self.seen_classes_, rows
        if self.auxiliary is not None:
            classes, all_rows = self._enlarged(rows)
        self.enlarged_classes_ = classes
        self._adopt(self._clone()._fit_rows(all_rows, classes, held))
        return self

    def _enlarged(self, rows: Rows) -> tuple[Array, Rows]:
        X, y = (np.asarray(part) for part in self.auxiliary or ((), ()))
        if X.ndim != 2 or X.shape[1] != rows.X.shape[1] or len(X) != len(y):
            raise ValueError(
                "The 'auxiliary' parameter of DataEnlargement must be rows of "
                f"{rows.X.shape[1]} features and as many classes. "
                f"Got shapes {X.shape} and {y.shape} instead."
            )
        classes = np.unique(np.concatenate([self.seen_classes_, y]))
        row_codes = np.searchsorted(classes, self.seen_classes_)[rows.codes]
        codes = np.concatenate([row_codes, np.searchsorted(classes, y)])
        weights = None
        if rows.weights is not None:
            weights = np.concatenate([rows.weights, np.ones(len(X), dtype=rows.weights.dtype)])
        return classes, Rows(np.concatenate([rows.X, X.astype(rows.X.dtype)]), codes, weights)

"""SJE: structured joint embedding."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import repeat
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_random_state

from unseen.inductive.bilinear import BilinearClassifier, in_own_span
from unseen.numerics.folds import Rows
from unseen.numerics.losses import structured_hinge
from unseen.numerics.sgd import descend, lipschitz, semantic_coordinates

Array = npt.NDArray[Any]


class SJE(BilinearClassifier):
    """A bilinear score learned with the structured hinge, by stochastic descent.

        min over V  Σₙ maxₖ [ margin·1(k ≠ yₙ) + xₙᵀVaₖ − xₙᵀVaᵧₙ ]

    There is no regulariser: few passes over the data, and the mean of all the iterates, take its place.

    Z. Akata, S. Reed, D. Walter, H. Lee and B. Schiele, "Evaluation of output embeddings for
    fine-grained image classification", CVPR 2015. Deviations: batches of rows instead of single
    rows; a constant step, divided by the curvature, with averaging (Polyak) instead of a tuned
    decreasing one; a start at zero, which makes the margin and the step one single scale.

    Parameters
    ----------
    semantics : mapping or DataFrame, class -> vector, optional
        A vector for every class, seen and unseen. None means one-hot.
    candidates : {"unseen", "seen", "all"} or list of classes
        Among which classes to predict. It may change after ``fit``.
    learning_rate : float
        In units of the inverse curvature of the loss, so that it does not depend on scale.
    margin : float
    epochs : int
        Passes over the data.
    batch_size : int
    random_state : int, RandomState or None

    Attributes
    ----------
    compatibility_ : array of shape (p, q)

    Examples
    --------
    >>> from unseen import SJE
    >>> semantics = {"cat": [1, 0], "dog": [0, 1], "fox": [1, 1]}
    >>> X = [[1.0, 0.0], [0.9, 0.1], [0.0, 1.0], [0.1, 1.0]]
    >>> model = SJE(semantics, random_state=0).fit(X, ["cat", "cat", "dog", "dog"])
    >>> model.set_params(candidates="seen").predict([[0.8, 0.1]])
    array(['cat'], dtype='<U3')
    """

    def __init__(
        self,
        semantics: object = None,
        candidates: str | Sequence[Any] | Array = "unseen",
        learning_rate: float = 1.0,
        margin: float = 1.0,
        epochs: int = 5,
        batch_size: int = 50,
        random_state: Any = None,
    ) -> None:
        super().__init__(semantics, candidates)
        self.learning_rate = learning_rate
        self.margin = margin
        self.epochs = epochs
        self.batch_size = batch_size
        self.random_state = random_state

    def _fit(self, rows: Rows, vectors: Array, held: Rows | None = None) -> None:
        seed = check_random_state(self.random_state).randint(np.iinfo(np.int32).max)
        (X, codes, weights), _, basis = in_own_span(rows, None)
        coordinates, E = semantic_coordinates(vectors.T)
        # Few rows (visual patterns) still get enough steps for the mean iterate to settle.
        steps = max(self.epochs * len(X) // self.batch_size, 50 * self.epochs)
        _, V = descend(
            X,
            codes,
            coordinates,
            partial(structured_hinge, margin=self.margin),
            np.zeros((X.shape[1], len(coordinates)), dtype=X.dtype),
            repeat(self.learning_rate / lipschitz(X, coordinates), steps),
            batch=self.batch_size,
            random=np.random.default_rng(seed),
            weights=weights,
        )
        V = V @ E.T
        self.compatibility_ = (V if basis is None else basis @ V).astype(rows.X.dtype)
        self._calibrate(rows, vectors)

    def _label_embedding(self, X: Any) -> Array:
        return self.predict_proba(X)

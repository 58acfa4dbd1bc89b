"""CosineZSL: the class whose text is nearest by cosine, the first answer of every encoder."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from unseen.advice import Advice
from unseen.citation import Citation
from unseen.transductive._pool import Compress, Split
from unseen.transductive._shared_space import SharedSpaceClassifier
from unseen.typing import Array, Codes


class CosineZSL(SharedSpaceClassifier):
    """The class with the largest cosine: softmax(τ·cos(x, t)).

    A. Radford et al., "Learning transferable visual models from natural language supervision", ICML
    2021, Section 3.1. It learns from no row, and is the baseline of all methods that need no label.

    Parameters
    ----------
    semantics : mapping or DataFrame, class -> vector or vectors
        Embeddings of the class texts, as wide as the rows.
    candidates : {"all", "unseen", "seen"} or list of classes
    scale : float or "auto"
        τ: 100 for CLIP (its ``logit_scale``), 20 for sentence encoders, which is "auto".

    Attributes
    ----------
    transduction_, start_ : arrays of N labels
        The same here.

    Examples
    --------
    >>> from unseen import CosineZSL
    >>> CosineZSL({"cat": [1.0, 0.0], "dog": [0.0, 1.0]}).fit([[0.9, 0.2], [0.1, 0.7]]).transduction_
    array(['cat', 'dog'], dtype='<U3')
    """

    advice = Advice(
        cost="one product of rows and class vectors",
        take=(
            "rows and class texts are embeddings of one model and each row must be answered alone; "
            "it is the baseline of all methods without labels"
        ),
        leave=(
            "a few hundred rows can be answered together: SharedSpacePrototypes gains on most of them"
        ),
    )

    citation: ClassVar[Citation | None] = Citation(
        "Radford et al.",
        "Learning transferable visual models from natural language supervision",
        "ICML",
        2021,
    )

    def _fit_split(self, split: Split, compress: Compress | None) -> Codes:
        self.history_ = []
        return np.zeros(len(split.pool), dtype=np.intp)

    def _scores(self, X: Array, vectors: Array) -> Array:
        return self._first_scores(X, vectors)

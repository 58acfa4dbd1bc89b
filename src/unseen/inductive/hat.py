"""HAT: hierarchical attribute transfer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.cluster import hierarchy
from scipy.spatial.distance import cdist

from unseen.advice import Advice
from unseen.citation import Citation
from unseen.inductive._tuning import Setting
from unseen.inductive.attribute_bank import AttributeClassifier, Groups
from unseen.inductive.bilinear import span_sums
from unseen.published import PAPER, UNVERIFIED, choices, holds, sets
from unseen.rows.labelled import Rows
from unseen.rows.passes import gram
from unseen.solvers.moments import Moments, Sums
from unseen.statistics.attributes import Bank, ridge_bank, signs
from unseen.typing import Array, CandidateClasses, Codes, Label

Node: TypeAlias = tuple[int, int, int, Codes, Sums]
"""Level, group, the group above, its classes and their sums."""
Prepared: TypeAlias = tuple[list[Node], Array | None, Array, Array, npt.DTypeLike]
"""What ``_prepare`` computes once, for all settings."""


class HAT(AttributeClassifier):
    """Attribute classifiers at every level of a class hierarchy; a class uses those of its ancestors.

        node g:  min over W, b  Σₙ κ(n, g) ‖tᵧₙ − Wᵀxₙ − b‖² + γ‖W‖²
        κ(n, g) = 1 for rows below node g, and κ for all others; all rows count alike at the root
        score of class k = Σₘ log p(aₘ = aₘₖ | x, path(k)) − log p(aₘ = aₘₖ)

    tₖ are the attributes of class k as −1 and +1. p(· | x, path) comes from the mean of the classifiers
    from the root to the lowest group of the class: "furry" of a whale is not that of a cat.

    Z. Al-Halah and R. Stiefelhagen, "How to transfer? Zero-shot object recognition via hierarchical
    transfer of semantic attributes", WACV 2015. Deviations:

    - The hierarchy is Ward's tree of the seen class vectors, cut into ``levels`` levels of 1,
      K^(1/levels) … groups, unless one is given; the original takes WordNet's.
    - A node also learns from rows outside of it, with the weight κ. Trained on its own rows alone, a
      node finds its own attributes in any row; measured on held-out seen classes, that was worse than
      ``DAP``.
    - The classifiers of a path are averaged; the original selects among them.
    - An unseen class goes to the group whose mean vector is nearest, level by level from the root.
    - Classifiers, thresholds and calibration as in ``DAP``; γ, and κ if it is "auto", on class-wise
      folds.

    Not verified: the original's rule for choosing among levels; only its abstract and opening were at
    hand.

    Parameters
    ----------
    semantics : mapping or DataFrame, class -> vector, optional
        A vector for every class, seen and unseen. None means one-hot.
    candidates : {"unseen", "seen", "all"} or list of classes
        Among which classes to predict. It may change after ``fit``.
    hierarchy : mapping child -> parent, optional
        The hierarchy of the seen classes, up to a root. An unseen class need not be in it.
    levels : int
        How many, with the root's. 1 is the flat model: ``DAP``.
    ridge : float or "auto"
        γ, in units of the variance of the features times the number of rows.
    outside : float or "auto"
        κ, the weight of rows outside of a node; 1 is the flat model again.

    Attributes
    ----------
    coefs_, intercepts_ : arrays of shape (G, p, q) and (G, q)
        For each lowest group, the mean of the classifiers on its path.
    group_means_ : array of shape (nodes, q)
        The mean class vector of every node below the root, level by level.
    group_levels_, group_parents_ : arrays of shape (nodes,)
        Their level, and the place of their parent among them (−1: the root).
    threshold_, slope_, offset_ : arrays of shape (q,)
        As in ``DAP``.
    ridge_, outside_ : float

    Examples
    --------
    >>> from unseen import HAT
    >>> semantics = {"cat": [1, 0], "dog": [0, 1], "fox": [1, 1]}
    >>> X = [[1.0, 0.0], [0.9, 0.1], [0.0, 1.0], [0.1, 1.0]]
    >>> model = HAT(semantics, candidates="all").fit(X, ["cat", "cat", "dog", "dog"])
    >>> model.predict([[0.8, 0.1]])
    array(['cat'], dtype='<U3')
    """

    published = choices(
        holds(
            PAPER,
            "Attribute classifiers at the nodes of a class hierarchy; the original has WordNet's, "
            "which ``hierarchy`` takes.",
        ),
        sets("outside", 0.0, UNVERIFIED, "A node learns from its own rows."),
        holds(UNVERIFIED, "The original selects among the levels of a path; here they are averaged."),
    )

    citation = Citation(
        "Al-Halah and Stiefelhagen",
        "How to transfer? Zero-shot object recognition via hierarchical transfer of semantic "
        "attributes",
        "WACV",
        2015,
    )

    advice = Advice(
        cost="one weighted ridge regression for each node of the class hierarchy",
        take="you know a class hierarchy that says more than the class vectors",
        leave="the hierarchy would come from the vectors: it adds nothing to DAP then",
    )

    coefs_: Array
    intercepts_: Array
    group_means_: Array
    group_levels_: Array
    group_parents_: Array

    def __init__(
        self,
        semantics: object = None,
        candidates: CandidateClasses = "unseen",
        hierarchy: Mapping[str, str] | Mapping[int, int] | None = None,
        levels: int = 2,
        ridge: float | str = "auto",
        outside: float | str = 0.3,
    ) -> None:
        super().__init__(semantics, candidates)
        self.hierarchy = hierarchy
        self.levels = levels
        self.ridge = ridge
        self.outside = outside

    @classmethod
    def search_space(cls) -> dict[str, tuple[float, ...]]:
        """Return the values of γ and κ that "auto" tries."""
        return {"ridge": (0.1, 1.0), "outside": (0.1, 0.3, 1.0)}

    def _partition(self, vectors: Array) -> Array:
        levels = max(1, int(self.levels))
        if self.hierarchy is None:
            return clustered_levels(vectors, levels)
        known = cdist(vectors, self._seen_vectors()).argmin(
            axis=1
        )  # in a fold, only some of the seen classes
        return given_levels(self.seen_classes_[known].tolist(), self.hierarchy, levels)

    def _prepare(self, rows: Rows, vectors: Array) -> Prepared:
        in_span, total, basis = span_sums(rows, len(vectors))
        partition = self._partition(vectors)
        nodes = [(0, 0, -1, np.arange(len(vectors)), total)]
        for level, groups in enumerate(partition[1:], start=1):
            for group in range(groups.max() + 1):
                members = np.flatnonzero(groups == group)
                inside = in_span.of_classes(members)
                moments = gram(inside.X, inside.weights)
                inner = replace(total, second=Moments.given(moments))
                nodes.append((level, group, int(partition[level - 1][members[0]]), members, inner))
        return nodes, basis, vectors, signs(vectors, self.threshold_), rows.X.dtype

    def _solve(self, prepared: Prepared, setting: Setting) -> None:
        nodes, basis, vectors, targets, dtype = prepared
        total = nodes[0][-1]
        paths: dict[tuple[int, int], Bank] = {}
        for level, group, above, members, inner in nodes:
            sums = _emphasised(total, inner, members, setting["outside"]) if level else total
            bank = ridge_bank(sums, targets, setting["ridge"])
            mean = bank if not level else _mixed(paths[level - 1, above], bank, 1 / (level + 1))
            paths[level, group] = mean
        lowest = [path for (level, _), path in paths.items() if level == nodes[-1][0]]
        coefs = [path.coef if basis is None else basis @ path.coef for path in lowest]
        self.coefs_ = np.array(coefs).astype(dtype)
        self.intercepts_ = np.array([path.intercept for path in lowest]).astype(dtype)
        below = [node for node in nodes if node[0] > 0]
        self.group_levels_ = np.array([node[0] for node in below], dtype=np.intp)
        place = {node[:2]: i for i, node in enumerate(below)}
        self.group_parents_ = np.array(
            [place.get((level - 1, above), -1) for level, _, above, *_ in below], dtype=np.intp
        )
        means = [vectors[node[3]].mean(axis=0) for node in below]
        self.group_means_ = np.array(means).reshape(len(below), vectors.shape[1])

    def _groups(self, X: Array, vectors: Array) -> Groups:
        where = self._placed(vectors)
        return [
            (Bank(self.coefs_[group], self.intercepts_[group])(X), np.flatnonzero(where == group))
            for group in np.unique(where)
        ]

    def _placed(self, vectors: Array) -> Array:
        """Return the lowest group of each class: the nearest, level by level from the root."""
        where = np.full(len(vectors), -1)
        if not len(self.group_means_):
            return np.zeros(len(vectors), dtype=np.intp)
        distance = cdist(vectors, self.group_means_)
        for level in range(1, int(self.group_levels_.max()) + 1):
            at_level = self.group_levels_ == level
            allowed = at_level & (self.group_parents_ == where[:, None])
            where = np.where(allowed, distance, np.inf).argmin(axis=1)
        return np.asarray(where - np.flatnonzero(at_level)[0])

    def _semantic_width(self) -> int:
        return len(self.threshold_)


def _emphasised(total: Sums, inner: Sums, members: Array, outside: float) -> Sums:
    """Return the sums in which rows of other classes than ``members`` weigh less."""
    weight = np.full(len(total.counts), outside)
    weight[members] = 1.0
    moments = outside * total.moments + (1 - outside) * inner.moments
    return replace(
        total, second=Moments.given(moments), labels=total.labels * weight, counts=total.counts * weight
    )


def _mixed(above: Bank, below: Bank, share: float) -> Bank:
    """Return the mean along a path, from the mean above and the node itself."""
    return Bank(
        (1 - share) * above.coef + share * below.coef,
        (1 - share) * above.intercept + share * below.intercept,
    )


def clustered_levels(vectors: Array, levels: int) -> Codes:
    """Cut Ward's tree of the class vectors into 1, K^(1/levels), K^(2/levels) … groups.

    Returns
    -------
    groups : array of shape (levels, K)
        The group of each class, level by level; each level refines the one above.

    Examples
    --------
    >>> clustered_levels(np.array([[0.0], [0.1], [5.0], [5.1]]), 2)
    array([[0, 0, 0, 0],
           [0, 0, 1, 1]])
    """
    classes = len(vectors)
    groups = np.zeros((levels, classes), dtype=np.intp)
    if classes < 3:
        return groups
    tree = hierarchy.linkage(vectors.astype(float), method="ward")
    for level in range(1, levels):
        count = max(2, round(classes ** (level / levels)))
        flat = hierarchy.fcluster(tree, count, criterion="maxclust")
        groups[level] = _in_order(flat)
    return groups


def given_levels(labels: Sequence[Label], parents: Mapping[Any, Label], levels: int) -> Codes:
    """Return the groups that ``parents`` (child → parent) makes of the classes, from the root down.

    A class that lies higher than a level stays in the group of the level above.

    Examples
    --------
    >>> tree = {"cat": "pet", "dog": "pet", "pet": "animal", "cow": "animal"}
    >>> given_levels(["cat", "cow", "dog"], tree, 2)
    array([[0, 0, 0],
           [0, 1, 0]])
    """
    chains = []
    for label in labels:
        chain = [label]
        while chain[-1] in parents:
            if parents[chain[-1]] in chain:
                raise ValueError(f"The hierarchy has a circle at {chain[-1]!r}. Break it.")
            chain.append(parents[chain[-1]])
        chains.append(chain[::-1])
    groups = np.zeros((levels, len(labels)), dtype=np.intp)
    for level in range(levels):
        names = [repr(chain[min(level, len(chain) - 1)]) for chain in chains]
        groups[level] = _in_order(np.unique(names, return_inverse=True)[1]) if level else 0
    return groups


def _in_order(groups: Array) -> Codes:
    """Number groups from 0 in the order of their first class."""
    _, first, inverse = np.unique(groups, return_index=True, return_inverse=True)
    return np.asarray(np.argsort(np.argsort(first))[inverse], dtype=np.intp)

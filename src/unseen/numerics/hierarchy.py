"""Trees over classes: nested partitions, from semantics or as given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.cluster import hierarchy

from unseen.numerics.rows import Codes

Array = npt.NDArray[Any]


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


def given_levels(labels: Sequence[Any], parents: Mapping[Any, Any], levels: int) -> Codes:
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
    found = np.zeros((levels, len(labels)), dtype=np.intp)
    for level in range(levels):
        names = [repr(chain[min(level, len(chain) - 1)]) for chain in chains]
        found[level] = _in_order(np.unique(names, return_inverse=True)[1]) if level else 0
    return found


def _in_order(groups: Array) -> Codes:
    """Number groups from 0 in the order of their first class."""
    _, first, inverse = np.unique(groups, return_index=True, return_inverse=True)
    return np.asarray(np.argsort(np.argsort(first))[inverse], dtype=np.intp)

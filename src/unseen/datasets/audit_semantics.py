"""The auditor's checks of the class vectors, and of whether they belong to their classes."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from unseen.datasets.audit_finding import Finding
from unseen.datasets.audit_statistics import Statistics, rank_of_own_class
from unseen.datasets.missing import missing_marks
from unseen.datasets.record import ZeroShotDataset
from unseen.typing import Array

#: Leave-one-class-out rank of a class's own vector (0.5 is chance; CUB 0.01, AwA 0.08) above
#: which the pairing is wrong, or doubtful; and how many seen classes make the test trustworthy.
WRONG, DOUBTFUL, ENOUGH, FEW = 0.35, 0.25, 20, 8


def class_order(dataset: ZeroShotDataset, statistics: Statistics) -> Iterator[Finding]:
    """Class vectors in another order than the classes."""
    trained, means = statistics.trained, statistics.means
    if len(trained) < FEW:
        yield Finding(
            "info",
            "semantics-order-untested",
            f"{len(trained)} seen classes are too few to test whether vectors fit their classes; "
            f"{FEW} are needed.",
            "A wrong order of the class vectors would go unnoticed.",
            "Compare a few vectors with their classes by eye.",
        )
        return
    vectors = dataset.semantics.vectors.astype(np.float64)
    rank = rank_of_own_class(means, vectors[trained])
    shifted = {s: rank_of_own_class(means, np.roll(vectors, -s, axis=0)[trained]) for s in (-1, 1)}
    step = min(shifted, key=lambda s: shifted[s])
    said = (
        f"When the mean features of a seen class are predicted from its vector, the class ranks at "
        f"{rank:.0%} (0% is perfect, 50% chance)"
    )
    if rank > 0.1 and shifted[step] < min(0.5 * rank, DOUBTFUL):
        yield Finding(
            "error",
            "labels-off-by-one",
            f"{said}; with the vector of the {'next' if step > 0 else 'previous'} class in the "
            f"table, at {shifted[step]:.0%}.",
            "Every class has its neighbour's vector; accuracy on unseen classes falls to chance.",
            "Labels count from 0 where 1 was assumed, or the other way round: shift them once.",
        )
    elif rank > DOUBTFUL:
        wrong = rank > WRONG and len(trained) >= ENOUGH
        yield Finding(
            "error" if wrong else "warning",
            "semantics-order",
            f"{said}.",
            "The vectors are in another order than the classes, or say little about the features; "
            "zero-shot accuracy is near chance.",
            "Pair vectors and classes by name. In xlsa17, 'att' and 'labels' follow "
            "allclasses_names, not the class id. If the pairing is right, get better features.",
        )


def constant_columns(dataset: ZeroShotDataset, _: Statistics) -> Iterator[Finding]:
    """Columns that are the same for every class."""
    vectors = dataset.semantics.vectors
    columns = np.flatnonzero(np.ptp(vectors, axis=0) <= 1e-12 * max(np.abs(vectors).max(), 1e-300))
    if len(columns):
        yield Finding(
            "warning",
            "constant-columns",
            f"{len(columns)} column(s) of the class vectors are constant: {_names(dataset, columns)}.",
            "They tell no class from another.",
            "Drop them.",
        )


def duplicate_columns(dataset: ZeroShotDataset, _: Statistics) -> Iterator[Finding]:
    """Columns that say the same thing."""
    vectors = dataset.semantics.vectors.astype(np.float64)
    centred = vectors - vectors.mean(axis=0)
    length = np.linalg.norm(centred, axis=0)
    used = np.flatnonzero(length > 1e-12 * max(float(length.max()), 1e-300))
    unit = centred[:, used] / length[used]
    first, second = np.nonzero(np.triu(np.abs(unit.T @ unit) > 0.9999, 1))
    if len(first):
        pairs = np.unique(used[np.concatenate([first, second])])
        yield Finding(
            "warning",
            "duplicate-columns",
            f"{len(first)} pair(s) of columns of the class vectors are all but equal: "
            f"{_names(dataset, pairs)}.",
            "What they say counts twice, and unregularised solvers become unstable.",
            "Keep one of each pair.",
        )


def identical_classes(dataset: ZeroShotDataset, _: Statistics) -> Iterator[Finding]:
    """Classes that have the same vector."""
    vectors, classes = dataset.semantics.vectors, dataset.semantics.classes
    same = np.unique(vectors, axis=0, return_inverse=True, return_counts=True)
    groups = [classes[same[1].ravel() == g] for g in np.flatnonzero(same[2] > 1)]
    unseen = set(dataset.unseen_classes.tolist())
    for group in groups:
        hits = unseen & set(group.tolist())
        yield Finding(
            "error" if hits else "warning",
            "identical-classes",
            f"These classes have the same vector: {', '.join(map(str, group.tolist()))}.",
            "No method can tell them apart" + ("; one of them is unseen." if hits else "."),
            "Add an attribute that differs, or merge the classes.",
        )


def empty_vectors(dataset: ZeroShotDataset, _: Statistics) -> Iterator[Finding]:
    """Class vectors that are zero, or that carry a mark for missing values."""
    vectors, classes = dataset.semantics.vectors, dataset.semantics.classes
    zero = classes[~vectors.any(axis=1)]
    if len(zero):
        yield Finding(
            "warning",
            "zero-vectors",
            f"{len(zero)} class vector(s) are zero: {', '.join(map(str, zero[:5].tolist()))}.",
            "The class is described by nothing, and a cosine with it is not defined.",
            "Describe the class, or leave it out.",
        )
    marks = missing_marks(vectors)
    if marks.any():
        rows, columns = np.nonzero(marks)
        yield Finding(
            "warning",
            "missing-mark",
            f"{len(rows)} value(s) of the class vectors are {vectors[marks][0]:.3g}, all others "
            f"at least 0: {classes[rows[0]]}, {_names(dataset, columns)}. It looks like a mark for "
            "missing values.",
            "The mark is read as a low value; it bends the vector of that class.",
            "Fill the values in: load_awa(missing='mean') does.",
        )


def _names(dataset: ZeroShotDataset, columns: Array, limit: int = 6) -> str:
    attributes = dataset.semantics.attributes
    names = [attributes[c] if attributes else f"column {c}" for c in columns.tolist()]
    more = f" and {len(names) - limit} more" if len(names) > limit else ""
    return ", ".join(names[:limit]) + more


SEMANTIC_CHECKS = (
    class_order,
    constant_columns,
    duplicate_columns,
    identical_classes,
    empty_vectors,
)

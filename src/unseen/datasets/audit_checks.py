"""The auditor's checks of the split, the labels and the features; one fault, one function."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations
from pathlib import PurePosixPath

import numpy as np

from unseen.datasets.audit_finding import Finding
from unseen.datasets.audit_semantics import SEMANTIC_CHECKS
from unseen.datasets.audit_statistics import Statistics
from unseen.datasets.benchmark_facts import Benchmark, benchmark_of, normal, split_name
from unseen.datasets.record import ZeroShotDataset
from unseen.datasets.splits import PARTS
from unseen.typing import Array

Check = Callable[[ZeroShotDataset, Statistics], Iterator[Finding]]


def some(names: Array | list[object], limit: int = 5) -> str:
    """List a few names, and say how many more there are."""
    texts = [str(n) for n in names]
    more = f" and {len(texts) - limit} more" if len(texts) > limit else ""
    return ", ".join(texts[:limit]) + more


def empty_parts(dataset: ZeroShotDataset, _: Statistics) -> Iterator[Finding]:
    """Nothing to train on, or nothing to test on."""
    for part in ("train", "test_unseen"):
        if len(getattr(dataset, part)) == 0:
            yield Finding(
                "error",
                "empty-part",
                f"{part} has no rows.",
                "There is no zero-shot result to measure.",
                "Check the split.",
            )


def row_overlap(dataset: ZeroShotDataset, _: Statistics) -> Iterator[Finding]:
    """The same row in two index sets, or twice in one."""
    for first, second in combinations(PARTS, 2):
        shared = np.intersect1d(getattr(dataset, first), getattr(dataset, second))
        if len(shared):
            yield Finding(
                "error",
                "row-overlap",
                f"{len(shared)} rows are in {first} and in {second}: {some(shared)}.",
                "A model is tested on what it was trained on; accuracy is too high.",
                "Take each row into one set only.",
            )
    for part in PARTS:
        index = getattr(dataset, part)
        repeated = len(index) - len(np.unique(index))
        if repeated:
            yield Finding(
                "warning",
                "row-repeated",
                f"{part} names {repeated} rows more than once.",
                "These rows weigh more than the others.",
                "Name each row once, unless the weight is meant.",
            )


def class_overlap(dataset: ZeroShotDataset, _: Statistics) -> Iterator[Finding]:
    """A class both trained on and tested as unseen; a test class nobody trained on."""
    seen, unseen = dataset.seen_classes, dataset.unseen_classes
    shared = np.intersect1d(seen, unseen)
    if len(shared):
        yield Finding(
            "error",
            "class-overlap",
            f"{len(shared)} class(es) are in train and in test_unseen: {some(shared)}.",
            "The test is not zero-shot; accuracy on unseen classes is too high.",
            "Remove the class from one side. If only a few rows are affected, the row indices may "
            "be off by one (MATLAB counts from 1).",
        )
    strangers = np.setdiff1d(np.unique(dataset.y[dataset.test_seen]), seen)
    if len(strangers):
        yield Finding(
            "error",
            "test-seen-not-trained",
            f"test_seen holds class(es) that train does not: {some(strangers)}.",
            "Accuracy on seen classes counts classes that nobody could learn.",
            "Move these rows to test_unseen, or train on their classes.",
        )


def benchmark_split(dataset: ZeroShotDataset, _: Statistics) -> Iterator[Finding]:
    """Which split of a known benchmark it is, and what a network trained on ImageNet knows of it."""
    benchmark = benchmark_of(dataset.semantics.classes.tolist())
    if benchmark is None:
        yield Finding(
            "info",
            "split-own",
            "The classes are those of no benchmark known here, so the split is your own.",
            "Numbers are comparable only with others on the same split.",
            "Publish the split with the numbers.",
        )
    else:
        yield _which_split(dataset, benchmark)
        yield from _imagenet_classes(dataset, benchmark)


def _which_split(dataset: ZeroShotDataset, benchmark: Benchmark) -> Finding:
    """Return whether it is PS, SS or another split."""
    split = split_name(benchmark, dataset.unseen_classes.tolist())
    sizes = tuple(len(getattr(dataset, part)) for part in PARTS)
    expected = benchmark.ps_rows.get(len(dataset.X))
    if split == "other":
        return Finding(
            "warning",
            "split-other",
            f"The unseen classes are neither {benchmark.name}'s proposed split (PS) nor, as far as "
            "it is known here, its standard split (SS).",
            "Numbers are not comparable with published ones.",
            "Load PS or SS, or say which split it is beside every number.",
        )
    if split == "PS" and sizes != expected:
        return Finding(
            "warning",
            "split-ps-rows",
            f"The unseen classes are {benchmark.name}'s PS, but the sets have {sizes} rows; "
            f"published are {expected or 'other totals'}.",
            "Numbers on seen classes (and so the harmonic mean) are not comparable.",
            "Take the rows of att_splits.mat, or say that the rows differ.",
        )
    return Finding(
        "info",
        f"split-{split.lower()}",
        f"This is {benchmark.name}'s {'proposed' if split == 'PS' else 'standard'} split ({split}).",
        "Numbers are comparable with published ones on the same split and features.",
        "Name the split and the features beside every number.",
    )


def _imagenet_classes(dataset: ZeroShotDataset, benchmark: Benchmark) -> Iterator[Finding]:
    """Yield unseen classes that a network trained on ImageNet's 1,000 classes has seen."""
    known = [c for c in dataset.unseen_classes.tolist() if normal(c) in benchmark.imagenet]
    if known:
        yield Finding(
            "warning",
            "imagenet-classes",
            f"{len(known)} of {len(dataset.unseen_classes)} unseen classes are by name among "
            f"ImageNet's 1,000: {some(known, 10)}.",
            "If the features come from a network trained on ImageNet, it has seen these classes "
            "with their labels, and accuracy is too high.",
            "Use the proposed split (PS), which avoids them, or features trained on other data.",
        )


def labels_and_folders(dataset: ZeroShotDataset, _: Statistics) -> Iterator[Finding]:
    """Labels that disagree with the folder that a picture lies in."""
    if dataset.images is None:
        return
    classes = {normal(c): i for i, c in enumerate(dataset.semantics.classes.tolist())}
    folders = [normal(PurePosixPath(i.replace("\\", "/")).parent.name) for i in dataset.images]
    of_folder = np.array([classes.get(f, -1) for f in folders])
    known = np.flatnonzero(of_folder >= 0)
    given = dataset.semantics.positions(dataset.y)
    wrong = known[of_folder[known] != given[known]]
    if len(known) < 0.5 * len(of_folder) or len(wrong) == 0:
        return
    shift, share = _common_shift(given[wrong] - of_folder[wrong], len(classes))
    first = wrong[0]
    example = f"row {first} is {dataset.y[first]}, its picture {dataset.images[first]}"
    if share > 0.9 and abs(shift) == 1 and len(wrong) > 0.5 * len(known):
        yield _off_by_one(f"{len(wrong)} labels are {shift:+d} class from their folders: {example}.")
        return
    yield Finding(
        "error",
        "labels-folders",
        f"{len(wrong)} of {len(known)} labels disagree with the folder of the picture: {example}.",
        "Rows are trained and tested under the wrong class.",
        "If nearly all disagree, the labels index another class order (xlsa17: that of "
        "allclasses_names, not the class id). If few do, correct them.",
    )


def _common_shift(differences: Array, classes: int) -> tuple[int, float]:
    wrapped = (differences + classes // 2) % classes - classes // 2
    values, counts = np.unique(wrapped, return_counts=True)
    return int(values[np.argmax(counts)]), float(counts.max() / counts.sum())


def _off_by_one(message: str) -> Finding:
    return Finding(
        "error",
        "labels-off-by-one",
        message,
        "Every row is trained and tested under its neighbour's name and vector; accuracy falls "
        "to about chance.",
        "MATLAB counts classes from 1 and Python from 0: subtract 1 once, not twice or never.",
    )


def not_finite(dataset: ZeroShotDataset, statistics: Statistics) -> Iterator[Finding]:
    """NaN or infinity among the features."""
    rows = statistics.not_finite
    if len(rows):
        yield Finding(
            "error",
            "not-finite",
            f"{len(rows)} rows of X hold NaN or infinity: {some(rows)}.",
            "Most solvers fail or return NaN for everything.",
            "Extract these rows again, or leave them out of the index sets.",
        )


def zero_rows(dataset: ZeroShotDataset, statistics: Statistics) -> Iterator[Finding]:
    """Rows of X that are zero throughout."""
    rows = np.flatnonzero(statistics.norms == 0)
    if len(rows):
        yield Finding(
            "warning",
            "zero-rows",
            f"{len(rows)} rows of X are zero throughout: {some(rows)}.",
            "They carry no evidence, and cannot be scaled to unit length.",
            "The picture was probably not read: extract these rows again, or leave them out.",
        )


def normalised_differently(dataset: ZeroShotDataset, statistics: Statistics) -> Iterator[Finding]:
    """Training and test rows on different scales."""
    lengths = {part: statistics.norms[getattr(dataset, part)] for part in PARTS}
    lengths = {part: v[np.isfinite(v) & (v > 0)] for part, v in lengths.items()}
    if len(lengths["train"]) < 2:
        return
    for part in PARTS[1:]:
        if len(lengths[part]) < 2:
            continue
        why = (
            _scale_fault(lengths["train"], lengths[part])
            or _sign_fault(statistics, part)
            or _centre_fault(statistics, part)
        )
        if why:
            yield Finding(
                "error",
                "normalised-differently",
                f"train and {part} are on different scales: {why}.",
                "A model learnt on one scale is applied to another; accuracy can fall to chance.",
                "Fit the scaling on train and apply the same to every row.",
            )


def _scale_fault(train: Array, test: Array) -> str | None:
    ratio = float(np.median(test) / np.median(train))
    unit = [float(v.std() / v.mean()) < 1e-3 for v in (train, test)]
    if not 0.5 <= ratio <= 2:
        return f"the median row length is {np.median(train):.3g} against {np.median(test):.3g}"
    if unit[0] != unit[1]:
        which = ("the first's", "the second's") if unit[0] else ("the second's", "the first's")
        return f"{which[0]} rows all have one length, {which[1]} do not"
    return None


def _sign_fault(statistics: Statistics, part: str) -> str | None:
    """Compare the signs: a network's rectified features are negative only once standardised."""
    train, test = statistics.negative["train"], statistics.negative[part]
    if min(train, test) == 0 and max(train, test) > 0.1:
        return f"{train:.0%} of the first's values are negative, but {test:.0%} of the second's"
    return None


def _centre_fault(statistics: Statistics, part: str) -> str | None:
    """Compare the column means: standardising one part alone moves its centre."""
    spread = statistics.spread["train"]
    used = spread > 1e-12
    if not used.any():
        return None
    gap = np.abs(statistics.mean[part] - statistics.mean["train"])[used] / spread[used]
    scale = float(np.median(statistics.spread[part][used] / spread[used]))
    if np.median(gap) > 2 or not 0.4 <= scale <= 2.5:
        return (
            f"the columns' means lie {np.median(gap):.2g} standard deviations apart and their "
            f"spread differs {scale:.2g}-fold"
        )
    return None


CHECKS: tuple[Check, ...] = (
    empty_parts,
    row_overlap,
    class_overlap,
    benchmark_split,
    labels_and_folders,
    not_finite,
    zero_rows,
    normalised_differently,
    *SEMANTIC_CHECKS,
)

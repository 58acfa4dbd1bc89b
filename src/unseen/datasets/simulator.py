"""Simulated data at the shape of the benchmarks, always labelled as simulated."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from unseen.datasets.record import ZeroShotDataset
from unseen.exceptions import DataError
from unseen.semantics import ClassTable
from unseen.typing import Array

_BLOCK = 2048
_NOISE = 1.0


@dataclass(frozen=True)
class Shape:
    """The shape of a benchmark, with VGG-19's 4,096 features."""

    seen_rows: int
    unseen_rows: int
    seen: int
    unseen: int
    attributes: int
    features: int = 4096


#: AwA: the paper's standard split. CUB: the proposed split's classes. aPY: aPascal 12,695 and
#: aYahoo 2,644 objects, as published (the paper's "2,644 images" is aYahoo alone). SUN: 20 a class.
SHAPES = {
    "AwA": Shape(24_295, 6_180, 40, 10, 85),
    "CUB": Shape(8_821, 2_967, 150, 50, 312),
    "aPY": Shape(12_695, 2_644, 20, 12, 64),
    "SUN": Shape(12_900, 1_440, 645, 72, 102),
}


@dataclass(frozen=True)
class Difficulty:
    """How hard a real data set is; the guide has the measurements that these follow."""

    within: float
    """Variance within classes, in units of the variance of their means."""
    decay: float
    """The i-th variance of a row about its class mean falls as i^-decay."""
    mean_decay: float
    """The same of class means, which lie in fewer directions."""
    foretold: float
    """The share of the variance of class means that is a linear function of the vectors."""
    size_deviation: float
    """Standard deviation of the logarithm of class sizes."""


_CUB = Difficulty(within=1.8, decay=0.7, mean_decay=1.6, foretold=0.72, size_deviation=0.1)
_AWA = Difficulty(within=11.0, decay=1.0, mean_decay=1.3, foretold=0.5, size_deviation=0.54)
REAL = {"CUB": _CUB, "SUN": _CUB, "AwA": _AWA, "aPY": _AWA}
"""Fitted to CUB (EfficientNet-Lite0) and AwA1 (original descriptors); SUN and aPY are assumed alike."""

LATENT = 256
"""Directions in which rows of a data set of real difficulty vary."""


def simulate(
    like: Literal["AwA", "CUB", "aPY", "SUN"] = "AwA",
    *,
    scale: float = 1.0,
    n_features: int | None = None,
    domain_shift: float = 0.3,
    label_noise: float = 0.0,
    held_out: float = 0.0,
    difficulty: Literal["easy", "real"] = "easy",
    random_state: int | np.random.Generator | None = None,
) -> ZeroShotDataset:
    """Simulate a zero-shot data set at the shape of a benchmark.

    Classes come in families, so that their vectors correlate; a class's mean feature is a linear
    function of its vector, which for unseen classes is bent by ``domain_shift``; features are
    rectified, as a network's are; class sizes differ about fourfold.

    Parameters
    ----------
    like : {"AwA", "CUB", "aPY", "SUN"}
        Whose rows, classes, attributes and features to imitate.
    scale : float
        Multiplies the rows (at least two a class stay); 1 is the true shape.
    n_features : int, optional
        Instead of 4,096.
    domain_shift : float
        How far the map from vectors to features differs for unseen classes: 0 not at all, 1 as
        much as it is large.
    label_noise : float
        The fraction of training rows whose class is replaced by another seen class.
    held_out : float
        The fraction of rows of seen classes that go to ``test_seen``.
    difficulty : {"easy", "real"}
        "easy": nearly every method is right on all rows, which is enough for times. "real": spectrum,
        variance within classes, class sizes and how far semantics foretell a mean follow CUB and AwA1,
        so that methods differ as they do there; features are then not rectified.
    random_state : int or Generator, optional

    Returns
    -------
    ZeroShotDataset
        ``X`` in float32, made block by block; name, features and provenance say "simulated".

    Examples
    --------
    >>> data = simulate("AwA", scale=0.02, n_features=64, random_state=0)
    >>> data.X.shape, len(data.seen_classes), len(data.unseen_classes)
    ((610, 64), 40, 10)
    >>> data.name
    'simulated AwA'
    """
    shape = _checked(like, scale, domain_shift, label_noise, held_out)
    rng = np.random.default_rng(random_state)
    classes = np.array([f"simulated_{i:03d}" for i in range(1, shape.seen + shape.unseen + 1)])
    unseen = np.zeros(len(classes), dtype=bool)
    unseen[rng.permutation(len(classes))[: shape.unseen]] = True
    vectors = _class_vectors(rng, len(classes), shape.attributes)
    if difficulty not in ("easy", "real"):
        raise DataError(f"difficulty must be 'easy' or 'real'. Got {difficulty!r} instead.")
    real = REAL[like] if difficulty == "real" else None
    labels = _labels(rng, unseen, shape, scale, 0.5 if real is None else real.size_deviation)
    width = n_features or shape.features
    if real is None:
        means = _class_means(rng, vectors, unseen, width, domain_shift)
        X = _rows(rng, means, labels)
    else:
        X = _real_rows(rng, vectors, unseen, labels, width, domain_shift, real)
    train, test_seen = _parts(rng, np.flatnonzero(~unseen[labels]), held_out)
    labels = _noisy(rng, labels, train, np.flatnonzero(~unseen), label_noise)
    knobs = f"scale={scale}, domain_shift={domain_shift}, label_noise={label_noise}"
    knobs += f", difficulty={difficulty}" if real is not None else ""
    return ZeroShotDataset(
        X=X,
        y=classes[labels],
        semantics=ClassTable(classes, vectors),
        train=train,
        test_seen=test_seen,
        test_unseen=np.flatnonzero(np.isin(labels, np.flatnonzero(unseen))),
        name=f"simulated {like}",
        features="simulated features",
        provenance=f"simulated like {like}: {knobs}, random_state={random_state!r}",
    )


def _checked(like: str, scale: float, shift: float, noise: float, held_out: float) -> Shape:
    if like not in SHAPES:
        raise DataError(f"like must be one of {', '.join(SHAPES)}. Got {like!r} instead.")
    for name, value, top in (
        ("scale", scale, 1e3),
        ("domain_shift", shift, 1e3),
        ("label_noise", noise, 1),
        ("held_out", held_out, 0.9),
    ):
        if not 0 <= value <= top or (name == "scale" and value == 0):
            raise DataError(f"{name} must lie between 0 and {top}. Got {value!r} instead.")
    return SHAPES[like]


def _class_vectors(rng: np.random.Generator, classes: int, attributes: int) -> Array:
    """Return vectors in [0, 1] that resemble each other within families of about five classes."""
    families = max(2, classes // 5)
    rank = max(4, min(attributes, classes) // 2)
    latent = rng.standard_normal((families, rank))[rng.integers(families, size=classes)]
    latent = latent + 0.8 * rng.standard_normal((classes, rank))
    vectors: Array = 1 / (1 + np.exp(-latent @ rng.standard_normal((rank, attributes)) / 2))
    return vectors.round(4)


def _labels(
    rng: np.random.Generator, unseen: Array, shape: Shape, scale: float, deviation: float
) -> Array:
    """Return the class of each row, shuffled: unequal sizes that add up to the true totals."""
    sizes = np.zeros(len(unseen), dtype=np.intp)
    for group, total in ((~unseen, shape.seen_rows), (unseen, shape.unseen_rows)):
        count = int(group.sum())
        rows = max(round(total * scale), 2 * count)
        weights = np.exp(deviation * rng.standard_normal(count))
        extra = rng.multinomial(rows - 2 * count, weights / weights.sum())
        sizes[group] = 2 + extra
    return rng.permutation(np.repeat(np.arange(len(unseen)), sizes))


def _class_means(
    rng: np.random.Generator, vectors: Array, unseen: Array, features: int, shift: float
) -> npt.NDArray[np.float32]:
    centred = vectors - vectors.mean(axis=0)
    centred = centred / centred.std()
    width = vectors.shape[1]
    weights = rng.standard_normal((width, features), dtype=np.float32) / np.sqrt(width)
    means = centred @ weights
    if shift:
        bent = rng.standard_normal((width, features), dtype=np.float32) / np.sqrt(width)
        means[unseen] += shift * (centred[unseen] @ bent)
    return np.asarray(means, dtype=np.float32)


def _rows(rng: np.random.Generator, means: Array, labels: Array) -> npt.NDArray[np.float32]:
    """Draw rectified features around the class means, one block at a time."""
    X = np.empty((len(labels), means.shape[1]), dtype=np.float32)
    for start in range(0, len(X), _BLOCK):
        block = X[start : start + _BLOCK]
        rng.standard_normal(out=block, dtype=np.float32)
        block *= _NOISE
        block += means[labels[start : start + _BLOCK]]
        np.maximum(block, 0, out=block)
    return X


def _real_rows(
    rng: np.random.Generator,
    vectors: Array,
    unseen: Array,
    labels: Array,
    features: int,
    shift: float,
    real: Difficulty,
) -> npt.NDArray[np.float32]:
    """Draw rows whose classes overlap as in a real data set.

    Class means and rows about them vary in the same few hundred directions, means mostly in the first;
    a part of a mean is foretold by the vector, the rest is not.
    """
    rank = min(LATENT, features)
    places = np.arange(1, rank + 1)
    within, between = (places ** (-decay / 2) for decay in (real.decay, real.mean_decay))
    within *= np.sqrt(real.within) / np.linalg.norm(within)
    between /= np.linalg.norm(between)
    width = vectors.shape[1]
    centred = (vectors - vectors.mean(axis=0)) / vectors.std() / np.sqrt(width)
    predictable = centred @ rng.standard_normal((width, rank))
    if shift:
        predictable[unseen] += shift * (centred[unseen] @ rng.standard_normal((width, rank)))
    predictable /= predictable.std()
    unpredictable = rng.standard_normal(predictable.shape)
    means = np.sqrt(real.foretold) * predictable + np.sqrt(1 - real.foretold) * unpredictable
    means *= between
    basis = rng.standard_normal((rank, features), dtype=np.float32) / np.float32(np.sqrt(rank))
    X = np.empty((len(labels), features), dtype=np.float32)
    for start in range(0, len(X), _BLOCK):
        codes = labels[start : start + _BLOCK]
        rows = means[codes] + within * rng.standard_normal((len(codes), rank))
        X[start : start + len(codes)] = rows.astype(np.float32) @ basis
    return X


def _parts(rng: np.random.Generator, seen: Array, held_out: float) -> tuple[Array, Array]:
    count = round(held_out * len(seen))
    chosen = np.zeros(len(seen), dtype=bool)
    chosen[rng.permutation(len(seen))[:count]] = True
    return seen[~chosen], seen[chosen]


def _noisy(
    rng: np.random.Generator, labels: Array, train: Array, seen: Array, fraction: float
) -> Array:
    """Give a fraction of the training rows the label of another seen class."""
    wrong = rng.permutation(train)[: round(fraction * len(train))]
    place = np.searchsorted(seen, labels[wrong])
    noisy = labels.copy()
    noisy[wrong] = seen[(place + rng.integers(1, len(seen), size=len(wrong))) % len(seen)]
    return noisy

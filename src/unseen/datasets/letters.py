"""The embedded data set: learn from printed letters, recognise handwritten digits.

The prints are a file of this package, which ``tools/print_letters.py`` of the repository makes; here
they are described by the directions of their edges and put beside the handwritten digits of
scikit-learn.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt

from unseen.datasets.record import ZeroShotDataset
from unseen.semantics import ClassTable
from unseen.typing import Array

PRINTS = Path(__file__).with_name("letter_prints.npz")
"""Prints of letters and digits, (classes, prints, 64) counts from 0 to 16."""


def load_letters_to_digits() -> ZeroShotDataset:
    """Load the embedded data set: printed letters are seen, handwritten digits are unseen.

    The 67 seen classes are Latin, Greek and Cyrillic letters, 60 prints of each (48 to train, 12
    held out). The ten unseen classes are the 1,797 handwritten digits of scikit-learn, in its row
    order. A class's semantic vector is the mean of 48 prints, for the digits as well: no
    handwritten digit takes part in training or in the semantics. Letters that look like a digit
    are left out.

    Returns
    -------
    ZeroShotDataset
        ``X`` is float32 of shape (5817, 128): see :func:`orientation_features`.

    Examples
    --------
    >>> data = load_letters_to_digits()
    >>> data.X.shape, len(data.seen_classes), len(data.test_unseen)
    ((5817, 128), 67, 1797)
    >>> data.unseen_classes.tolist()
    ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9']
    """
    from sklearn.datasets import load_digits  # here: `import unseen.datasets` stays quick

    with np.load(PRINTS, allow_pickle=False) as stored:
        printed = {name: stored[name] for name in stored.files}
    handwritten = load_digits()
    letter_names, digit_names = printed["letter_names"], printed["digit_names"]
    prints, train_prints = printed["letters"].shape[1], printed["digits"].shape[1]
    letters = orientation_features(printed["letters"].reshape(-1, 8, 8))
    X = np.concatenate([letters, orientation_features(handwritten.images)])
    y = np.concatenate([np.repeat(letter_names, prints), handwritten.target.astype(str)])
    digits = orientation_features(printed["digits"].reshape(-1, 8, 8))
    vectors = [
        letters.reshape(len(letter_names), prints, -1)[:, :train_prints].mean(axis=1),
        digits.reshape(len(digit_names), train_prints, -1).mean(axis=1),
    ]
    is_train = np.arange(len(letters)) % prints < train_prints
    names = (*letter_names.tolist(), *digit_names.tolist())
    return ZeroShotDataset(
        X=X,
        y=y,
        semantics=ClassTable(names, np.concatenate(vectors)),
        train=np.flatnonzero(is_train),
        test_seen=np.flatnonzero(~is_train),
        test_unseen=np.arange(len(letters), len(X)),
        name="letters-to-digits",
        features="gradient orientations of 8x8 pixels",
        provenance=(
            f"Letters and the semantics of digits: {printed['made_by']}. Handwritten digits: "
            "sklearn.datasets.load_digits, the test part of Optical Recognition of Handwritten "
            "Digits (E. Alpaydin, C. Kaynak, UCI Machine Learning Repository, 1998)."
        ),
    )


def orientation_features(images: npt.ArrayLike) -> Array:
    """Describe 8×8 images by where their strokes' edges point: 8 directions × 4×4 places.

    The gradient's length is shared between the two nearest of 8 directions, smoothed, pooled over
    2×2 cells; then the square root and unit length. Where an edge points survives a change of pen
    and a small displacement better than pixels do: over class-wise folds on letters it gains
    about ten points.

    Parameters
    ----------
    images : array of shape (n, 8, 8)
        Ink from 0 to 16, as in :func:`sklearn.datasets.load_digits`.

    Returns
    -------
    array of shape (n, 128), float32

    Examples
    --------
    >>> bar = np.zeros((1, 8, 8))
    >>> bar[0, :, 3:5] = 16
    >>> orientation_features(bar).reshape(8, 16).sum(axis=1).argsort()[-2:]  # right and left
    array([0, 4])
    """
    from scipy import ndimage

    ink = np.asarray(images, dtype=np.float64)
    if ink.ndim != 3 or ink.shape[1:] != (8, 8):
        raise ValueError(
            f"images must have shape (n, 8, 8). Got {ink.shape} instead; reshape rows of 64 pixels "
            "with .reshape(-1, 8, 8)."
        )
    padded = np.pad(ink / 16, ((0, 0), (1, 1), (1, 1)))
    down = (padded[:, 2:, 1:-1] - padded[:, :-2, 1:-1]) / 2
    right = (padded[:, 1:-1, 2:] - padded[:, 1:-1, :-2]) / 2
    sector = np.arctan2(down, right) / (2 * np.pi / 8)
    apart = np.abs((sector[:, None] - np.arange(8)[:, None, None] + 4) % 8 - 4)
    edges = np.maximum(0, 1 - apart) * np.hypot(down, right)[:, None]
    edges = ndimage.gaussian_filter(edges, (0, 0, 0.8, 0.8))
    pooled = np.sqrt(edges.reshape(-1, 8, 4, 2, 4, 2).mean(axis=(3, 5))).reshape(-1, 128)
    length = np.linalg.norm(pooled, axis=1, keepdims=True)
    features: Array = (pooled / np.where(length > 0, length, 1)).astype(np.float32)
    return features

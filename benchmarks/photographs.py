"""The animal photographs as a data set: EfficientNet-Lite0 features, kept in the feature store."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from unseen.datasets import ZeroShotDataset
from unseen.datasets.image_folder import list_images
from unseen.datasets.splits import read_lines
from unseen.features import FeatureStore, backbone, extract
from unseen.labelling.classes import read_classes
from unseen.semantics import ClassTable


def load_animals(folder: Path, cache: Path | None = None) -> ZeroShotDataset:
    """Read the photographs of a folder; its ``unseen.txt`` names the unseen classes."""
    unseen_names = read_lines(folder / "unseen.txt")
    paths = list_images(folder / "images")
    with FeatureStore(cache) as store:
        extraction = extract(paths, backbone("efficientnet-lite0"), store)
    y = np.array([path.parent.name for path in extraction.paths])
    given = read_classes(folder / "attributes.csv")
    is_unseen = np.isin(y, unseen_names)
    return ZeroShotDataset(
        X=extraction.X,
        y=y,
        semantics=ClassTable(given.names, given.numbers).restricted_to(sorted(set(y.tolist()))),
        train=np.flatnonzero(~is_unseen),
        test_seen=np.empty(0, dtype=np.intp),
        test_unseen=np.flatnonzero(is_unseen),
        name="animals",
        features="EfficientNet-Lite0",
    )

"""The data sets of the generalisation suite, and their draws of unseen classes.

A data set is put into an order that its content decides: rows by a digest of their features, classes
by name. So neither a draw of classes nor a pool depends on the order in which a file holds them.
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from settings import DATASETS, hold_out

from unseen.datasets import ZeroShotDataset
from unseen.exceptions import DataError
from unseen.semantics import ClassTable

#: The features of the stored sets, whose files do not name them.
FEATURES = {
    "clinc150": "MiniLM",
    "banking77": "MiniLM",
    "goemotions27": "MiniLM",
    "udhr_languages": "tf-idf of character n-grams, SVD",
    "gtsrb": "EfficientNet-Lite0",
    "plantvillage": "EfficientNet-Lite0",
    "esc50": "EfficientNet-Lite0 of spectrograms",
}
#: Other draws make no sense (letters to digits is a change of domain) or are those of awa1-ps.
OWN_SPLIT_ONLY = ("letters", "awa1-ss")
#: A space is shared where the median seen class ranks its own vector among the nearest tenth.
SHARED_SPACE_RANK = 0.1
SHARE_HELD_OUT_BY_FOLD = 0.25


class Source(NamedTuple):
    """A data set in its own order, rows that belong to no class if it has any, and a digest of all."""

    data: ZeroShotDataset
    X_strangers: Any
    digest: str


def names_at_hand(folder: Path) -> list[str]:
    """Name every data set that the folder holds, and the embedded one."""
    stored = {"cub": "CUB", "awa1-ps": "AWA1", "awa1-ss": "AWA1"}
    published = [name for name, part in stored.items() if (folder / "xlsa17" / part).is_dir()]
    return ["letters", *published, *sorted(p.stem for p in (folder / "zeroshot").glob("*.npz"))]


@lru_cache(maxsize=2)
def load(name: str, folder: Path, folds: bool = False) -> Source:
    """Load "letters", "cub", "clinc150", "esc50:word" or "path/of/own.npz:kind".

    With ``folds`` only the training rows are kept, and the classes that they hold.
    """
    if name in DATASETS:
        data, X_strangers = DATASETS[name](folder), None
        return in_order(hold_out(data, []) if folds else data, X_strangers)
    stem, _, kind = (name, "", "") if Path(name).is_file() else name.partition(":")
    path = Path(stem) if Path(stem).suffix == ".npz" else folder / "zeroshot" / f"{stem}.npz"
    if not path.is_file():
        known = ", ".join(names_at_hand(folder))
        raise DataError(f"{path}: no such file. Give the path of an .npz, or one of: {known}.")
    return in_order(*read_npz(path, kind, folds))


def read_npz(path: Path, kind: str, folds: bool) -> tuple[ZeroShotDataset, Any]:
    """Read the layout of the README beside the data: X, y, class_names, S, trainval, test_unseen."""
    with np.load(path, allow_pickle=False) as file:
        semantics = f"S_{kind}" if kind else "S"
        split = ("trainval",) if folds else ("trainval", "test_unseen")
        missing = {"X", "y", "class_names", semantics, *split} - set(file.files)
        if missing:
            raise DataError(f"{path}: has no {', '.join(sorted(missing))}. It has: {file.files}.")
        train, unseen = file["trainval"], np.empty(0, dtype=np.intp)
        X, y, names, vectors = file["X"], file["y"], file["class_names"], file[semantics].T
        if folds:  # whatever else the file holds is dropped before it is looked at
            X, y, train = X[train], y[train], np.arange(len(train))
            seen = np.unique(y).astype(np.intp)
            y, names, vectors = np.searchsorted(seen, y), names[seen], vectors[seen]
        else:
            unseen = file["test_unseen"]
            if not np.isin(y, np.arange(len(names))).all():
                raise DataError(f"{path}: y must hold class indices from 0 to {len(names) - 1}.")
        X_strangers = file["X_strangers"] if "X_strangers" in file.files and not folds else None
        features = str(file["features"]) if "features" in file.files else FEATURES.get(path.stem)
    data = ZeroShotDataset(
        X=X,
        y=names[y.astype(np.intp)],
        semantics=ClassTable(names, vectors),
        train=train,
        test_seen=np.empty(0, dtype=np.intp),
        test_unseen=unseen,
        name=f"{path.stem}:{kind}" if kind else path.stem,
        features=features or f"{X.shape[1]} features",
    )
    return data, X_strangers


def in_order(data: ZeroShotDataset, X_strangers: Any) -> Source:
    """Sort rows by their digest (equal rows by class) and classes by name; half becomes single."""
    X = np.asarray(data.X)
    digests = row_digests(X)
    order = np.lexsort((data.y, digests))
    position = np.empty_like(order)
    position[order] = np.arange(len(order))
    parts = {p: np.sort(position[getattr(data, p)]) for p in ("train", "test_seen", "test_unseen")}
    table = data.semantics.restricted_to(sorted(data.semantics))
    ordered = dataclasses.replace(
        data, X=single(X[order]), y=data.y[order], semantics=table, images=None, **parts
    )
    content = hashlib.sha256("\n".join(map(str, [*ordered.y, *table])).encode())
    for numbers in (digests[order], table.vectors, *parts.values()):
        content.update(np.ascontiguousarray(numbers).tobytes())
    if X_strangers is not None:
        X_strangers = single(X_strangers[np.argsort(row_digests(X_strangers), kind="stable")])
        content.update(X_strangers.tobytes())
    return Source(ordered, X_strangers, content.hexdigest()[:12])


def row_digests(X: Any) -> Any:
    """Return a number for the content of each row."""
    rows = np.ascontiguousarray(X)
    digest = b"".join(hashlib.blake2b(row.tobytes(), digest_size=8).digest() for row in rows)
    return np.frombuffer(digest, dtype="<u8")


def single(X: Any) -> Any:
    """Return half precision as single precision, and anything else as it is."""
    return X.astype(np.float32) if X.dtype == np.float16 else X


def draw(data: ZeroShotDataset, number: int, folds: bool) -> ZeroShotDataset:
    """Return one draw: its ``train`` rows are labelled, its ``test_unseen`` rows are the pool.

    Draw 0 is the split of the data set. Any other takes as many unseen classes at random, and the
    rows of all other classes are labelled. With ``folds`` every draw holds out seen classes.
    """
    if folds:
        seen = data.seen_classes
        count = max(2, int(SHARE_HELD_OUT_BY_FOLD * len(seen)))
        return hold_out(data, chosen_classes(seen, count, f"fold {number}"))
    if number == 0:
        return data
    held = chosen_classes(np.unique(data.y), len(data.unseen_classes), f"draw {number}")
    away = np.isin(data.y, held)
    none = np.empty(0, dtype=np.intp)
    return dataclasses.replace(
        data, train=np.flatnonzero(~away), test_seen=none, test_unseen=np.flatnonzero(away)
    )


def draws_of(name: str, wanted: int, folds: bool) -> range:
    """Return the numbers of the draws that a data set has."""
    return range(1 if name in OWN_SPLIT_ONLY and not folds else wanted)


def chosen_classes(names: Iterable[Any], count: int, purpose: str) -> Any:
    """Choose classes at random, seeded by the names of all of them and by the purpose."""
    ordered = sorted(set(np.asarray(names).tolist()))
    seed = hashlib.sha256("\n".join([purpose, *map(str, ordered)]).encode()).digest()
    random = np.random.default_rng(list(seed))
    return random.choice(np.array(ordered), count, replace=False)


def shares_space(X: Any, y: Any, semantics: Any) -> bool:
    """Tell from labelled rows alone whether features and semantics come from one encoder.

    They do if they are of one width and if, for the median seen class, at most a tenth of the other
    seen classes have a vector nearer (by cosine) to the mean of its rows than its own. Between
    unrelated spaces of one width it is one half.
    """
    classes = np.unique(y)
    vectors = np.array([semantics[c] for c in classes.tolist()], dtype=float)
    if vectors.shape[1] != X.shape[1] or len(classes) < 2:
        return False
    means = np.array([X[y == c].mean(axis=0, dtype=float) for c in classes])
    cosines = cosine(means, vectors)
    nearer = (cosines > np.diag(cosines)[:, None]).sum(axis=1) / (len(classes) - 1)
    return bool(np.median(nearer) <= SHARED_SPACE_RANK)


def cosine(A: Any, B: Any) -> Any:
    """Return the cosine of every row of A with every row of B; 0 for a row of zeros."""
    tiny = np.finfo(float).tiny
    left, right = (M / np.maximum(np.linalg.norm(M, axis=1, keepdims=True), tiny) for M in (A, B))
    return left @ right.T

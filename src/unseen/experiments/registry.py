"""What a specification may name: methods of the catalogue, measurements and data sets."""

from __future__ import annotations

import hashlib
import importlib.metadata
import os
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import unseen
from unseen import methods
from unseen.datasets import ZeroShotDataset, load_dataset, simulate
from unseen.datasets.letters import PRINTS
from unseen.datasets.simulator import SHAPES
from unseen.exceptions import DataError
from unseen.experiments.printed import printed
from unseen.experiments.specification import derive_seed
from unseen.files import cache_folder
from unseen.transductive import BalancedSelection
from unseen.typing import Classifier, ClassShares

AUDIT, DISTANCE = "audit", "A-distance"
MEASUREMENTS = (AUDIT, DISTANCE)
"""Cells that measure the data set itself: the auditor, and the distance between its two domains."""

ONE_HOT_METHODS = ("ESZSL", "ASTE", "TASTE")
"""Methods whose scores are regressed on one-hot labels: their seen error is a term of Eq. (25)."""

_SIMULATED = re.compile(
    r"simulated-(?P<like>\w+)(?P<real>-real)?(@(?P<scale>[\d.]+))?(x(?P<features>\d+))?"
)
NEARBY = Path("..") / "shared" / "data"
"""A data folder beside the project, relative to where the command is run."""
_WORDS = re.compile(r"(?P<base>.+)\+(?P<kind>words|both)=(?P<file>.+)")
"""A data set whose class vectors are those of its class names, alone or beside its attributes."""
LETTERS_NUMBERS = 150_000
"""Numbers that the embedded data set holds, about."""

STANDARD_SPLITS = ("AWA", "APY", "CUB")
"""Beginnings of the folders' names whose standard split is known. Their ``testclasses.txt`` does not
tell it: in the xlsa17 layout that file lists the proposed split."""
HELD_OUT = 0.2
"""The share of seen rows of a simulated set that is held out for the generalised setting."""


def method(name: str) -> methods.Method:
    """Return a method of the catalogue by its name."""
    return methods.find(name, MEASUREMENTS)


def configured(
    name: str,
    semantics: object,
    seed: int,
    C: float | None = None,
    candidates: object = None,
    form: tuple[str, Sequence[tuple[str, object]]] = ("default", ()),
) -> Any:
    """Return an unfitted estimator, seeded, with C fixed if it is given.

    ``form`` is a preset and parameters on top of it.

    Examples
    --------
    >>> configured("Fast-ASTE", {"cat": [1.0], "dog": [2.0]}, 0, C=0.1).estimator.C
    0.1
    >>> configured("ASTE", None, 0, form=("printed", [("max_iter", 3)])).step_scale
    'paper'
    """
    preset, parameters = form[0], dict(form[1])
    wanted, published = method(name), preset == "published"
    if preset == "printed":
        settings = printed(wanted.plain_name)
        fast_parameters = settings.fast_parameters if wanted.fast else {}
        published = settings.published
        parameters = {**settings.parameters, **fast_parameters, **parameters}
    model = wanted.build(
        semantics,
        candidates=candidates,
        random_state=seed,
        published=published,
        parameters=parameters,
    )
    if C is None:
        return model
    known = model.get_params()
    weight = next((k for k in ("C", "gamma", "estimator__C", "estimator__gamma") if k in known), None)
    if weight is None:
        raise DataError(f"{name} has no weight C. Leave C out for it.")
    return model.set_params(**{weight: C})


def with_prior(model: Classifier, prior: str, shares: ClassShares) -> Any:
    """Set what a transductive method assumes of the pool's class shares.

    Parameters
    ----------
    prior : {"default", "uniform", "estimated", "known"}
    shares : mapping class -> share
        The true ones, in the order of the candidates. Only "known" uses them: the pool's class sizes
        are then given, as some papers assume, but no label of a row.

    Raises
    ------
    DataError
        If the method does not offer it: the cell is then skipped with this reason.
    """
    if prior == "default":
        return model
    known = model.get_params()
    flagship = next((k for k in known if k.rsplit("__", 1)[-1] == "class_prior"), None)
    if flagship is not None:
        value = dict(shares) if prior == "known" else prior
        return model.set_params(**{flagship: value})
    selection = next((k for k in known if k.rsplit("__", 1)[-1] == "selection"), None)
    if selection is not None:
        given = np.maximum(list(shares.values()), 1e-6) if prior == "known" else prior
        return model.set_params(**{selection: BalancedSelection(prior=given)})
    raise DataError(f"{type(model).__name__} does not offer the class prior {prior!r}.")


# ---------------------------------------------------------------------------- data sets


def data_folders(extra: Path | None = None) -> list[Path]:
    """Return the folders to search: the given one, ``UNSEEN_DATA``, the user's cache, ``NEARBY``."""
    named = [extra, os.environ.get("UNSEEN_DATA"), cache_folder(), NEARBY]
    folders = [Path(p).expanduser() for p in named if p]
    return [p for p in dict.fromkeys(folders) if p.is_dir()]


def find_real(extra: Path | None = None) -> dict[str, Path]:
    """Return name → folder of every xlsa17 data set that has features, standard splits included."""
    folders: dict[str, Path] = {}
    for folder in data_folders(extra):
        for splits in sorted({*folder.glob("*/att_splits.mat"), *folder.glob("*/*/att_splits.mat")}):
            place = splits.parent
            if any(not p.name.lower().endswith("att_splits.mat") for p in place.glob("*.mat")):
                folders.setdefault(place.name, place)
                if place.name.upper().startswith(STANDARD_SPLITS):
                    folders.setdefault(f"{place.name}:SS", place)
    return folders


def resolve(names: tuple[str, ...], extra: Path | None = None) -> tuple[str, ...]:
    """Replace "real" by the data sets that are found, and check every other name."""
    real = find_real(extra)
    wanted: list[str] = []
    for name in names:
        wanted += sorted(real) if name == "real" else [name]
    for given in wanted:
        name = given
        if by_words := _WORDS.fullmatch(given):
            name = by_words["base"]
            if not Path(by_words["file"]).is_file():
                raise DataError(f"{given}: there is no file of word vectors {by_words['file']!r}.")
        if not (name == "letters" or _SIMULATED.fullmatch(name) or _path(name, extra)):
            raise DataError(
                f"There is no data set {name!r}. Known: letters, "
                f"{', '.join(f'simulated-{like}' for like in SHAPES)}, a path"
                + (f", {', '.join(sorted(real))}." if real else "; none is in UNSEEN_DATA.")
            )
    return tuple(dict.fromkeys(wanted))


def _path(name: str, extra: Path | None) -> Path | None:
    real = find_real(extra)
    if name in real:
        return real[name]
    path = Path(name.removesuffix(":SS").removesuffix(":PS")).expanduser()
    return path if path.exists() else None


def load(name: str, extra: Path | None = None) -> ZeroShotDataset:
    """Load a data set by its name."""
    if by_words := _WORDS.fullmatch(name):
        return _with_words(load(by_words["base"], extra), by_words["kind"], by_words["file"])
    if name == "letters":
        from unseen.datasets import load_letters_to_digits

        return load_letters_to_digits()
    simulated = _SIMULATED.fullmatch(name)
    if simulated:
        features = simulated["features"]
        return simulate(
            simulated["like"],  # type: ignore[arg-type]
            scale=float(simulated["scale"] or 1),
            n_features=int(features) if features else None,
            held_out=HELD_OUT,
            difficulty="real" if simulated["real"] else "easy",
            random_state=derive_seed(name),
        )
    path = _path(name, extra)
    if path is None:
        raise DataError(f"There is no data set {name!r}.")
    return load_dataset(path, split="SS") if name.endswith(":SS") else load_dataset(path)


def _with_words(data: ZeroShotDataset, kind: str, file: str) -> ZeroShotDataset:
    """Describe classes by the word vectors of their names, alone or beside their attributes."""
    from unseen.features.words import describe, mix, words

    table = describe(data.semantics.classes.tolist(), words(file))
    semantics = table if kind == "words" else mix(data.semantics, table)
    return replace(data, semantics=semantics)


def short_name(name: str) -> str:
    """Return a data set's name without the folders of its files.

    >>> short_name("/data/CUB+words=/data/glove.txt"), short_name("AWA1:SS")
    ('CUB+words=glove.txt', 'AWA1:SS')
    """
    if by_words := _WORDS.fullmatch(name):
        parts = Path(by_words["base"]).name, by_words["kind"], Path(by_words["file"]).name
        return "{}+{}={}".format(*parts)
    return Path(name).name


def fingerprint(name: str, extra: Path | None = None) -> str:
    """Return a digest of what ``load`` would read: the bytes of files, or how data is generated."""
    if by_words := _WORDS.fullmatch(name):
        with Path(by_words["file"]).open("rb") as stream:
            digest_of_words = hashlib.file_digest(stream, "sha256").hexdigest()
        both = fingerprint(by_words["base"], extra) + by_words["kind"] + digest_of_words
        return hashlib.sha256(both.encode()).hexdigest()[:16]
    digest = hashlib.sha256(name.rpartition("/")[2].encode())
    path = None if name == "letters" or _SIMULATED.fullmatch(name) else _path(name, extra)
    if path is None:
        versions = {p: importlib.metadata.version(p) for p in ("numpy", "scikit-learn")}
        digest.update(repr((unseen.__version__, HELD_OUT, versions)).encode())
        digest.update(PRINTS.read_bytes())
        return digest.hexdigest()[:16]
    for file in sorted(p for p in ([path] if path.is_file() else path.rglob("*")) if p.is_file()):
        digest.update(file.name.encode())
        with file.open("rb") as stream:
            digest.update(hashlib.file_digest(stream, "sha256").digest())
    return digest.hexdigest()[:16]


def size(name: str, extra: Path | None = None) -> float:
    """Return about how many numbers a data set holds, without loading it.

    Examples
    --------
    >>> size("letters") < size("simulated-AwA@0.1x64") < size("simulated-AwA@0.1")
    True
    """
    if by_words := _WORDS.fullmatch(name):
        return size(by_words["base"], extra)
    if simulated := _SIMULATED.fullmatch(name):
        shape = SHAPES[simulated["like"]]
        rows = float(simulated["scale"] or 1) * (shape.seen_rows + shape.unseen_rows)
        return rows * int(simulated["features"] or shape.features)
    path = None if name == "letters" else _path(name, extra)
    if path is None:
        return float(LETTERS_NUMBERS)
    files = [path] if path.is_file() else [p for p in path.glob("*") if p.is_file()]
    return sum(file.stat().st_size for file in files) / 4


def paper_column(name: str) -> str | None:
    """Return the column of the paper's tables that belongs to a data set, if any.

    Examples
    --------
    >>> paper_column("AWA1:SS"), paper_column("simulated-CUB@0.1"), paper_column("letters")
    ('AwA', 'CUB', None)
    """
    text = short_name(name).lower()
    return next((c for c in ("AwA", "CUB", "aPY") if c.lower() in text), None)

"""What a specification may name: methods, measurements and data sets."""

from __future__ import annotations

import hashlib
import importlib.metadata
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import unseen
from unseen import TASTE, FastTraining, inductive, transductive
from unseen.datasets import ZeroShotDataset, load_dataset, simulate
from unseen.datasets.simulator import SHAPES
from unseen.exceptions import DataError
from unseen.experiments.specification import derive_seed
from unseen.files import cache_folder
from unseen.transductive import BalancedSelection

AUDIT, DISTANCE = "audit", "A-distance"
MEASUREMENTS = (AUDIT, DISTANCE)
"""Cells that look at the data set alone: the auditor, and the distance between its two domains."""

_SIMULATED = re.compile(r"simulated-(?P<like>\w+)(@(?P<scale>[\d.]+))?(x(?P<features>\d+))?")
NEARBY = Path("..") / "shared" / "data"
"""Data that a project keeps beside itself, seen from where the command is run."""
HELD_OUT = 0.2
"""The share of seen rows of a simulated set that is kept for the generalised setting."""


@dataclass(frozen=True)
class Method:
    """A method by name.

    Parameters
    ----------
    name : str
        Ours.
    paper : str
        The paper's name of it.
    build : callable
        semantics → estimator.
    transductive : bool
    """

    name: str
    paper: str
    build: Callable[[object], Any]
    transductive: bool = False


_INDUCTIVE = (
    *("PrototypeRidge", "DAP", "IAP", "CMT", "DeViSE", "ALE", "SJE", "LatEm", "ESZSL", "SAE", "HAT"),
    *("KDICA", "SSE", "JLSE", "SynC", "MetricZSL", "ASTE"),
)
_IN_PAPER = {
    "PrototypeRidge": "LR",
    "SynC": "Changpinyo et al.",
    "SSE": "SSE-ReLU",
    "JLSE": "Zhang et al.",
    "MetricZSL": "Bucher et al.",
}
"""What the paper calls a method where it does not use its name."""


def _methods() -> dict[str, Method]:
    plain = [Method(n, _IN_PAPER.get(n, n), getattr(inductive, n)) for n in _INDUCTIVE]
    plain.append(Method("TASTE", "TASTE", TASTE, True))
    # "Wang et al." of Table III is most likely BiDiLEL; it may be RKT.
    others = [
        Method("TMVHLP", "TMV-HLP", transductive.TMVHLP, True),
        Method("SMS", "SMS", transductive.SMS, True),
        Method("UDA", "Kodirov et al.", transductive.UDA, True),
        Method(
            "SemiSupervisedClustering", "Shojaee et al.", transductive.SemiSupervisedClustering, True
        ),
        Method("BiDiLEL", "Wang et al.", transductive.BiDiLEL, True),
        Method("RKT", "RKT", transductive.RKT, True),
        Method("MaxMarginSSL", "Li & Guo", transductive.MaxMarginSSL, True),
        Method("WDVSc", "WDVSc", transductive.WDVSc, True),
        Method("PrototypePropagation", "PrototypePropagation", transductive.PrototypePropagation, True),
    ]
    flagship = getattr(transductive, "SelfPacedPrototypes", None)
    if flagship is not None:
        plain.append(Method("SelfPacedPrototypes", "SelfPacedPrototypes", flagship, True))
    slow = plain + others
    fast = [
        Method(f"Fast-{m.name}", f"Fast-{m.paper}", _fast(m.build), m.transductive)
        for m in slow
        if getattr(m.build, "takes_class_means", False)
    ]
    return {m.name: m for m in slow + fast}


def _fast(build: Callable[[object], Any]) -> Callable[[object], Any]:
    return lambda semantics: FastTraining(build(semantics))


METHODS = _methods()


def method(name: str) -> Method:
    """Return a method by its name."""
    if name not in METHODS:
        known = ", ".join((*METHODS, *MEASUREMENTS))
        raise DataError(f"There is no method {name!r}. Known: {known}.")
    return METHODS[name]


def offered(name: str) -> bool:
    """Tell whether this version has the method; the specification may name one that is to come."""
    return name in METHODS or name in MEASUREMENTS


def configured(name: str, semantics: object, seed: int, C: float | None = None) -> Any:
    """Return an unfitted estimator, seeded, with C fixed if it is given.

    Examples
    --------
    >>> configured("Fast-ASTE", {"cat": [1.0], "dog": [2.0]}, 0, C=0.1).estimator.C
    0.1
    """
    model = method(name).build(semantics)
    known = model.get_params()
    seeds = {k: seed for k in known if k.rsplit("__", 1)[-1] == "random_state"}
    model.set_params(**seeds)
    if C is None:
        return model
    weight = next((k for k in ("C", "gamma", "estimator__C", "estimator__gamma") if k in known), None)
    if weight is None:
        raise DataError(f"{name} has no weight C. Leave C out for it.")
    return model.set_params(**{weight: C})


def with_prior(model: Any, prior: str, shares: Mapping[Any, float]) -> Any:
    """Tell a transductive method what to assume of the pool's class shares.

    Parameters
    ----------
    prior : {"default", "uniform", "estimated", "known"}
    shares : mapping class -> share
        The true ones, used for "known" alone: the pool's class sizes are then given, as some papers
        assume, but no label of a row. In the order of the candidates.

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
    """Return the folders to look in: one given, ``UNSEEN_DATA``, the user's cache, one nearby."""
    named = [extra, os.environ.get("UNSEEN_DATA"), cache_folder(), NEARBY]
    found = [Path(p).expanduser() for p in named if p]
    return [p for p in dict.fromkeys(found) if p.is_dir()]


def find_real(extra: Path | None = None) -> dict[str, Path]:
    """Return name → folder of every xlsa17 data set that has features, standard splits included."""
    found: dict[str, Path] = {}
    for folder in data_folders(extra):
        for splits in sorted({*folder.glob("*/att_splits.mat"), *folder.glob("*/*/att_splits.mat")}):
            own = splits.parent
            if any(not p.name.lower().endswith("att_splits.mat") for p in own.glob("*.mat")):
                found.setdefault(own.name, own)
                if own.name.upper().startswith(("AWA", "APY")):  # their standard split is known
                    found.setdefault(f"{own.name}:SS", own)
    return found


def resolve(names: tuple[str, ...], extra: Path | None = None) -> tuple[str, ...]:
    """Replace "real" by the data sets that are found, and check every other name."""
    real = find_real(extra)
    wanted: list[str] = []
    for name in names:
        wanted += sorted(real) if name == "real" else [name]
    for name in wanted:
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
            random_state=derive_seed(name),
        )
    path = _path(name, extra)
    if path is None:
        raise DataError(f"There is no data set {name!r}.")
    return load_dataset(path, **({"split": "SS"} if name.endswith(":SS") else {}))


def fingerprint(name: str, extra: Path | None = None) -> str:
    """Return a digest of what ``load`` would read: the bytes of files, or how data is generated."""
    digest = hashlib.sha256(name.rpartition("/")[2].encode())
    path = None if name == "letters" or _SIMULATED.fullmatch(name) else _path(name, extra)
    if path is None:
        made_by = ("numpy", "scikit-learn", "matplotlib")
        versions = {p: importlib.metadata.version(p) for p in made_by}
        digest.update(repr((unseen.__version__, HELD_OUT, versions)).encode())
        return digest.hexdigest()[:16]
    for file in sorted(p for p in ([path] if path.is_file() else path.rglob("*")) if p.is_file()):
        digest.update(file.name.encode())
        with file.open("rb") as stream:
            digest.update(hashlib.file_digest(stream, "sha256").digest())
    return digest.hexdigest()[:16]


def paper_column(name: str) -> str | None:
    """Return which column of the paper's tables a data set is to be read beside, if any.

    Examples
    --------
    >>> paper_column("AWA1:SS"), paper_column("simulated-CUB@0.1"), paper_column("letters")
    ('AwA', 'CUB', None)
    """
    text = Path(name).name.lower()
    return next((c for c in ("AwA", "CUB", "aPY") if c.lower() in text), None)

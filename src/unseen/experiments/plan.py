"""From a specification to cells: one cell is one fit, and it is in a plan once."""

from __future__ import annotations

import hashlib
import json
import sys
from dataclasses import asdict, dataclass
from functools import cache
from itertools import chain
from pathlib import Path

import unseen
from unseen.experiments import registry
from unseen.experiments.code_digest import code_digest
from unseen.experiments.generalised_settings import applies
from unseen.experiments.specification import (
    LABELLED_SETTINGS,
    Experiment,
    Parameter,
    Specification,
    derive_seed,
    frozen_parameters,
)
from unseen.experiments.unlabelled_pools import POOL_SETTINGS, UNLABELLED
from unseen.methods import catalogue
from unseen.typing import JsonObject


@cache
def package_digest(name: str) -> tuple[str, ...]:
    """Return a digest of the code of a method that another package registered; nothing for ours."""
    method = catalogue().get(name)
    if method is None or method.package == "unseen":
        return ()
    module = sys.modules[method.estimator.__module__.partition(".")[0]]
    files = [Path(folder).rglob("*.py") for folder in getattr(module, "__path__", ())]
    sources = sorted(chain.from_iterable(files)) or [Path(str(module.__file__))]
    digest = hashlib.sha256(b"\0".join(file.read_bytes() for file in sources))
    return (method.package, digest.hexdigest()[:12])


@dataclass(frozen=True)
class Cell:
    """One fit, named by what decides its result."""

    dataset: str
    method: str
    trial: int = 0
    setting: str = "zsl"
    prior: str = "default"
    share: float = 1.0
    C: float | None = None
    data_hash: str = ""
    preset: str = "default"
    parameters: tuple[tuple[str, Parameter], ...] = ()

    def __post_init__(self) -> None:  # a cell that comes from JSON has lists
        object.__setattr__(self, "parameters", frozen_parameters(self.parameters))

    @property
    def seed(self) -> int:
        """The seed of a trial: the same for every method, so that methods are compared in pairs."""
        return derive_seed(self.dataset, "trial", self.trial)

    @property
    def key(self) -> str:
        """A digest of the cell, of its data and of the code that learns and measures."""
        decisive = [asdict(self), unseen.__version__, code_digest(), *package_digest(self.method)]
        text = json.dumps(decisive, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    @property
    def label(self) -> str:
        """One readable line."""
        extras = [self.setting] * (self.setting != "zsl") + [self.prior] * (self.prior != "default")
        if self.share != 1:
            extras.append(f"share {self.share:g}" if self.share else "one row a class")
        if self.C is not None:
            extras.append(f"C={self.C:g}")
        extras += [self.preset] * (self.preset != "default")
        extras += [f"{name}={value}" for name, value in self.parameters]
        return " · ".join([self.dataset, self.method, f"trial {self.trial}", *extras])

    def to_dict(self) -> JsonObject:
        """Return plain Python values, for JSON."""
        return asdict(self)


@dataclass(frozen=True)
class Plan:
    """The cells of a run, in the order to run them."""

    specification: Specification
    cells: tuple[Cell, ...]
    data: Path | None = None

    @property
    def keys(self) -> list[str]:
        """The keys of the cells."""
        return [cell.key for cell in self.cells]


def make_plan(specification: Specification, data: Path | None = None) -> Plan:
    """List the cells, grouped by data set, so that each data set is loaded once.

    Parameters
    ----------
    specification : Specification
    data : path, optional
        A folder with data sets, searched before ``UNSEEN_DATA`` and the user's cache.

    Examples
    --------
    >>> from unseen.experiments import Experiment, Specification
    >>> wanted = Experiment("first", ("letters",), ("ESZSL", "Fast-ESZSL"), trials=2)
    >>> len(make_plan(Specification("mine", (wanted,))).cells)
    4
    """
    hashes: dict[str, str] = {}
    cells: dict[Cell, None] = {}
    for experiment in specification.experiments:
        for name in experiment.methods:
            if name not in registry.MEASUREMENTS:  # what cannot be built is said before any fit
                registry.configured(name, None, 0, form=(experiment.preset, experiment.parameters))
        for dataset in registry.resolve(experiment.datasets, data) if experiment.datasets else ():
            if dataset not in hashes:
                hashes[dataset] = registry.fingerprint(dataset, data)
            cells |= dict.fromkeys(_product(experiment, dataset, hashes[dataset]))
    order = {name: i for i, name in enumerate(hashes)}
    ordered = sorted(cells, key=lambda c: (order[c.dataset], c.trial))
    return Plan(specification, tuple(ordered), data)


def _pool_settings(name: str) -> tuple[str, ...]:
    """Return the settings without labels that a name of a specification stands for."""
    if name == UNLABELLED:
        return POOL_SETTINGS
    return (name,) if name in POOL_SETTINGS else ()


def _product(experiment: Experiment, dataset: str, data_hash: str) -> list[Cell]:
    cells = []
    settings = [s for s in experiment.settings if s in LABELLED_SETTINGS]
    pools = dict.fromkeys(p for s in experiment.settings for p in _pool_settings(s))
    for name in experiment.methods:
        if name in registry.MEASUREMENTS:
            cells.append(Cell(dataset, name, data_hash=data_hash))
            continue
        transductive = registry.method(name).transductive
        alike = experiment.exact_once and not registry.method(name).draws_at_random
        form: JsonObject = {"preset": experiment.preset, "parameters": experiment.parameters}
        for trial in range(experiment.trials):
            cells += [Cell(dataset, name, trial, p, data_hash=data_hash, **form) for p in pools]
            for setting in (s for s in settings if applies(s, transductive)):
                for prior in experiment.priors if transductive else ("default",):
                    for share in experiment.shares:
                        if trial and alike and share == 1:
                            continue
                        for C in experiment.C or (None,):
                            fit = dataset, name, trial, setting, prior, share, C, data_hash
                            cells.append(Cell(*fit, **form))
    return cells

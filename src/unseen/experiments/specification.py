"""What to run: TOML → frozen dataclasses, with every fault named.

A specification is a list of experiments; each is the product of its data sets, methods, trials and
protocol. Two experiments may ask for the same cell: it runs once.
"""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from importlib import resources
from pathlib import Path
from typing import Any

from unseen.exceptions import DataError
from unseen.experiments.generalised_settings import GENERALISED
from unseen.experiments.unlabelled_pools import POOL_SETTINGS, UNLABELLED
from unseen.files import check_regular
from unseen.typing import JsonObject

LABELLED_SETTINGS = ("zsl", *GENERALISED)
SETTINGS = (*LABELLED_SETTINGS, UNLABELLED, *POOL_SETTINGS)
PRIORS = ("default", "uniform", "estimated", "known")
BUDGETS = ("quick", "real", "full")
PRESETS = ("default", "published", "printed")
"""Our defaults; the form of a method's own authors; the form of the paper on ASTE, word for word."""
Parameter = bool | int | float | str | tuple["Parameter", ...]
"""A value that a specification may give to a parameter of a method."""
ONE_INSTANCE = 0.0
"""The share that stands for one row a class, the start point of the paper's Fig. 5."""


@dataclass(frozen=True)
class Experiment:
    """The product of its fields.

    Parameters
    ----------
    name : str
    datasets : tuple of str
        "letters", "simulated-AwA@0.1x512" (a tenth of the rows, 512 features), "CUB", "AWA1:SS" (its
        standard split), a path, or "real": whatever is found in the data folder.
    methods : tuple of str
        Names of the catalogue, :mod:`unseen.methods`; fast forms are methods of their own.
    trials : int
        Each shuffles the training rows and seeds the method.
    settings : tuple of str
        "zsl" answers among the unseen classes, "gzsl" among all, with a mixed pool; "gzsl known" too,
        but the unlabelled rows are known to be of unseen classes; "gzsl offset" is an inductive method
        with a calibrated offset. "unlabelled full", "unlabelled 5/64"
        and the others of :mod:`unseen.experiments.unlabelled_pools` give a method that needs no
        labelled row a pool without labels; "unlabelled" is all of them.
    priors : tuple of {"default", "uniform", "estimated", "known"}
        What a transductive method assumes of the class shares of its pool.
    shares : tuple of float
        Of the training rows of each class; 0 is one row a class.
    C : tuple of float
        Fixed weights of the regulariser; empty leaves the choice to the method.
    preset : {"default", "published", "printed"}
        Our defaults, the form of each method's authors (``as_published``), or the settings that the
        paper on ASTE prints, word for word.
    parameters : tuple of (name, value)
        Of every method here, on top of the preset; a table in TOML.
    exact_once : bool
        One trial alone of what a shuffle and a seed do not change: methods that draw nothing at random,
        taught with all rows.
    """

    name: str
    datasets: tuple[str, ...]
    methods: tuple[str, ...]
    trials: int = 1
    settings: tuple[str, ...] = ("zsl",)
    priors: tuple[str, ...] = ("default",)
    shares: tuple[float, ...] = (1.0,)
    C: tuple[float, ...] = ()
    preset: str = "default"
    parameters: tuple[tuple[str, Parameter], ...] = ()
    exact_once: bool = False

    def __post_init__(self) -> None:
        where = f"experiment {self.name!r}"
        for part in ("datasets", "methods", "settings", "priors", "shares"):
            if not getattr(self, part):
                raise DataError(f"{where}: {part!r} is empty. Name at least one.")
        _among(where, "settings", self.settings, SETTINGS)
        _among(where, "priors", self.priors, PRIORS)
        _among(where, "preset", (self.preset,), PRESETS)
        if isinstance(self.trials, bool) or not isinstance(self.trials, int) or self.trials < 1:
            raise DataError(f"{where}: 'trials' must be an integer >= 1. Got {self.trials!r} instead.")
        if not isinstance(self.exact_once, bool):
            raise DataError(
                f"{where}: 'exact_once' must be true or false. Got {self.exact_once!r} instead."
            )
        if not all(0 <= share <= 1 for share in self.shares):
            raise DataError(f"{where}: 'shares' must lie between 0 and 1. Got {self.shares} instead.")
        if not all(value > 0 for value in self.C):
            raise DataError(f"{where}: 'C' must be positive. Got {self.C} instead.")


@dataclass(frozen=True)
class Specification:
    """A run: a name and its experiments."""

    name: str
    experiments: tuple[Experiment, ...]

    def narrowed(
        self,
        datasets: Sequence[str] = (),
        methods: Sequence[str] = (),
        trials: int | None = None,
    ) -> Specification:
        """Replace the data sets, keep only some methods, change the number of trials."""
        narrowed = []
        for experiment in self.experiments:
            named = tuple(m for m in experiment.methods if not methods or m in methods)
            if named:
                changes: JsonObject = {"methods": named}
                if datasets:
                    changes["datasets"] = tuple(datasets)
                if trials is not None:
                    changes["trials"] = trials
                narrowed.append(replace(experiment, **changes))
        if not narrowed:
            raise DataError(
                f"no experiment of {self.name!r} uses {', '.join(methods)}. Its methods: "
                f"{', '.join(sorted({m for e in self.experiments for m in e.methods}))}."
            )
        return Specification(self.name, tuple(narrowed))

    def to_dict(self) -> JsonObject:
        """Return plain Python values, for JSON."""
        return asdict(self)


def derive_seed(*names: object) -> int:
    """Return the seed that belongs to these names: the same on every machine, in any order of runs.

    Examples
    --------
    >>> derive_seed("letters", "trial", 0) == derive_seed("letters", "trial", 0)
    True
    >>> derive_seed("letters", "trial", 0) == derive_seed("letters", "trial", 1)
    False
    """
    digest = hashlib.sha256("\x1f".join(str(n) for n in names).encode()).digest()
    return int.from_bytes(digest[:4], "big") >> 1


def read(path: str | Path) -> Specification:
    """Read a specification file.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "mine.toml"
    >>> _ = path.write_text('[[experiment]]\\nname = "first"\\ndatasets = ["letters"]\\n'
    ...                     'methods = ["ESZSL", "Fast-ESZSL"]\\n')
    >>> read(path).experiments[0].trials
    1
    """
    path = Path(path)
    try:
        check_regular(path)
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path}: cannot be read as text: {error}") from None
    return parse(text, str(path), path.stem)


def parse(text: str, source: str, name: str) -> Specification:
    """Parse the text of a specification; ``source`` is named in errors."""
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise DataError(f"{source}: is not TOML: {error}") from None
    unknown = sorted(set(content) - {"name", "experiment"})
    if unknown:
        raise DataError(f"{source}: unknown key {unknown[0]!r}. Known: name, [[experiment]].")
    entries = content.get("experiment")
    if not isinstance(entries, list) or not entries:
        raise DataError(f"{source}: has no [[experiment]]. Add one with datasets and methods.")
    experiments = tuple(_experiment(e, i, source) for i, e in enumerate(entries, 1))
    names = [e.name for e in experiments]
    twice = sorted({n for n in names if names.count(n) > 1})
    if twice:
        raise DataError(f"{source}: two experiments are called {twice[0]!r}. Give each its own name.")
    return Specification(str(content.get("name", name)), experiments)


def paper_specification(budget: str = "quick") -> Specification:
    """Return the specification that makes every table and figure of the paper."""
    if budget not in BUDGETS:
        raise DataError(f"budget must be one of {', '.join(BUDGETS)}. Got {budget!r} instead.")
    file = resources.files(__package__) / "specifications" / f"paper_{budget}.toml"
    return parse(file.read_text(encoding="utf-8"), f"the paper's {budget} specification", "paper")


def _experiment(entry: Mapping[str, object], number: int, source: str) -> Experiment:
    where = f"{source}: experiment {number}"
    known = {f.name for f in fields(Experiment)}
    for key, value in entry.items():
        if key not in known:
            raise DataError(f"{where}: unknown key {key!r}. Known: {', '.join(sorted(known))}.")
        if key == "parameters":
            _check_parameters(where, value)
        elif key not in ("name", "trials", "exact_once", "preset"):
            kind = (int, float) if key in ("shares", "C") else str
            if not isinstance(value, list) or not all(isinstance(v, kind) for v in value):
                what = "numbers" if key in ("shares", "C") else "strings"
                raise DataError(f"{where}: {key!r} must be a list of {what}. Got {value!r} instead.")
    missing = [key for key in ("datasets", "methods") if key not in entry]
    if missing:
        raise DataError(f"{where}: {missing[0]!r} is missing.")
    values: JsonObject = {k: tuple(v) if isinstance(v, list) else v for k, v in entry.items()}
    table = entry.get("parameters", {})
    values["parameters"] = frozen_parameters(table.items() if isinstance(table, Mapping) else ())
    values["name"] = str(values.get("name", f"experiment {number}"))
    for key in ("shares", "C"):
        if key in values:
            values[key] = tuple(float(v) for v in values[key])
    try:
        return Experiment(**values)
    except DataError as error:
        raise DataError(f"{source}: {error}") from None


def frozen_parameters(items: Iterable[Sequence[object]]) -> tuple[tuple[str, Parameter], ...]:
    """Return names and values in the order of names, lists as tuples.

    >>> frozen_parameters({"mu": 0, "shares": [0.5, 1.0]}.items())
    (('mu', 0), ('shares', (0.5, 1.0)))
    """
    return tuple(sorted((str(name), _frozen(value)) for name, value in items))


def _frozen(value: Any) -> Parameter:
    return tuple(_frozen(v) for v in value) if isinstance(value, (list, tuple)) else value


def _check_parameters(where: str, table: object) -> None:
    if not isinstance(table, Mapping):
        raise DataError(f"{where}: 'parameters' must be a table of names and values. Got {table!r}.")
    for name, value in table.items():
        if not isinstance(value, (bool, int, float, str, list)):
            raise DataError(
                f"{where}: the parameter {name!r} must be a number, a string, true, false or a list. "
                f"Got {value!r}."
            )


def _among(where: str, part: str, values: Sequence[str], known: Sequence[str]) -> None:
    for value in values:
        if value not in known:
            raise DataError(f"{where}: {part!r} must be among {', '.join(known)}. Got {value!r}.")

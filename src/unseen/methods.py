"""The catalogue of methods: what commands, specifications, documents and tests call by name.

It is filled from class attributes: every class of :mod:`unseen.inductive` and
:mod:`unseen.transductive` with a ``citation`` of its own is a method, and has a fast form if it
``takes_class_means``. An installed package adds its own estimators by entry points of the group
``unseen.methods``; they are imported when the catalogue is first asked for, not before.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING, Any

from unseen.citation import Citation
from unseen.exceptions import DataError

if TYPE_CHECKING:  # the command line reads names here and must not wait for scikit-learn
    from unseen.base import ZeroShotClassifier

ENTRY_POINT_GROUP = "unseen.methods"
"""Entry points of this group are ``name = "module:Class"``."""

DEFAULT = "SelfPacedPrototypes"
"""The method that is used where none is named."""
DEFAULT_FOR_TEXTS = "SharedSpacePrototypes"
"""The same for texts: texts and classes have vectors of one encoder, and no label is needed."""


@dataclass(frozen=True)
class Method:
    """A method in its plain or its fast form.

    Parameters
    ----------
    plain_name : str
        The name of the plain form: that of the class, or of the entry point.
    estimator : type
        The class that ``build`` makes an estimator of.
    fast : bool
        Whether :class:`~unseen.FastTraining` goes around the estimator.
    package : str
        The distribution that the method comes from.

    Examples
    --------
    >>> find("ESZSL").citation.year
    2015
    >>> find("Fast-ESZSL").build({"cat": [1.0], "dog": [2.0]})
    FastTraining(estimator=ESZSL(semantics={'cat': [1.0], 'dog': [2.0]}))
    """

    plain_name: str
    estimator: type[ZeroShotClassifier]
    fast: bool = False
    package: str = "unseen"

    @property
    def name(self) -> str:
        """The name in commands and specifications."""
        return self._form(self.plain_name)

    @property
    def table_name(self) -> str:
        """The name in the tables of Yu, Ji, Guo and Pang."""
        citation = self.citation
        return self._form((citation.table_name if citation else "") or self.plain_name)

    @property
    def citation(self) -> Citation | None:
        """The paper of the method; None if its class names none. That of a base class is another's."""
        return vars(self.estimator).get("citation")

    @property
    def transductive(self) -> bool:
        """Whether it learns from unlabelled rows as well."""
        return self.estimator.learns_from_pool

    @property
    def takes_class_means(self) -> bool:
        """Whether it has a fast form; a fast form has no other."""
        return self.estimator.takes_class_means and not self.fast

    @property
    def takes_chunks(self) -> bool:
        """Whether it learns from rows that are not in memory."""
        return self.build()._takes_chunks()

    @property
    def takes_known(self) -> bool:
        """Whether it learns from the known classes of some rows of the pool."""
        return bool(getattr(self.build(), "takes_known", False))

    @property
    def draws_at_random(self) -> bool:
        """Whether it has a ``random_state``; without one, the order of rows changes no answer."""
        return any(key.rpartition("__")[2] == "random_state" for key in self.build().get_params())

    def build(
        self,
        semantics: object = None,
        *,
        candidates: object = None,
        random_state: int | None = None,
        published: bool = False,
        parameters: Mapping[str, object] | None = None,
    ) -> ZeroShotClassifier:
        """Return an unfitted estimator.

        Parameters
        ----------
        semantics : mapping or table, class -> vector
        candidates : {"unseen", "seen", "all"} or list of classes, optional
            Set on the outermost estimator, whose word counts; None leaves the default.
        random_state : int, optional
            For every part that draws at random.
        published : bool
            The authors' form, ``as_published``, in place of the defaults. The fast form of a method
            that descends then starts at ESZSL's solution, as the paper on ASTE says.
        parameters : mapping, optional
            Of the estimator, of a fast form the one inside.
        """
        given_parameters: dict[str, Any] = dict(parameters or {})
        names = self.estimator._get_param_names()
        unknown = sorted(set(given_parameters) - set(names))
        if unknown:
            raise DataError(
                f"{self.plain_name} has no parameter {unknown[0]!r}. It has: {', '.join(names)}."
            )
        if published and self.estimator.published is None:
            raise DataError(f"{self.plain_name} has no published form: it is described here alone.")
        if published and self.fast and "init" in names:
            given_parameters = {"init": "eszsl"} | given_parameters
        make = self.estimator.as_published if published else self.estimator
        model: ZeroShotClassifier = make(semantics=semantics, **given_parameters)
        if self.fast:
            from unseen.fast import FastTraining

            model = FastTraining(model)
        given: dict[str, object] = {} if candidates is None else {"candidates": candidates}
        if random_state is not None:
            seeds = [key for key in model.get_params() if key.rpartition("__")[2] == "random_state"]
            given |= dict.fromkeys(seeds, random_state)
        model.set_params(**given)
        return model

    def _form(self, name: str) -> str:
        return f"Fast-{name}" if self.fast else name


@cache
def catalogue() -> Mapping[str, Method]:
    """Return name → method: inductive, transductive, those of other packages, then fast forms.

    Examples
    --------
    >>> list(catalogue())[:3]
    ['DAP', 'IAP', 'ALE']
    """
    methods = {method.name: method for method in _own_methods()}
    for point in sorted(entry_points(group=ENTRY_POINT_GROUP), key=lambda point: point.name):
        package = point.dist.name if point.dist is not None else "an unknown package"
        try:
            methods[point.name] = Method(point.name, _load(point, methods), package=package)
        except Exception as error:  # whatever the package does when it is imported
            warnings.warn(
                f"The method {point.name!r} of the package {package!r} is left out: {error}",
                stacklevel=2,
            )
    fast = [replace(m, fast=True) for m in methods.values() if m.takes_class_means]
    return methods | {method.name: method for method in fast}


def find(name: str, others: Sequence[str] = ()) -> Method:
    """Return a method by its name; ``others`` are names that the caller also knows.

    Examples
    --------
    >>> find("EZSL")
    Traceback (most recent call last):
    unseen.exceptions.DataError: There is no method 'EZSL'. Near names: ESZSL, MetricZSL, CosineZSL.
    """
    methods = catalogue()
    if name in methods:
        return methods[name]
    lower_case = {known.lower(): known for known in (*methods, *others)}
    near = [lower_case[match] for match in get_close_matches(name.lower(), lower_case)]
    listed = f"Near names: {', '.join(near)}" if near else f"Known: {', '.join(lower_case.values())}"
    raise DataError(f"There is no method {name!r}. {listed}.")


def fast_form(name: str) -> str | None:
    """Return the name of a method's fast form, if it has one.

    >>> fast_form("ASTE"), fast_form("WDVSc")
    ('Fast-ASTE', None)
    """
    fast = replace(find(name), fast=True).name
    return fast if fast in catalogue() else None


def select(
    *,
    transductive: bool | None = None,
    fast: bool | None = None,
    takes_class_means: bool | None = None,
    takes_chunks: bool | None = None,
    takes_known: bool | None = None,
) -> list[str]:
    """Return the names of the methods that are as asked; None means either.

    >>> select(transductive=True, fast=True)
    ['Fast-TASTE']
    """
    asked = {
        "transductive": transductive,
        "fast": fast,
        "takes_class_means": takes_class_means,
        "takes_chunks": takes_chunks,
        "takes_known": takes_known,
    }
    wanted = {key: value for key, value in asked.items() if value is not None}
    return [
        name
        for name, method in catalogue().items()
        if all(getattr(method, key) == value for key, value in wanted.items())
    ]


def _own_methods() -> Iterator[Method]:
    """Yield the methods of this library, inductive ones first, in the order of their years."""
    from unseen import inductive, transductive

    for package in (inductive, transductive):
        classes = [getattr(package, name) for name in package.__all__]
        cited = [cls for cls in classes if vars(cls).get("citation") is not None]
        for cls in sorted(cited, key=lambda cls: (cls.citation.year, cls.__name__)):
            yield Method(cls.__name__, cls)


def _load(point: EntryPoint, taken: Mapping[str, Method]) -> type[ZeroShotClassifier]:
    """Import the class of an entry point; an error says why it cannot be a method."""
    from unseen.base import ZeroShotClassifier

    if not point.name.isidentifier():
        raise ValueError("a name consists of letters, digits and underscores")
    if point.name in taken:
        raise ValueError(f"{taken[point.name].package} has a method of this name")
    cls = point.load()
    if not (isinstance(cls, type) and issubclass(cls, ZeroShotClassifier)):
        raise TypeError(f"{point.value} is no subclass of unseen.base.ZeroShotClassifier")
    missing = {"semantics", "candidates"} - set(cls().get_params())
    if missing:
        raise TypeError(f"{point.value} has no parameter {', '.join(sorted(missing))}")
    return cls

"""Which method: grouped by what it learns from, each in one line, with the one that is recommended."""

from __future__ import annotations

import inspect
from collections.abc import Callable

from nicegui import ui

from unseen import methods
from unseen.methods import DEFAULT, DEFAULT_FOR_TEXTS, Method

NOTHING = "nothing"
NEEDS_NO_LABEL = "Need no label: items and classes are texts"
GROUPS: dict[str, Callable[[Method], bool]] = {
    "Learn from labelled items and from those to label": lambda m: (
        m.transductive and m.estimator.needs_labelled_rows and not m.fast
    ),
    "Learn from labelled items alone": lambda m: not m.transductive and not m.fast,
    NEEDS_NO_LABEL: lambda m: not m.estimator.needs_labelled_rows,
    "Quick forms, from one mean a class": lambda m: m.fast,
}
"""The title of a group → which methods are in it."""

REASONS = {
    DEFAULT: "Recommended: it predicts from its description where a class lies, and corrects that "
    "by the items to label. It sets its own parameters, says when it is unsure, and takes your "
    "corrections.",
    DEFAULT_FOR_TEXTS: "Recommended for texts: it starts from what the classes are called, and "
    "corrects that by the texts to label. It needs no labelled text, and takes your corrections.",
}
"""Of the methods that are recommended: what they do, and why."""


def groups_for(texts: bool) -> dict[str, list[str]]:
    """Return the groups and the methods in them that can take texts, or photographs."""
    catalogue = methods.catalogue()
    groups = {}
    for title, has in GROUPS.items():
        names = [name for name, m in catalogue.items() if has(m)]
        if not texts:
            names = [name for name in names if catalogue[name].estimator.needs_labelled_rows]
        if names:
            groups[title] = sorted(names, key=lambda name: name not in REASONS)
    return groups


def explanation(name: str) -> str:
    """Say in one line what a method does."""
    if name == NOTHING:
        return ""
    method = methods.find(name)
    return REASONS.get(name) or (inspect.getdoc(method.estimator) or "").partition("\n")[0]


class MethodChoice:
    """The controls that choose a method, and one to compare it with.

    Parameters
    ----------
    texts : bool
        Whether texts are labelled.
    """

    def __init__(self, texts: bool) -> None:
        groups = groups_for(texts)
        first = DEFAULT_FOR_TEXTS if texts else DEFAULT
        start = next(title for title, names in groups.items() if first in names)
        self._groups = groups
        self.family = ui.select(list(groups), value=start, label="Kind of method")
        self.family.props("outlined dense options-dense")
        self.method = ui.select(groups[start], value=first, label="Method")
        self.method.props("outlined dense options-dense")
        self.told = ui.label(explanation(first)).classes("soft")
        every = [name for names in groups.values() for name in names]
        self.other = ui.select([NOTHING, *every], value=NOTHING, label="Compare with")
        self.other.props("outlined dense options-dense")
        self.told_other = ui.label("").classes("soft")
        self.told_other.visible = False
        self.family.on_value_change(self._show_group)
        for choice in (self.method, self.other):
            choice.on_value_change(self._tell)

    @property
    def names(self) -> list[str]:
        """The method, and the one that it is compared with if there is one."""
        chosen = [str(self.method.value)]
        if self.other.value not in (NOTHING, self.method.value):
            chosen.append(str(self.other.value))
        return chosen

    def _show_group(self) -> None:
        names = self._groups[str(self.family.value)]
        self.method.set_options(names, value=names[0])

    def _tell(self) -> None:
        self.told.text = explanation(str(self.method.value))
        self.told_other.text = explanation(str(self.other.value))
        self.told_other.visible = self.other.value != NOTHING

"""Where a method comes from: the paper that describes it, and its name in the tables of others."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Citation:
    """The paper of a method, a class attribute of its estimator.

    Parameters
    ----------
    authors : str
        Family names.
    title, venue : str
    year : int
    table_name : str
        What the tables of Yu, Ji, Guo and Pang (2017) call the method, if not by the name of the class.

    Examples
    --------
    >>> print(Citation("Romera-Paredes and Torr", "An embarrassingly simple approach", "ICML", 2015))
    Romera-Paredes and Torr, "An embarrassingly simple approach", ICML 2015
    """

    authors: str
    title: str
    venue: str
    year: int
    table_name: str = ""

    def __str__(self) -> str:
        return f'{self.authors}, "{self.title}", {self.venue} {self.year}'

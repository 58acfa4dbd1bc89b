"""One finding of the auditor."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Finding:
    """One thing that the auditor found.

    Attributes
    ----------
    severity : {"error", "warning", "info"}
        An error makes a result wrong; a warning may; info is good to know.
    code : str
        A short name that does not change.
    message : str
        What was found, and where.
    effect : str
        What it does to a result.
    remedy : str
        What to do.
    """

    severity: Literal["error", "warning", "info"]
    code: str
    message: str
    effect: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.severity}: {self.code}: {self.message} {self.effect} {self.remedy}"

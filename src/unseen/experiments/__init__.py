"""Experiments: specification → plan → run → store → tables, figures and a report."""

from typing import TYPE_CHECKING, Any

from unseen.experiments.plan import Cell, Plan, make_plan
from unseen.experiments.result_store import Row, Store
from unseen.experiments.run import run
from unseen.experiments.specification import Experiment, Specification, paper_specification, read

if TYPE_CHECKING:
    from unseen.experiments.result_page import write_report

__all__ = [
    "Cell",
    "Experiment",
    "Plan",
    "Row",
    "Specification",
    "Store",
    "make_plan",
    "paper_specification",
    "read",
    "run",
    "write_report",
]


def __getattr__(name: str) -> Any:
    """Import the report, which draws with matplotlib, only where it is asked for."""
    if name == "write_report":
        from unseen.experiments.result_page import write_report

        return write_report
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

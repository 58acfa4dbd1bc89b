"""Experiments: specification → plan → run → store → tables, figures and a report."""

from unseen.experiments.plan import Cell, Plan, make_plan
from unseen.experiments.result_page import write_report
from unseen.experiments.result_store import Row, Store
from unseen.experiments.run import run
from unseen.experiments.specification import Experiment, Specification, paper_specification, read

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

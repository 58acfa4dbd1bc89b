"""Texts in CSV files that a spreadsheet would take for a formula, and run."""

from __future__ import annotations

import re

_FORMULA = re.compile("'*[=+\\-@\t\r\n＝＋－＠]")
_NEUTRAL = re.compile("'+[=+\\-@\t\r\n＝＋－＠]")


def neutral_cell(text: str) -> str:
    """Return a cell that no spreadsheet runs: an apostrophe stands before the sign of a formula.

    >>> neutral_cell("=1+1"), neutral_cell("fox"), neutral_cell("'=1")
    ("'=1+1", 'fox', "''=1")
    """
    return f"'{text}" if _FORMULA.match(text) else text


def original_cell(cell: str) -> str:
    """Return the text that :func:`neutral_cell` was given.

    >>> original_cell("'=1+1"), original_cell("'fox'"), original_cell("''=1")
    ('=1+1', "'fox'", "'=1")
    """
    return cell[1:] if _NEUTRAL.match(cell) else cell

"""Formulas in docstrings: a paragraph that is indented stays as it is typed.

The docstrings write a problem as an indented paragraph with mathematical characters, which reads
well in ``help()``. reStructuredText would flow such a paragraph together; here it becomes a literal
block.
"""

from __future__ import annotations

from typing import Any

SECTIONS = ("Parameters", "Attributes", "Returns", "Yields", "Raises", "Examples", "Notes", "See Also")


def keep_formulas(app: Any, what: str, name: str, obj: object, options: Any, lines: list[str]) -> None:
    """Mark the indented paragraphs that stand before the first section as literal."""
    result: list[str] = []
    literal = False
    for number, line in enumerate(lines):
        following = lines[number + 1] if number + 1 < len(lines) else ""
        if line.strip() in SECTIONS and set(following.strip()) == {"-"}:
            result += lines[number:]
            break
        indented = line.startswith("    ") and bool(line.strip())
        if indented and not literal and (not result or not result[-1].strip()):
            result += ["::", ""]
            literal = True
        elif line.strip() and not indented:
            literal = False
        result.append(line)
    lines[:] = result


def setup(app: Any) -> dict[str, bool]:
    """Connect to autodoc, before napoleon reads the sections."""
    app.connect("autodoc-process-docstring", keep_formulas, priority=100)
    return {"parallel_read_safe": True}

"""Docstrings as the reference shows them: an indented paragraph is a formula and stays as typed.

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


def leave_out_routing(
    app: Any, what: str, name: str, obj: object, skip: bool, options: Any
) -> bool | None:
    """Leave out scikit-learn's methods for routing metadata and for the type of output."""
    routing = name.startswith("set_") and name.endswith("_request")
    return True if routing or name in ("get_metadata_routing", "set_output") else None


def setup(app: Any) -> dict[str, bool]:
    """Connect to autodoc; formulas before napoleon reads the sections."""
    app.connect("autodoc-process-docstring", keep_formulas, priority=100)
    app.connect("autodoc-skip-member", leave_out_routing)
    return {"parallel_read_safe": True}

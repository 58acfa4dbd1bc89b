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


ABOUT_THE_CLASS = (
    "advice", "citation", "learns_from_pool", "needs_labelled_rows", "published",
    "rehearses_in_directions", "takes_chunks", "takes_class_means", "takes_known",
)  # fmt: skip
"""Attributes that the page of a method shows in words."""
SCIKIT_LEARN = ("get_metadata_routing", "get_params", "set_output", "set_params")


def leave_out(app: Any, what: str, name: str, obj: object, skip: bool, options: Any) -> bool | None:
    """Leave out what scikit-learn documents, and attributes that the page shows in words."""
    routing = name.startswith("set_") and name.endswith("_request")
    return True if routing or name in (*ABOUT_THE_CLASS, *SCIKIT_LEARN) else None


def setup(app: Any) -> dict[str, bool]:
    """Connect to autodoc; formulas before napoleon reads the sections."""
    app.connect("autodoc-process-docstring", keep_formulas, priority=100)
    app.connect("autodoc-skip-member", leave_out)
    return {"parallel_read_safe": True}

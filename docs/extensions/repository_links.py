"""Links of the guides that lead to files of the repository outside ``docs``.

On the forge a guide may link to ``../../examples/own_data.py``; on the site that is the page of the
example in the gallery. What has no page of its own is shown as its name.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

LINK = re.compile(r"(?<!!)\[([^\]]+)\]\((?!https?:)([^)#\s]+)(#[^)]*)?\)")


def rewrite(app: Any, docname: str, source: list[str]) -> None:
    """Point links to examples at the gallery, and turn links to other files into code."""
    path = Path(app.env.doc2path(docname))
    if path.suffix != ".md":
        return
    docs = Path(app.srcdir)

    def replace(match: re.Match[str]) -> str:
        text, target, anchor = match[1], match[2], match[3] or ""
        file = Path(os.path.normpath(path.parent / target))
        if file.is_relative_to(docs):
            return match[0]
        if file.is_relative_to(docs.parent / "examples") and file.suffix == ".py":
            page = docs / "gallery" / file.relative_to(docs.parent / "examples").with_suffix(".rst")
            return f"[{text}]({os.path.relpath(page, path.parent)}{anchor})"
        special = {"SECURITY.md": "design/security.md", "CONTRIBUTING.md": "design/contributing.md"}
        if file.name in special:
            return f"[{text}]({os.path.relpath(docs / special[file.name], path.parent)}{anchor})"
        return f"`{text}`"

    source[0] = LINK.sub(replace, source[0])


def setup(app: Any) -> dict[str, bool]:
    """Rewrite each page as it is read."""
    app.connect("source-read", rewrite)
    return {"parallel_read_safe": True}

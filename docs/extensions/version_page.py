"""The releases, for the page on versions: from the change log, with links to sites built beside this.

A site of another version is found in a folder named after it beside the one that is being built, so
the links work without a network and without a server.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

HEADING = re.compile(r"^## \[([\d.]+)\] - (\S+)", re.M)


def releases(log: str, current: str, beside: Path) -> str:
    """Return the table of releases, the newest first."""
    lines = ["| version | released | documentation |", "| --- | --- | --- |"]
    for version, date in HEADING.findall(log):
        site = f"`git checkout v{version} && make docs SITE={version}`"
        if version == current:
            site = "this site"
        elif (beside / version / "index.html").is_file():
            site = f'<a href="../{version}/index.html">{version}</a>'
        lines += [f"| {version} | {'not yet' if date == 'unreleased' else date} | {site} |"]
    return "\n".join(lines) + "\n"


def write_table(app: Any) -> None:
    """Write the table where ``versions.md`` includes it."""
    log = (Path(app.srcdir).parent / "CHANGELOG.md").read_text(encoding="utf-8")
    path = Path(app.srcdir) / "design/generated/releases.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(releases(log, app.config.version, Path(app.outdir).parent), encoding="utf-8")


def setup(app: Any) -> dict[str, bool]:
    """Write before the pages are read."""
    app.connect("builder-inited", write_table)
    return {"parallel_read_safe": True}

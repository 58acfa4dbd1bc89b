"""Cut a release: ``make release VERSION=0.2.0`` writes version, change log and citation.

The version is that of ``src/unseen/version.py``. The section that is ``unreleased`` gets the version
and the date, and CITATION.cff the same. You commit and tag; the workflow
`release.yml` does the rest when the tag comes.
"""

from __future__ import annotations

import argparse
import datetime
import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
UNRELEASED = re.compile(r"^## \[(?:Unreleased|\d+\.\d+\.\d+)\](?: - unreleased)?$", re.MULTILINE)


def cut_changes(text: str, version: str, date: str) -> str:
    """Name and date the first section, which has to be unreleased and to say something."""
    found = UNRELEASED.search(text)
    if found is None or found.start() != text.find("## ["):
        raise ValueError(
            "CHANGELOG.md: the first section is not unreleased. Begin one: ## [Unreleased]"
        )
    section = text[found.end() :].split("\n## [", 1)[0]
    if "\n- " not in section:
        raise ValueError("CHANGELOG.md: the unreleased section has no entry.")
    return f"{text[: found.start()]}## [{version}] - {date}{text[found.end() :]}"


def begin_changes(text: str) -> str:
    """Begin the next section above the first."""
    place = text.find("## [")
    return f"{text[:place]}## [Unreleased]\n\n{text[place:]}"


def notes(text: str, version: str) -> str:
    """Return what the change log says about a version, for the page of the release."""
    found = re.search(
        rf"^## \[{re.escape(version)}\] - \d{{4}}-\d\d-\d\d\n(.*?)(?=^## \[|\Z)", text, re.M | re.S
    )
    if found is None:
        raise ValueError(f"CHANGELOG.md: has no dated section for {version}.")
    return found.group(1).strip()


def with_version(text: str, version: str) -> str:
    """Return version.py with another version, which has to be higher or the same."""
    found = re.search(r'^__version__ = "(.+)"$', text, re.MULTILINE)
    assert found is not None
    if _parts(version) < _parts(found.group(1)):
        raise ValueError(f"{version} is before {found.group(1)}, which version.py has.")
    return text[: found.start(1)] + version + text[found.end(1) :]


def _parts(version: str) -> tuple[int, ...]:
    if not re.fullmatch(r"\d+\.\d+\.\d+", version):
        raise ValueError(f"{version!r} is no version: write three numbers, as in 0.2.0.")
    return tuple(int(part) for part in version.split("."))


def cited(text: str, version: str, date: str) -> str:
    """Return CITATION.cff with version and date."""
    for key, value in (("version", version), ("date-released", date)):
        line = f"{key}: {value}"
        text, count = re.subn(rf"^{key}: .*$", line, text, flags=re.MULTILINE)
        text = text if count else text.rstrip("\n") + f"\n{line}\n"
    return text


def cut(root: Path, version: str, date: str) -> None:
    """Write the three files; all are checked before one is written."""
    files = [root / name for name in ("src/unseen/version.py", "CHANGELOG.md", "CITATION.cff")]
    code, changes, citation = (file.read_text(encoding="utf-8") for file in files)
    new = (
        with_version(code, version),
        cut_changes(changes, version, date),
        cited(citation, version, date),
    )
    for file, text in zip(files, new, strict=True):
        file.write_text(text, encoding="utf-8")


def main() -> None:
    """Cut, begin the next section, or print a version's notes."""
    parser = argparse.ArgumentParser(description="Cut a release.")
    parser.add_argument("version")
    parser.add_argument("--notes", action="store_true", help="only print the notes of the version")
    parser.add_argument("--begin", action="store_true", help="only begin the next section")
    given = parser.parse_args()
    changes = ROOT / "CHANGELOG.md"
    try:
        if given.notes:
            print(notes(changes.read_text(encoding="utf-8"), given.version))
        elif given.begin:
            changes.write_text(begin_changes(changes.read_text(encoding="utf-8")), encoding="utf-8")
        else:
            cut(ROOT, given.version, datetime.datetime.now(datetime.UTC).date().isoformat())
            print(
                f"Now commit it as 'Release {given.version}', tag it v{given.version}, and push both."
            )
    except ValueError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()

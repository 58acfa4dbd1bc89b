"""Every promise of SECURITY.md names a test that exists."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_every_promise_names_a_test():
    page = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", page)
    assert len(named) > 20
    for file, name in named:
        assert f"def {name}(" in (ROOT / file).read_text(encoding="utf-8"), f"{file}::{name}"
    promises = page.partition("## Files that you open")[2].partition("## What is not promised")[0]
    for promise in re.split(r"\n- |\n\n", promises):
        assert promise.startswith("## ") or not promise.strip() or "`tests/" in promise, promise


def test_every_page_that_is_written_has_a_policy():
    """A page of this package says itself what may run in it, or is sent with a header that does."""
    by_header = {"front_page.html", "sign_in_page.html"}  # the tests of service and studio ask for it
    pages = [
        path
        for path in (ROOT / "src").rglob("*")
        if path.suffix in (".py", ".html") and "<!doctype" in path.read_text(encoding="utf-8").lower()
    ]
    assert by_header < {path.name for path in pages}
    for path in pages:
        policy = 'http-equiv="Content-Security-Policy"' in path.read_text(encoding="utf-8")
        assert policy or path.name in by_header, path

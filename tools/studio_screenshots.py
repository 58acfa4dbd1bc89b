"""Take the screenshots of the studio in ``docs/img``: both pages, light and dark, desktop and phone.

    python tools/studio_screenshots.py

It also writes ``docs/img/studio-words.json``, the headings and buttons that the pages had; a test
compares them with those of the pages as they are, so that the pictures cannot grow old unnoticed.
Needs playwright and chromium.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

IMAGES = Path(__file__).parents[1] / "docs" / "img"
WORDS = IMAGES / "studio-words.json"
SIZES = {"": {"width": 1180, "height": 860}, "-phone": {"width": 390, "height": 844}}
SCHEMES = {"": "light", "-dark": "dark"}
PATIENCE_MILLISECONDS = 300_000
SESSION_NAME = "Digits, first look"
LABELS_GIVEN = 3
FIND_WORDS = """() => [...document.querySelectorAll('h1, h2, button.q-btn, summary')]
  .filter(found => found.checkVisibility())
  .map(found => found.innerText.trim().replace(/\\s+/g, ' ').replace(/ [\\d,]+$/, ''))"""
"""Headings and buttons of a page, without the numbers behind them."""
PICTURES_ARE_THERE = """() => [...document.querySelectorAll('.tile img')].every(
  image => image.complete && image.naturalWidth)
  && (!document.querySelector('.map') || document.querySelector('.map').points)"""


@contextmanager
def studio(folder: Path) -> Iterator[str]:
    """Run a studio that keeps its sessions in a folder; give its address."""
    command = [sys.executable, "-m", "unseen", "studio", "--no-open", "--port", "0", "--pace", "0"]
    command += ["--root", str(folder), "--sessions", str(folder / "sessions")]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield next(found[1] for line in process.stdout if (found := re.search(r"(http://\S+)", line)))
    finally:
        process.terminate()
        process.wait()


def fill_session(page: Any) -> str:
    """Learn the example from the start page, give some labels, and return the session's address."""
    page.get_by_label("Name of the session").fill(SESSION_NAME)
    page.get_by_role("button", name="Learn").click()
    page.get_by_role("button", name="Labels (CSV),").wait_for()
    page.get_by_role("button", name="Review them one by one").click()
    page.get_by_role("heading", name="Which class is it?").wait_for()
    for number in range(LABELS_GIVEN):
        page.get_by_role("dialog").get_by_text(f" · {number + 1} of").wait_for()
        page.keyboard.press("1")
    page.keyboard.press("Escape")
    page.get_by_role("group", name="Your labels").wait_for()
    return str(page.url)


def page_words(page: Any) -> list[str]:
    """Return the headings and buttons of a page."""
    return list(page.evaluate(FIND_WORDS))


def main() -> None:
    """Take all screenshots."""
    from playwright.sync_api import sync_playwright

    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    words: dict[str, list[str]] = {}
    with (
        tempfile.TemporaryDirectory() as folder,
        studio(Path(folder)) as address,
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        first = browser.new_context()
        page = first.new_page()
        page.set_default_timeout(PATIENCE_MILLISECONDS)
        page.goto(address)
        page.get_by_role("button", name="Learn").wait_for()
        words["start"] = page_words(page)
        session = fill_session(page)
        words["session"] = page_words(page)
        start = session.partition("/session/")[0]
        for scheme, colours in SCHEMES.items():
            for size, viewport in SIZES.items():
                context = browser.new_context(
                    viewport=viewport, color_scheme=colours, storage_state=first.storage_state()
                )
                shown = context.new_page()
                shown.set_default_timeout(PATIENCE_MILLISECONDS)
                for name, place in (("studio-start", start), ("studio", session)):
                    shown.goto(place)
                    button = "Learn" if place == start else "Labels (CSV),"
                    shown.get_by_role("button", name=button).wait_for()
                    shown.wait_for_function(PICTURES_ARE_THERE)
                    shown.screenshot(path=IMAGES / f"{name}{size}{scheme}.png")
                context.close()
        browser.close()
    WORDS.write_text(json.dumps(words, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

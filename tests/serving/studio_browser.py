"""A studio and a browser that uses it by clicks and keys."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest
from live import PATIENCE, environment, live

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="needs chromium")
SECOND = 1000
ROOT = Path(__file__).parents[2]
AXE = Path(os.environ.get("UNSEEN_AXE", ROOT / "node_modules" / "axe-core" / "axe.min.js"))
WITH_BAGS = f"""
import sys; sys.path.insert(0, {str(ROOT / "tests")!r})
import texts
from unseen import features
features.text_encoder = lambda name="minilm": texts.Bags()
"""
WITH_COLOURS = f"import sys; sys.path.insert(0, {str(ROOT / 'tests')!r}); import pictures"
HELD_ROUNDS = """
import pathlib, time
from unseen.serving.studio import live_session

def held(data, name, corrections, on_round, strangers):
    def wait(snapshot):
        on_round(snapshot)
        while snapshot.number <= {last} and not pathlib.Path({folder!r}, str(snapshot.number)).exists():
            time.sleep(0.02)
    return learn(data, name, corrections, wait, strangers)

learn, live_session.learn = live_session.learn, held
"""
"""The fit goes on after a round only when a file with its number is in the folder."""


@contextmanager
def opened(browser, url, **options):
    """A page of the browser; what its scripts fail with fails the test."""
    context = browser.new_context(
        **{"viewport": {"width": 1180, "height": 860}, "reduced_motion": "reduce", **options}
    )
    page = context.new_page()
    page.set_default_timeout(PATIENCE * SECOND)
    faults = []
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.goto(url)
    yield page
    assert faults == []
    context.close()


@contextmanager
def studio(root, before=WITH_COLOURS, **options):
    """A studio that reads a folder and keeps its sessions there."""
    arguments = ("studio", "--no-open", "--port", "0", "--pace", "0", "--root", root)
    cache = {"UNSEEN_CACHE": str(root / "cache")}
    with live(*arguments, "--sessions", root / "sessions", before=before, env=cache, **options) as it:
        yield it


def browse(page, field, *steps):
    """Choose a folder or a file in the page's browser of folders."""
    page.get_by_role("button", name=f"Browse: {field}").click()
    for step in steps:
        page.get_by_role("dialog").get_by_role("button", name=step).click()
    page.get_by_role("dialog").wait_for(state="detached")


def name_folders(page, folder):
    """Fill the fields about the photographs of a folder; the backbone is the tests' own."""
    page.get_by_role("radio", name="A folder of photographs").click()
    page.get_by_label("Labelled photographs").first.fill(str(folder / "seen"))
    page.get_by_label("Photographs to label").first.fill(str(folder / "new"))
    page.get_by_label("Classes: a table").first.fill(str(folder / "classes.csv"))
    page.get_by_role("button", name="More options").first.click()
    page.get_by_label("Backbone").fill("colours")


def result_is_there(page):
    """Wait for the result."""
    page.get_by_role("button", name="Labels (CSV),").wait_for()


def download(page, name, path):
    """Press a button that downloads; return where the file is."""
    with page.expect_download() as waiting:
        page.get_by_role("button", name=name).click()
    waiting.value.save_as(path)
    return path


def command_line(before, folder, *arguments):
    """Run a command as a user does, with the backbone or encoder of the tests."""
    run = f"{before}\nfrom unseen.cli import main\nmain()"
    subprocess.run(
        [sys.executable, "-c", run, *map(str, arguments)],
        env=environment({"UNSEEN_CACHE": str(folder / "cache")}),
        check=True,
        capture_output=True,
        timeout=PATIENCE,
    )

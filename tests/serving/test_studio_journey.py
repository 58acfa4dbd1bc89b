"""The studio in a browser, by clicks and keys: a folder, a class added, labels, reload, restart."""

from __future__ import annotations

import os
import shutil
import signal
from contextlib import contextmanager
from pathlib import Path

import pytest
from live import PATIENCE, live

from pictures import COLOURS, NOBODY_LABELLED, Colours, picture, write_attributes, write_pictures
from unseen import labelling
from unseen.labelling import Task, fit

sync_api = pytest.importorskip("playwright.sync_api", reason="needs playwright")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="needs chromium")

SECOND = 1000
ROOT = Path(__file__).parents[2]
AXE = Path(os.environ.get("UNSEEN_AXE", ROOT / "node_modules" / "axe-core" / "axe.min.js"))
SEEN = [name for name in COLOURS if name not in NOBODY_LABELLED]
WITH_COLOURS = f"import sys; sys.path.insert(0, {str(ROOT / 'tests')!r}); import pictures"
FIND_SERIOUS = """async (within) => (await axe.run(within, {resultTypes: ['violations']})).violations
  .filter(found => ['serious', 'critical'].includes(found.impact))
  .map(found => `${found.id}: ${found.nodes[0].html.slice(0, 120)}`)"""


@pytest.fixture(scope="module")
def browser():
    with sync_api.sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield found
        found.close()


@contextmanager
def opened(browser, url, **options):
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
def studio(root, **options):
    arguments = ("studio", "--no-open", "--port", "0", "--pace", "0", "--root", root)
    cache = {"UNSEEN_CACHE": str(root / "cache")}
    with live(
        *arguments, "--sessions", root / "sessions", before=WITH_COLOURS, env=cache, **options
    ) as it:
        yield it


@pytest.fixture
def folder(tmp_path):
    write_pictures(tmp_path / "seen", SEEN)
    write_pictures(tmp_path / "new", NOBODY_LABELLED)
    write_attributes(tmp_path / "classes.csv")
    return tmp_path


def browse(page, field, *steps):
    page.get_by_role("button", name=f"Browse: {field}").click()
    for step in steps:
        page.get_by_role("dialog").get_by_role("button", name=step).click()
    page.get_by_role("dialog").wait_for(state="detached")


def result_is_there(page):
    page.get_by_role("button", name="Labels (CSV),").wait_for()


def download(page, name, path):
    with page.expect_download() as waiting:
        page.get_by_role("button", name=name).click()
    waiting.value.save_as(path)
    return path


def expected_labels(folder, table, labels):
    """Write what the library answers with the same labels, as ``unseen label`` does."""
    prepared = labelling.prepare(folder / "seen", unlabelled=folder / "new", classes=table)
    data = labelling.extract(prepared, Colours(), None)
    rows = {item: row for row, item in enumerate(data.items)}
    given = {rows[item]: label for item, label in labels.items()}
    path = folder / "expected.csv"
    fit(Task(data, corrections=given)).labels().write(path)
    return path.read_bytes()


def test_from_an_empty_page_to_labels_that_equal_those_of_the_command_line(browser, folder):
    with studio(folder) as running, opened(browser, running.url) as page:
        page.get_by_role("radio", name="A folder of photographs").click()
        browse(page, "Labelled photographs", "🗀 seen", "Choose this folder")
        browse(page, "Photographs to label", "🗀 new", "Choose this folder")
        browse(page, "Classes: a table", "classes.csv")
        page.get_by_label("Backbone").fill("colours")
        page.get_by_role("button", name="Show and check the classes").click()
        page.get_by_text("The descriptions tell all candidates apart.").wait_for()
        page.get_by_label("Add a class: its name").fill("teal")
        page.get_by_label("Attributes like").click()
        page.get_by_role("option", name="cyan").click()
        page.get_by_role("button", name="Add", exact=True).click()
        page.get_by_role("row", name="teal to find cyan").wait_for()
        page.get_by_role("button", name="Learn").click()
        result_is_there(page)
        assert page.locator(".map circle").count() == 18
        page.get_by_role("button", name="Review them one by one").click()
        page.get_by_role("heading", name="Which class is it?").wait_for()
        for number in range(1, 11):
            page.get_by_text(f"{number:,} of 18").wait_for()
            page.keyboard.press("1")
        page.keyboard.press("Escape")
        page.get_by_text("10 labels of yours, 10 new").wait_for()
        page.get_by_role("button", name="Undo").click()
        page.get_by_text("9 labels of yours, 9 new").wait_for()
        page.reload()
        page.get_by_text("9 labels of yours, 9 new").wait_for()
        page.get_by_role("button", name="Continue").click()
        page.get_by_text("9 labels of yours", exact=True).wait_for()
        result_is_there(page)
        page.get_by_text("What changed since the last run").wait_for()
        first = download(page, "Labels (CSV),", folder / "labels.csv").read_bytes()
        known = download(page, "Your labels (CSV)", folder / "known.csv").read_text().splitlines()
        running.stop(signal.SIGKILL)
    labels = dict(line.split(",") for line in known[1:])
    assert len(labels) == 9
    tables = (folder / "sessions" / "tables").glob("*.csv")
    (table,) = [path for path in tables if "teal" in path.read_text()]
    assert first == expected_labels(folder, table, labels)
    with studio(folder) as running, opened(browser, running.url) as page:
        page.get_by_role("link", name="seen → new").click()
        result_is_there(page)
        page.get_by_text("9 labels of yours", exact=True).wait_for()
        assert download(page, "Labels (CSV),", folder / "again.csv").read_bytes() == first


def test_thousands_of_pictures_are_drawn_where_the_window_is(browser, tmp_path):
    """5,000 pictures: the page holds those near the window, and scrolling brings all others."""
    write_pictures(tmp_path / "seen", SEEN, each=3)
    write_attributes(tmp_path / "classes.csv")
    (tmp_path / "new").mkdir()
    for number in range(5000):
        name = NOBODY_LABELLED[number % 3]
        data = picture(COLOURS[name], number, size=(6, 4))
        (tmp_path / "new" / f"{number:04}.png").write_bytes(data)
    with studio(tmp_path) as running, opened(browser, running.url) as page:
        page.get_by_role("radio", name="A folder of photographs").click()
        page.get_by_label("Labelled photographs").first.fill(str(tmp_path / "seen"))
        page.get_by_label("Photographs to label").first.fill(str(tmp_path / "new"))
        page.get_by_label("Classes: a table").first.fill(str(tmp_path / "classes.csv"))
        page.get_by_label("Backbone").fill("colours")
        page.get_by_role("button", name="Learn").click()
        result_is_there(page)
        listed = page.evaluate(
            "[...document.querySelectorAll('.class .gallery')].map(g => g.pictures.length)"
        )
        assert sum(listed) == 5000
        page.reload()
        result_is_there(page)
        page.locator(".tile img").first.wait_for()
        assert page.locator(".tile").count() < 1500
        page.evaluate("scrollTo(0, document.body.scrollHeight)")
        page.wait_for_function(
            "() => { const all = [...document.querySelectorAll('.class .gallery')].at(-1);"
            ' const last = all.querySelector(`[data-place="${all.pictures.length - 1}"] img`);'
            " return last && last.complete && last.naturalWidth > 0; }"
        )
        assert page.locator(".tile").count() < 1500


@pytest.mark.skipif(not AXE.is_file(), reason="needs axe-core: npm install --no-save axe-core")
@pytest.mark.parametrize(("scheme", "width"), [("light", 1180), ("dark", 390)])
def test_no_page_has_a_serious_fault_of_accessibility(browser, tmp_path, scheme, width):
    def check(page, place, within="body"):
        page.evaluate(AXE.read_text(encoding="utf-8"))
        assert page.evaluate(FIND_SERIOUS, within) == [], place
        assert page.evaluate("document.documentElement.lang") == "en"
        sides = page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
        assert sides[0] <= sides[1], f"{place} scrolls sideways"

    look = {"color_scheme": scheme, "viewport": {"width": width, "height": 860}}
    with studio(tmp_path) as running, opened(browser, running.url, **look) as page:
        learn = page.get_by_role("button", name="Learn")
        learn.wait_for()
        check(page, "the first page")
        page.get_by_role("radio", name="A folder of photographs").click()
        page.get_by_role("button", name="Browse: Labelled photographs").click()
        page.get_by_role("button", name="Choose this folder").wait_for()
        check(page, "the browser of folders", ".q-dialog")
        page.keyboard.press("Escape")
        page.get_by_role("dialog").wait_for(state="detached")
        check(page, "the fields of a folder")
        page.get_by_role("radio", name="The example").click()
        learn.click()
        result_is_there(page)
        check(page, "a result")
        page.get_by_role("button", name="Review them one by one").click()
        page.get_by_role("heading", name="Which class is it?").wait_for()
        check(page, "the dialogue", ".q-dialog")
        page.keyboard.press("1")
        page.keyboard.press("Escape")
        page.locator(".chip").wait_for()
        check(page, "labels of one's own")

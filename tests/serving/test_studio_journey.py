"""The studio in a browser, by clicks and keys: a folder, a class added, labels, reload, restart."""

from __future__ import annotations

import re
import signal

import pytest
from studio_browser import (
    WITH_BAGS,
    WITH_COLOURS,
    browse,
    command_line,
    download,
    name_folders,
    needs_chromium,
    opened,
    result_is_there,
    studio,
)

from pictures import COLOURS, NOBODY_LABELLED, picture, write_attributes, write_pictures
from texts import write_classes, write_texts

pytestmark = needs_chromium
SEEN = [name for name in COLOURS if name not in NOBODY_LABELLED]


@pytest.fixture
def folder(tmp_path):
    write_pictures(tmp_path / "seen", SEEN)
    write_pictures(tmp_path / "new", NOBODY_LABELLED)
    write_attributes(tmp_path / "classes.csv")
    return tmp_path


def test_from_an_empty_page_to_labels_that_equal_those_of_the_command_line(browser, folder):
    with studio(folder) as running, opened(browser, running.url) as page:
        page.get_by_role("radio", name="A folder of photographs").click()
        browse(page, "Labelled photographs", "folder seen", "Choose this folder")
        browse(page, "Photographs to label", "folder new", "Choose this folder")
        browse(page, "Classes: a table", "classes.csv")
        page.get_by_role("button", name="More options").first.click()
        page.get_by_label("Backbone").fill("colours")
        page.get_by_role("button", name="Show and check the classes").click()
        page.get_by_text("The descriptions tell all candidates apart.").wait_for()
        page.get_by_label("Its name").first.fill("teal")
        page.get_by_label("Attributes like").click()
        page.get_by_role("option", name="cyan").click()
        page.get_by_role("button", name="Add", exact=True).click()
        page.get_by_role("row", name="teal to find cyan").wait_for()
        page.get_by_role("button", name="Learn").click()
        result_is_there(page)
        of_answers = map_is_drawn(page)
        page.get_by_role("button", name="Review them one by one").click()
        page.get_by_role("heading", name="Which class is it?").wait_for()
        for number in range(1, 11):
            page.get_by_role("dialog").get_by_text(f" · {number} of 18").wait_for()
            page.keyboard.press("0" if number == 4 else "1")
        page.keyboard.press("Escape")
        page.get_by_text("10 labels of yours, 10 new").wait_for()
        of_ten = map_is_drawn(page, after=of_answers)
        page.get_by_role("button", name="Undo").click()
        page.get_by_text("9 labels of yours, 9 new").wait_for()
        map_is_drawn(page, after=of_ten)
        open_a_point_of_the_map(page)
        page.locator(".choice").first.click()
        page.get_by_text("10 labels of yours, 10 new").wait_for()
        page.reload()
        page.get_by_text("10 labels of yours, 10 new").wait_for()
        page.get_by_role("button", name="Continue").click()
        page.get_by_text("10 labels of yours", exact=True).wait_for()
        result_is_there(page)
        page.get_by_text("What changed since the last run").wait_for()
        first = download(page, "Labels (CSV),", folder / "labels.csv").read_bytes()
        known = download(page, "Your labels (CSV)", folder / "known.csv").read_text().splitlines()
        running.stop(signal.SIGKILL)
    labels = dict(line.split(",") for line in known[1:])
    assert len(labels) == 10
    tables = (folder / "sessions" / "tables").glob("*.csv")
    (table,) = [path for path in tables if "teal" in path.read_text()]
    arguments = ["--seen", folder / "seen", "--unlabelled", folder / "new", "--classes", table]
    arguments += ["--backbone", "colours", "--known", folder / "known.csv"]
    command_line(WITH_COLOURS, folder, "label", *arguments, "--out", folder / "again.csv")
    assert (folder / "again.csv").read_bytes() == first
    with studio(folder) as running, opened(browser, running.url) as page:
        page.get_by_role("link", name="seen → new").click()
        result_is_there(page)
        page.get_by_text("10 labels of yours", exact=True).wait_for()
        assert download(page, "Labels (CSV),", folder / "reopened.csv").read_bytes() == first


def map_is_drawn(page, after=None):
    """Wait for a map with its points, and for another one than before; return where its list is.

    The text that counts labels changes first: keys that are pressed then are pressed on a map that is
    about to go, or on one whose points have not come; they come when it is near the window.
    """
    page.wait_for_function(
        "after => { const map = document.querySelector('.map'); map?.scrollIntoView();"
        " return map?.points?.length === 18 && map.dataset.list !== after; }",
        arg=after,
    )
    return page.locator(".map").get_attribute("data-list")


def open_a_point_of_the_map(page):
    """Choose a picture on the map that nobody has labelled, by keys."""
    page.locator(".map").focus()
    for _ in range(18):
        page.keyboard.press("ArrowRight")
        row = page.locator(".map").get_attribute("data-row")
        if not page.locator(f'.gallery[aria-label="Your labels"] [data-row="{row}"]').count():
            break
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="Which class is it?").wait_for()


def drop(page, field, path):
    """Drag a folder or a file from a file manager to a field, as Chromium gets it."""
    place = page.get_by_label(field).first
    place.wait_for()  # a box is that of the moment, and there is none before it is drawn
    box = place.bounding_box()
    spot = {"x": box["x"] + box["width"] / 3, "y": box["y"] + box["height"] / 2}
    browser = page.context.new_cdp_session(page)
    data = {"items": [], "files": [str(path)], "dragOperationsMask": 1}
    for kind in ("dragEnter", "dragOver", "drop"):
        browser.send("Input.dispatchDragEvent", {"type": kind, **spot, "data": data})


def test_folders_and_files_are_dropped_on_their_fields(browser, folder, tmp_path_factory):
    outside = tmp_path_factory.mktemp("elsewhere")
    with studio(folder) as running, opened(browser, running.url) as page:
        page.get_by_role("radio", name="A folder of photographs").click()
        for field, name in (("Labelled photographs", "seen"), ("Classes: a table", "classes.csv")):
            drop(page, field, folder / name)
            page.wait_for_function(
                "([field, path]) => [...document.querySelectorAll('input')].some("
                "one => one.ariaLabel?.startsWith(field) && one.value === path)",
                arg=[field, str(folder / name)],
            )
        drop(page, "Photographs to label", outside)
        page.get_by_text(f"{outside.name}: no such folder was found in {folder}").wait_for()
        drop(page, "Photographs to label", folder / "classes.csv")
        page.get_by_text("classes.csv: a folder belongs here.").wait_for()
        assert page.url.rstrip("/").endswith(str(running.port)), "the browser opened no dropped file"


def test_texts_from_an_empty_page_to_labels_of_the_command_line(browser, tmp_path):
    """A class is added on the page, answers are corrected; the command line gives the same labels."""
    write_texts(tmp_path / "t.csv")
    write_classes(tmp_path / "c.csv")
    with studio(tmp_path, before=WITH_BAGS) as running, opened(browser, running.url) as page:
        page.get_by_role("radio", name="A file of texts").click()
        browse(page, "Texts to label", "t.csv")
        browse(page, "Classes: names", "c.csv")
        page.get_by_role("button", name="Show and check the classes").locator("visible=true").click()
        page.get_by_role("row", name="refund to find").wait_for()
        page.get_by_label("Its name").locator("visible=true").fill("invoice")
        page.get_by_label("Its description").locator("visible=true").fill("money bill payment due")
        page.get_by_role("button", name="Add", exact=True).locator("visible=true").click()
        page.get_by_role("row", name="invoice to find refund").wait_for()
        page.get_by_role("button", name="Learn").click()
        result_is_there(page)
        page.locator(".words").first.wait_for()
        page.get_by_role("button", name="Review them one by one").click()
        for number in range(1, 4):
            page.get_by_role("dialog").get_by_text(f" · {number} of 24").wait_for()
            page.keyboard.press("2")
        page.keyboard.press("Escape")
        page.get_by_text("3 labels of yours, 3 new").wait_for()
        page.get_by_role("button", name="Continue").click()
        page.get_by_text("3 labels of yours", exact=True).wait_for()
        result_is_there(page)
        labels = download(page, "Labels (CSV),", tmp_path / "labels.csv").read_bytes()
        known = download(page, "Your labels (CSV)", tmp_path / "known.csv")
    (table,) = [p for p in (tmp_path / "sessions" / "tables").iterdir() if "invoice" in p.read_text()]
    arguments = ["label", "--texts", tmp_path / "t.csv", "--classes", table, "--known", known]
    command_line(WITH_BAGS, tmp_path, *arguments, "--out", tmp_path / "again.csv")
    assert (tmp_path / "again.csv").read_bytes() == labels


KILLS = 20


@pytest.mark.slow
def test_a_kill_at_any_of_twenty_moments_loses_no_label_that_the_page_has_shown(browser, tmp_path):
    """It is killed after a label of the review, and every second time while it learns again."""
    write_pictures(tmp_path / "seen", SEEN)
    write_pictures(tmp_path / "new", NOBODY_LABELLED, each=10)
    write_attributes(tmp_path / "classes.csv")
    place = ""
    for moment in range(KILLS + 1):
        with studio(tmp_path) as running, opened(browser, running.url) as page:
            if place:
                page.goto(f"{running.url.partition('?')[0]}{place}")
            else:
                name_folders(page, tmp_path)
                page.get_by_role("button", name="Learn").click()
            result_is_there(page)
            place = page.url.partition(f":{running.port}/")[2]
            many = f"{moment:,} label{'s' * (moment != 1)} of yours"
            page.get_by_text(re.compile(f"^{many}")).wait_for()
            page.get_by_role("button", name="Review them one by one").click()
            page.get_by_role("heading", name="Which class is it?").wait_for()
            page.keyboard.press("1")
            page.get_by_text(re.compile(f"^{moment + 1:,} labels? of yours")).wait_for()
            if moment % 2:
                page.keyboard.press("Escape")
                page.get_by_role("dialog").wait_for(state="detached")
                page.get_by_role("button", name="Continue").click()
            running.stop(signal.SIGKILL)


THOUSANDS = 2000
MOST_PAGE_BYTES, MOST_ELEMENTS, MOST_TILES = 60_000, 700, 900
"""Each is exceeded if 2,000 pictures are drawn, or named in 30 bytes each, at once."""


def write_thousands(folder, count=THOUSANDS):
    """Thousands of pictures to label, and the labelled ones of other classes."""
    write_pictures(folder / "seen", SEEN, each=3)
    write_attributes(folder / "classes.csv")
    (folder / "new").mkdir()
    for number in range(count):
        name = NOBODY_LABELLED[number % 3]
        data = picture(COLOURS[name], number, size=(6, 4))
        (folder / "new" / f"{number:04}.png").write_bytes(data)


LAST_IS_SHOWN = """() => {
  const all = [...document.querySelectorAll('.class .gallery')].at(-1);
  const last = all.querySelector(`[data-place="${all.count - 1}"] img`);
  return last && last.complete && last.naturalWidth > 0; }"""
NEXT_FRAME = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"


def test_thousands_of_pictures_are_drawn_where_the_window_is(browser, tmp_path):
    """The page is as small as one of few pictures: it fetches those near the window."""
    write_thousands(tmp_path)
    with studio(tmp_path) as running, opened(browser, running.url) as page:
        name_folders(page, tmp_path)
        page.get_by_role("button", name="Learn").click()
        result_is_there(page)
        fetched, sent = [], []
        page.on("request", lambda request: fetched.append(request.url))
        page.on("websocket", lambda socket: socket.on("framereceived", lambda f: sent.append(len(f))))
        answer = page.reload()
        result_is_there(page)
        page.locator(".tile img").first.wait_for()
        counts = page.evaluate("[...document.querySelectorAll('.class .gallery')].map(g => g.count)")
        assert sum(counts) == THOUSANDS
        assert len(answer.body()) < MOST_PAGE_BYTES
        assert sum(sent) < MOST_PAGE_BYTES, "nothing large comes over the socket"
        assert page.evaluate("document.querySelectorAll('*').length") < MOST_ELEMENTS
        pictures = {address for address in fetched if "/picture/" in address}  # again after a reconnect
        assert len(pictures) < 100, "those near the window"
        heap = "performance.memory.usedJSHeapSize"
        before = page.evaluate(heap)
        height = page.evaluate("document.body.scrollHeight")
        for step in range(40):
            page.evaluate("top => scrollTo(0, top)", height * step / 40)
            page.evaluate(NEXT_FRAME)
            assert page.locator(".tile").count() < MOST_TILES
        page.evaluate("scrollTo(0, document.body.scrollHeight)")
        page.wait_for_function(LAST_IS_SHOWN)
        assert page.locator(".tile").count() < MOST_TILES
        assert page.evaluate(heap) - before < 50e6, "what was scrolled past is let go"

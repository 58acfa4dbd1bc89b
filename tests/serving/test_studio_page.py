"""The studio in a browser: from the first click to downloaded labels."""

from __future__ import annotations

import csv
import importlib.util
import json
import re
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from live import PATIENCE, live
from studio_browser import HELD_ROUNDS, SECOND, needs_chromium

import unseen

pytestmark = needs_chromium
STUDIO = ["studio", "--no-open", "--port", "0", "--pace", "0.05"]
HELD = 3


@pytest.fixture(scope="module")
def studio(tmp_path_factory):
    root, sessions = tmp_path_factory.mktemp("root"), tmp_path_factory.mktemp("sessions")
    with live(*STUDIO, "--root", root, "--sessions", sessions) as running:
        running.root = root
        yield running
        assert running.stop() == 0


@contextmanager
def _opened(browser, url):
    """A page that notes every request, and fails the test for one that leaves the machine."""
    context = browser.new_context(
        viewport={"width": 1180, "height": 860}, accept_downloads=True, reduced_motion="reduce"
    )
    page = context.new_page()
    page.set_default_timeout(PATIENCE * SECOND)
    addresses, faults = [], []
    page.on("request", lambda request: addresses.append(request.url))
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.goto(url)
    page.get_by_role("button", name="Learn").wait_for()
    yield page
    strange = [a for a in addresses if urlsplit(a).scheme in ("http", "https", "ws", "wss")]
    strange = [a for a in strange if urlsplit(a).hostname != "127.0.0.1"]
    assert strange == [], "a request left the machine"
    assert faults == []
    context.close()


@pytest.fixture
def page(browser, studio):
    with _opened(browser, studio.url) as page:
        yield page


def _learn(page):
    page.get_by_role("button", name="Learn").click()
    page.get_by_role("button", name="Labels (CSV),").first.wait_for()


def _labels(page, tmp_path, place=0):
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Labels (CSV),").nth(place).click()
    path = tmp_path / waiting.value.suggested_filename
    waiting.value.save_as(path)
    with path.open(newline="", encoding="utf-8") as file:
        return {row["image"]: row for row in csv.DictReader(file)}


def _status(page):
    return page.locator(".status").first.inner_text()


def _check_rounds(page, name):
    """The page keeps every round that it has shown, and its figures, when all is over."""
    table = page.get_by_role("table", name=name, exact=True)
    table.get_by_role("button", name="result").wait_for()
    lines = [line.locator("th, td").all_inner_texts() for line in table.get_by_role("row").all()]
    told = {title: figures for title, *figures in lines}
    assert list(told) == ["", "joined", "trusted", "classes", "sure"]
    rounds = len(told[""]) - 2
    assert rounds >= 3
    assert told[""] == ["start", *map(str, range(1, rounds + 1)), "result"]
    joined = [int(figure.replace(",", "")) for figure in told["joined"][:-1]]
    assert min(joined[:3]) > 0, "pictures join in the first rounds"
    assert told["joined"][-1] == "–"
    assert re.search(r"Result · \d[\d,]* of 1,797 unsure · 10 of 10 classes found", _status(page))
    assert told["classes"][-1] == "10"
    assert f"{told['sure'][-1]} sure on average" in _status(page)


def test_rounds_are_shown_while_it_learns(browser, tmp_path):
    """The fit goes on only when the browser shows its round."""
    gated = HELD_ROUNDS.format(folder=str(tmp_path), last=HELD)
    sessions = ("--sessions", tmp_path / "sessions")
    with live(*STUDIO, *sessions, before=gated) as running, _opened(browser, running.url) as page:
        page.get_by_role("button", name="Learn").click()
        for number in range(HELD + 1):
            where = f"Round {number}" if number else "Start"
            status = page.locator(".status", has_text=f"{where} … ·")
            status.wait_for()
            assert " joined · " in status.inner_text()
            page.locator(".tile.joined").first.wait_for()
            assert page.locator(".rounds button").count() == number + 1
            (tmp_path / str(number)).touch()
        page.get_by_role("button", name="Labels (CSV),").wait_for()
        _check_rounds(page, "Round by round")


def test_from_the_first_click_to_labels_model_and_report(page, tmp_path):
    """Nothing is typed: data and method are chosen, one label is put right, all is downloaded."""
    _learn(page)
    _check_rounds(page, "Round by round")
    before = _labels(page, tmp_path)
    assert len(before) == 1797
    assert {row["label"] for row in before.values()} == set("0123456789")

    page.get_by_role("button", name="round 1", exact=True).click()
    page.locator(".status", has_text="Round 1").wait_for()
    page.locator(".tile.joined").first.wait_for()
    page.get_by_role("button", name="result").click()
    page.locator(".status", has_text="Result").wait_for()

    section = page.get_by_role("region", name="3", exact=True)
    section.scroll_into_view_if_needed()
    tile = section.locator(".tile").first
    row = int(tile.get_attribute("data-row"))
    tile.click()
    page.get_by_role("heading", name="Which class is it?").wait_for()
    page.locator(".choice").nth(1).click()
    page.get_by_role("group", name="Your labels").scroll_into_view_if_needed()
    label = page.get_by_role("group", name="Your labels").locator(".tile")
    label.wait_for()
    chosen = label.locator(".caption").inner_text()
    assert chosen != "3"
    assert _labels(page, tmp_path)[f"digit-{row:04}.png"]["label"] == chosen

    page.get_by_text("1 label of yours, 1 new").wait_for()
    page.get_by_role("button", name="Continue").click()
    page.get_by_text("1 label of yours", exact=True).wait_for()
    _check_rounds(page, "Round by round, with 1 label of yours")
    page.locator(".status", has_text="Result").wait_for()
    page.get_by_role("button", name="Labels (CSV),").wait_for()
    section = page.get_by_role("region", name=chosen, exact=True)
    section.scroll_into_view_if_needed()
    section.locator(f'.tile.yours[data-row="{row}"]').wait_for()
    after = _labels(page, tmp_path)[f"digit-{row:04}.png"]
    assert (after["label"], float(after["confidence"])) == (chosen, 1.0)

    with page.expect_download() as waiting:
        page.get_by_role("button", name="Model file").click()
    waiting.value.save_as(tmp_path / "model.safetensors")
    model = unseen.load(tmp_path / "model.safetensors")
    assert type(model).__name__ == "SelfPacedPrototypes"
    assert model.classes_.tolist() == list("0123456789")
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Report (HTML)").click()
    waiting.value.save_as(tmp_path / "report.html")
    report = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "corrected by hand" in report
    assert "1797 photographs labelled" in report


def test_two_methods_side_by_side(page, tmp_path):
    page.get_by_label("Compare with").click()
    page.get_by_role("option", name="ESZSL", exact=True).click()
    _learn(page)
    boards = [page.get_by_role("region", name=n, exact=True) for n in ("SelfPacedPrototypes", "ESZSL")]
    left, right = (board.bounding_box() for board in boards)
    assert left["y"] == right["y"]
    assert left["x"] + left["width"] < right["x"]
    comparison = page.get_by_role("region", name="Comparison")
    assert "They agree on" in comparison.inner_text()
    assert comparison.locator(".tile").count() == 24
    one, other = _labels(page, tmp_path, 0), _labels(page, tmp_path, 1)
    differ = sum(one[name]["label"] != other[name]["label"] for name in one)
    assert f"differ on {differ:,}" in comparison.inner_text()


def test_by_keyboard_alone(page):
    """Tab reaches everything and stays in the dialogue, Enter presses, Escape leaves the dialogue."""

    def tab_to(selector, most=60):
        for _ in range(most):
            page.keyboard.press("Tab")
            if page.evaluate("s => document.activeElement.matches(s)", selector):
                return
        raise AssertionError(f"Tab does not reach {selector}")

    def open_dialogue():
        page.keyboard.press("Enter")
        page.get_by_role("heading", name="Which class is it?").wait_for()
        page.wait_for_function("document.activeElement.closest('.q-dialog') !== null")

    for _ in range(60):
        tab_to("button.q-btn")
        if page.evaluate("document.activeElement.innerText") == "Learn":
            break
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Labels (CSV),").wait_for()
    page.locator(".tile").first.wait_for(state="attached")  # galleries are filled after the buttons
    tab_to(".tile")
    open_dialogue()
    page.keyboard.press("Escape")
    page.get_by_role("heading", name="Which class is it?").wait_for(state="detached")
    tab_to(".tile")
    open_dialogue()
    tab_to(".choice")
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="Which class is it?").wait_for(state="detached")
    page.get_by_role("group", name="Your labels").scroll_into_view_if_needed()
    page.get_by_role("group", name="Your labels").locator(".tile").wait_for()
    tab_to(".gallery .tile")
    first = page.evaluate("document.activeElement.dataset.row")
    page.keyboard.press("ArrowRight")
    assert page.evaluate("document.activeElement.dataset.row") != first
    page.keyboard.press("End")
    page.keyboard.press("Home")
    assert page.evaluate("document.activeElement.dataset.row") == first


def test_at_the_width_of_a_phone(page):
    page.set_viewport_size({"width": 390, "height": 844})
    page.get_by_label("Compare with").click()
    page.get_by_role("option", name="ESZSL", exact=True).click()
    _learn(page)
    wide = page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
    assert wide[0] <= wide[1], "the page scrolls sideways"
    boards = [page.get_by_role("region", name=n, exact=True) for n in ("SelfPacedPrototypes", "ESZSL")]
    assert boards[0].bounding_box()["x"] == boards[1].bounding_box()["x"]
    page.locator(".gallery .tile").first.click()
    page.get_by_role("heading", name="Which class is it?").wait_for()
    box = page.locator(".chooser").bounding_box()
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= 390
    page.wait_for_function(
        """() => { const heights = [...document.querySelectorAll(".choice")].map((c) => c.offsetHeight);
          return heights.length && Math.min(...heights) >= 44; }"""
    )


def test_the_screenshots_of_the_guide_show_the_pages_as_they_are(browser, tmp_path):
    """The pictures have the headings and buttons that the pages have now."""
    path = Path(__file__).parents[2] / "tools" / "studio_screenshots.py"
    spec = importlib.util.spec_from_file_location("studio_screenshots", path)
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    kept = json.loads(tool.WORDS.read_text(encoding="utf-8"))
    with live(*STUDIO, "--sessions", tmp_path) as running, _opened(browser, running.url) as page:
        assert tool.page_words(page) == kept["start"], "run: make screenshots"
        tool.fill_session(page)
        assert tool.page_words(page) == kept["session"], "run: make screenshots"
    for name in ("studio-start", "studio"):
        for size in tool.SIZES:
            for scheme in tool.SCHEMES:
                assert (tool.IMAGES / f"{name}{size}{scheme}.png").is_file()


def test_what_is_wrong_is_told_on_the_page(page, studio):
    page.get_by_label("A folder of photographs").click()
    page.get_by_role("button", name="Learn").click()
    page.get_by_role("alert").wait_for()
    assert "Name the folder" in page.get_by_role("alert").inner_text()
    page.get_by_label("Labelled photographs").first.fill(f"{studio.root}/nowhere")
    page.get_by_role("button", name="More options").locator("visible=true").click()
    page.get_by_label("A trial").fill("fox")
    page.get_by_role("button", name="Learn").click()
    page.get_by_text(f"{studio.root}/nowhere: no such folder or file").wait_for()


def test_nothing_is_said_of_files_outside_the_roots(page, studio, tmp_path):
    """A file that only its owner may read is neither opened nor quoted."""
    secret = tmp_path / "shadow.csv"
    secret.write_text("root:$6$never:quoted\n", encoding="utf-8")
    (studio.root / "texts.csv").write_text("text\nnothing\n", encoding="utf-8")
    page.get_by_label("A file of texts").click()
    page.get_by_role("button", name="More options").locator("visible=true").click()
    for field in ("Texts to label", "Classes: names, descriptions", "Texts with labels"):
        page.get_by_label("Texts to label").first.fill(f"{studio.root}/texts.csv")
        page.get_by_label(field).first.fill(str(secret))
        page.get_by_role("button", name="Learn").click()
        page.get_by_text(f"{secret}: lies outside the folders that the studio may read").wait_for()
        assert "never" not in page.content()
        page.get_by_label(field).first.fill("")

"""Names that would be scripts, in the pages of the studio and in its reports: none runs."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
sys.path[:0] = [str(TESTS / "serving")]

from live import PATIENCE, live  # noqa: E402

from pictures import COLOURS, picture  # noqa: E402

sync_api = pytest.importorskip("playwright.sync_api", reason="needs playwright")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="needs chromium")

RUN = "document.documentElement.dataset.ran=1"
TAG = f"'\"><img src=x onerror={RUN}>{{{{constructor.constructor(`{RUN}`)()}}}}"
SECOND = 1000
FAKES = f"""
import sys
sys.path.insert(0, {str(TESTS)!r})
import pictures
from texts import Bags
import unseen.features
unseen.features.text_encoder = lambda name="minilm": Bags()
"""


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    """Photographs and texts whose classes, files, columns and contents are pieces of script."""
    folder = tmp_path_factory.mktemp("hostile")
    for number, colour in enumerate(COLOURS):
        place = folder / "photos" / f"{colour}{TAG}"
        place.mkdir(parents=True)
        for each in range(4):
            (place / f"{each}{TAG}.png").write_bytes(picture(COLOURS[colour], seed=10 * number + each))
    quoted = TAG.replace('"', '""')
    lines = [f'"{name}{quoted}",{",".join(str(v / 255) for v in rgb)}' for name, rgb in COLOURS.items()]
    header = f'class,"{quoted}1","{quoted}2",blueness\n'
    (folder / "classes.csv").write_text(header + "\n".join(lines) + "\n", encoding="utf-8")
    topics = {"parcel": "box post late", "card": "money bank pin"}
    texts = [f'"{words} {quoted} {n}"' for words in topics.values() for n in range(6)]
    (folder / "texts.csv").write_text("text\n" + "\n".join(texts) + "\n", encoding="utf-8")
    described = [f'"{name}{quoted}","{words}"' for name, words in topics.items()]
    (folder / "topics.csv").write_text(
        "class,description\n" + "\n".join(described) + "\n", encoding="utf-8"
    )
    return folder


@pytest.fixture(scope="module")
def page(root):
    """The studio in a browser that notes what a page tried to run."""
    options = ["studio", "--no-open", "--port", "0", "--pace", "0", "--root", root]
    options += ["--sessions", root / "sessions"]
    fakes = {"before": FAKES, "env": {"UNSEEN_CACHE": str(root / "cache")}}
    with live(*options, **fakes) as studio, sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_context(accept_downloads=True).new_page()
        page.set_default_timeout(PATIENCE * SECOND)
        page.goto(studio.url)
        page.get_by_role("button", name="Learn").wait_for()
        yield page
        browser.close()


def _open_options(page):
    page.get_by_role("button", name="More options").locator("visible=true").click()


def _check(page, tmp_path):
    """Look at the page, at its dialogue and at its report: the names are there, and did not run."""
    page.get_by_role("button", name="Report (HTML)").first.wait_for()
    assert "onerror" in page.inner_text("main"), "names are shown as they are"
    page.locator(".gallery [data-row]").first.click()
    page.get_by_role("heading", name="Which class is it?").wait_for()
    page.locator(".choice").last.click()
    labels = page.get_by_role("group", name="Your labels")
    labels.scroll_into_view_if_needed()
    labels.locator(".tile").first.wait_for()
    assert page.evaluate("document.documentElement.dataset.ran") is None
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Report (HTML)").first.click()
    report = tmp_path / "report.html"
    waiting.value.save_as(report)
    other = page.context.new_page()
    other.goto(report.as_uri())
    assert "onerror" in other.inner_text("body")
    assert other.evaluate("document.documentElement.dataset.ran") is None
    other.close()


def test_no_name_of_photographs_and_classes_runs_in_the_studio(page, root, tmp_path):
    page.get_by_label("A folder of photographs").click()
    page.get_by_label("Labelled photographs").first.fill(str(root / "photos"))
    page.get_by_label("Classes: a table").first.fill(str(root / "classes.csv"))
    _open_options(page)
    page.get_by_label("A trial").fill(f"orange{TAG},white{TAG}")
    page.get_by_label("Backbone").fill("colours")
    page.get_by_role("button", name="Learn").click()
    _check(page, tmp_path)


def test_no_text_runs_in_the_studio(page, root, tmp_path):
    page.get_by_role("link", name="unseen studio").click()
    page.get_by_role("button", name="Learn").wait_for()
    page.get_by_label("A file of texts").click()
    page.get_by_label("Texts to label").first.fill(str(root / "texts.csv"))
    page.get_by_label("Classes: names").first.fill(str(root / "topics.csv"))
    page.get_by_role("button", name="Learn").click()
    _check(page, tmp_path)


def test_messages_about_hostile_paths_do_not_run(page, root):
    page.get_by_role("link", name="unseen studio").click()
    page.get_by_role("button", name="Learn").wait_for()
    page.get_by_label("A folder of photographs").click()
    page.get_by_label("Labelled photographs").first.fill(f"{root}/{TAG}")
    _open_options(page)
    page.get_by_label("A trial").fill("red")
    page.get_by_role("button", name="Learn").click()
    page.get_by_role("alert").filter(has_text="onerror").wait_for()
    assert page.evaluate("document.documentElement.dataset.ran") is None

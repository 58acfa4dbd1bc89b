"""The built site in a browser: ``make docs-check``."""

from __future__ import annotations

import os
import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

SITE = Path(__file__).parents[2] / "docs/_build/html"
CHROMIUM = Path("/usr/bin/chromium")
SIZES = {"desktop": (1280, 900), "phone": (390, 844)}
PATIENCE = 300_000  # milliseconds

pytestmark = [
    pytest.mark.site,
    pytest.mark.skipif(not SITE.is_dir(), reason=f"{SITE} is not there: make docs builds it"),
    pytest.mark.skipif(not CHROMIUM.exists(), reason="needs Debian's package chromium"),
]


@pytest.fixture(scope="module")
def browser():
    sync_api = pytest.importorskip("playwright.sync_api")
    with sync_api.sync_playwright() as playwright:
        yield playwright.chromium.launch(executable_path=str(CHROMIUM), args=["--no-sandbox"])


def opened(browser, **options):
    """Return a page that waits for a busy machine."""
    page = browser.new_context(**options).new_page()
    page.set_default_timeout(PATIENCE)
    return page


@pytest.mark.parametrize("size", SIZES)
def test_pages_open_without_errors(browser, size):
    width, height = SIZES[size]
    page = opened(browser, viewport={"width": width, "height": height})
    faults: list[str] = []
    page.on("console", lambda message: faults.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("requestfailed", lambda request: faults.append(f"missing: {request.url}"))
    paths = pages_of_the_site()
    assert len(paths) > 100
    for path in paths:
        page.goto(path.as_uri())
        found = [fault for fault in faults if "fetch" not in fault]
        assert not found, f"{path.relative_to(SITE)}: {found}"
        assert page.evaluate("document.documentElement.scrollWidth") <= width, (
            f"{path.name} is too wide"
        )


def pages_of_the_site() -> list[Path]:
    return sorted(path for path in SITE.rglob("*.html") if "_static" not in path.parts)


def pages_of_each_kind() -> list[Path]:
    """Return all pages, but every tenth only of those of single names, which one template makes."""
    names = sorted((SITE / "reference/generated/api").glob("*.html"))
    return [path for path in pages_of_the_site() if path not in names or names.index(path) % 10 == 0]


class Anchors(HTMLParser):
    """The places of a page that a link can lead to, and its links."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.places: set[str] = set()
        self.links: list[str] = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        self.places |= {values[key] for key in ("id", "name") if values.get(key)}
        if tag == "a" and values.get("href"):
            self.links.append(values["href"])


def test_links_lead_to_a_page_and_a_place_on_it():
    anchors = {path: Anchors(path) for path in pages_of_the_site()}
    broken = []
    for path, page in anchors.items():
        for link in page.links:
            target = urlsplit(link)
            if target.scheme or link.startswith("//"):
                continue
            file = (path.parent / unquote(target.path)).resolve() if target.path else path
            place = unquote(target.fragment)
            known = anchors.get(file)
            if not file.is_file() or (place and known and place not in known.places):
                broken.append(f"{path.relative_to(SITE)}: {link}")
    assert not broken, "\n".join(broken[:20])


@pytest.mark.parametrize("mode", ["light", "dark"])
@pytest.mark.parametrize("size", SIZES)
def test_axe_finds_nothing_serious(browser, size, mode):
    script = os.environ.get("UNSEEN_AXE", str(SITE.parents[2] / "node_modules/axe-core/axe.min.js"))
    if not Path(script).is_file():
        pytest.skip("needs axe-core: npm install --no-save axe-core, or UNSEEN_AXE")
    width, height = SIZES[size]
    page = opened(browser, viewport={"width": width, "height": height}, color_scheme=mode)
    found = []
    for path in pages_of_each_kind():
        page.goto(path.as_uri())
        page.add_script_tag(path=script)
        result = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
        found += [
            f"{path.relative_to(SITE)}: {violation['id']}: {violation['nodes'][0]['html'][:120]}"
            for violation in result["violations"]
            if violation["impact"] in ("serious", "critical")
        ]
    assert not found, "\n".join(found[:20])


@pytest.mark.parametrize("motion", ["reduce", "no-preference"])
def test_the_rounds_play_unless_the_reader_prefers_no_motion(browser, motion):
    page = opened(browser, reduced_motion=motion)
    page.goto((SITE / "gallery/tutorial/6_flagship.html").as_uri())
    player = page.locator(".rounds")
    button = player.get_by_role("button")
    assert button.inner_text() == ("Play" if motion == "reduce" else "Pause")
    assert player.locator("img:visible").count() == 1
    slider = player.get_by_role("slider")
    slider.fill("5")
    assert button.inner_text() == "Play"
    assert player.locator("img:visible").get_attribute("alt") == "The pool after round 5"
    slider.fill(slider.get_attribute("max"))
    button.click()
    assert button.inner_text() == "Pause"
    assert player.locator("img:visible").get_attribute("alt") == "The pool at the start"


def test_every_number_of_the_results_leads_to_its_command():
    pages = sorted((SITE / "results/generated").glob("*.html"))
    assert len(pages) >= 5
    for path in pages:
        text = path.read_text(encoding="utf-8")
        cells = re.findall(r"<td[^>]*><p>(.*?)</p></td>", text, re.S)
        bare = [cell for cell in cells if re.match(r"[−+]?\d+\.\d", cell)]
        assert not bare, f"{path.name}: {bare[:5]}"
        assert set(re.findall(r'class="number[^"]*" href="#([^"]+)"', text)) <= Anchors(path).places


def test_every_page_of_the_gallery_has_a_picture():
    pages = [
        p for p in (SITE / "gallery").rglob("*.html") if p.stem not in ("index", "sg_execution_times")
    ]
    assert len(pages) >= 20
    for page in pages:
        assert "sphx_glr_" in page.read_text(encoding="utf-8"), page.name


@pytest.mark.parametrize(
    "clicks",
    [
        ("I have texts", "texts in detail"),  # label my tickets
        ("I do research", "Contributing"),  # add my method
        ("I do research", "Inductive"),  # which method for weak features
    ],
    ids=["label my tickets", "add my method", "which method"],
)
def test_three_tasks_are_solved_in_three_clicks(browser, clicks):
    page = opened(browser)
    page.goto((SITE / "index.html").as_uri())
    card, link = clicks
    page.locator(".sd-card", has_text=card).click()
    page.locator(".bd-article").get_by_role("link", name=link).first.click()
    assert page.locator("h1").inner_text()

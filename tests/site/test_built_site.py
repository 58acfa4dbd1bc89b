"""The built site in a browser: ``make docs-check``."""

from __future__ import annotations

from pathlib import Path

import pytest

SITE = Path(__file__).parents[2] / "docs/_build/html"
CHROMIUM = Path("/usr/bin/chromium")
SIZES = {"desktop": (1280, 900), "phone": (390, 844)}

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


@pytest.mark.parametrize("size", SIZES)
def test_pages_open_without_errors(browser, size):
    width, height = SIZES[size]
    page = browser.new_page(viewport={"width": width, "height": height})
    faults: list[str] = []
    page.on("console", lambda message: faults.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("requestfailed", lambda request: faults.append(f"missing: {request.url}"))
    paths = sorted(path for path in SITE.rglob("*.html") if "_static" not in path.parts)
    assert len(paths) > 100
    for path in paths:
        page.goto(path.as_uri())
        found = [fault for fault in faults if "fetch" not in fault]
        assert not found, f"{path.relative_to(SITE)}: {found}"
        assert page.evaluate("document.documentElement.scrollWidth") <= width, (
            f"{path.name} is too wide"
        )


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
    page = browser.new_page()
    page.goto((SITE / "index.html").as_uri())
    card, link = clicks
    page.locator(".sd-card", has_text=card).click()
    page.locator(".bd-article").get_by_role("link", name=link).first.click()
    assert page.locator("h1").inner_text()

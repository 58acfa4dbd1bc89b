"""Every page of the studio, light and dark, desktop and phone.

axe finds no serious fault, letters are large enough to read, and targets large enough for a thumb.
"""

from __future__ import annotations

import pytest
from studio_browser import (
    AXE,
    HELD_ROUNDS,
    WITH_BAGS,
    WITH_COLOURS,
    name_folders,
    needs_chromium,
    opened,
    result_is_there,
    studio,
)

from pictures import COLOURS, NOBODY_LABELLED, write_attributes, write_pictures
from texts import write_classes, write_texts

pytestmark = [
    needs_chromium,
    pytest.mark.skipif(not AXE.is_file(), reason="needs axe-core: npm install --no-save axe-core"),
]
SCHEMES, WIDTHS = ("light", "dark"), (1180, 390)
FIND_SERIOUS = """async (within) => (await axe.run(within, {resultTypes: ['violations']})).violations
  .filter(found => ['serious', 'critical'].includes(found.impact))
  .map(found => `${found.id}: ${found.nodes[0].html.slice(0, 120)}`)"""
FIND_SMALL = """(within) => {
  const said = (found) => `${found.tagName} ${found.className} "${found.innerText?.slice(0, 30)}"`;
  const faults = [];
  const targets = document.querySelectorAll(`${within} :is(button, a, [role=button], input)`);
  for (const found of targets) {
    if (!found.checkVisibility({opacityProperty: true, visibilityProperty: true})) continue;
    const target = found.closest('.q-field__control, .q-checkbox, .q-radio') ?? found;
    const box = target.getBoundingClientRect();
    if (box.width && Math.min(box.width, box.height) < 24) faults.push(`small target: ${said(found)}`);
  }
  for (const found of document.querySelectorAll(`${within} *`)) {
    const words = [...found.childNodes].some((part) => part.nodeType === 3 && part.data.trim());
    if (words && found.checkVisibility() && parseFloat(getComputedStyle(found).fontSize) < 12)
      faults.push(`small letters: ${said(found)}`);
  }
  for (const image of document.querySelectorAll(`${within} img:not([alt])`)) faults.push(said(image));
  return faults; }"""
"""Targets below 24 pixels (WCAG 2.2), letters below 12 (Lighthouse), pictures without a text."""
IS_IN = """(scheme) => document.body.classList.contains('body--dark') === (scheme === 'dark')
  && !document.getAnimations().some((one) => one.playState === 'running'
    && Number.isFinite(one.effect.getComputedTiming().endTime))"""
"""The page has taken a scheme, and no colour is on its way from one to the other."""
HEAD = """[document.doctype?.name, document.characterSet, document.title, document.documentElement.lang,
  document.querySelector('meta[name=viewport]').content]"""


def check(page, place, within="body"):
    """Look at what is shown, light and dark."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE.read_text(encoding="utf-8"))
    for scheme in SCHEMES:
        page.emulate_media(color_scheme=scheme)
        page.wait_for_function(IS_IN, arg=scheme)
        assert page.evaluate(FIND_SERIOUS, within) == [], f"{place}, {scheme}"
    assert page.evaluate(FIND_SMALL, within) == [], place
    head = page.evaluate(HEAD)
    assert head[:2] == ["html", "UTF-8"]
    assert (head[2], head[4]) == ("unseen studio", "width=device-width, initial-scale=1")
    assert head[3] in ("en", "en-US")  # by the version of NiceGUI
    sides = page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
    assert sides[0] <= sides[1], f"{place} scrolls sideways"


def looks(width):
    return {"viewport": {"width": width, "height": 860}}


def write_folder(folder):
    write_pictures(folder / "seen", [name for name in COLOURS if name not in NOBODY_LABELLED])
    write_pictures(folder / "new", NOBODY_LABELLED)
    write_attributes(folder / "classes.csv")


@pytest.mark.parametrize("width", WIDTHS)
def test_no_page_about_photographs_has_a_serious_fault(browser, tmp_path, width):
    write_folder(tmp_path)
    held = WITH_COLOURS + HELD_ROUNDS.format(folder=str(tmp_path), last=1)
    with (
        studio(tmp_path, held) as running,
        opened(browser, running.url, **looks(width)) as page,
    ):
        learn = page.get_by_role("button", name="Learn")
        learn.wait_for()
        check(page, "the first page")
        page.get_by_role("radio", name="A folder of photographs").click()
        learn.click()
        page.get_by_role("alert").wait_for()
        check(page, "a problem")
        page.get_by_role("button", name="Browse: Labelled photographs").click()
        page.get_by_role("button", name="Choose this folder").wait_for()
        check(page, "the browser of folders", ".q-dialog")
        page.keyboard.press("Escape")
        page.get_by_role("dialog").wait_for(state="detached")
        name_folders(page, tmp_path)
        page.get_by_role("button", name="Show and check the classes").click()
        page.get_by_text("The descriptions tell all candidates apart.").wait_for()
        check(page, "the classes and all fields")
        learn.click()
        page.locator(".status", has_text="Start … ·").wait_for()
        check(page, "while it learns")
        for number in (0, 1):
            (tmp_path / f"{number}").touch()
        result_is_there(page)
        page.wait_for_function("document.querySelector('.map').points?.length === 18")
        page.locator(".map").focus()
        page.keyboard.press("ArrowRight")
        page.locator(".map .tip").wait_for()
        check(page, "a result, with a point of the map chosen")
        page.get_by_role("button", name="Review them one by one").click()
        page.get_by_role("heading", name="Which class is it?").wait_for()
        check(page, "the review", ".q-dialog")
        for number, key in enumerate("10", 1):
            page.get_by_role("dialog").get_by_text(f" · {number} of 18").wait_for()
            page.keyboard.press(key)
        page.keyboard.press("Escape")
        page.get_by_role("group", name="Your labels").locator(".tile").first.wait_for()
        page.get_by_role("button", name="Continue").click()
        page.get_by_text("What changed since the last run").wait_for()
        page.locator("summary").click()
        check(page, "what changed, labels of one's own, and the keys")
        page.get_by_role("link", name="unseen studio").click()
        page.get_by_role("heading", name="Go on").wait_for()
        check(page, "sessions to go on with")
        page.goto(f"{running.url.partition('?')[0]}session/{'0' * 16}")
        page.get_by_text("There is no such session.").wait_for()
        check(page, "a session that is not there")


@pytest.fixture(scope="module")
def about_texts(tmp_path_factory):
    """A studio with a file of texts, that every look is taken at."""
    folder = tmp_path_factory.mktemp("texts")
    write_texts(folder / "t.csv")
    write_classes(folder / "c.csv")
    with studio(folder, WITH_BAGS) as running:
        yield folder, running.url


@pytest.mark.parametrize("width", WIDTHS)
def test_no_page_about_texts_has_a_serious_fault(browser, about_texts, width):
    folder, url = about_texts
    with opened(browser, url, **looks(width)) as page:
        page.get_by_role("radio", name="A file of texts").click()
        page.get_by_label("Texts to label").first.fill(str(folder / "t.csv"))
        page.get_by_label("Classes: names").first.fill(str(folder / "c.csv"))
        page.get_by_role("button", name="Show and check the classes").locator("visible=true").click()
        page.get_by_role("row", name="refund to find").wait_for()
        page.get_by_label("Compare with").click()
        page.get_by_role("option", name="ESZSL", exact=True).click()
        page.get_by_text("Bilinear ridge regression on one-hot labels, in closed form.").wait_for()
        page.get_by_role("button", name="Learn").click()
        page.get_by_role("alert").filter(has_text="ESZSL learns from texts with labels").wait_for()
        check(page, "the classes of texts, and a problem")
        page.get_by_label("Compare with").click()
        page.get_by_role("option", name="CosineZSL", exact=True).click()
        strangers = page.get_by_role("checkbox", name="Some may belong to none of these classes")
        strangers.click()
        page.get_by_role("button", name="Learn").click()
        page.get_by_role("alert").filter(has_text="is rehearsed on texts with labels").wait_for()
        strangers.click()
        page.get_by_role("button", name="Learn").click()
        page.get_by_role("button", name="Labels (CSV),").first.wait_for()
        page.locator(".words").first.wait_for()
        check(page, "a result of two methods")
        page.get_by_role("button", name="Review them one by one").click()
        page.get_by_role("heading", name="Which class is it?").wait_for()
        check(page, "the review of texts", ".q-dialog")


@pytest.mark.parametrize("scheme", SCHEMES)
def test_the_page_of_who_has_no_token_has_no_serious_fault(browser, about_texts, scheme):
    _, url = about_texts
    stranger = f"{url.partition('?')[0]}?token=wrong"
    with opened(browser, stranger, **{"color_scheme": scheme, **looks(390)}) as page:
        page.get_by_role("alert").wait_for()
        page.evaluate(AXE.read_text(encoding="utf-8"))
        assert page.evaluate(FIND_SERIOUS, "body") == []

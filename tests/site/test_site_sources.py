"""What the site is made of, checked without building it."""

from __future__ import annotations

import importlib
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"


@pytest.fixture
def pages(monkeypatch):
    monkeypatch.syspath_prepend(str(DOCS / "extensions"))
    yield importlib.import_module("reference_pages")
    sys.modules.pop("reference_pages", None)


def test_every_public_name_is_in_the_reference(pages):
    text = "\n".join(pages.module_page(name) for name in pages.MODULES)
    described = set(re.findall(r"^   (\w+)$", text, re.M))
    constants = set(re.findall(r"``(\w+)``", text))
    for module in pages.MODULES:
        missing = set(pages.public_names(module)) - described - constants
        assert not missing, f"{module}: {missing}"


def test_every_module_of_the_reference_is_in_its_index(pages):
    index = (DOCS / "reference/index.md").read_text(encoding="utf-8")
    for module in pages.MODULES:
        assert f"generated/{module}\n" in index


def test_every_method_and_command_has_its_place(pages):
    from unseen.methods import find, select

    methods, commands = pages.method_page(), pages.command_page()
    own = [name for name in select(fast=False) if find(name).package == "unseen"]
    assert all(f"[`{name}`](api/unseen.{name}.rst)" in methods for name in own)
    assert {"## unseen label", "## unseen datasets audit"} <= set(commands.splitlines())
    assert "`--classes`" in commands


def test_the_routes_of_the_service_are_described(pages):
    text = pages.service_page()
    assert {"## POST /predict", "## GET /health"} <= set(text.splitlines())


def test_every_guide_is_in_a_table_of_contents():
    listed = " ".join(
        page.read_text(encoding="utf-8")
        for page in DOCS.rglob("index.md")
        if "generated" not in page.parts
    )
    for page in (DOCS / "guide").glob("*.md"):
        assert page.stem == "index" or re.search(
            rf"^(\.\./guide/)?{page.stem}$", listed_lines(listed), re.M
        ), page


def listed_lines(text: str) -> str:
    return "\n".join(text.split())


def test_every_example_opens_with_a_title_and_ends_a_part_with_a_picture():
    for example in (ROOT / "examples").rglob("*.py"):
        text = example.read_text(encoding="utf-8")
        assert re.match(r'"""\n\S.*\n=+\n\n', text), example.name
        assert "plt.show()" in text, example.name

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
def extension(monkeypatch):
    """Load an extension of the site by its name; those without Sphinx only."""
    monkeypatch.syspath_prepend(str(DOCS / "extensions"))
    yield importlib.import_module
    for path in (*(DOCS / "extensions").glob("*.py"), ROOT / "benchmarks/docs_numbers.py"):
        sys.modules.pop(path.stem, None)


@pytest.fixture
def pages(extension):
    return extension("reference_pages")


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


def test_every_estimator_has_advice_of_its_own():
    import unseen
    from unseen import TransductiveClassifier, ZeroShotClassifier
    from unseen.methods import find, select

    own = {find(name).estimator for name in select(fast=False) if find(name).package == "unseen"}
    classes = {getattr(unseen, name) for name in unseen.__all__}
    exported = {c for c in classes if isinstance(c, type) and issubclass(c, ZeroShotClassifier)}
    for estimator in (own | exported) - {ZeroShotClassifier, TransductiveClassifier}:
        advice = vars(estimator).get("advice")
        assert advice is not None, f"{estimator.__name__} inherits its advice or has none"
        assert all(advice), estimator.__name__


def test_the_page_of_a_method_has_its_figures(extension):
    facts = "\n".join(extension("method_facts").facts("ASTE", find_class("ASTE")))
    assert all(title in facts for title in ("Paper", "Cost", "Take it when", "Not when"))
    assert "Inductive methods </results/generated/accuracy>" in facts
    assert "CUB (PS): 59.4" in facts


def find_class(name: str) -> type:
    import unseen

    return getattr(unseen, name)


def test_releases_come_from_the_change_log_and_link_what_was_built_beside(extension, tmp_path):
    page = extension("version_page")
    (tmp_path / "0.1.0").mkdir()
    (tmp_path / "0.1.0/index.html").write_text("", encoding="utf-8")
    log = "## [0.3.0] - unreleased\n\n## [0.2.0] - 2027-02-01\n\n## [0.1.0] - 2026-12-01\n"
    table = page.releases(log, "0.3.0", tmp_path)
    assert "| 0.3.0 | not yet | this site |" in table
    assert "make docs SITE=0.2.0" in table
    assert '<a href="../0.1.0/index.html">' in table
    assert page.HEADING.findall((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"))


def test_every_error_and_warning_has_its_place(pages):
    text = pages.errors_page()
    exceptions = importlib.import_module("unseen.exceptions")
    for name in pages.public_names("unseen.exceptions"):
        if isinstance(getattr(exceptions, name), type):
            assert f"## {name}" in text


def test_every_file_format_that_commands_write_is_listed():
    files = (DOCS / "reference/files.md").read_text(encoding="utf-8")
    for ending in (".safetensors", ".onnx", "labels.csv", "review.csv", "report.html", ".npz", ".toml",
                   ".sqlite", ".jsonl", ".parquet", ".npy", "Zarr", ".xlsx"):  # fmt: skip
        assert ending in files, ending


def test_every_block_of_code_has_a_language_that_is_checked():
    """Python runs in tests/test_readme.py, sh and console name commands that exist, toml is read."""
    known = {"python", "sh", "console", "toml", "text", "html", "json", ""}
    for page in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.rglob("*.md"))]:
        if {"generated", "gallery", "_build"} & set(page.parts):
            continue
        text = page.read_text(encoding="utf-8")
        opened = False
        for fence in re.findall(r"^```(\S*)", text, re.M):
            if not opened:
                assert fence in known or fence.startswith("{"), f"{page.name}: {fence}"
            opened = not opened

"""Numbers in documents are what the code has and what the demo measures: ``make docs-numbers``."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
REMEDY = "run `make docs-numbers`"


def load_script():
    """Load the script from its file: benchmarks are not a package."""
    spec = importlib.util.spec_from_file_location("docs_numbers", ROOT / "benchmarks/docs_numbers.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # named tuples look their module up
    spec.loader.exec_module(module)
    return module


docs_numbers = load_script()


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    return docs_numbers.run_demo(tmp_path_factory.mktemp("demo"))


def test_numbers_that_the_code_decides():
    assert docs_numbers.faults(docs_numbers.constants()) == [], REMEDY


def test_figures_that_the_demo_measures(demo):
    assert docs_numbers.faults(demo.numbers()) == [], REMEDY


def test_the_picture_of_the_demo(demo):
    assert demo.fault_of_picture() is None, REMEDY


def test_every_table_is_listed_with_its_command_and_code():
    tables = docs_numbers.tables()
    pages = {table.file: table.file.read_text(encoding="utf-8") for table in tables}
    for table in tables:
        assert re.fullmatch(r"[0-9a-f]{12}|unrecorded", table.code()), table.name
        assert table.command in " ".join(pages[table.file].split()), f"{table.name}: name the command"
    marked = [name for page in pages.values() for name in re.findall(r"<!-- numbers: (\S+);", page)]
    assert sorted(marked) == sorted(table.name for table in tables)


def test_tables_of_the_pages_are_listed_without_exception():
    listed = {table.file for table in docs_numbers.tables()}
    for page in (ROOT / "README.md", *(ROOT / "docs").rglob("*.md")):
        if "<!-- numbers:" in page.read_text(encoding="utf-8"):
            assert page in listed, page.name


def test_a_stale_number_is_found_and_put_right(tmp_path, monkeypatch):
    monkeypatch.setattr(docs_numbers, "ROOT", tmp_path)
    page = tmp_path / "page.md"
    page.write_text("It has at most 6,000\nrows of the pool.", encoding="utf-8")
    number = docs_numbers.Number(page, "at most {} rows of the pool", "3,000")
    assert "has 6,000, the code 3,000" in docs_numbers.faults(iter([number]))[0]
    docs_numbers.write(iter([number]))
    assert page.read_text(encoding="utf-8") == "It has at most 3,000\nrows of the pool."
    gone = number._replace(text="no {} such sentence")
    assert "no place reads" in docs_numbers.faults(iter([gone]))[0]


def test_a_table_is_replaced_between_its_comments(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("a\n<!-- numbers: t; code unrecorded -->\n| old |\n<!-- end: t -->\nb\n", "utf-8")
    table = docs_numbers.Table("t", page, "python -c 'print(1)'")
    table.measure()
    text = page.read_text(encoding="utf-8")
    marked = r"<!-- numbers: t; code [0-9a-f]{12}; answers none -->"
    assert re.fullmatch(rf"a\n{marked}\n1\n<!-- end: t -->\nb\n", text)


def test_a_table_is_stale_when_its_methods_answer_otherwise(tmp_path, monkeypatch):
    monkeypatch.setattr(docs_numbers, "ROOT", tmp_path)
    page = tmp_path / "page.md"
    page.write_text("<!-- numbers: t; code unrecorded -->\n\n<!-- end: t -->\n", "utf-8")
    table = docs_numbers.Table("t", page, "python measure.py")
    answers = {"ESZSL": "[0, 1]", "ASTE": "[1, 1]"}
    monkeypatch.setattr(docs_numbers, "golden_labels", lambda: answers)
    table.write("| `ESZSL` | 58.3 |", "0" * 12)
    assert table.methods() == ["ESZSL"]
    assert table.stale() is None
    answers["ASTE"] = "[0, 0]"
    assert table.stale() is None, "the table says nothing about ASTE"
    answers["ESZSL"] = "[1, 0]"
    assert "Measure it again: python measure.py" in table.stale()
    assert table._replace(topic="speed").stale() is None, "times do not depend on answers"


def test_every_table_has_a_title_and_a_topic_of_the_results():
    topics = {"accuracy", "generalisation", "robustness", "calibration", "speed"}
    for table in docs_numbers.tables():
        assert table.title, table.name
        assert table.topic in topics, table.name


@pytest.mark.parametrize(
    ("value", "form", "text"),
    [(3000, ",", "3,000"), (0.002, "percent", "0.2"), (6, "word", "six"), (-2.0, "g", "−2")],
)
def test_numbers_are_written_as_pages_have_them(value, form, text):
    assert docs_numbers.written(value, form) == text

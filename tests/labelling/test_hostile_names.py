"""Names of classes, photographs and columns that a spreadsheet or a browser would run."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unseen.datasets.table_files import read_table, write_table
from unseen.labelling import PoolData, read_known, read_texts, write_known, write_report
from unseen.labelling.labels import COLUMNS, answers_of
from unseen.scale import write_labels
from unseen.spreadsheet_cells import neutral_cell, original_cell

FORMULAS = [
    '=HYPERLINK("http://x","y")',
    "+1+cmd|' /C calc'!A0",
    "-2+3",
    "@SUM(1)",
    "\tx",
    "'=x",
    "＝1",
]
HARMLESS = ["fox", "'quoted'", "o'neill", "a=b", ""]
SIGNS = tuple("=+-@\t\r\n＝＋－＠")


def _labels(names, folder, **more):
    probabilities = np.eye(len(names))
    return answers_of(probabilities, list(names), [f"{n}.png" for n in names], folder, **more)


def _cells(path):
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.reader(file))


def test_labels_csv_holds_no_formula_and_reads_back(tmp_path):
    _labels(FORMULAS, tmp_path).write(tmp_path / "labels.csv")
    header, *rows = _cells(tmp_path / "labels.csv")
    assert not [cell for row in rows for cell in row if cell.startswith(SIGNS)]
    place = header.index("label")
    assert sorted(original_cell(row[place]) for row in rows) == sorted(FORMULAS)


def test_labels_of_texts_read_back_by_our_own_reader(tmp_path):
    names = [name for name in FORMULAS if name == name.strip()]
    labels = _labels(names, tmp_path, texts=names)
    labels.write(tmp_path / "labels.csv")
    assert COLUMNS["texts"][1] in _cells(tmp_path / "labels.csv")[0]
    assert not [c for row in _cells(tmp_path / "labels.csv") for c in row if c.startswith(SIGNS)]
    again = read_texts(tmp_path / "labels.csv", "text")
    assert sorted(again.texts) == sorted(names)


def test_predicted_rows_hold_no_formula(tmp_path):
    write_labels(tmp_path / "labels.csv", np.array(FORMULAS))
    rows = _cells(tmp_path / "labels.csv")[1:]
    assert [original_cell(cell) for (cell,) in rows] == FORMULAS
    assert not [cell for (cell,) in rows if cell.startswith(SIGNS)]
    write_labels(tmp_path / "numbers.csv", np.array([-3, 4]))
    assert (tmp_path / "numbers.csv").read_text() == "label\n-3\n4\n"


def test_tables_of_names_read_back_as_they_were(tmp_path):
    names = [name for name in FORMULAS if name.isprintable()]
    path = tmp_path / "classes.csv"
    write_table(path, ["=cmd", "-furry"], {"class": names}, np.ones((len(names), 2)))
    assert not [c for row in _cells(path) for c in row if c.startswith(SIGNS)]
    table = read_table(path, {"class"})
    assert (table.columns, table.text["class"]) == (["=cmd", "-furry"], names)


@given(st.text(alphabet="'=+-@\t\rax＝", max_size=6))
def test_neutral_cells_can_be_undone(text):
    cell = neutral_cell(text)
    assert original_cell(cell) == text
    assert not cell.startswith(SIGNS)


@pytest.mark.parametrize("text", HARMLESS)
def test_harmless_cells_stay(text):
    assert neutral_cell(text) == original_cell(text) == text


def test_the_page_of_labels_escapes_names_and_has_a_policy(tmp_path):
    script = "<script>alert(1)</script>"
    name = f"\"'><img src=x onerror=alert(1)>{script}"
    labels = _labels([name, "fox"], tmp_path)
    out = Path(tmp_path / "report.html")
    write_report(out, labels, {name: name}, [name], [(name, name)])
    text = out.read_text(encoding="utf-8")
    assert "Content-Security-Policy" in text
    assert script not in text
    assert "<img src=x" not in text


def test_labels_that_a_person_gave_reach_the_item_that_was_meant(tmp_path):
    """A name that begins with an apostrophe is not taken for another one that was neutralised."""
    names = ["'=a.png", "=a.png", "''=a.png", " b.png", "b.png"]
    data = PoolData(
        "x", "", np.zeros((2, 2)), np.array(["fox", "bat"]), np.zeros((5, 2)),
        [tmp_path / name for name in names], tmp_path, np.eye(2), ["=owl", "'=owl"],
    )  # fmt: skip
    assert data.items == names
    wanted = dict(zip(names, ["=owl", "'=owl"] * 2 + ["=owl"], strict=True))
    write_known(tmp_path / "known.csv", wanted, data)
    known = read_known(tmp_path / "known.csv", data)
    assert {names[row]: label for row, label in known.items()} == wanted

"""Tables of classes as people have them: separators, encodings, decimal commas, Excel, words."""

from __future__ import annotations

import numpy as np
import pytest

from unseen.exceptions import DataError
from unseen.labelling import make_table, read_classes
from unseen.labelling.table_cells import read_cells
from unseen.labelling.text_files import read_class_texts

NAMES = ["Füchsin", "élan"]
NUMBERS = [[0.5, 1.0], [0.25, -2.0]]


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "latin-1", "utf-16"])
def test_separators_and_encodings(tmp_path, separator, encoding):
    lines = ["class,big size,red", "Füchsin,0.5,1", "élan,0.25,-2", ""]
    text = "\r\n".join(lines).replace(",", separator)
    (tmp_path / "c.csv").write_bytes(text.encode(encoding))
    given = read_classes(tmp_path / "c.csv")
    assert given.names == NAMES
    assert given.columns == ["big size", "red"]
    np.testing.assert_array_equal(given.numbers, NUMBERS)


@pytest.mark.parametrize("separator", [";", "\t"])
def test_decimal_commas(tmp_path, separator):
    lines = ["class;big;red", "Füchsin;0,5;1", "élan;0,25;-2,0e0"]
    (tmp_path / "c.csv").write_text("\n".join(lines).replace(";", separator))
    np.testing.assert_array_equal(read_classes(tmp_path / "c.csv").numbers, NUMBERS)


def test_quoted_cells_may_hold_the_separator(tmp_path):
    (tmp_path / "c.csv").write_text('class,description,big\nfox,"red, and sly",1\n')
    given = read_classes(tmp_path / "c.csv")
    assert given.descriptions == {"fox": "red, and sly"}


def test_excel(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in (["class", "big", "striped", None], ["fox", 0.5, True], [], ["élan", 0.25, False]):
        book.active.append(row)
    book.save(tmp_path / "c.xlsx")
    given = read_classes(tmp_path / "c.xlsx")
    assert given.names == ["fox", "élan"]
    np.testing.assert_array_equal(given.numbers, [[0.5, 1], [0.25, 0]])
    assert read_class_texts(tmp_path / "c.xlsx")[0].names == ["fox", "élan"]


def test_excel_is_refused_before_it_expands(tmp_path, monkeypatch):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in range(50):
        book.active.append([f"{row}-{column}" for column in range(20)])
    book.save(tmp_path / "c.xlsx")
    with monkeypatch.context() as patch:
        patch.setattr("unseen.labelling.table_cells.MOST_BYTES", 2**10)
        with pytest.raises(DataError, match="would expand to"):
            read_cells(tmp_path / "c.xlsx")
    monkeypatch.setattr("unseen.labelling.table_cells.MOST_CELLS", 500)
    with pytest.raises(DataError, match="more than 500 cells"):
        read_cells(tmp_path / "c.xlsx")


def test_a_claimed_size_of_excel_is_not_believed(tmp_path):
    """Rows are as long as they are, however many columns the sheet claims."""
    import zipfile

    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.active.append(["class", "big"])
    book.active.append(["fox", 1])
    book.save(tmp_path / "small.xlsx")
    with (
        zipfile.ZipFile(tmp_path / "small.xlsx") as source,
        zipfile.ZipFile(tmp_path / "c.xlsx", "w") as target,
    ):
        for item in source.infolist():
            data = source.read(item).replace(b'ref="A1:B2"', b'ref="A1:XFD1048576"')
            target.writestr(item, data)
    assert [row for _, row in read_cells(tmp_path / "c.xlsx").rows] == [["fox", "1"]]


def test_another_column_of_names(tmp_path):
    (tmp_path / "c.csv").write_text("Tier;big\nfox;1\n")
    with pytest.raises(DataError, match=r"no column 'class'; columns are 'Tier', 'big'") as caught:
        read_classes(tmp_path / "c.csv")
    assert caught.value.options == ("class_column",)
    assert read_classes(tmp_path / "c.csv", "Tier").names == ["fox"]
    assert read_class_texts(tmp_path / "c.csv", "Tier")[0].names == ["fox"]
    (tmp_path / "capital.csv").write_text("Class,big\nfox,1\n")
    assert read_classes(tmp_path / "capital.csv").names == ["fox"]


def test_words_are_descriptions_when_asked(tmp_path):
    (tmp_path / "c.csv").write_text("class,habitat,big\nfox,forest edge,1\nbat,,0\n")
    with pytest.raises(DataError, match="line 2, column 'habitat': holds 'forest edge', not a number"):
        read_classes(tmp_path / "c.csv")
    given = read_classes(tmp_path / "c.csv", take_words=True)
    assert given.columns == ["big"]
    assert given.descriptions == {"fox": "fox, habitat: forest edge", "bat": ""}
    assert given.word_columns == ("habitat",)
    notes = make_table(given)[2]
    assert notes[0] == "Taken as descriptions: the columns of words habitat."


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "is empty"),
        ("class,big,big\nfox,1,1\n", "column 3: the name 'big' is empty or there twice"),
        ("class,big\nfox\n", "line 2 has 1 cells, but the header names 2"),
        ("class,big\nfox,\n", "line 2, column 'big': is empty"),
        ("class,big\n,1\n", "line 2, column 'class': '' is not a name"),
        ("class,big\nfox,1\nfox,1\n", "names the class 'fox' twice"),
    ],
)
def test_faults_are_named(tmp_path, content, message):
    (tmp_path / "c.csv").write_text(content)
    with pytest.raises(DataError, match=message):
        read_classes(tmp_path / "c.csv")


def test_a_mixed_column_is_named_when_words_are_asked_for(tmp_path):
    (tmp_path / "c.csv").write_text("class,big\nfox,1\nbat,small\n")
    with pytest.raises(DataError, match="Other cells of the column are numbers: correct this one"):
        read_classes(tmp_path / "c.csv", take_words=True)


def test_spreadsheets_that_are_not_read_say_what_to_do(tmp_path):
    (tmp_path / "c.xls").write_bytes(b"")
    with pytest.raises(DataError, match=r"is not read as \.xls\. Save it as \.xlsx or \.csv"):
        read_classes(tmp_path / "c.xls")

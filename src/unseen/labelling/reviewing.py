"""Items for a person to look at, and the labels that a person gave, as files."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from pathlib import Path

from unseen.exceptions import DataError
from unseen.files import atomic_file
from unseen.labelling.fitting import Fitted
from unseen.labelling.labels import COLUMNS
from unseen.labelling.pool_data import PoolData
from unseen.labelling.table_cells import read_cells
from unseen.spreadsheet_cells import neutral_cell
from unseen.statistics import review_queue


def rows_to_review(fitted: Fitted, n: int) -> list[int]:
    """Return the rows of the pool whose labels would help most, the most worthwhile first.

    Those that a person has labelled already are left out.
    """
    given = fitted.task.corrections
    chosen = review_queue.rows_to_review(fitted.probabilities, n + len(given))
    return [int(row) for row in chosen if int(row) not in given][:n]


def write_review(path: str | Path, fitted: Fitted, n: int) -> int:
    """Write the items whose labels would help most, with an empty column ``label`` to fill in.

    Parameters
    ----------
    path : path
        A CSV with the columns image (or row and text), label, proposed, confidence and runner_up.
    fitted : Fitted
    n : int

    Returns
    -------
    int
        How many were written; those that a person has labelled already are left out.
    """
    data, order = fitted.task.data, (-fitted.probabilities).argsort(axis=1, kind="stable")
    rows = rows_to_review(fitted, n)
    with atomic_file(path) as temporary, temporary.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        named = [_item_column(data), *["text"] * (data.texts is not None)]
        writer.writerow([*named, "label", "proposed", "confidence", "runner_up"])
        for row in rows:
            first, *others = (fitted.classes[k] for k in order[row])
            item = [data.items[row]]
            if data.texts is not None:
                item.append(data.texts[row] if data.texts else "")  # only vectors may be at hand
            confidence = f"{fitted.probabilities[row].max():.4f}"
            cells = [*item, "", first, confidence, others[0] if others else ""]
            writer.writerow([neutral_cell(str(cell)) for cell in cells])
    return len(rows)


def write_known(path: str | Path, labels: Mapping[str, str], data: PoolData) -> None:
    """Write labels that a person gave, in the form that :func:`read_known` reads.

    Parameters
    ----------
    path : path
        A CSV with the columns image (or row, of texts) and label.
    labels : mapping of str to str
        Item, as ``data.items`` names it → class.
    data : PoolData
    """
    with atomic_file(path) as temporary, temporary.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([_item_column(data), "label"])
        for item, label in labels.items():
            writer.writerow([neutral_cell(item), neutral_cell(label)])


def read_known(path: str | Path | None, data: PoolData, unknown: str = "") -> dict[int, str]:
    """Read the labels that a person gave to some items of the pool.

    Parameters
    ----------
    path : path, optional
        A table with a column image (or row, of texts) and a column label; lines with an empty label
        are passed over. What :func:`write_review` wrote and a person filled in, or what
        :func:`write_known` wrote. None for no labels.
    data : PoolData
    unknown : str
        The label of items that belong to no candidate; "" if there is none.

    Returns
    -------
    dict of int to str
        Row of the pool → class: the ``corrections`` of a task.
    """
    if path is None:
        return {}
    path = Path(path)
    cells = read_cells(path)
    item_column = _item_column(data)
    missing = [name for name in (item_column, "label") if name not in cells.columns]
    if missing:
        raise DataError(
            f"{path}: no column {missing[0]!r}; columns are {', '.join(cells.columns)}. It needs "
            f"'{item_column}', as in the labels that were written, and 'label'."
        )
    item_place, label_place = cells.columns.index(item_column), cells.columns.index("label")
    rows = {item: row for row, item in enumerate(data.items)}
    candidates = {str(name) for name in data.candidates}
    known: dict[int, str] = {}
    for line, row in cells.rows:
        item, label = row[item_place], row[label_place].strip()
        item = item if item in rows else item.strip()
        if not label:
            continue
        if item not in rows:
            raise DataError(
                f"{path}, line {line}: {item!r} is not among the {len(rows)} items to label. Give the "
                "name as it stands in the labels that were written."
            )
        if label not in candidates and not (unknown and label == unknown):
            raise DataError(
                f"{path}, line {line}: {label!r} is not among the candidates "
                f"({', '.join(sorted(candidates)[:10])}{', …' * (len(candidates) > 10)}). Correct the "
                "label, or add the class to the candidates.",
                options=("candidates",),
            )
        known[rows[item]] = label
    return known


def _item_column(data: PoolData) -> str:
    """Return the column that names an item in the labels that are written."""
    return COLUMNS["photographs" if data.texts is None else "texts"][0]

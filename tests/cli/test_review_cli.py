"""``unseen label --review``, ``--known`` and ``--error``: a person looks, and the labels go back."""

from __future__ import annotations

import csv

import pytest
from test_texts_cli import TEXTS, read, run  # noqa: F401 - the fixture

from texts import topics


def fill_in(path, labels):
    rows = read(path)
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows({**row, "label": labels(row)} for row in rows)
    return rows


def test_labels_that_a_person_gave_go_back(run, tmp_path):  # noqa: F811
    told = run("label", *TEXTS, "--out", "l.csv", "--review", "5")
    assert "wrote review.csv: 5 to look at" in told.output
    rows = fill_in(tmp_path / "review.csv", lambda row: topics()[int(row["row"])][1])
    assert {"row", "text", "label", "proposed", "confidence", "runner_up"} == set(rows[0])
    assert all(row["label"] == "" for row in rows)
    run("label", *TEXTS, "--out", "again.csv", "--known", "review.csv")
    answers = {row["row"]: row for row in read("again.csv")}
    for row in rows:
        assert answers[row["row"]]["label"] == topics()[int(row["row"])][1]
        assert float(answers[row["row"]]["confidence"]) == 1


def test_an_earlier_review_is_not_replaced(run, tmp_path):  # noqa: F811
    (tmp_path / "review.csv").write_text("mine")
    with pytest.raises(AssertionError, match="is there already"):
        run("label", *TEXTS, "--out", "l.csv", "--review", "5")
    run("label", *TEXTS, "--out", "l.csv", "--review", "5", "--force")
    assert (tmp_path / "review.csv.bak").read_text() == "mine"


def test_what_counts_as_unsure_is_the_users_choice(run):  # noqa: F811
    counts = []
    for error in ("0", "0.1", "1"):
        run("label", *TEXTS, "--out", f"{error}.csv", "--error", error)
        counts.append(sum(row["unsure"] == "yes" for row in read(f"{error}.csv")))
    assert counts == sorted(counts, reverse=True)
    assert counts[-1] == 0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("image,label\n1,refund\n", "no column 'row'; columns are image, label"),
        ("row,label\n9999,refund\n", "line 2: '9999' is not among the 90 items to label"),
        ("row,label\n1,nonsense\n", "line 2: 'nonsense' is not among the candidates"),
    ],
)
def test_labels_that_do_not_fit_are_refused(run, tmp_path, text, message):  # noqa: F811
    (tmp_path / "known.csv").write_text(text)
    with pytest.raises(AssertionError) as caught:
        run("label", *TEXTS, "--out", "l.csv", "--known", "known.csv")
    assert message in str(caught.value)

"""Tables and figures against the stored rows, and published numbers against the paper's source."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
import os
import re
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from unseen.experiments import paper, published_comparison
from unseen.experiments.answer_tables import MOST_CURVES
from unseen.experiments.published_comparison import why_not
from unseen.experiments.result_figures import all_figures
from unseen.experiments.result_tables import all_tables
from unseen.experiments.results import MEASURES, Results
from unseen.experiments.significance import compare
from unseen.experiments.summary import sentences
from unseen.methods import catalogue
from unseen.reporting.table_exports import dumps, to_csv, to_json, to_latex
from unseen.reporting.value_table import Table, Value, table_html

TINY = "simulated-aPY@0.03x32"
SHARED = Path(os.environ.get("UNSEEN_DATA", Path(__file__).parents[3] / "shared" / "data")).parent
SOURCES = sorted((SHARED / "paper").glob("*.txt"))


@pytest.fixture(scope="module")
def results(finished):
    plan, store = finished
    return Results(store.rows(plan.keys))


def expected(value, rows):
    """Recompute a number from the rows that it names."""
    if value.source.startswith("mean "):
        measure, _, minus = value.source.removeprefix("mean ").partition(" minus ")
        return np.mean([MEASURES[measure](r) for r in rows]) - float(minus or 0)
    assert value.source == "ratio seconds"
    plain = [r.seconds for r in rows if not catalogue()[r.method].fast]
    fast = [r.seconds for r in rows if catalogue()[r.method].fast]
    return np.mean(plain) / np.mean(fast)


def test_every_number_is_what_its_rows_say(results):
    rows = {r.key: r for r in results.all}
    published = {p.mean for t in ("II", "III", "IV") for p in paper.accuracies(t)}
    published |= {v for line in paper.times() for v in (line.without, line.with_ft, line.ratio)}
    checked = 0
    for table in all_tables(results):
        for value in (v for line in table.rows for v in line if v.number is not None):
            if not value.keys:
                assert value.number in published
                continue
            assert value.number == pytest.approx(expected(value, [rows[k] for k in value.keys]))
            shown = float(value.text.split(" ")[0].replace("−", "-"))
            assert shown == pytest.approx(value.number, abs=0.51)
            checked += 1
    assert checked > 100


def test_all_tables_are_there(results):
    names = [t.name for t in all_tables(results)]
    assert names == [
        *("table_2", "table_2_forms", "paper_II"),
        *("table_3", "table_3_forms", "table_3_gains", "table_3_paired", "paper_III"),
        *("table_4", "table_4_forms", "paper_IV", "table_5"),
        *("generalised", "answers", "priors", "bound_terms", "domain_terms", "costs"),
    ]


def test_both_generalised_protocols_stand_side_by_side(results):
    table = next(t for t in all_tables(results) if t.name == "generalised")
    named = {(row[1].text, row[2].text) for row in table.rows}
    assert named == {
        ("ASTE", "inductive"),
        ("ASTE", "inductive, calibrated offset"),
        ("TASTE", "mixed pool"),
        ("TASTE", "unseen rows known as such"),
    }
    assert table.columns[3:] == ("unseen U", "seen S", "harmonic H", "AUSUC", "ECE")
    by_protocol = {(row[1].text, row[2].text): row for row in table.rows}
    plain, offset = (
        by_protocol["ASTE", kind] for kind in ("inductive", "inductive, calibrated offset")
    )
    assert offset[3].number >= plain[3].number  # the offset favours unseen classes


def test_authors_forms_are_not_calibrated(results):
    """Rehearsals are ours: they are no part of an authors' form, nor of its time."""
    of_authors = [row for row in results.all if row.preset != "default" and row.status == "done"]
    assert {row.method for row in of_authors} >= {"ESZSL", "SAE", "ASTE"}
    assert not any("calibration_error" in row.metrics for row in of_authors)


def test_answers_have_calibration_and_sets(results):
    table = next(t for t in all_tables(results) if t.name == "answers")
    assert {row[1].text for row in table.rows} >= {"ESZSL", "ASTE", "TASTE", "SelfPacedPrototypes"}
    for row in table.rows:
        right, said, error, brier, cover, size, count = row[2:]
        assert 0 <= error.number <= 1
        assert 0 <= brier.number <= 2
        assert 0 <= cover.number <= 100
        assert 1 <= size.number <= int(count.text)
        assert 0 < said.number <= 100
        assert 0 <= right.number <= 100
    diagrams = [f for f in all_figures(results) if f.kind == "reliability"]
    assert diagrams
    assert all("ECE" in line.label for figure in diagrams for line in figure.lines)
    drawn = next(f for f in diagrams if len(f.lines) == MOST_CURVES)  # of ten methods
    assert any(line.label.startswith("SelfPacedPrototypes") for line in drawn.lines)


def test_forms_stand_side_by_side(results):
    tables = {t.name: t for t in all_tables(results)}
    two = {row[1].text: [v.text for v in row[2:]] for row in tables["table_2_forms"].rows}
    assert two["ASTE"][0] == "diverged"
    assert two["ESZSL"][0] != "–"
    assert two["SAE"][0] == "–"
    assert [row[1].text for row in tables["table_3_forms"].rows] == ["RKT", "TASTE", "WDVSc"]
    gains = {row[1].text: row[2:] for row in tables["table_3_gains"].rows}
    start, end, gain = (v.number for v in gains["WDVSc"][:3])
    assert gain == pytest.approx(end - start)
    assert gains["RKT"][2].number == 0  # the original does not look at the pool
    assert gains["TASTE"][3].number is not None
    assert gains["SelfPacedPrototypes"][3].number is not None
    assert gains["SelfPacedPrototypes"][4].text.endswith("± 0.0")  # two trials of no chance
    assert gains["WDVSc"][1].text.count("±") == 0  # one trial of a method that draws at random
    assert two["SAE"][1].endswith(" ± 0")  # one trial stands for all
    assert "of 2 trials" in results.trials_note
    beside = next(t for t in all_tables(results) if t.name == "paper_IV")
    assert beside.columns[2:5] == ("As printed", "Published preset", "Default")
    line = next(row for row in beside.rows if row[0].text == "Fast-ASTE" and row[7].text.endswith(TINY))
    assert line[2].text == "diverged"
    two = {(row[0].text, row[7].text.split(" /")[0]): row[6].text for row in tables["paper_II"].rows}
    assert two["HAT", "AwA"] == "not run"  # there is such data
    assert two["HAT", "CUB"] == "no such data here"
    lines = [row[0].text for row in tables["table_5"].rows]
    assert "ESZSL, published preset" in lines
    assert any("diverged with the settings" in line for line in sentences(results))


def test_a_word_for_a_missing_number_leaves_numbers_to_the_right():
    def head(*texts):
        return table_html(Table("t", "t", ("c",), [[Value(text)] for text in texts]))

    assert "class=n" in head("1.5 ± 0.1", "diverged", "–")
    assert "class=n" not in head("comparable", "diverged")


def test_best_of_each_column_is_marked(results):
    table = next(t for t in all_tables(results) if t.name == "table_2")
    for place in range(1, len(table.columns)):
        column = [row[place] for row in table.rows]
        top = max(v.number for v in column if v.number is not None)
        assert all(v.best == (v.number == top) for v in column)


def test_formats_hold_the_same(results):
    for table in all_tables(results):
        read = list(csv.reader(io.StringIO(to_csv(table))))
        assert len(read) == len(table.rows) + 1
        assert {len(line) for line in read} == {len(table.columns) + 1}
        assert len(json.loads(dumps(to_json(table)))["rows"]) == len(table.rows)
        latex = to_latex(table)
        assert latex.count(r"\\") == len(table.rows) + 1
        body = "\n".join(line for line in latex.split("\n") if not line.startswith("%"))
        assert not re.search(r"(?<!\\)[_%#]", body)
        assert body.isascii()


def test_figures_are_data_with_rows(results):
    figures = all_figures(results)
    kinds = {f.name.split("_")[0] for f in figures}
    assert {"fig", "weight", "rounds", "classes", "confusion"} <= kinds
    keys = {r.key for r in results.all}
    for figure in figures:
        for line in figure.lines:
            assert set(line.keys) <= keys
            assert len(line.x) == len(line.y)
    start = next(f for f in figures if f.name.startswith("fig_5")).lines[0]
    assert start.x[0] == 0.0


@pytest.mark.parametrize(
    ("dataset", "ours", "reason"),
    [
        ("AWA1:SS", "VGG-19", ""),
        ("AWA1", "vgg19", "not comparable: split is PS, not SS"),
        ("CUB:SS", "resnet101", "not comparable: features differ"),
        ("CUB", "res101", "not comparable: features differ, split is PS, not SS"),
        ("simulated-AwA", "vgg19", "not comparable: simulated data"),
    ],
)
def test_what_compares(dataset, ours, reason):
    assert why_not(dataset, ours, "VGG-19 (fc7)") == reason


def test_every_published_number_has_its_features():
    counts = {t: len(paper.accuracies(t)) for t in ("II", "III", "IV")}
    assert counts == {"II": 28, "III": 14, "IV": 30}
    assert all(p.features for t in counts for p in paper.accuracies(t))
    assert len(paper.times()) == 5
    ours = {m.table_name for m in catalogue().values()}
    assert {p.method for t in ("II", "IV") for p in paper.accuracies(t)} <= ours


@pytest.mark.parametrize(("features", "shown"), [("VGG-19 (fc7)", "+1.0"), ("resnet101", "–")])
def test_no_difference_between_numbers_that_cannot_be_compared(features, shown):
    line = next(
        p for p in paper.accuracies("II") if p.method == "ESZSL" and p.features == "VGG-19 (fc7)"
    )
    results = SimpleNamespace(
        value=lambda *_, **__: Value("", line.mean + 1, ("key",)), features=lambda _: features
    )
    found = published_comparison._pair(results, line, f"CUB:{paper.split()}", "ESZSL")
    assert found[published_comparison._COLUMNS.index("Difference")].text == shown


@pytest.mark.skipif(not SOURCES, reason=f"needs {SHARED / 'paper'}")
@pytest.mark.parametrize(("table", "caption"), [
    ("II", "different inductive approaches"),
    ("III", "different transductive-based ZSL methods"),
    ("IV", "with and without the FT strategy. The mark"),
    ("V", "Training time of different approaches"),
])  # fmt: skip
def test_published_numbers_are_those_of_the_source(table, caption):
    text = SOURCES[0].read_text(encoding="utf-8", errors="replace")
    body = text[text.index(caption) :]
    body = body[body.index(r"\begin{tabular}") : body.index(r"\end{tabular}")]
    body = re.sub(r"\\cite\{[^}]*\}|\\multirow\{\d\}", "", body)
    printed = Counter(float(n) for n in re.findall(r"(?<![\d.])\d+\.\d+", body))
    if table == "V":
        kept = Counter(v for t in paper.times() for v in (t.without, t.with_ft, t.ratio))
    else:
        found = paper.accuracies(table)
        kept = Counter([p.mean for p in found] + [p.deviation for p in found if p.deviation])
    assert kept == printed


def test_bootstrap_keeps_classes_together():
    random = np.random.default_rng(0)
    hard = {str(i): v for i, v in enumerate(random.uniform(0.1, 0.9, 40))}
    better = {c: v + 0.05 + 0.01 * random.standard_normal() for c, v in hard.items()}
    found = compare(better, hard)
    assert found.significant
    assert found.low < found.difference < found.high
    noise = {c: v + 0.2 * random.standard_normal() for c, v in hard.items()}
    assert not compare(noise, hard).significant
    with pytest.raises(ValueError, match="not measured on the same classes"):
        compare(hard, {"other": 1.0})


def test_a_path_is_called_by_its_last_part(results):
    row = results.fits[0]
    first, second = (dataclasses.replace(row, dataset=name) for name in ("/a/photos", "/b/photos"))
    assert Results([first]).datasets == ["photos"]
    assert Results([first, second]).datasets == ["/a/photos", "/b/photos"]

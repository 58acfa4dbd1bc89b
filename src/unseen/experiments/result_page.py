"""The report: one self-contained HTML file, and the tables and figures as files beside it."""

from __future__ import annotations

from html import escape
from pathlib import Path

from unseen.experiments import registry
from unseen.experiments.result_figures import all_figures
from unseen.experiments.result_store import Row, Store
from unseen.experiments.result_tables import all_tables
from unseen.experiments.results import Results
from unseen.experiments.summary import sentences
from unseen.reporting.figures import Figure, draw, figure_html
from unseen.reporting.html_page import html_page, section, warning_box, write_text
from unseen.reporting.table_exports import dumps, to_csv, to_json, to_latex
from unseen.reporting.thumbnails import thumbnail_grid
from unseen.reporting.value_table import Table, Value, table_html
from unseen.typing import JsonObject
from unseen.version import __version__


def write_report(
    store: Store,
    out: str | Path,
    keys: list[str] | None = None,
    title: str = "",
    rerun_command: str = "",
) -> list[Path]:
    """Write ``report.html``, and every table and figure as a file of its own.

    Parameters
    ----------
    store : Store
    out : path
        The folder to write to.
    keys : list of str, optional
        The cells to report on, in this order; all that the store holds by default.
    title : str
        Of the page.
    rerun_command : str
        The command that runs one cell again, followed by its key; "" to leave it out of the page.

    Returns
    -------
    list of Path
        What was written; the page first.
    """
    out = Path(out)
    results = Results(_in_order(store.rows(keys)))
    tables, figures = all_tables(results), all_figures(results)
    written = [write_text(out / "report.html", page(results, tables, figures, title, rerun_command))]
    for table in tables:
        stem = out / "tables" / table.name
        written.append(write_text(stem.with_suffix(".csv"), to_csv(table)))
        written.append(write_text(stem.with_suffix(".json"), dumps(to_json(table))))
        written.append(write_text(stem.with_suffix(".tex"), to_latex(table)))
    for figure in figures:
        stem = out / "figures" / figure.name
        written.append(write_text(stem.with_suffix(".json"), dumps(figure.to_dict())))
        svg = draw(figure).replace("<svg", '<svg style="color:#1b1f24;background:#fff"', 1)
        written.append(write_text(stem.with_suffix(".svg"), svg))
    return written


def page(
    results: Results,
    tables: list[Table],
    figures: list[Figure],
    title: str = "",
    rerun_command: str = "",
) -> str:
    """Return the whole page."""
    sections = [
        section("summary", "Summary", _summary(results)),
        section("tables", "Tables", *(table_html(table) for table in tables)),
        section("figures", "Figures", *(figure_html(figure) for figure in figures)),
        section("rounds", "Self-paced rounds", table_html(_rounds(results))),
        section("hardest", "Hardest rows", _hardest(results)),
        section("warnings", "Warnings", "\n".join(_warnings(results)) or "<p>None.</p>"),
        section("reproduce", "Every cell, and how to run it again", _reproduce(results, rerun_command)),
    ]
    names = ("Summary", "Tables", "Figures", "Rounds", "Hardest", "Warnings", "Reproduce")
    fits = results.fits
    counts = f"{len(fits)} fits on {len(results.datasets)} data sets"
    finished = max((r.finished for r in results.done), default="")
    return html_page(
        title=title or "Zero-shot learning: results",
        subtitle=f"{counts} · unseen {__version__} · last cell {finished}",
        contents={name.lower(): name for name in names},
        body="\n".join(sections),
        footer=f"Written by unseen {__version__}. Every number's rows are in its tooltip.",
    )


def _in_order(rows: list[Row]) -> list[Row]:
    """Order data sets so that embedded and real ones come before simulated ones."""
    names = sorted({r.dataset for r in rows}, key=lambda d: (d != "letters", d.startswith("sim"), d))
    return sorted(rows, key=lambda r: (names.index(r.dataset), r.trial))


def _summary(results: Results) -> str:
    lines = "".join(f"<li>{escape(line)}</li>" for line in sentences(results))
    return f'<div class="summary"><ul>{lines}</ul></div>'


def _rounds(results: Results) -> Table:
    columns = ("Data", "Method", "round", "trusted", "of which new", "new ones right, %",
               "classes covered", "answers changed, %")  # fmt: skip
    rows = []
    for row in results.fits:
        if row.trial or not row.history or not row.plain or row.preset != "default":
            continue
        for line in row.history:
            numbers = (line["round"], line["selected"], line["newly_trusted"])
            purity = None if line["purity"] is None else 100 * line["purity"]
            shares = (purity, line["classes_covered"], 100 * line["changed"])
            values = [Value(f"{n}", n, (row.key,), "history") for n in numbers]
            values += [
                Value("–")
                if n is None
                else Value(f"{n:.1f}" if i != 1 else f"{n}", n, (row.key,), "history")
                for i, n in enumerate(shares)
            ]
            rows.append([Value(row.dataset), Value(row.method), *values])
    notes = ["Right: final labels against the true ones, which no fit saw. Round 0 is the start."]
    return Table("history", "Selected, purity and coverage, trial 0", columns, rows, notes)


def _hardest(results: Results) -> str:
    parts = []
    for dataset in results.datasets:
        trials = [r for r in results.fits if r.dataset == dataset and r.metrics.get("hardest")]
        trials = [r for r in trials if r.prior == "default" and r.preset == "default"]
        if trials:
            row = max(trials, key=lambda r: r.accuracy)
            head = f"<h3>{escape(dataset)}, {escape(row.method)}</h3>"
            parts.append(head + _wrong_rows(row.metrics["hardest"]))
    return "\n".join(parts) or "<p>No wrong answer was stored.</p>"


def _wrong_rows(hardest: list[JsonObject]) -> str:
    """Return wrong answers, most confident first: pictures, then rows without a picture as a list."""
    pictures, lines = [], []
    for item in hardest:
        text = (
            f"<b>{escape(str(item['true']))}</b> taken for <b>{escape(str(item['predicted']))}</b>, "
            f"{100 * float(item['confidence']):.0f}% sure"
        )
        if item["picture"]:
            pictures.append((str(item["picture"]), f"row {item['row']}: {item['true']}", text))
        else:
            lines.append(f"<li>row {escape(str(item['row']))}: {text}</li>")
    return thumbnail_grid(pictures) + (f"<ul>{''.join(lines)}</ul>" if lines else "")


def _warnings(results: Results) -> list[str]:
    """Return findings of the auditor, warnings of fits, and failures; each text once."""
    boxes = []
    for row in results.done:
        if row.method == registry.AUDIT:
            for finding in row.metrics["findings"]:
                text = f"{finding['message']} {finding['effect']} {finding['remedy']}"
                head = f"{row.dataset}: {finding['code']}"
                boxes.append(warning_box(text, head, finding["severity"]))
    for row in results.fits:
        form = "" if row.preset == "default" else f", {row.preset}"
        head = f"{row.dataset}: {row.method}{form}, {row.setting}, {row.prior} prior"
        boxes += [warning_box(text, head) for text in row.metrics.get("warnings", [])]
    for row in results.all:
        if row.status in ("failed", "diverged"):
            last_line = row.error.strip().split("\n")[-1]
            form = "" if row.preset == "default" else f", {row.preset}"
            head = f"{row.dataset}: {row.method}{form}: {row.status}."
            boxes.append(warning_box(last_line, head, "error" if row.status == "failed" else "warning"))
    return list(dict.fromkeys(boxes))


def _reproduce(results: Results, rerun_command: str) -> str:
    columns = (
        "Row",
        "Data",
        "Method",
        "Protocol",
        "Accuracy, %",
        "Fit, s",
        "Status",
        "Seed",
        "Data hash",
    )
    rows = []
    for row in results.all:
        extras = [row.setting, f"trial {row.trial}", f"prior {row.prior}", f"share {row.share:g}"]
        if row.C is not None:
            extras.append(f"C {row.C:g}")
        extras += [row.preset] * (row.preset != "default")
        extras += [f"{name}={value}" for name, value in row.parameters]
        key = (row.key,)
        number = 100 * row.accuracy
        accuracy = (
            Value(f"{number:.2f}", number, key, "mean accuracy") if number == number else Value("–")
        )
        seconds = Value("–")
        if row.seconds == row.seconds:
            seconds = Value(f"{row.seconds:.2f}", row.seconds, key, "mean seconds")
        names = (row.key, row.dataset, row.method, ", ".join(extras))
        explained = row.status in ("skipped", "diverged")
        status = f"{row.status}: {row.error}" if explained else row.status
        ends = (status, str(row.seed), row.data_hash)
        rows.append([*(Value(t) for t in names), accuracy, seconds, *(Value(t) for t in ends)])
    versions = "; ".join(
        sorted({", ".join(f"{k} {v}" for k, v in r.versions.items()) for r in results.all})
    )
    lines = f"<p>Versions: {escape(versions)}.</p>"
    if rerun_command and results.fits:
        command = escape(f"{rerun_command} {results.fits[0].key}")
        lines = f"<p>Run one cell again, by its row: <code>{command}</code>.</p>{lines}"
    return lines + table_html(Table("cells", "Cells", columns, rows, []))

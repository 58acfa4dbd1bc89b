"""The report: one self-contained HTML file, and the tables and figures as files beside it."""

from __future__ import annotations

from html import escape
from pathlib import Path

import unseen
from unseen.datasets.safety import atomic_file
from unseen.experiments import registry
from unseen.experiments.drawing import draw
from unseen.experiments.figures import Figure, all_figures
from unseen.experiments.formats import dumps, to_csv, to_json, to_latex
from unseen.experiments.html import figure_html, filled_page, section, table_html, thumbnails
from unseen.experiments.results import Results, Table, Value
from unseen.experiments.store import Row, Store
from unseen.experiments.summary import sentences
from unseen.experiments.tables import all_tables


def write_report(
    store: Store, out: str | Path, keys: list[str] | None = None, title: str = ""
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

    Returns
    -------
    list of Path
        What was written; the page first.
    """
    out = Path(out)
    results = Results(_in_order(store.rows(keys)))
    tables, figures = all_tables(results), all_figures(results)
    written = [_write(out / "report.html", page(results, tables, figures, title))]
    for table in tables:
        stem = out / "tables" / table.name
        written.append(_write(stem.with_suffix(".csv"), to_csv(table)))
        written.append(_write(stem.with_suffix(".json"), dumps(to_json(table))))
        written.append(_write(stem.with_suffix(".tex"), to_latex(table)))
    for figure in figures:
        stem = out / "figures" / figure.name
        written.append(_write(stem.with_suffix(".json"), dumps(figure.to_dict())))
        svg = draw(figure).replace("<svg", '<svg style="color:#1b1f24;background:#fff"', 1)
        written.append(_write(stem.with_suffix(".svg"), svg))
    return written


def page(results: Results, tables: list[Table], figures: list[Figure], title: str = "") -> str:
    """Return the whole page."""
    sections = [
        section("summary", "Summary", _summary(results)),
        section("tables", "Tables", *(table_html(table) for table in tables)),
        section("figures", "Figures", *(figure_html(figure) for figure in figures)),
        section("rounds", "Self-paced rounds", table_html(_rounds(results))),
        section("hardest", "Hardest rows", _hardest(results)),
        section("warnings", "Warnings", _warnings(results)),
        section("reproduce", "Every cell, and how to run it again", _reproduce(results)),
    ]
    names = ("Summary", "Tables", "Figures", "Rounds", "Hardest", "Warnings", "Reproduce")
    contents = "".join(f'<a href="#{name.lower()}">{name}</a>' for name in names)
    fits = results.fits
    counts = f"{len(fits)} fits on {len(results.datasets)} data sets"
    finished = max((r.finished for r in results.done), default="")
    return filled_page(
        title=escape(title or "Zero-shot learning: results"),
        subtitle=escape(f"{counts} · unseen {unseen.__version__} · last cell {finished}"),
        contents=contents,
        body="\n".join(sections),
        footer=f"Written by unseen {unseen.__version__}. Every number's rows are in its tooltip.",
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
        plain = row.setting == "zsl" and row.prior == "default" and row.share == 1 and row.C is None
        if row.trial or not row.history or not plain:
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
        trials = [r for r in trials if r.prior == "default"]
        if trials:
            row = max(trials, key=lambda r: r.accuracy)
            head = f"<h3>{escape(dataset)}, {escape(row.method)}</h3>"
            parts.append(head + thumbnails(row.metrics["hardest"]))
    return "\n".join(parts) or "<p>No wrong answer was stored.</p>"


def _warnings(results: Results) -> str:
    parts = []
    for row in results.done:
        if row.method == registry.AUDIT:
            for finding in row.metrics["findings"]:
                text = f"{finding['message']} {finding['effect']} {finding['remedy']}"
                head = f"<b>{escape(row.dataset)}: {escape(finding['code'])}</b>"
                parts.append(
                    f'<div class="warning {finding["severity"]}"><p>{head} {escape(text)}</p></div>'
                )
    for row in results.fits:
        for text in row.metrics.get("warnings", []):
            head = (
                f"<b>{escape(row.dataset)}: {escape(row.method)}, {row.setting}, {row.prior} prior</b>"
            )
            parts.append(f'<div class="warning"><p>{head} {escape(text)}</p></div>')
    for row in results.all:
        if row.status == "failed":
            told = escape(row.error.strip().split("\n")[-1])
            head = f"<b>{escape(row.dataset)}: {escape(row.method)} failed.</b>"
            parts.append(f'<div class="warning error"><p>{head} {told}</p></div>')
    return "\n".join(dict.fromkeys(parts)) or "<p>None.</p>"


def _reproduce(results: Results) -> str:
    columns = (
        "Row",
        "Data",
        "Method",
        "Protocol",
        "Seed",
        "Data hash",
        "Status",
        "Accuracy, %",
        "Fit, s",
    )
    rows = []
    for row in results.all:
        extras = [row.setting, f"trial {row.trial}", f"prior {row.prior}", f"share {row.share:g}"]
        if row.C is not None:
            extras.append(f"C {row.C:g}")
        key = (row.key,)
        number = 100 * row.accuracy
        accuracy = (
            Value(f"{number:.2f}", number, key, "mean accuracy") if number == number else Value("–")
        )
        seconds = Value("–")
        if row.seconds == row.seconds:
            seconds = Value(f"{row.seconds:.2f}", row.seconds, key, "mean seconds")
        texts = (row.key, row.dataset, row.method, ", ".join(extras), str(row.seed), row.data_hash)
        status = row.status if row.status != "skipped" else f"skipped: {row.error}"
        rows.append([*(Value(t) for t in texts), Value(status), accuracy, seconds])
    told = "; ".join(
        sorted({", ".join(f"{k} {v}" for k, v in r.versions.items()) for r in results.all})
    )
    example = results.fits[0] if results.fits else None
    name = example.key if example else "ROW"
    how = (
        f"<p>Run one cell again, from its row: <code>unseen bench --cell {name}</code>. "
        f"Versions: {escape(told)}.</p>"
    )
    return how + table_html(Table("cells", "Cells", columns, rows, []))


def _write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_file(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
    return path

"""The report of labelled texts as one HTML file: least sure first, then every class."""

from __future__ import annotations

from html import escape
from pathlib import Path

import numpy as np

from unseen.features import Separation
from unseen.features.words import readable
from unseen.labelling.fitting import Fitted
from unseen.labelling.label_page import class_anchor, labels_page, skipped_table, summary
from unseen.labelling.labels import Answer, Labels
from unseen.labelling.marking_words import marking_words
from unseen.reporting.html_page import section, table_box, write_text
from unseen.rows.kernels import unit_rows

REVIEWED_TEXTS, CLASS_TEXTS, NEAREST_TEXTS = 50, 12, 3
"""Texts under "look at these first", of each class, and nearest to each class."""
SHOWN_LETTERS = 240
"""Letters of a text that are shown."""

STYLE = """
td.text { white-space:normal; min-width:18rem; line-height:1.35; overflow-wrap:anywhere; }
tr.wrong td.label { color:var(--bad); }
ul.nearest { margin:.2rem 0 .6rem; padding-left:1.1rem; } ul.nearest li { max-width:none; }
.mark { background:var(--best); border-radius:.3rem; padding:.05rem .4rem; margin-right:.3rem; }
"""


def write_text_report(
    path: Path,
    fitted: Fitted,
    facts: dict[str, str],
    notes: list[str],
    separation: Separation | None = None,
    labels: Labels | None = None,
) -> None:
    """Write the report of a fit on texts; parameters as for a report of photographs.

    ``labels`` are those of the fit, if the user set what is unsure or asked for prediction sets.
    """
    labels = labels or fitted.labels()
    parts = {
        "Summary": section("summary", "Summary", *summary(labels, facts, notes, separation)),
        "Look at these first": section("review", "Look at these first", _review(labels)),
        "Every class": section("classes", "Every class", *_classes(labels, fitted)),
    }
    if fitted.task.data.broken:
        skipped = skipped_table(fitted.task.data.skipped)
        parts["Skipped"] = section("skipped", "Texts that were skipped", skipped)
    write_text(path, labels_page(labels, parts, STYLE))


def _review(labels: Labels) -> str:
    first = labels.answers[:REVIEWED_TEXTS]
    left = len(labels.unsure) - len(first)
    more = f" {left} more unsure ones are in the CSV file." if left > 0 else ""
    return f'<p class="soft">The least sure answers, least sure first.{more}</p>' + _answer_table(first)


def _classes(labels: Labels, fitted: Fitted) -> list[str]:
    texts = [answer.text for answer in labels.answers]
    predicted = [answer.label for answer in labels.answers]
    words_of = marking_words(texts, predicted, labels.answered) if any(texts) else {}
    nearest_of = _nearest(fitted)
    parts = []
    for name in labels.answered:
        answers = [a for a in labels.answers if a.label == name]
        count = f"{len(answers)} text{'s' * (len(answers) != 1)}"
        if len(answers) > CLASS_TEXTS:
            count += f", the {CLASS_TEXTS} least sure"
        marks = "".join(f'<span class="mark">{escape(w)}</span>' for w in words_of.get(name, []))
        nearest = "".join(f"<li>{escape(_shortened(t))}</li>" for t in nearest_of.get(name, []))
        parts.append(
            f'<h3 id="class-{class_anchor(name)}">{escape(readable(name))} '
            f'<span class="soft">{count}</span></h3>'
            + (f"<p>Words that mark it: {marks}</p>" if marks else "")
            + (f'<p class="soft">Nearest to the class:</p><ul class="nearest">{nearest}</ul>')
            * bool(nearest)
            + (_answer_table(answers[:CLASS_TEXTS]) if answers else "")
        )
    return parts


def _nearest(fitted: Fitted) -> dict[str, list[str]]:
    """Return, of the texts that were given each class, those with the largest cosine to its vector."""
    data = fitted.task.data
    if not data.texts or data.pool.shape[1] != data.table.vectors.shape[1]:
        return {}
    vectors = data.table.restricted_to(data.candidates).vectors
    cosines = unit_rows(data.pool) @ unit_rows(vectors).T
    nearest, predicted = {}, fitted.predicted
    for k, name in enumerate(data.candidates):
        rows = np.flatnonzero(predicted == name)
        best = rows[np.argsort(-cosines[rows, k], kind="stable")[:NEAREST_TEXTS]]
        nearest[name] = [data.texts[i] for i in best]
    return nearest


def _answer_table(answers: list[Answer]) -> str:
    heads = "".join(f"<th>{head}</th>" for head in ("row", "text", "class", "confidence", "or"))
    return table_box(heads, [_line(answer) for answer in answers])


def _line(answer: Answer) -> str:
    other = f"is {readable(answer.truth)}" if answer.wrong else readable(answer.runner_up)
    kind = ' class="wrong"' if answer.wrong else ""
    return (
        f'<tr{kind}><td class="n">{escape(answer.item)}</td>'
        f'<td class="text">{escape(_shortened(answer.text))}</td>'
        f'<td class="label">{escape(readable(answer.label))}</td>'
        f'<td class="n">{answer.confidence:.0%}</td><td>{escape(other)}</td></tr>'
    )


def _shortened(text: str) -> str:
    return text if len(text) <= SHOWN_LETTERS else text[:SHOWN_LETTERS].rstrip() + " …"

"""The report of a labelling as one HTML file: what to look at first, then every class."""

from __future__ import annotations

from html import escape
from pathlib import Path

from unseen.exceptions import DataError
from unseen.features import Separation
from unseen.features.pictures import open_picture
from unseen.features.words import readable
from unseen.image_files import read_picture_file
from unseen.labelling.labels import Answer, Labels
from unseen.reporting.figures import can_draw, figure_html, reliability_figure
from unseen.reporting.html_page import (
    fact_list,
    html_page,
    meter,
    section,
    table_box,
    warning_box,
    write_text,
)
from unseen.reporting.thumbnails import data_address, jpeg_thumbnail
from unseen.reporting.value_table import sortable_head
from unseen.version import __version__

THUMBNAIL_PIXELS = 168
"""Height of a thumbnail; it is at most twice as wide."""
REVIEWED_THUMBNAILS, CLASS_THUMBNAILS = 48, 12
"""Thumbnails under "look at these first", and of each class."""

_STYLE = """
.facts { display:grid; grid-template-columns:max-content 1fr; gap:.15rem 1.1rem; margin:.9rem 0; }
.facts dt { color:var(--soft); } .facts dd { margin:0; }
.cards { display:grid; grid-template-columns:repeat(auto-fill, minmax(8.6rem, 1fr)); gap:.8rem;
  margin:.8rem 0; }
.card { border:1px solid var(--line); border-radius:.5rem; overflow:hidden; background:var(--card);
  font-size:.8rem; line-height:1.35; display:flex; flex-direction:column; }
.card img { width:100%; aspect-ratio:4/3; object-fit:cover; display:block; background:var(--line); }
.card div { padding:.4rem .55rem .5rem; overflow-wrap:anywhere; }
.card b { font-size:.88rem; } .card .soft { font-size:.76rem; display:block; }
.card.wrong { border-color:var(--bad); } .card.wrong b { color:var(--bad); }
.meter { display:block; height:.28rem; background:var(--line); }
.meter i { display:block; height:100%; background:var(--accent); }
.meter.low i { background:var(--warn); }
td .meter { width:5rem; height:.5rem; border-radius:.25rem; overflow:hidden; }
h3 .soft { font-weight:400; }
"""


def write_report(
    path: Path,
    labels: Labels,
    facts: dict[str, str],
    notes: list[str],
    skipped: list[tuple[str, str]],
    separation: Separation | None = None,
) -> None:
    """Write the report.

    Parameters
    ----------
    facts : dict
        What → value, for the head of the page: folders, backbone, method.
    notes : list of str
        What the user should know: missing values filled, classes that look uneven.
    skipped : list of (picture, reason)
    """
    parts = {
        "Summary": section("summary", "Summary", *summary(labels, facts, notes, separation)),
        "Look at these first": section("review", "Look at these first", _review(labels)),
        "Every class": section("classes", "Every class", *_classes(labels)),
    }
    if skipped:
        parts["Skipped"] = section("skipped", "Pictures that were skipped", skipped_table(skipped))
    write_text(path, labels_page(labels, parts))


def labels_page(labels: Labels, parts: dict[str, str], style: str = "") -> str:
    """Return the page; ``parts`` are title → section, of which "Skipped" may be left out."""
    anchors = ("summary", "review", "classes", "skipped")
    return html_page(
        title=f"{len(labels.answers)} {labels.kind} labelled",
        subtitle=f"{labels.root.name} · {len(labels.candidates)} candidate classes",
        contents=dict(zip(anchors, parts, strict=False)),
        body="\n".join(parts.values()),
        footer=f"Written by unseen {__version__}. All labels are in the CSV file beside it.",
        style=_STYLE + style,
    )


def summary(
    labels: Labels, facts: dict[str, str], notes: list[str], separation: Separation | None
) -> list[str]:
    """Return facts, notes, the table of classes and, in a trial, the reliability diagram."""
    rows = dict(facts)
    rows["unsure"] = (
        f"{len(labels.unsure)} of {len(labels.answers)}: wrong with a chance over {labels.error:.0%}"
    )
    if labels.unknown:
        rows[labels.unknown] = (
            f"{labels.counts[labels.unknown]} of {len(labels.answers)}: they seem to belong to no class"
        )
    if labels.accuracy is not None:
        rows["right"] = (
            f"{labels.accuracy:.1%} per class, in a trial; chance is {1 / len(labels.answered):.1%}"
        )
    if labels.reliability is not None and labels.brier is not None:
        rows["confidence"] = (
            f"differs from the share of right answers by {labels.reliability.error:.3f} on average "
            f"(ECE), Brier score {labels.brier:.3f}"
        )
    if labels.start_accuracy is not None:
        rows["right at first"] = f"{labels.start_accuracy:.1%} per class, by the largest cosine"
    if separation is not None:
        rows["descriptions"] = separation.verdict
    boxes = "".join(warning_box(note) for note in notes)
    return [fact_list(rows) + boxes, _counts(labels), _reliability(labels)]


def _reliability(labels: Labels) -> str:
    """Return the diagram of a trial; "" otherwise, and where nothing can be drawn."""
    if labels.reliability is None or not can_draw():
        return ""
    caption = (
        "Answers in bins of confidence. On the dashed line, confidence is the share of right answers; "
        "above it answers are better than they say, below it worse."
    )
    return figure_html(
        reliability_figure(
            "reliability", "Is the confidence true?", {"answers": labels.reliability}, caption
        )
    )


def _counts(labels: Labels) -> str:
    """Return the table of classes: how many items, how confident, in a trial how many right."""
    most = max(labels.counts.values(), default=0) or 1
    trial = labels.accuracy is not None
    lines = []
    for name, count in sorted(labels.counts.items(), key=lambda item: (-item[1], item[0])):
        confidences = [a.confidence for a in labels.answers if a.label == name]
        mean = sum(confidences) / len(confidences) if confidences else 0.0
        right = f"{labels.by_class[name]:.0%}" if name in labels.by_class else ""
        lines.append(
            f'<tr><td><a href="#class-{class_anchor(name)}">{escape(readable(name))}</a></td>'
            f'<td class="n" data-value="{count}">{count}</td><td>{meter(count / most)}</td>'
            f'<td class="n" data-value="{mean:.4f}">{mean:.0%}</td>'
            + f'<td class="n">{right}</td>' * trial
            + "</tr>"
        )
    columns = {"class": False, labels.kind: True, "": False, "confidence": True}
    heads = [sortable_head(text, numeric) for text, numeric in columns.items()]
    heads += [sortable_head("found", True)] * trial
    return table_box("".join(heads), lines, "sortable")


def _review(labels: Labels) -> str:
    first = labels.answers[:REVIEWED_THUMBNAILS]
    left = len(labels.unsure) - len(first)
    more = f" {left} more unsure ones are in the CSV file." if left > 0 else ""
    note = f'<p class="soft">The least sure answers, least sure first.{more}</p>'
    return note + _cards(first, labels)


def _classes(labels: Labels) -> list[str]:
    parts = []
    for name in labels.answered:
        answers = [a for a in reversed(labels.answers) if a.label == name]
        count = f"{len(answers)} photograph{'s' * (len(answers) != 1)}"
        if len(answers) > CLASS_THUMBNAILS:
            count += f", the {CLASS_THUMBNAILS} surest"
        parts.append(
            f'<h3 id="class-{class_anchor(name)}">{escape(readable(name))} '
            f'<span class="soft">{count}</span></h3>' + _cards(answers[:CLASS_THUMBNAILS], labels)
        )
    return parts


def _cards(answers: list[Answer], labels: Labels) -> str:
    return f'<div class="cards">{"".join(_card(a, labels.root) for a in answers)}</div>'


def _card(answer: Answer, root: Path) -> str:
    source = _thumbnail(root / answer.item)
    picture = f'<img src="{source}" alt="{escape(answer.item)}" loading="lazy">' if source else ""
    wrong = answer.wrong
    runner = f"or {escape(readable(answer.runner_up))}" if answer.runner_up and answer.unsure else ""
    is_really = f"is {escape(readable(answer.truth))}" if wrong else runner
    return (
        f'<div class="card{" wrong" * wrong}">{picture}{meter(answer.confidence, answer.unsure)}'
        f"<div><b>{escape(readable(answer.label))}</b> {answer.confidence:.0%} {is_really}"
        f'<span class="soft">{escape(answer.item)}</span></div></div>'
    )


def skipped_table(skipped: list[tuple[str, str]]) -> str:
    """Return the table of what was skipped, and why."""
    lines = [f"<tr><td>{escape(name)}</td><td>{escape(reason)}</td></tr>" for name, reason in skipped]
    return table_box("<th>item</th><th>why</th>", lines)


def class_anchor(name: str) -> str:
    """Return a class name as it stands in the address of its part of the page."""
    return "".join(c if c.isalnum() else "-" for c in name)


def _thumbnail(path: Path) -> str:
    """Return a small JPEG as a data address, or "" if the picture can no longer be read."""
    try:
        picture = open_picture(read_picture_file(path), THUMBNAIL_PIXELS)
    except DataError:  # Pillow is not installed
        raise
    except Exception:  # it was readable a moment ago; the report is worth having without it
        return ""
    data = jpeg_thumbnail(picture, 2 * THUMBNAIL_PIXELS, THUMBNAIL_PIXELS)
    return data_address(data, "image/jpeg")

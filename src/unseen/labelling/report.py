"""The report of a labelling as one HTML file: what to look at first, then every class."""

from __future__ import annotations

import base64
import io
from html import escape
from pathlib import Path
from typing import Any

import unseen
from unseen.datasets.safety import atomic_file, need
from unseen.experiments.html import filled_page, section
from unseen.features import Separation
from unseen.features.pictures import open_picture
from unseen.features.words import readable
from unseen.labelling.labels import UNSURE, Answer, Labels

SIDE = 168
"""Pixels of a thumbnail, the longer way."""
REVIEWED, SHOWN = 48, 12
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
.meter { height:.28rem; background:var(--line); }
.meter i { display:block; height:100%; background:var(--accent); }
.meter.low i { background:var(--warn); }
.card .meter { padding:0; }
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
        "summary": section("summary", "Summary", _summary(labels, facts, notes, separation)),
        "review": section("review", "Look at these first", _review(labels)),
        "classes": section("classes", "Every class", *_classes(labels)),
    }
    if skipped:
        parts["skipped"] = section("skipped", "Pictures that were skipped", _skipped(skipped))
    names = {"summary": "Summary", "review": "Look at these first", "classes": "Every class"}
    links = [f'<a href="#{name}">{names.get(name, "Skipped")}</a>' for name in parts]
    html = filled_page(
        title=f"{len(labels.answers)} photographs labelled",
        subtitle=escape(f"{labels.root.name} · {len(labels.candidates)} candidate classes"),
        contents="".join(links),
        body="\n".join(parts.values()),
        footer=f"Written by unseen {unseen.__version__}. All labels are in the CSV file beside it.",
        style=_STYLE,
    )
    with atomic_file(path) as temporary:
        temporary.write_text(html, encoding="utf-8")


def _summary(
    labels: Labels, facts: dict[str, str], notes: list[str], separation: Separation | None
) -> str:
    rows = dict(facts)
    rows["unsure"] = f"{len(labels.unsure)} of {len(labels.answers)}, below {UNSURE:.0%} confidence"
    if labels.accuracy is not None:
        rows["right"] = (
            f"{labels.accuracy:.1%} per class, in a trial with held-out classes; "
            f"chance is {1 / len(labels.candidates):.1%}"
        )
    if separation is not None:
        rows["descriptions"] = separation.verdict
    shown = "".join(f"<dt>{escape(k)}</dt><dd>{escape(v)}</dd>" for k, v in rows.items())
    told = "".join(f'<div class="warning">{escape(note)}</div>' for note in notes)
    return f'<dl class="facts">{shown}</dl>{told}{_counts(labels)}'


def _counts(labels: Labels) -> str:
    """Return the table of classes: how many pictures, how sure, in a trial how many right."""
    most = max(labels.counts.values(), default=0) or 1
    trial = labels.accuracy is not None
    lines = []
    for name, count in sorted(labels.counts.items(), key=lambda item: (-item[1], item[0])):
        own = [a.confidence for a in labels.answers if a.label == name]
        sure = sum(own) / len(own) if own else 0.0
        right = (
            f'<td class="n">{labels.by_class[name]:.0%}</td>'
            if name in labels.by_class
            else "<td></td>"
        )
        lines.append(
            f'<tr><td><a href="#class-{_anchor(name)}">{escape(readable(name))}</a></td>'
            f'<td class="n" data-value="{count}">{count}</td><td>{_meter(count / most, False)}</td>'
            f'<td class="n" data-value="{sure:.4f}">{sure:.0%}</td>{right if trial else ""}</tr>'
        )
    heads = ["class", "photographs", "", "confidence", *(["found"] if trial else [])]
    kinds = ["", " class=n", "", " class=n", " class=n"]
    head = "".join(
        f'<th scope="col"{kind}><button type="button">{text}</button></th>'
        for text, kind in zip(heads, kinds, strict=False)
    )
    return (
        f'<div class="scroll" tabindex="0"><table class="sortable"><thead><tr>{head}</tr></thead>'
        f"<tbody>{''.join(lines)}</tbody></table></div>"
    )


def _review(labels: Labels) -> str:
    first = labels.answers[:REVIEWED]
    left = len(labels.unsure) - len(first)
    more = f" {left} more unsure ones are in the CSV file." if left > 0 else ""
    note = f'<p class="soft">The least sure answers, least sure first.{more}</p>'
    return note + _cards(first, labels)


def _classes(labels: Labels) -> list[str]:
    parts = []
    for name in labels.candidates:
        own = [a for a in reversed(labels.answers) if a.label == name]
        shown = f"{len(own)} photograph{'s' * (len(own) != 1)}"
        if len(own) > SHOWN:
            shown += f", the {SHOWN} surest"
        parts.append(
            f'<h3 id="class-{_anchor(name)}">{escape(readable(name))} '
            f'<span class="soft">{shown}</span></h3>' + _cards(own[:SHOWN], labels)
        )
    return parts


def _cards(answers: list[Answer], labels: Labels) -> str:
    return f'<div class="cards">{"".join(_card(a, labels.root) for a in answers)}</div>'


def _card(answer: Answer, root: Path) -> str:
    source = _thumbnail(root / answer.image)
    picture = f'<img src="{source}" alt="{escape(answer.image)}" loading="lazy">' if source else ""
    wrong = bool(answer.truth) and answer.truth != answer.label
    runner = f"or {escape(readable(answer.runner_up))}" if answer.runner_up and answer.unsure else ""
    is_really = f"is {escape(readable(answer.truth))}" if wrong else runner
    return (
        f'<div class="card{" wrong" * wrong}">{picture}{_meter(answer.confidence, answer.unsure)}'
        f"<div><b>{escape(readable(answer.label))}</b> {answer.confidence:.0%} {is_really}"
        f'<span class="soft">{escape(answer.image)}</span></div></div>'
    )


def _meter(share: float, low: bool) -> str:
    return f'<div class="meter{" low" * low}"><i style="width:{100 * share:.0f}%"></i></div>'


def _skipped(skipped: list[tuple[str, str]]) -> str:
    lines = "".join(
        f"<tr><td>{escape(name)}</td><td>{escape(reason)}</td></tr>" for name, reason in skipped
    )
    return (
        '<div class="scroll" tabindex="0"><table><thead><tr><th>picture</th><th>why</th></tr></thead>'
        f"<tbody>{lines}</tbody></table></div>"
    )


def _anchor(name: str) -> str:
    return "".join(c if c.isalnum() else "-" for c in name)


def _thumbnail(path: Path) -> str:
    """Return a small JPEG as a data address, or "" if the picture went away meanwhile."""
    need("PIL.Image", "photographs", "images")
    try:
        small: Any = open_picture(path.read_bytes(), SIDE)
    except Exception:  # it was readable a moment ago; a report is worth more without it than not at all
        return ""
    small.thumbnail((2 * SIDE, SIDE))
    buffer = io.BytesIO()
    small.save(buffer, "JPEG", quality=80, optimize=True)
    return "data:image/jpeg;base64," + base64.b64encode(buffer.getvalue()).decode()

"""One style for all HTML pages: the page itself, sections, lists of facts, tables and meters."""

from __future__ import annotations

import base64
import hashlib
import string
from collections.abc import Iterable, Mapping
from html import escape
from importlib import resources
from pathlib import Path

from unseen.files import atomic_file

TEMPLATE = "page_template.html"


def html_page(
    *, title: str, subtitle: str, contents: Mapping[str, str], body: str, footer: str, style: str = ""
) -> str:
    """Return a self-contained page.

    Parameters
    ----------
    title, subtitle, footer : str
        Plain text.
    contents : mapping
        Anchor → text of a link, for the table of contents.
    body : str
        HTML.
    style : str
        CSS that this page needs beyond the common style.
    """
    links = "".join(
        f'<a href="#{escape(anchor)}">{escape(text)}</a>' for anchor, text in contents.items()
    )
    template = (resources.files(__package__) / TEMPLATE).read_text(encoding="utf-8")
    return string.Template(template).substitute(
        policy=_content_policy(template),
        title=escape(title),
        subtitle=escape(subtitle),
        contents=links,
        body=body,
        footer=escape(footer),
        style=style,
    )


def _content_policy(template: str) -> str:
    """Return the policy that a browser holds the page to: its own script and style, pictures inside it.

    The script is known by its checksum, so that no other one runs, wherever a name may have put it.
    """
    script = template.partition("<script>")[2].partition("</script>")[0]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return (
        f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


def write_text(path: Path, text: str) -> Path:
    """Write a page or any other text in one step, and return its path."""
    with atomic_file(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
    return path


def section(name: str, title: str, *parts: str) -> str:
    """Return a section with its heading."""
    return f'<section id="{escape(name)}"><h2>{escape(title)}</h2>\n' + "\n".join(parts) + "</section>"


def fact_list(facts: Mapping[str, str]) -> str:
    """Return names and values, one pair a line."""
    pairs = "".join(f"<dt>{escape(k)}</dt><dd>{escape(v)}</dd>" for k, v in facts.items())
    return f'<dl class="facts">{pairs}</dl>'


def warning_box(text: str, head: str = "", severity: str = "") -> str:
    """Return a box with a warning; ``severity`` sets its colour: "error", "warning" or "info"."""
    kinds = escape(f"warning {severity}".strip())
    bold = f"<b>{escape(head)}</b> " if head else ""
    return f'<div class="{kinds}"><p>{bold}{escape(text)}</p></div>'


def table_box(heads: str, lines: Iterable[str], kind: str = "", box: str = "scroll") -> str:
    """Return a table in a box that scrolls by keyboard, too.

    Parameters
    ----------
    heads : str
        The cells of the header row, as HTML.
    lines : iterable of str
        The ``<tr>`` elements of the body.
    kind : str
        The class of the table; "sortable" makes its headings sort it.
    box : str
        The classes of the box.
    """
    named = f' class="{kind}"' if kind else ""
    return (
        f'<div class="{box}" tabindex="0"><table{named}><thead><tr>{heads}</tr></thead><tbody>\n'
        + "\n".join(lines)
        + "\n</tbody></table></div>"
    )


def meter(share: float, low: bool = False) -> str:
    """Return a horizontal bar that is filled to ``share``; a low value has another colour.

    >>> meter(0.25)
    '<span class="meter" aria-hidden="true"><i style="width:25%"></i></span>'
    """
    kinds = "meter low" if low else "meter"
    return f'<span class="{kinds}" aria-hidden="true"><i style="width:{100 * share:.0f}%"></i></span>'

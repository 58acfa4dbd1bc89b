"""What both pages of the studio have around them: style, scripts, and the head."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import resources

from nicegui import ui


def page_part(name: str) -> str:
    """Return the text of a file of the pages."""
    return (resources.files(__package__) / name).read_text(encoding="utf-8")


@contextmanager
def page_frame(lead: str, kind: str = "") -> Iterator[None]:
    """Lay out the head of a page about data of a kind; what is drawn inside is its body."""
    ui.add_css(page_part("studio.css"))
    for name in ("gallery", "drop_zone"):
        ui.add_head_html(f'<script type="module" src="/studio/{name}.js"></script>')
    ui.colors(primary="#2f63ad")
    with ui.element("main").classes(f"desk {kind}"):
        with ui.element("div").classes("lead"):
            ui.html('<h1><a href="/">unseen studio</a></h1>', sanitize=False)
            ui.label(f"{lead} Nothing leaves this machine.").classes("soft")
        yield

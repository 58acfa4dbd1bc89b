"""What both pages of the studio have around them: style, scripts, and the head."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import resources

from nicegui import ui


@contextmanager
def page_frame(lead: str) -> Iterator[None]:
    """Lay out the head of a page; what is drawn inside is its body."""
    ui.add_css((resources.files(__package__) / "studio.css").read_text(encoding="utf-8"))
    ui.add_head_html('<script src="/studio/gallery.js" defer></script>')
    ui.colors(primary="#2f63ad")
    with ui.element("div").classes("desk"):
        with ui.element("div").classes("lead"):
            ui.html('<h1><a href="/">unseen studio</a></h1>', sanitize=False)
            ui.label(f"{lead} Nothing leaves this machine.").classes("soft")
        yield

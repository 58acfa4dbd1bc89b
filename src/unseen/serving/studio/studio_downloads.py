"""What can be downloaded of an outcome: labels, model file and report."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING

from nicegui import ui

from unseen.labelling import save_model, write_known, write_report, write_text_report
from unseen.serving.studio.live_session import LiveSession
from unseen.serving.studio.outcomes import Outcome

if TYPE_CHECKING:
    from unseen.serving.studio.app import Library


def write_labels(outcome: Outcome, folder: Path) -> Path:
    """Write the labels as CSV."""
    path = folder / f"labels-{outcome.method}.csv"
    outcome.fitted.labels().write(path)
    return path


def write_model(outcome: Outcome, folder: Path) -> Path:
    """Write the model file; it says where its features came from, if that is known."""
    path = folder / f"model-{outcome.method}.safetensors"
    save_model(path, outcome.fitted)
    return path


def write_page(outcome: Outcome, folder: Path) -> Path:
    """Write the report."""
    path = folder / f"report-{outcome.method}.html"
    task = outcome.fitted.task
    facts = {"data": task.data.name, "features": task.data.features, "method": outcome.method}
    if task.corrections:
        facts["corrected by hand"] = f"{len(task.corrections)}"
    notes = [*task.data.notes, *outcome.fitted.notes]
    if task.data.texts is None:
        write_report(path, outcome.fitted.labels(), facts, notes, task.data.skipped)
    else:
        write_text_report(path, outcome.fitted, facts, notes)
    return path


DOWNLOADS = {
    "Labels (CSV)": write_labels,
    "Model file": write_model,
    "Report (HTML)": write_page,
}
"""The text of a button → what writes the file."""


def draw_downloads(box: ui.element, library: Library, live: LiveSession) -> None:
    """Draw the buttons that download the results of a session, and the labels that a person gave."""
    box.clear()
    box.visible = True
    with box:
        ui.html("<h2>Download</h2>", sanitize=False)
        for name in live.outcomes:
            with ui.element("div").classes("line"):
                if len(live.outcomes) > 1:
                    ui.label(name).style("min-width:11rem")
                for text, write in DOWNLOADS.items():
                    button = ui.button(text, on_click=_download(library, live, name, write))
                    button.props(f'outline no-caps aria-label="{text}, {name}"')
        if live.session.labels:
            with ui.element("div").classes("line"):
                known = ui.button("Your labels (CSV)", on_click=lambda: _download_known(library, live))
                known.props("outline no-caps")


def _download(
    library: Library, live: LiveSession, name: str, write: Callable[[Outcome, Path], Path]
) -> Callable[[], Awaitable[None]]:
    async def work() -> None:
        outcome = next(result for result in live.results if result.method == name)
        with tempfile.TemporaryDirectory(dir=library.folder) as folder:
            path = await asyncio.to_thread(write, outcome, Path(folder))
            ui.download.content(path.read_bytes(), path.name)

    return work


def _download_known(library: Library, live: LiveSession) -> None:
    with tempfile.TemporaryDirectory(dir=library.folder) as folder:
        path = Path(folder) / "known.csv"
        assert live.data is not None
        write_known(path, live.session.labels, live.data)
        ui.download.content(path.read_bytes(), path.name)

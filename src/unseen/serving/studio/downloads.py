"""What can be downloaded of an outcome: labels, model file and report."""

from __future__ import annotations

from pathlib import Path

from unseen.labelling import save_model, write_report, write_text_report
from unseen.serving.studio.outcomes import Outcome


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

"""What a user does with a method of another package. ``test_new_method.py`` runs it as a process.

Usage: python walk_new_method.py FOLDER NAME. Prints what was found as JSON.
"""

from __future__ import annotations

import csv
import json
import os
import sys
from pathlib import Path

from typer.testing import CliRunner

from pictures import COLOURS, NOBODY_LABELLED, write_attributes, write_pictures
from unseen.cli import app
from unseen.serving.studio.method_choice import groups_for


def command(*arguments: str) -> str:
    result = CliRunner().invoke(app, arguments, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def labels(path: str) -> list[list[str]]:
    with Path(path).open(newline="") as file:
        return [[row["image"], row["label"]] for row in csv.DictReader(file)]


def main(folder: str, name: str) -> None:
    os.chdir(folder)
    os.environ["UNSEEN_CACHE"] = "cache"
    both = [name, f"Fast-{name}"]
    listed = json.loads(command("bench", "--list", "--json"))["methods"]
    Path("mine.toml").write_text(
        f'[[experiment]]\ndatasets = ["simulated-aPY@0.02x16"]\nmethods = {json.dumps(both)}\n'
    )
    run = json.loads(command("bench", "mine.toml", "--jobs", "1", "--json"))
    write_pictures(Path("seen"), [c for c in COLOURS if c not in NOBODY_LABELLED])
    write_pictures(Path("new"), NOBODY_LABELLED)
    write_attributes(Path("classes.csv"))
    photos = ("--seen", "seen", "--classes", "classes.csv", "--backbone", "colours")
    command("label", *photos, "--unlabelled", "new", "--method", name, "--out", "labels.csv")
    for method in both:
        model = f"{method}.safetensors"
        command("fit", *photos, "--method", method, "--out", model)
        command("predict", model, "new", "--backbone", "colours", "--out", f"{method}.csv")
    found = {
        "listed": [m for m in listed if m["name"] in both],
        "bench": [[r["method"], r["status"], r["key"]] for r in run["results"]],
        "studio": [n for names in groups_for(texts=False).values() for n in names if n in both],
        "labels": labels("labels.csv"),
        "from_files": [labels(f"{method}.csv") for method in both],
    }
    print(json.dumps(found))  # noqa: T201


if __name__ == "__main__":
    main(*sys.argv[1:])

"""CONTRIBUTING's "How to add a method", walked through with the class that is printed there."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import unseen
from unseen import ModelFileError, methods

ROOT = Path(__file__).parents[1]
TESTS, SOURCE = ROOT / "tests", Path(unseen.__file__).parent
PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
PACKAGE = "their-package"


def block(language: str) -> str:
    found = re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.M | re.S)
    assert len(found) == 1
    return found[0]


def run(*arguments: object, path: tuple[Path, ...]) -> str:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, path)), "COLUMNS": "120"}
    command = [sys.executable, *map(str, arguments)]
    result = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    return result.stdout


def install(folder: Path) -> str:
    """Write the printed class and entry point as an installed package; return the method's name."""
    points = tomllib.loads(block("toml"))["project"]["entry-points"][methods.ENTRY_POINT_GROUP]
    ((name, value),) = points.items()
    module = value.partition(":")[0]
    (folder / f"{module}.py").write_text(block("python"), encoding="utf-8")
    record = folder / f"{PACKAGE.replace('-', '_')}-1.0.dist-info"
    record.mkdir()
    (record / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {PACKAGE}\nVersion: 1.0\n")
    text = f"[{methods.ENTRY_POINT_GROUP}]\n{name} = {value}\n"
    (record / "entry_points.txt").write_text(text)
    return name


def test_a_method_of_another_package_is_in_every_command(tmp_path):
    package, work = tmp_path / "package", tmp_path / "work"
    package.mkdir()
    work.mkdir()
    name = install(package)
    path = (package, TESTS, SOURCE.parent)
    found = json.loads(run(TESTS / "walk_new_method.py", work, name, path=path))
    both = [name, f"Fast-{name}"]
    assert [m["name"] for m in found["listed"]] == both
    assert {m["package"] for m in found["listed"]} == {PACKAGE}
    assert [row[:2] for row in found["bench"]] == [[method, "done"] for method in both]
    assert found["studio"] == both
    for answers in (found["labels"], *found["from_files"]):
        right = [image.startswith(label) for image, label in answers]
        assert len(right) == 18
        assert sum(right) > 12
    assert sorted(found["labels"]) == sorted(found["from_files"][0])

    message = f"needs the method {name!r} of the package {PACKAGE!r}, which is not installed"
    with pytest.raises(ModelFileError, match=message):
        unseen.load(work / f"{name}.safetensors")

    with next(package.glob("*.py")).open("a") as file:  # other code, other results
        file.write("\n")
    bench = ("-m", "unseen", "bench", work / "mine.toml", "--out", tmp_path / "again", "--json")
    again = json.loads(run(*bench, path=path))["results"]
    assert {row["key"] for row in again}.isdisjoint(row[2] for row in found["bench"])


def test_a_method_of_the_library_is_its_file_and_one_import(tmp_path):
    """The other two of the four files are its test and its section."""
    own = tmp_path / "unseen"
    shutil.copytree(SOURCE, own, ignore=shutil.ignore_patterns("__pycache__"))
    (own / "inductive" / "least_squares.py").write_text(block("python"), encoding="utf-8")
    start = own / "inductive" / "__init__.py"
    text = start.read_text(encoding="utf-8").replace(
        "__all__ = [",
        'from unseen.inductive.least_squares import LeastSquares\n\n__all__ = [\n    "LeastSquares",',
    )
    start.write_text(text, encoding="utf-8")
    check = (
        "import unseen, estimators; from unseen import LeastSquares, methods;"
        "from unseen.persistence.class_keys import known_classes;"
        "names = [estimators.name_of(e) for e in estimators.ESTIMATORS];"
        "print(unseen.__file__, *methods.catalogue(), *names, sep='\\n');"
        "assert LeastSquares in known_classes().values()"
    )
    told = run("-c", check, path=(tmp_path, TESTS)).splitlines()
    assert Path(told[0]).parent == own
    assert told.count("LeastSquares") == 2
    assert "Fast-LeastSquares" in told
    assert "LeastSquares" in run("-m", "unseen", "bench", "--list", path=(tmp_path,))

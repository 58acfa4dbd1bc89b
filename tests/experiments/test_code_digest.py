"""The digest of the code: no file that decides a result can change without it."""

from __future__ import annotations

import shutil
from pathlib import Path

import grimp
import pytest

from unseen.experiments.code_digest import AROUND, PACKAGE, PAGES, deciding_files, digest_of_files

ROOTS = ("experiments.execute", "experiments.workers", "fast", "inductive", "transductive", "scale")
"""What runs a cell, and what it takes from the package's own ``__init__``."""


def digest(package: Path) -> str:
    return digest_of_files(deciding_files(package), package)


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of the package that a test may change."""
    ignored = shutil.ignore_patterns("__pycache__")
    return Path(shutil.copytree(PACKAGE, tmp_path / "unseen", ignore=ignored))


def imported_by_a_cell() -> set[str]:
    """Return the modules that a cell imports, directly or not, in functions too."""
    graph = grimp.build_graph("unseen", cache_dir=None)
    for module in graph.find_modules_that_directly_import("unseen"):
        graph.remove_import(importer=module, imported="unseen")  # it imports everything
    roots = {f"unseen.{root}" for root in ROOTS}
    return roots.union(*(graph.find_upstream_modules(root) for root in roots))


def path_of(module: str, package: Path) -> Path:
    path = package.joinpath(*module.split(".")[1:])
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def test_a_change_of_any_file_that_a_cell_imports_changes_it(copy: Path) -> None:
    before = digest(copy)
    assert before == digest(PACKAGE)
    modules = imported_by_a_cell()
    assert {"unseen.inputs", "unseen.experiments.registry", "unseen.metrics"} <= modules
    assert len(modules) > 100
    files = deciding_files(copy)  # by name: what is in a file does not decide whether it counts
    for module in sorted(modules):
        file = path_of(module, copy)
        content = file.read_bytes()
        file.write_bytes(content + b"\n# changed\n")
        assert digest_of_files(files, copy) != before, module
        file.write_bytes(content)
    assert digest(copy) == before


def test_it_descends_into_folders_and_knows_where_a_file_is(copy: Path) -> None:
    before = digest(copy)
    deep = copy / "inductive" / "new" / "deeper"
    deep.mkdir(parents=True)
    (deep / "method.py").write_text("ONE = 1\n", encoding="utf-8")
    inside = digest(copy)
    (deep / "method.py").rename(copy / "inductive" / "new" / "method.py")
    assert len({before, inside, digest(copy)}) == 3


def test_pages_and_commands_do_not_count(copy: Path) -> None:
    before = digest(copy)
    for part in (*AROUND, *PAGES):
        path = copy / part
        for file in path.rglob("*.py") if path.is_dir() else [path] if path.is_file() else []:
            file.write_text("# changed\n", encoding="utf-8")
    assert digest(copy) == before

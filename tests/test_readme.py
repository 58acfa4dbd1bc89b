"""What the README and the guide promise: code blocks run as printed, links lead somewhere."""

from __future__ import annotations

import pkgutil
import re
import shlex
import tomllib
from pathlib import Path

import pytest
import typer

import unseen
from unseen import TransductiveClassifier, ZeroShotClassifier
from unseen.cli import app
from unseen.experiments.specification import parse
from unseen.methods import find, select

ROOT = Path(__file__).parents[1]
MADE = ("generated", "gallery", "_build")
"""Folders of docs that ``make docs`` writes."""
PAGES = [
    *(ROOT / "README.md", ROOT / "CONTRIBUTING.md"),
    *(page for page in sorted((ROOT / "docs").rglob("*.md")) if not set(MADE) & set(page.parts)),
]
RUN_ELSEWHERE = {"data.md"}
"""Pages whose code has a test of its own, ``tests/datasets/test_guide.py``."""
FILE_ENDINGS = {"json", "txt", "csv", "npz"}


def python_blocks(page: Path) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```", page.read_text(encoding="utf-8"), re.M | re.S)


@pytest.mark.parametrize(
    "page", [page for page in PAGES if page.name not in RUN_ELSEWHERE], ids=lambda path: path.name
)
def test_python_blocks_run_as_printed(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for number, block in enumerate(python_blocks(page), start=1):
        exec(compile(block, f"{page.name}, block {number}", "exec"), names)


def test_specifications_of_the_guide_are_read():
    page = ROOT / "docs/guide/experiments.md"
    blocks = re.findall(r"^```toml\n(.*?)^```", page.read_text(encoding="utf-8"), re.M | re.S)
    assert len(blocks) >= 3
    for number, block in enumerate(blocks, start=1):
        assert parse(block, f"{page.name}, block {number}", "guide").experiments


def test_the_first_example_has_ten_lines(capsys):
    block = python_blocks(ROOT / "README.md")[0]
    assert len([line for line in block.splitlines() if line.strip()]) == 10
    exec(compile(block, "README.md", "exec"), {})
    inductive, transductive = (
        int(found) for found in re.findall(r"^(\d+)%", capsys.readouterr().out, re.M)
    )
    assert inductive >= 58
    assert transductive >= 70


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_links_lead_somewhere(page):
    text = page.read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", text):
        if not target.startswith(("http://", "https://")):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_files_that_a_page_names_exist(page):
    text = page.read_text(encoding="utf-8")
    folders = (ROOT, ROOT / "src" / "unseen", page.parent)
    for name in set(re.findall(r"(?<![\w./-])(?:[\w-]+/)*[\w-]+\.py\b", without_examples(text))):
        assert any((folder / name).is_file() for folder in folders), f"{page.name} names {name}"


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_python_names_that_a_page_names_exist(page):
    text = page.read_text(encoding="utf-8")
    for name in set(re.findall(r"(?<![\w./-])unseen(?:\.[A-Za-z_]\w*)+", text)):
        if name.rpartition(".")[2] not in FILE_ENDINGS:
            assert pkgutil.resolve_name(name) is not None, f"{page.name} names {name}"


def without_examples(text: str) -> str:
    """Leave out texts of links, and blocks of code, which make and name files of their own."""
    return re.sub(r"^```(?:python|console|sh)\n.*?^```|\[[^]]*\](?=\()", "", text, flags=re.M | re.S)


def test_contributing_shows_the_house_as_it_is():
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    tree = page.partition("    src/unseen/\n")[2].partition("    tests/")[0]
    entries = re.findall(r"^ {6}(\w\S*(?:, \w+\.py)*)", tree.replace(", ", ","), re.M)
    named = {name.rstrip("/") for entry in entries for name in entry.split(",")}
    package = ROOT / "src" / "unseen"
    there = {path.name for path in package.iterdir() if not path.name.startswith("__")}
    assert named == there - {"py.typed"}


def test_contributing_names_the_direction_of_imports():
    contract = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    layers = contract["tool"]["importlinter"]["contracts"][0]["layers"]
    parts = [layer.split(" | ") for layer in layers]
    texts = ["{" + ", ".join(part) + "}" if len(part) > 1 else part[0] for part in parts]
    assert " → ".join(texts) + "." in (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")


def test_every_method_has_its_section_in_the_guide():
    guide = (ROOT / "docs/guide/estimators.md").read_text(encoding="utf-8")
    own = [name for name in select(fast=False) if find(name).package == "unseen"]
    for name in (*own, "SelfPaced", "FastTraining"):
        assert re.search(rf"^## .*{name}", guide, re.M), name


def test_the_table_of_estimators_names_what_there_is():
    page = (ROOT / "docs/guide/methods.md").read_text(encoding="utf-8")
    table = page.partition("## The estimators")[2].partition("\n\n`unseen bench --list`")[0]
    rows = [line.strip("| ").split("|") for line in table.strip().splitlines()[2:]]
    assert {len(row) for row in rows} <= {2, 3}, "an estimator, its idea, whether it uses the pool"
    named = {name for row in rows for name in re.findall(r"`(\w+)", row[0])}
    assert len(named) > 25
    for name in named:
        assert issubclass(getattr(unseen, name), ZeroShotClassifier)
        pool = issubclass(getattr(unseen, name), TransductiveClassifier)
        if pool:
            assert f"`{name}" in "".join(row[0] for row in rows if row[-1].strip() == "yes"), name


def test_commands_exist():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for command in re.findall(r"^make (\S+)", readme, re.M):
        assert re.search(rf"^{command}:", makefile, re.M), command


def test_the_hooks_before_a_commit_are_the_checks_of_make_test():
    hooks = (ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8")
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    code = re.search(r"^CODE := (.*)$", makefile, re.M).group(1)
    asked = makefile.replace("$(CODE)", code).replace("$(BIN)", ".venv/bin")
    entries = re.findall(r"entry: (.*)$", hooks, re.M)
    assert [entry.split()[0].rpartition("/")[2] for entry in entries] == [
        *("ruff", "ruff", "mypy", "lint-imports")
    ]
    assert all(entry in asked for entry in entries)
    assert "http" not in hooks


def test_options_of_printed_commands_exist():
    """Every ``unseen …`` line of the pages names commands and options that there are."""
    group = typer.main.get_command(app)
    lines = [
        line
        for page in PAGES
        for block in re.findall(r"^```sh\n(.*?)^```", page.read_text(encoding="utf-8"), re.M | re.S)
        for line in block.splitlines()
        if line.startswith("unseen ")
    ]
    assert len(lines) > 8
    for line in lines:
        command = group
        for word in shlex.split(line, comments=True)[1:]:
            known = {option for parameter in command.params for option in parameter.opts}
            if word.startswith("--"):
                assert word in known, f"{word} in: {line}"
            elif word in getattr(command, "commands", {}):
                command = command.commands[word]


def test_the_record_agrees_on_the_version():
    assert f"version: {unseen.__version__}" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"## [{unseen.__version__}]" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")

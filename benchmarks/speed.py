"""How long fits take, as ratios to one `X.T @ X` by NumPy in the same process.

    python benchmarks/speed.py                    the table, at the paper's AwA shape (about 2 GB)
    python benchmarks/speed.py --references       beside it: descent, scikit-learn, a textbook
    python benchmarks/speed.py --scale 0.2        fewer rows: a quick look
    python benchmarks/speed.py --only ESZSL Fast  some of the lines
    python benchmarks/speed.py --json FILE        the same numbers for a program
    python benchmarks/speed.py --processor        processor time of one thread, on a busy machine

Data are simulated at the shape 24,295 × 4,096 (float32), 40 seen classes, 85 attributes, 6,180
unlabelled rows. Ridges are given, so that a fit is one fit, except in the lines that say otherwise; the
path is measured by itself. The unit is
measured again before every run, since machines are shared, and the best of several counts; "extra
memory" is the peak that NumPy allocates during a fit, as a share of X.
"""

from __future__ import annotations

import argparse
import gc
import json
import time
import tracemalloc
import warnings
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import RidgeClassifier
from sklearn.svm import LinearSVC
from threadpoolctl import threadpool_limits

from unseen import ASTE, ESZSL, TASTE, FastTraining, PrototypeRidge, SelfPacedPrototypes
from unseen.datasets import ZeroShotDataset, simulate
from unseen.exceptions import AdaptationWarning
from unseen.inductive.bilinear import Path as Values
from unseen.inductive.bilinear import choose, semantic_scale
from unseen.rows.labelled import Rows
from unseen.transductive import BalancedSelection

Fit = Callable[[], Any]

SGD_ROUNDS = (30, 300)
"""Rounds of the descent with the paper's schedule: how far it has come is said beside its time."""


CLOCK: list[Callable[[], float]] = [time.perf_counter]
"""The clock of all measurements: that of the wall, or with --processor that of this process."""


@dataclass(frozen=True)
class Line:
    """One line of the table."""

    name: str
    ratio: float
    at_most: float | None
    seconds: float
    memory: float
    note: str = ""


class Problem:
    """A data set, the ridges of a fit, and the unit of time."""

    def __init__(self, data: ZeroShotDataset, repeat: int) -> None:
        self.X = np.ascontiguousarray(data.X[data.train])
        self.y = data.y[data.train]
        self.semantics = dict(data.semantics)
        rows = np.concatenate([data.train, data.test_unseen])
        self.all_rows, self.labels = np.ascontiguousarray(data.X[rows]), data.y[rows].astype(object)
        self.labels[len(self.y) :] = None
        self.repeat = repeat
        classes, self.codes = np.unique(self.y, return_inverse=True)
        self.A = np.array([self.semantics[c] for c in classes.tolist()], dtype=float).T
        self.C = 2 * 0.3 * float(np.einsum("ij,ij->", self.X, self.X)) / self.X.shape[1]
        self.mu = 0.3 * semantic_scale(self.A)

    def product(self) -> Any:
        """Return X.T @ X."""
        return self.X.T @ self.X

    def unit(self) -> float:
        """Return the seconds of that, the best of several."""
        return self.best(self.product)

    def best(self, run: Fit) -> float:
        """Return the least of several times."""
        gc.collect()
        return min(_time(run) for _ in range(self.repeat))

    def line(self, name: str, at_most: float | None, run: Fit, note: Callable[[Any], str]) -> Line:
        """Measure one line; the unit is taken before every run, and the best of either counts."""
        gc.collect()
        units, runs = zip(*((_time(self.product), _time(run)) for _ in range(self.repeat)), strict=True)
        unit, seconds = min(units), min(runs)
        result, memory, _ = self.traced(run)
        return Line(name, seconds / unit, at_most, seconds, memory, note(result))

    def once(self, name: str, run: Fit, note: Callable[[Any], str]) -> Line:
        """Measure what takes long in a single run."""
        before = self.unit()
        result, memory, seconds = self.traced(run)
        unit = min(before, self.unit())
        return Line(name, seconds / unit, None, seconds, memory, note(result))

    def traced(self, run: Fit) -> tuple[Any, float, float]:
        """Run once; return the result, the peak of memory as a share of X, and the seconds."""
        tracemalloc.start()
        begun = CLOCK[0]()
        result = run()
        seconds = CLOCK[0]() - begun
        memory = tracemalloc.get_traced_memory()[1] / self.X.nbytes
        tracemalloc.stop()
        return result, memory, seconds


def fits(problem: Problem) -> Iterator[tuple[str, float | None, Fit, Callable[[Any], str]]]:
    """Yield the lines of the issue: name, limit, what to run, and what to say of its result."""
    X, y, semantics, C, mu = problem.X, problem.y, problem.semantics, problem.C, problem.mu
    ridges: dict[str, Any] = {"C": C, "mu": mu}
    four: dict[str, Any] = {**ridges, "settle": 0}
    # The plain norm of Eq. (20), and no review before the rounds. The paper selects by one threshold.
    plain_norm: dict[str, Any] = {**four, "shrinkage": None, "selection": BalancedSelection()}

    def nothing(_: Any) -> str:
        return ""

    def gap(model: Any) -> str:
        return f"relative gap {model.relative_gap_:.0e}"

    def rounds(model: Any) -> str:
        return f"{len(model.history_)} rounds"

    eszsl = ESZSL(semantics, gamma=C / 2, lam=mu)
    yield "ESZSL", 0.4, lambda: eszsl.fit(X, y), nothing
    yield "ASTE, exact", 0.4, lambda: ASTE(semantics, **ridges).fit(X, y), gap
    whole = problem.all_rows, problem.labels
    yield "TASTE, four rounds", 1.4, lambda: TASTE(semantics, **four).fit(*whole), rounds
    yield "TASTE, plain norm", 2.0, lambda: TASTE(semantics, **plain_norm).fit(*whole), rounds
    for inner in (ASTE(semantics, **ridges), eszsl, PrototypeRidge(semantics, lam=1.0)):
        fast = FastTraining(inner)
        yield f"Fast-{type(inner).__name__}", 0.05, lambda m=fast: m.fit(X, y), nothing
    for name, settings in (("Fast-TASTE", four), ("Fast-TASTE, plain norm", plain_norm)):
        fast = FastTraining(TASTE(semantics, **settings))
        yield name, 0.5, lambda m=fast: m.fit(*whole), rounds
    A, codes = problem.A, problem.codes
    grid = Values((0.01, 0.1, 0.3, 1.0, 10.0)), Values((0.03, 0.1, 0.3, 1.0))
    yield "ESZSL with its folds", 2.0, lambda: ESZSL(semantics).fit(X, y), nothing
    yield "ASTE with its folds", 2.0, lambda: ASTE(semantics).fit(X, y), gap
    yield "SelfPacedPrototypes", 5.0, lambda: SelfPacedPrototypes(semantics).fit(*whole), nothing
    yield "path of 20 C and mu, folds included", 4.0, lambda: choose(Rows(X, codes), A, *grid), nothing


def scoring(problem: Problem) -> Line:
    """Measure decision_function against X @ W; its ratio is to that, not to the unit."""
    X = problem.X
    model = ESZSL(problem.semantics, gamma=problem.C / 2, lam=problem.mu).fit(X, problem.y)
    _, vectors = model._resolve()
    W = (model.compatibility_ @ vectors.T).astype(X.dtype)
    product, scores = problem.best(lambda: X @ W), problem.best(lambda: model.decision_function(X))
    return Line("decision_function, against X @ W", scores / product, 1.15, scores, 0.0)


def references(problem: Problem) -> Iterator[tuple[str, Fit, Callable[[Any], str]]]:
    """Yield what others would run; none of them has a limit."""
    X, y, semantics, C, mu = problem.X, problem.y, problem.semantics, problem.C, problem.mu
    exact = ASTE(semantics, C=C, mu=mu).fit(X, y).objective_

    def textbook() -> Any:
        Y = np.eye(problem.A.shape[1])[problem.codes]
        G = X.T @ X + C / 2 * np.eye(X.shape[1])
        H = problem.A @ problem.A.T + mu * np.eye(len(problem.A))
        return np.linalg.inv(G) @ X.T @ Y @ problem.A.T @ np.linalg.inv(H)

    def descend(rounds: int) -> Any:
        return ASTE(semantics, C=C, mu=mu, solver="sgd", max_iter=rounds, random_state=0).fit(X, y)

    def above(model: Any) -> str:
        return f"{model.max_iter} rounds, {100 * (model.objective_ / exact - 1):.1f}% above the optimum"

    yield "textbook ESZSL", textbook, lambda _: ""
    yield "RidgeClassifier", lambda: RidgeClassifier().fit(X, y), lambda _: ""
    yield "LinearSVC", lambda: LinearSVC(max_iter=20).fit(X, y), lambda m: f"{m.n_iter_} sweeps"
    for rounds in SGD_ROUNDS:
        yield "ASTE by descent, steps by curvature", partial(descend, rounds), above


def _time(run: Fit) -> float:
    start = CLOCK[0]()
    run()
    return CLOCK[0]() - start


def main() -> None:
    """Print a table; write JSON if asked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--references", action="store_true")
    parser.add_argument("--only", nargs="+", help="lines whose names begin with one of these")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--processor", action="store_true")
    options = parser.parse_args()
    if options.processor:  # a second thread that waits would count as work
        CLOCK[0] = time.process_time
        threadpool_limits(1)
    warnings.simplefilter("ignore", AdaptationWarning)
    warnings.filterwarnings("ignore", message="Liblinear failed to converge")
    problem = Problem(simulate("AwA", scale=options.scale, random_state=0), options.repeat)
    shape = f"{len(problem.X):,} × {problem.X.shape[1]:,} {problem.X.dtype}"
    print(f"{shape}; one X.T @ X: {problem.unit():.2f} s")
    print("| fit | ratio | at most | seconds | extra memory, × X | |\n|" + " --- |" * 6)
    lines = []

    def wanted(name: str) -> bool:
        return not options.only or name.startswith(tuple(options.only))

    for name, at_most, run, note in fits(problem):
        if wanted(name):
            lines.append(problem.line(name, at_most, run, note))
            _show(lines[-1])
    for name, run, note in references(problem) if options.references else ():
        if wanted(name):
            lines.append(problem.once(name, run, note))
            _show(lines[-1])
    lines.append(scoring(problem))
    _show(lines[-1])
    _write(options.json, [asdict(line) for line in lines])


def _show(line: Line) -> None:
    limit = "" if line.at_most is None else f"{line.at_most:g}"
    cells = (
        line.name,
        f"{line.ratio:.2f}",
        limit,
        f"{line.seconds:.2f}",
        f"{line.memory:.2f}",
        line.note,
    )
    print("| " + " | ".join(cells) + " |", flush=True)


def _write(path: Path | None, content: Any) -> None:
    if path is not None:
        path.write_text(json.dumps(content, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()

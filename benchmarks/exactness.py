"""How far a growing subspace leads from a factor: the same fits both ways.

    python benchmarks/exactness.py --data ../shared/data/xlsa17 CUB              real features
    python benchmarks/exactness.py --data ../shared/data/xlsa17 AWA1 --split SS  on the standard split
    python benchmarks/exactness.py --pools 12                                    rounds of TASTE

The subspace is for many features and few classes; here it is taken whatever the shape. Of pools, which
are simulated, it is counted how many rows were trusted in another round than with exact solutions, and
how many have another label in the end, for several errors that rounds before the last may have.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

from unseen import ASTE, ESZSL, TASTE
from unseen.datasets import load_xlsa17, simulate
from unseen.exceptions import AdaptationWarning
from unseen.solvers import moments, shared_subspace
from unseen.transductive import BalancedSelection, _structural_problem

PLAIN_NORM: dict[str, Any] = {"shrinkage": None, "selection": BalancedSelection()}
"""TASTE with the plain norm of Eq. (20) and no review; the paper's own selection is "threshold"."""

NEVER = 10**9


@contextmanager
def solved(least: int, rough: float = _structural_problem.ROUGH_ERROR) -> Iterator[None]:
    """Take a subspace from so many columns on, whatever the number of classes."""
    shape = {"LEAST_SUBSPACE_COLUMNS": least, "COLUMNS_PER_RIGHT_SIDE": 1}
    with (
        patch.multiple(moments, **shape),
        patch.object(shared_subspace, "MOST", 1),
        patch.object(_structural_problem, "ROUGH_ERROR", rough),
    ):
        yield


def real(folder: Path, split: str, C: float, mu: float) -> None:
    """Print accuracies by a factor and by a subspace, and how labels and scores differ."""
    data = load_xlsa17(folder, split=split)
    test = data.X[data.test_unseen], data.y[data.test_unseen]
    labelled = data.X[data.train], data.y[data.train]
    models = {
        "ESZSL": (ESZSL(data.semantics, gamma=C / 2, lam=mu), labelled),
        "ASTE": (ASTE(data.semantics, C=C, mu=mu), labelled),
        "TASTE": (TASTE(data.semantics, C=C, mu=mu), data.transductive()),
        "TASTE, plain norm": (TASTE(data.semantics, C=C, mu=mu, **PLAIN_NORM), data.transductive()),
    }
    for name, (model, rows) in models.items():
        found = []
        for least in (NEVER, 0):
            with solved(least):
                model.fit(*rows)
            found.append((100 * model.score(*test), model.decision_function(test[0])))
        (exact, S), (near, Z) = found
        other = 100 * (S.argmax(axis=1) != Z.argmax(axis=1)).mean()
        apart = np.abs(S - Z).max() / np.abs(S).max()
        figures = f"{exact:.2f} | {near:.2f} | {other:.2f} % | {apart:.0e}"
        print(f"| {folder.name}, {split} | {name} | {figures} |", flush=True)


def pools(count: int, errors: tuple[float, ...]) -> None:
    """Print how many rows of simulated pools another round trusted, and how many labels differ."""
    moved, labels = dict.fromkeys(errors, 0), dict.fromkeys(errors, 0)
    rows = fits = 0
    for seed in range(count):
        data = simulate("AwA", scale=0.1, n_features=128, domain_shift=0.5, random_state=seed)
        X, y = data.transductive()
        for settings in (PLAIN_NORM, {"selection": BalancedSelection()}):
            model = TASTE(data.semantics, C=1000.0, mu=3.0, **settings)
            with solved(NEVER):
                exact = model.fit(X, y).labelled_round_
            answers = model.transduction_
            fits, rows = fits + 1, rows + len(data.test_unseen)
            for error in errors:
                with solved(0, error):
                    moved[error] += int((model.fit(X, y).labelled_round_ != exact).sum())
                labels[error] += int((model.transduction_ != answers).sum())
    for error in errors:
        print(f"| {error:g} | {moved[error]} | {labels[error]} | {rows} rows in {fits} fits |")


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--data", type=Path, help="a folder of data sets in the form of xlsa17")
    parser.add_argument("names", nargs="*", help="data sets in it")
    parser.add_argument("--split", choices=("PS", "SS"), default="PS")
    parser.add_argument("--C", type=float, default=25.6)
    parser.add_argument("--mu", type=float, default=0.47)
    parser.add_argument("--pools", type=int, default=0, metavar="N", help="simulated pools")
    options = parser.parse_args()
    warnings.simplefilter("ignore", AdaptationWarning)
    if options.names:
        if options.data is None:
            parser.error("name their folder with --data")
        print("| data, split | fit | by a factor | in a subspace | other labels | scores, largest |")
        print("| --- | --- | --- | --- | --- | --- |")
        for name in options.names:
            real(options.data / name, options.split, options.C, options.mu)
    if options.pools:
        print("| error of rounds before the last | trusted in another round | other labels | of |")
        print("| --- | --- | --- | --- |")
        pools(options.pools, (0.1, 5e-2, 3e-2, 1e-2, 1.5e-3))


if __name__ == "__main__":
    main()

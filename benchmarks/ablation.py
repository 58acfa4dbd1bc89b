"""What each part of SelfPacedPrototypes gives: prints the table of docs/guide/transduction.md.

    python benchmarks/ablation.py [--data ../shared/data] [--folds N] [--pool "half absent"]
                                  [CUB SS PS letters]

With ``--folds N`` nothing of the unseen classes is read: N times, seen classes are held out and play
the pool. Choices are made that way. Without it, the pool is that of the unseen classes and their labels
are used for the printed accuracy only. ``--pool`` makes the pool awkward.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from pools import POOLS, pool_rows

from unseen.datasets import load_letters_to_digits, load_xlsa17
from unseen.exceptions import AdaptationWarning
from unseen.rows import kernels
from unseen.statistics import adaptation, review, seen_model
from unseen.statistics import semantic_process as process
from unseen.transductive import SelfPacedPrototypes, self_paced_prototypes

Change = tuple[Any, str, Any]
"""An object, one of its attributes, and what takes its place."""


def tie_scale(firm: float, even: float) -> list[Change]:
    """Replace the scale of the tie, where class shares are learned and where they are equal.

    Modules that import a constant have a name of their own for it, and a plan has it as a default.
    """
    plan = adaptation.Plan.__new__
    defaults = adaptation.Plan._field_defaults | {"tie": firm}
    return [
        (plan, "__defaults__", tuple(defaults.values())),
        (review, "FIRM_TIE", firm),
        (review, "EVEN_TIE", even),
        (self_paced_prototypes, "EVEN_TIE", even),
    ]


def temperature(value: float) -> list[Change]:
    """Replace τ, in the rounds and in the start."""
    return [(module, "TEMPERATURE", value) for module in (adaptation, seen_model)]


def hard_labels(S: Any, biases: Any) -> Any:
    """Assign each row wholly to its likeliest class."""
    return np.eye(len(biases), dtype=S.dtype)[(S + biases.astype(S.dtype)).argmax(axis=1)]


def means_as_if_known(
    prior: Any, n: Any, sums: Any, tie: float, posterior: Any = seen_model.Prior.posterior
) -> Any:
    """Return the posterior means, and a metric in which all directions count alike."""
    means, metric = posterior(prior, n, sums, tie)
    return seen_model.Posterior(means, metric._replace(inside=np.ones(len(metric.inside)), outside=1.0))


def without_slope(vectors: Any, means: Any, rows: Any, features: Any) -> Any:
    """Fit the process as if features and semantics shared no space."""
    return process.fit_process(vectors, means, None, features)


def without_common_shift(predictor: Any, vectors: Any) -> Any:
    """Return the covariance of errors over classes as the process has it."""
    return predictor.process.covariance(vectors)


#: name: (parameters, what is replaced in the modules)
VARIANTS: dict[str, tuple[dict[str, Any], list[Change]]] = {
    "start: no rounds": ({"rounds": 0}, []),
    "default": ({}, []),
    "learned class shares": ({"class_prior": "estimated"}, []),
    "equal class shares": ({"class_prior": "uniform"}, []),
    "no class prior": ({"class_prior": None}, []),
    "linear kernel only": ({}, [(process, "WIDTHS", (None,))]),
    "no slope in a shared space": ({}, [(seen_model, "fit_process", without_slope)]),
    "start at shrinkage 0.2": ({}, [(seen_model, "START_SHRINKAGE", 0.2)]),
    "start at shrinkage 0.5": ({}, [(seen_model, "START_SHRINKAGE", 0.5)]),
    "rounds at shrinkage 0.05": ({"shrinkage": 0.05}, []),
    "rounds at shrinkage 0.2": ({"shrinkage": 0.2}, []),
    "rounds at shrinkage 0.5": ({"shrinkage": 0.5}, []),
    "rounds at shrinkage 1": ({"shrinkage": 1.0}, []),
    "rows as they are": ({"normalise": "none"}, []),
    "rows at unit length": ({"normalise": "unit"}, []),
    "roots at unit length": ({"normalise": "root"}, []),
    "tie alike in every direction": ({}, [(process, "RESIDUAL_SHRINKAGE", 1.0)]),
    "tie by residuals little shrunk (0.2)": ({}, [(process, "RESIDUAL_SHRINKAGE", 0.2)]),
    "tie as the errors suggest": ({}, tie_scale(1.0, 1.0)),
    "tie not estimated from the pool": ({}, [(adaptation, "SHIFT_DISCOUNT", np.inf)]),
    "no common shift of classes": (
        {},
        [(process.Predictor, "class_covariance", without_common_shift)],
    ),
    "no posterior variance in the metric": ({}, [(seen_model.Prior, "posterior", means_as_if_known)]),
    "no scatter of the pool": ({}, [(adaptation, "SHIFTED", np.inf)]),
    "temperature 1": ({}, temperature(1.0)),
    "temperature 4": ({}, temperature(4.0)),
    "smoothing 0.1": ({}, [(adaptation, "SMOOTHING", 0.1)]),
    "smoothing 1": ({}, [(adaptation, "SMOOTHING", 1.0)]),
    "hard labels": ({}, [(kernels, "soft_labels", hard_labels)]),
    "4 rounds": ({"rounds": 4}, []),
    "16 rounds": ({"rounds": 16}, []),
}


def load(name: str, data: Path) -> Any:
    """Load one of the four data sets."""
    if name == "letters":
        return load_letters_to_digits()
    folder = data / "xlsa17" / ("CUB" if name == "CUB" else "AWA1")
    return load_xlsa17(folder, split="SS" if name == "SS" else "PS")


def pools(dataset: Any, folds: int, kind: str) -> Iterator[tuple[Any, Any, Any, Any]]:
    """Yield X, y with a pool unlabelled, the semantics, and the labels of the pool."""
    table = dataset.semantics
    if not folds:
        pool = pool_rows(dataset.y, dataset.test_unseen, kind, np.random.default_rng(900))
        rows = np.concatenate([dataset.train, pool])
        labels = dataset.y[rows].astype(object)
        labels[len(dataset.train) :] = None
        yield dataset.X[rows], labels, table, dataset.y[pool]
        return
    X, y = np.asarray(dataset.X[dataset.train]), dataset.y[dataset.train]
    seen, wanted = dataset.seen_classes, len(table) - len(dataset.seen_classes)
    for draw in range(folds):
        random = np.random.default_rng([900, draw])
        away = np.isin(y, random.permutation(seen)[: min(wanted, len(seen) // 3)])
        labels = np.where(away, None, y.astype(object))
        pool = pool_rows(y, np.flatnonzero(away), kind, random)
        index = np.concatenate([np.flatnonzero(~away), pool])
        yield X[index], labels[index], table.restricted_to(seen), y[pool]


def accuracy(task: tuple[Any, Any, Any, Any], variant: str) -> float:
    """Return the mean per-class accuracy on the pool, in percent."""
    X, y, semantics, true = task
    parameters, changes = VARIANTS[variant]
    with ExitStack() as stack:
        for owner, name, value in changes:
            stack.enter_context(patch.object(owner, name, value))
        stack.enter_context(warnings.catch_warnings())
        warnings.simplefilter("ignore", AdaptationWarning)
        model = SelfPacedPrototypes(semantics, **parameters).fit(X, y)
    found = model.transduction_[len(X) - len(true) :]
    return 100 * float(np.mean([np.mean(found[true == k] == k) for k in np.unique(true)]))


def main() -> None:
    """Print one Markdown table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=["CUB", "SS", "PS", "letters"])
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--folds", type=int, default=0)
    parser.add_argument("--pool", choices=POOLS, default="full")
    options = parser.parse_args()
    columns = []
    for name in options.names:
        tasks = list(pools(load(name, options.data), options.folds, options.pool))
        columns.append([np.mean([accuracy(task, v) for task in tasks]) for v in VARIANTS])
    print("| | " + " | ".join(options.names) + " |\n| --- |" + " --- |" * len(options.names))
    for row, variant in enumerate(VARIANTS):
        print(f"| {variant} | " + " | ".join(f"{column[row]:.1f}" for column in columns) + " |")


if __name__ == "__main__":
    main()

"""How methods generalise: many data sets, several draws of unseen classes, hostile pools.

    python benchmarks/generalise.py --methods TASTE SelfPacedPrototypes
    python benchmarks/generalise.py --methods SelfPacedPrototypes --datasets clinc150 esc50:word own.npz
    python benchmarks/generalise.py --methods TASTE --pools all --seeds 5 --jobs 2
    python benchmarks/generalise.py --methods TASTE --set C=1.0 --folds
    python benchmarks/generalise.py --methods TASTE --shuffles 3 --renamings 3

Per-class top-1 in percent on the pool, beside three simple answers: cosine (the nearest class vector,
where features and semantics share a space: see shares_space), ridge (PrototypeRidge) and ASTE. Draw 0
is the split of the data set; the others take other classes as the unseen ones, chosen by the names of
the classes. With "--folds" only the training rows of draw 0 are read, and every draw holds out a
quarter of the seen classes: defaults are chosen in this way. A method that draws at random is run with
"--seeds" random states, and how far they differ is printed. A hostile pool is drawn as often, and then
the table says "start → end": the method's own inductive answer, and its answer after adaptation.
"--shuffles" and "--renamings" repeat the full pool with rows in another order and classes under other
names. A result is kept in out/generalise.jsonl for as long as data, code and parameters are the same.
An own .npz holds X (rows), y (class indices), class_names, S (a column for each class), trainval and
test_unseen (rows from 0); other semantics S_KIND are chosen by "own.npz:KIND"; X_strangers are rows of
no class.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import tables
from cells import COSINE, SIMPLE, Cell, Result, key, run
from draws import draw, draws_of, load, names_at_hand
from joblib import Parallel, delayed
from pools import SCENARIOS
from rich.console import Console
from rich.progress import MofNCompleteColumn, Progress, TimeElapsedColumn
from settings import DATA, method, named_methods, parameters

from unseen.exceptions import DataError


class Column(NamedTuple):
    """A column of the tables: a method with its parameters."""

    title: str
    method: str
    parameters: tuple[tuple[str, Any], ...] = ()


def columns(asked: Iterable[str], given: dict[str, Any]) -> tuple[list[Column], list[Column]]:
    """Return the simple answers and the methods; a parameter goes to those methods that have it."""
    simple = [Column(title, name) for title, name in SIMPLE.items()]
    methods, unused = [], set(given)
    for name in dict.fromkeys(named_methods(asked)):
        known = method(name, None, 0).get_params()
        own = {parameter: value for parameter, value in given.items() if parameter in known}
        unused -= set(own)
        if not own and name in SIMPLE.values():
            continue
        title = ", ".join([name, *(f"{parameter}={value}" for parameter, value in own.items())])
        methods.append(Column(title, name, tuple(own.items())))
    if unused:
        raise DataError(f"None of the methods has a parameter {', '.join(sorted(unused))}.")
    return simple, methods


def is_random(name: str) -> bool:
    """Tell whether a method may draw at random: one seed would then be one answer of many.

    The simple answers do not: ASTE has a random state for another solver than its default.
    """
    return name not in SIMPLE.values() and "random_state" in method(name, None, 0).get_params()


def plan(options: argparse.Namespace, every: list[Column]) -> Iterator[Cell]:
    """Yield every cell that the options ask for."""
    variants = [f"shuffle {i + 1}" for i in range(options.shuffles)]
    variants += [f"renaming {i + 1}" for i in range(options.renamings)]
    for dataset in options.datasets:
        for number in draws_of(dataset, options.draws, options.folds):
            for column in every:
                cell = Cell(dataset, number, "full", 0, column.method, column.parameters)
                cell = cell._replace(folds=options.folds)
                for pool in options.pools:
                    once = pool == "full" and not is_random(column.method)
                    seeds = 1 if once else options.seeds
                    yield from (cell._replace(pool=pool, seed=seed) for seed in range(seeds))
                if column.method != COSINE:
                    yield from (cell._replace(variant=variant) for variant in variants)
                    if variants and "full" not in options.pools:
                        yield cell


def stored(path: Path) -> dict[str, Result]:
    """Read the results of earlier runs; a line that was cut off is left out."""
    results = {}
    for line in path.read_text(encoding="utf-8").splitlines() if path.is_file() else ():
        try:
            entry = json.loads(line)
            results[entry["key"]] = Result(**entry["result"])
        except (ValueError, KeyError, TypeError):
            continue
    return results


def results_of(cells: list[Cell], options: argparse.Namespace) -> dict[Cell, Result]:
    """Look up what is known, compute and store the rest. A failure is not stored."""
    known = {} if options.fresh else stored(options.out)
    digests = {d: load(d, options.data, options.folds).digest for d in options.datasets}
    keys = {cell: key(cell, digests[cell.dataset]) for cell in cells}
    results = {cell: known[keys[cell]] for cell in cells if keys[cell] in known}
    open_cells = [cell for cell in keys if cell not in results]
    options.out.parent.mkdir(parents=True, exist_ok=True)
    bar = Progress(
        *Progress.get_default_columns(),
        *(MofNCompleteColumn(), TimeElapsedColumn()),
        console=Console(stderr=True),
    )
    outcomes = Parallel(options.jobs, return_as="generator_unordered", batch_size=1)(
        delayed(run)(cell, options.data) for cell in open_cells
    )
    with bar, options.out.open("a", encoding="utf-8") as file:
        progress = bar.add_task(f"{len(results)} known", total=len(open_cells))
        for cell, result in outcomes:
            results[cell] = result
            bar.update(progress, advance=1, description=f"{cell.dataset}, {cell.method}")
            if not result.error:
                entry = {"key": keys[cell], **cell._asdict(), "result": result._asdict()}
                file.write(json.dumps(entry, default=str) + "\n")
                file.flush()
    return results


def described(options: argparse.Namespace) -> dict[str, str]:
    """Return for each data set its name, its features and what chance would give."""
    names = {}
    for dataset in options.datasets:
        data = draw(load(dataset, options.data, options.folds).data, 0, options.folds)
        seen = len(data.seen_classes)
        chance = 100 / (len(data.semantics) - seen)
        name = data.name if ".npz" in dataset else dataset
        names[dataset] = f"{name} ({data.features}; {seen} seen; chance {chance:.1f})"
    return names


def options_of(arguments: list[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--methods", nargs="+", default=["TASTE", "SelfPacedPrototypes"])
    parser.add_argument("--datasets", nargs="+", help="names, or paths of .npz; default: all at hand")
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--draws", type=int, default=3)
    parser.add_argument("--folds", action="store_true")
    parser.add_argument("--pools", nargs="+", default=["full"], choices=[*SCENARIOS, "all"])
    parser.add_argument("--seeds", type=int, default=5, help="random states; draws of a hostile pool")
    parser.add_argument("--shuffles", type=int, default=0)
    parser.add_argument("--renamings", type=int, default=0)
    parser.add_argument("--set", nargs="+", default=[], metavar="NAME=VALUE")
    parser.add_argument("--jobs", type=int, default=1, help="processes, of one BLAS thread each")
    parser.add_argument("--out", type=Path, default=Path("out") / "generalise.jsonl")
    parser.add_argument("--fresh", action="store_true", help="use no result of earlier runs")
    options = parser.parse_args(arguments)
    options.datasets = options.datasets or names_at_hand(options.data)
    options.pools = list(SCENARIOS) if "all" in options.pools else options.pools
    return options


def main(arguments: list[str] | None = None) -> None:
    """Print a table for each pool, then the spread over orders and names."""
    options = options_of(arguments)
    simple, methods = columns(options.methods, parameters(options.set))
    results = results_of(list(plan(options, simple + methods)), options)
    names = described(options)
    for pool in options.pools:
        print("\n".join(tables.pool_table(results, pool, names, simple, methods)), end="\n\n")
    if options.shuffles or options.renamings:
        print("\n".join(tables.spread_table(results, names, simple[1:] + methods)), end="\n\n")
    for failure in tables.failures(results):
        print(failure)


if __name__ == "__main__":
    try:
        main()
    except DataError as error:
        sys.exit(f"generalise: {error}")

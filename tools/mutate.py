"""Put small faults into the code, one at a time, and count those that no test notices.

A mutant differs from the code by one operator, one number or one condition. Its tests run in a forked
process that imports the changed module instead of the file, so that nothing on the disk changes; needs
a system that can fork. Mutants are drawn from ``--seed``; ``--sample 0`` takes all. A mutant is killed
when a test fails or the tests do not end in the time that they have.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import copy
import importlib
import importlib.machinery
import importlib.util
import io
import multiprocessing
import os
import random
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src"
CPU_SECONDS = 120
"""Of the processor, so that a busy machine kills no mutant."""

#: What is changed, and the tests that have to notice; the doctests of the files run as well.
TARGETS = {
    "metrics": (["metrics/*.py"], ["tests/test_metrics.py"]),
    "model_selection": (["model_selection.py"], ["tests/test_model_selection.py"]),
    "semantics": (["semantics.py"], ["tests/test_semantics.py"]),
    "solvers": (["solvers/*.py"], ["tests/solvers", "tests/transductive/test_structural_problem.py"]),
}

SWAPS: dict[type, type] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.MatMult: ast.Mult,
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
    ast.And: ast.Or, ast.Or: ast.And, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd, ast.Pow: ast.Mult,
}  # fmt: skip
CALLS = {"min": "max", "max": "min", "argmax": "argmin", "argmin": "argmax", "any": "all", "all": "any"}


def mutants(tree: ast.Module) -> Iterator[tuple[str, ast.Module]]:
    """Yield each change as text and as a changed tree."""
    for place, node in enumerate(ast.walk(tree)):
        for what, change in _changes(node):
            changed = copy.deepcopy(tree)
            twin = next(n for i, n in enumerate(ast.walk(changed)) if i == place)
            before = ast.unparse(twin)
            change(twin)
            text = f"{getattr(node, 'lineno', 0)}: {what}: {before[:60]} → {ast.unparse(twin)[:60]}"
            yield text, ast.fix_missing_locations(changed)


def _changes(node: ast.AST) -> Iterator[tuple[str, Any]]:
    if isinstance(node, (ast.BinOp, ast.BoolOp, ast.AugAssign)) and type(node.op) in SWAPS:
        yield "operator", lambda n: setattr(n, "op", SWAPS[type(n.op)]())
    elif isinstance(node, ast.Compare) and type(node.ops[0]) in SWAPS:
        yield "comparison", lambda n: n.ops.__setitem__(0, SWAPS[type(n.ops[0])]())
    elif isinstance(node, (ast.If, ast.While, ast.IfExp)):
        yield "condition", lambda n: setattr(n, "test", ast.UnaryOp(ast.Not(), n.test))
    elif isinstance(node, ast.Constant) and type(node.value) in (int, float):
        yield "number", lambda n: setattr(n, "value", n.value + 1)
    elif isinstance(node, ast.Constant) and type(node.value) is bool:
        yield "truth", lambda n: setattr(n, "value", not n.value)
    elif isinstance(node, ast.Attribute) and node.attr in CALLS:
        yield "call", lambda n: setattr(n, "attr", CALLS[n.attr])
    elif isinstance(node, ast.Name) and node.id in CALLS:
        yield "call", lambda n: setattr(n, "id", CALLS[n.id])


def bare(tree: ast.Module) -> ast.Module:
    """Return the tree without what has no effect on answers: annotations and the texts of errors."""

    class Bare(ast.NodeTransformer):
        def visit_Raise(self, node: ast.Raise) -> ast.Raise:
            return node

        def generic_visit(self, node: ast.AST) -> ast.AST:
            for name in ("annotation", "returns"):
                if getattr(node, name, None) is not None and not isinstance(node, ast.AnnAssign):
                    setattr(node, name, None)
            if isinstance(node, ast.AnnAssign) and "ClassVar" not in ast.unparse(node.annotation):
                node.annotation = ast.Name("object", ast.Load())  # a field of a dataclass needs one
            return super().generic_visit(node)

    return ast.fix_missing_locations(Bare().visit(tree))


class Mutated(importlib.machinery.SourceFileLoader):
    """Give the changed tree for one module."""

    def __init__(self, name: str, path: str, tree: ast.Module) -> None:
        super().__init__(name, path)
        self.tree = tree

    def get_code(self, fullname: str) -> types.CodeType:
        """Compile the changed tree."""
        return compile(self.tree, self.path, "exec")


class Finder:
    """Find the changed module before the file."""

    def __init__(self, name: str, path: Path, tree: ast.Module) -> None:
        self.name, self.path, self.tree = name, path, tree

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        """Answer for one name only."""
        if name != self.name:
            return None
        loader = Mutated(name, str(self.path), self.tree)
        package = self.path.name == "__init__.py"
        places = [str(self.path.parent)] if package else None
        return importlib.util.spec_from_file_location(
            name, self.path, loader=loader, submodule_search_locations=places
        )


def _run(name: str, path: Path, tree: ast.Module, tests: list[str]) -> None:
    """In the forked process: import the mutant, run the tests, and say by the exit code how it went."""
    import resource

    import pytest

    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))

    class Swap:
        """Put the finder before pytest's own, which would read the file of a doctest itself."""

        @pytest.hookimpl(tryfirst=True)
        def pytest_load_initial_conftests(self) -> None:
            sys.meta_path.insert(0, Finder(name, path, tree))

    os.chdir(ROOT)
    options = ["-x", "-q", "-m", "not slow", "-p", "no:cacheprovider", "-p", "no:xdist"]
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        code = pytest.main([*options, *tests], plugins=[Swap()])
    os._exit(int(code))


def killed(name: str, path: Path, tree: ast.Module, tests: list[str]) -> bool:
    """Return whether the tests notice a mutant."""
    process = multiprocessing.get_context("fork").Process(target=_run, args=(name, path, tree, tests))
    process.start()
    process.join()
    return process.exitcode != 0


def nearest_first(tests: list[str], path: Path) -> list[str]:
    """Return the tests with those of the changed file at the head: most faults are found there."""
    return sorted(tests, key=lambda test: Path(test).stem != f"test_{path.stem}" and test != str(path))


def study(target: str, sample: int, seed: int) -> tuple[int, int]:
    """Try the mutants of one target; print those that survive; return killed and tried."""
    patterns, wanted = TARGETS[target]
    tests = [str(p) for test in wanted for p in sorted((ROOT / test).rglob("test_*.py"))]
    tests += [test for test in wanted if (ROOT / test).is_file()]
    tests += [str(p) for pattern in patterns for p in sorted((SOURCE / "unseen").glob(pattern))]
    found = []
    for path in sorted(p for pattern in patterns for p in (SOURCE / "unseen").glob(pattern)):
        name = ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")
        tree = bare(ast.parse(path.read_text(encoding="utf-8")))
        found += [(name, path, text, changed) for text, changed in mutants(tree)]
    plain = bare(ast.parse(found[0][1].read_text(encoding="utf-8")))
    if killed(found[0][0], found[0][1], plain, tests):
        sys.exit(f"{target}: the tests fail without a fault: {' '.join(tests)}")
    drawn = random.Random(seed).sample(found, min(sample or len(found), len(found)))
    dead = 0
    for name, path, text, changed in drawn:
        if killed(name, path, changed, nearest_first(tests, path)):
            dead += 1
        else:
            print(f"survived: {path.relative_to(ROOT)}:{text}", flush=True)
    print(
        f"{target}: {dead} of {len(drawn)} killed ({len(found)} mutants in all, seed {seed})",
        flush=True,
    )
    return dead, len(drawn)


def main() -> None:
    """Try every target, or those named."""
    parser = argparse.ArgumentParser(description="Mutation testing.")
    parser.add_argument("--module", nargs="*", choices=list(TARGETS), default=list(TARGETS))
    parser.add_argument("--sample", type=int, default=40, help="mutants of each module; 0 takes all")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    for package in (
        "numpy",
        "scipy.optimize",
        "sklearn.base",
        "sklearn.linear_model",
        "hypothesis",
        "pytest",
    ):
        importlib.import_module(package)  # once, before the processes fork
    results = [study(target, given.sample, given.seed) for target in given.module]
    dead, tried = (sum(column) for column in zip(*results, strict=True))
    print(f"{dead} of {tried} killed, {100 * dead / tried:.0f}%")


if __name__ == "__main__":
    main()

"""What an import and the help of the command load: nothing that takes a second to load."""

import ast
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import unseen

SLOW = ("sklearn", "scipy", "pandas", "matplotlib", "torch", "requests")

HELP = "from unseen.cli import app; app({}, standalone_mode=False)"


def loaded_after(code: str) -> set[str]:
    """Run the code in a new interpreter, and return which of the slow packages it loaded."""
    ask = f"{code}\nimport sys, json; print(json.dumps([m for m in {SLOW} if m in sys.modules]))"
    run = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True, check=True)
    return set(json.loads(run.stdout.splitlines()[-1]))


@pytest.mark.parametrize(
    "code",
    [
        "import unseen; unseen.__version__",
        "import unseen.methods",
        "import unseen.datasets",
        HELP.format(["--help"]),
        HELP.format(["label", "--help"]),
        HELP.format(["datasets", "--help"]),
    ],
)
def test_loads_nothing_slow(code):
    assert loaded_after(code) == set()


def test_completion_loads_nothing_slow():
    """The shell asks for completions at every press of the tab key."""
    words = {"_UNSEEN_COMPLETE": "complete_bash", "COMP_WORDS": "unseen d", "COMP_CWORD": "1"}
    code = "import unseen.cli, sys\ntry: unseen.cli.app(prog_name='unseen')\nexcept SystemExit: pass"
    ask = f"{code}\nprint([m for m in {SLOW} if m in sys.modules])"
    run = subprocess.run(
        [sys.executable, "-c", ask], capture_output=True, text=True, env=os.environ | words, check=True
    )
    *offered, loaded = run.stdout.split("\n")[:-1]
    assert {"demo", "datasets"} <= set(offered)
    assert loaded == "[]"


def test_every_public_name_is_there_when_it_is_asked_for():
    names = unseen.__all__
    assert len(names) == len(set(names)) > 40
    assert all(getattr(unseen, name).__name__ == name for name in names)
    assert set(names) <= set(dir(unseen))


def test_star_import_brings_every_public_name():
    namespace: dict[str, object] = {}
    exec("from unseen import *", namespace)
    assert set(unseen.__all__) <= set(namespace)


def test_modules_are_attributes():
    """As before: ``import unseen`` is enough for ``unseen.metrics.per_class_accuracy``."""
    run = [sys.executable, "-c", "import unseen; print(unseen.metrics.per_class_accuracy.__name__)"]
    assert (
        subprocess.run(run, capture_output=True, text=True, check=True).stdout == "per_class_accuracy\n"
    )


@pytest.mark.parametrize("name", ["ESZL", "_private", "__wrapped__"])
def test_an_unknown_name(name):
    with pytest.raises(AttributeError, match=f"module 'unseen' has no attribute '{name}'"):
        getattr(unseen, name)


def test_type_checkers_see_the_same_names():
    """mypy reads the imports under TYPE_CHECKING, Python the table beside them."""
    tree = ast.parse(Path(unseen.__file__).read_text(encoding="utf-8"))
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    named = {
        alias.name: node.module
        for node in imports
        for alias in node.names
        if alias.asname == alias.name and alias.name != "__version__"
    }
    assert named == unseen._MODULE_OF
    stars = [node.module for node in imports if node.names[0].name == "*"]
    assert stars == list(unseen._METHODS)

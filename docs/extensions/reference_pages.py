"""The reference, written from the code: methods, modules, commands, HTTP routes, errors.

Nothing here is typed by hand, so that a new method, option or route has its page without another edit.
The pages are written below ``docs/reference/generated`` and are not kept in the repository.
"""

from __future__ import annotations

import html
import importlib
import inspect
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

MODULES = (
    "unseen",
    "unseen.metrics",
    "unseen.model_selection",
    "unseen.methods",
    "unseen.datasets",
    "unseen.features",
    "unseen.labelling",
    "unseen.persistence",
    "unseen.scale",
    "unseen.experiments",
    "unseen.serving",
    "unseen.exceptions",
)
"""What is public: the names that these modules export, or define without an underscore."""


def public_names(module_name: str) -> list[str]:
    """Return the public names of a module, in alphabetical order."""
    module = importlib.import_module(module_name)
    names = getattr(module, "__all__", None)
    if names is None:
        names = [
            name
            for name, value in vars(module).items()
            if not name.startswith("_") and getattr(value, "__module__", None) == module_name
        ]
    return sorted(names, key=str.casefold)


def described_names() -> Iterator[tuple[str, str]]:
    """Yield each module with its classes and functions; each is described in the first that has it."""
    described: set[int] = set()
    for module_name in MODULES:
        module = importlib.import_module(module_name)
        for name in public_names(module_name):
            value = getattr(module, name)
            if (inspect.isclass(value) or inspect.isroutine(value)) and id(value) not in described:
                described.add(id(value))
                yield module_name, name


def first_sentence(text: str | None) -> str:
    """Return the first paragraph of a docstring on one line."""
    return " ".join(inspect.cleandoc(text or "").split("\n\n")[0].split())


def module_page(module_name: str) -> str:
    """Write the table of a module's names, each with a page of its own."""
    module = importlib.import_module(module_name)
    names = [name for owner, name in described_names() if owner == module_name]
    elsewhere = {name for owner, name in described_names() if owner != module_name}
    constants = sorted(set(public_names(module_name)) - set(names) - elsewhere)
    lines = [module_name, "=" * len(module_name), "", first_sentence(module.__doc__), ""]
    if names:
        lines += [f".. currentmodule:: {module_name}", "", ".. autosummary::", "   :toctree: api", ""]
        lines += [f"   {name}" for name in names]
    if set(public_names(module_name)) & elsewhere:
        lines += ["", "What is also exported by another module is described there."]
    if constants:
        lines += ["", "Constants: " + ", ".join(f"``{name}``" for name in constants) + "."]
    return "\n".join(lines) + "\n"


def method_page() -> str:
    """Write the table of all methods with kind, paper and what each can do."""
    from unseen.methods import find, select

    lines = [
        "# Every method",
        "",
        "What `unseen bench --list` prints, with the pages of the classes.",
        "",
    ]
    for title, transductive in (("From labelled rows alone", False), ("From a pool as well", True)):
        lines += [f"## {title}", "", "| method | labels | fast form | in chunks | paper |"]
        lines += ["| --- | --- | --- | --- | --- |"]
        for name in select(transductive=transductive, fast=False):
            method = find(name)
            if method.package != "unseen":
                continue
            facts = (
                "needed" if method.estimator.needs_labelled_rows else "none needed",
                "yes" if method.takes_class_means else "",
                "yes" if method.takes_chunks else "",
                str(method.citation or ""),
            )
            lines += [f"| [`{name}`](api/unseen.{name}.rst) | " + " | ".join(facts) + " |"]
        lines += [""]
    return "\n".join(lines)


def command_page() -> str:
    """Write every command with its arguments, options and example, from the typer application."""
    from unseen.cli import app

    lines = ["# Commands", "", "What `unseen --help` and `unseen COMMAND --help` print.", ""]
    for path, command in walk_commands(typer.main.get_command(app), "unseen"):
        lines += [f"## {path}", "", first_sentence(command.help), ""]
        shown = [part for part in command.params if not getattr(part, "hidden", False)]
        shown = [part for part in shown if part.name != "help"]
        if shown:
            lines += ["| option | meaning |", "| --- | --- |"]
            lines += [f"| {option_name(part)} | {option_text(part)} |" for part in shown] + [""]
        if command.epilog:
            lines += ["```text", *examples(command.epilog), "```", ""]
    return "\n".join(lines)


def examples(epilog: str) -> list[str]:
    """Return the examples of a command, one on each line."""
    text = " ".join(epilog.split()).removeprefix("Example: ")
    return text.replace(". With", ".\nWith").replace(". Without", ".\nWithout").splitlines()


def walk_commands(command: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Yield each command that does something, groups opened."""
    children = getattr(command, "commands", None)
    if not children:
        yield path, command
        return
    for name, child in children.items():
        yield from walk_commands(child, f"{path} {name}")


def option_name(part: Any) -> str:
    """Return the names of an option as code, or an argument in capitals."""
    if part.param_type_name == "argument":
        return f"`{part.name.upper()}`"
    return ", ".join(f"`{name}`" for name in [*part.opts, *part.secondary_opts])


def option_text(part: Any) -> str:
    """Return the help of an option with its default."""
    text = " ".join((getattr(part, "help", None) or "").split())
    text = html.escape(text, quote=False).replace("|", "\\|")
    default = part.default
    shown = default is not None and default is not False and default != "" and not callable(default)
    if "required" not in text and part.required:
        text += " Required."
    elif shown and isinstance(default, str | int | float):
        text += f" Default: `{default}`."
    return text


def service_page() -> str:
    """Write every route with its bodies and answers, from the description that the service gives."""
    from unseen import ESZSL
    from unseen.serving import Service

    semantics = {"cat": [1.0, 0.0], "dog": [0.0, 1.0], "fox": [1.0, 1.0]}
    model = ESZSL(semantics, gamma=1.0, lam=1.0)
    model.fit([[1.0, 0.0], [0.9, 0.1], [0.0, 1.0], [0.1, 1.0]], ["cat", "cat", "dog", "dog"])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.safetensors"
        model.save(path)
        description = Service(path).api.openapi()
    lines = [
        "# HTTP routes",
        "",
        "What `unseen serve` answers; the service has it as `/openapi.json`.",
        "",
    ]
    for path, methods in description["paths"].items():
        for verb, route in methods.items():
            lines += [f"## {verb.upper()} {path}", "", f"{route['summary']}.", ""]
            for kind in route.get("requestBody", {}).get("content", {}):
                lines += [f"- takes `{kind}`"]
            answers = sorted(route["responses"].items())
            lines += [f"- {code}: {answer['description']}" for code, answer in answers] + [""]
    return "\n".join(lines)


def errors_page() -> str:
    """Write every error and warning of the library: what it means, and which modules raise it."""
    exceptions = importlib.import_module("unseen.exceptions")
    package = Path(str(exceptions.__file__)).parent
    sources = {
        ".".join(("unseen", *path.relative_to(package).with_suffix("").parts)): path.read_text("utf-8")
        for path in sorted(package.rglob("*.py"))
    }
    lines = [
        "# Errors and warnings",
        "",
        "A message says what was wrong, where, what was found there, and what to do. Parameters of a"
        " wrong type or value raise scikit-learn's `InvalidParameterError`, which is a `ValueError`"
        " and a `TypeError`; a model that was not fitted raises `NotFittedError`.",
        "",
    ]
    for name in public_names("unseen.exceptions"):
        value = getattr(exceptions, name)
        if not inspect.isclass(value):
            continue
        pattern = re.compile(rf"raise {name}\b|warn\w*\([^)]*\b{name}\b", re.S)
        modules = [module for module, text in sources.items() if pattern.search(text)]
        kind = "warning" if issubclass(value, Warning) else "error"
        lines += [f"## {name}", "", f"A {kind}; a kind of `{value.__bases__[0].__name__}`.", ""]
        lines += [
            " ".join(inspect.cleandoc(value.__doc__ or "").partition("Parameters\n")[0].split()),
            "",
        ]
        if modules:
            lines += ["Comes from " + ", ".join(f"`{module}`" for module in modules) + ".", ""]
    return "\n".join(lines)


def write_pages(app: Any, config: Any = None) -> None:
    """Write the pages, and leave those alone that would not change."""
    folder = Path(app.srcdir) / "reference/generated"
    folder.mkdir(parents=True, exist_ok=True)
    pages = {f"{name}.rst": module_page(name) for name in MODULES}
    pages |= {
        "methods.md": method_page(),
        "commands.md": command_page(),
        "service.md": service_page(),
        "errors.md": errors_page(),
    }
    for name, text in pages.items():
        path = folder / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def setup(app: Any) -> dict[str, bool]:
    """Write the pages before Sphinx looks for sources, and before autosummary reads them."""
    app.connect("config-inited", write_pages)
    return {"parallel_read_safe": True}

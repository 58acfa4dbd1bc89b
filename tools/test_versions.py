"""Run the tests with other versions: ``make test-lowest`` and ``make test-python PY=3.12``.

``--lowest`` takes the lowest version of every direct dependency that pyproject.toml allows, as uv
resolves it; ``--python 3.12`` another interpreter, with the versions of constraints.txt. The test tools
are those of constraints.txt where they agree with the rest. What ran, and how it ended, is printed and
written to out/versions/.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
LIBRARY_EXTRAS = [extra for extra in PROJECT["optional-dependencies"] if extra not in ("docs", "test")]
TOOLS = [
    line for line in PROJECT["optional-dependencies"]["test"] if not line.startswith(PROJECT["name"])
]


def uv(*arguments: str | Path) -> None:
    """Run uv; packages of this machine that pip is told about are found as well."""
    environment = dict(os.environ)
    if "PIP_FIND_LINKS" in environment:
        environment.setdefault("UV_FIND_LINKS", environment["PIP_FIND_LINKS"])
    command = [shutil.which("uv") or str(Path(sys.executable).with_name("uv"))]
    done = subprocess.run(command + [str(a) for a in arguments], cwd=ROOT, env=environment, check=False)
    if done.returncode:
        sys.exit(f"uv {' '.join(map(str, arguments))}: ended with code {done.returncode}")


def resolve(python: str | Path, lowest: bool, extras: list[str], fixed: list[str], file: Path) -> None:
    """Write the versions of the library's dependencies to a file."""
    named = [part for extra in extras for part in ("--extra", extra)]
    limits = ["--resolution", "lowest-direct"] if lowest else ["--constraint", "constraints.txt"]
    with tempfile.TemporaryDirectory() as temporary:
        overrides = Path(temporary, "fixed.txt")
        overrides.write_text("\n".join(fixed), encoding="utf-8")
        uv(
            *("pip", "compile", "--quiet", "--no-annotate", "--no-header", "--python", python),
            *(*limits, *named, "--override", overrides, "--output-file", file, "pyproject.toml"),
        )


def prepare(folder: Path, python: str, lowest: bool, extras: list[str], fixed: list[str]) -> Path:
    """Make the environment; return its Python."""
    uv("venv", "--quiet", "--clear", "--no-python-downloads", "--python", python, folder)
    executable = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    resolve(executable, lowest, extras, fixed, folder / "versions.txt")
    install = ("pip", "install", "--quiet", "--python", executable)
    uv(*install, "--requirement", folder / "versions.txt")
    uv(*install, *TOOLS, "--constraint", folder / "versions.txt")
    uv(*install, "--no-deps", "--editable", ".")
    return executable


def record(name: str, python: Path, output: str) -> None:
    """Write what ran and how it ended, and what the tests said."""
    lines = output.strip().splitlines()
    outcome = lines[-1].strip("= ") if lines else "nothing ran"
    listed = subprocess.run(
        [python, "-c", "import sys, importlib.metadata as m; print(sys.version.split()[0]); "
         "print(*sorted(f'{d.name}=={d.version}' for d in m.distributions()), sep='\\n')"],
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    file = ROOT / "out" / "versions" / f"{name}.txt"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"{outcome}\nPython {listed}", encoding="utf-8")
    file.with_suffix(".log").write_text(output, encoding="utf-8")
    shown = [line for line in listed.splitlines() if re.match(r"(numpy|scipy|scikit-learn)==", line)]
    print(f"{name}: {outcome} (Python {listed.split()[0]}, {', '.join(shown)}); all versions in {file}")


def main() -> None:
    """Prepare an environment, run the tests in it, record."""
    parser = argparse.ArgumentParser(description="Run the tests with other versions.")
    parser.add_argument("--lowest", action="store_true", help="lowest direct dependencies")
    parser.add_argument("--python", default="3.11", help="version or path of the interpreter")
    parser.add_argument(
        "--extras", default=",".join(LIBRARY_EXTRAS), help="of the library; all by default"
    )
    parser.add_argument(
        "--fix",
        action="append",
        default=[],
        metavar="NAME==VERSION",
        help="take this version whatever the rest says, for instance the build of torch at hand",
    )
    parser.add_argument(
        "--jobs", default="auto", help="processes that the tests run in; 0 for this one"
    )
    parser.add_argument("--keep", action="store_true", help="use the environment of the last run")
    parser.add_argument("--list", action="store_true", help="only print the versions")
    parser.add_argument("tests", nargs="*", help="what pytest is given; the whole suite by default")
    given = parser.parse_args()
    if given.list:
        with tempfile.TemporaryDirectory() as temporary:
            file = Path(temporary, "versions.txt")
            resolve(sys.executable, given.lowest, given.extras.split(","), given.fix, file)
            print(file.read_text(encoding="utf-8"))
        return
    name = (
        "python-"
        + re.sub(r"[^\w.]+", "-", given.python).strip("-")
        + ("-lowest" if given.lowest else "")
    )
    folder = ROOT / "out" / "environments" / name
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    if not (given.keep and python.exists()):
        python = prepare(folder, given.python, given.lowest, given.extras.split(","), given.fix)
    command = [
        python,
        "-m",
        "pytest",
        "-q",
        "-m",
        "not slow and not site",
        "-p",
        "no:cacheprovider",
        *("-n", given.jobs, "--dist", "loadscope"),
        *given.tests,
    ]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    print(done.stdout[-6000:], done.stderr[-2000:])
    record(name, python, done.stdout)
    sys.exit(done.returncode)


if __name__ == "__main__":
    main()

"""Write ``locks/``: every package that `make setup` installs, with the SHA-256 of its files.

``constraints.txt`` has the versions; ``locks/core.txt`` and ``locks/everything.txt`` have the same
versions with hashes, for every platform and Python. With ``--upgrade`` the versions move first: all
of them, or only those of the packages named.

    make lock                             # after a change of constraints.txt or pyproject.toml
    make lock ASK=--upgrade               # to the newest versions
    make lock ASK="--upgrade numpy scipy"
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
CONSTRAINTS = ROOT / "constraints.txt"
HEADER = "# The versions that the tests run with; make setup installs exactly these.\n"
NOTE = "# Written by tools/lock.py (make lock); see docs/releasing.md. Not edited by hand.\n"

#: Each lock, and what it is resolved from: extras of pyproject.toml, groups and single packages.
#: The first decides on versions for the others.
LOCKS = {
    "everything": (["test"], ["build"], ["pip"]),
    "core": (["figures"], ["build"], ["pip"]),
    "docs": (["docs"], [], []),
    "release": ([], ["release"], []),
}

#: Packages without hashes. torch comes in builds (CPU, CUDA) of one version whose files differ from one
#: index to the next, and the others come with its CUDA build alone.
UNHASHED = re.compile(r"torch|triton|cuda-.*|nvidia-.*")


def pins(text: str) -> dict[str, str]:
    """Return package → version of a list of requirements; names are written in one way."""
    found = re.findall(r"^([A-Za-z0-9][\w.-]*)==([^\s;\\]+)", text, flags=re.MULTILINE)
    return {re.sub(r"[-_.]+", "-", name).lower(): version for name, version in found}


def resolve(lock: str, constraints: str) -> str:
    """Ask uv for the packages of a lock, with hashes, for all platforms."""
    extras, groups, packages = LOCKS[lock]
    with tempfile.TemporaryDirectory() as folder:
        limits, more = Path(folder, "constraints.txt"), Path(folder, "more.in")
        limits.write_text(constraints, encoding="utf-8")
        more.write_text("\n".join(packages), encoding="utf-8")
        command = ["uv", "pip", "compile", "--quiet", "--universal", "--generate-hashes", "--no-header"]
        command += ["--no-annotate", "--python-version", "3.11.5", "--constraint", str(limits)]
        command += [part for extra in extras for part in ("--extra", extra)]
        command += [part for group in groups for part in ("--group", f"pyproject.toml:{group}")]
        command += [str(more), *(["pyproject.toml"] if extras else [])]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"uv could not resolve the lock {lock!r}:\n{done.stderr}")
    return done.stdout


def without_unhashed(resolved: str) -> str:
    """Leave out the packages that cannot be checked by hash."""
    entries = re.split(r"^(?=[A-Za-z0-9])", resolved, flags=re.MULTILINE)
    return "".join(e for e in entries if not UNHASHED.fullmatch(re.split(r"[=\s]", e, maxsplit=1)[0]))


def moved(constraints: str, upgrade: list[str] | None) -> str:
    """Return the constraints that may stay: all, none, or those of the packages not named."""
    if upgrade is None:
        return constraints
    names = {re.sub(r"[-_.]+", "-", name).lower() for name in upgrade}
    kept = [line for line in constraints.splitlines() if upgrade and not set(pins(line)) & names]
    return "\n".join(kept)


def main() -> None:
    """Resolve, and write constraints and locks."""
    parser = argparse.ArgumentParser(description="Write locks/ from constraints.txt.")
    parser.add_argument("--upgrade", nargs="*", metavar="PACKAGE", help="move these, or all")
    upgrade = parser.parse_args().upgrade
    before = CONSTRAINTS.read_text(encoding="utf-8")
    limits = moved(before, upgrade)
    resolved = {}
    for lock in LOCKS:
        resolved[lock] = resolve(lock, limits)
        limits += "\n" + "\n".join(f"{n}=={v}" for n, v in pins(resolved[lock]).items())
    versions = {k: v for text in resolved.values() for k, v in pins(text).items()}
    shown = sorted(
        f"{n}=={v}" for n, v in versions.items() if n == "torch" or not UNHASHED.fullmatch(n)
    )
    CONSTRAINTS.write_text(HEADER + "\n".join(shown) + "\n", encoding="utf-8")
    for lock, text in resolved.items():
        file = ROOT / "locks" / f"{lock}.txt"
        file.parent.mkdir(exist_ok=True)
        file.write_text(NOTE + without_unhashed(text), encoding="utf-8")
    for name, version in sorted(versions.items()):
        old = pins(before).get(name)
        if old != version and not UNHASHED.fullmatch(name):
            print(f"{name}: {old or 'new'} → {version}")


if __name__ == "__main__":
    main()

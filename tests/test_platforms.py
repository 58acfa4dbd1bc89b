"""Windows and macOS: nothing that POSIX or Linux alone has is used without a fallback."""

from __future__ import annotations

import importlib.util
import json
import math
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

import unseen
from posix_only import faults
from unseen import files
from unseen.cli import app, demo
from unseen.cli.output import print_json
from unseen.exceptions import FileBusyError
from unseen.experiments import peak_memory
from unseen.version import install_command

PACKAGE = Path(unseen.__file__).parent
FILES = sorted(PACKAGE.rglob("*.py"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.relative_to(PACKAGE).as_posix())
def test_nothing_without_a_fallback(file):
    found = faults(file.read_text(encoding="utf-8"))
    assert found == [], f"{file}: not on every platform; guard it, or name an encoding"


@pytest.mark.parametrize(
    ("source", "fault"),
    [
        ("import resource", "1: import resource"),
        ("def f():\n    from fcntl import flock", "2: import fcntl"),
        ("import os\nos.fork()", "2: os.fork"),
        ("from os import getuid", "1: os.getuid"),
        ("import signal\nsignal.signal(signal.SIGHUP, f)", "2: signal.SIGHUP"),
        ("Path('/dev/shm').exists()", "1: the place /dev/shm"),
        ("context = multiprocessing.get_context('fork')", "1: processes by fork"),
        ("path.read_text()", "1: .read_text without encoding"),
        ("path.open('w')", "1: open without encoding"),
        ("try:\n    os.fork()\nexcept ValueError:\n    pass", "2: os.fork"),
        ("try:\n    pass\nexcept OSError:\n    os.fork()", "4: os.fork"),
    ],
)
def test_the_check_finds(source, fault):
    assert faults(source) == [fault]


@pytest.mark.parametrize(
    "source",
    [
        "try:\n    import resource\nexcept ImportError:\n    resource = None",
        "if os.name != 'nt':\n    os.nice(5)",
        "if hasattr(os, 'sched_getaffinity'):\n    os.sched_getaffinity(0)",
        "path.open('rb')\npath.read_text(encoding='utf-8')",
        '"""Not even /dev/null is read."""',
    ],
)
def test_the_check_lets_pass(source):
    assert faults(source) == []


@pytest.fixture
def no_proc(monkeypatch):
    """A system without /proc."""

    def missing(*args, **kwargs):
        raise FileNotFoundError

    monkeypatch.setattr(Path, "read_text", missing)
    monkeypatch.setattr(Path, "write_text", missing)


def test_memory_where_there_is_no_proc(no_proc):
    pytest.importorskip("resource", reason="Windows has no such module")
    peak_memory.reset_peak()
    assert peak_memory.peak_mb() > 10


def test_memory_where_nobody_counts_it(no_proc, monkeypatch):
    monkeypatch.setitem(sys.modules, "resource", None)
    assert math.isnan(peak_memory.peak_mb())


HIDDEN = """
import sys

class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {hidden}:
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Hidden())
from unseen.cli import main
sys.argv = ["unseen", *{arguments}]
main()
"""


def run_without(hidden, *arguments, folder):
    """Run a command in a process where some packages cannot be imported."""
    code = HIDDEN.format(hidden=set(hidden), arguments=list(arguments))
    return subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        encoding="utf-8",
        cwd=folder,
        check=False,
    )


LARGE = ("matplotlib", "PIL", "torch", "h5py", "pyarrow", "onnx", "fastapi", "nicegui", "zarr", "dask")


def test_commands_start_with_the_core_alone_and_no_posix_module(tmp_path):
    done = run_without((*LARGE, "resource"), "bench", "--list", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "SelfPacedPrototypes" in done.stdout


def test_bench_asks_for_matplotlib_before_it_runs_anything(tmp_path):
    done = run_without(("matplotlib",), "bench", "--paper", "--out", "here", folder=tmp_path)
    assert done.returncode == 2
    assert "figures: needs matplotlib, which is not installed" in done.stderr
    assert install_command("figures") in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_the_demo_without_matplotlib_has_its_table_and_says_why_there_is_no_picture(
    tmp_path, monkeypatch
):
    found = importlib.util.find_spec
    hidden = lambda name, *rest: None if name == "matplotlib" else found(name, *rest)  # noqa: E731
    monkeypatch.setattr(importlib.util, "find_spec", hidden)
    only = [m for m in demo.shown_methods() if m.name == "SJE"]
    monkeypatch.setattr(demo, "shown_methods", lambda: only)
    result = CliRunner().invoke(app, ["demo", "--out", str(tmp_path / "x")])
    assert result.exit_code == 0, result.output
    assert (
        f"No picture is drawn, because matplotlib is not installed: {install_command('figures')}"
        in (" ".join(result.output.split()))
    )
    assert sorted(p.name for p in (tmp_path / "x").iterdir()) == ["table.csv", "table.json"]


def refusing(times):
    """Stand in for Path.replace on Windows while a program has the target open."""
    plain, calls = Path.replace, []

    def replace(self, target):
        calls.append(1)
        if len(calls) <= times:
            raise PermissionError(13, "Access is denied")
        return plain(self, target)

    return replace, calls


@pytest.fixture
def windows(monkeypatch):
    monkeypatch.setattr(files, "WINDOWS", True)
    monkeypatch.setattr(files.time, "sleep", lambda seconds: None)


def test_a_file_that_a_reader_has_open_is_replaced_when_it_is_closed(windows, tmp_path, monkeypatch):
    replace, calls = refusing(times=3)
    monkeypatch.setattr(Path, "replace", replace)
    with files.atomic_file(tmp_path / "a.txt") as temporary:
        temporary.write_text("new", encoding="utf-8")
    assert (tmp_path / "a.txt").read_text(encoding="utf-8") == "new"
    assert len(calls) == 4


def test_a_file_that_stays_open_is_left_as_it_was(windows, tmp_path, monkeypatch):
    (tmp_path / "a.txt").write_text("old", encoding="utf-8")
    replace, _ = refusing(times=1000)
    monkeypatch.setattr(Path, "replace", replace)
    with (
        pytest.raises(FileBusyError, match=r"a\.txt: cannot be replaced while another program"),
        files.atomic_file(tmp_path / "a.txt") as temporary,
    ):
        temporary.write_text("new", encoding="utf-8")
    assert [p.read_text(encoding="utf-8") for p in tmp_path.iterdir()] == ["old"]


def test_a_folder_that_may_not_be_written_to_is_no_busy_file(tmp_path, monkeypatch):
    replace, calls = refusing(times=1000)
    monkeypatch.setattr(Path, "replace", replace)
    with pytest.raises(PermissionError), files.atomic_file(tmp_path / "a.txt"):
        pass
    assert len(calls) == 1


def test_a_port_has_one_owner_on_windows(monkeypatch):
    server = pytest.importorskip("unseen.serving.server", reason="needs the extra serve")
    assert server._one_owner() == socket.SO_REUSEADDR
    monkeypatch.setattr(socket, "SO_EXCLUSIVEADDRUSE", ~socket.SO_REUSEADDR, raising=False)
    assert server._one_owner() == ~socket.SO_REUSEADDR


def in_encoding(encoding, *arguments, folder):
    environment = {**os.environ, "PYTHONIOENCODING": encoding, "PYTHONUTF8": "0", "COLUMNS": "80"}
    return subprocess.run(
        [sys.executable, "-m", "unseen", *arguments],
        capture_output=True,
        env=environment,
        cwd=folder,
        check=False,
    )


@pytest.mark.parametrize("encoding", ["cp1252", "ascii"])
def test_a_console_with_few_characters(encoding, tmp_path):
    (tmp_path / "größe→.csv").write_text("class,size\n", encoding="utf-8")
    done = in_encoding(encoding, "datasets", "info", "größe→.csv", folder=tmp_path)
    assert done.returncode == 2, done.stderr
    assert b"Traceback" not in done.stderr
    assert b"error:" in done.stderr
    assert b".csv" in done.stderr


def test_json_is_ascii_where_the_pipe_has_no_more(capsys, monkeypatch):
    class Narrow:
        encoding = "cp1252"

        def __init__(self, stream):
            self.stream = stream

        def __getattr__(self, name):
            return getattr(self.stream, name)

    monkeypatch.setattr(sys, "stdout", Narrow(sys.stdout))
    print_json({"class": "größe→"})
    text = capsys.readouterr().out
    assert text.isascii()
    assert json.loads(text) == {"class": "größe→"}

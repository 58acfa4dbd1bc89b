"""Writers of one model file wait for each other; what they leave on the disk is whole and private."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path

import pytest

import unseen
from toys import make_toy
from unseen import ESZSL, ClassTable
from unseen.exceptions import DataError
from unseen.files import atomic_file, file_lock
from unseen.persistence import changing

CLASSES_PER_WRITER = 25

ADDING = """
import sys
from unseen.serving.keeper import Keeper, NewClass

keeper = Keeper(sys.argv[1])
print("ready", flush=True)
sys.stdin.readline()
for number in range(int(sys.argv[3])):
    keeper.add(NewClass(f"{sys.argv[2]} {number}", vector=[float(number)] * 8))
"""


@pytest.fixture
def model_file(tmp_path):
    toy = make_toy()
    path = tmp_path / "toy.safetensors"
    ESZSL(ClassTable.of(toy.semantics), candidates="all").fit(toy.X[toy.train], toy.y[toy.train]).save(
        path
    )
    return path


def _start_writer(path: Path, name: str) -> subprocess.Popen[str]:
    source = str(Path(unseen.__file__).parents[1])
    return subprocess.Popen(
        [sys.executable, "-c", ADDING, str(path), name, str(CLASSES_PER_WRITER)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": source},
        text=True,
    )


def test_two_services_on_one_file_lose_no_class(model_file, tmp_path):
    """One of them reaches the file through a link, which is the same file all the same."""
    pytest.importorskip("fastapi")
    link = tmp_path / "link.safetensors"
    link.symlink_to(model_file)
    before = unseen.load(model_file).classes_.tolist()
    writers = {"a": _start_writer(model_file, "a"), "b": _start_writer(link, "b")}
    for writer in writers.values():
        assert writer.stdout.readline() == "ready\n"
    for writer in writers.values():
        writer.stdin.write("go\n")
        writer.stdin.flush()
    for writer in writers.values():
        writer.communicate()
        assert writer.returncode == 0
    added = {f"{name} {number}" for name in writers for number in range(CLASSES_PER_WRITER)}
    assert set(unseen.load(model_file).classes_.tolist()) == added | set(before)
    assert link.is_symlink()


def test_save_waits_for_a_change(model_file):
    model = unseen.load(model_file)
    order = []

    def save():
        model.save(model_file)
        order.append("saved")

    saving = threading.Thread(target=save)
    with changing(model_file):
        saving.start()
        saving.join(timeout=0.3)
        order.append("changed")
    saving.join()
    assert order == ["changed", "saved"]


def test_a_writer_that_never_ends_is_named(model_file):
    with (
        file_lock(model_file),
        pytest.raises(DataError, match="another process has been writing"),
        file_lock(model_file, seconds=0.05),
    ):
        pass


def test_permissions_are_kept(model_file):
    model_file.chmod(0o600)
    with changing(model_file) as model:
        model.set_params(candidates="all")
    assert model_file.stat().st_mode & 0o777 == 0o600
    with atomic_file(model_file) as temporary:
        assert temporary.stat().st_mode & 0o077 == 0, "nobody else reads it while it is written"


def test_a_new_file_follows_the_umask(tmp_path):
    before = os.umask(0o077)
    try:
        with atomic_file(tmp_path / "new.csv") as temporary:
            temporary.write_text("x")
    finally:
        os.umask(before)
    assert (tmp_path / "new.csv").stat().st_mode & 0o777 == 0o600


def test_a_failed_change_writes_nothing(model_file):
    before = model_file.read_bytes()
    with suppress(RuntimeError), changing(model_file) as model:
        model.set_params(candidates="seen")
        raise RuntimeError
    assert model_file.read_bytes() == before


def test_file_and_folder_are_on_the_disk(model_file, monkeypatch):
    synced = []

    def fsync(handle, real=os.fsync):
        synced.append(Path(f"/proc/self/fd/{handle}").resolve())
        real(handle)

    if not Path("/proc/self/fd").is_dir():
        pytest.skip("needs /proc")
    monkeypatch.setattr(os, "fsync", fsync)
    unseen.load(model_file).save(model_file)
    first, second = synced
    assert ".partial" in first.name
    assert second == model_file.parent.resolve()


def test_only_stale_temporary_files_of_this_target_are_removed(model_file):
    folder = model_file.parent
    stale = folder / ".toy.0123456789abcdef.partial.safetensors"
    others = [folder / ".toy-2.0123456789abcdef.partial.safetensors", folder / ".toy.mine.safetensors"]
    for path in (stale, *others):
        path.write_text("left by a killed writer")
    unseen.load(model_file).save(model_file)
    assert not stale.exists()
    assert all(path.exists() for path in others)
    table = folder / "labels.csv"
    fresh = folder / ".labels.0123456789abcdef.partial.csv"
    old = folder / ".labels.fedcba9876543210.partial.csv"
    for path in (fresh, old):
        path.write_text("x")
    os.utime(old, (0, 0))
    with atomic_file(table) as temporary:
        temporary.write_text("x")
    assert fresh.exists()
    assert not old.exists()

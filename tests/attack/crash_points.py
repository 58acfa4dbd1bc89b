"""Kill a process inside each of its writes, and drop what it had not synced: nothing confirmed is lost.

    LD_PRELOAD=crash_shim.so python crash_points.py --kills 100 --folder scratch

prints, as JSON, for each kind of write how many steps it has, how many kills hit one of them, and how
many states of the disk after a power loss were looked at. Any loss is an error. `run_crash_points`
compiles the shim and starts this.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

from crash_scenes import CONTROLS, SCENES, Scene  # noqa: E402
from power_loss import MARK, Disk, read_journal  # noqa: E402


def in_a_child(scene: Scene, folder: Path, kill_at: int, journal: str) -> tuple[int, int]:
    """Write in a fork, killed at a step; return how it ended, and how many steps it took."""
    shim = ctypes.CDLL(None)
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            shim.crash_arm(os.fsencode(folder), ctypes.c_long(kill_at), journal.encode())
            scene.write(folder)
            os.write(writer, str(shim.crash_steps()).encode())
            code = 0
        finally:
            os._exit(code)
    os.close(writer)
    ended = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    steps = int(os.read(reader, 100) or b"0")
    os.close(reader)
    return ended, steps


def confirmed_in(folder: Path) -> int:
    """Return how much was confirmed before the crash."""
    mark = folder / MARK
    found = mark.stat().st_size if mark.exists() else 0
    mark.unlink(missing_ok=True)
    return found


def attack(name: str, kills: int, scratch: Path) -> dict[str, int]:
    """Kill one kind of write at steps that are spread evenly over it, and lose power after each."""
    scene = {**SCENES, **CONTROLS}[name]()
    folder = scratch / name / "before"
    folder.mkdir(parents=True)
    scene.prepare(folder)

    def fresh(place: str) -> Path:
        target = scratch / name / place
        shutil.rmtree(target, ignore_errors=True)
        return Path(shutil.copytree(folder, target))

    journal = scratch / name / "journal"
    whole = fresh("whole")
    before = Disk(whole)
    ended, steps = in_a_child(scene, whole, 0, str(journal))
    assert ended == 0, f"{name}: the write itself failed"
    assert steps > 0, f"{name}: no write was seen"
    hits = 0
    for number in range(kills):
        at = 1 + number * steps // kills if kills < steps else 1 + number % steps
        killed = fresh("killed")
        ended, _ = in_a_child(scene, killed, at, "")
        hits += ended == -signal.SIGKILL
        scene.check(killed, confirmed_in(killed))
    states = 0
    for step in read_journal(journal):
        before.play(step)
        for kind, contents in before.after_power_loss():
            lost = scratch / name / "lost"
            shutil.rmtree(lost, ignore_errors=True)
            before.restore(contents, lost)
            try:
                scene.check(lost, before.confirmed if scene.confirms_power_loss else 0)
            except Exception as error:
                raise AssertionError(
                    f"{name}: power lost, {kind}, after {step.kind} {step.path}"
                ) from error
            states += 1
    return {"steps": steps, "kills": kills, "hits": hits, "power losses": states}


def run_crash_points(
    kills: int, scratch: Path, scenes: list[str] | None = None
) -> dict[str, dict[str, int]]:
    """Compile the shim, and attack each kind of write in a process that has it loaded."""
    shim = scratch / "crash_shim.so"
    compiler = shutil.which("cc") or "gcc"
    source = str(HERE / "crash_shim.c")
    subprocess.run(
        [compiler, "-O1", "-shared", "-fPIC", "-o", str(shim), source, "-ldl", "-lpthread"], check=True
    )
    environment = {
        **os.environ,
        "LD_PRELOAD": str(shim),
        "OPENBLAS_NUM_THREADS": "1",
        "PYTHONPATH": os.pathsep.join([str(HERE.parents[1] / "src"), str(HERE.parent)]),
    }
    command = [sys.executable, __file__, "--kills", str(kills), "--folder", str(scratch / "scenes")]
    done = subprocess.run(
        [*command, *(scenes or SCENES)], env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise AssertionError(done.stderr[-3000:])
    found: dict[str, dict[str, int]] = json.loads(done.stdout)
    return found


def main() -> None:
    """Attack, and print what was found."""
    parser = argparse.ArgumentParser()
    parser.add_argument("scenes", nargs="+", choices=[*SCENES, *CONTROLS])
    parser.add_argument("--kills", type=int, default=20, help="of each kind of write")
    parser.add_argument("--folder", type=Path, required=True)
    options = parser.parse_args()
    found = {name: attack(name, options.kills, options.folder.resolve()) for name in options.scenes}
    sys.stdout.write(json.dumps(found))


if __name__ == "__main__":
    main()

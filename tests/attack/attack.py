"""All that is tried against this library, in minutes: files, models, kills, writers, load, pages.

    python tests/attack/attack.py [--only files models crash writers load pages] [--share 0.1]

Each part prints what it did, and ends with an error if a promise of SECURITY.md does not hold.
``--share`` takes a part of the counts. All of it stays on this machine; services listen on 127.0.0.1.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
TESTS = HERE.parent
ROOT = TESTS.parent
sys.path[:0] = [str(HERE), str(TESTS), str(TESTS / "serving"), str(ROOT / "src")]
os.environ["PYTHONPATH"] = os.pathsep.join(sys.path[:4])
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

MUTATED_FILES, FORGED_MODELS, KILLS, CLASSES_OF_A_WRITER, LOAD_SECONDS = 50_000, 5_000, 100, 200, 60
HEALTH_SECONDS, GROWTH_MB = 1.0, 300


def attack_files(share: float) -> str:
    """Read mutated files by every reader, each in a process of its own."""
    from mutated_files import CORPUS, folders, formats

    names = [*formats(), *folders()]
    each = -(-int(MUTATED_FILES * share) // len(names))
    seed = int(time.time())
    most = 0
    for name in names:
        with tempfile.TemporaryDirectory() as scratch:
            command = [sys.executable, str(HERE / "mutated_files.py"), name, "--count", str(each)]
            command += ["--seed", str(seed), "--scratch", scratch]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode < 0:
                shutil.copytree(scratch, CORPUS, dirs_exist_ok=True)
        if done.returncode:
            raise AssertionError(f"{name}, seed {seed}: {done.returncode} {done.stderr[-2000:]}")
        most = max(most, int(done.stdout))
    return (
        f"{each * len(names):,} mutated files over {len(names)} readers, seed {seed}; at most {most} MB"
    )


def attack_models(share: float) -> str:
    """Read forged model files."""
    from forged_models import attack

    seed, count = int(time.time()), int(FORGED_MODELS * share)
    return f"{count:,} forged models, seed {seed}: {attack(count, seed)}"


def attack_writes(share: float) -> str:
    """Kill processes inside their writes, and lose the power after each step."""
    from crash_points import run_crash_points
    from crash_scenes import SCENES

    with tempfile.TemporaryDirectory() as folder:
        found = run_crash_points(-(-int(KILLS * share) // len(SCENES)), Path(folder))
    hits = sum(counts["hits"] for counts in found.values())
    assert hits == sum(counts["kills"] for counts in found.values())
    return f"{hits} kills hit; nothing confirmed was lost: {json.dumps(found)}"


def attack_one_model_with_two_services(share: float) -> str:
    """Add classes through two services that keep one model file."""
    import httpx
    from live import PATIENCE, live
    from toy_models import write_model

    import unseen

    count, confirmed = int(CLASSES_OF_A_WRITER * share), []
    with tempfile.TemporaryDirectory() as folder:
        path = write_model(Path(folder) / "toy.safetensors")
        with live("serve", path, "--port", "0") as one, live("serve", path, "--port", "0") as other:

            def add(service: Any, name: str) -> None:
                with httpx.Client(base_url=service.url, timeout=PATIENCE) as client:
                    for number in range(count):
                        body = {"name": f"{name} {number}", "vector": [number % 7 / 7] * 8}
                        if client.post("/classes", json=body).status_code == 201:
                            confirmed.append(body["name"])

            threads = [threading.Thread(target=add, args=pair) for pair in ((one, "a"), (other, "b"))]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        known = set(unseen.load(path).classes_.tolist())
    lost = [name for name in confirmed if name not in known]
    assert not lost, lost
    assert len(confirmed) == 2 * count
    return f"2 services, {len(confirmed)} classes confirmed, {len(lost)} lost"


def attack_service(share: float) -> str:
    """200 clients beside slow readers, header floods and silent connections."""
    from service_load import attack

    found = attack(LOAD_SECONDS * share)
    text = json.dumps({**found, "load of the machine": os.getloadavg()[0]})
    assert set(found["statuses"]) <= {"200", "503"}, text
    assert found["memory growth, MB"] < GROWTH_MB, text
    assert found["health, failed"] == [], text
    assert found["health, worst"] < HEALTH_SECONDS, text
    return text


def attack_pages(share: float) -> str:
    """Hostile names in every page, in Chromium; the tests of the pages do it."""
    tests = [
        "attack/test_hostile_pages.py",
        "experiments/test_hostile_store.py",
        "labelling/test_hostile_names.py",
    ]
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            *(str(TESTS / test) for test in tests),
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:]
    return done.stdout.strip().splitlines()[-1]


PARTS = {
    "files": attack_files,
    "models": attack_models,
    "crash": attack_writes,
    "writers": attack_one_model_with_two_services,
    "pages": attack_pages,
    "load": attack_service,
}


def main() -> None:
    """Run the parts; the exit code is 1 if one of them failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--share", type=float, default=1.0)
    options = parser.parse_args()
    failed = []
    for name in options.only:
        begin = time.monotonic()
        try:
            told = PARTS[name](options.share)
        except AssertionError as error:
            failed.append(name)
            told = f"FAILED: {error}"
        sys.stdout.write(f"{name} ({time.monotonic() - begin:.0f} s): {told}\n")
        sys.stdout.flush()
    if failed:
        raise SystemExit(f"failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()

"""Forged model files with a valid checksum: each is refused when it is read, or answers.

python tests/attack/forged_models.py --count 5000 --seed 1
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

sys.path[:0] = [str(Path(__file__).parents[1] / "persistence")]

from test_hostile import FORMER_FILES, SUBSTITUTES, _replaced, forged  # noqa: E402

from unseen import ModelFileError, load  # noqa: E402

MORE = [
    2**63,
    -(2**70),
    float("nan"),
    "\0",
    "../../etc/passwd",
    {"#": "array"},
    [[]],
    {"class": "os.system"},
]


def answer(model: Any) -> None:
    """Ask a model that was read; only what it says of its own candidates may be wrong with it."""
    rows = np.ones((2, model.n_features_in_))
    with suppress(ValueError), np.errstate(all="ignore"):
        assert len(model.classes_)
        model.predict(rows)
        model.decision_function(rows)
        model.predict_proba(rows)


def attack(count: int, seed: int) -> dict[str, int]:
    """Read forged files; return how many were read and how many refused."""
    draw = random.Random(seed)
    files = sorted(FORMER_FILES.glob("*.safetensors"))
    sound = {path.name: path.read_bytes() for path in files}
    counts = {"read": 0, "refused": 0}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "forged"
        for number in range(count):
            name = draw.choice(list(sound))
            changes = [
                (draw.choice(SUBSTITUTES + MORE), draw.randint(1, 120))
                for _ in range(draw.choice((1, 1, 2)))
            ]
            of_header = draw.random() < 0.15

            def change(record: Any, header: Any, changes=changes, of_header=of_header) -> None:  # type: ignore[no-untyped-def]
                for junk, place in changes:
                    if of_header:
                        tensors = {k: v for k, v in header.items() if k != "__metadata__"}
                        header.update(_replaced(tensors, junk, 1 + place % 12))
                    else:
                        record["model"]["state"] = _replaced(record["model"]["state"], junk, place)

            path.write_bytes(forged(sound[name], change))
            try:
                model = load(path)
            except ModelFileError:
                counts["refused"] += 1
                continue
            except BaseException as error:
                raise SystemExit(
                    f"forgery {number} of seed {seed}, {name}, {changes}: {error!r}"
                ) from error
            counts["read"] += 1
            try:
                answer(model)
            except BaseException as error:
                raise SystemExit(
                    f"forgery {number} of seed {seed}, {name}, {changes}: {error!r}"
                ) from error
    return counts


def main() -> None:
    """Attack, and print the counts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    sys.stdout.write(f"{attack(options.count, options.seed)}\n")


if __name__ == "__main__":
    main()

"""Record golden answers anew: ``make golden``, after a change that is meant to change answers."""

from __future__ import annotations

import json
import lzma
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from golden_cases import ANSWERS, SLICES, answer, machine, missing, slice_digest, small_slice

from estimators import ESTIMATORS, name_of


def main() -> None:
    """Write the answers of every estimator on every slice, and the machine that gave them."""
    slices = {}
    for name in SLICES:
        if missing(name):
            sys.exit(f"Golden answers need all slices. {name}: {missing(name)}.")
        data = small_slice(name)
        answers = {name_of(estimator): answer(estimator, data) for estimator in ESTIMATORS}
        slices[name] = {"digest": slice_digest(data), "answers": answers}
    text = json.dumps({"machine": machine(), "slices": slices}, separators=(",", ":"))
    ANSWERS.write_bytes(lzma.compress(text.encode(), preset=9))


if __name__ == "__main__":
    main()

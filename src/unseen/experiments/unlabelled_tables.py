"""Tables of the settings without one label: points above argmax cosine."""

from __future__ import annotations

from unseen.experiments.results import Results, measured
from unseen.experiments.unlabelled_pools import (
    BATCH_ROWS,
    EFFECTIVE_CLASSES,
    FULL,
    STREAMS,
    UNEVEN,
    small_pool,
)
from unseen.reporting.value_table import Table, Value

COSINE = (
    "Per-class top-1 of the pool's rows, all classes candidates; gains are points above argmax cosine."
)


def unlabelled(results: Results) -> Table:
    """Return full and uneven pools, and streams."""
    whole = ("cosine, %", "full pool, %", "gain", "ECE", "50:1, gain")
    columns = ("Data", "Method", *whole, "stream, gain", "stream by class, gain")
    rows = []
    for dataset in results.datasets:
        for name in results.methods():
            full = results.select(dataset, name, setting=FULL)
            kinds = (results.select(dataset, name, setting=s) for s in (UNEVEN, *STREAMS))
            values = [measured(full, "start"), measured(full), measured(full, "gain")]
            values += [measured(full, "calibration_error", 3), *(measured(k, "gain") for k in kinds)]
            if any(value.keys for value in values):
                rows.append([Value(dataset), Value(name), *values])
    return Table("unlabelled", "No labelled rows — whole pools and streams", columns, rows, [COSINE])


def small_pools(results: Results) -> Table:
    """Return small pools in which k of the classes are present: mean gains, and the worst draw."""
    columns = ("Data", "Method", "classes present", *(f"{n} rows, gain" for n in BATCH_ROWS), "worst")
    rows = []
    for dataset in results.datasets:
        for name in results.methods():
            for k in EFFECTIVE_CLASSES:
                draws = [results.select(dataset, name, setting=small_pool(k, n)) for n in BATCH_ROWS]
                each = [measured([row], "gain") for of_size in draws for row in of_size]
                if each:
                    worst = min(each, key=lambda value: value.number or 0.0)
                    means = [measured(of_size, "gain") for of_size in draws]
                    rows.append([Value(dataset), Value(name), Value(str(k or "all")), *means, worst])
    notes = [COSINE, "“worst” is the lowest gain of a single draw; a trial is a draw."]
    return Table("small_pools", "No labelled rows — few classes, small pools", columns, rows, notes)

"""A small model in a file."""

from __future__ import annotations

from toys import make_toy
from unseen import ESZSL, ClassTable


def write_model(path):
    toy = make_toy()
    table = ClassTable.of(toy.semantics)
    names = [f"trait {i}" for i in range(table.vectors.shape[1])]
    table = ClassTable(table.classes, table.vectors, names)
    ESZSL(table, candidates="all").fit(toy.X[toy.train], toy.y[toy.train]).save(path)
    return path

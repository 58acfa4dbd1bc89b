"""The auditor: what is wrong with a data set, what it does to a result, and the remedy."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import numpy as np

from unseen.datasets.audit_checks import CHECKS
from unseen.datasets.audit_finding import Finding
from unseen.datasets.audit_statistics import measure
from unseen.datasets.conversion import load_dataset
from unseen.datasets.record import ZeroShotDataset
from unseen.datasets.splits import PARTS
from unseen.typing import JsonObject

PathLike = str | os.PathLike[str]


@dataclass(frozen=True)
class AuditReport:
    """What the auditor found.

    Attributes
    ----------
    name, features, provenance : str
        Of the data set.
    shape : (int, int)
        Of ``X``.
    attributes : int
        The width of the class vectors.
    rows : dict
        The size of each index set.
    classes : dict
        How many classes the table, the training rows and the test rows have.
    counts : dict
        For each class, its rows in train, test_seen and test_unseen.
    findings : tuple of Finding
        The worst first.
    """

    name: str
    features: str
    provenance: str
    shape: tuple[int, int]
    attributes: int
    rows: dict[str, int]
    classes: dict[str, int]
    counts: dict[str, tuple[int, int, int]]
    findings: tuple[Finding, ...]

    @property
    def errors(self) -> tuple[Finding, ...]:
        """The findings that make a result wrong."""
        return tuple(f for f in self.findings if f.severity == "error")

    def to_dict(self) -> JsonObject:
        """Return plain Python values, for JSON."""
        return {**vars(self), "findings": [vars(f) for f in self.findings]}

    def __str__(self) -> str:
        lines = [
            f"{self.name} ({self.features}): {self.shape[0]} rows × {self.shape[1]} features, "
            f"{self.classes['table']} classes × {self.attributes} attributes",
            ", ".join(f"{part} {self.rows[part]}" for part in PARTS),
            *(str(f) for f in self.findings),
        ]
        return "\n".join(lines)


def audit(source: ZeroShotDataset | PathLike, **options: Any) -> AuditReport:
    """Check a data set for what makes zero-shot results wrong or not comparable.

    Parameters
    ----------
    source : ZeroShotDataset or path
        A path is loaded by :func:`load_dataset`.
    **options
        For loading it.

    Returns
    -------
    AuditReport

    Examples
    --------
    >>> from unseen.datasets import simulate
    >>> data = simulate("aPY", scale=0.05, n_features=64, random_state=0)
    >>> audit(data).errors
    ()
    """
    dataset = source if isinstance(source, ZeroShotDataset) else load_dataset(source, **options)
    statistics = measure(dataset)
    findings = [f for check in CHECKS for f in check(dataset, statistics)]
    order = ("error", "warning", "info")
    findings.sort(key=lambda f: order.index(f.severity))
    return AuditReport(
        name=dataset.name,
        features=dataset.features,
        provenance=dataset.provenance,
        shape=(len(dataset.X), int(dataset.X.shape[1])),
        attributes=int(dataset.semantics.vectors.shape[1]),
        rows={part: len(getattr(dataset, part)) for part in PARTS},
        classes={
            "table": len(dataset.semantics),
            "seen": len(dataset.seen_classes),
            "unseen": len(dataset.unseen_classes),
        },
        counts=_counts(dataset),
        findings=tuple(findings),
    )


def _counts(dataset: ZeroShotDataset) -> dict[str, tuple[int, int, int]]:
    classes = dataset.semantics.positions(dataset.y)
    table = np.stack(
        [
            np.bincount(classes[getattr(dataset, part)], minlength=len(dataset.semantics))
            for part in PARTS
        ],
        axis=1,
    )
    names = [str(c) for c in dataset.semantics.classes.tolist()]
    return {name: (int(a), int(b), int(c)) for name, (a, b, c) in zip(names, table, strict=True)}

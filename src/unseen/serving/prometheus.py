"""Counters in the text format of Prometheus; a few dozen lines instead of a dependency."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Mapping, Sequence

SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
ROWS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192)

Labels = tuple[tuple[str, str], ...]


class Counter:
    """A number that rises, one for each set of labels."""

    kind = "counter"

    def __init__(self, name: str, what: str) -> None:
        self.name, self.what = name, what
        self.values: dict[Labels, float] = defaultdict(float)

    def add(self, amount: float = 1.0, **labels: str) -> None:
        """Add to the number of these labels."""
        self.values[tuple(labels.items())] += amount

    def lines(self) -> list[str]:
        """Return the lines of the text format."""
        values = self.values or {(): 0.0}
        return [f"{self.name}{_shown(labels)} {value:.12g}" for labels, value in values.items()]


class Gauge(Counter):
    """A number that rises and falls."""

    kind = "gauge"

    def set(self, value: float, **labels: str) -> None:
        """Set the number of these labels."""
        self.values[tuple(labels.items())] = value


class Histogram:
    """How often a number lay below each of some bounds."""

    kind = "histogram"

    def __init__(self, name: str, what: str, bounds: Sequence[float]) -> None:
        self.name, self.what, self.bounds = name, what, bounds
        self.counts: dict[Labels, list[int]] = defaultdict(lambda: [0] * (len(bounds) + 1))
        self.sums: dict[Labels, float] = defaultdict(float)

    def observe(self, value: float, **labels: str) -> None:
        """Count a number."""
        key = tuple(labels.items())
        self.counts[key][bisect_left(self.bounds, value)] += 1
        self.sums[key] += value

    def lines(self) -> list[str]:
        """Return the lines of the text format."""
        lines = []
        for labels, counts in self.counts.items():
            total = 0
            for bound, count in zip((*self.bounds, float("inf")), counts, strict=True):
                total += count
                edge = "+Inf" if bound == float("inf") else f"{bound:g}"
                lines.append(f"{self.name}_bucket{_shown((*labels, ('le', edge)))} {total}")
            lines.append(f"{self.name}_sum{_shown(labels)} {self.sums[labels]:.9g}")
            lines.append(f"{self.name}_count{_shown(labels)} {total}")
        return lines


class Metrics:
    """All numbers of a service."""

    def __init__(self) -> None:
        self.requests = Counter("unseen_requests_total", "Requests, by path, method and status.")
        self.refused = Counter("unseen_refused_total", "Requests that a limit or the token refused.")
        self.seconds = Histogram("unseen_request_seconds", "From first to last byte.", SECONDS)
        self.late = Histogram(
            "unseen_loop_delay_seconds", "How late the event loop does what is due.", SECONDS
        )
        self.busy = Gauge("unseen_requests_in_progress", "Requests that are read or answered now.")
        self.rows = Counter("unseen_rows_total", "Rows that were answered.")
        self.batches = Histogram("unseen_batch_rows", "Rows of a matrix product.", ROWS)
        self.shared = Histogram("unseen_batch_requests", "Requests in a matrix product.", ROWS)
        self.classes = Gauge("unseen_classes", "Classes among which the model answers.")
        self.model = Gauge("unseen_model_info", "The model; always 1.")

    def text(self) -> str:
        """Return the page that Prometheus reads."""
        lines = []
        for metric in vars(self).values():
            lines += [f"# HELP {metric.name} {metric.what}", f"# TYPE {metric.name} {metric.kind}"]
            lines += metric.lines()
        return "\n".join(lines) + "\n"


def _shown(labels: Labels | Mapping[str, str]) -> str:
    """Write labels in braces, what is special in their values escaped.

    >>> _shown((("path", 'a"b'),))
    '{path="a\\\\"b"}'
    """
    pairs = labels.items() if isinstance(labels, Mapping) else labels
    text = ",".join(f'{name}="{_escaped(value)}"' for name, value in pairs)
    return f"{{{text}}}" if text else ""


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")

"""How much the service takes on before it says no."""

from __future__ import annotations

from dataclasses import dataclass, fields


@dataclass(frozen=True)
class Limits:
    """Each limit has its own answer, so that a client can tell what to do.

    Parameters
    ----------
    body : int
        Bytes of a request's body; more is 413.
    rows : int
        Rows of features in a request; more is 422.
    images : int
        Photographs in a request; more is 422.
    texts : int
        Texts in a request; more is 422.
    concurrency : int
        Requests that are read or answered at a time; more is 503.
    connections : int
        At a time, before anything is read from them. Of more, the one whose request has been awaited
        for longest is closed; if none is awaited, the newest is refused.
    memory : int
        Bytes that the bodies of requests in progress and their answers take in all; more is 503.
    body_seconds : float
        In which a body must have come in whole; longer is 408. Headers have the same time, and so has
        a client to read an answer (more for a large one), after which the connection is closed.
    window : float
        Seconds for which a request waits for others to share a matrix product with.
    batch : int
        Rows of one matrix product.
    classes : int
        Classes that a model may come to know; more is 422.
    """

    body: int = 8 * 2**20
    rows: int = 4096
    images: int = 32
    texts: int = 256
    concurrency: int = 256
    connections: int = 512
    memory: int = 64 * 2**20
    body_seconds: float = 10.0
    window: float = 0.002
    batch: int = 8192
    classes: int = 100_000

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            least = 0 if field.name == "window" else 1e-3 if field.type == "float" else 1
            if not value >= least:
                raise ValueError(f"The limit '{field.name}' must be at least {least}. Got {value}.")

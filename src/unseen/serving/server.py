"""Running an application: one socket, a time limit for headers, an orderly end."""

from __future__ import annotations

import asyncio
import signal
import socket
from typing import Any

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from unseen.exceptions import DataError

GRACE = 10
"""Seconds that requests in progress have to end in, after the signal to stop."""


def listen(host: str, port: int) -> socket.socket:
    """Open the socket; port 0 takes a free one."""
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        opened = socket.socket(family, socket.SOCK_STREAM)
        opened.setsockopt(socket.SOL_SOCKET, _one_owner(), 1)
        opened.bind((host, port))
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise DataError(
            f"{host}:{port}: cannot be used ({reason}). Name another port; 0 takes a free one.",
            options=("port",),
        ) from None
    opened.listen(1024)
    return opened


def _one_owner() -> int:
    """Return the option under which a port has one owner and is free again when that has ended.

    On Windows SO_REUSEADDR would let another program take the port over.
    """
    return int(getattr(socket, "SO_EXCLUSIVEADDRUSE", socket.SO_REUSEADDR))


def address(opened: socket.socket) -> str:
    """Return the address to open in a browser."""
    host, port = opened.getsockname()[:2]
    name = f"[{host}]" if ":" in host else host
    return f"http://{name}:{port}"


def run(app: Any, opened: socket.socket, header_seconds: float = 10.0, **options: Any) -> None:
    """Serve until a signal comes; requests in progress are answered first."""
    config = uvicorn.Config(
        app,
        http=_protocol(header_seconds),
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=GRACE,
        **options,
    )
    # uvicorn hands a signal on when it has ended; by then there is nothing left to interrupt.
    kinds = (signal.SIGINT, signal.SIGTERM)
    before = {kind: signal.signal(kind, lambda *_: None) for kind in kinds}
    try:
        uvicorn.Server(config).run(sockets=[opened])
    finally:
        for kind, handler in before.items():
            signal.signal(kind, handler)


def _protocol(header_seconds: float) -> type[HttpToolsProtocol]:
    """Return uvicorn's protocol with a limit on how long headers may take, which it lacks."""

    class Impatient(HttpToolsProtocol):
        _patience: asyncio.TimerHandle | None = None

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self._wait()

        def on_message_begin(self) -> None:
            super().on_message_begin()
            self._wait()

        def on_headers_complete(self) -> None:
            self._stop_waiting()
            super().on_headers_complete()

        def connection_lost(self, exc: Exception | None) -> None:
            self._stop_waiting()
            super().connection_lost(exc)

        def _wait(self) -> None:
            self._stop_waiting()
            self._patience = self.loop.call_later(header_seconds, self.transport.close)

        def _stop_waiting(self) -> None:
            if self._patience is not None:
                self._patience.cancel()
                self._patience = None

    return Impatient

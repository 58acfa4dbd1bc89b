"""Running an application: one socket, bounded connections, an orderly end."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import signal
import socket
import threading
from types import FrameType
from typing import TYPE_CHECKING

import uvicorn

from unseen.exceptions import DataError
from unseen.serving.accepting import Acceptor
from unseen.serving.connection_limits import BACKLOG, ConnectionLimits, bounded_protocol

if TYPE_CHECKING:
    from starlette.types import ASGIApp

logger = logging.getLogger(__name__)

GRACE = 10
"""Seconds that requests in progress have to end in, after the signal to stop."""
LAST_SECONDS = 2
"""For closing what is open after that, before the process ends at once."""


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
    opened.listen(BACKLOG)
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


def run(app: ASGIApp, opened: socket.socket, seconds: float = 10.0, connections: int = 512) -> None:
    """Serve until a signal comes; requests in progress are answered first.

    Parameters
    ----------
    app : ASGI application
    opened : socket
    seconds : float
        In which headers must have come in, or an answer must have been read.
    connections : int
        At a time.
    """
    limits = ConnectionLimits(connections, seconds)
    config = uvicorn.Config(
        app,
        http=bounded_protocol(limits),
        backlog=limits.backlog,
        log_level="error",  # a line for each broken request would fill the disk
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=GRACE,
        ws_ping_interval=None,  # the studio's pages and their server ask each other themselves
    )
    server = _Server(config, limits)
    # uvicorn listens to signals while it runs. One that comes before must not be lost; those that it
    # hands on when it has ended find nothing left to interrupt.
    kinds = (signal.SIGINT, signal.SIGTERM)
    before = {kind: signal.signal(kind, server.handle_exit) for kind in kinds}
    # A full collection walks over all that the libraries hold, for 150 ms, and large bodies cause one
    # every second. What is there before the first request stays, so it need not be walked over.
    gc.collect()
    gc.freeze()
    try:
        server.run(sockets=[opened])
    finally:
        gc.unfreeze()
        for kind, handler in before.items():
            signal.signal(kind, handler)


class _Server(uvicorn.Server):
    """uvicorn's server, which takes all connections that wait, and ends after its grace in any case."""

    _acceptors: tuple[Acceptor, ...] = ()

    def __init__(self, config: uvicorn.Config, limits: ConnectionLimits) -> None:
        super().__init__(config)
        self._limits = limits

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        loop = asyncio.get_running_loop()
        if isinstance(loop, asyncio.BaseEventLoop):  # asyncio's own loops take all that wait
            await super().startup(sockets)
            return
        await super().startup([])
        self._acceptors = tuple(
            Acceptor(opened, self._protocol, self._must_wait, self.config.backlog)
            for opened in sockets or []
        )

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        for acceptor in self._acceptors:
            acceptor.stop()
        await super().shutdown(sockets)

    def _protocol(self) -> asyncio.Protocol:
        return self.config.http_protocol_class(  # type: ignore[call-arg]
            config=self.config, server_state=self.server_state, app_state=self.lifespan.state
        )

    def _must_wait(self, opening: int) -> bool:
        return self._limits.is_behind(len(self.server_state.connections) + opening)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        if not self.should_exit:
            last = threading.Timer(GRACE + LAST_SECONDS, self._end)
            last.daemon = True
            last.start()
        super().handle_exit(sig, frame)

    def _end(self) -> None:
        logger.error("ended with work in progress, %d seconds after the signal to stop", GRACE)
        os._exit(1)  # as safe as a kill, which loses nothing that was confirmed

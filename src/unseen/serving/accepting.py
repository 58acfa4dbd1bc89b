"""Connections that wait are taken all at once, so that nobody waits for a turn of the loop each."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Callable

logger = logging.getLogger(__name__)

REST_SECONDS = 0.1
"""Without file descriptors or memory, nothing is accepted for so long."""


class Acceptor:
    """Accepts connections on a socket that listens, from the running loop.

    libuv, and so uvloop, accepts one connection in each turn of its loop. A turn in which 200 clients
    are answered takes a tenth of a second: behind 50 connections that somebody opens at once, a request
    for ``/health`` would wait for five seconds before its first byte is read. Here each turn accepts
    all that wait.

    Parameters
    ----------
    listening : socket
    protocol : callable
        Returns the protocol of a new connection.
    must_wait : callable
        Tells, of a number of connections that were accepted but are not open yet, whether the next
        must wait for the next turn.
    most : int
        Connections that are accepted in a turn.
    """

    def __init__(
        self,
        listening: socket.socket,
        protocol: Callable[[], asyncio.Protocol],
        must_wait: Callable[[int], bool],
        most: int,
    ) -> None:
        self._listening, self._protocol = listening, protocol
        self._must_wait, self._most = must_wait, most
        self._loop = asyncio.get_running_loop()
        self._opening: set[asyncio.Task[None]] = set()  # a task that nobody holds may be collected
        self._resting: asyncio.TimerHandle | None = None
        listening.setblocking(False)
        listening.listen(most)
        self._start()

    def stop(self) -> None:
        """Accept no more connections."""
        self._loop.remove_reader(self._listening)
        if self._resting is not None:
            self._resting.cancel()

    def _start(self) -> None:
        self._resting = None
        self._loop.add_reader(self._listening, self._accept)

    def _accept(self) -> None:
        for _ in range(self._most):
            if self._must_wait(len(self._opening)):
                return
            try:
                accepted, _ = self._listening.accept()
            except (BlockingIOError, InterruptedError):
                return
            except ConnectionAbortedError:
                continue
            except OSError as error:  # no file descriptors, or no memory
                logger.error("no connection can be accepted now: %s", error)
                self.stop()
                self._resting = self._loop.call_later(REST_SECONDS, self._start)
                return
            accepted.setblocking(False)
            task = self._loop.create_task(self._open(accepted))
            self._opening.add(task)
            task.add_done_callback(self._opening.discard)

    async def _open(self, accepted: socket.socket) -> None:
        try:
            await self._loop.connect_accepted_socket(self._protocol, accepted)
        except OSError:  # the client has gone
            accepted.close()

"""Budgets for connections, which hold before anybody has shown a token.

uvicorn reads headers without end, keeps every connection, and keeps what a client does not read. Here
each of these has a limit, and where one is reached, whoever has kept us waiting longest gives way.
"""

from __future__ import annotations

import asyncio
import socket
from dataclasses import dataclass, field
from typing import Any, Protocol

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

HEADER_BYTES = 16 * 1024
"""Bytes of a request line with its headers, or of whatever else is not body, such as trailers."""
HEADER_COUNT = 100
PIPELINED_REQUESTS = 16
"""Requests that a client may send before the first of them is answered."""
UNREAD_BYTES = 32 * 2**20
"""Bytes of all answers together that clients have not read yet."""
SLOWEST_READER = 100_000
"""Bytes a second that a client must read in the long run."""
BACKLOG = 1024
"""Connections that the operating system keeps for us until we take them."""
OTHER_FILES = 48
"""File descriptors that are left for files, threads and the event loop."""


class Connection(Protocol):
    """A connection, as its limits know it."""

    transport: asyncio.Transport

    def is_unheard(self) -> bool:
        """Tell whether the beginning of its request is there, but we have not read it yet."""


@dataclass
class ConnectionLimits:
    """Limits of a process, and its connections by what is awaited from them.

    Parameters
    ----------
    connections : int
        At a time; fewer if the process may open fewer files.
    seconds : float
        In which headers must have come in, or an answer must have been read.
    """

    connections: int = 512
    seconds: float = 10.0
    asking: dict[Connection, None] = field(default_factory=dict)
    """Connections whose next request is not there, the oldest first."""
    unread: dict[Connection, None] = field(default_factory=dict)
    """Connections whose answer is not read, the oldest first."""

    def __post_init__(self) -> None:
        files = open_files_limit()
        self.backlog = min(BACKLOG, max(files // 4, 1))
        self.connections = max(min(self.connections, files - self.backlog - OTHER_FILES), 1)

    def make_room(self) -> bool:
        """Close whoever has kept us waiting longest; False if we wait for nobody.

        That is a connection whose request we await, or else one whose answer is not read.
        """
        held = self._longest_awaited() or next(iter(self.unread), None)
        if held is None:
            return False
        self.asking.pop(held, None)
        self.unread.pop(held, None)
        held.transport.abort()
        return True

    def is_behind(self, connections: int) -> bool:
        """Tell whether so many connections leave no room, but only since we have not read requests yet.

        A new one had better wait for a turn of the loop then than be refused.
        """
        return connections >= self.connections and bool(self.asking) and not self._longest_awaited()

    def _longest_awaited(self) -> Connection | None:
        """Return the connection whose request has been awaited for longest; None if all have come."""
        for held in list(self.asking):
            if not held.is_unheard():
                return held
            del self.asking[held]
            self.asking[held] = None  # we are late, and not the client: the others come first
        return None

    def bound_unread(self, newest: Connection) -> None:
        """Close the connections that have not read for longest, until the rest is within its limit."""
        sizes = {held: held.transport.get_write_buffer_size() for held in self.unread}
        total = sum(sizes.values())
        for held, size in sizes.items():
            if total <= UNREAD_BYTES or held is newest:
                return
            total -= size
            del self.unread[held]
            held.transport.abort()


def has_arrived(transport: asyncio.BaseTransport) -> bool:
    """Tell whether a client has sent something that was not read yet."""
    plug = transport.get_extra_info("socket")
    if transport.is_closing() or plug is None:
        return False
    same = socket.socket(plug.family, plug.type, plug.proto, plug.fileno())
    try:
        return bool(same.recv(1, socket.MSG_PEEK))
    except OSError:  # nothing is there, or the client has gone
        return False
    finally:
        same.detach()  # the transport closes it


def open_files_limit() -> int:
    """Return how many files this process may have open."""
    try:
        import resource
    except ImportError:  # Windows, which has no such limit for sockets
        return 8192
    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return 2**20 if soft == resource.RLIM_INFINITY else soft


class _BoundedProtocol(HttpToolsProtocol):
    """uvicorn's protocol with limits, which it lacks."""

    limits: ConnectionLimits
    """Of the process; a subclass has them."""
    _header_timer: asyncio.TimerHandle | None = None
    _read_timer: asyncio.TimerHandle | None = None
    _refusal = 400
    _overhead = 0  # bytes of this message that are not body, less those that are
    _fed = 0  # bytes that the parser is given now
    _ended = False  # whether a message ended among them
    _complete = True  # whether the message that began last is there
    _in_headers = False  # whether its headers are not
    _heard = False  # whether anything was read since we await a request
    _is_socket = False  # whether it is a web socket now, with a protocol of its own

    def connection_made(self, transport: Any) -> None:
        if len(self.connections) >= self.limits.connections and not self.limits.make_room():
            self.transport = transport
            self._refuse(503)
            return
        super().connection_made(transport)
        transport.set_write_buffer_limits(high=0)  # so that we hear of every byte that waits
        self._await_request()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_awaiting_request()
        self._stop_awaiting_reader()
        super().connection_lost(exc)

    # what comes in

    def data_received(self, data: bytes) -> None:
        if self.transport.is_closing():
            return
        self._fed, self._ended, self._heard = len(data), False, True
        super().data_received(data)
        if self._is_socket:
            return  # no request is to come: a deadline for one would cut the socket off
        self._overhead += len(data)
        if not self._complete and self._overhead > HEADER_BYTES:
            self._refuse(431)
        elif self._header_timer is None and (self._in_headers or self._is_idle()):
            self._await_request()

    def is_unheard(self) -> bool:
        return not self._heard and has_arrived(self.transport)

    def _is_idle(self) -> bool:
        """Tell whether no request has begun: empty lines before it are skipped, without end."""
        return self._complete and (self.cycle is None or self.cycle.response_complete)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._complete, self._in_headers = False, True
        self._overhead = -self._fed if self._ended else 0  # what came before is of another message

    def on_headers_complete(self) -> None:
        self._in_headers = False
        self._stop_awaiting_request()
        if len(self.headers) > HEADER_COUNT or self._header_bytes() > HEADER_BYTES:
            self._refusal = 431
            raise ValueError("too many headers")
        if len(self.pipeline) >= PIPELINED_REQUESTS:
            self._refusal = 503
            raise ValueError("too many requests at once")
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self._overhead -= 2 * len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._ended = self._complete = True
        super().on_message_complete()

    def on_response_complete(self) -> None:
        more = bool(self.pipeline)
        super().on_response_complete()
        if not more and not self.transport.is_closing():
            self._heard = not self._complete  # the rest of a body may still come
            self.limits.asking[self] = None

    def send_400_response(self, msg: str) -> None:
        self._refuse(self._refusal)

    def handle_websocket_upgrade(self) -> None:
        self._is_socket = True
        self.transport.set_write_buffer_limits()  # its protocol has limits of its own
        super().handle_websocket_upgrade()

    def _header_bytes(self) -> int:
        if self._overhead + self._fed <= HEADER_BYTES:
            return 0  # as nearly always
        return len(self.url) + sum(len(name) + len(value) + 4 for name, value in self.headers)

    def _refuse(self, status: int) -> None:
        """Answer and close; nothing more is read."""
        self.transport.write(STATUS_LINE[status] + b"content-length: 0\r\nconnection: close\r\n\r\n")
        self.transport.close()

    def _await_request(self) -> None:
        self._stop_awaiting_request()
        self.limits.asking[self] = None
        self._header_timer = self.loop.call_later(self.limits.seconds, self.transport.abort)

    def _stop_awaiting_request(self) -> None:
        self.limits.asking.pop(self, None)
        if self._header_timer is not None:
            self._header_timer.cancel()
            self._header_timer = None

    # what goes out

    def pause_writing(self) -> None:
        super().pause_writing()
        self._stop_awaiting_reader()
        self.limits.unread[self] = None
        patience = self.limits.seconds + self.transport.get_write_buffer_size() / SLOWEST_READER
        self._read_timer = self.loop.call_later(patience, self.transport.abort)
        self.limits.bound_unread(self)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._stop_awaiting_reader()

    def _stop_awaiting_reader(self) -> None:
        self.limits.unread.pop(self, None)
        if self._read_timer is not None:
            self._read_timer.cancel()
            self._read_timer = None


def bounded_protocol(limits: ConnectionLimits) -> type[_BoundedProtocol]:
    """Return the protocol with these limits."""
    return type("BoundedProtocol", (_BoundedProtocol,), {"limits": limits})

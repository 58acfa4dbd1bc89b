"""Connections that wait are taken at once, and a full house is judged fairly."""

from __future__ import annotations

import asyncio
import errno
import gc
import socket
from contextlib import closing, contextmanager

import pytest
from bounded_server import serving, until
from live import PATIENCE

from unseen.serving import accepting, server
from unseen.serving.accepting import Acceptor
from unseen.serving.connection_limits import ConnectionLimits, has_arrived
from unseen.serving.server import listen

uvloop = pytest.importorskip("uvloop", reason="elsewhere asyncio takes all that wait by itself")


class Noting(asyncio.Protocol):
    """A protocol that counts the connections."""

    def __init__(self, made):
        self.made = made

    def connection_made(self, transport):
        self.made.append(transport)


@contextmanager
def waiting(count):
    """A socket that listens, and so many connections that nobody has accepted yet."""
    with closing(listen("127.0.0.1", 0)) as listening:
        plugs = [socket.create_connection(listening.getsockname(), PATIENCE) for _ in range(count)]
        yield listening, plugs
        for plug in plugs:
            plug.close()


def run(scene):
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(scene)


def _free(_):
    return False


def test_a_turn_of_the_loop_takes_all_that_wait():
    """libuv takes one in a turn: whoever asks for /health would wait behind the turns of all others."""

    async def turns(listening, start):
        made, count = [], 0
        stop = await start(listening, lambda: Noting(made))
        while len(made) < 50:
            await asyncio.sleep(0)
            count += 1
        stop()
        for transport in made:
            transport.abort()
        await asyncio.sleep(0)
        return count

    async def ours(listening, protocol):
        return Acceptor(listening, protocol, _free, 1024).stop

    async def of_libuv(listening, protocol):
        return (await asyncio.get_running_loop().create_server(protocol, sock=listening)).close

    counts = {}

    async def scene():
        for start in (of_libuv, ours):
            with waiting(50) as (listening, _):
                counts[start] = await turns(listening, start)

    run(scene())
    assert counts[ours] <= 10
    assert counts[of_libuv] > counts[ours]


def test_what_one_turn_leaves_the_next_takes():
    async def scene():
        made = []
        with waiting(7) as (listening, _):
            acceptor = Acceptor(listening, lambda: Noting(made), _free, 3)
            await until(lambda: len(made) == 7)
            acceptor.stop()

    run(scene())


def test_whoever_must_wait_is_taken_in_a_later_turn():
    async def scene():
        made, late = [], [True]
        with waiting(3) as (listening, _):
            acceptor = Acceptor(listening, lambda: Noting(made), lambda _: late[0], 10)
            for _ in range(20):
                await asyncio.sleep(0)
            assert made == []
            late[0] = False
            await until(lambda: len(made) == 3)
            acceptor.stop()

    run(scene())


def test_without_file_descriptors_it_rests_and_goes_on(monkeypatch, caplog):
    monkeypatch.setattr(accepting, "REST_SECONDS", 0.01)

    class Failing:
        """A socket that cannot accept at first."""

        def __init__(self, listening):
            self._listening, self.failures = listening, [errno.EMFILE, errno.ECONNABORTED, errno.ENFILE]

        def __getattr__(self, name):
            return getattr(self._listening, name)

        def accept(self):
            if self.failures:
                raise OSError(self.failures.pop(0), "for once")
            return self._listening.accept()

    async def scene():
        made = []
        with waiting(2) as (listening, _):
            acceptor = Acceptor(Failing(listening), lambda: Noting(made), _free, 10)
            await until(lambda: len(made) == 2)
            acceptor.stop()

    run(scene())
    assert caplog.text.count("no connection can be accepted now") == 2


# ------------------------------------------------------------------------------ who gives way


class Held:
    """A connection that is awaited; ``unheard`` if its request is there and was not read."""

    def __init__(self, unheard=False):
        self.unheard, self.transport, self.closed = unheard, self, False

    def is_unheard(self):
        return self.unheard

    def abort(self):
        self.closed = True


def _limits(asking, unread=()):
    limits = ConnectionLimits(connections=2)
    limits.asking |= dict.fromkeys(asking)
    limits.unread |= dict.fromkeys(unread)
    return limits


def test_whoever_has_sent_a_request_does_not_give_way():
    sent, silent, young = Held(unheard=True), Held(), Held()
    limits = _limits([sent, silent, young])
    assert limits.make_room()
    assert [held.closed for held in (sent, silent, young)] == [False, True, False]
    assert list(limits.asking) == [young, sent]


def test_if_nobody_is_awaited_the_longest_unread_answer_gives_way():
    first, second = Held(), Held()
    limits = _limits([], [first, second])
    assert limits.make_room()
    assert (first.closed, second.closed) == (True, False)
    assert limits.make_room()
    assert not limits.make_room()


def test_new_ones_wait_only_while_all_requests_are_there_but_not_read():
    sent = Held(unheard=True)
    limits = _limits([sent])
    assert not limits.is_behind(1)
    assert limits.is_behind(2)
    limits.asking[Held()] = None
    assert not limits.is_behind(2), "one can give way"
    assert not _limits([], [Held()]).is_behind(2)


def test_what_has_arrived_is_seen_but_not_taken():
    async def scene():
        made = []
        with waiting(1) as (listening, (plug,)):
            acceptor = Acceptor(listening, lambda: Noting(made), _free, 10)
            await until(lambda: made)
            transport = made[0]
            transport.pause_reading()
            assert not has_arrived(transport)
            plug.sendall(b"GET / HTTP/1.1\r\n")
            await until(lambda: has_arrived(transport))
            assert has_arrived(transport)
            transport.abort()
            assert not has_arrived(transport)
            acceptor.stop()

    run(scene())


ASK = b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 4\r\n\r\n"


@pytest.mark.parametrize(
    ("asked", "begun", "then", "unheard"),
    [
        (b"", b"", ASK, True),
        (b"", b"\r\n", b"\r\n", False),
        (b"", b"POST / HT", b"TP/1.1\r\n", False),
        (ASK + b"body", b"", ASK, True),
        (ASK + b"body", b"\r\n", b"\r\n", False),
        (ASK + b"bo", b"", b"dy", False),
    ],
    ids=["request", "empty lines", "headers", "next request", "empty lines after it", "rest of a body"],
)
def test_only_the_beginning_of_a_request_keeps_a_place(asked, begun, then, unheard):
    """Or else whoever sends something now and then would keep all others out."""

    async def scene():
        limits = ConnectionLimits(seconds=PATIENCE)
        async with serving(limits, 5) as (port, connections):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            await until(lambda: connections)
            (held,) = connections
            if asked:
                writer.write(asked)
                await reader.readuntil(b"\r\n\r\n")
                await until(lambda: held in limits.asking)
                assert held._header_timer is None
            if begun:
                writer.write(begun)
                await until(lambda: held._heard and held._header_timer is not None)
            held.transport.pause_reading()
            writer.write(then)
            await until(lambda: has_arrived(held.transport))
            assert held.is_unheard() is unheard
            writer.close()

    run(scene())


def test_what_is_there_before_the_first_request_is_not_collected_over_and_over(monkeypatch):
    """A full collection over all libraries takes 150 ms, in which nobody is answered."""
    frozen = []
    monkeypatch.setattr(server._Server, "run", lambda *_, **__: frozen.append(gc.get_freeze_count()))
    with closing(listen("127.0.0.1", 0)) as opened:
        server.run(None, opened)
    assert frozen[0] > 10_000
    assert gc.get_freeze_count() == 0

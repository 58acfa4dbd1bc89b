"""What a client may take, before its token and after: connections, headers, memory and time."""

from __future__ import annotations

import asyncio
import signal
import socket
import threading
from contextlib import contextmanager, suppress

import httpx
import numpy as np
import pytest
from bounded_server import serving, until
from live import PATIENCE, eventually, live
from starlette.testclient import TestClient
from toy_models import write_model

from toys import make_toy
from unseen.serving import Limits, Service, connection_limits
from unseen.serving import service as service_module
from unseen.serving.connection_limits import ConnectionLimits
from unseen.serving.gate import Gate
from unseen.serving.memory_budget import MemoryBudget, OverBudget, Share
from unseen.serving.prometheus import Metrics
from unseen.serving.side_thread import LARGE_BYTES, SideThread

ROW = make_toy().X[0].tolist()
HEALTH = b"GET /health HTTP/1.1\r\nhost: localhost\r\n"


@contextmanager
def for_twenty_connections(folder):
    path = write_model(folder / "toy.safetensors")
    with live("serve", path, "--port", "0", "--max-connections", "20") as service:
        yield service
        assert service.stop() == 0


@pytest.fixture(scope="module")
def narrow(tmp_path_factory):
    with for_twenty_connections(tmp_path_factory.mktemp("narrow")) as service:
        yield service


def _ask(service, data):
    """Send all, or as much as is taken; return all that comes back until the other side closes."""
    with socket.create_connection(("127.0.0.1", service.port), timeout=PATIENCE) as plug:
        answer = b""
        with suppress(ConnectionError):
            plug.sendall(data)
        with suppress(ConnectionError):
            while part := plug.recv(65536):
                answer += part
        return answer


def _is_healthy(service):
    return httpx.get(f"{service.url}/health", timeout=PATIENCE).json()["status"] == "ok"


# ------------------------------------------------------------------------------ headers


@pytest.mark.parametrize(
    "flood",
    [
        HEALTH + b"x: " + b"a" * 10**6,
        HEALTH + b"x: y\r\n" * 10**5,
        HEALTH + b"x: y\r\n" * 101 + b"connection: close\r\n\r\n",
        b"GET /" + b"a" * 10**6,
        HEALTH + b"x" * 10**6 + b": y\r\n\r\n",
    ],
    ids=["one header", "many headers", "101 headers", "path", "name"],
)
def test_headers_without_end_are_refused(served, flood):
    answer = _ask(served, flood)
    assert answer == b"" or answer.startswith((b"HTTP/1.1 431 ", b"HTTP/1.1 400 "))
    assert _is_healthy(served)


def test_trailers_without_end_are_refused(served):
    head = b"POST /predict HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n"
    answer = _ask(served, head + b"1\r\n{\r\n0\r\n" + b"x: y\r\n" * 10**5)
    assert answer == b"" or answer.startswith(b"HTTP/1.1 431 ")
    assert _is_healthy(served)


def test_headers_within_the_limits_are_taken(served):
    more = b"".join(b"x%d: %s\r\n" % (i, b"y" * 120) for i in range(90))
    assert _ask(served, HEALTH + more + b"connection: close\r\n\r\n").startswith(b"HTTP/1.1 200 ")


def test_requests_in_one_piece_are_answered_in_turn_and_bounded(served):
    few = _ask(served, (HEALTH + b"\r\n") * 9 + HEALTH + b"connection: close\r\n\r\n")
    assert few.count(b"HTTP/1.1 200 ") == 10
    many = _ask(served, (HEALTH + b"\r\n") * 2000)
    assert many.count(b"HTTP/1.1 200 ") < 100
    assert _is_healthy(served)


def test_a_body_after_a_body_is_not_taken_for_headers(served):
    """The rest of one message and the beginning of the next come in one piece."""
    body = b" " * 50_000
    head = b"POST /predict HTTP/1.1\r\nhost: localhost\r\ncontent-length: 50000\r\n"
    data = (head + b"\r\n" + body) * 3 + HEALTH + b"connection: close\r\n\r\n"
    answer = _ask(served, data)
    assert answer.count(b"HTTP/1.1 415 ") == 3
    assert answer.count(b"HTTP/1.1 200 ") == 1


def test_nothing_is_read_where_nothing_is_needed(served):
    """A body for /health would be memory before the token."""
    head = HEALTH + b"content-length: 1000\r\nconnection: close\r\n\r\n"
    assert _ask(served, head + b" " * 1000).startswith(b"HTTP/1.1 413 ")


# ------------------------------------------------------------------------------ connections


def test_connections_that_ask_nothing_give_way(narrow):
    idle = [socket.create_connection(("127.0.0.1", narrow.port), timeout=PATIENCE) for _ in range(60)]
    try:
        assert _is_healthy(narrow)
        gone = 0
        for plug in idle[:30]:  # the oldest
            with suppress(ConnectionError):
                assert plug.recv(1) == b""
            gone += 1
        assert gone == 30
        assert _is_healthy(narrow)
    finally:
        for plug in idle:
            plug.close()


def test_where_all_are_busy_a_new_one_is_refused():
    limits = ConnectionLimits(connections=3)
    assert not limits.make_room()


UPGRADE = (
    b"GET / HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: websocket\r\n"
    b"sec-websocket-version: 13\r\nsec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
)


def test_a_web_socket_is_not_a_connection_whose_request_is_awaited():
    """It has no deadline and does not give way: the studio's page lost a click every ten seconds."""

    async def scene():
        limits = ConnectionLimits(seconds=PATIENCE)
        async with serving(limits, 0) as (port, connections):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            await until(lambda: limits.asking)
            (held,) = limits.asking
            writer.write(UPGRADE)
            assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 101")
            assert held._header_timer is None
            assert not limits.make_room()
            (kept,) = connections
            assert not kept.transport.is_closing()
            writer.close()
            await until(lambda: not connections)

    asyncio.run(scene())


def test_file_descriptors_do_not_run_out(tmp_path):
    few = "import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (160, 160))\n"
    path = write_model(tmp_path / "toy.safetensors")
    with live("serve", path, "--port", "0", before=few) as service:
        idle = [socket.create_connection(("127.0.0.1", service.port)) for _ in range(300)]
        try:
            assert _is_healthy(service)
            answer = httpx.post(
                f"{service.url}/classes", json={"name": "owl", "vector": [0.5] * 8}, timeout=PATIENCE
            )
            assert answer.status_code == 201, "files can be opened, too"
        finally:
            for plug in idle:
                plug.close()
        assert service.stop() == 0


# ------------------------------------------------------------------------------ slow readers


def test_answers_that_nobody_reads_are_bounded_in_all(monkeypatch):
    """Those that have not read for longest give way; whoever reads has the answer."""
    monkeypatch.setattr(connection_limits, "UNREAD_BYTES", 40 * 2**20)
    size = 16 * 2**20

    async def scene():
        limits = ConnectionLimits(seconds=PATIENCE)
        async with serving(limits, size) as (port, connections):
            slow = []
            for number in range(8):
                reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1024)
                slow.append((reader, writer))
                writer.transport.pause_reading()
                writer.write(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n")
                await until(lambda number=number: len(limits.unread) >= min(number + 1, 2))
            held = sum(c.transport.get_write_buffer_size() for c in connections)
            assert held <= 40 * 2**20
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(b"GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")
            assert len(await reader.read(-1)) > size
            for _, writer in slow:
                writer.transport.abort()

    asyncio.run(scene())


def test_a_client_that_does_not_read_is_cut_off():
    async def scene():
        async with serving(ConnectionLimits(seconds=0.1), 2**20 * 16) as (port, connections):
            _, writer = await asyncio.open_connection("127.0.0.1", port, limit=1024)
            writer.transport.pause_reading()
            writer.write(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n")
            await until(lambda: connections)
            await until(lambda: not connections)
            writer.transport.abort()

    saved, connection_limits.SLOWEST_READER = connection_limits.SLOWEST_READER, 10**12
    try:
        asyncio.run(scene())
    finally:
        connection_limits.SLOWEST_READER = saved


# ------------------------------------------------------------------------------ memory


def test_a_share_is_refused_only_while_others_hold_something():
    budget = MemoryBudget(100)
    with Share(budget) as one:
        one.add(150)
        with Share(budget) as other:
            with pytest.raises(OverBudget):
                other.add(1)
            other.add(0)
        one.add(50)
    assert budget.taken == 0


def test_bodies_in_all_have_a_budget():
    """While one body is held, a second that does not fit beside it is told to come again."""

    async def scene():
        release = asyncio.Event()

        async def slow(scope, receive, send):
            await release.wait()
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body", "body": b""})

        async def ask(size):
            sent = []

            async def receive():
                return {"type": "http.request", "body": bytes(size), "more_body": False}

            async def send(message):
                sent.append(message)

            scope = {"type": "http", "method": "POST", "path": "/predict", "headers": []}
            await gate(scope, receive, send)
            return sent[0]

        budget, metrics = MemoryBudget(1000), Metrics()
        gate = Gate(slow, Limits(), metrics, budget, ["/predict"])
        first = asyncio.create_task(ask(800))
        await asyncio.sleep(0)
        refused = await ask(800)
        assert refused["status"] == 503
        assert (b"retry-after", b"1") in refused["headers"]
        small = asyncio.create_task(ask(100))
        await asyncio.sleep(0)
        assert budget.taken == 900
        release.set()
        assert (await first)["status"] == (await small)["status"] == 200
        assert budget.taken == 0
        assert (await ask(5000))["status"] == 200, "alone, it may take more"
        assert 'unseen_refused_total{reason="memory"} 1' in metrics.text()

    asyncio.run(scene())


def test_answers_count_in_the_budget(model_file):
    """A small body may ask for a large answer: it is refused before the answer is made."""
    service = Service(model_file, Limits(memory=1000))
    with TestClient(service.app) as client:
        alone = client.post("/predict", json={"features": [ROW] * 4})
        assert alone.status_code == 200
        with Share(service.budget) as other:
            other.add(1)
            refused = client.post("/predict", json={"features": [ROW] * 4})
            assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
        assert service.budget.taken == 0


def test_more_values_than_any_request_needs_are_refused_unparsed(model_file):
    with TestClient(Service(model_file, Limits(rows=10)).app) as client:
        body = b'{"features": [[' + b"1," * 20_000 + b"1]]}"
        answer = client.post("/predict", content=body, headers={"content-type": "application/json"})
    assert answer.status_code == 422
    assert answer.json()["detail"] == "The body has more than 10,000 values. Send fewer rows at a time."


def test_large_bodies_do_not_stop_the_others(model_file, monkeypatch):
    """While a large body is parsed, which is held up here, /health answers."""
    parsing, go_on = threading.Event(), threading.Event()
    parse = service_module.parse_json

    def held(body, *more):
        if len(body) > 10**5:
            parsing.set()
            assert go_on.wait(PATIENCE)
        return parse(body, *more)

    monkeypatch.setattr(service_module, "parse_json", held)
    rows = np.tile(make_toy().X, (20, 1))[:2000].tolist()
    with TestClient(Service(model_file).app) as client:
        answers = []
        asking = threading.Thread(
            target=lambda: answers.append(client.post("/predict", json={"features": rows}))
        )
        asking.start()
        assert parsing.wait(PATIENCE)
        assert client.get("/health").json()["status"] == "ok"
        assert client.post("/predict", json={"features": [ROW]}).status_code == 200
        assert answers == []
        go_on.set()
        asking.join(PATIENCE)
    assert answers[0].status_code == 200
    assert len(answers[0].json()["labels"]) == len(rows)


# ------------------------------------------------------------------------------ the end


STUCK = """
import threading
from unseen.serving import keeper, server
keeper.Keeper.add = lambda self, new: threading.Event().wait()
server.GRACE, server.LAST_SECONDS = 1, 1
"""


def test_work_that_nobody_waits_for_any_more_is_not_done():
    """At the end, bodies that wait to be parsed would keep the process for longer than its grace."""
    begun, go_on, done = threading.Event(), threading.Event(), []

    def held():
        begun.set()
        assert go_on.wait(PATIENCE)
        done.append("first")

    async def scene():
        aside = SideThread()
        jobs = [asyncio.create_task(aside.run(LARGE_BYTES, held))]
        jobs += [
            asyncio.create_task(aside.run(LARGE_BYTES, done.append, n)) for n in ("second", "third")
        ]
        await until(begun.is_set)
        jobs[1].cancel()
        await asyncio.gather(jobs[1], return_exceptions=True)
        go_on.set()
        await asyncio.gather(jobs[0], jobs[2])
        aside.stop()

    asyncio.run(scene())
    assert done == ["first", "third"]


EARLY = """
import signal
from unseen.serving import server
run = server._Server.run

def run_after_a_signal(self, sockets):
    signal.raise_signal(signal.SIGTERM)
    run(self, sockets)

server._Server.run = run_after_a_signal
"""


def test_a_signal_that_comes_before_it_listens_to_signals_ends_it(model_file):
    with live("serve", model_file, "--port", "0", before=EARLY) as service:
        assert service.process.wait(PATIENCE) == 0


def test_a_signal_ends_it_even_if_a_thread_is_stuck(model_file):
    with live("serve", model_file, "--port", "0", before=STUCK) as service:

        def add():
            with suppress(httpx.HTTPError):
                httpx.post(
                    f"{service.url}/classes", json={"name": "owl", "vector": [0] * 8}, timeout=PATIENCE
                )

        asking = threading.Thread(target=add)
        asking.start()
        with httpx.Client(base_url=service.url, timeout=PATIENCE) as client:
            busy = "unseen_requests_in_progress 1"
            assert eventually(lambda: busy in client.get("/metrics").text)
        assert service.stop(signal.SIGTERM) == 1
        asking.join(PATIENCE)


def test_a_signal_ends_it_beside_clients_that_do_not_read(tmp_path):
    """Connections are open and say nothing. The service is its own: nobody asks it afterwards."""
    with for_twenty_connections(tmp_path) as service:
        assert _is_healthy(service)
        idle = [socket.create_connection(("127.0.0.1", service.port)) for _ in range(10)]
        assert service.stop() == 0
        for plug in idle:
            plug.close()

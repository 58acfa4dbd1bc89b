"""Requests that mean harm, to a service in a process of its own; it stays healthy."""

from __future__ import annotations

import json
import re
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from live import PATIENCE, eventually
from schemathesis import GenerationMode
from schemathesis.checks import CHECKS

from toys import make_toy

ROW = make_toy().X[0].tolist()
JSON = {"content-type": "application/json"}


@pytest.fixture(scope="module")
def client(served):
    with httpx.Client(base_url=served.url, timeout=PATIENCE) as found:
        yield found


@pytest.fixture(autouse=True)
def _healthy(served, client):
    yield
    assert served.process.poll() is None
    assert client.get("/health").json()["status"] == "ok"
    assert client.post("/predict", json={"features": [ROW]}).status_code == 200


OPERATIONS = [
    ("POST", "/predict"),
    ("GET", "/classes"),
    ("POST", "/classes"),
    ("DELETE", "/classes/{name}"),
    ("GET", "/health"),
    ("GET", "/metrics"),
]


@pytest.fixture(scope="module")
def description(served):
    # A body that breaks the description may be too large, too: 413 refuses it as well as 422.
    refused = {"negative_data_rejection": {"expected-statuses": ["4xx"]}}
    config = schemathesis.Config.from_dict({"checks": refused})
    found = schemathesis.openapi.from_url(f"{served.url}/openapi.json", config=config)
    operations = {(o.ok().method.upper(), o.ok().path): o.ok() for o in found.get_all_operations()}
    assert list(operations) == OPERATIONS
    return operations


@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE], ids=str)
@pytest.mark.parametrize("operation", OPERATIONS, ids=" ".join)
def test_requests_made_from_the_description(description, operation, mode):
    """Schemathesis makes requests that follow the description, or break it, and checks the answers."""
    if mode is GenerationMode.NEGATIVE and operation[0] != "POST":
        mode = GenerationMode.POSITIVE  # without a body, there is nothing to break
    # The description cannot say that a class is new or that attributes are those of the model, so a
    # body that follows it may be refused.
    skipped = CHECKS.get_by_names(["positive_data_acceptance"])

    @settings(max_examples=25, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(case=description[operation].as_strategy(generation_mode=mode))
    def ask(case):
        case.call_and_validate(excluded_checks=skipped, timeout=PATIENCE)

    ask()


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"", "Invalid JSON"),
        (b"{", "Invalid JSON"),
        (b"\xff\xfe", "Invalid JSON"),
        (b"null", "object"),
        (b"[]", "object"),
        (b'"features"', "object"),
        (b"{}", "Give one of"),
        (b'{"features": null}', "Give one of"),
        (b'{"features": []}', "send 1 to 32"),
        (b'{"features": [[]]}', "Row 0 has 0 numbers, but the model takes 20"),
        (b'{"features": [[1, 2]]}', "Row 0 has 2 numbers, but the model takes 20"),
        (b'{"features": [1, 2]}', "features.0"),
        (b'{"features": {"0": [1]}}', "valid array"),
        (b'{"features": [["1"]]}', "valid number"),
        (b'{"features": [[true]]}', "valid number"),
        (b'{"features": [[null]]}', "valid number"),
        (b'{"features": [[' + b",".join([b"NaN"] * 20) + b"]]}", "Row 0, column 0 is NaN"),
        (b'{"features": [[' + b",".join([b"1e999"] * 20) + b"]]}", "Row 0, column 0 is NaN or inf"),
        (b'{"features": [[' + b",".join([b"-Infinity"] * 20) + b"]]}", "Row 0, column 0"),
        (b'{"features": ' + json.dumps([ROW] * 33).encode() + b"}", "33 rows; send 1 to 32"),
        (b'{"features": ' + b"[" * 20_000 + b"]" * 20_000 + b"}", "recursion limit"),
        (b'{"a":' * 9_000 + b"1" + b"}" * 9_000, "recursion limit"),
        (b'{"features": [[1]], "path": "/etc/passwd"}', "Extra inputs"),
    ],
)
def test_bodies_that_say_nothing_useful(client, body, message):
    answer = client.post("/predict", content=body, headers=JSON)
    assert answer.status_code == 422
    assert message in answer.json()["detail"]
    assert len(answer.content) < 1000, "what was sent is not sent back"


@pytest.mark.parametrize("kind", ["text/plain", "multipart/form-data", "application/xml", ""])
def test_content_types(client, kind):
    headers = {"content-type": kind} if kind else {}
    answer = client.post("/predict", content=b'{"features": []}', headers=headers)
    assert answer.status_code == 415


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/../etc/passwd", 404),
        ("/classes/../../etc/passwd", 405),
        ("/classes/..%2f..%2fetc%2fpasswd", 405),
        ("//etc/passwd", 404),
        ("/classes/", 405),
        ("/predict%00", 404),
        ("/%2e%2e/%2e%2e/", 404),
        ("/docs", 404),
        ("/" + "a" * 5000, 404),
        ("/predict", 405),
        ("/health?x=" + "y" * 5000, 200),
    ],
)
def test_paths(served, path, status):
    answer = _raw(
        served, f"GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n".encode()
    )
    assert answer.startswith(f"HTTP/1.1 {status} ".encode())


def _refused_bodies(client):
    found = re.search(r'unseen_refused_total{reason="body"} (\d+)', client.get("/metrics").text)
    return int(found[1]) if found else 0


def test_bodies_that_are_too_large(served, client):
    before = _refused_bodies(client)
    answer = client.post("/predict", content=b"x" * 60_001, headers=JSON)
    assert (answer.status_code, "60,000 bytes" in answer.json()["detail"]) == (413, True)

    def endless():
        while True:
            yield b" " * 10_000

    try:
        chunked = client.post("/predict", content=endless(), headers=JSON)
        assert chunked.status_code == 413
    except (httpx.NetworkError, httpx.RemoteProtocolError):
        pass  # it answered and closed while we were still sending
    head = "POST /predict HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
    claimed = f"{head}content-length: {10**15}\r\n\r\n".encode()
    assert _raw(served, claimed).startswith(b"HTTP/1.1 413 ")
    chunk = b"4000\r\n" + b" " * 0x4000 + b"\r\n"
    unbounded = f"{head}transfer-encoding: chunked\r\n\r\n".encode() + 5 * chunk
    assert _raw(served, unbounded).startswith(b"HTTP/1.1 413 ")
    assert _refused_bodies(client) == before + 4


def test_slow_bodies_and_headers_time_out(impatient):
    head = b"POST /predict HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
    with ThreadPoolExecutor(3) as pool:
        body = pool.submit(_drip, impatient, head + b"content-length: 500\r\n\r\n", b"1")
        headers = pool.submit(_drip, impatient, b"POST /predict HTTP/1.1\r\n", b"x")
        nothing = pool.submit(_drip, impatient, b"", b"")
    assert body.result().startswith(b"HTTP/1.1 408 ")
    assert headers.result() == b"", "the connection is closed"
    assert nothing.result() == b"", "so is one that says nothing"
    assert eventually(lambda: _predicts(impatient))


def test_what_is_not_http(impatient):
    for data in (b"\x16\x03\x01\x02\x00\x01\x00", b"GET\r\n\r\n", b"\x00" * 1000, b"A" * 100_000):
        answer = _raw(impatient, data)
        assert answer == b"" or answer.startswith(b"HTTP/1.1 400 ")
    assert eventually(lambda: _predicts(impatient))


def test_clients_that_go_away(served, client):
    for _ in range(20):
        with socket.create_connection(("127.0.0.1", served.port)) as plug:
            plug.sendall(b"POST /predict HTTP/1.1\r\nhost: localhost\r\ncontent-length: 100\r\n\r\n{")
    assert eventually(lambda: "unseen_requests_in_progress 0" in client.get("/metrics").text)


def test_many_clients_get_answers_or_503(served):
    """The load check without a stop-watch; benchmarks/serving.py has the figures."""

    def one(number):
        with httpx.Client(base_url=served.url, timeout=PATIENCE) as client:
            return [client.post("/predict", json={"features": [ROW] * 4}).status_code for _ in range(5)]

    with ThreadPoolExecutor(40) as pool:
        statuses = [status for found in pool.map(one, range(40)) for status in found]
    assert set(statuses) <= {200, 503}
    assert statuses.count(200) > 0


def _predicts(served) -> bool:
    body = {"features": [ROW]}
    return httpx.post(f"{served.url}/predict", json=body, timeout=PATIENCE).status_code == 200


def _raw(served, data: bytes) -> bytes:
    with socket.create_connection(("127.0.0.1", served.port), timeout=PATIENCE) as plug:
        with suppress(ConnectionError):  # it may have answered and closed before all was sent
            plug.sendall(data)
        try:
            return plug.recv(65536)
        except ConnectionError:
            return b""


def _drip(served, head: bytes, drop: bytes) -> bytes:
    """Send a byte now and then, and return what comes back."""
    with socket.create_connection(("127.0.0.1", served.port), timeout=0.2) as plug:
        plug.sendall(head)
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            try:
                return plug.recv(65536)
            except TimeoutError:
                if drop:
                    plug.sendall(drop)
            except (ConnectionResetError, BrokenPipeError):
                return b""
    return b"it waited on"

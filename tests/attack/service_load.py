"""Clients beside attackers: 200 clients, slow readers, header floods and silent connections at once.

    python tests/attack/service_load.py --seconds 60

Three processes: the service; the probe, which asks for ``/health`` over a new connection twice a second
and reads the memory of the service; and all that comes at it, with a lower priority, so that the probe
waits for the service and not for its turn beside the attackers. Beside it stands what the service says
of itself in ``/metrics``: how long ``/health`` took from its first byte on, and how late the event loop
was; and how much processor time it had, which is little if other work shares the machine.
Everything stays on 127.0.0.1.
"""

from __future__ import annotations

import argparse
import asyncio
import collections
import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent / "serving")]

PROBE_EVERY_SECONDS = 0.5
ATTACKERS_NICENESS = 5


def request(body: dict[str, Any], path: str = "/predict") -> bytes:
    """Return a request as bytes."""
    data = json.dumps(body).encode()
    head = f"POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
    return f"{head}content-length: {len(data)}\r\n\r\n".encode() + data


class Load:
    """All that comes at a service for some time."""

    def __init__(self, port: int, seconds: float, rows: list[list[float]]) -> None:
        self.port, self.end = port, time.monotonic() + seconds
        self.statuses: collections.Counter[int] = collections.Counter()
        self.times: list[float] = []
        self.attacks: collections.Counter[str] = collections.Counter()
        self.small = request({"features": rows[:4]})
        self.large = request({"features": (rows * 4096)[:4096]})

    async def client(self) -> None:
        """Ask again and again, over a new connection if the old one is closed."""
        while time.monotonic() < self.end:
            with suppress(OSError, asyncio.IncompleteReadError):
                reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
                while time.monotonic() < self.end:
                    begin = time.monotonic()
                    writer.write(self.small)
                    head = await reader.readuntil(b"\r\n\r\n")
                    length = re.search(rb"content-length: (\d+)", head, re.I)
                    await reader.readexactly(int(length[1]) if length else 0)
                    self.times.append(time.monotonic() - begin)
                    self.statuses[int(head[9:12])] += 1
                writer.close()
            self.attacks["reconnects of clients"] += 1

    async def slow_reader(self) -> None:
        """Ask for a large answer and do not read it."""
        while time.monotonic() < self.end:
            with suppress(OSError):
                plug = socket.socket()
                plug.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
                plug.setblocking(False)
                loop = asyncio.get_running_loop()
                await loop.sock_connect(plug, ("127.0.0.1", self.port))
                _, writer = await asyncio.open_connection(sock=plug, limit=1024)
                writer.transport.pause_reading()  # type: ignore[attr-defined]
                writer.write(self.large)
                self.attacks["answers that are not read"] += 1
                await asyncio.sleep(min(15.0, max(self.end - time.monotonic(), 0)))
                writer.transport.abort()

    async def header_flood(self) -> None:
        """Send headers without end."""
        part = b"x: " + b"a" * 60_000 + b"\r\n"
        while time.monotonic() < self.end:
            with suppress(OSError):
                _, writer = await asyncio.open_connection("127.0.0.1", self.port)
                writer.write(b"GET / HTTP/1.1\r\nhost: localhost\r\n")
                while time.monotonic() < self.end:
                    writer.write(part)
                    await writer.drain()
                    self.attacks["parts of headers"] += 1
                    await asyncio.sleep(0.001)
            await asyncio.sleep(0.05)

    async def silent(self) -> None:
        """Open a connection and say nothing."""
        while time.monotonic() < self.end:
            with suppress(OSError):
                reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
                self.attacks["silent connections"] += 1
                with suppress(TimeoutError):
                    await asyncio.wait_for(reader.read(1), 5)
                writer.close()
            await asyncio.sleep(0.2)

    async def run(self, clients: int, attackers: bool) -> None:
        """Send everything at once."""
        jobs = [self.client() for _ in range(clients)]
        if attackers:
            jobs += [self.slow_reader() for _ in range(300)]
            jobs += [self.header_flood() for _ in range(8)]
            jobs += [self.silent() for _ in range(200)]
        await asyncio.gather(*jobs)


def load(port: int, seconds: float, clients: int, attackers: bool) -> dict[str, Any]:
    """Come at a service, and return what its clients saw."""
    import numpy as np

    from toys import make_toy

    rows = make_toy().X[:8].round(3).tolist()
    coming = Load(port, seconds, rows)
    asyncio.run(coming.run(clients, attackers))
    p50, p99 = np.percentile(coming.times, [50, 99]) if coming.times else (float("nan"),) * 2
    return {
        "requests a second": round(len(coming.times) / seconds, 1),
        "p50": round(float(p50), 3),
        "p99": round(float(p99), 3),
        "statuses": dict(coming.statuses),
        "attacks": dict(coming.attacks),
    }


def probe(port: int, pid: int, seconds: float) -> dict[str, Any]:
    """Ask for ``/health`` again and again, and return how long it took and what the service held."""
    import http.client
    import statistics

    def memory() -> float:
        text = Path(f"/proc/{pid}/status").read_text()
        return int(text.split("VmRSS:")[1].split()[0]) / 1024

    def processor() -> float:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    spent = processor()
    end = time.monotonic() + seconds
    first, most, overslept = memory(), 0.0, 0.0
    times: list[float] = []
    failures: list[str] = []
    while time.monotonic() < end:
        begin = time.monotonic()
        try:
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
            connection.request("GET", "/health")
            status = connection.getresponse().status
            connection.close()
            times.append(time.monotonic() - begin)
            if status != 200:
                failures.append(f"status {status}")
        except (OSError, http.client.HTTPException) as error:
            failures.append(repr(error))
        most = max(most, memory())
        begin = time.monotonic()
        time.sleep(PROBE_EVERY_SECONDS)
        overslept = max(overslept, time.monotonic() - begin - PROBE_EVERY_SECONDS)
    return {
        "health, worst": round(max(times), 3),
        "health, median": round(statistics.median(times), 3),
        "health, asked": len(times),
        "health, failed": failures,
        "the probe's own worst delay": round(overslept, 3),
        "service: share of a processor": round((processor() - spent) / seconds, 2),
        "memory before, MB": round(first),
        "memory growth, MB": round(most - first),
    }


def own_figures(url: str) -> dict[str, Any]:
    """Return what the service noted of itself: the bounds below which its slowest cases lay."""
    import httpx

    text = httpx.get(f"{url}/metrics", timeout=20).text
    return {
        "service: /health, at most": _bound(text, "unseen_request_seconds", 'path="/health",'),
        "service: loop late by, at most": _bound(text, "unseen_loop_delay_seconds", ""),
    }


def _bound(text: str, name: str, labels: str) -> str:
    """Return the least bound of a histogram below which everything lies."""
    buckets = re.findall(rf'^{name}_bucket{{{labels}le="([^"]+)"}} (\d+)$', text, re.M)
    return next(bound for bound, count in buckets if count == buckets[-1][1])


def attack(seconds: float, clients: int = 200, attackers: bool = True) -> dict[str, Any]:
    """Serve a small model, attack it, and return what was measured."""
    from live import live
    from toy_models import write_model

    def begin(*arguments: object) -> subprocess.Popen[str]:
        command = [sys.executable, __file__, *map(str, arguments)]
        return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)

    def figures(process: subprocess.Popen[str]) -> dict[str, Any]:
        shown, _ = process.communicate()
        assert process.returncode == 0, process.args
        return dict(json.loads(shown))

    with tempfile.TemporaryDirectory() as folder:
        path = write_model(Path(folder) / "toy.safetensors")
        with live("serve", path, "--port", "0") as service:
            load(service.port, 2, 10, False)  # warm
            asking = ["--port", service.port, "--seconds", seconds, "--clients", clients]
            coming = begin(*asking, *(["--alone"] if not attackers else []))
            probing = begin(*asking, "--probe", service.process.pid)
            found = figures(coming) | figures(probing) | own_figures(service.url)
            stopping = time.monotonic()
            code = service.stop()
    return found | {"exit code": code, "seconds to stop": round(time.monotonic() - stopping, 1)}


def main() -> None:
    """Attack, and print what was measured."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--clients", type=int, default=200)
    parser.add_argument("--alone", action="store_true", help="clients without attackers")
    parser.add_argument("--port", type=int, help="of a service that runs; print one line")
    parser.add_argument("--probe", type=int, help="only ask for /health; the id of its process")
    options = parser.parse_args()
    if options.port is None:
        found = attack(options.seconds, options.clients, not options.alone)
        sys.stdout.write(json.dumps(found, indent=2) + "\n")
    elif options.probe:
        sys.stdout.write(json.dumps(probe(options.port, options.probe, options.seconds)))
    else:
        os.nice(ATTACKERS_NICENESS)
        shown = load(options.port, options.seconds, options.clients, not options.alone)
        sys.stdout.write(json.dumps(shown))


if __name__ == "__main__":
    main()

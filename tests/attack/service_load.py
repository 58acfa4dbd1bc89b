"""Clients beside attackers: 200 clients, slow readers, header floods and silent connections at once.

    python tests/attack/service_load.py --seconds 60

A process of its own asks ``/health`` over a new connection twice a second and reads the memory of the
service. Everything stays on 127.0.0.1.
"""

from __future__ import annotations

import argparse
import asyncio
import collections
import json
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

PROBE = """
import http.client, json, sys, time
port, pid, end = int(sys.argv[1]), sys.argv[2], time.monotonic() + float(sys.argv[3])
def memory():
    text = open(f"/proc/{pid}/status").read()
    return int(text.split("VmRSS:")[1].split()[0]) / 1024
first, times, most, failures = memory(), [], 0, 0
while time.monotonic() < end:
    begin = time.monotonic()
    try:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
        connection.request("GET", "/health")
        assert connection.getresponse().status == 200
        connection.close()
        times.append(time.monotonic() - begin)
    except (OSError, http.client.HTTPException, AssertionError):
        failures += 1
    most = max(most, memory())
    time.sleep(0.5)
print(json.dumps({"health": times, "failures": failures, "first": first, "most": most}))
"""


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


def attack(seconds: float, clients: int = 200, attackers: bool = True) -> dict[str, Any]:
    """Serve a small model, attack it, and return what was measured."""
    import numpy as np
    from live import live
    from toy_models import write_model

    from toys import make_toy

    with tempfile.TemporaryDirectory() as folder:
        path = write_model(Path(folder) / "toy.safetensors")
        with live("serve", path, "--port", "0") as service:
            rows = make_toy().X[:8].round(3).tolist()
            asyncio.run(Load(service.port, 2, rows).run(10, False))  # warm
            command = [sys.executable, "-c", PROBE, str(service.port), str(service.process.pid)]
            probe = subprocess.Popen([*command, str(seconds)], stdout=subprocess.PIPE, text=True)
            load = Load(service.port, seconds, rows)
            asyncio.run(load.run(clients, attackers))
            probed = json.loads(probe.communicate()[0])
            begin = time.monotonic()
            code = service.stop()
            stopped = time.monotonic() - begin
    p50, p99 = np.percentile(load.times, [50, 99]) if load.times else (float("nan"),) * 2
    return {
        "requests a second": round(len(load.times) / seconds, 1),
        "p50": round(float(p50), 3),
        "p99": round(float(p99), 3),
        "statuses": dict(load.statuses),
        "attacks": dict(load.attacks),
        "health, worst": round(max(probed["health"]), 3),
        "health, median": round(float(np.median(probed["health"])), 3),
        "health, asked": len(probed["health"]),
        "health, failed": probed["failures"],
        "memory before, MB": round(probed["first"]),
        "memory growth, MB": round(probed["most"] - probed["first"]),
        "exit code": code,
        "seconds to stop": round(stopped, 1),
    }


def main() -> None:
    """Attack, and print what was measured."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--clients", type=int, default=200)
    parser.add_argument("--alone", action="store_true", help="clients without attackers")
    options = parser.parse_args()
    found = attack(options.seconds, options.clients, not options.alone)
    sys.stdout.write(json.dumps(found, indent=2) + "\n")


if __name__ == "__main__":
    main()

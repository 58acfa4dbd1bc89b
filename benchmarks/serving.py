"""Throughput of ``unseen serve`` as a ratio to FastAPI endpoints that only parse the same body.

    python benchmarks/serving.py [--clients 200] [--seconds 30] [--compare REV]

In the same run, by turns: the service; an endpoint whose body FastAPI reads into a Pydantic model, the
usual way to write one; and one that calls ``json.loads`` and nothing else. Clients live in one other
process with raw sockets, each of which sends its next request when the last is answered. Reported are
requests a second, the 50th and 99th percentile, the statuses, and the processor time that the server
spent on each request (clients share the machine, and would hide a slow server). No error other than 503
is permitted.

With ``--compare`` the other side is the service of another revision, in ten turns; the ratio is that of
requests a second of the server's processor, with the least and the largest of the turns.
"""

from __future__ import annotations

import argparse
import asyncio
import collections
import io
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

SOURCE = Path(__file__).parents[1] / "src"
ROWS = 4
MANY_ROWS = 1000
TURNS = 10
FIT = """
import sys
from unseen import SelfPacedPrototypes
from unseen.datasets import load_letters_to_digits
data = load_letters_to_digits()
SelfPacedPrototypes(data.semantics).fit(*data.transductive()).save(sys.argv[1])
"""
BARE = """
import json, sys
from fastapi import FastAPI, Request
from pydantic import BaseModel
from unseen.serving.server import address, listen, run

class Body(BaseModel):
    features: list[list[float]]

app = FastAPI()

@app.post("/typed")
async def typed(body: Body):
    return {"rows": len(body.features)}

@app.post("/plain")
async def plain(request: Request):
    return {"rows": len(json.loads(await request.body())["features"])}

opened = listen("127.0.0.1", 0)
print(f"serving on {address(opened)};", flush=True)
run(app, opened)
"""


def start(*command: str, source: Path = SOURCE) -> tuple[subprocess.Popen[str], int]:
    """Start a server, of this source or another; return it and its port."""
    environment = os.environ | {"PYTHONPATH": str(source)}
    process = subprocess.Popen(
        [sys.executable, *command], stdout=subprocess.PIPE, text=True, env=environment
    )
    assert process.stdout is not None
    for line in process.stdout:
        found = re.search(r"on http://127\.0\.0\.1:(\d+);", line)
        if found:
            return process, int(found[1])
    raise SystemExit("the server did not start")


async def client(
    port: int, request: bytes, end: float, times: list[float], statuses: collections.Counter[int]
) -> None:
    """Ask again and again until the time is over."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    while time.perf_counter() < end:
        begin = time.perf_counter()
        writer.write(request)
        head = await reader.readuntil(b"\r\n\r\n")
        length = int(re.search(rb"content-length: (\d+)", head, re.I)[1])  # type: ignore[index]
        await reader.readexactly(length)
        times.append(time.perf_counter() - begin)
        statuses[int(head[9:12])] += 1
    writer.close()


async def measure(
    port: int, path: str, body: bytes, clients: int, seconds: float, kind: str = "application/json"
) -> dict[str, Any]:
    """Return throughput, percentiles and statuses."""
    head = f"POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: {kind}\r\n"
    request = f"{head}content-length: {len(body)}\r\n\r\n".encode() + body
    times: list[float] = []
    statuses: collections.Counter[int] = collections.Counter()
    begin = time.perf_counter()
    await asyncio.gather(
        *(client(port, request, begin + seconds, times, statuses) for _ in range(clients))
    )
    took = time.perf_counter() - begin
    p50, p99 = np.percentile(times, [50, 99])
    return {"a second": len(times) / took, "p50": p50, "p99": p99, "statuses": dict(statuses)}


def processor_seconds(process: subprocess.Popen[str]) -> float:
    """Return the processor time of a process so far (Linux); NaN elsewhere."""
    stat = Path(f"/proc/{process.pid}/stat")
    if not stat.exists():
        return float("nan")
    fields = stat.read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def compared_bodies(service: subprocess.Popen[str], port: int, X: Any, seconds: float) -> str:
    """Return the rows a second of ``.npy`` bodies (float32) as a ratio to those of JSON, by turns."""
    rows = X[:MANY_ROWS].astype(float).round(6)
    stream = io.BytesIO()
    np.save(stream, rows.astype(np.float32))
    bodies = {
        "application/json": json.dumps({"features": rows.tolist()}).encode(),
        "application/x-npy": stream.getvalue(),
    }
    answered, spent = dict.fromkeys(bodies, 0.0), dict.fromkeys(bodies, 0.0)
    for _ in range(3):
        for kind, body in bodies.items():
            before = processor_seconds(service)
            shown = asyncio.run(measure(port, "/predict", body, 4, seconds / 6, kind))
            spent[kind] += processor_seconds(service) - before
            answered[kind] += len(rows) * shown["statuses"].get(200, 0)
    json_rate, npy_rate = (answered[kind] / spent[kind] for kind in bodies)
    return (
        f"rows a second of the server's processor, {len(rows)} × {rows.shape[1]} a request: "
        f"JSON {json_rate:,.0f}, .npy {npy_rate:,.0f}, {npy_rate / json_rate:.1f} times as many"
    )


def served(path: Path, source: Path = SOURCE) -> tuple[subprocess.Popen[str], int]:
    """Fit and serve a model by some source: an older one does not read the files of a newer one."""
    environment = os.environ | {"PYTHONPATH": str(source)}
    subprocess.run([sys.executable, "-c", FIT, str(path)], check=True, env=environment)
    return start("-m", "unseen", "serve", str(path), "--port", "0", source=source)


def compared_revisions(folder: Path, body: bytes, clients: int, seconds: float, revision: str) -> str:
    """Return the throughput of this service as a ratio to that of a revision, by turns."""
    from history import checkout

    ratios, servers = [], [served(folder / "ours.safetensors")]
    try:
        servers.append(served(folder / "theirs.safetensors", checkout(revision, folder)))
        for turn in range(TURNS + 1):  # the first warms
            rates = []
            for process, port in servers:
                before = processor_seconds(process)
                shown = asyncio.run(measure(port, "/predict", body, clients, seconds / TURNS))
                spent = processor_seconds(process) - before
                rates.append(shown["statuses"].get(200, 0) / spent)
            if turn:
                ratios.append(rates[0] / rates[1])
    finally:
        for process, _ in servers:
            process.terminate()
            process.wait()
    return (
        f"requests a second of the server's processor, this / {revision}: {np.median(ratios):.2f} in "
        f"the median of {TURNS} turns, {min(ratios):.2f} to {max(ratios):.2f}"
    )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clients", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--compare", metavar="REV", help="beside the service of another revision only")
    options = parser.parse_args()
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from unseen.datasets import load_letters_to_digits

    data = load_letters_to_digits()
    rows = data.X[data.test_unseen][:ROWS].astype(float).round(6)
    body = json.dumps({"features": rows.tolist()}).encode()
    with tempfile.TemporaryDirectory() as folder:
        if options.compare:
            asked = options.clients, options.seconds, options.compare
            print(compared_revisions(Path(folder), body, *asked))
            return
        service, port = served(Path(folder) / "digits.safetensors")
        bare, bare_port = start("-c", BARE)
        print(
            f"{options.clients} clients, {options.seconds:g} s each, {ROWS} rows, {len(body):,} bytes"
        )
        found = {}
        try:
            for name, where, route in (
                ("service", port, "/predict"),
                ("bare, Pydantic body", bare_port, "/typed"),
                ("bare, json.loads", bare_port, "/plain"),
            ):
                asyncio.run(measure(where, route, body, 10, 1.0))  # warm
                server = service if where == port else bare
                before = processor_seconds(server)
                shown = asyncio.run(measure(where, route, body, options.clients, options.seconds))
                spent = processor_seconds(server) - before
                shown["processor"] = spent / sum(shown["statuses"].values())
                found[name] = shown
                print(
                    f"{name:20} {shown['a second']:8.0f} requests/s   "
                    f"p50 {1000 * shown['p50']:6.1f} ms   p99 {1000 * shown['p99']:6.1f} ms   "
                    f"{1000 * shown['processor']:.2f} ms of processor each   {shown['statuses']}"
                )
            print(compared_bodies(service, port, data.X[data.test_unseen], options.seconds))
        finally:
            for process in (service, bare):
                process.terminate()
                process.wait()
    ours = found["service"]["a second"]
    for name in list(found)[1:]:
        cost = found[name]["processor"] / found["service"]["processor"]
        print(
            f"service / {name}: {ours / found[name]['a second']:.2f} in requests a second, "
            f"{cost:.2f} in requests a second of the server's processor"
        )
    wrong = set(found["service"]["statuses"]) - {200, 503}
    if wrong:
        raise SystemExit(f"errors other than 503: {wrong}")


if __name__ == "__main__":
    main()

"""A kill at any moment loses no class that was confirmed; a signal ends the service in order."""

from __future__ import annotations

import signal
import threading
import time

import httpx
import pytest
from live import live

import unseen
from toys import make_toy
from unseen.serving import Keeper

KILLED = """
import os, signal
from pathlib import Path

def die(*a, **k):
    os.kill(os.getpid(), signal.SIGKILL)

def die_half_way(self, data):
    os.write(self.fileno(), bytes(data)[: len(data) // 2])
    die()

{how}
from unseen.cli import main
main()
"""
MOMENTS = {
    "half of the new file is written": "import unseen.serving.keeper as k\n"
    "real = k.to_bytes\n"
    "k.to_bytes = lambda model: (Path(os.environ['BESIDE']).write_bytes(real(model)[:500]), die())",
    "the new file is whole, but not in place": "os.fsync = die",
    "the moment before it takes the place": "Path.replace = die",
    "just after it took the place": "real = Path.replace\n"
    "Path.replace = lambda self, target: (real(self, target), die())",
}


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_kill_in_the_middle_of_adding_a_class(model_file, moment, tmp_path):
    before = unseen.load(model_file).classes_.tolist()
    script = KILLED.format(how=MOMENTS[moment])
    beside = {"BESIDE": str(tmp_path / ".toy-half.safetensors")}
    with live("serve", model_file, "--port", "0", script=script, env=beside) as service:
        with pytest.raises(httpx.HTTPError), httpx.Client(base_url=service.url, timeout=30) as client:
            client.post("/classes", json={"name": "owl", "vector": [0.5] * 8})
        assert service.process.wait(timeout=30) == -signal.SIGKILL
    after = unseen.load(model_file).classes_.tolist()
    assert after == ([*before, "owl"] if "after" in moment else before)
    again = Keeper(model_file)  # a new service takes it, whatever the old one left beside it
    assert again.score(make_toy().X[:2]).probabilities.shape == (2, len(after))


def test_kills_at_any_time_lose_no_confirmed_class(model_file):
    confirmed = []
    for attempt in range(3):
        with live("serve", model_file, "--port", "0") as service:

            def add(url=service.url, attempt=attempt):
                with httpx.Client(base_url=url, timeout=30) as client:
                    for number in range(10_000):
                        name = f"new {attempt} {number}"
                        body = {"name": name, "vector": [number / 7] * 8}
                        try:
                            if client.post("/classes", json=body).status_code == 201:
                                confirmed.append(name)
                        except httpx.HTTPError:
                            return

            writer = threading.Thread(target=add)
            writer.start()
            time.sleep(0.25 + 0.17 * attempt)
            service.process.kill()
            writer.join(timeout=30)
        known = unseen.load(model_file).classes_.tolist()
        assert set(confirmed) <= set(known)
        assert len(known) - 16 - len(confirmed) <= attempt + 1, "one each time may have been on its way"
    assert len(confirmed) > 3


def test_requests_in_progress_are_answered_before_it_stops(model_file):
    """The window holds a request for 700 ms; the signal comes while it waits."""
    with live("serve", model_file, "--port", "0", "--window", "700") as service:
        found = []

        def ask():
            body = {"features": make_toy().X[:2].tolist()}
            found.append(httpx.post(f"{service.url}/predict", json=body, timeout=30).status_code)

        asking = [threading.Thread(target=ask) for _ in range(5)]
        for thread in asking:
            thread.start()
        time.sleep(0.35)
        assert service.stop(signal.SIGINT) == 0
        for thread in asking:
            thread.join(timeout=30)
    assert found == [200] * 5
    assert "stopped" in service.said[-1]


def test_a_port_in_use_is_told(model_file):
    with live("serve", model_file, "--port", "0") as service:
        with pytest.raises(AssertionError, match="cannot be used"), live(
            "serve", model_file, "--port", service.port
        ):
            pass
        assert service.stop() == 0

"""A kill at any moment loses no class that was confirmed; a signal ends the service in order."""

from __future__ import annotations

import shutil
import signal
import socket
import subprocess
import sys
import threading
import time

import httpx
import pytest
from live import PATIENCE, environment, eventually, live

import unseen
from toys import make_toy
from unseen.exceptions import DataError
from unseen.serving import Keeper
from unseen.serving.keeper import NewClass
from unseen.serving.server import listen

KILLED = """
import os, signal, sys
from pathlib import Path
import unseen.serving.keeper as keeper

def die(*a, **k):
    os.kill(os.getpid(), signal.SIGKILL)

def half(self, data):
    real_write(self, data[:500])
    die()

def add(path, moment):
    if moment == "half":
        Path.write_bytes = half
    elif moment == "unsynced":
        os.fsync = die
    elif moment == "before":
        Path.replace = die
    else:
        Path.replace = lambda self, target: (real_replace(self, target), die())
    keeper.Keeper(path).add(keeper.NewClass("owl", vector=[0.5] * 8))
    os._exit(0)

real_write, real_replace = Path.write_bytes, Path.replace
for path, moment in zip(sys.argv[1::2], sys.argv[2::2], strict=True):
    child = os.fork() or add(path, moment)
    print(moment, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
MOMENTS = ("half", "unsynced", "before", "after")


def test_a_kill_in_the_middle_of_adding_a_class(model_file, tmp_path):
    """Half written; written but not in place; the moment before and after it takes the place."""
    before = unseen.load(model_file).classes_.tolist()
    files = {moment: tmp_path / moment / "toy.safetensors" for moment in MOMENTS}
    for path in files.values():
        path.parent.mkdir()
        shutil.copy(model_file, path)
    arguments = [part for moment, path in files.items() for part in (str(path), moment)]
    command = [sys.executable, "-c", KILLED, *arguments]
    done = subprocess.run(
        command, env=environment(), timeout=PATIENCE, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == [part for moment in MOMENTS for part in (moment, "-9")]
    for moment, path in files.items():
        after = unseen.load(path).classes_.tolist()
        assert after == ([*before, "owl"] if moment == "after" else before)
        again = Keeper(path)  # a new service takes it, whatever the old one left beside it
        again.add(NewClass("elk", vector=[1.5] * 8))
        shape = again.score(make_toy().X[:2]).probabilities.shape
        assert shape == (2, len(after) + 1)
        assert unseen.load(path).classes_.tolist() == [*after, "elk"]
        assert not list(path.parent.glob("*.partial*")), "what the killed writer left is removed"


def test_kills_at_any_time_lose_no_confirmed_class(model_file):
    confirmed = []
    for attempt in range(2):
        with live("serve", model_file, "--port", "0") as service:

            def add(url=service.url, attempt=attempt):
                with httpx.Client(base_url=url, timeout=PATIENCE) as client:
                    for number in range(10_000):
                        name = f"new {attempt} {number}"
                        body = {"name": name, "vector": [number % 9 / 7] * 8}
                        try:
                            if client.post("/classes", json=body).status_code == 201:
                                confirmed.append(name)
                        except httpx.HTTPError:
                            return

            writer = threading.Thread(target=add)
            writer.start()
            enough = len(confirmed) + 3
            assert eventually(lambda enough=enough: len(confirmed) >= enough)
            time.sleep(0.013 * attempt)
            service.process.kill()
            writer.join(timeout=PATIENCE)
        known = unseen.load(model_file).classes_.tolist()
        assert set(confirmed) <= set(known)
        assert len(known) - 16 - len(confirmed) <= attempt + 1, "one each time may have been on its way"


HELD = """
import pathlib, time
from unseen.serving import keeper, server

def held(self, X):
    while not pathlib.Path({go_on!r}).exists():
        time.sleep(0.02)
    return score(self, X)

score, keeper.Keeper.score = keeper.Keeper.score, held
server.GRACE = {patience}
"""


def _refuses(port):
    try:
        socket.create_connection(("127.0.0.1", port), timeout=PATIENCE).close()
    except ConnectionError:
        return True
    return False


def test_requests_in_progress_are_answered_before_it_stops(model_file, tmp_path):
    """No product ends before the service has heard the signal: all five requests wait for theirs."""
    go_on, found = tmp_path / "go on", []
    held = HELD.format(go_on=str(go_on), patience=PATIENCE)
    with live("serve", model_file, "--port", "0", before=held) as service:

        def ask():
            body = {"features": make_toy().X[:2].tolist()}
            found.append(httpx.post(f"{service.url}/predict", json=body, timeout=PATIENCE).status_code)

        asking = [threading.Thread(target=ask) for _ in range(5)]
        for thread in asking:
            thread.start()
        with httpx.Client(base_url=service.url, timeout=PATIENCE) as client:
            busy = "unseen_requests_in_progress 5"
            assert eventually(lambda: busy in client.get("/metrics").text)
        service.process.send_signal(signal.SIGINT)
        assert eventually(lambda: _refuses(service.port)), "it takes nothing new"
        assert found == []
        assert service.process.poll() is None
        go_on.touch()
        for thread in asking:
            thread.join(timeout=PATIENCE)
        assert service.process.wait(timeout=PATIENCE) == 0
        said = service.process.stdout.read()
    assert found == [200] * 5
    assert "stopped" in said


def test_token_and_a_port_in_use(model_file):
    with live("serve", model_file, "--port", "0", env={"UNSEEN_TOKEN": "s3cret"}) as service:
        with httpx.Client(base_url=service.url, timeout=PATIENCE) as client:
            assert client.get("/classes").status_code == 401
            wrong = {"authorization": "Bearer s3cre7"}
            assert client.post("/predict", content=b"x" * 10**6, headers=wrong).status_code == 401
            good = {"authorization": "Bearer s3cret"}
            assert client.get("/classes", headers=good).status_code == 200
        with pytest.raises(DataError, match="cannot be used"):
            listen("127.0.0.1", service.port)
        assert service.stop() == 0

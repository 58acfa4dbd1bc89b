"""A small model in a file, and a service around it."""

from __future__ import annotations

import pytest

pytest.importorskip("fastapi", reason='needs the extra: pip install "unseen-zsl[serve]"')

from live import PATIENCE, live
from toy_models import write_model

LIMITS = ["--max-body", "60000", "--max-rows", "32", "--max-concurrency", "16"]
PATIENT = ["--body-seconds", f"{PATIENCE}"]
"""A client on a busy machine is slow, too: only where that is the question is it cut off."""


@pytest.fixture
def model_file(tmp_path):
    return write_model(tmp_path / "toy.safetensors")


@pytest.fixture(scope="session")
def served(tmp_path_factory):
    """A service with narrow limits, shared by tests that leave it as it was."""
    path = write_model(tmp_path_factory.mktemp("served") / "toy.safetensors")
    with live("serve", path, "--port", "0", *LIMITS, *PATIENT) as service:
        service.path = path
        yield service
        assert service.stop() == 0
        assert "stopped" in service.said[-1]


@pytest.fixture(scope="session")
def impatient(tmp_path_factory):
    """A service that waits for headers and bodies for a few seconds only."""
    path = write_model(tmp_path_factory.mktemp("impatient") / "toy.safetensors")
    with live("serve", path, "--port", "0", *LIMITS, "--body-seconds", "4") as service:
        yield service
        assert service.stop() == 0


@pytest.fixture(scope="module")
def browser():
    """Chromium, if it is there."""
    from studio_browser import CHROMIUM

    playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright")
    with playwright.sync_playwright() as running:
        found = running.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield found
        found.close()

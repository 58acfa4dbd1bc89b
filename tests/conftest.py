"""Small problems that every suite shares."""

from __future__ import annotations

import os
import random
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from hypothesis import HealthCheck, settings

from toys import Toy, make_toy

# How long an example takes says how busy the machine is.
settings.register_profile("unhurried", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("unhurried")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--shuffle", type=int, metavar="SEED", help="run the tests in an order of this seed"
    )
    parser.addoption("--leaks", action="store_true", help="fail if files, processes or ports are left")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    seed = config.getoption("--shuffle")
    if seed is not None:
        random.Random(seed).shuffle(items)


def pytest_report_header(config: pytest.Config) -> str | None:
    seed = config.getoption("--shuffle")
    return None if seed is None else f"order: --shuffle {seed}"


@pytest.fixture(scope="session", autouse=True)
def _nothing_is_left(request: pytest.FixtureRequest) -> Iterator[None]:
    if not request.config.getoption("--leaks"):
        yield
        return
    from leaks import leaks, look

    with ExitStack() as own:
        if "PYTEST_XDIST_WORKER" in os.environ:  # the other processes use the common folder
            folder = own.enter_context(tempfile.TemporaryDirectory(prefix="own-"))
            patch = own.enter_context(pytest.MonkeyPatch.context())
            patch.setenv("TMPDIR", folder)
            patch.setattr(tempfile, "tempdir", folder)
        before = look()
        yield
        left = leaks(before)
    assert left == [], "the tests left " + ", ".join(left)


@pytest.fixture(scope="session")
def toy() -> Toy:
    return make_toy()

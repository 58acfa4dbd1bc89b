"""Small problems that every suite shares."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, settings

from toys import Toy, make_toy

# How long an example takes says how busy the machine is.
settings.register_profile("unhurried", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("unhurried")


@pytest.fixture(scope="session")
def toy() -> Toy:
    return make_toy()

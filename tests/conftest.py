"""Small problems that every suite shares."""

from __future__ import annotations

import pytest

from toys import Toy, make_toy


@pytest.fixture(scope="session")
def toy() -> Toy:
    return make_toy()

"""The most confident share of each class: chunks agree with memory, ties and all."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unseen.rows import top_share
from unseen.rows.passes import best_of_each_class
from unseen.scale.local import LocalChunks


@pytest.mark.parametrize("few", [0, 10_000])
@given(st.integers(0, 2**31), st.sampled_from([0.1, 0.5, 0.7, 1.0]), st.sampled_from(["f4", "f8"]))
@settings(max_examples=60, deadline=None)
def test_chunks_mark_the_rows_that_memory_marks(few: int, seed: int, share: float, dtype: Any) -> None:
    random = np.random.default_rng(seed)
    n = int(random.integers(1, 200))
    codes = random.integers(6, size=n)
    values = random.normal(size=n) if seed % 2 else random.integers(-2, 3, size=n) * 0.5  # with ties
    values = values.astype(dtype)
    sizes = (n // 3, n - n // 3) if n > 3 else (n,)
    chunks = (LocalChunks.of(v, sizes) for v in (codes, values))
    before, top_share.ROWS_TO_GATHER = top_share.ROWS_TO_GATHER, few
    try:
        got = best_of_each_class(*chunks, share).result()
    finally:
        top_share.ROWS_TO_GATHER = before
    np.testing.assert_array_equal(got, best_of_each_class(codes, values, share))

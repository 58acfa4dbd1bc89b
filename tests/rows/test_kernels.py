"""What passes do with a block of rows."""

from __future__ import annotations

import numpy as np

from unseen.rows.kernels import scaled


def test_roots_keep_signs_and_unit_length() -> None:
    X = np.array([[4.0, -9.0], [0.0, 0.0], [1e-30, 0.0]], dtype=np.float32)
    out = scaled(X, "root")
    assert out.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(out, axis=1), [1, 0, 1], rtol=1e-5)
    assert out[0, 1] < 0

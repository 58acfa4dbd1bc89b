"""Rows of features as the bytes of a ``.npy`` file: nothing to parse but its header."""

from __future__ import annotations

import io

import numpy as np

from unseen.exceptions import DataError
from unseen.files import check_extent, npy_header
from unseen.serving.request_bodies import check_features, refuse
from unseen.typing import Array

NPY = "application/x-npy"
"""The content type of a body that ``numpy.save`` wrote."""


def npy_matrix(body: bytes, width: int, most: int) -> Array:
    """Return the matrix of a body that ``numpy.save`` wrote; refuse what JSON would be refused for.

    Rows in single precision stay so, as in ``predict_proba``. Nothing is unpickled, and a header that
    claims another size than the body has is refused before anything is allocated.
    """
    stream = io.BytesIO(body)
    try:
        shape, columns_first, dtype = npy_header(stream, "The body")
        start = stream.tell()
        check_extent("The body", shape, dtype, len(body) - start)
    except DataError as error:
        refuse(str(error))
    except Exception as error:  # NumPy raises half a dozen types on a broken header
        reason = str(error).split("\n")[0][:200]
        refuse(f"The body is not what numpy.save writes ({reason}). Send a .npy file whole.")
    if dtype.kind != "f" or dtype.itemsize > 8:
        refuse(f"The body holds {dtype}; send float16, float32 or float64.")
    if len(shape) != 2:
        refuse(f"The body has {len(shape)} dimension(s); send two, one row a sample.")
    values = np.frombuffer(body, dtype, offset=start)
    X = values.reshape(shape, order="F" if columns_first else "C")
    X = X.astype(np.float64 if dtype.itemsize == 8 else np.float32, copy=False)
    check_features(X, width, most)
    return X

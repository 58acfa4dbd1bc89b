"""The most confident rows of each class, of rows in chunks."""

from __future__ import annotations

import numpy as np

from unseen.rows.chunks import Chunks
from unseen.typing import Array, Codes

DIGIT_BITS = 11
"""Bits of a confidence that one pass decides."""

ROWS_TO_GATHER = 10_000
"""Rows that are gathered rather than read in a further pass."""


def best_in_chunks(codes: Chunks, confidence: Chunks, share: float) -> Chunks:
    """Mark the most confident ``share`` of the rows of each class; among equals the first.

    The least confidence that is taken in each class is found digit by digit (radix selection), in
    passes that only count.
    """
    keys = confidence.mapped(_ordered).kept()
    counts = codes.class_counts().sum(axis=0)
    classes, left = len(counts), np.ceil(share * counts).astype(np.int64)
    least = np.zeros(classes, dtype=keys.dtype)
    shift = 8 * keys.dtype.itemsize
    while shift:
        width = min(DIGIT_BITS, shift)
        shift -= width
        (counted,) = codes.summed(_digits, keys, given=(least, shift, width))
        # From the largest digit down, the one at which the rows that are still wanted run out.
        above = np.cumsum(counted[:, ::-1], axis=1)[:, ::-1]
        digit = np.maximum((above >= np.maximum(left, 1)[:, None]).sum(axis=1) - 1, 0)
        chosen = np.arange(classes), digit
        left -= (above - counted)[chosen].astype(np.int64)
        least |= digit.astype(keys.dtype) << np.asarray(shift, dtype=keys.dtype)
        if counted[chosen].sum() <= ROWS_TO_GATHER:
            break
    if shift:  # few rows share the digits so far: they are gathered and sorted here
        rest = codes.gathered(_rest, keys, given=(least, shift))
        least, left = _settled(np.concatenate(rest, axis=1), least, left)
        equal = np.stack([_equal(part[0].astype(np.intp), part[1], least) for part in rest])
    else:
        equal = np.stack(codes.gathered(_equal, keys, given=(least,)))
    starts = np.cumsum(equal, axis=0) - equal
    return codes.mapped(_marked, keys, given=(least, left), each=list(starts))


def _settled(rest: Array, least: Array, left: Array) -> tuple[Array, Array]:
    """Return the least key that is taken in each class, and how many of its equals are."""
    least, left = least.copy(), left.copy()
    for k in np.flatnonzero(left > 0):
        class_keys = np.sort(rest[1][rest[0] == k])[::-1]
        least[k] = class_keys[left[k] - 1]
        left[k] -= int((class_keys > least[k]).sum())
    return least, left


def _rest(codes: Codes, keys: Array, least: Array, shift: int) -> Array:
    """Return the classes and keys of the rows whose digits so far are those of the least one."""
    kind = keys.dtype.type
    equal_so_far = keys >> kind(shift) == (least >> kind(shift))[codes]
    return np.stack([codes[equal_so_far].astype(keys.dtype), keys[equal_so_far]])


def _ordered(confidence: Array) -> Array:
    """Return unsigned integers in the order of the numbers."""
    bits = (confidence + 0.0).view(f"u{confidence.dtype.itemsize}")  # -0.0 becomes 0.0
    sign = bits.dtype.type(1) << bits.dtype.type(8 * bits.dtype.itemsize - 1)
    return np.where(bits & sign, ~bits, bits | sign)


def _digits(codes: Codes, keys: Array, least: Array, shift: int, width: int) -> tuple[Array]:
    """Count the next digit of the rows whose digits so far are those of the least row taken."""
    kind = keys.dtype.type
    digits = keys >> kind(shift)
    equal_so_far = np.ones(len(keys), dtype=bool)
    if shift + width < 8 * keys.dtype.itemsize:
        equal_so_far = digits >> kind(width) == (least >> kind(shift) >> kind(width))[codes]
    digit = (digits[equal_so_far] & kind((1 << width) - 1)).astype(np.intp)
    place = codes[equal_so_far] << width | digit
    counts = np.bincount(place, minlength=len(least) << width)
    return (counts.reshape(len(least), -1),)


def _equal(codes: Codes, keys: Array, least: Array) -> Array:
    return np.bincount(codes[keys == least[codes]], minlength=len(least))


def _marked(codes: Codes, keys: Array, least: Array, left: Array, start: Array) -> Array:
    """Mark the rows above the least one, and the first of those that equal it."""
    marks = keys > least[codes]
    places = np.flatnonzero(keys == least[codes])
    for k in np.unique(codes[places]):
        class_places = places[codes[places] == k]
        marks[class_places[: max(int(left[k] - start[k]), 0)]] = True
    return np.asarray(marks)

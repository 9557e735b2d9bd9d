"""The one sign rule: an eigenvector and its negative are both right, so which one is shown is fixed here."""

from __future__ import annotations

import numpy as np

from pcatool.arrays import Array

__all__ = ["fix_signs"]

# Entries this close to the largest count as equal: rounding must not decide which of them leads.
EQUAL = 1e-8

# Entries looked at together, a few columns at a time.
AT_ONCE = 1 << 20


def fix_signs(B: Array) -> Array:
    """B (d, k) with each column turned so that its first entry of largest absolute value is positive."""
    d, k = B.shape
    signs = np.empty(k)
    step = max(AT_ONCE // d, 1)
    for at in range(0, k, step):
        size = np.abs(B[:, at : at + step])
        leading = np.argmax(size >= (1.0 - EQUAL) * size.max(axis=0), axis=0)
        signs[at : at + step] = np.where(B[leading, np.arange(at, at + size.shape[1])] < 0, -1.0, 1.0)
    return signs * B

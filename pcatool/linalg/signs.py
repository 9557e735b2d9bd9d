"""The one sign rule: an eigenvector and its negative are both right, so which one is shown is fixed here."""

from __future__ import annotations

import numpy as np

from pcatool.model import Array

__all__ = ["fix_signs"]

# Entries this close to the largest count as equal: rounding must not decide which of them leads.
EQUAL = 1e-8


def fix_signs(B: Array) -> Array:
    """B (d, k) with each column turned so that its first entry of largest absolute value is positive."""
    size = np.abs(B)
    leading = np.argmax(size >= (1.0 - EQUAL) * size.max(axis=0), axis=0)
    lead = B[leading, np.arange(B.shape[1])]
    return np.where(lead < 0, -1.0, 1.0) * B

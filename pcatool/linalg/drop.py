"""The largest drop of a spectrum: what the scree chart marks and the rule `elbow` takes."""

from __future__ import annotations

import numpy as np

from pcatool.arrays import Array

__all__ = ["largest_drop"]


def largest_drop(eigenvalues: Array) -> int:
    """The j for which lambda_j - lambda_(j+1) is largest, the first of equals; 0 when nothing drops.

    Drops that differ by the rounding of the eigenvalues are equal: 3, 2, 1 falls after 1 however it was computed.
    """
    if len(eigenvalues) < 2:
        return 0
    drops = eigenvalues[:-1] - eigenvalues[1:]
    rounding = 8 * len(eigenvalues) * np.finfo(float).eps * float(eigenvalues[0])
    largest = float(drops.max())
    return int(np.flatnonzero(drops >= largest - rounding)[0]) + 1 if largest > rounding else 0

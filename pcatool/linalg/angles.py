"""Principal angles between two subspaces, accurate for tiny ones too.

Cosines tell large angles, sines small ones: an angle of 1e-10 has a cosine of 1. Of subspaces of different dimension
the smaller is held against the larger. Cost: O(d k^2). SciPy: `scipy.linalg.subspace_angles`, whose order is the other.
A. Bjorck and G. Golub 1973, "Numerical methods for computing angles between linear subspaces", Math. Comp. 27.
"""

from __future__ import annotations

import numpy as np

from pcatool.arrays import Array

__all__ = ["principal_angles"]

# Directions left with less than this of their length are lost: orthonormal columns of which some rows were taken away.
LOST = 1e-8


def principal_angles(A: Array, B: Array) -> Array:
    """In radians, ascending, between the spans of the columns of A (d, p) and B (d, q): the smaller rank of the two."""
    QA, QB = _orthonormal(A), _orthonormal(B)
    if QA.shape[1] < QB.shape[1]:
        QA, QB = QB, QA
    C = QA.T @ QB
    cosines = np.linalg.svd(C, compute_uv=False)  # descending, so of ascending angles
    sines = np.linalg.svd(QB - QA @ C, compute_uv=False)[::-1]
    small = cosines**2 >= 0.5
    angles: Array = np.where(small, np.arcsin(np.clip(sines, 0, 1)), np.arccos(np.clip(cosines, 0, 1)))
    return angles


def _orthonormal(A: Array) -> Array:
    U, s, _ = np.linalg.svd(A, full_matrices=False)
    return np.asarray(U[:, s > LOST])

"""Proofs about eigenvectors: one sign rule, orthonormality, residuals, angles between subspaces.

Principal angles between two subspaces, accurate for tiny ones too.
Cosines tell large angles, sines small ones: an angle of 1e-10 has a cosine of 1. Of subspaces of different dimension
the smaller is held against the larger. Cost: O(d k^2). SciPy: `scipy.linalg.subspace_angles`, whose order is the other.
A. Bjorck and G. Golub 1973, "Numerical methods for computing angles between linear subspaces", Math. Comp. 27.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pcatool.arrays import Array
from pcatool.linalg.blas import side_by_side

__all__ = ["certify", "fix_signs", "orthonormality", "principal_angles", "vouched"]

# Entries this close to the largest count as equal: rounding must not decide which of them leads.
EQUAL = 1e-8

# Entries looked at together, a few columns at a time.
SIGNS_AT_ONCE = 1 << 20


def fix_signs(B: Array) -> Array:
    """B (d, k) with each column turned so that its first entry of largest absolute value is positive."""
    d, k = B.shape
    signs = np.empty(k)
    step = max(SIGNS_AT_ONCE // d, 1)
    for at in range(0, k, step):
        size = np.abs(B[:, at : at + step])
        leading = np.argmax(size >= (1.0 - EQUAL) * size.max(axis=0), axis=0)
        signs[at : at + step] = np.where(B[leading, np.arange(at, at + size.shape[1])] < 0, -1.0, 1.0)
    return signs * B


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


# An eigenvalue is vouched for when rounding cannot have moved it by more than this part of itself.
VOUCHED = 1e-8

# Numbers of the residual worked on at a time.
AT_ONCE = 1 << 20

# Past this a bound says nothing any more.
MEANINGLESS = 1e300

# Rounding of size e turns a direction by about e / gap; past a thousandth of a right angle it says nothing of the data.
TURNED = 1e-3


def vouched(eigenvalues: Array, error: Array) -> NDArray[np.bool_]:
    """For each component, whether its eigenvalue can be told from rounding; never for an eigenvalue of 0."""
    return (eigenvalues > 0) & (error <= VOUCHED * eigenvalues)


def orthonormality(B: Array) -> float:
    """The largest entry of B^T B - I in size."""
    off = B.T @ B
    off.flat[:: len(off) + 1] -= 1.0
    return float(np.maximum(np.abs(off.max()), np.abs(off.min())))


def certify(
    apply: Callable[[Array], Array], eigenvalues: Array, error: Array, basis: Array, total: float, all_known: bool
) -> dict[str, Any]:
    """Eigen-residual and orthonormality of the kept directions, trace closure, and what each eigenvalue is good for.

    `apply` multiplies by S, (d, k) -> (d, k); `error` bounds what rounding did to each eigenvalue.
    """
    k = basis.shape[1]
    largest = eigenvalues[0]  # divided by first: squares of large residuals would overflow
    off, residual = side_by_side(lambda: orthonormality(basis), lambda: apply(basis))
    residual /= largest
    lengths = np.empty(k)
    step = max(AT_ONCE // len(basis), 1)
    for at in range(0, k, step):  # a few columns at a time: no third matrix as large as the basis
        some = slice(at, at + step)
        lengths[some] = np.linalg.norm(residual[:, some] - basis[:, some] * (eigenvalues[:k][some] / largest), axis=0)
    certificate: dict[str, Any] = {
        "eigen_residual": float(np.max(lengths)),
        "orthonormality": off,
        "relative_error": [_digits(e, v) if v > 0 else None for e, v in zip(error[:k], eigenvalues[:k], strict=True)],
        "vouched": vouched(eigenvalues, error)[:k].tolist(),
        "close_pairs": _close_pairs(eigenvalues, error, k),
    }
    if all_known:
        certificate["trace_closure"] = abs(float(np.sum(eigenvalues)) - total) / total
    return certificate


def _digits(error: float, value: float) -> float:
    """A bound needs no more than two digits; rounded up, so that it stays one. JSON has no infinity."""
    with np.errstate(over="ignore"):
        return float(f"{min(error / value * 1.005, MEANINGLESS):.1e}")


def _close_pairs(eigenvalues: Array, error: Array, k: int) -> list[list[int]]:
    """Neighbours j, j + 1 whose directions could be any in the plane they span."""
    last = min(k, len(eigenvalues) - 1)
    gap = eigenvalues[:last] - eigenvalues[1 : last + 1]
    close = (error[:last] + error[1 : last + 1] > TURNED * gap) & (eigenvalues[1 : last + 1] > 0)
    return [[int(j) + 1, int(j) + 2] for j in np.flatnonzero(close)]

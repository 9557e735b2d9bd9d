"""What a fit can prove about its own numbers, computed after the fact from the operator, not from how it was solved."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pcatool.linalg.blas import side_by_side

if TYPE_CHECKING:
    from pcatool.arrays import Array

__all__ = ["certify", "orthonormality", "vouched"]

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

"""Checks of eigenvectors: residuals, error bounds, and angles between subspaces.

`certify` measures how accurate a solution is.

`principal_angles` computes the principal angles between two subspaces, and is accurate for tiny angles too. Large
angles come from cosines and small angles from sines, because the cosine of an angle of 1e-10 rounds to 1. If the
dimensions differ, the smaller subspace is compared with the larger. Cost: O(d k^2). SciPy:
`scipy.linalg.subspace_angles`, which returns the angles in descending order.
A. Bjorck and G. Golub 1973, "Numerical methods for computing angles between linear subspaces", Math. Comp. 27.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pcatool.arrays import Array, orthonormality
from pcatool.linalg.blas import run_in_parallel

__all__ = ["PROOFS", "certify", "is_accurate", "principal_angles"]

# Singular values below this do not count towards the rank. Columns that were orthonormal have such values after rows
# were removed.
RANK_TOLERANCE = 1e-8


def principal_angles(A: Array, B: Array) -> Array:
    """Return the ascending angles, in radians, between the column spaces of A (d, p) and B (d, q).

    The number of angles is the smaller of the two ranks.
    """
    QA, QB = _orthonormal(A), _orthonormal(B)
    if QA.shape[1] < QB.shape[1]:
        QA, QB = QB, QA
    C = QA.T @ QB
    cosines = np.linalg.svd(C, compute_uv=False)  # descending cosines, so ascending angles
    sines = np.linalg.svd(QB - QA @ C, compute_uv=False)[::-1]
    small = cosines**2 >= 0.5
    angles: Array = np.where(small, np.arcsin(np.clip(sines, 0, 1)), np.arccos(np.clip(cosines, 0, 1)))
    return angles


def _orthonormal(A: Array) -> Array:
    """Return an orthonormal basis (d, rank) of the column space of A (d, k)."""
    U, s, _ = np.linalg.svd(A, full_matrices=False)
    return np.asarray(U[:, s > RANK_TOLERANCE])


# Largest relative rounding error of an accurate eigenvalue: 8 digits. Models call it "vouched".
ACCURATE = 1e-8

# Algorithm that computed only the leading eigenvalues -> entry `proof` of the certificate: what shows that no larger
# eigenvalue was missed.
PROOFS = {"lanczos": "cholesky", "evr": "lapack"}

# Entries of the residual per step of `certify`.
AT_ONCE = 1 << 20

# Largest relative error that is reported; a bound beyond this carries no information.
MEANINGLESS = 1e300

# Rounding of size e rotates an eigenvector by about e / gap radians. A pair of components is reported as close above
# this limit, because its directions then no longer describe the data.
CLOSE_ROTATION = 1e-3


def is_accurate(eigenvalues: Array, error: Array) -> NDArray[np.bool_]:
    """Return a mask of the eigenvalues above 0 whose bound `error` is at most ACCURATE times the eigenvalue."""
    return (eigenvalues > 0) & (error <= ACCURATE * eigenvalues)


def certify(
    apply: Callable[[Array], Array], eigenvalues: Array, error: Array, basis: Array, total: float, all_known: bool
) -> dict[str, Any]:
    """Return the certificate of k components, the directions `basis` (d, k) of S, as stored in the model.

    The certificate holds `eigen_residual`, the largest |S b - lambda b| relative to the largest eigenvalue;
    `orthonormality` of `basis`; for each of the first k eigenvalues a bound `relative_error`, and `vouched`, whether
    the eigenvalue is accurate; `close_pairs` of components; and, if `all_known`, `trace_closure`: the relative
    difference between the sum of all eigenvalues and `total`, the trace of S. `apply` returns S times a matrix (d, k),
    which is overwritten. `error` (m,) bounds the rounding error of each of the `eigenvalues` (m,).
    """
    k = basis.shape[1]
    largest = eigenvalues[0]  # residuals are divided by this value first, because their squares could overflow
    off, residual = run_in_parallel(lambda: orthonormality(basis), lambda: apply(basis))
    residual /= largest
    residual_norms = np.empty(k)
    step = max(AT_ONCE // len(basis), 1)
    for at in range(0, k, step):  # a few columns at a time, to avoid a third matrix as large as the basis
        some = slice(at, at + step)
        residual_norms[some] = np.linalg.norm(
            residual[:, some] - basis[:, some] * (eigenvalues[:k][some] / largest), axis=0
        )
    certificate: dict[str, Any] = {
        "eigen_residual": float(np.max(residual_norms)),
        "orthonormality": off,
        "relative_error": [
            _relative_error(e, v) if v > 0 else None for e, v in zip(error[:k], eigenvalues[:k], strict=True)
        ],
        "vouched": is_accurate(eigenvalues, error)[:k].tolist(),
        "close_pairs": _close_pairs(eigenvalues, error, k),
    }
    if all_known:
        certificate["trace_closure"] = abs(float(np.sum(eigenvalues)) - total) / total
    return certificate


def _relative_error(error: float, value: float) -> float:
    """Return error / value rounded up to two digits, at most MEANINGLESS because JSON has no infinity."""
    with np.errstate(over="ignore"):
        return float(f"{min(error / value * 1.005, MEANINGLESS):.1e}")


def _close_pairs(eigenvalues: Array, error: Array, k: int) -> list[list[int]]:
    """Return the pairs [j, j + 1], numbered from 1, of components that rounding can rotate into each other."""
    last = min(k, len(eigenvalues) - 1)
    gap = eigenvalues[:last] - eigenvalues[1 : last + 1]
    close = (error[:last] + error[1 : last + 1] > CLOSE_ROTATION * gap) & (eigenvalues[1 : last + 1] > 0)
    return [[int(j) + 1, int(j) + 2] for j in np.flatnonzero(close)]

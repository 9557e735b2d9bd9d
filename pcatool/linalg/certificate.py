"""What a fit can prove about its own numbers, computed after the fact from the operator, not from how it was solved."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from pcatool.model import Array

__all__ = ["certify"]


def certify(
    apply: Callable[[Array], Array], eigenvalues: Array, basis: Array, total: float, all_known: bool
) -> dict[str, float]:
    """Eigen-residual and orthonormality of the kept directions, and how well the eigenvalues add up to the trace.

    `apply` multiplies by S, (d, k) -> (d, k).
    """
    k = basis.shape[1]
    residual = apply(basis) - basis * eigenvalues[:k]
    certificate = {
        "eigen_residual": float(np.max(np.linalg.norm(residual, axis=0)) / eigenvalues[0]),
        "orthonormality": float(np.max(np.abs(basis.T @ basis - np.eye(k)))),
    }
    if all_known:
        certificate["trace_closure"] = abs(float(np.sum(eigenvalues)) - total) / total
    return certificate

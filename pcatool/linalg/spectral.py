"""Eigenvalues and eigenvectors of a scatter, with every eigenvalue that the scatter still knows.

LAPACK's `eigh` and `svd` are accurate to eps times the *largest* eigenvalue. When the small ones only come from
columns of small scale, they can all be had to full accuracy: scale to unit diagonal, take a pivoted Cholesky factor,
scale it back and give it to the one-sided Jacobi SVD, whose errors do not see the scale of the columns
(Demmel and Veselic 1992, SIAM J. Matrix Anal. Appl. 13(4); Drmac and Veselic 2008, ibid. 29(4)).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pcatool.linalg.blas import factorisation_threads, threads
from pcatool.model import Array

__all__ = ["Spectrum", "of_factor", "of_scatter"]

EPS = float(np.finfo(np.float64).eps)

# eigh errs by about eps * lambda_1. Up to this ratio of eigenvalues that leaves at least eleven digits, so it is enough.
FLAT = 1e4

# Jacobi pays when scaling the columns removes at least this much of the condition number.
WORTH = 0.1


@dataclass(frozen=True)
class Spectrum:
    """Eigenvalues, descending and not negative, zero past the rank; orthonormal eigenvectors beside them."""

    eigenvalues: Array  # (m,)
    vectors: Array  # (d, m)
    rank: int
    route: str  # "eigh", "svd" or "jacobi"


def rank_of(values: Array, size: int) -> int:
    """How many of the descending eigenvalues or singular values of a matrix of unit scale are above its rounding.

    The bound is that of numpy.linalg.matrix_rank: size * eps * largest.
    """
    return int(np.count_nonzero(values > size * EPS * values[0])) if len(values) and values[0] > 0 else 0


def unit_scale(diagonal: Array) -> Array:
    """Square roots of a diagonal, with 1 where a column is all zero."""
    return np.where(diagonal > 0, np.sqrt(diagonal), 1.0)


def of_scatter(S: Array) -> Spectrum:
    """Spectrum of a symmetric positive semidefinite S (d, d)."""
    d = len(S)
    scale = unit_scale(np.diagonal(S))
    with threads(factorisation_threads(d)):
        R = S / scale[:, None] / scale
        scaled = np.linalg.eigvalsh(R)[::-1]
        rank = rank_of(scaled, d)
        values, vectors = np.linalg.eigh(S)
        values, vectors = values[::-1], vectors[:, ::-1]
        if is_graded(values, scaled, rank):
            return _jacobi(_cholesky_factor(R, rank) * scale, rank)
    return Spectrum(_clipped(values, rank), vectors, rank, "eigh")


def of_factor(F: Array) -> Spectrum:
    """Spectrum of F^T F from the factor F (r, d) itself, which keeps twice the digits."""
    r, d = F.shape
    scale = np.sqrt(np.einsum("ij,ij->j", F, F))
    scale = np.where(scale > 0, scale, 1.0)
    with threads(factorisation_threads(min(r, d))):
        if r > d:
            F = np.linalg.qr(F, mode="r")
        scaled = np.linalg.svd(F / scale, compute_uv=False)
        rank = rank_of(scaled, max(r, d))
        _, s, Vt = np.linalg.svd(F, full_matrices=False)
        if is_graded(s * s, scaled * scaled, rank):
            return _jacobi(F, rank, most=len(s))
    return Spectrum(_clipped(s * s, rank), Vt.T, rank, "svd")


def is_graded(values: Array, scaled: Array, rank: int) -> bool:
    """Do the small eigenvalues come from the scale of columns, so that scaling brings them back?"""
    if rank < 2:
        return False
    smallest = max(float(values[rank - 1]), EPS * float(values[0]))
    spread, scaled_spread = float(values[0]) / smallest, float(scaled[0]) / float(scaled[rank - 1])
    return spread > FLAT and scaled_spread < WORTH * spread


def _cholesky_factor(R: Array, rank: int) -> Array:
    """G (rank, d) with G^T G = R, pivoted so that rounding stays where it is harmless."""
    from scipy.linalg import lapack

    c, pivots, _, _ = lapack.dpstrf(R, lower=0)
    G = np.zeros((rank, len(R)))
    G[:, pivots - 1] = np.triu(c)[:rank]
    return G


def _jacobi(F: Array, rank: int, most: int | None = None) -> Spectrum:
    """Spectrum of F^T F by one-sided Jacobi; eigenvectors past the rank are any orthonormal completion."""
    from scipy.linalg import lapack

    r, d = F.shape
    most = d if most is None else most
    A = np.zeros((max(r, d), d), order="F")
    A[:r] = F
    # joba=0 suits columns of any scale and keeps small values; jobu=3 leaves U out, jobv=0 wants V.
    s, _, V, work, _, info = lapack.dgejsv(A, joba=0, jobu=3, jobv=0)
    if info != 0:
        raise np.linalg.LinAlgError(f"dgejsv did not converge (info {info})")
    s = s * (work[0] / work[1])
    if rank < most:
        V = np.hstack([V[:, :rank], np.linalg.qr(V[:, :rank], mode="complete")[0][:, rank:most]])
    return Spectrum(_clipped(s[:most] ** 2, rank), V[:, :most], rank, "jacobi")


def _clipped(values: Array, rank: int) -> Array:
    """The one clipping rule: past the rank an eigenvalue is 0; rounding can push one below 0 or out of order before it."""
    values = np.maximum(values, 0.0)
    values[rank:] = 0.0
    return np.sort(values)[::-1]

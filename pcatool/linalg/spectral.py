"""Eigenvalues and eigenvectors of S from S itself or from a factor of it, each eigenvalue with a bound on its error.

LAPACK's `eigh` and `svd` are accurate to eps times the *largest* eigenvalue. When the small ones only come from
columns of small scale, they can all be had to full accuracy: scale to unit diagonal, take a pivoted Cholesky factor,
scale it back and give it to the one-sided Jacobi SVD, whose errors do not see the scale of the columns
(Demmel and Veselic 1992, SIAM J. Matrix Anal. Appl. 13(4); Drmac and Veselic 2008, ibid. 29(4)).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from pcatool.linalg.blas import factorisation_threads, threads
from pcatool.model import Array

__all__ = ["EPS", "Spectrum", "of_factor", "of_gram", "of_scatter"]

EPS = float(np.finfo(np.float64).eps)

# eigh errs by about eps * lambda_1. Up to this ratio of eigenvalues that leaves at least eleven digits, so it is enough.
FLAT = 1e4

# Jacobi pays when scaling the columns removes at least this much of the condition number.
WORTH = 0.1

# Backward errors of LAPACK's drivers are a few eps * largest, growing slowly with the size; measured ones stay below a
# third of (BACKWARD + sqrt(size)) * eps over the cases of the test suite.
BACKWARD = 4

# Columns multiplied at a time where a second copy of the data would be too much.
SLAB = 2048


@dataclass(frozen=True)
class Spectrum:
    """Eigenvalues, descending and not negative, zero past the rank; orthonormal eigenvectors beside them."""

    eigenvalues: Array  # (m,)
    leading: Callable[[int], Array]  # k -> the first k eigenvectors (d, k), k <= m
    rank: int
    route: str  # "eigh", "svd", "gram" or "jacobi"
    error: Array  # (m,) bounds on the absolute error of each eigenvalue, as far as rounding goes


def rank_of(values: Array, size: int, noise: float = 0.0) -> int:
    """How many of the descending eigenvalues or singular values of a matrix of unit scale are above its rounding.

    The bound is that of numpy.linalg.matrix_rank, size * eps * largest, or the rounding already in the entries.
    """
    if not len(values) or values[0] <= 0:
        return 0
    return int(np.count_nonzero(values > size * max(EPS * float(values[0]), noise)))


def unit_scale(diagonal: Array) -> Array:
    """Square roots of a diagonal, with 1 where a column is all zero."""
    return np.where(diagonal > 0, np.sqrt(diagonal), 1.0)


def of_scatter(S: Array, noise: Array) -> Spectrum:
    """Spectrum of a symmetric positive semidefinite S (d, d).

    `noise` (d,): entry S_ij is known to (noise_i + noise_j) * sqrt(S_ii S_jj).
    """
    d = len(S)
    scale = unit_scale(np.diagonal(S))
    with threads(factorisation_threads(d)):
        R = S / scale[:, None] / scale
        scaled = np.linalg.eigvalsh(R)[::-1]
        rank = rank_of(scaled, d, float(np.median(noise)))
        values, vectors = np.linalg.eigh(S)
        values, vectors = values[::-1], vectors[:, ::-1]
        if is_graded(values, scaled, rank):
            G = _cholesky_factor(R, rank)
            relative = 2 * (d * (float(noise.max()) + BACKWARD * EPS) + _unseen(R, G, noise)) / float(scaled[rank - 1])
            return _jacobi(G * scale, rank, d, relative)
    rank = _positive(values, rank)
    weight = np.abs(vectors) * scale[:, None]
    from_entries = 2 * weight.sum(axis=0) * (noise @ weight)
    return Spectrum(_clipped(values, rank), _first(vectors), rank, "eigh", from_entries + backward(d, values[0]))


def of_factor(F: Array, noise: Array) -> Spectrum:
    """Spectrum of F^T F from the factor F (r, d) itself, which keeps twice the digits.

    `noise` (d,): column j of F is known to noise_j times its length.
    """
    r, d = F.shape
    length = np.sqrt(np.einsum("ij,ij->j", F, F))
    scale = np.where(length > 0, length, 1.0)
    with threads(factorisation_threads(min(r, d))):
        if r > d:
            F = np.linalg.qr(F, mode="r")
        most = min(r, d)
        scaled = np.linalg.svd(F / scale, compute_uv=False)
        rank = rank_of(scaled, max(r, d))
        _, s, Vt = np.linalg.svd(F, full_matrices=False)
        if is_graded(s * s, scaled * scaled, rank):
            relative = 2 * (np.sqrt(d) * float(noise.max()) + d * BACKWARD * EPS) / float(scaled[rank - 1])
            return _jacobi(F, rank, most, relative)
    from_entries = noise @ (np.abs(Vt.T) * length[:, None])
    error = 2 * s * (from_entries + backward(d, s[0]))
    return Spectrum(_clipped(s * s, rank), _first(Vt.T), rank, "svd", error)


def of_gram(F: Array, noise: Array) -> Spectrum:
    """Spectrum of F^T F through the small matrix F F^T (r, r), for a factor with r < d rows; never d x d.

    Directions F^T u / s lose orthogonality where s is small, so they are made orthonormal again, leading first.
    """
    r, d = F.shape
    length = np.sqrt(np.einsum("ij,ij->j", F, F))
    with threads(factorisation_threads(r)):
        scaled = np.linalg.eigvalsh(_gram(F, np.where(length > 0, 1.0 / np.where(length > 0, length, 1.0), 0.0)))[::-1]
        rank = rank_of(scaled, d, float(np.median(noise)))
        values, U = np.linalg.eigh(_gram(F, None))
        values, U = values[::-1], U[:, ::-1]
    if is_graded(values, scaled, rank):
        with threads(factorisation_threads(r)):
            relative = 2 * (np.sqrt(d) * float(noise.max()) + d * BACKWARD * EPS) / float(np.sqrt(scaled[rank - 1]))
            return _jacobi(F, rank, r, relative)

    rank = _positive(values, rank)

    def leading(k: int) -> Array:
        with threads(factorisation_threads(r)):
            Q, R = np.linalg.qr(F.T @ U[:, :k])
        return Q * np.where(np.diagonal(R) < 0, -1.0, 1.0)

    from_entries = 2 * float((noise * length) @ length)
    error = np.full(r, from_entries + backward(r, values[0]))
    return Spectrum(_clipped(values, rank), leading, rank, "gram", error)


def _gram(F: Array, scale: Array | None) -> Array:
    """F F^T, or that of F with scaled columns, a slab of columns at a time: no second copy of F."""
    r, d = F.shape
    K = np.zeros((r, r))
    for at in range(0, d, SLAB):
        part = F[:, at : at + SLAB] if scale is None else F[:, at : at + SLAB] * scale[at : at + SLAB]
        K += part @ part.T
    return K


def _first(vectors: Array) -> Callable[[int], Array]:
    return lambda k: vectors[:, :k]


def backward(size: int, largest: float) -> float:
    return (BACKWARD + float(np.sqrt(size))) * EPS * float(largest)


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


def _unseen(R: Array, G: Array, noise: Array) -> float:
    """How much of R, of unit diagonal, a factor that stops at the rank may leave out."""
    r, d = G.shape
    if r == d:
        return 0.0
    left = np.maximum(np.diagonal(R) - np.einsum("ij,ij->j", G, G), 0.0)
    # An eigenvalue up to the bound of the rank may leave up to d times as much after d - r steps of elimination.
    return max(float(left.sum()), d * d * max(EPS * d, float(np.median(noise))))


def _jacobi(F: Array, rank: int, most: int, relative: float) -> Spectrum:
    """Spectrum of F^T F by one-sided Jacobi; eigenvectors past the rank are any orthonormal completion."""
    values, V = _jacobi_wide(F) if len(F) < F.shape[1] else _jacobi_square(F)
    values = np.concatenate([values[:rank], np.zeros(most - rank)])

    def leading(k: int) -> Array:
        return V[:, :k] if k <= rank else _completed(V[:, :rank], k)

    return Spectrum(_clipped(values, rank), leading, rank, "jacobi", relative * values)


def _completed(V: Array, k: int) -> Array:
    """V (d, r) with further orthonormal columns up to k, never d x d."""
    d, r = V.shape
    W = np.random.default_rng(0).standard_normal((d, k - r))
    for _ in range(2):  # twice is enough (Kahan, Parlett)
        W = np.linalg.qr(W - V @ (V.T @ W))[0]
    return np.hstack([V, W])


def _jacobi_square(F: Array) -> tuple[Array, Array]:
    """Eigenvalues of F^T F and eigenvectors, F (r, d) with r >= d."""
    from scipy.linalg import lapack

    # joba=0 suits columns of any scale and keeps small values; jobu=3 leaves U out, jobv=0 wants V.
    s, _, V, work, _, info = lapack.dgejsv(np.asfortranarray(F), joba=0, jobu=3, jobv=0)
    if info != 0:
        raise np.linalg.LinAlgError(f"dgejsv did not converge (info {info})")
    return (s * (work[0] / work[1])) ** 2, V


def _jacobi_wide(F: Array) -> tuple[Array, Array]:
    """The same for r < d, without a d x d matrix: rows of F^T sorted by size, then QR with column pivoting.

    That QR keeps the scale of every row (Cox and Higham 1998, BIT 38(1)), and Jacobi on its triangle loses none.
    """
    from scipy.linalg import qr

    order = np.argsort(-np.abs(F).max(axis=0), kind="stable")
    Q, R, _ = qr(F.T[order], mode="economic", pivoting=True)
    values, V = _jacobi_square(R.T)
    vectors = np.empty_like(Q)
    vectors[order] = Q @ V
    return values, vectors


def _positive(values: Array, rank: int) -> int:
    """The rank, less the eigenvalues that rounding has pushed to 0 or below."""
    return min(rank, int(np.count_nonzero(values > 0)))


def _clipped(values: Array, rank: int) -> Array:
    """The one clipping rule: past the rank an eigenvalue is 0; rounding can push one below 0 or out of order before it."""
    values = np.maximum(values, 0.0)
    values[rank:] = 0.0
    return np.sort(values)[::-1]

"""Eigenvalues and eigenvectors of S from S itself or from a factor of it, each eigenvalue with a bound on its error.

LAPACK's `eigh` and `svd` are accurate to eps times the *largest* eigenvalue. When the small ones only come from
columns of small scale, they can all be had to full accuracy: scale to unit diagonal, take a pivoted Cholesky factor,
scale it back and give it to the one-sided Jacobi SVD, whose errors do not see the scale of the columns
(Demmel and Veselic 1992, SIAM J. Matrix Anal. Appl. 13(4); Drmac and Veselic 2008, ibid. 29(4)).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pcatool.linalg.blas import factorisation_threads, side_by_side, threads
from pcatool.model import Array
from pcatool.stages import doing

Wish = int | float | str  # how many components: a number, a share of the variance, or a rule

__all__ = ["EPS", "Spectrum", "Wish", "completed", "jacobi_wide", "of_factor", "of_gram", "of_scatter", "triangle"]

EPS = float(np.finfo(np.float64).eps)

# Columns whose scales differ by more than this are worth looking at: less is no more than a few digits.
UNEQUAL = 10.0

# Jacobi is asked where the plain way leaves an eigenvalue fewer than ten digits.
SHARP = 1e-10

# Up to this many columns Jacobi costs a few hundredths of a second.
FEW = 300

# Backward errors of LAPACK's drivers are a few eps * largest, growing slowly with the size; measured ones stay below a
# third of (BACKWARD + sqrt(size)) * eps over the cases of the test suite.
BACKWARD = 4

# Columns multiplied at a time where a second copy of the data would be too much.
SLAB = 2048


class Spectrum(NamedTuple):
    """Eigenvalues, descending and not negative, zero past the rank; orthonormal eigenvectors beside them."""

    eigenvalues: Array  # (m,)
    leading: Callable[[int], Array]  # k -> the first k eigenvectors (d, k), k <= m
    rank: int
    route: str  # "eigh", "svd", "gram" or "jacobi"
    error: Array  # (m,) bounds on the absolute error of each eigenvalue, as far as rounding goes

    def sized(self, most: int) -> Spectrum:
        """With `most` eigenvalues: no more than there can be, and zeros for rows that stand for several."""
        m = len(self.eigenvalues)
        if most <= m:
            return self._replace(eigenvalues=self.eigenvalues[:most], error=self.error[:most])
        zeros = np.zeros(most - m)

        def leading(k: int) -> Array:
            return self.leading(k) if k <= m else completed(self.leading(m), k)

        values, error = np.concatenate([self.eigenvalues, zeros]), np.concatenate([self.error, zeros])
        return self._replace(eigenvalues=values, error=error, leading=leading)


def rank_of(values: NDArray[np.floating[Any]], size: int, noise: float = 0.0) -> int:
    """How many of the descending eigenvalues or singular values of a matrix of unit scale are above its rounding.

    The bound is that of numpy.linalg.matrix_rank, size * eps * largest, or the rounding already in the entries.
    """
    if not len(values) or values[0] <= 0:
        return 0
    return int(np.count_nonzero(values > size * max(EPS * float(values[0]), noise)))


def unit_rank(S: Array, scale: Array, noise: float) -> int:
    """The rank of S scaled to unit diagonal; a Cholesky factor tells that it is full in a tenth of the time."""
    d, R = len(S), _of_unit_scale(S, scale)
    # No eigenvalue is larger than the norm; twice the bound leaves room for the rounding of the factor.
    R.flat[:: d + 1] -= 2 * d * max(EPS * float(np.linalg.norm(R)), noise)
    try:
        np.linalg.cholesky(R)
    except np.linalg.LinAlgError:
        return rank_of(_scaled(S, scale), d, noise)
    return d


def triangle(F: Array) -> Array:
    """The R of a QR factorisation."""
    return np.asarray(np.linalg.qr(F, mode="r"))


def unit_scale(diagonal: Array) -> Array:
    """Square roots of a diagonal, with 1 where a column is all zero."""
    return np.where(diagonal > 0, np.sqrt(diagonal), 1.0)


def _of_unit_scale(S: Array, scale: Array) -> Array:
    R = S / scale[:, None]
    R /= scale
    return R


def _scaled(S: Array, scale: Array) -> Array:
    """Descending eigenvalues of S scaled to unit diagonal."""
    return np.asarray(np.linalg.eigvalsh(_of_unit_scale(S, scale))[::-1])


def middle(values: Array) -> float:
    """The upper median; numpy's own would import a good part of numpy for it."""
    return float(np.partition(values, len(values) // 2)[len(values) // 2])


def of_scatter(S: Array, noise: Array, wish: Wish) -> Spectrum:
    """Spectrum of a symmetric positive semidefinite S (d, d).

    `noise` (d,): entry S_ij is known to (noise_i + noise_j) * sqrt(S_ii S_jj).
    """
    doing("solving")
    d = len(S)
    scale = unit_scale(np.diagonal(S))
    with threads(factorisation_threads(d)):
        rank, (values, vectors) = side_by_side(lambda: unit_rank(S, scale, middle(noise)), lambda: np.linalg.eigh(S))
    values, vectors = values[::-1], vectors[:, ::-1]
    weight = np.abs(vectors)
    weight *= scale[:, None]
    error = 2 * weight.sum(axis=0) * (noise @ weight) + backward(d, values[0])
    if is_graded(scale) and not is_sharp(values, error, rank, wish):
        with threads(factorisation_threads(d)):
            smallest = float(_scaled(S, scale)[rank - 1])
        relative = 2 * d * (float(noise.max()) + BACKWARD * EPS) / smallest
        graded = _jacobi(_cholesky_factor(_of_unit_scale(S, scale), rank) * scale, rank, d, relative)
        # What is near a value that is known well is known well itself.
        near = np.abs(graded.eigenvalues - values) + error
        graded = graded._replace(error=np.minimum(graded.error, near))
        if rank == np.count_nonzero(np.diagonal(S)):
            return graded
        # Dependent columns: what rounding left of one of large scale may outweigh a whole one of small scale.
        plain = 2 * d * float(noise.max()) * float(np.trace(S)) + backward(d, values[0])
        return graded._replace(error=graded.error + d * plain)
    rank = _positive(values, rank)
    return Spectrum(_clipped(values, rank), _first(vectors), rank, "eigh", error)


def of_factor(F: Array, noise: Array, rows: int, wish: Wish) -> Spectrum:
    """Spectrum of F^T F from the factor F (r, d) itself, which keeps twice the digits.

    `noise` (d,): column j of F is known to noise_j times its length. `rows` went into F, and their roundings add up
    like the steps of a random walk.
    """
    doing("solving")
    r, d = F.shape
    length = np.sqrt(np.einsum("ij,ij->j", F, F))
    scale = np.where(length > 0, length, 1.0)
    with threads(factorisation_threads(min(r, d))):
        if r > d:
            F = triangle(F)
        most = min(r, d)
        scaled = np.linalg.svd(F / scale, compute_uv=False)
        rank = rank_of(scaled, max(d, math.isqrt(rows)))
        _, s, Vt = np.linalg.svd(F, full_matrices=False)
    shift = noise @ (np.abs(Vt.T) * length[:, None]) + backward(d, s[0])  # of the singular values
    error = shift * (2 * s + shift)
    if is_graded(scale) and not is_sharp(s * s, error, rank, wish):
        graded = _graded_factor(F, length, rank, most, float(scaled[rank - 1]), noise)
        near = np.abs(graded.eigenvalues - s * s) + error  # as in of_scatter
        return graded._replace(error=np.minimum(graded.error, near))
    return Spectrum(_clipped(s * s, rank), _first(Vt.T), rank, "svd", error)


def of_gram(F: Array, noise: Array, rows: int, wish: Wish) -> Spectrum:
    """Spectrum of F^T F through the small matrix F F^T (r, r), for a factor with r < d rows; never d x d.

    Directions F^T u / s lose orthogonality where s is small, so they are made orthonormal again, leading first.
    """
    doing("solving")
    r, d = F.shape
    length = np.sqrt(np.einsum("ij,ij->j", F, F))
    scale = np.where(length > 0, length, 1.0)
    with threads(factorisation_threads(r)):
        scaled, (values, U) = side_by_side(
            lambda: np.linalg.eigvalsh(_gram(F, 1.0 / scale)), lambda: np.linalg.eigh(_gram(F, None))
        )
    scaled, values, U = scaled[::-1], values[::-1], U[:, ::-1]
    rank = rank_of(scaled, d, middle(noise))
    error = np.full(r, 2 * float((noise * length) @ length) + backward(r, values[0]))
    if is_graded(scale) and not is_sharp(values, error, rank, wish):
        return _graded_factor(F, length, rank, r, float(np.sqrt(scaled[rank - 1])), noise)
    rank = _positive(values, rank)

    def leading(k: int) -> Array:
        with threads(factorisation_threads(r)):
            Q, R = np.linalg.qr(F.T @ U[:, :k])
        return Q * np.where(np.diagonal(R) < 0, -1.0, 1.0)

    return Spectrum(_clipped(values, rank), leading, rank, "gram", error)


def _graded_factor(F: Array, length: Array, rank: int, most: int, smallest: float, noise: Array) -> Spectrum:
    """Spectrum of F^T F by Jacobi; `smallest` is the least singular value of F with unit columns."""
    d = F.shape[1]
    relative = 2 * (np.sqrt(d) * float(noise.max()) + d * BACKWARD * EPS) / smallest
    graded = _jacobi(F, rank, most, relative)
    if rank == np.count_nonzero(length):
        return graded
    # Dependent columns, as in of_scatter.
    s = np.sqrt(graded.eigenvalues)
    plain = 2 * s * (float(noise @ length) + backward(d, float(np.linalg.norm(length))))
    return graded._replace(error=graded.error + d * plain)


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


def is_graded(scale: Array) -> bool:
    """Are the columns of so different a scale that taking it out could bring small eigenvalues back?"""
    return float(scale.max()) > UNEQUAL * float(scale.min())


def is_sharp(values: Array, error: Array, rank: int, wish: Wish) -> bool:
    """Are the eigenvalues that matter known to SHARP of themselves?

    All of them matter while d is small; of many, those that are kept, since Jacobi takes eight times as long.
    """
    if len(values) <= FEW or isinstance(wish, str):
        wanted = rank
    elif isinstance(wish, int):
        wanted = min(wish, rank)
    else:
        wanted = min(int(np.searchsorted(np.cumsum(values), wish * values.sum())) + 1, rank)
    return bool(np.all(error[:wanted] < SHARP * values[:wanted]))


def _cholesky_factor(R: Array, rank: int) -> Array:
    """G (rank, d) with G^T G = R, pivoted so that rounding stays where it is harmless."""
    from scipy.linalg import lapack

    with threads(factorisation_threads(len(R))):
        c, pivots, _, _ = lapack.dpstrf(R, lower=0)
    G = np.zeros((rank, len(R)))
    G[:, pivots - 1] = np.triu(c)[:rank]
    return G


def _jacobi(F: Array, rank: int, most: int, relative: float) -> Spectrum:
    """Spectrum of F^T F by one-sided Jacobi; eigenvectors past the rank are any orthonormal completion."""
    values, V = jacobi_wide(F) if len(F) < F.shape[1] else _jacobi_square(F)
    values = np.concatenate([values[:rank], np.zeros(most - rank)])

    def leading(k: int) -> Array:
        return V[:, :k] if k <= rank else completed(V[:, :rank], k)

    return Spectrum(_clipped(values, rank), leading, rank, "jacobi", relative * values)


def completed(V: Array, k: int) -> Array:
    """V (d, r) with further orthonormal columns up to k, never d x d."""
    d, r = V.shape
    W = np.random.default_rng(0).standard_normal((d, k - r))
    for _ in range(2):  # twice is enough (Kahan, Parlett)
        W = np.linalg.qr(W - V @ (V.T @ W))[0]
    return np.hstack([V, W])


def _jacobi_square(F: Array) -> tuple[Array, Array]:
    """Eigenvalues of F^T F and eigenvectors, F (r, d) with r >= d."""
    from scipy.linalg import lapack

    # joba=0 suits columns of any scale and keeps small values, jobr=0 of any size; jobu=3 leaves U out, jobv=0 wants V.
    with threads(factorisation_threads(F.shape[1])):
        s, _, V, work, _, info = lapack.dgejsv(np.asfortranarray(F), joba=0, jobu=3, jobv=0, jobr=0)
    if info != 0:
        raise np.linalg.LinAlgError(f"dgejsv did not converge (info {info})")
    return (s * (work[0] / work[1])) ** 2, V


def jacobi_wide(F: Array) -> tuple[Array, Array]:
    """The same for r < d, without a d x d matrix: rows of F^T sorted by size, then QR with column pivoting.

    That QR keeps the scale of every row (Cox and Higham 1998, BIT 38(1)), and Jacobi on its triangle loses none.
    """
    from scipy.linalg import qr

    order = np.argsort(-np.abs(F).max(axis=0), kind="stable")
    with threads(factorisation_threads(len(F))):
        Q, R, _ = qr(F.T[order], mode="economic", pivoting=True)
    values, V = _jacobi_square(R.T)
    vectors = np.empty_like(Q)
    vectors[order] = Q @ V
    return values, vectors


def _positive(values: Array, rank: int) -> int:
    """The rank, less the eigenvalues that rounding has pushed to 0 or below."""
    return min(rank, int(np.count_nonzero(values > 0)))


def _clipped(values: Array, rank: int) -> Array:
    """The one clipping rule: 0 past the rank; before it, rounding may have pushed one below 0 or out of order."""
    values = np.maximum(values, 0.0)
    values[rank:] = 0.0
    return np.sort(values)[::-1]

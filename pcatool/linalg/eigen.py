"""Eigenvalues and eigenvectors of S from S itself or from a factor of it, each eigenvalue with a bound on its error.

LAPACK's `eigh` and `svd` are accurate to eps times the *largest* eigenvalue. Where the small ones that are wanted only
come from columns of small scale, Jacobi has them to full accuracy (jacobi.py).
"""

from __future__ import annotations

import math

import numpy as np

from pcatool.arrays import Array
from pcatool.linalg.blas import factorisation_threads, factorised, threads
from pcatool.linalg.jacobi import of_graded_factor, of_graded_scatter
from pcatool.linalg.perturbation import displacement
from pcatool.linalg.spectrum import (
    EPS,
    Spectrum,
    Wish,
    backward,
    clipped,
    first,
    is_graded,
    is_sharp,
    middle,
    orthonormal,
    positive,
    rank_of,
    unit,
)
from pcatool.progress import doing
from pcatool.resources import give_back

__all__ = ["SLAB", "of_factor", "of_gram", "of_scatter", "triangle", "unit_spectrum"]

# Where little is known of S, what its factor of so low a rank leaves out may be more than rounding: the largest
# eigenvalue, which is known well whatever the scales, tells. A model whose sums have others is refused.
SAME = 1e-7

# Columns multiplied at a time where a second copy of the data would be too much.
SLAB = 2048


def triangle(F: Array) -> Array:
    """The R of a QR factorisation."""
    return np.asarray(np.linalg.qr(F, mode="r"))


def of_scatter(S: Array, noise: Array, wish: Wish, scales: Array | float = 0.0) -> Spectrum:
    """Spectrum of a symmetric positive semidefinite S (d, d).

    `noise` (d,): entry S_ij is known to (noise_i + noise_j) * sqrt(S_ii S_jj). `scales` (d,): so are, in parts of
    themselves, the numbers that the columns were divided by, on which the rank does not depend.
    """
    doing("solving")
    d, scale = len(S), _unit_scale(S)
    rank, (values, vectors) = factorised(d, lambda: _unit_rank(S, middle(noise)), lambda: np.linalg.eigh(S))
    values, vectors = values[::-1], vectors[:, ::-1]
    weight = np.abs(vectors)
    weight *= np.sqrt(np.maximum(np.diagonal(S), 0.0))[:, None]
    noise = noise + scales
    error = displacement(values, noise @ weight, weight.sum(axis=0), rank=rank) + backward(d, values[0])
    if is_graded(scale) and not is_sharp(values, error, rank, wish):
        smallest = float(unit_spectrum(S)[rank - 1])
        graded = of_graded_scatter(_of_unit_scale(S), scale, rank, smallest, noise, values, error)
        if abs(float(graded.eigenvalues[0]) - values[0]) <= SAME * values[0]:
            return graded
    rank = positive(values, rank)
    return Spectrum(clipped(values, rank), first(vectors), rank, "eigh", error)


def _unit_rank(S: Array, noise: float) -> int:
    """The rank of S scaled to unit diagonal; a Cholesky factor tells that it is full in a tenth of the time."""
    d, R = len(S), _of_unit_scale(S)
    # No eigenvalue is larger than the norm; twice the bound leaves room for the rounding of the factor.
    R.flat[:: d + 1] -= 2 * d * max(EPS * float(np.linalg.norm(R)), noise)
    try:
        np.linalg.cholesky(R)
    except np.linalg.LinAlgError:
        return rank_of(unit_spectrum(S), d, noise)
    return d


def unit_spectrum(S: Array) -> Array:
    """Descending eigenvalues of S scaled to unit diagonal."""
    with threads(factorisation_threads(len(S))):
        return np.asarray(np.linalg.eigvalsh(_of_unit_scale(S))[::-1])


def _of_unit_scale(S: Array) -> Array:
    scale = _unit_scale(S)
    R = S / scale[:, None]
    R /= scale
    return R


def _unit_scale(S: Array) -> Array:
    return unit(np.sqrt(np.maximum(np.diagonal(S), 0.0)))


def of_factor(F: Array, noise: Array, rows: int, wish: Wish, scales: Array | float = 0.0) -> Spectrum:
    """Spectrum of F^T F from the factor F (r, d) itself, which keeps twice the digits.

    `noise` (d,): column j of F is known to noise_j times its length; `scales` as of `of_scatter`. `rows` went into F,
    and their roundings add up like the steps of a random walk.
    """
    doing("solving")
    r, d = F.shape
    length = np.sqrt(np.einsum("ij,ij->j", F, F))
    scale = unit(length)
    with threads(factorisation_threads(min(r, d))):
        if r > d:
            F = triangle(F)
        scaled = np.linalg.svd(F / scale, compute_uv=False)
        rank = rank_of(scaled, max(d, math.isqrt(rows)))
        give_back()
        _, s, Vt = np.linalg.svd(F, full_matrices=False)
    noise = noise + scales
    values, error = s * s, _of_singular(s, noise @ (np.abs(Vt.T) * length[:, None]), noise * length, d, rank)
    if is_graded(scale) and not is_sharp(values, error, rank, wish):
        return of_graded_factor(F, length, rank, float(scaled[rank - 1]), noise, values, error)
    return Spectrum(clipped(values, rank), first(Vt.T), rank, "svd", error)


def _of_singular(s: Array, moved: Array, columns: Array, d: int, rank: int) -> Array:
    """Bounds on the errors of s^2; a direction v_j of F moves F v_j by `moved` (m,), a column F by `columns` (d,)."""
    own, m = backward(d, s[0]), len(s)
    if m < d:  # all directions in which F has nothing, as one
        s, moved = np.append(s, 0.0), np.append(moved, np.linalg.norm(columns))
    shift = moved + own
    return displacement(s * s, shift, s + shift / 2, rank=rank)[:m]


def of_gram(F: Array, noise: Array, rows: int, wish: Wish, scales: Array | float = 0.0) -> Spectrum:
    """Spectrum of F^T F through the small matrix F F^T (r, r), for a factor with r < d rows; never d x d.

    Directions F^T u / s lose orthogonality where s is small, so they are made orthonormal again. The rest as of
    `of_factor`.
    """
    doing("solving")
    r, d = F.shape
    length = np.sqrt(np.einsum("ij,ij->j", F, F))
    scale = unit(length)
    scaled, (values, U) = factorised(
        r, lambda: np.linalg.eigvalsh(_gram(F, 1.0 / scale)), lambda: np.linalg.eigh(_gram(F, None))
    )
    scaled, values, U = scaled[::-1], values[::-1], U[:, ::-1]
    rank = rank_of(scaled, d, middle(noise))
    noise = noise + scales
    error = np.full(r, 2 * float((noise * length) @ length) + backward(r, values[0]))
    if is_graded(scale) and not is_sharp(values, error, rank, wish):
        return of_graded_factor(F, length, rank, float(np.sqrt(scaled[rank - 1])), noise, values, error)
    rank = positive(values, rank)

    def leading(k: int) -> Array:
        with threads(factorisation_threads(r)):
            return orthonormal(F.T @ U[:, :k])

    return Spectrum(clipped(values, rank), leading, rank, "gram", error)


def _gram(F: Array, scale: Array | None) -> Array:
    """F F^T, or that of F with scaled columns, a slab of columns at a time: no second copy of F."""
    r, d = F.shape
    K = np.zeros((r, r))
    for at in range(0, d, SLAB):
        part = F[:, at : at + SLAB] if scale is None else F[:, at : at + SLAB] * scale[at : at + SLAB]
        K += part @ part.T
    return K

"""Small eigenvalues to full accuracy where only the scale of the columns makes them small, by one-sided Jacobi.

Scale to unit diagonal, take a pivoted Cholesky factor, scale it back and give it to the one-sided Jacobi SVD, whose
errors do not see the scale of the columns
(Demmel and Veselic 1992, SIAM J. Matrix Anal. Appl. 13(4); Drmac and Veselic 2008, ibid. 29(4)).
"""

from __future__ import annotations

import numpy as np

from pcatool.arrays import Array
from pcatool.linalg.blas import factorisation_threads, threads
from pcatool.linalg.spectrum import BACKWARD, EPS, Spectrum, backward, clipped, completed

__all__ = ["jacobi_wide", "of_graded_factor", "of_graded_scatter"]


def of_graded_scatter(
    R: Array, scale: Array, rank: int, smallest: float, noise: Array, values: Array, error: Array
) -> Spectrum:
    """Spectrum of R (d, d), of unit diagonal and with a `smallest` eigenvalue before the rank, its scale (d,) put back.

    The plain way found `values`, each with its `error`.
    """
    d, most = len(R), float(noise.max())
    graded = _jacobi(_cholesky_factor(R, rank) * scale, rank, d, 2 * d * (most + BACKWARD * EPS) / smallest)
    graded = _near(graded, values, error)
    varying = np.diagonal(R) > 0
    if rank == np.count_nonzero(varying):
        return graded
    # Dependent columns: what rounding left of one of large scale may outweigh a whole one of small scale.
    plain = 2 * d * most * float(scale[varying] @ scale[varying]) + backward(d, values[0])
    return graded._replace(error=graded.error + d * plain)


def of_graded_factor(
    F: Array, length: Array, rank: int, smallest: float, noise: Array, values: Array, error: Array
) -> Spectrum:
    """Spectrum of F^T F; `smallest` is the least singular value, before the rank, of F with unit columns."""
    d = F.shape[1]
    relative = 2 * (np.sqrt(d) * float(noise.max()) + d * BACKWARD * EPS) / smallest
    graded = _jacobi(F, rank, len(values), relative)
    if rank < np.count_nonzero(length):  # dependent columns, as above
        plain = 2 * np.sqrt(graded.eigenvalues) * (float(noise @ length) + backward(d, float(np.linalg.norm(length))))
        graded = graded._replace(error=graded.error + d * plain)
    return _near(graded, values, error)


def _near(graded: Spectrum, values: Array, error: Array) -> Spectrum:
    """What is near a value that is known well is known well itself."""
    return graded._replace(error=np.minimum(graded.error, np.abs(graded.eigenvalues - values) + error))


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

    return Spectrum(clipped(values, rank), leading, rank, "jacobi", relative * values)


def jacobi_wide(F: Array) -> tuple[Array, Array]:
    """Eigenvalues of F^T F and eigenvectors, F (r, d) with r < d, without a d x d matrix.

    Rows of F^T sorted by size, then QR with column pivoting: that keeps the scale of every row (Cox and Higham 1998,
    BIT 38(1)), and Jacobi on its triangle loses none.
    """
    from scipy.linalg import qr

    order = np.argsort(-np.abs(F).max(axis=0), kind="stable")
    with threads(factorisation_threads(len(F))):
        Q, R, _ = qr(F.T[order], mode="economic", pivoting=True)
    values, V = _jacobi_square(R.T)
    vectors = np.empty_like(Q)
    vectors[order] = Q @ V
    return values, vectors


def _jacobi_square(F: Array) -> tuple[Array, Array]:
    """The same for r >= d."""
    from scipy.linalg import lapack

    # joba=0 suits columns of any scale and keeps small values, jobr=0 of any size; jobu=3 leaves U out, jobv=0 wants V.
    with threads(factorisation_threads(F.shape[1])):
        s, _, V, work, _, info = lapack.dgejsv(np.asfortranarray(F), joba=0, jobu=3, jobv=0, jobr=0)
    if info != 0:
        raise np.linalg.LinAlgError(f"dgejsv did not converge (info {info})")
    return (s * (work[0] / work[1])) ** 2, V

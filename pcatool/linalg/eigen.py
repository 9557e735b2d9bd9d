"""Eigenvalues and eigenvectors of a scatter matrix S, from S or from a factor of S, with error bounds.

Begin with `spectrum_of_scatter` (from S), `spectrum_of_factor` (from F with F^T F = S) and `spectrum_of_gram` (from F
with few rows). `fix_signs` is the one sign rule of all solvers.

LAPACK's `eigh` and `svd` are accurate to eps times the *largest* eigenvalue. If eigenvalues are small only because some
columns have a small scale, one-sided Jacobi computes them to full relative accuracy: scale S to unit diagonal, compute
a pivoted Cholesky factor, undo the scaling, and apply the one-sided Jacobi SVD, whose errors do not depend on the scale
of the columns (Demmel and Veselic 1992, SIAM J. Matrix Anal. Appl. 13(4); Drmac and Veselic 2008, ibid. 29(4)).
"""

from __future__ import annotations

import math

import numpy as np

from pcatool.arrays import Array, slabs
from pcatool.linalg.blas import factorise_both, load_scipy_linalg, one_blas_thread, run_in_parallel
from pcatool.linalg.spectrum import (
    BACKWARD,
    EPS,
    Spectrum,
    Wish,
    backward_error,
    clip_eigenvalues,
    complete_basis,
    count_positive,
    eigenvalue_shifts,
    has_enough_digits,
    is_graded,
    leading_columns,
    orthonormal,
    rank_of,
    safe_divisors,
    upper_median,
)
from pcatool.progress import doing
from pcatool.resources import release_free_memory

__all__ = [
    "MOST_ROWS_IN_PARALLEL",
    "SCIPY_BYTES",
    "SLAB_COLUMNS",
    "all_eigenpairs",
    "couplings",
    "errors_of_squares",
    "fix_signs",
    "graded_spectrum_of_factor",
    "inner_products",
    "jacobi_wide",
    "scatter_spectrum_bytes",
    "spectrum_of_factor",
    "spectrum_of_gram",
    "spectrum_of_scatter",
    "triangle",
    "unit_spectrum",
]

# Relative difference from the largest entry below which an entry counts as equal to it, so that rounding does not
# decide which entry sets the sign.
NEARLY_LARGEST = 1e-8

# Entries of B per step of `fix_signs`, which works on a few columns at a time to save memory.
SIGNS_AT_ONCE = 1 << 20


def fix_signs(B: Array) -> Array:
    """Return a copy of B (d, k) in which some columns are negated, so that the largest entry of each is positive.

    The largest entry of a column is the first whose absolute value is, up to the share NEARLY_LARGEST, the largest.
    """
    d, k = B.shape
    signs = np.empty(k)
    step = max(SIGNS_AT_ONCE // d, 1)
    for at in range(0, k, step):
        size = np.abs(B[:, at : at + step])
        leading = np.argmax(size >= (1.0 - NEARLY_LARGEST) * size.max(axis=0), axis=0)
        signs[at : at + step] = np.where(B[leading, np.arange(at, at + size.shape[1])] < 0, -1.0, 1.0)
    return signs * B


def graded_spectrum_of_scatter(
    R: Array, scale: Array, rank: int, smallest: float, rounding: Array, values: Array, error: Array
) -> Spectrum:
    """Return the spectrum of S = diag(scale) R diag(scale) by Jacobi, for R (d, d) of unit diagonal.

    `smallest` is the smallest eigenvalue of R within the rank. `rounding` (d,): entry S_ij has an error of at most
    (rounding_i + rounding_j) * sqrt(S_ii S_jj). `values` and `error` (d,) are the eigenvalues of S from LAPACK's `eigh`
    and their error bounds, which can tighten those of Jacobi.
    """
    d, noisiest = len(R), float(rounding.max())
    graded = _jacobi(_cholesky_factor(R, rank) * scale, rank, d, 2 * d * (noisiest + BACKWARD * EPS) / smallest)
    graded = _tightened(graded, values, error)
    varying = np.diagonal(R) > 0
    if rank == np.count_nonzero(varying):
        return graded
    # Dependent columns: the rounding of a column of large scale may exceed a whole column of small scale.
    plain = 2 * d * noisiest * float(scale[varying] @ scale[varying]) + backward_error(d, values[0])
    return graded._replace(error=graded.error + d * plain)


def graded_spectrum_of_factor(
    F: Array, length: Array, rank: int, smallest: float, rounding: Array, values: Array, error: Array
) -> Spectrum:
    """Return the spectrum of F^T F by Jacobi, for F (r, d) with columns of `length` (d,).

    `smallest` is the smallest singular value, within the rank, of F with its columns scaled to unit length. `rounding`
    (d,): column j of F has an error of at most rounding_j times its length. `values` and `error`, the eigenvalues of
    F^T F from LAPACK and their error bounds, can tighten the bounds of Jacobi; the result has as many eigenvalues.
    """
    d = F.shape[1]
    relative = 2 * (np.sqrt(d) * float(rounding.max()) + d * BACKWARD * EPS) / smallest
    graded = _jacobi(F, rank, len(values), relative)
    if rank < np.count_nonzero(length):  # dependent columns, as in `graded_spectrum_of_scatter`
        plain = (
            2
            * np.sqrt(graded.eigenvalues)
            * (float(rounding @ length) + backward_error(d, float(np.linalg.norm(length))))
        )
        graded = graded._replace(error=graded.error + d * plain)
    return _tightened(graded, values, error)


def _tightened(graded: Spectrum, values: Array, error: Array) -> Spectrum:
    """Return the spectrum `graded`, from Jacobi, with smaller error bounds where LAPACK's eigenvalues give them.

    `values` are the eigenvalues from LAPACK, and `error` their error bounds.
    """
    return graded._replace(error=np.minimum(graded.error, np.abs(graded.eigenvalues - values) + error))


def _cholesky_factor(R: Array, rank: int) -> Array:
    """Return G (rank, d) with G^T G = R up to rounding, for R (d, d) of this rank, by Cholesky with pivoting."""
    with one_blas_thread():
        c, pivots, _, _ = load_scipy_linalg().lapack.dpstrf(R, lower=0)
    G = np.zeros((rank, len(R)))
    G[:, pivots - 1] = np.triu(c)[:rank]
    return G


def _jacobi(F: Array, rank: int, count: int, relative: float) -> Spectrum:
    """Return the spectrum of F^T F by one-sided Jacobi, padded with zeros from the rank to `count` eigenvalues.

    `relative` is the relative error bound of each eigenvalue. Eigenvectors past the rank are any orthonormal
    completion.
    """
    values, V = jacobi_wide(F) if len(F) < F.shape[1] else _jacobi_square(F)
    values = np.concatenate([values[:rank], np.zeros(count - rank)])

    def leading(k: int) -> Array:
        return V[:, :k] if k <= rank else complete_basis(V[:, :rank], k)

    return Spectrum(clip_eigenvalues(values, rank), leading, rank, "jacobi", relative * values)


def jacobi_wide(F: Array) -> tuple[Array, Array]:
    """Return eigenvalues (r,) and eigenvectors (d, r) of F^T F, for F (r, d) with r < d, without a d x d matrix.

    The rows of F^T are sorted by size, then factorised by QR with column pivoting, which preserves the scale of every
    row (Cox and Higham 1998, BIT 38(1)). Jacobi on the triangular factor preserves this scale, too.
    """
    order = np.argsort(-np.abs(F).max(axis=0), kind="stable")
    with one_blas_thread():
        Q, R, _ = load_scipy_linalg().qr(F.T[order], mode="economic", pivoting=True)
    values, V = _jacobi_square(R.T)
    vectors = np.empty_like(Q)
    vectors[order] = Q @ V
    return values, vectors


def _jacobi_square(F: Array) -> tuple[Array, Array]:
    """Return eigenvalues (d,) and eigenvectors (d, d) of F^T F by Jacobi, for F (r, d) with r >= d.

    Raise LinAlgError if Jacobi does not converge.
    """
    # joba=0: columns of any scale, small values kept. jobr=0: values of any size. jobu=3: no U. jobv=0: compute V.
    with one_blas_thread():
        jacobi = load_scipy_linalg().lapack.dgejsv
        s, _, V, work, _, info = jacobi(np.asfortranarray(F), joba=0, jobu=3, jobv=0, jobr=0)
    if info != 0:
        raise np.linalg.LinAlgError(f"dgejsv did not converge (info {info})")
    return (s * (work[0] / work[1])) ** 2, V


# Largest relative difference of the leading eigenvalue between Jacobi and `eigh`, which is accurate for this one. If S
# has few known digits, its factor of low rank may leave out more than rounding; a larger difference shows this, and the
# result of `eigh` is used. A saved model is refused if its eigenvalues differ from those of its sums.
LEADING_AGREEMENT = 1e-7

# Above this number of columns a matrix is wide: its eigenvectors are computed with less memory.
WIDE = 1000

# Above this number of rows, two matrices of inner products are factorised one after the other, to save memory.
MOST_ROWS_IN_PARALLEL = 2047

# Bytes of SciPy's own LAPACK, with buffers for its threads.
SCIPY_BYTES = 32 << 20

# Columns per step of a product, where a second copy of the data would take too much memory.
SLAB_COLUMNS = 2048


def triangle(F: Array) -> Array:
    """Return the factor R (min(r, d), d) of a QR factorisation of F (r, d)."""
    return np.asarray(np.linalg.qr(F, mode="r"))


def spectrum_of_scatter(S: Array, rounding: Array, wish: Wish, scale_rounding: Array | float = 0.0) -> Spectrum:
    """Return the spectrum of a symmetric positive semidefinite S (d, d), by `eigh` or by Jacobi.

    Jacobi is used if eigenvalues have too few digits for `wish`, the requested components.
    `rounding` (d,): entry S_ij has an error of at most (rounding_i + rounding_j) * sqrt(S_ii S_jj). `scale_rounding`
    (d,): relative errors of the numbers by which the columns were divided; the rank does not depend on these errors.
    """
    doing("solving")
    d, scale = len(S), _unit_scale(S)
    typical = upper_median(rounding)
    rank, (values, vectors) = factorise_both(
        lambda: _unit_rank(S, typical), lambda: all_eigenpairs(S), in_parallel=d <= WIDE
    )
    values, vectors = values[::-1], vectors[:, ::-1]
    rounding = rounding + scale_rounding
    p, q = couplings(vectors, np.sqrt(np.maximum(np.diagonal(S), 0.0)), rounding)
    error = eigenvalue_shifts(values, p, q, rank=rank) + backward_error(d, values[0])
    if is_graded(scale) and not has_enough_digits(values, error, rank, wish):
        smallest = float(unit_spectrum(S)[rank - 1])
        graded = graded_spectrum_of_scatter(_of_unit_scale(S), scale, rank, smallest, rounding, values, error)
        if abs(float(graded.eigenvalues[0]) - values[0]) <= LEADING_AGREEMENT * values[0]:
            return graded
    rank = count_positive(values, rank)
    return Spectrum(clip_eigenvalues(values, rank), leading_columns(vectors), rank, "eigh", error)


def scatter_spectrum_bytes(d: int) -> int:
    """Return the bytes of `spectrum_of_scatter` for d columns, in addition to S.

    Four matrices for the eigenvectors, and at the same time scaled S and its two copies for the rank. For more than
    WIDE columns, the rank comes first, and then three matrices for the eigenvectors and a quarter of freed memory.
    """
    return SCIPY_BYTES + 26 * d * d if d > WIDE else 8 * 7 * d * d


def all_eigenpairs(S: Array) -> tuple[Array, Array]:
    """Return the ascending eigenvalues (d,) of S and its eigenvectors (d, d) by LAPACK's dsyevd.

    For more than WIDE columns, the steps of dsyevd are called one by one on a copy of S, with the same bits; the last
    step runs in two threads, each for half of the eigenvectors. Raise LinAlgError if LAPACK does not converge.
    """
    if len(S) <= WIDE:
        values, vectors = np.linalg.eigh(S)
        return values, vectors
    lapack, d = load_scipy_linalg().lapack, len(S)
    unit = 2.0 ** -math.frexp(float(np.trace(S)))[1]  # a power of two: products with it are exact
    work, _ = lapack.dsytrd_lwork(d, lower=1)
    T, diagonal, beside, tau, _ = lapack.dsytrd((S * unit).T, lower=1, lwork=int(work), overwrite_a=1)
    values, Z, info = lapack.dstevd(diagonal, beside)
    if info != 0:
        raise np.linalg.LinAlgError(f"dstevd did not converge (info {info})")
    reflectors = np.asfortranarray(T[1:, :-1])
    del T

    def rotate(columns: slice) -> None:
        part = np.asfortranarray(Z[1:, columns])
        work = int(lapack.dormqr("L", "N", reflectors, tau, part, -1, overwrite_c=1)[1][0])
        Z[1:, columns] = lapack.dormqr("L", "N", reflectors, tau, part, work, overwrite_c=1)[0]

    half = d // 128 * 64  # of whole groups of columns, as BLAS treats them: another half would give other bits
    run_in_parallel(lambda: rotate(slice(half)), lambda: rotate(slice(half, d)))
    return values / unit, Z


def couplings(V: Array, root: Array, rounding: Array) -> tuple[Array, Array]:
    """Return p and q (m,), from which `eigenvalue_shifts` bounds errors, for the eigenvectors V (d, m) of S.

    `root` (d,) has the square roots of the diagonal of S, `rounding` (d,) the relative errors of its columns.
    """
    p, q = [], []
    for columns in slabs(V.shape[1]):
        weight = np.abs(V[:, columns])
        weight *= root[:, None]
        p.append(rounding @ weight)
        q.append(weight.sum(axis=0))
    return np.concatenate(p), np.concatenate(q)


def _unit_rank(S: Array, rounding: float) -> int:
    """Return the rank of S scaled to unit diagonal, for entries with the relative error `rounding`.

    A Cholesky factorisation is tried first: success shows full rank, in a tenth of the time of the eigenvalues.
    """
    d, R = len(S), _of_unit_scale(S)
    # The norm bounds every eigenvalue; twice the tolerance leaves room for the rounding of the factor.
    R.flat[:: d + 1] -= 2 * d * max(EPS * float(np.linalg.norm(R)), rounding)
    try:
        np.linalg.cholesky(R)
    except np.linalg.LinAlgError:
        return rank_of(unit_spectrum(S), d, rounding)
    return d


def unit_spectrum(S: Array) -> Array:
    """Return the descending eigenvalues (d,) of S scaled to unit diagonal."""
    with one_blas_thread():
        return np.asarray(np.linalg.eigvalsh(_of_unit_scale(S))[::-1])


def _of_unit_scale(S: Array) -> Array:
    """Return S (d, d) scaled to unit diagonal; rows and columns with a diagonal of 0 are not scaled."""
    scale = _unit_scale(S)
    R = S / scale[:, None]
    R /= scale
    return R


def _unit_scale(S: Array) -> Array:
    """Return the square roots (d,) of the diagonal of S, with 1 for 0 and below."""
    return safe_divisors(np.sqrt(np.maximum(np.diagonal(S), 0.0)))


def spectrum_of_factor(
    F: Array, rounding: Array, rows: int, wish: Wish, scale_rounding: Array | float = 0.0
) -> Spectrum:
    """Return the spectrum of F^T F from the SVD of F (r, d), which keeps twice the digits of F^T F.

    Jacobi is used if eigenvalues have too few digits for `wish`, the requested components.
    `rounding` (d,): column j of F has an error of at most rounding_j times its length. `scale_rounding` (d,): relative
    errors of the numbers by which the columns were divided; the rank does not depend on these errors. `rows` is the
    number of rows that F was computed from; the tolerance of the rank grows with the square root of this number, since
    rounding errors of rows add up like the steps of a random walk.
    """
    doing("solving")
    r, d = F.shape
    length = np.sqrt(np.einsum("ij,ij->j", F, F))
    scale = safe_divisors(length)
    with one_blas_thread():
        if r > d:
            F = triangle(F)
        scaled = np.linalg.svd(F / scale, compute_uv=False)
        rank = rank_of(scaled, max(d, math.isqrt(rows)))
        release_free_memory()
        _, s, Vt = np.linalg.svd(F, full_matrices=False)
    rounding = rounding + scale_rounding
    values, error = (
        s * s,
        errors_of_squares(s, rounding @ (np.abs(Vt.T) * length[:, None]), rounding * length, d, rank),
    )
    if is_graded(scale) and not has_enough_digits(values, error, rank, wish):
        return graded_spectrum_of_factor(F, length, rank, float(scaled[rank - 1]), rounding, values, error)
    return Spectrum(clip_eigenvalues(values, rank), leading_columns(Vt.T), rank, "svd", error)


def errors_of_squares(s: Array, vector_errors: Array, column_errors: Array, d: int, rank: int) -> Array:
    """Return error bounds (m,) of the eigenvalues s^2, for singular values s (m,) of a factor F.

    `vector_errors` (m,) bounds the error of F v_j for each right singular vector v_j of F; `column_errors` (d,) bounds
    the error of each column of F.
    """
    own_error, m = backward_error(d, s[0]), len(s)
    if m < d:  # the null space of F, represented by one direction
        s, vector_errors = np.append(s, 0.0), np.append(vector_errors, np.linalg.norm(column_errors))
    shift = vector_errors + own_error
    return eigenvalue_shifts(s * s, shift, s + shift / 2, rank=rank)[:m]


def spectrum_of_gram(F: Array, rounding: Array, rows: int, wish: Wish, scale_rounding: Array | float = 0.0) -> Spectrum:
    """Return the spectrum of F^T F from the eigenvectors of F F^T (r, r), for F (r, d) with r < d.

    No d x d matrix is formed. The directions F^T u / s lose orthogonality where s is small, so the directions are made
    orthonormal again. The parameters are those of `spectrum_of_factor`; `rows` has no effect.
    """
    doing("solving")
    r, d = F.shape
    length = np.sqrt(np.einsum("ij,ij->j", F, F))
    scale = safe_divisors(length)
    scaled, (values, U) = factorise_both(
        lambda: np.linalg.eigvalsh(inner_products(F, 1.0 / scale)),
        lambda: np.linalg.eigh(inner_products(F, None)),
        in_parallel=r <= MOST_ROWS_IN_PARALLEL,
    )
    scaled, values, U = scaled[::-1], values[::-1], U[:, ::-1]
    rank = rank_of(scaled, d, upper_median(rounding))
    rounding = rounding + scale_rounding
    error = np.full(r, 2 * float((rounding * length) @ length) + backward_error(r, values[0]))
    if is_graded(scale) and not has_enough_digits(values, error, rank, wish):
        return graded_spectrum_of_factor(F, length, rank, float(np.sqrt(scaled[rank - 1])), rounding, values, error)
    rank = count_positive(values, rank)

    def leading(k: int) -> Array:
        with one_blas_thread():
            return orthonormal(F.T @ U[:, :k])

    return Spectrum(clip_eigenvalues(values, rank), leading, rank, "gram", error)


def inner_products(F: Array, scale: Array | None) -> Array:
    """Return F F^T (r, r), with the columns of F multiplied by `scale` (d,) if given.

    Columns are processed in slabs, so that no second copy of F is made.
    """
    r, d = F.shape
    K = np.zeros((r, r))
    for at in range(0, d, SLAB_COLUMNS):
        part = (
            F[:, at : at + SLAB_COLUMNS]
            if scale is None
            else F[:, at : at + SLAB_COLUMNS] * scale[at : at + SLAB_COLUMNS]
        )
        K += part @ part.T
    return K

"""Eigenvalues and eigenvectors of a kernel matrix, by the cheapest way that finds what is asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from pcatool.arrays import Array, Runner
from pcatool.errors import RefusedError
from pcatool.kernels.base import slabs
from pcatool.kernels.functions import EPS
from pcatool.kernels.lanczos import leading
from pcatool.linalg.blas import factorisation_threads, threads
from pcatool.linalg.certificate import VOUCHED
from pcatool.linalg.spectrum import Wish, backward, clipped
from pcatool.progress import doing

__all__ = [
    "LANCZOS",
    "LAPACK",
    "KernelSpectrum",
    "center",
    "centring",
    "check_finite",
    "choose",
    "product",
    "solve",
    "total_above",
    "usual_space",
]

LANCZOS, LAPACK = "lanczos", "lapack"

# LAPACK takes a tenth of a second for so many rows.
FEW_ROWS = 1024

# Up to this part of all components Lanczos is the faster: 5,000 rows took it 3 s for 250 and 7.5 s for 400, LAPACK 9 s.
PART = 16

# The largest space as a part of n: for a number of components, and for a share, which may need nearly all of them.
SPACE, SPACE_FOR_SHARE = 2, 4

# Roundings of one value of a kernel and of its centring.
ROUNDINGS = 4

# Where the largest value is smaller, what smaller ones and products lose by underflow is no longer below its rounding.
LEAST = np.finfo(np.float64).tiny / EPS


class KernelSpectrum(NamedTuple):
    """Eigenvalues, descending, 0 past the rank; orthonormal eigenvectors beside them."""

    values: Array  # (m,)
    vectors: Array  # (n, m)
    error: Array  # (m,) bounds on the absolute error of each eigenvalue
    total: float  # sum of all eigenvalues above 0
    rank: int
    solver: str
    reason: str
    negative: int  # eigenvalues below 0 by more than rounding
    lowest: float


def choose(n: int, wish: Wish, *, definite: bool, flat: bool) -> tuple[str, str]:
    """The solver and why: from the sizes, the wish and the kernel alone."""
    if n <= FEW_ROWS:
        return LAPACK, f"{n} rows: all eigenvalues at once take a moment"
    if not definite:
        return LAPACK, "eigenvalues may be negative, so all of them are looked at"
    if isinstance(wish, str):
        return LAPACK, "a rule looks at every eigenvalue"
    if flat:
        return LAPACK, "the leading eigenvalues are nearly equal"
    if isinstance(wish, int) and wish > n // PART:
        return LAPACK, f"{wish} components are more than a {PART}th of {n} rows"
    return LANCZOS, f"few components of {n} rows"


def usual_space(n: int, k: int) -> int:
    """Vectors that Lanczos spans for k components: 150 to 20 k where they were counted, three times that to be safe."""
    return min(n // SPACE, 500 + 60 * k)


def check_finite(K: Array, name: str) -> float:
    """The largest value of a kernel matrix; one that overflows, or is all but nothing, is refused."""
    with np.errstate(all="ignore"):
        most = [np.maximum(K[rows].max(), -K[rows].min()) for rows in slabs(len(K), len(K))]
        largest = float(np.max(most))  # unlike Python's, it lets no NaN go by
    if not np.isfinite(largest):
        raise RefusedError(
            f"values of kernel {name} overflow a double",
            "rescale the columns, as --standardize does, or give a smaller --gamma or --degree",
        )
    if 0 < largest < LEAST:
        raise RefusedError(f"values of kernel {name} underflow a double", "rescale the columns, as --standardize does")
    return largest


def center(K: Array, run: Runner) -> Array:
    """K made H K H in place; the means of its rows before."""
    n = len(K)
    means = np.concatenate(list(run(lambda rows: K[rows].mean(axis=1), slabs(n, n))))
    about = means - means.mean() / 2

    def subtract(rows: slice) -> None:
        K[rows] -= about
        K[rows] -= about[rows, None]

    for _ in run(subtract, slabs(n, n)):
        pass
    return means


def centring(n: int, largest: float) -> tuple[float, float]:
    """What `center` adds to the norm of the error of K (n, n) with values up to `largest`, and the error of its means.

    Each entry is rounded twice, where it is no more than 2.5 and 4 times the largest. The means are known to 20 eps:
    what they are off by stands in whole rows and columns, so that it couples every eigenvector to 1 alone: `leaning`.
    """
    each = 3.25 * EPS * n * largest
    return each, 20 * EPS * n * largest + each


def leaning(values: Array, error: Array | float, means: float) -> Array:
    """What errors e = `means` that couple each eigenvector to 1 do to eigenvalues: e^2 over the gap (Li and Li 2005).

    Along 1 there is nothing but errors, 2 e at the most.
    """
    gap = values - error - 2 * means
    return np.where(gap > means, means * (means / np.where(gap > 0, gap, 1.0)), 2 * means)


def product(K: Array, run: Runner) -> Callable[[Array], Array]:
    """V -> K V, by blocks of rows whose cuts depend on n alone."""

    def apply(V: Array) -> Array:
        V = np.ascontiguousarray(V)
        return np.concatenate(list(run(lambda rows: K[rows] @ V, slabs(len(K), len(K)))))

    return apply


def solve(
    K: Array,
    wish: Wish,
    largest: float,
    doubt: float,
    run: Runner,
    *,
    centred: bool,
    definite: bool,
    flat: bool,
    before_lapack: Callable[[], None] = lambda: None,
) -> KernelSpectrum:
    """The spectrum of a symmetric K (n, n) whose entries come from values up to `largest`.

    `doubt` bounds the norm of what rounding did to K before it was centred. The rank is judged by what rounding does as
    a rule, so that it is the same for kernels whose values are proved to fewer digits than they have.
    `before_lapack` may refuse what takes more memory than was reckoned with.
    """
    doing("solving")
    n = len(K)
    trace = float(np.trace(K))
    noise = ROUNDINGS * EPS * n * largest  # the norm of a matrix whose every entry is off by that much
    each, means = centring(n, largest) if centred else (0.0, 0.0)
    doubt += each
    name, reason = choose(n, wish, definite=definite, flat=flat)
    if name == LANCZOS:
        found = _by_lanczos(K, wish, trace, noise, (doubt, means), run, reason)
        if found is not None:
            return found
        before_lapack()
        doing("solving")
        reason = f"Lanczos found no end within {n // SPACE_FOR_SHARE} vectors"
    with threads(factorisation_threads(n)):
        values, vectors = np.linalg.eigh(K)
    values, vectors = values[::-1], vectors[:, ::-1]
    bound = noise + backward(n, max(values[0], -values[-1]))
    solved = doubt + backward(n, max(values[0], -values[-1]))
    error = solved + leaning(values, solved, means)
    negative = 0 if definite else int(np.count_nonzero(values < -bound))
    rank = int(np.count_nonzero(values > bound))
    total = total_above(values[:rank], trace, negative)
    return KernelSpectrum(
        clipped(values, rank), vectors, error, total, rank, LAPACK, reason, negative, float(values[-1])
    )


def total_above(kept: Array, trace: float, negative: int) -> float:
    """Sum of all eigenvalues above 0: the trace, unless some are below 0, of which `negative` by more than rounding.

    Where values of the kernel hardly differ, those that rounding makes negative take digits from the trace.
    """
    total = float(kept.sum())
    return total if negative or total > trace + VOUCHED * abs(trace) else trace


def _by_lanczos(
    K: Array, wish: Wish, trace: float, noise: float, doubts: tuple[float, float], run: Runner, reason: str
) -> KernelSpectrum | None:
    n = len(K)
    apply = product(K, run)
    if isinstance(wish, int):
        pairs = leading(apply, n, lambda values: min(wish, len(values)), most=n // SPACE, known=wish)
    else:
        pairs = leading(apply, n, lambda values: _reaching(values, trace, wish), most=n // SPACE_FOR_SHARE, known=None)
    if pairs is None:
        return None
    # The space's own residuals do not see the rounding of its products.
    bound = noise + backward(n, pairs.values[0])
    rank = int(np.count_nonzero(pairs.values > bound))
    values = clipped(pairs.values, rank)
    error = pairs.residual + doubts[0] + backward(n, pairs.values[0])
    error = error + leaning(pairs.values, error, doubts[1])
    total = total_above(values[:rank], trace, 0)
    return KernelSpectrum(values, pairs.vectors, error, total, rank, LANCZOS, reason, 0, 0.0)


def _reaching(values: Array, trace: float, share: float | str) -> int | None:
    """How many of the values make up the share of the trace, if they do."""
    captured = np.cumsum(np.maximum(values, 0.0))
    k = int(np.searchsorted(captured, float(share) * trace)) + 1
    return k if k <= len(values) else None

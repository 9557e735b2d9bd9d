"""The number of components that best predicts cells left out: bi-cross-validation.

When to prefer it: no model of the noise can be trusted, the rows are at hand, and prediction is what counts. Weak
components that are there but do not help to predict are left out.
Half of the rows and half of the columns are left out together. The other half of the columns of those rows, and the
remaining rows, predict the block: A = B D_k^+ C, where D_k is the best approximation of rank k of what neither lost its
row nor its column. Every cell is left out once in each of several random halvings. So at most half of the smaller of n
and d can be chosen. Leaving out whole rows instead would have the error fall with every component.
Assumes that a component shows in many rows and columns. Means are those of the remaining rows when centred, else 0;
standard deviations are those of all rows.
Reference: Owen and Perry 2009, "Bi-cross-validation of the SVD and the nonnegative matrix factorization", Annals of
Applied Statistics 3(2); why not whole rows: Bro et al. 2008, Analytical and Bioanalytical Chemistry 390(5).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from pcatool.errors import RefusedError
from pcatool.linalg.blas import factorisation_threads, threads
from pcatool.linalg.spectral import EPS
from pcatool.model import Array
from pcatool.rules.base import Choice, Evidence

__all__ = ["cross_validation", "errors_left_out"]

Indices = NDArray[np.intp]

# Random halvings, and the multiplications, n d min(n, d), past which there are fewer: large data need fewer.
MOST, WORK = 8, 4e9

# Errors are differences of sums of squares; this much of the whole is rounding.
ROUNDING = 1e-12


def cross_validation(evidence: Evidence, number: float | None = None) -> Choice:
    if evidence.rank < 2:
        return Choice(1, "the rank of the data")
    if evidence.rows is None:
        raise RefusedError(
            "cross-validation needs the rows, and they are not held: too many, or only their model is given",
            "try a rule that works from the eigenvalues, such as gavish-donoho or parallel, or fit fewer rows",
        )
    Y = evidence.rows()
    most = min(len(Y) // 2 - evidence.centered, Y.shape[1] // 2)
    if most < 1:
        return Choice(1, "too few rows or columns to leave half of them out")
    roots = np.ones(len(Y)) if evidence.weights is None else np.sqrt(evidence.weights())
    errors = errors_left_out(Y, roots, most, evidence.centered, evidence.seed)
    k = int(np.flatnonzero(errors <= errors.min() + ROUNDING * errors[0])[0])
    what = f"smallest error on cells left out, of 0 to {most} components"
    return Choice(k, what) if k else Choice(1, f"{what}: none helps, so 1 is kept")


def errors_left_out(Y: Array, roots: Array, most: int, centered: bool, seed: int) -> Array:
    """Sum of squared errors of k = 0 to `most` components, (most + 1,); rows come times the roots of their weights."""
    n, d = Y.shape
    Y = Y / np.abs(Y).max()  # squares of any scale stay in range
    halvings = int(max(1, min(MOST, WORK // (n * d * min(n, d)))))
    rng = np.random.default_rng(seed)
    errors = np.zeros(most + 1)
    with threads(factorisation_threads(d)):
        for _ in range(halvings):
            columns = list(halves(rng, d))
            for rest, left in halves(rng, n):
                mean = roots[rest] @ Y[rest] / (roots[rest] @ roots[rest]) if centered else np.zeros(d)
                known, new = Y[rest] - np.outer(roots[rest], mean), Y[left] - np.outer(roots[left], mean)
                for given, hidden in columns:
                    errors += block_errors(new[:, hidden], new[:, given], known[:, hidden], known[:, given], most)
    return errors


def halves(rng: np.random.Generator, count: int) -> Iterator[tuple[Indices, Indices]]:
    """Two halves of 0 to count - 1 in random order, then the same the other way round."""
    order = rng.permutation(count)
    one, other = np.sort(order[: count // 2]), np.sort(order[count // 2 :])
    yield one, other
    yield other, one


def block_errors(A: Array, B: Array, C: Array, D: Array, most: int) -> Array:
    """|A - B D_k^+ C|^2 for k = 0 to `most`, from one SVD; past the rank of D nothing changes.

    B D_k^+ C is a sum of k products l_j r_j^T, so its error is
    |A|^2 - 2 sum <A, l_j r_j> + sum <l_i, l_j> <r_i, r_j>.
    """
    U, s, Vt = np.linalg.svd(D, full_matrices=False)
    r = min(most, int(np.count_nonzero(s > max(D.shape) * EPS * s[0])))
    L = B @ Vt[:r].T / s[:r]
    R = U[:, :r].T @ C
    shared = np.cumsum(np.einsum("ij,ij->j", A @ R.T, L))
    squares = np.cumsum(np.cumsum((L.T @ L) * (R @ R.T), axis=0), axis=1).diagonal()
    errors = np.append(0.0, squares - 2 * shared) + float(np.sum(A * A))
    return np.append(errors, np.full(most - r, errors[-1]))

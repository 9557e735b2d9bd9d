"""Rule `cross-validation`: keep the number of components that best predicts each cell from the rest of its row.

When to prefer it: no model of the noise can be trusted, the rows are in memory, and the components serve to fill in or
to clean cells. Real components that are too weak to improve the prediction are left out, as in `gavish-donoho`.
This is the eigenvector method. Groups of rows are left out of the fit in turn. In a row that is left out, each cell is
left out in turn, the scores are fitted to the other cells, and the cell is compared with its prediction
x_j - (x - P P^T x)_j / (1 - (P P^T)_jj). If only whole rows were left out, the error would fall with every component,
since the scores of a row are computed from its cells.
Assumes columns of similar scale: a column that makes a component of its own cannot be predicted, and where one column
has far larger values than all others, no number of components helps. Means are those of the rows of the fit if
centred, else 0; standard deviations are those of all rows.
Reference: Bro, Kjeldahl, Smilde and Kiers 2008, "Cross-validation of component models: a critical look at current
methods", Analytical and Bioanalytical Chemistry 390(5).
"""

from __future__ import annotations

import numpy as np

from pcatool.arrays import Array
from pcatool.errors import RefusedError
from pcatool.linalg.blas import one_blas_thread
from pcatool.linalg.spectrum import EPS
from pcatool.rules.base import Choice, Evidence

__all__ = ["bytes_of_rows", "cross_validation", "errors_left_out"]

# Number of folds, groups of rows that are each left out once: FOLDS, or FEWER_FOLDS if a fit takes more than MAX_WORK
# multiplications, n d min(n, d).
FOLDS, FEWER_FOLDS, MAX_WORK = 10, 5, 4e9

# Rows worked on at a time where a second copy of all rows would be too large.
ROWS_PER_STEP = 4096

# A column whose squared part outside the components is below this makes a component of its own: other columns cannot
# predict the column, and its mean is the best prediction.
LEAST_OUTSIDE = 1e-12


def cross_validation(evidence: Evidence, number: float | None = None) -> Choice:
    """Choose the number of components with the smallest error of prediction, at least 1; `number` is not used.

    Raise `RefusedError` if the evidence has no rows.
    """
    if evidence.rank < 2:
        return Choice(1, "the data have rank 1, so cross-validation was not run")
    if evidence.rows is None:
        raise RefusedError(
            "cross-validation needs all rows in memory, but there are too many rows, or only a model was given",
            "use a rule that needs only eigenvalues, such as gavish-donoho or parallel, or give a table of fewer rows",
        )
    Y = evidence.rows()
    roots = np.ones(len(Y)) if evidence.weights is None else np.sqrt(evidence.weights())
    errors = errors_left_out(Y, roots, evidence.centered, evidence.seed)
    k = int(np.argmin(errors))
    if k:
        return Choice(
            min(k, evidence.rank), f"smallest error on left-out cells among 0 to {len(errors) - 1} components"
        )
    return Choice(1, "0 components have the smallest error on left-out cells, but a model needs at least 1")


def bytes_of_rows(n: int, d: int) -> int:
    """Return the bytes of cross-validation of n rows of d columns, including the rows."""
    if n >= d:
        return 8 * (2 * n * d + 14 * d * d)
    return 8 * (9 * n * d + 6 * n * n)  # includes the directions and LAPACK's copies of them


def errors_left_out(Y: Array, roots: Array, centered: bool, seed: int) -> Array:
    """Return the sums (m + 1,) of squared errors of predicting left-out cells; entry k is for k components.

    m is the most components that every fit can have. The unit is the square of the largest |Y_ij|. The rows Y (n, d)
    are already multiplied by the roots (n,) of their weights. `seed` sets the random folds. Memory in addition to Y:
    the rows of one fit.
    """
    n, d = Y.shape
    largest = max(Y.max(), -Y.min())
    folds = min(n, FOLDS if n * d * min(n, d) < MAX_WORK else FEWER_FOLDS)
    max_components = min(d - 1, n - -(-n // folds) - centered)
    order = np.random.default_rng(seed).permutation(n)
    errors = np.zeros(max_components + 1)
    with one_blas_thread():
        for fold in range(folds):
            left_out = np.zeros(n, dtype=bool)
            left_out[order[fold::folds]] = True
            R, Z = Y[~left_out], Y[left_out]
            for rows in (R, Z):
                rows /= largest  # squares of any scale stay in range
            mean = roots[~left_out] @ R / (roots[~left_out] @ roots[~left_out]) if centered else np.zeros(d)
            V = directions(centred(R, roots[~left_out], mean), max_components)
            del R
            errors += fold_errors(centred(Z, roots[left_out], mean), V, max_components)
    return errors


def centred(Z: Array, roots: Array, mean: Array) -> Array:
    """Subtract `mean` (d,) times the roots (n,) of the weights from rows Z (n, d) times these roots; return Z."""
    for start in range(0, len(Z), ROWS_PER_STEP):
        Z[start : start + ROWS_PER_STEP] -= np.outer(roots[start : start + ROWS_PER_STEP], mean)
    return Z


def directions(Z: Array, max_components: int) -> Array:
    """Return the r leading directions (d, r) of the rows Z (n, d), with r the rank or `max_components` if less.

    The directions are computed from the smaller of Z^T Z and Z Z^T.
    """
    tall = len(Z) >= Z.shape[1]
    values, vectors = np.linalg.eigh(Z.T @ Z if tall else Z @ Z.T)
    values, vectors = values[::-1], vectors[:, ::-1]
    r = min(max_components, int(np.count_nonzero(values > max(Z.shape) * EPS * values[0])))
    # QR restores orthogonality, which division by small eigenvalues loses.
    return np.asarray(vectors[:, :r] if tall else np.linalg.qr(Z.T @ vectors[:, :r] / np.sqrt(values[:r]))[0])


def fold_errors(X: Array, V: Array, max_components: int) -> Array:
    """Return the sums of squared errors of predicting each cell of the rows X (n, d) from the other cells of its row.

    The result is (max_components + 1,): entry k is for the first k of the directions V (d, r), or for all if k > r.
    With T = X V, column j of the residual X - T V^T has a sum of squares that, from k - 1 components to k, changes by
    v_jk (v_jk |t_k|^2 + 2 sum_(b<k) v_jb t_b.t_k - 2 x_j.t_k).
    """
    T = X @ V
    A = T.T @ T
    change = V * (V * np.diagonal(A) + 2 * (V @ np.triu(A, 1)) - 2 * (X.T @ T))
    squares = np.einsum("ij,ij->j", X, X)
    residual = squares[:, None] + np.cumsum(change, axis=1)
    outside = 1 - np.cumsum(V * V, axis=1)
    alone = outside < LEAST_OUTSIDE
    predicted = np.maximum(residual, 0.0) / np.where(alone, 1.0, outside) ** 2
    errors = np.append(squares.sum(), np.where(alone, squares[:, None], predicted).sum(axis=0))
    return np.append(errors, np.full(max_components - V.shape[1], errors[-1]))

"""Scores, reconstructions and fills of rows with missing cells under a linear model.

The scores of a row are z = argmin |y_o - B_o z|^2 over its observed cells o: one small problem per pattern of missing
cells, solved by the SVD of B_o. Where the cells do not determine z, the shortest z is taken. Given the variances of the
scores and of the noise, z is the posterior mean of probabilistic PCA instead, which fills missing cells best.
Rows with equally many observed cells are computed together. A row gets the same bits whatever other rows are computed
with it, dense or compressed.
Cost: 10 k^2 per cell of every pattern and 2 k per cell of every row. Memory: a few slabs of SLAB numbers.
SciPy: `scipy.linalg.lstsq(B[o], y[o], cond=UNDETERMINED)`, row by row.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from pcatool.arrays import Array
from pcatool.errors import UsageError
from pcatool.linalg.blas import one_blas_thread
from pcatool.linalg.moments import row_means
from pcatool.linalg.sparse import SparseRows
from pcatool.linalg.spectrum import EPS
from pcatool.missing.census import Index, Mask, group_by_columns, hash_columns
from pcatool.model.model import Model

__all__ = [
    "UNDETERMINED",
    "IncompleteScorer",
    "coverage",
    "coverage_of_cells",
    "fill",
    "policy_for_rows",
    "policy_for_scores",
    "project_cells",
    "project_incomplete",
]

# A direction whose singular value of B_o is below this is left undetermined. B is known to about EPS and its columns
# have length 1: division by sqrt(EPS) leaves half of the digits, division by less leaves mostly rounding error.
UNDETERMINED = float(np.sqrt(EPS))

# Numbers worked on at a time: 4 MB stay in the cache.
SLAB = 1 << 19


def project_incomplete(Y: Array, B: Array, *, variances: Array | None = None, noise: float = 0.0) -> Array:
    """Return scores (n, k) of rows Y (n, d) on a basis B (d, k).

    Rows are in the units of the fit, with NaN in the missing cells. An empty row gets NaN. Without `variances`, scores
    fit the observed cells by least squares. With `variances` (k,) of the scores without noise, and `noise`, the
    variance of the noise in each cell, scores are posterior means: closer to 0 the less the observed cells determine.
    """
    parts = [project_cells(cells, B, variances=variances, noise=noise) for cells in _compressed(Y)]
    return np.concatenate([np.empty((0, B.shape[1])), *parts])


def project_cells(cells: SparseRows, B: Array, *, variances: Array | None = None, noise: float = 0.0) -> Array:
    """Return the scores (n, k) that `project_incomplete` returns, for rows in compressed form."""
    keys = hash_columns(cells.d)
    Z = np.full((cells.n, B.shape[1]), np.nan)
    with one_blas_thread():
        for rows, at in _groups_by_length(cells, B.shape[1]):
            columns = cells.columns[at]
            first, pattern = group_by_columns(columns, keys)
            P = _score_matrices(B[columns[first]], variances, noise, columns.shape[1] == len(B))
            # One small product per row: in one large product, BLAS would choose the order of the sums by its size.
            Z[rows] = ((P if len(P) == 1 else P[pattern]) @ cells.values[at][:, :, None])[:, :, 0]
    return Z


def _groups_by_length(cells: SparseRows, k: int) -> Iterator[tuple[Index, Index]]:
    """Yield groups of h rows with c cells each: the row indices (h,), and the positions of their cells (h, c).

    Empty rows are in no group. The matrices (h, k, c) of a group have at most SLAB entries, unless h is 1.
    """
    counts = cells.counts
    order = np.argsort(counts, kind="stable")
    lengths, begins = np.unique(counts[order], return_index=True)
    for c, begin, end in zip(lengths.tolist(), begins, np.append(begins[1:], len(order)), strict=True):
        height = max(SLAB // max(c * k, 1), 1)
        for at in range(begin if c else end, end, height):
            rows = order[at : min(at + height, end)]
            yield rows, cells.starts[rows][:, None] + np.arange(c)


def _score_matrices(B: Array, variances: Array | None, noise: float, complete: bool) -> Array:
    """Return the matrices (u, k, c) that map c observed cells to scores, for u patterns of observed cells.

    `B` (u, c, k) holds the rows of the basis of the observed columns; `complete` says that all columns are observed.
    The matrices are pseudo-inverses; with `variances` (k,) and `noise` they give posterior means.
    """
    if variances is None and complete:
        return np.ascontiguousarray(B.transpose(0, 2, 1))  # exactly, like a complete row in a complete table
    scale = np.ones(B.shape[2]) if variances is None else np.sqrt(np.maximum(variances, 0.0))
    U, s, Vt = np.linalg.svd(B * scale, full_matrices=False)
    if variances is None or noise == 0:
        undetermined = s <= UNDETERMINED * scale.max()
        gain = np.where(undetermined, 0.0, 1.0 / np.where(undetermined, 1.0, s))
    else:
        gain = s / (s * s + noise)
    return np.asarray(scale[:, None] * ((Vt * gain[:, :, None]).transpose(0, 2, 1) @ U.transpose(0, 2, 1)))


def coverage(missing: Mask, B: Array, eigenvalues: Array) -> Array:
    """Return the share of the variance of the components that lies in the observed cells of each row, (n,).

    `missing` is (n, d), and the basis B is (d, k). The share is sum_j lambda_j |B_oj|^2 / sum_j lambda_j over the
    components j: 1 for a complete row, 0 for an empty row.
    """
    parts = [coverage_of_cells(cells, B, eigenvalues) for cells in _compressed(np.where(missing, np.nan, 0.0))]
    return np.concatenate([np.empty(0), *parts])


def coverage_of_cells(cells: SparseRows, B: Array, eigenvalues: Array) -> Array:
    """Return the shares (n,) that `coverage` returns, for rows in compressed form."""
    carried = (B * B) @ eigenvalues[: B.shape[1]]
    some = cells.counts > 0
    share = np.zeros(cells.n)
    if some.any():
        # Both sums run in the same order, so that a complete row gets exactly 1.
        seen = np.add.reduceat(carried[cells.columns], cells.starts[:-1][some])
        share[some] = seen / np.add.reduceat(carried, [0])
    return share


def _compressed(Y: Array) -> Iterator[SparseRows]:
    """Yield rows Y (n, d), with NaN in the missing cells, in compressed form, at most SLAB cells at a time."""
    height = max(SLAB // Y.shape[1], 1)
    return (SparseRows.of_dense(Y[at : at + height]) for at in range(0, len(Y), height))


def fill(X: Array, R: Array) -> Array:
    """Return X (n, d) with each missing cell (NaN) replaced by the cell of R (n, d)."""
    return np.where(np.isnan(X), R, X)


# Numbers worked on at a time: 4 MB stay in the cache.
ROW_SLAB = 1 << 19


class IncompleteScorer(NamedTuple):
    """Scores and reconstructions of rows X (n, d) with NaN in the missing cells, under a model.

    An empty row has no observed cell.
    """

    model: Model
    policy: str  # mean: column means in missing cells; em: scores are posterior means; project: least squares

    def scores(self, X: Array) -> Array:
        """Return the scores of the rows X (n, d), whitened if the model whitens, as `Model.project` does.

        An empty row gets NaN under the policy `project`.
        """
        Z = self.model.whitened(self._scores(self._standard_rows(X)))
        return _reconstruct(Z, self.model.basis) if self.model.whitening == "zca" else Z

    def rows(self, X: Array) -> Array:
        """Return the rows (n, d) reconstructed from their scores, as `Model.project_and_reconstruct` does.

        An empty row gets NaN under the policy `project`.
        """
        model = self.model
        back = model.std * _reconstruct(self._scores(self._standard_rows(X)), model.basis) + model.mean
        if not model.rows_centered:
            return back
        means = row_means(X)[:, None]
        return back + np.where(np.isnan(means), 0.0, means)

    def squared_error(self, X: Array) -> Array:
        """Return the sum of squared residuals of each row over its observed cells, in the units of the fit, (n,).

        Under the policy `mean`, cells that were filled count, too. Under the other policies, an empty row gets NaN.
        """
        Y = self._standard_rows(X)
        R = Y - _reconstruct(self._scores(Y), self.model.basis)
        R = np.where(np.isnan(R), 0.0, R)
        errors: Array = (R * R).sum(axis=1)
        return np.where(np.isnan(Y).all(axis=1), np.nan, errors)

    def coverage(self, X: Array) -> Array:
        """Return the share of the variance of the components in the observed cells of each row, (n,)."""
        return coverage(np.isnan(X), self.model.basis, self.model.eigenvalues)

    def _standard_rows(self, X: Array) -> Array:
        """Return rows (n, d) in the units of the fit; policy `mean` also puts column means in the missing cells."""
        model = self.model
        Y = model.standard_rows(X)
        if self.policy != "mean":
            return Y
        assert model.fill_values is not None
        return np.where(np.isnan(Y), (model.fill_values - model.mean) / model.std, Y)

    def _scores(self, Y: Array) -> Array:
        model = self.model
        if self.policy != "em":
            return project_incomplete(Y, model.basis)
        signal = np.maximum(model.eigenvalues[: model.k] - model.noise, 0.0)
        Z = project_incomplete(Y, model.basis, variances=signal, noise=model.noise)
        nothing = np.isnan(Y).all(axis=1, keepdims=True)
        return np.where(nothing, 0.0, Z)  # an empty row has the mean as posterior


def _reconstruct(Z: Array, B: Array) -> Array:
    """Return Z B^T (n, d).

    Here a row gets the same bits whatever other rows Z has, because the order of each sum is fixed; BLAS changes it.
    """
    Z, B = np.ascontiguousarray(Z), np.ascontiguousarray(B)
    Y = np.empty((len(Z), len(B)))
    height = max(ROW_SLAB // B.size, 1)
    for at in range(0, len(Z), height):
        Y[at : at + height] = (Z[at : at + height, None, :] * B).sum(axis=2)
    return Y


# Default policy for missing cells in new rows, by the policy of the fit; any other fit gives "error".
DEFAULT_POLICY = {"drop": "keep", "mean": "mean", "em": "project"}

# Policies that fill or project a row with missing cells. They need the components of linear PCA (--method pca).
LINEAR_POLICIES = ("mean", "project", "em")


def policy_for_rows(model: Model, given: str | None, *, fill: bool, reconstructing: bool) -> str:
    """Return the policy for rows with missing cells, one of APPLY_MISSING.

    `given` is the policy that the user asked for; None takes the default, which depends on the fit of the model.
    `reconstructing`: the rows are reconstructed. `fill`: only their missing cells are replaced.

    Raises `UsageError` for a policy that the model or `fill` does not allow.
    """
    fitted = model.meta.get("missing")
    policy = given or ("em" if reconstructing and fitted == "em" else DEFAULT_POLICY.get(str(fitted), "error"))
    if fill and given is None and policy not in LINEAR_POLICIES:
        policy = "project"
    if fill and policy not in LINEAR_POLICIES:
        raise UsageError(f"--fill cannot be combined with --missing {policy}", "give --missing mean, project or em")
    method = model.meta.get("method", "pca")
    if policy in LINEAR_POLICIES and method != "pca":
        what = "--fill" if fill and given is None else f"--missing {policy}"
        raise UsageError(
            f"{what} needs a model fitted with --method pca, but this model was fitted with --method {method}",
            f"give --missing keep{' without --fill' if fill else ''} to get empty results for rows with missing cells",
        )
    if policy == "mean" and model.fill_values is None:
        raise UsageError(
            "--missing mean needs column means, which this model does not have: it was fitted with --no-center",
            "give --missing project, or fit the model again with --missing mean",
        )
    return policy


def policy_for_scores(model: Model, given: str | None) -> str:
    """Return the policy for rows of scores with missing cells, "error" or "keep".

    `given` is the policy that the user asked for, or None. Raises `UsageError` for LINEAR_POLICIES: a missing
    score cannot be estimated from the other scores of its row.
    """
    if given in LINEAR_POLICIES:
        raise UsageError(
            f"--missing {given} applies to original rows, but the input holds scores", "give --missing keep"
        )
    return given or ("keep" if model.meta.get("missing") in ("drop", "em") else "error")

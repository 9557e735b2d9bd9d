"""Tables with holes, and the models they were drawn from."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pcatool.arrays import recut
from pcatool.linalg.sparse import SparseRows
from pcatool.missing.em import EMFit, fit_em
from pcatool.missing.project import project_incomplete
from pcatool.solvers.base import Problem
from pcatool.solvers.rows import Rows

__all__ = ["Array", "Made", "angle", "cells_of", "filled", "fit", "made", "problem_of", "punched", "rows_of"]

Array = NDArray[np.float64]


class Made(NamedTuple):
    X: Array  # (n, d)
    basis: Array  # (d, k)
    signal: Array  # (k,) variances along it
    mean: Array  # (d,)
    noise: float  # variance


def made(n: int, d: int, signal: list[float], sd: float, seed: int) -> Made:
    """Rows of a low rank with noise."""
    rng = np.random.default_rng(seed)
    basis = np.linalg.qr(rng.normal(size=(d, len(signal))))[0]
    mean = rng.normal(size=d)
    X = (rng.normal(size=(n, len(signal))) * np.sqrt(signal)) @ basis.T + mean + sd * rng.normal(size=(n, d))
    return Made(X, basis, np.array(signal), mean, sd * sd)


def punched(X: Array, share: float, seed: int) -> Array:
    """The same with holes at random."""
    return np.where(np.random.default_rng(seed).random(X.shape) < share, np.nan, X)


def problem_of(d: int, **settings: Any) -> Problem:
    return Problem(tuple(f"c{j}" for j in range(1, d + 1)), None, **settings)


def rows_of(X: Array, weights: Array | None = None, **supply: Any) -> Rows:
    table = X if weights is None else np.column_stack([X, weights])
    return Rows(recut([table], table.shape[1]), weighted=weights is not None, **supply)


def cells_of(X: Array, seed: int) -> SparseRows:
    """The cells of X that are not NaN, as they come in some order."""
    rows, columns = np.nonzero(~np.isnan(X))
    order = np.random.default_rng(seed).permutation(len(rows))
    return SparseRows.of(rows[order], columns[order], X[rows, columns][order], *X.shape)


def fit(
    X: Array, k: int, *, weights: Array | None = None, iterate: bool = False, gain: float = 1e-10, **settings: Any
) -> EMFit:
    return fit_em(rows_of(X, weights), problem_of(X.shape[1], **settings), k, iterate=iterate, gain=gain)


def filled(X: Array, basis: Array, signal: Array, mean: Array, noise: float) -> Array:
    """What a model expects in every cell, given those that are there."""
    return mean + project_incomplete(X - mean, basis, variances=signal, noise=noise) @ basis.T


def angle(A: Array, B: Array) -> float:
    """The largest angle between two spaces, in degrees."""
    return float(np.degrees(np.arcsin(min(1.0, float(np.linalg.norm(A - B @ (B.T @ A), 2))))))

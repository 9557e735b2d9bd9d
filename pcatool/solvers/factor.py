"""From a factor of the centred data to a solution: what `tsqr`, `svd` and `dual` share."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from pcatool.arrays import Array
from pcatool.linalg.eigen import triangle
from pcatool.linalg.moments import Centre, center_block
from pcatool.linalg.row_sums import Statistic
from pcatool.linalg.spectrum import Spectrum, Wish
from pcatool.linalg.triangle import Triangle
from pcatool.solvers.base import Problem, Solution, assembled, check_solvable, scale_of
from pcatool.solvers.rows import AT_ONCE, Rows, first_heavy, nothing_to_fit

__all__ = ["centred_matrix", "decomposing_bytes", "finish"]


class Decompose(Protocol):
    """Takes a factor apart, as `linalg.spectral.of_factor` does."""

    def __call__(self, F: Array, noise: Array, rows: int, wish: Wish, scales: Array | float = ...) -> Spectrum: ...


def decomposing_bytes(rows: int, d: int) -> int:
    """For a factor of no more rows than columns, beside it: it scaled, LAPACK's copies and work, singular vectors."""
    return 8 * (7 * rows * d // 2 + 6 * rows * rows)


def centred_matrix(rows: Rows) -> tuple[Centre, Array]:
    """All rows about their mean, times the root of their weights: Y (n, d) with Y^T Y the scatter."""
    X, w = rows.matrix()
    if not len(X):
        raise nothing_to_fit()
    centre, Y, rest = center_block(X, X[first_heavy(w)].copy(), w, out=X)
    with np.errstate(over="ignore", invalid="ignore"):
        if w is None:
            Y -= rest / centre.weight
        else:  # some rows at a time: the product is as large as the rows
            root, step = np.sqrt(w), max(AT_ONCE // (8 * Y.shape[1]), 1)
            for at in range(0, len(Y), step):
                Y[at : at + step] -= np.outer(root[at : at + step], rest / centre.weight)
    return centre, Y


def finish(
    centre: Centre,
    Y: Array,
    problem: Problem,
    decompose: Decompose,
    noise: Array | None = None,
    about_zero: Array | None = None,
) -> Solution:
    """The solution from a factor Y of the centred scatter, Y^T Y, which is used up; the rest as of `covariance`."""
    kept = Triangle(centre, triangle(Y)) if problem.keeps else None
    constant = ~centre.varies
    divisor = problem.divisor(centre)
    safe = divisor if divisor > 0 else 1.0
    with np.errstate(over="ignore", invalid="ignore", divide="ignore", under="ignore"):
        squares = np.einsum("ij,ij->j", Y, Y)
        variances = squares / safe
        sigma = scale_of(variances, constant, problem)
        if not problem.center:
            # One more row carries the mean: its square is what the scatter about zero has more.
            Y = np.vstack([Y, np.sqrt(centre.weight) * centre.mean])
        Y /= sigma * np.sqrt(safe)
        total = float(np.einsum("ij,ij->", Y, Y))
    check_solvable(problem, centre.rows, divisor, constant, variances, total, centre)
    counted = problem.counted(centre.rows, centre.weight)
    noise = problem.noise(centre, squares) if noise is None else noise
    entries = noise if problem.center or about_zero is None else about_zero
    spectrum = decompose(Y, entries, centre.rows, problem.wish, problem.scales(noise)).sized(min(counted, problem.d))
    solution = assembled(problem, centre, variances, sigma, total, spectrum, lambda V: Y.T @ (Y @ V))
    return solution._replace(statistic=Statistic.summed(kept, noise)) if kept else solution

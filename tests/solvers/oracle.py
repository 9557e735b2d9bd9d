"""What the numbers should be: rational sums, then eigenvalues to fifty digits, from the float64 values as given.

Mean and scatter are exact fractions; only square roots and eigenvalues are rounded.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, TypeAlias

import mpmath
import numpy as np
from numpy.typing import NDArray

__all__ = ["Exact", "Real", "relative_errors"]

# Every eigenvalue to as many digits, the smallest too: what lies between the scales of the columns comes on top.
DIGITS = 50

Array = NDArray[np.float64]
Real: TypeAlias = Any  # mpmath.mpf, which carries no types


def real(value: Fraction) -> Real:
    return mpmath.mpf(value.numerator) / value.denominator


def relative_errors(found: Array, true: list[Real], of: Real | None = None) -> Array:
    """|found - true| / |of|, by default of each true value itself; taken before anything is rounded to a double."""
    with mpmath.workdps(DIGITS):
        pairs = zip(np.asarray(found).tolist(), true, strict=True)
        return np.array([float(abs(mpmath.mpf(a) - b) / abs(b if of is None else of)) for a, b in pairs])


@dataclass(frozen=True, eq=False)
class Exact:
    """Moments and spectrum of the rows X (n, d), on paper."""

    X: Array
    center: bool = True
    standardize: bool = False
    ddof: int = 0

    @cached_property
    def columns(self) -> list[list[Fraction]]:
        return [[Fraction(value) for value in column] for column in self.X.T.tolist()]

    @property
    def divisor(self) -> int:
        return len(self.X) - self.ddof

    @cached_property
    def means(self) -> list[Fraction]:
        return [sum(column, Fraction()) / len(column) for column in self.columns]

    @property
    def origin(self) -> list[Fraction]:
        """What is subtracted: the means, or nothing."""
        return self.means if self.center else [Fraction()] * len(self.means)

    @cached_property
    def digits(self) -> int:
        """mpmath's eigenvalues err by a share of the largest one, so columns far apart need more digits."""
        sizes = [max(abs(x - mu) for x in column) for column, mu in zip(self.columns, self.origin, strict=True)]
        varying = [size for size in sizes if size]
        return DIGITS + 2 * len(str(int(max(varying) / min(varying)))) if varying else DIGITS

    @cached_property
    def deviations(self) -> list[Real]:
        """sigma: about the mean; 1 for a constant column and when not standardising."""
        with mpmath.workdps(self.digits):
            if not self.standardize:
                return [mpmath.mpf(1)] * len(self.columns)
            about_mean = zip(self.columns, self.means, strict=True)
            squares = [sum(((x - mu) ** 2 for x in column), Fraction()) for column, mu in about_mean]
            return [mpmath.sqrt(real(s / self.divisor)) if s else mpmath.mpf(1) for s in squares]

    @cached_property
    def S(self) -> mpmath.matrix:
        """What is diagonalised, (d, d)."""
        Y = [[x - mu for x in column] for column, mu in zip(self.columns, self.origin, strict=True)]
        with mpmath.workdps(self.digits):
            S = mpmath.matrix(len(Y), len(Y))
            for i, left in enumerate(Y):
                for j, right in enumerate(Y[: i + 1]):
                    product = sum((x * y for x, y in zip(left, right, strict=True)), Fraction())
                    S[i, j] = S[j, i] = real(product / self.divisor) / self.deviations[i] / self.deviations[j]
            return S

    @cached_property
    def eigenvalues(self) -> list[Real]:
        """Of S, descending."""
        return eigenvalues_of(self.S, self.digits)

    @cached_property
    def unit_eigenvalues(self) -> list[Real]:
        """Of S scaled to unit diagonal, descending: what rank is judged on."""
        with mpmath.workdps(self.digits):
            scale = [mpmath.sqrt(self.S[j, j]) or mpmath.mpf(1) for j in range(self.S.rows)]
            R = mpmath.matrix(self.S.rows, self.S.cols)
            for i in range(R.rows):
                for j in range(R.cols):
                    R[i, j] = self.S[i, j] / scale[i] / scale[j]
            return eigenvalues_of(R, self.digits)

    @cached_property
    def total(self) -> Real:
        with mpmath.workdps(self.digits):
            return mpmath.fsum(self.S[j, j] for j in range(self.S.rows))

    def residual(self, eigenvalues: Array, B: Array) -> float:
        """max_j |S b_j - lambda_j b_j| / lambda_1."""
        with mpmath.workdps(self.digits):
            B = mpmath.matrix(B.tolist())
            R = self.S * B - B * mpmath.diag([mpmath.mpf(value) for value in eigenvalues.tolist()])
            return float(max(mpmath.norm(R[:, j]) for j in range(R.cols)) / self.eigenvalues[0])


def eigenvalues_of(S: mpmath.matrix, digits: int) -> list[Real]:
    with mpmath.workdps(digits):
        return sorted(mpmath.eigsy(S, eigvals_only=True), reverse=True)

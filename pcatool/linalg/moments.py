"""Count, mean and scatter of rows, one block at a time, to nearly the last digit whatever the offset.

Three steps keep the digits that the textbook form X^T X - n mu mu^T loses:
the first row is subtracted from every row; each block is centred on its own mean before it is multiplied, and the
rounding of that mean is taken back out; blocks are merged by the formula of Chan, Golub and LeVeque (1983, The American
Statistician 37(3)) with the mean held as an unevaluated sum of two doubles.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pcatool.model import Array

__all__ = ["Moments"]


def two_sum(a: Array, b: Array) -> tuple[Array, Array]:
    """a + b as the rounded sum and what the rounding left out, exactly (Knuth)."""
    s = a + b
    t = s - a
    return s, (a - (s - t)) + (b - t)


@dataclass(frozen=True)
class Moments:
    """The sufficient statistic of PCA for some rows, about the origin they all share."""

    n: int
    origin: Array  # (d,) subtracted from every row
    mean_high: Array  # (d,) mean of the shifted rows, as a pair of doubles
    mean_low: Array  # (d,)
    scatter: Array  # (d, d) sum of (x - mu)(x - mu)^T
    varies: np.ndarray  # (d,) bool: some row differs from the origin in this column

    @classmethod
    def of_block(cls, X: Array, origin: Array) -> Moments:
        """Moments of the rows X (n, d)."""
        n = len(X)
        with np.errstate(over="ignore", invalid="ignore"):
            Y = X - origin
            varies = Y.any(axis=0)
            mean = Y.mean(axis=0)
            Y -= mean
            s = Y.sum(axis=0)  # zero but for the rounding of the mean
            scatter = Y.T @ Y
            scatter -= np.outer(s, s / n)
        high, low = two_sum(mean, s / n)
        return cls(n, origin, high, low, scatter, varies)

    def merge(self, other: Moments) -> Moments:
        """Moments of these rows followed by the others; self's scatter is used up."""
        n = self.n + other.n
        weight = other.n / n
        delta = (other.mean_high - self.mean_high) + (other.mean_low - self.mean_low)
        step = delta * weight
        high, low = two_sum(self.mean_high, step)
        low += self.mean_low
        high, low = two_sum(high, low)
        scatter = self.scatter
        with np.errstate(over="ignore", invalid="ignore"):
            scatter += other.scatter
            scatter += np.outer(delta, delta * (self.n * weight))
        return Moments(n, self.origin, high, low, scatter, self.varies | other.varies)

    @property
    def mean(self) -> Array:
        """The column means in the units of the data."""
        high, low = two_sum(self.origin, self.mean_high)
        return high + (low + self.mean_low)

    def scatter_about_zero(self) -> Array:
        """Sum of x x^T: both parts are positive, so nothing cancels."""
        mu = self.mean
        return self.scatter + np.outer(mu, mu * self.n)

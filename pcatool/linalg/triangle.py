"""Centre and triangular factor of rows, one block at a time: the accumulator of `tsqr`."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pcatool.arrays import Array
from pcatool.linalg.eigen import triangle
from pcatool.linalg.moments import Centre, Moments, center_block

__all__ = ["Triangle"]


class Triangle(NamedTuple):
    """Centre of some rows and the R factor of the rows about it."""

    centre: Centre
    R: Array  # (min(n, d), d)

    @classmethod
    def of_block(cls, X: Array, origin: Array, w: Array | None = None) -> Triangle:
        centre, Y, rest = center_block(X, origin, w)
        with np.errstate(over="ignore", invalid="ignore"):
            Y -= rest / centre.weight if w is None else np.outer(np.sqrt(w), rest / centre.weight)
        return cls(centre, triangle(Y))

    def merge(self, other: Triangle) -> Triangle:
        """The triangle of these rows followed by the others."""
        centre, delta, weight = self.centre.merge(other.centre)
        return Triangle(centre, triangle(np.vstack([self.R, other.R, np.sqrt(weight) * delta])))

    def without(self, columns: NDArray[np.intp]) -> Triangle:
        """The same with nothing but the mean in some columns."""
        if not len(columns):
            return self
        R = self.R.copy()
        R[:, columns] = 0.0
        return Triangle(self.centre, triangle(R))

    def take(self, columns: NDArray[np.intp]) -> Triangle:
        """Of some columns only."""
        return Triangle(self.centre.take(columns), triangle(self.R[:, columns]))

    @property
    def sizes(self) -> Array:
        """(d,) what rounding is told in parts of."""
        return self.squares

    def moments(self) -> Moments:
        """The same as a scatter, which holds squares."""
        with np.errstate(over="ignore", invalid="ignore"):
            return Moments(self.centre, self.R.T @ self.R)

    @property
    def size(self) -> int:
        """How many numbers the factor has."""
        return int(self.R.size)

    @property
    def squares(self) -> Array:
        """(d,) sum of w (x - mu)^2 of each column."""
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            return np.asarray(np.einsum("ij,ij->j", self.R, self.R))

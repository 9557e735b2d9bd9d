"""The sums of the solver `tsqr`: centre and triangular factor of the rows, one block at a time."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pcatool.arrays import Accumulator, Array, Block
from pcatool.linalg.eigen import triangle
from pcatool.linalg.moments import Centre, Moments, center_block

__all__ = ["Triangle", "TriangleAccumulator", "triangle_bytes"]


class Triangle(NamedTuple):
    """Centre of some rows, and the R factor of a QR factorisation of these rows minus their mean, times sqrt(w)."""

    centre: Centre
    R: Array  # (min(n, d), d) R^T R is the scatter

    @classmethod
    def of_block(cls, X: Array, origin: Array, w: Array | None = None) -> Triangle:
        """Return the centre, about `origin` (d,), and R factor of the rows X (n, d) with weights w (n,)."""
        centre, Y, rest = center_block(X, origin, w)
        with np.errstate(over="ignore", invalid="ignore"):
            Y -= rest / centre.weight if w is None else np.outer(np.sqrt(w), rest / centre.weight)
        return cls(centre, triangle(Y))

    def merge(self, other: Triangle) -> Triangle:
        """Return the centre and R factor of these rows followed by the rows of `other`."""
        centre, delta, weight = self.centre.merge(other.centre)
        return Triangle(centre, triangle(np.vstack([self.R, other.R, np.sqrt(weight) * delta])))

    def without(self, columns: NDArray[np.intp]) -> Triangle:
        """Return a copy in which the columns at these indices are 0 in the factored rows, as if constant."""
        if not len(columns):
            return self
        R = self.R.copy()
        R[:, columns] = 0.0
        return Triangle(self.centre, triangle(R))

    def take(self, columns: NDArray[np.intp]) -> Triangle:
        """Return the centre and R factor of the columns at these indices only."""
        return Triangle(self.centre.take(columns), triangle(self.R[:, columns]))

    @property
    def sizes(self) -> Array:
        """Sums of squares (d,) to which relative rounding errors refer: those of the columns."""
        return self.squares

    def moments(self) -> Moments:
        """Return the moments of the rows, with the scatter R^T R; small eigenvalues lose half of their digits."""
        with np.errstate(over="ignore", invalid="ignore"):
            return Moments(self.centre, self.R.T @ self.R)

    @property
    def size(self) -> int:
        """Number of elements of R."""
        return int(self.R.size)

    @property
    def squares(self) -> Array:
        """Sum of w (x - mu)^2 of each column, (d,)."""
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            return np.asarray(np.einsum("ij,ij->j", self.R, self.R))


def triangle_bytes(d: int) -> int:
    """Bytes of a triangular factor R (d, d), stored as a full matrix."""
    return 8 * d * d


class TriangleAccumulator(Accumulator[Block, Triangle]):
    """Adds up blocks of rows to a `Triangle`; the origin (d,) is subtracted from each row."""

    def __init__(self, origin: Array) -> None:
        self.origin = origin

    @property
    def part_bytes(self) -> int:
        """Bytes of the R factor of one block."""
        return triangle_bytes(len(self.origin))

    @property
    def height(self) -> int:
        """Number of rows to which blocks are joined, so that QR of a block costs more than a merge of triangles."""
        return 2 * len(self.origin)

    def of_block(self, block: Block) -> Triangle:
        """Return the triangle of one block."""
        X, w = block
        return Triangle.of_block(X, self.origin, w)

    def merge(self, one: Triangle, other: Triangle) -> Triangle:
        """Return the triangle of the rows of `one` followed by those of `other`."""
        return one.merge(other)

"""Kernels of two rows alone: k(x, y) needs no other row, so new rows are as easy as those of the fit.

The definitions are those of scikit-learn's pairwise kernels. Each computes a block of values in place.
"""

from __future__ import annotations

from abc import abstractmethod

import numpy as np

from pcatool.blocks import Runner
from pcatool.errors import DataError
from pcatool.kernels.base import Kernel, Settings, symmetric
from pcatool.kernels.distances import squared_distances, squares
from pcatool.model import Array

__all__ = ["MDS", "RBF", "Cosine", "Laplacian", "Linear", "Pointwise", "Polynomial", "Sigmoid"]

# exp(-x) is 0 in a double beyond this.
VANISHES = 750.0

# What an exponent may be off by: the kernel's value is known to that part of itself.
EXPONENT = 1e-12

# Whole powers up to this are taken by multiplication, many times faster than the general power.
WHOLE_POWERS = 64


class Pointwise(Kernel):
    """A kernel of two rows."""

    def cross(self, X: Array, T: Array) -> Array:
        with np.errstate(all="ignore"):  # what overflows is looked for in the whole matrix, or in the results
            return self.values(X, T)

    @abstractmethod
    def values(self, X: Array, T: Array) -> Array:
        """k(x, t), (h, n)."""

    def squared_norms(self, X: Array) -> Array:
        return np.ones(len(X))

    def matrix(self, X: Array, run: Runner) -> Array:
        return symmetric(lambda rows, others: self.cross(X[rows], X[others]), len(X), run)


class RBF(Pointwise):
    """exp(-gamma |x - y|^2)."""

    uses = ("gamma",)
    invariant = True

    def values(self, X: Array, T: Array) -> Array:
        gamma = float(self.settings.gamma or 0)
        D = squared_distances(X, T, bound=VANISHES / gamma, allowed=EXPONENT / gamma)
        D *= -gamma
        return np.asarray(np.exp(D, out=D))


class Linear(Pointwise):
    """x . y: its kernel PCA is PCA."""

    cancels = True

    def values(self, X: Array, T: Array) -> Array:
        return X @ T.T

    def squared_norms(self, X: Array) -> Array:
        return squares(X)


class MDS(Pointwise):
    """-|x - y|^2 / 2: classical scaling; centred, it is the linear kernel of the centred rows (Ham et al. 2004)."""

    invariant = True
    conditional = True

    def values(self, X: Array, T: Array) -> Array:
        D = squared_distances(X, T)
        D *= -0.5
        return D

    def squared_norms(self, X: Array) -> Array:
        return np.zeros(len(X))


class Polynomial(Pointwise):
    """(gamma x . y + coef0)^degree."""

    uses = ("gamma", "degree", "coef0")

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self.degree = float(settings.degree or 0)
        # A sum of products of definite kernels with positive factors; any other power is none.
        self.definite = self.degree.is_integer() and float(settings.coef0 or 0) >= 0

    def matrix(self, X: Array, run: Runner) -> Array:
        K = super().matrix(X, run)
        if not self.degree.is_integer() and np.isnan(K.sum()):
            raise DataError(
                f"kernel polynomial: gamma x.y + coef0 is below 0 for some rows, and has no power of {self.degree:g}",
                "give a whole number with --degree, or a larger --coef0",
            )
        return K

    def values(self, X: Array, T: Array) -> Array:
        return self._power(_scaled(X @ T.T, self.settings))

    def squared_norms(self, X: Array) -> Array:
        return self._power(_scaled(squares(X), self.settings))

    def _power(self, B: Array) -> Array:
        whole = self.degree.is_integer()
        if whole and self.degree <= WHOLE_POWERS:
            return _whole_power(B, int(self.degree))
        with np.errstate(invalid="ignore"):  # a new row of which there is none is refused later, by its place
            return np.asarray(np.power(B, self.degree, out=B))


class Sigmoid(Pointwise):
    """tanh(gamma x . y + coef0), which is no inner product: some eigenvalues may be negative."""

    uses = ("gamma", "coef0")
    definite = False

    def values(self, X: Array, T: Array) -> Array:
        return np.asarray(np.tanh(_scaled(X @ T.T, self.settings)))

    def squared_norms(self, X: Array) -> Array:
        return np.asarray(np.tanh(_scaled(squares(X), self.settings)))


class Laplacian(Pointwise):
    """exp(-gamma |x - y|_1), with the sum of absolute differences."""

    uses = ("gamma",)
    invariant = True

    def values(self, X: Array, T: Array) -> Array:
        from scipy.spatial.distance import cdist

        D: Array = cdist(X, T, "cityblock")
        D *= -float(self.settings.gamma or 0)
        return np.asarray(np.exp(D, out=D))


class Cosine(Pointwise):
    """x . y / (|x| |y|); 0 where a row is all zeros."""

    def values(self, X: Array, T: Array) -> Array:
        return _of_length_one(X) @ _of_length_one(T).T

    def squared_norms(self, X: Array) -> Array:
        return np.where(np.any(X != 0, axis=1), 1.0, 0.0)


def _scaled(B: Array, settings: Settings) -> Array:
    """gamma B + coef0, in place."""
    B *= float(settings.gamma or 0)
    B += float(settings.coef0 or 0)
    return B


def _whole_power(B: Array, power: int) -> Array:
    """B ** power by squaring."""
    result: Array | None = None
    while power:
        if power & 1:
            result = B.copy() if result is None else result * B
        power >>= 1
        if power:
            B *= B
    assert result is not None
    return result


def _of_length_one(X: Array) -> Array:
    """Each row over its length; taken to its largest entry first, so that no square over- or underflows."""
    largest = np.abs(X).max(axis=1, keepdims=True, initial=0.0)
    Y = X / np.where(largest > 0, largest, 1.0)
    length = np.sqrt(np.einsum("ij,ij->i", Y, Y))[:, None]
    return Y / np.where(length > 0, length, 1.0)

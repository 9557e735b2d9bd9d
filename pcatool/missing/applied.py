"""A linear model at work on rows with holes: scores, rows and errors from the cells that are there.

Every row gets the same bits whatever other rows stand beside it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pcatool.arrays import Array
from pcatool.linalg.moments import row_means
from pcatool.missing.project import coverage, project_with_holes
from pcatool.model.model import Model

__all__ = ["OfHoles"]

# Numbers worked on at a time.
SLAB = 1 << 19


class OfHoles(NamedTuple):
    """Rows X (n, d) with NaN in the holes, under a model."""

    model: Model
    how: str  # mean: the columns' stand in; em: what the model expects, its noise allowed for; project: least squares

    def scores(self, X: Array) -> Array:
        """What `Model.project` gives, NaN where nothing can be told."""
        Z = self.model.whitened(self._scores(self._standard_rows(X)))
        return _turned_back(Z, self.model.basis) if self.model.whitening == "zca" else Z

    def rows(self, X: Array) -> Array:
        """What `Model.there_and_back` gives, with something in every cell."""
        model = self.model
        back = model.std * _turned_back(self._scores(self._standard_rows(X)), model.basis) + model.mean
        if not model.rows_centered:
            return back
        means = row_means(X)[:, None]
        return back + np.where(np.isnan(means), 0.0, means)

    def squared_error(self, X: Array) -> Array:
        """What the components leave out of the cells that are there, or of what stands in for the others, (n,)."""
        Y = self._standard_rows(X)
        R = Y - _turned_back(self._scores(Y), self.model.basis)
        R = np.where(np.isnan(R), 0.0, R)
        errors: Array = (R * R).sum(axis=1)
        return np.where(np.isnan(Y).all(axis=1), np.nan, errors)

    def coverage(self, X: Array) -> Array:
        """The share of the components' variance in the cells that are there, (n,)."""
        return coverage(np.isnan(X), self.model.basis, self.model.eigenvalues)

    def _standard_rows(self, X: Array) -> Array:
        """In the units of the fit, with column means in the holes where they stand in."""
        model = self.model
        Y = model.standard_rows(X)
        if self.how != "mean":
            return Y
        assert model.stand_in is not None
        return np.where(np.isnan(Y), (model.stand_in - model.mean) / model.std, Y)

    def _scores(self, Y: Array) -> Array:
        model = self.model
        if self.how != "em":
            return project_with_holes(Y, model.basis)
        signal = np.maximum(model.eigenvalues[: model.k] - model.noise, 0.0)
        Z = project_with_holes(Y, model.basis, variances=signal, noise=model.noise)
        nothing = np.isnan(Y).all(axis=1, keepdims=True)
        return np.where(nothing, 0.0, Z)  # of nothing, the mean is expected


def _turned_back(Z: Array, B: Array) -> Array:
    """Z B^T. Sums along contiguous cells take one order whatever stands beside; a product by BLAS does not."""
    Z, B = np.ascontiguousarray(Z), np.ascontiguousarray(B)
    Y = np.empty((len(Z), len(B)))
    height = max(SLAB // B.size, 1)
    for at in range(0, len(Z), height):
        Y[at : at + height] = (Z[at : at + height, None, :] * B).sum(axis=2)
    return Y

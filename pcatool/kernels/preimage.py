"""Approximate rows from scores: a map learned from the training rows and their scores, by kernel ridge regression.

The kernel over scores is z.z' / s^2 + exp(-|z - z'|^2 / 2 (w s)^2), s the typical length of the scores: the straight
part brings linear models back as they were, the curved part what a nonlinear kernel has bent. Its width w, whether it
is there at all, and the ridge are those with the least generalised cross-validation error.
Cost: 6 t^3 for t training rows, at most MOST_ROWS of them. Deterministic.
Bakir, Weston, Schoelkopf 2004, "Learning to find pre-images", NeurIPS 16; Golub, Heath, Wahba 1979, "Generalized
cross-validation as a method for choosing a good ridge parameter", Technometrics 21(2).
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property
from threading import Lock
from typing import Any, NamedTuple

import numpy as np

from pcatool.errors import DataError, RefusedError, UsageError
from pcatool.kernels.base import slabs
from pcatool.kernels.distances import squared_distances
from pcatool.kernels.model import KernelModel
from pcatool.linalg.blas import threads
from pcatool.model import Array, Model

__all__ = ["PreimageModel", "ScoreMap", "with_preimage"]

# Rows that the map is learned from, evenly spaced among all: more take long and add little.
MOST_ROWS = 1000

# Widths of the curved part, of the typical length of the scores.
WIDTHS = (0.25, 0.5, 1.0, 2.0)

# A straight map that loses less than this of the variance leaves nothing to bend but rounding.
EXACT = 1e-16

# Ridges, of the largest eigenvalue: from none to speak of to half of it.
RIDGES = np.logspace(-14, 0, 29) / 2


class ScoreMap(NamedTuple):
    """z -> y, y in the units of the fit."""

    Z: Array  # (m, k) scores of the rows it was learned from, about their mean and over their length
    center: Array  # (k,) the mean of the scores
    length: float  # s
    width: float  # w, 0 without the curved part
    dual: Array  # (m, d)
    mean: Array  # (d,)

    def __call__(self, Z: Array) -> Array:
        """Rows (h, d) from scores (h, k)."""
        Y = np.empty((len(Z), len(self.mean)))
        for part in slabs(len(Z), len(self.Z)):
            Y[part] = _kernel((Z[part] - self.center) / self.length, self.Z, self.width) @ self.dual
        return Y + self.mean


class Candidate(NamedTuple):
    """The best ridge for one width, and the error that it may have."""

    error: float
    width: float
    dual: Array


@dataclass(frozen=True, eq=False)
class PreimageModel(KernelModel):
    """A kernel model that comes back from scores approximately."""

    def with_preimage(self) -> Model:
        return self

    def reversible(self) -> Model:
        return self

    def reconstruct(self, Z: Array) -> Array:
        """Rows (n, d) in original units, approximately, from their first scores (n, k')."""
        m = Z.shape[1]
        if m > self.k:
            raise DataError(f"{m} scores in a row, the model has {self.k} components")
        with threads(1), np.errstate(all="ignore"):
            return np.asarray(self.std * self._maps.get(m)(np.ascontiguousarray(Z)) + self.mean)

    def squared_error(self, X: Array) -> Array:
        """|y - y~|^2 of each row and what comes back of it, in the units of the fit, (n,)."""
        with threads(1), np.errstate(all="ignore"):
            R = self.standard_rows(X) - self._maps.get(self.k)(self.project(X))
        return np.asarray(np.einsum("ij,ij->i", R, R))

    @cached_property
    def _maps(self) -> _Maps:
        return _Maps(self)


class _Maps:
    """Score maps by the number of scores, each learned once, whichever thread asks first."""

    def __init__(self, model: KernelModel) -> None:
        self._model = model
        self._lock = Lock()
        self._known: dict[int, ScoreMap] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        """Whoever gets the model learns them anew: a lock stays in its process."""
        return _Maps, (self._model,)

    def get(self, m: int) -> ScoreMap:
        with self._lock:
            if m not in self._known:
                model = self._model
                Z = model.dual.scores if model.orthonormal else model.project(model.training_rows)
                self._known[m] = learn(Z[:, :m], model.prepared)
            return self._known[m]


def with_preimage(model: KernelModel) -> PreimageModel:
    """The same model, with a way back."""
    if not model.kernel.of_rows:
        raise UsageError(
            "--preimage: the table was the kernel itself, the rows behind it are not known",
            "fit the rows with another --kernel",
        )
    return PreimageModel(**{field.name: getattr(model, field.name) for field in fields(model)})


def learn(Z: Array, Y: Array) -> ScoreMap:
    """The map from scores Z (t, k) to rows Y (t, d)."""
    if len(Z) > MOST_ROWS:
        chosen = np.linspace(0, len(Z) - 1, MOST_ROWS).astype(np.intp)
        Z, Y = Z[chosen], Y[chosen]
    center, mean = Z.mean(axis=0), Y.mean(axis=0)
    Z, Y = Z - center, Y - mean
    length = float(np.sqrt(np.einsum("ij,ij->", Z, Z) / len(Z))) or 1.0
    if not np.isfinite(length):
        raise RefusedError("scores of the training rows overflow a double", "fit with --standardize")
    Z = np.ascontiguousarray(Z / length)
    best = _candidate(Z, Y, 0.0)
    if best.error > EXACT * float(np.einsum("ij,ij->", Y, Y)) / len(Z):
        best = min([best, *(_candidate(Z, Y, width) for width in WIDTHS)], key=lambda found: found.error)
    return ScoreMap(Z, center, length, best.width, best.dual, mean)


def _candidate(Z: Array, Y: Array, width: float) -> Candidate:
    n = len(Z)
    K = _kernel(Z, Z, width)
    if not np.all(np.isfinite(K)):
        raise RefusedError(
            "scores of the training rows overflow a double", "rescale the columns, as --standardize does"
        )
    values, U = np.linalg.eigh(K)
    values = np.maximum(values, 0.0)
    C = U.T @ Y
    strength = np.einsum("ij,ij->i", C, C)
    ridges = RIDGES * (values[-1] or 1.0)
    kept = ridges[:, None] / (values + ridges[:, None])  # what each ridge leaves of each direction
    free = np.maximum(kept.sum(axis=1) / n, np.finfo(float).eps)
    errors = (kept**2 @ strength) / n / free**2
    at = int(errors.argmin())
    return Candidate(float(errors[at]), width, (U / (values + ridges[at])) @ C)


def _kernel(Z: Array, W: Array, width: float) -> Array:
    straight = Z @ W.T
    if width == 0:
        return straight
    D = squared_distances(Z, W)
    D *= -0.5 / width**2
    return np.asarray(straight + np.exp(D, out=D))

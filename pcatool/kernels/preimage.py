"""Approximate rows from scores: a map learned from the training rows and their scores, by kernel ridge regression.

The kernel over scores is z.z' / s^2 + exp(-|z - z'|^2 / 2 (w s)^2), s the typical length of the scores: the straight
part brings linear models back as they were, the curved part what a nonlinear kernel has bent.

Its width w and its ridge are chosen for the rows without their noise, not for the rows as they are: a map that gives
each row back as it was has removed nothing. Rows y are taken as clean rows plus noise of variance v in every column, in
the units of the fit. Of the way f from a row to its scores and back, Stein's unbiased estimate of the mean squared
distance between f(y) and the clean row is |y - f(y)|^2 + 2 v tr J - d v, with J the derivative of f; the least of it
is taken. It is measured on rows that the map was not learned from (two folds), and J along one random step for each
row, as long as the way to its nearest neighbour.
v comes from the same rows: a map that loses no signal leaves v |I - J|^2 of a row, so that |y - f(y)|^2 / |I - J|^2 is
v for such a map, and more for others. The least of these ratios is v, over maps that take away at least REMOVED of one
direction (where none does as much: REMOVED of what the strongest takes); weaker maps measure the gaps between the rows.
v is no more than what the components leave out: with all of them nothing counts as noise.
Cost: 3 t^3 for t training rows, at most MOST_ROWS of them. Deterministic.
Bakir, Weston, Schoelkopf 2004, "Learning to find pre-images", NeurIPS 16; Stein 1981, "Estimation of the mean of a
multivariate normal distribution", Annals of Statistics 9(6); Ramani, Blu, Unser 2008, "Monte-Carlo SURE", IEEE
Transactions on Image Processing 17(9).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from functools import cached_property
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pcatool.arrays import Array
from pcatool.errors import DataError, RefusedError, UsageError
from pcatool.kernels.base import slabs
from pcatool.kernels.functions import EPS, squared_distances
from pcatool.kernels.model import KernelModel
from pcatool.linalg.blas import threads
from pcatool.linalg.spectrum import middle
from pcatool.model.model import Model

__all__ = ["PreimageModel", "ScoreMap", "with_preimage"]

# Rows that the map is learned from, evenly spaced among all: more take long and add little.
MOST_ROWS = 1000

# Widths of the curved part, of the typical length of the scores.
WIDTHS = (0.25, 0.5, 1.0, 2.0)

# A straight map that loses less than this of the variance leaves nothing to bend but rounding.
EXACT = 1e-16

# Ridges, of the largest eigenvalue: from none to speak of to a twentieth of it. More would shrink rows to their mean.
RIDGES = np.concatenate([np.logspace(-14, -7, 8), np.logspace(-6, -1, 11)]) / 2

# Maps that tell how much noise there is take away at least so much of a step, in directions.
REMOVED = 0.75

# Rows whose nearest neighbours tell how long a step is.
SAMPLE = 100


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


class RidgeTrial(NamedTuple):
    """What a map with one width and one ridge did to rows that it was not learned from; sums over these rows."""

    width: float
    ridge: float  # of the largest eigenvalue
    residual: float  # |y - y~|^2
    removed: float  # |u - J u|^2, J u the answer to a small step u
    kept: float  # u . J u

    def __add__(self, other: Any) -> RidgeTrial:
        """The same map on the rows of another fold."""
        return RidgeTrial(*self[:2], *(a + b for a, b in zip(self[2:], other[2:], strict=True)))


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
                self._known[m] = learn(self._model, m)
            return self._known[m]


def with_preimage(model: KernelModel) -> PreimageModel:
    """The same model, with a way back."""
    if not model.kernel.of_rows:
        raise UsageError(
            "--preimage: the table was the kernel itself, the rows behind it are not known",
            "fit the rows with another --kernel",
        )
    return PreimageModel(**{field.name: getattr(model, field.name) for field in fields(model)})


def learn(model: KernelModel, m: int) -> ScoreMap:
    """The map from the first m scores to rows in the units of the fit."""
    Z = (model.dual.scores if model.orthonormal else model.project(model.training_rows))[:, :m]
    chosen = np.linspace(0, len(Z) - 1, min(len(Z), MOST_ROWS)).astype(np.intp)
    Z, Y = Z[chosen], model.prepared[chosen]
    spread = Y - Y.mean(axis=0)
    variance = float(np.einsum("ij,ij->", spread, spread)) / len(Y)
    if not np.isfinite(np.einsum("ij,ij->", Z, Z)):
        raise RefusedError("scores of the training rows overflow a double", "fit with --standardize")
    straight = _Ridge(Z, Y, 0.0)
    exact = straight.map(float(RIDGES[0]))
    R = Y - exact(Z)
    if len(Y) < 4 or float(np.einsum("ij,ij->", R, R)) <= EXACT * variance * len(Y):
        return exact
    steps = _Steps.of(model, model.training_rows[chosen], Y, m)
    left = 1.0 - float(model.eigenvalues[:m].sum()) / model.total_variance
    best = _least(_trials(Z, Y, steps), steps, most=max(left, 0.0) * variance)
    return (straight if best.width == 0 else _Ridge(Z, Y, best.width)).map(best.ridge)


class _Steps(NamedTuple):
    """A small random step away from each row and back, in units of the fit, and the scores there."""

    U: Array  # (t, d) half the way from the one end to the other
    ahead: Array  # (t, m)
    behind: Array  # (t, m)

    @classmethod
    def of(cls, model: KernelModel, X: Array, Y: Array, m: int) -> _Steps:
        """Steps as long as the typical way from the rows X (t, d), Y in units of the fit, to their nearest others."""
        varies = np.any(Y[0] != Y, axis=0)
        some = np.linspace(0, len(Y) - 1, min(len(Y), SAMPLE)).astype(np.intp)
        D = squared_distances(Y[some], Y)
        nearest = np.where(EPS * D.max() >= D, np.inf, D).min(axis=1)
        length = np.sqrt(middle(nearest) / max(int(varies.sum()), 1))
        V = np.random.default_rng(0).standard_normal(Y.shape) * (varies * length * model.std)
        ahead, behind = X + V, X - V
        U = (model.standard_rows(ahead) - model.standard_rows(behind)) / 2
        return cls(U, model.project(ahead)[:, :m], model.project(behind)[:, :m])

    def take(self, rows: NDArray[np.intp]) -> _Steps:
        return _Steps(self.U[rows], self.ahead[rows], self.behind[rows])


class _Ridge:
    """Regression of the rows Y (t, d) on the scores Z (t, k) with one width, before its ridge is chosen."""

    def __init__(self, Z: Array, Y: Array, width: float) -> None:
        self.center, self.mean, self.width = Z.mean(axis=0), Y.mean(axis=0), width
        Z, Y = Z - self.center, Y - self.mean
        self.length = float(np.sqrt(np.einsum("ij,ij->", Z, Z) / len(Z))) or 1.0
        self.Z = np.ascontiguousarray(Z / self.length)
        K = _kernel(self.Z, self.Z, width)
        if not np.all(np.isfinite(K)):
            raise RefusedError(
                "scores of the training rows overflow a double", "rescale the columns, as --standardize does"
            )
        values, self.V = np.linalg.eigh(K)
        self.values = np.maximum(values, 0.0)
        self.C = self.V.T @ Y

    def over(self, ridge: float) -> Array:
        """1 / (eigenvalue + ridge), (t, 1)."""
        return np.asarray(1.0 / (self.values + ridge * (self.values[-1] or 1.0)))[:, None]

    def map(self, ridge: float) -> ScoreMap:
        dual = self.V @ (self.C * self.over(ridge))
        return ScoreMap(self.Z, self.center, self.length, self.width, dual, self.mean)

    def trials(self, Z: Array, Y: Array, steps: _Steps) -> Iterator[RidgeTrial]:
        """Every ridge on other rows Y (h, d), their scores Z (h, k) and steps from them."""
        here, ahead, behind = (
            _kernel((A - self.center) / self.length, self.Z, self.width) @ self.V
            for A in (Z, steps.ahead, steps.behind)
        )
        turn = (ahead - behind) / 2
        for ridge in RIDGES.tolist():
            B = self.C * self.over(ridge)
            R, J = Y - self.mean - here @ B, turn @ B
            left = steps.U - J
            yield RidgeTrial(self.width, ridge, _square(R, R), _square(left, left), _square(steps.U, J))


def _trials(Z: Array, Y: Array, steps: _Steps) -> list[RidgeTrial]:
    """Every width and ridge, learned from one half of the rows and tried on the other, and the other way round.

    The halves are drawn at random: rows may come in turns, one of each kind.
    """
    folds = np.random.default_rng(0).permutation(len(Y)) % 2
    found: list[list[RidgeTrial]] = []
    for fold in (0, 1):
        known, held = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
        part = steps.take(held)
        found.append(
            [
                trial
                for width in (0.0, *WIDTHS)
                for trial in _Ridge(Z[known], Y[known], width).trials(Z[held], Y[held], part)
            ]
        )
    return [one + other for one, other in zip(*found, strict=True)]


def _least(trials: list[RidgeTrial], steps: _Steps, *, most: float) -> RidgeTrial:
    """The trial with the least estimate of its distance to the clean rows; noise is `most` of a row or less."""
    t, d = steps.U.shape
    one = _square(steps.U, steps.U) / d  # a step along one direction, of all rows
    residual = np.array([trial.residual for trial in trials]) / t
    kept = np.array([trial.kept for trial in trials]) / one
    # Of a rough map more of a step seems gone than the map takes away along the step.
    removed = np.minimum(np.array([trial.removed for trial in trials]) / one, d - kept)
    strongest = float(removed.max())
    if not (np.isfinite(kept).all() and strongest > 0):  # not every kernel has values beside its rows
        return trials[int(residual.argmin())]
    enough = removed >= REMOVED * min(1.0, strongest)
    noise = min(float((residual[enough] / removed[enough]).min()), most / d)
    return trials[int((residual + 2 * noise * kept).argmin())]


def _square(A: Array, B: Array) -> float:
    return float(np.einsum("ij,ij->", A, B))


def _kernel(Z: Array, W: Array, width: float) -> Array:
    straight = Z @ W.T
    if width == 0:
        return straight
    D = squared_distances(Z, W)
    D *= -0.5 / width**2
    return np.asarray(straight + np.exp(D, out=D))

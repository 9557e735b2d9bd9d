"""Approximate rows from scores (pre-images), by a map learned with kernel ridge regression.

The map is learned from the training rows and their scores. Its kernel over scores is z.z' / s^2 +
exp(-|z - z'|^2 / 2 (w s)^2), with s the typical length of the scores: the linear part is exact for linear models, and
the Gaussian part fits the curvature of a nonlinear kernel.

The width w and the ridge are chosen to recover the rows without their noise: a map that returns each row unchanged
removes no noise. A row y is modelled as a clean row plus noise of variance v in every column, in the units of the fit.
Let f map a row to its scores and back, with derivative J. Stein's unbiased estimate of the mean squared distance
between f(y) and the clean row is |y - f(y)|^2 + 2 v tr J - d v, and the map with the smallest estimate is chosen. The
estimate uses rows that the map was not learned from (two folds). J is measured along one random step for each row, as
long as the distance to its nearest neighbour.
The variance v comes from the same rows. A map that loses no signal leaves v |I - J|^2 of a row, so the ratio
|y - f(y)|^2 / |I - J|^2 is v for such a map, and larger for others. v is the smallest ratio over the maps that remove
at least LEAST_REMOVED of one direction, or that share of what the strongest map removes if no map removes as much;
weaker maps measure the gaps between the rows. v is at most the variance that the components leave out, so with all
components nothing counts as noise. Cost: 3 t^3 for t training rows, at most MOST_ROWS of them. Deterministic. Bakir,
Weston, Schoelkopf 2004, "Learning to find pre-images", NeurIPS 16; Stein 1981, "Estimation of the mean of a
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
from pcatool.kernels.base import row_slices
from pcatool.kernels.functions import EPS, squared_distances
from pcatool.kernels.model import KernelModel
from pcatool.linalg.blas import one_blas_thread
from pcatool.linalg.spectrum import upper_median
from pcatool.model.model import Model
from pcatool.wording import counted

__all__ = ["PreimageModel", "ScoreMap", "with_preimage"]

# Most rows that the map is learned from, evenly spaced among all: more rows take long and improve little.
MOST_ROWS = 1000

# Widths w of the Gaussian part that are tried, relative to the typical length of the scores.
WIDTHS = (0.25, 0.5, 1.0, 2.0)

# A linear map that loses less than this share of the variance is used as it is: only rounding remains to be fitted.
EXACT_LOSS = 1e-16

# Ridges that are tried, relative to the largest eigenvalue: from negligible to a twentieth. Larger ridges would shrink
# rows towards their mean.
RIDGES = np.concatenate([np.logspace(-14, -7, 8), np.logspace(-6, -1, 11)]) / 2

# A map is used for the noise estimate if it removes at least this part of a step, as a number of directions.
LEAST_REMOVED = 0.75

# Rows whose distances to the nearest neighbour set the length of a step.
STEP_SAMPLE_ROWS = 100


class ScoreMap(NamedTuple):
    """A learned map from scores to rows in the units of the fit."""

    Z: Array  # (m, k) centred scores of the training rows, divided by `length`
    center: Array  # (k,) mean of the scores
    length: float  # s, the typical length of the scores
    width: float  # w, width of the Gaussian part; 0 without this part
    dual: Array  # (m, d) coefficients of the ridge regression
    mean: Array  # (d,) mean of the training rows, in the units of the fit

    def __call__(self, Z: Array) -> Array:
        """Return approximate rows (h, d), in the units of the fit, from scores Z (h, k)."""
        Y = np.empty((len(Z), len(self.mean)))
        for part in row_slices(len(Z), len(self.Z)):
            Y[part] = _kernel((Z[part] - self.center) / self.length, self.Z, self.width) @ self.dual
        return Y + self.mean


class RidgeTrial(NamedTuple):
    """Measurements of a map with one width and one ridge on held-out rows, as sums over these rows."""

    width: float
    ridge: float  # relative to the largest eigenvalue
    residual: float  # sum of squared distances between each row and its reconstruction
    removed: float  # sum of |u - J u|^2, with J u the response to a small step u
    kept: float  # sum of u . J u

    def __add__(self, other: Any) -> RidgeTrial:
        """Return the trial over the rows of both: `other` has the same width and ridge, and its sums are added."""
        return RidgeTrial(*self[:2], *(a + b for a, b in zip(self[2:], other[2:], strict=True)))


@dataclass(frozen=True, eq=False)
class PreimageModel(KernelModel):
    """A kernel model that can reconstruct rows approximately from their scores."""

    def with_preimage(self) -> Model:
        """Return this model."""
        return self

    def reversible(self) -> Model:
        """Return this model, since it can reconstruct rows."""
        return self

    def reconstruct(self, Z: Array) -> Array:
        """Return approximate rows (n, d) in original units from their first k' scores Z (n, k').

        Raise DataError if there are more scores than components.
        """
        m = Z.shape[1]
        if m > self.k:
            raise DataError(f"a row has {m} scores, but the model has {counted(self.k, 'component')}")
        with one_blas_thread(), np.errstate(all="ignore"):
            return np.asarray(self.std * self._maps.get(m)(np.ascontiguousarray(Z)) + self.mean)

    def squared_error(self, X: Array) -> Array:
        """Return the squared distance of each row from its reconstruction, in the units of the fit, (n,)."""
        with one_blas_thread(), np.errstate(all="ignore"):
            R = self.standard_rows(X) - self._maps.get(self.k)(self.project(X))
        return np.asarray(np.einsum("ij,ij->i", R, R))

    @cached_property
    def _maps(self) -> _Maps:
        return _Maps(self)


class _Maps:
    """Cache of the score maps of a model, by the number of scores; several threads share one map."""

    def __init__(self, model: KernelModel) -> None:
        self._model = model
        self._lock = Lock()
        self._by_count: dict[int, ScoreMap] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        """Return the pickled form: the model alone, because a lock cannot be pickled and maps can be learned again."""
        return _Maps, (self._model,)

    def get(self, m: int) -> ScoreMap:
        """Return the map for the first m scores; learn it on first use."""
        with self._lock:
            if m not in self._by_count:
                self._by_count[m] = learn_map(self._model, m)
            return self._by_count[m]


def with_preimage(model: KernelModel) -> PreimageModel:
    """Return a copy of the model that can reconstruct rows; raise UsageError for a precomputed kernel."""
    if not model.kernel.of_rows:
        raise UsageError(
            "--preimage: this model was fitted to a kernel matrix, so the model does not hold the rows",
            "fit the rows with another --kernel, then reconstruct with the new model and --preimage",
        )
    return PreimageModel(**{field.name: getattr(model, field.name) for field in fields(model)})


def learn_map(model: KernelModel, m: int) -> ScoreMap:
    """Return the map from the first m scores to rows in the units of the fit, learned from the training rows.

    Raise RefusedError if the scores of the training rows overflow.
    """
    Z = (model.dual.scores if model.orthonormal else model.project(model.training_rows))[:, :m]
    chosen = np.linspace(0, len(Z) - 1, min(len(Z), MOST_ROWS)).astype(np.intp)
    Z, Y = Z[chosen], model.prepared[chosen]
    spread = Y - Y.mean(axis=0)
    variance = float(np.einsum("ij,ij->", spread, spread)) / len(Y)
    if not np.isfinite(np.einsum("ij,ij->", Z, Z)):
        raise RefusedError("scores of the training rows overflow a double", "fit with --standardize")
    linear = _Ridge(Z, Y, 0.0)
    exact = linear.map(float(RIDGES[0]))
    R = Y - exact(Z)
    if len(Y) < 4 or float(np.einsum("ij,ij->", R, R)) <= EXACT_LOSS * variance * len(Y):
        return exact
    steps = _Steps.of(model, model.training_rows[chosen], Y, m)
    omitted = 1.0 - float(model.eigenvalues[:m].sum()) / model.total_variance
    best = _best_trial(_cross_validated_trials(Z, Y, steps), steps, max_noise=max(omitted, 0.0) * variance)
    return (linear if best.width == 0 else _Ridge(Z, Y, best.width)).map(best.ridge)


class _Steps(NamedTuple):
    """A small random step from each row in both directions, with the scores at both ends."""

    U: Array  # (t, d) the step, half of the difference of both ends, in the units of the fit
    ahead: Array  # (t, m) scores at row + step
    behind: Array  # (t, m) scores at row - step

    @classmethod
    def of(cls, model: KernelModel, X: Array, Y: Array, m: int) -> _Steps:
        """Build steps as long as the typical distance to the nearest neighbour.

        X (t, d) are the rows as read, Y (t, d) the same rows in the units of the fit; m is the number of scores.
        """
        varies = np.any(Y[0] != Y, axis=0)
        sampled = np.linspace(0, len(Y) - 1, min(len(Y), STEP_SAMPLE_ROWS)).astype(np.intp)
        D = squared_distances(Y[sampled], Y)
        nearest = np.where(EPS * D.max() >= D, np.inf, D).min(axis=1)
        length = np.sqrt(upper_median(nearest) / max(int(varies.sum()), 1))
        V = np.random.default_rng(0).standard_normal(Y.shape) * (varies * length * model.std)
        ahead, behind = X + V, X - V
        U = (model.standard_rows(ahead) - model.standard_rows(behind)) / 2
        return cls(U, model.project(ahead)[:, :m], model.project(behind)[:, :m])

    def take(self, rows: NDArray[np.intp]) -> _Steps:
        return _Steps(self.U[rows], self.ahead[rows], self.behind[rows])


class _Ridge:
    """Kernel ridge regression of the rows Y (t, d) on the scores Z (t, k) for one width, factorised for any ridge.

    Raise RefusedError if the kernel of the scores overflows.
    """

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

    def inverse_values(self, ridge: float) -> Array:
        """Return 1 / (eigenvalue + ridge * largest eigenvalue) for each eigenvalue, (t, 1)."""
        return np.asarray(1.0 / (self.values + ridge * (self.values[-1] or 1.0)))[:, None]

    def map(self, ridge: float) -> ScoreMap:
        """Return the score map with this ridge, which is relative to the largest eigenvalue."""
        dual = self.V @ (self.C * self.inverse_values(ridge))
        return ScoreMap(self.Z, self.center, self.length, self.width, dual, self.mean)

    def trials(self, Z: Array, Y: Array, steps: _Steps) -> Iterator[RidgeTrial]:
        """Yield a trial for each of RIDGES, on held-out rows Y (h, d) with their scores Z (h, k) and their steps."""
        rows_product, ahead, behind = (
            _kernel((A - self.center) / self.length, self.Z, self.width) @ self.V
            for A in (Z, steps.ahead, steps.behind)
        )
        response = (ahead - behind) / 2
        for ridge in RIDGES.tolist():
            B = self.C * self.inverse_values(ridge)
            R, J = Y - self.mean - rows_product @ B, response @ B
            removed = steps.U - J
            sums = (_inner_product(*pair) for pair in ((R, R), (removed, removed), (steps.U, J)))
            yield RidgeTrial(self.width, ridge, *sums)


def _cross_validated_trials(Z: Array, Y: Array, steps: _Steps) -> list[RidgeTrial]:
    """Return a trial for each width and ridge, with sums over all rows, by cross-validation with two folds.

    Each row is reconstructed by a map that was learned from the fold without this row. The folds are random, because
    rows of different kinds may alternate in the input.
    """
    folds = np.random.default_rng(0).permutation(len(Y)) % 2
    by_fold: list[list[RidgeTrial]] = []
    for fold in (0, 1):
        learned, held_out = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
        held_steps = steps.take(held_out)
        by_fold.append(
            [
                trial
                for width in (0.0, *WIDTHS)
                for trial in _Ridge(Z[learned], Y[learned], width).trials(Z[held_out], Y[held_out], held_steps)
            ]
        )
    return [first + second for first, second in zip(*by_fold, strict=True)]


def _best_trial(trials: list[RidgeTrial], steps: _Steps, *, max_noise: float) -> RidgeTrial:
    """Return the trial whose reconstructed rows have the smallest estimated distance to the rows without noise.

    `max_noise` bounds the noise variance of a row, summed over its columns.
    """
    t, d = steps.U.shape
    step_square = _inner_product(steps.U, steps.U) / d  # squared steps along one direction, summed over rows
    residual = np.array([trial.residual for trial in trials]) / t
    kept = np.array([trial.kept for trial in trials]) / step_square
    # A rough map also moves sideways, so more of a step seems removed than the map removes along the step.
    removed = np.minimum(np.array([trial.removed for trial in trials]) / step_square, d - kept)
    strongest = float(removed.max())
    if not (np.isfinite(kept).all() and strongest > 0):  # some kernels have no finite values away from the rows
        return trials[int(residual.argmin())]
    strong = removed >= LEAST_REMOVED * min(1.0, strongest)
    noise = min(float((residual[strong] / removed[strong]).min()), max_noise / d)
    return trials[int((residual + 2 * noise * kept).argmin())]


def _inner_product(A: Array, B: Array) -> float:
    """Return the sum of the products of corresponding entries of the matrices A and B."""
    return float(np.einsum("ij,ij->", A, B))


def _kernel(Z: Array, W: Array, width: float) -> Array:
    """Return the kernel values (h, m) between scores Z (h, k) and W (m, k), both divided by their typical length.

    A `width` of 0 omits the Gaussian part.
    """
    linear = Z @ W.T
    if width == 0:
        return linear
    D = squared_distances(Z, W)
    D *= -0.5 / width**2
    return np.asarray(linear + np.exp(D, out=D))

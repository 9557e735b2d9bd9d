"""Sums over the rows of a fit, which a model keeps so that it can be fitted again without the rows; and their checks.

From the sums a model can be fitted with more rows, with fewer rows, or with other options. The sums are about the mean
and unscaled, so standardising, centring and the divisor can still be chosen. A model file holds these arrays:

| array | shape | models | meaning |
|---|---|---|---|
| `means` | (2, d) | all | column means, each an unevaluated sum of two doubles |
| `rounding` | (d,) | pca | error bound of entry S_ij of `scatter`: 2 sqrt(rounding_i S_ii rounding_j S_jj) |
| | | factor | error bound of column j of `factor`, relative to its length |
| | (d + 1,) | supervised | error bound of `cross`, as for `scatter`; the last entry is for all labels together |
| `means_error` | (2, d) | all | error bounds of `means`; the part from updates; absent if `rounding` covers both |
| `weights` | (2,) | weighted | sum of the weights w, and of w_i w_j over i != j |
| `weights_error` | (2,) | weighted | error bounds of `weights`, where weights are not whole numbers |
| `scatter` | (d, d) | pca | sum of w (x - mean)(x - mean)^T |
| `factor` | (r, d) | pca | instead of `scatter`: R with R^T R = scatter, from solvers that keep twice its digits |
| `cross` | (t, d) | supervised | sum of (y - nu)(x - mean)^T over labels y, or over 0/1 indicator columns of classes |
| `squares` | (d,) | supervised | sum of (x - mean)^2 |
| `label_means` | (2, t) | supervised | label means as in `means`; for classes, the share of rows in each class |
| `label_squares` | (t,) | supervised | sum of (y - nu)^2 |
| `class_names` | (t,) | classes | in order of first appearance |
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from copy import deepcopy
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pcatool.arrays import Array, block_rows
from pcatool.errors import ModelError
from pcatool.linalg.cross_moments import CrossMoments
from pcatool.linalg.moments import Centre, Moments, estimated_weight_errors
from pcatool.linalg.spectrum import EPS
from pcatool.linalg.triangle import Triangle

__all__ = ["KINDS", "STEP", "TOTAL_TOLERANCE", "Statistic", "relative_errors"]

# Array in a model file -> its numpy kind.
KINDS = {
    "means": "f",
    "means_error": "f",
    "rounding": "f",
    "weights": "f",
    "weights_error": "f",
    "scatter": "f",
    "factor": "f",
    "cross": "f",
    "squares": "f",
    "label_means": "f",
    "label_squares": "f",
    "class_names": "U",
}

# Relative tolerance of the checks. Sums agree with the stored variances to rounding error; a larger difference means
# that the file was edited or damaged.
TOTAL_TOLERANCE = 1e-6

# Rows of a scatter that are checked per step: with a thousand columns they fit into the cache.
AT_ONCE = 32


def check_sums(sums: RowSums, rounding: Array, mean: Array, variances: Array, divisor: float) -> None:
    """Raise ModelError if the sums contradict the column means `mean` (d,) or the column variances (d,) of a model.

    Also raise it if an error bound in `rounding` (see the table of the module) is below 0, or if a scatter S is not
    symmetric or has an |S_ij| above sqrt(S_ii S_jj). `variances` times `divisor` are the sums of squares.
    """
    squares = sums.squares
    of_features = rounding[: len(squares)]
    if len(squares) != len(variances):
        raise ModelError(f"the sums have {len(squares)} columns, but the model has {len(variances)} columns")
    if not np.all(rounding >= 0):
        raise ModelError("array 'rounding' has a value below 0")
    with np.errstate(all="ignore"):
        if not np.all(np.abs(squares - variances * divisor) <= (TOTAL_TOLERANCE + 2 * of_features) * squares):
            raise ModelError("the sums of squares do not match the column variances")
        if not np.all(np.abs(sums.centre.mean - mean) <= TOTAL_TOLERANCE * (np.abs(mean) + np.sqrt(variances))):
            raise ModelError("the means stored with the sums do not match the column means")
        if isinstance(sums, Moments):
            _check_products(sums.scatter, np.sqrt(squares * (1 + 4 * of_features)))


def _check_products(S: Array, length: Array) -> None:
    """Raise ModelError unless S (d, d) is symmetric and |S_ij| <= length_i length_j, both up to TOTAL_TOLERANCE."""
    for first in range(0, len(S), AT_ONCE):
        rows, others = slice(first, first + AT_ONCE), slice(first, None)
        products, bound = S[rows, others], np.outer(length[rows], length[others])
        if not np.all(np.abs(products - S[others, rows].T) <= TOTAL_TOLERANCE * bound):
            raise ModelError("array 'scatter' is not symmetric")
        if not np.all(np.abs(products) <= (1 + TOTAL_TOLERANCE) * bound):
            raise ModelError("array 'scatter' has an entry S_ij whose absolute value is above sqrt(S_ii S_jj)")


def check_shapes(arrays: Mapping[str, NDArray[Any]], kind: str) -> None:
    """Raise ModelError unless the shapes of the arrays of a model file fit together, and all values are valid.

    `arrays` maps names of KINDS to arrays; `kind` is the array that holds the products: "scatter", "factor" or "cross".
    Values must be finite, the sums of weights possible for some weights above 0, error bounds and sums of squares of
    labels not below 0, shares of classes above 0 with sum 1, and names of classes different.
    """
    d = arrays["rounding"].size - (kind == "cross")
    shapes = {
        "means": (2, d),
        "means_error": (2, d),
        "rounding": (d + (kind == "cross"),),
        "weights": (2,),
        "weights_error": (2,),
        "scatter": (d, d),
        "squares": (d,),
    }
    if kind == "factor":
        shapes["factor"] = (min((*arrays["factor"].shape[:1], d)), d)
    if kind == "cross":
        t = arrays["label_squares"].size
        shapes |= {"cross": (t, d), "label_means": (2, t), "label_squares": (t,), "class_names": (t,)}
    for name, shape in shapes.items():
        if name in arrays and arrays[name].shape != shape:
            raise ModelError(f"array '{name}' has shape {arrays[name].shape}, not {shape}")
        if name in arrays and KINDS[name] == "f" and not np.all(np.isfinite(arrays[name])):
            raise ModelError(f"array '{name}' has a value that is not finite")
    if "weights" in arrays:
        weight, pairs = arrays["weights"]
        if not weight > 0:
            raise ModelError("the first value in array 'weights', the sum of the weights, is not above 0")
        if not pairs >= 0:
            raise ModelError("the second value in array 'weights' is below 0")
        if not pairs / weight <= weight:
            raise ModelError("the second value in array 'weights' is above the square of the first")
    if "weights_error" in arrays and "weights" not in arrays:
        raise ModelError("it has array 'weights_error' but no array 'weights'")
    for name in ("weights_error", "means_error"):
        if name in arrays and np.any(arrays[name] < 0):
            raise ModelError(f"array '{name}' has a value below 0")
    if kind == "cross":
        _check_labels(arrays["label_means"].sum(axis=0), arrays["label_squares"], "class_names" in arrays)
    if "class_names" in arrays and len(set(arrays["class_names"].tolist())) < arrays["class_names"].size:
        raise ModelError("array 'class_names' has two equal names")


def _check_labels(means: Array, squares: Array, classes: bool) -> None:
    if not (len(squares) and np.all(squares >= 0)):
        raise ModelError("array 'label_squares' is empty, or has a value below 0")
    if classes and not (np.all(means > 0) and abs(float(means.sum()) - 1) <= TOTAL_TOLERANCE):
        raise ModelError("array 'label_means' must hold shares above 0, one for each class, that add up to 1")


RowSums = Moments | Triangle | CrossMoments

# Relative rounding from which a sum of squares is unknown: its error, twice this, equals its value. The column then
# counts as constant.
UNKNOWN_ROUNDING = 0.5

# Rounding of one merge, in units of eps: the difference of two means, its square and its weight.
STEP = 3.0


class Statistic(NamedTuple):
    """Sums over rows with bounds on their rounding errors; kept in a model for update, merge, subtract and refit.

    `summed` makes a statistic after a fit, `of` from a model file; `merged`, `subtract`, `without` and `take` make one
    from other statistics.
    """

    sums: RowSums  # with origin 0
    rounding: Array  # as in the table of the module: (d,), or with labels (d + 1,)
    classes: tuple[str, ...] = ()  # names of the classes whose 0/1 indicator columns are the labels
    # (2, d) error bounds of the means, and the part of these bounds that comes from rounding when the mean was updated
    # and not from errors of cells; None if `rounding` covers both.
    mean_errors: Array | None = None

    @classmethod
    def summed(cls, sums: RowSums, rounding: Array, classes: tuple[str, ...] = ()) -> Statistic:
        """Return the statistic of `sums`, converted to the origin 0 from any other, such as the first row.

        `rounding` (d,) is the relative rounding error of the centred cells of each column; with labels (d + 1,), and
        the last entry is for all labels. `classes` are the names of the classes, if the labels are classes.
        """
        if isinstance(sums, CrossMoments):
            sums = sums._replace(label=sums.label.with_origin_zero())
        sums = sums._replace(centre=sums.centre.with_origin_zero())
        return cls(sums, rounding if isinstance(sums, Triangle) else product_rounding(rounding), classes)

    @property
    def feature_rounding(self) -> Array:
        """Entries (d,) of `rounding` for the features, without the entry for labels."""
        return self.rounding[: len(self.sums.squares)]

    @property
    def mean_error(self) -> Array:
        """Error bound of the mean of each column, (d,)."""
        if self.mean_errors is not None:
            return np.asarray(self.mean_errors[0])
        return np.asarray(self.feature_rounding * np.sqrt(self.sums.squares / self.centre.weight))

    @property
    def update_error(self) -> Array:
        """Part (d,) of `mean_error` that comes from merging and removing rows, not from errors of cells."""
        return np.zeros(len(self.sums.squares)) if self.mean_errors is None else self.mean_errors[1]

    @property
    def uncertain_columns(self) -> NDArray[np.intp]:
        """Indices of the columns whose variance is indistinguishable from rounding error."""
        return np.flatnonzero((self.sums.squares > 0) & (self.feature_rounding >= UNKNOWN_ROUNDING))

    @property
    def centre(self) -> Centre:
        """Row count, weight and means of the features."""
        return self.sums.centre

    @property
    def nbytes(self) -> int:
        """Size of the arrays in bytes, as kept in a model."""
        return sum(array.nbytes for array in self.arrays().values())

    def merged(self, other: Statistic) -> Statistic:
        """Return the statistic of these rows followed by the rows of `other`; changes neither.

        If one of both has a scatter and the other a triangular factor, the result has a scatter.
        """
        one, two, classes = self._aligned(other)
        left, right = one.sums, two.sums
        sums = deepcopy(left).merge(right)
        shared = left.centre.weight * (right.centre.weight / sums.centre.weight)
        gap = np.sqrt(shared) * (one.update_error + two.update_error)
        if isinstance(sums, Triangle):  # its rounding is relative to lengths; errors of lengths do not add up
            rounding = (
                np.maximum(one.rounding, two.rounding)
                + STEP * EPS
                + relative_errors(gap, np.sqrt(sums.sizes), none=0.0)
            )
        else:
            off = STEP * EPS * sums.sizes + one.rounding * left.sizes + two.rounding * right.sizes
            rounding = relative_errors(off + _gap_errors(gap, sums.sizes), sums.sizes)
        return Statistic(
            _varying(sums, rounding, _differing(left.centre, right.centre)), rounding, classes
        )._with_mean_errors(one, two, covered=True)

    def subtract(self, other: Statistic) -> Statistic:
        """Return the statistic of these rows without the rows of `other`; a triangular factor becomes a scatter.

        Classes without rows are left out. If the rows of `other` are not among these rows, a sum of squares may be
        below 0 by more than rounding; the caller must check this.

        The error of entry S_ij is at most 2 sqrt(e_i e_j) with e_i = rounding_i S_ii. By Cauchy's inequality the error
        of a sum or difference of two matrices is bounded in the same way, with e_i the sum of both. Both are increased
        first, because the removed rows may have larger squares about the mean of the remaining rows than about the mean
        of all rows.
        """
        one, two, classes = self._aligned(other)
        one, two = one._with_scatter(), two._with_scatter()
        left, right = one.sums, two.sums
        sums = left.subtract(right)
        with np.errstate(all="ignore"):
            kept, whole = sums.centre.weight, left.centre.weight
            weight_rounding = sums.centre.weight_error / kept
            apart = np.maximum(left.sizes - right.sizes - sums.sizes, 0.0) * (whole / kept)
            growth = np.where(left.sizes > 0, np.fmax((right.sizes + apart) / left.sizes, 1.0), 1.0)
            growth += 4 * float(one.rounding.min()) * (whole / kept)
            shared = kept * (right.centre.weight / whole)
            gap = np.sqrt(shared) * (one.update_error + two.update_error) * (whole / kept)
            off = (
                (STEP * EPS + weight_rounding) * left.sizes
                + _gap_errors(gap, left.sizes)
                + growth * (one.rounding * left.sizes + two.rounding * right.sizes)
            )
            # Squares far smaller than the sum to which they are added may all round in the same direction.
            d = len(sums.squares)
            most = off + EPS * min(left.centre.rows, block_rows(d)) * left.sizes
            off = np.where(sums.sizes > 2 * most, off, most)
            squares = sums.squares
            sums = sums.with_squares(np.where(squares < -2 * most[:d], squares, np.maximum(squares, off[:d])))
            if isinstance(sums, CrossMoments):
                squares = sums.label_squares
                sums = sums._replace(label_squares=np.where(squares < -2 * most[d], squares, np.maximum(squares, 0.0)))
        rounding = relative_errors(off, sums.sizes)
        if classes:
            sums, classes = _without_empty(sums, classes)
        return Statistic(_varying(sums, rounding), rounding, classes)._with_mean_errors(one, two)

    def _with_mean_errors(self, one: Statistic, two: Statistic, *, covered: bool = False) -> Statistic:
        """Return a copy with `mean_errors` set, for means that were computed from the means of `one` and `two`.

        Errors of sums over rows add up, also when rows are removed. With `covered`, the statistic is returned unchanged
        if `rounding` already covers these errors.
        """
        before, now = one.centre, self.centre
        with np.errstate(all="ignore"):
            weights = before.weight / now.weight, two.centre.weight / now.weight
            part = EPS + now.weight_error / now.weight
            move = part * np.abs((now.high - before.high) + (now.low - before.low))
            off = weights[0] * one.mean_error + weights[1] * two.mean_error + move
            covered = (
                covered and one.mean_errors is None and two.mean_errors is None and bool(np.all(off <= self.mean_error))
            )
            update_error = weights[0] * one.update_error + weights[1] * two.update_error + move
        return self if covered else self._replace(mean_errors=np.stack([off, update_error]))

    def without(self, columns: NDArray[np.intp]) -> Statistic:
        """Return a copy in which the columns at these indices count as constant: their sums of squares are 0."""
        rounding = self.rounding.copy()
        rounding[columns] = EPS
        varies = self.centre.varies.copy()
        varies[columns] = False
        return Statistic(
            _varying(self.sums.without(columns), rounding, varies), rounding, self.classes, self.mean_errors
        )

    def take(self, columns: NDArray[np.intp]) -> Statistic:
        """Return the statistic of the columns at these indices only, with all labels."""
        of_labels = self.rounding[len(self.sums.squares) :]
        mean_errors = None if self.mean_errors is None else self.mean_errors[:, columns]
        return Statistic(
            self.sums.take(columns), np.append(self.rounding[columns], of_labels), self.classes, mean_errors
        )

    def _with_scatter(self) -> Statistic:
        """Return the statistic with the scatter R^T R in place of a triangular factor R, if it has one.

        Small eigenvalues of the scatter have half as many right digits.
        """
        if not isinstance(self.sums, Triangle):
            return self
        return self._replace(sums=self.sums.moments(), rounding=product_rounding(self.rounding))

    def _aligned(self, other: Statistic) -> tuple[Any, Any, tuple[str, ...]]:
        """Return both statistics with sums that can be merged, and the classes of both in order of first appearance.

        The labels of `other` are renumbered by these classes. A triangular factor becomes a scatter if the other
        statistic has a scatter.
        """
        one, two = self, other
        if isinstance(one.sums, Moments) or isinstance(two.sums, Moments):
            one, two = one._with_scatter(), two._with_scatter()
        right = two.sums
        if not other.classes or not isinstance(right, CrossMoments):
            return one, two, self.classes
        slots = {name: slot for slot, name in enumerate(dict.fromkeys([*self.classes, *other.classes]))}
        right = right._replace(slots=np.array([slots[name] for name in other.classes], dtype=np.intp))
        return one, two._replace(sums=right), tuple(slots)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return name -> array, as in a model file; the table at the top of this module lists them."""
        centre, sums = self.centre, self.sums
        named: dict[str, NDArray[Any]] = {"means": np.stack([centre.high, centre.low]), "rounding": self.rounding}
        if self.mean_errors is not None:
            named["means_error"] = self.mean_errors
        if centre.weight != centre.rows or centre.pairs != _pairs(centre.rows):
            named["weights"] = np.array([centre.weight, centre.pairs])
            errors = np.array([centre.weight_error, centre.pairs_error])
            named |= {"weights_error": errors} if errors.any() else {}
        match sums:
            case Moments():
                return named | {"scatter": sums.scatter}
            case Triangle():
                return named | {"factor": sums.R}
        named |= {
            "cross": sums.cross,
            "squares": sums.squares,
            "label_means": np.stack([sums.label.high, sums.label.low]),
            "label_squares": sums.label_squares,
        }
        return named | ({"class_names": np.array(self.classes, dtype=np.str_)} if self.classes else {})

    @classmethod
    def of(cls, arrays: Mapping[str, NDArray[Any]], rows: int) -> Statistic | None:
        """Return the statistic of a model that was fitted to `rows` rows, from the arrays of its file.

        Return None if the file holds no sums. Raise ModelError for arrays that are missing or contradict each other.
        """
        kind = [name for name in ("scatter", "factor", "cross") if name in arrays]
        if not kind:
            return None
        if len(kind) > 1:
            raise ModelError(f"it has both array '{kind[0]}' and array '{kind[1]}'")
        names = ["means", "rounding", *(["squares", "label_means", "label_squares"] if kind[0] == "cross" else [])]
        missing = [name for name in names if name not in arrays]
        if missing:
            raise ModelError(f"it has array '{kind[0]}' but no array '{missing[0]}'")
        check_shapes(arrays, kind[0])
        weight = arrays.get("weights", np.array([rows, _pairs(rows)]))
        errors = (
            arrays["weights_error"] if "weights_error" in arrays else estimated_weight_errors(rows, *weight.tolist())
        )
        centre = _centre(rows, weight, arrays["means"], errors)
        sums: RowSums
        match kind[0]:
            case "scatter":
                sums = Moments(centre, arrays["scatter"])
            case "factor":
                sums = Triangle(centre, arrays["factor"])
            case _:
                label, t = _centre(rows, weight, arrays["label_means"], errors), np.arange(arrays["label_squares"].size)
                sums = CrossMoments(centre, arrays["squares"], label, arrays["label_squares"], arrays["cross"], t)
        classes = tuple(arrays["class_names"].tolist()) if "class_names" in arrays else ()
        return cls(_varying(sums, arrays["rounding"]), arrays["rounding"], classes, arrays.get("means_error"))

    def product(self, V: Array) -> Array:
        """Return the scatter times V (d, k); with labels Y of features X, return X^T H Y Y^T H X V, where H centres.

        The columns `uncertain_columns` count as constant.
        """
        sums = self.without(self.uncertain_columns).sums if len(self.uncertain_columns) else self.sums
        match sums:
            case Moments():
                return sums.scatter @ V
            case Triangle():
                return sums.R.T @ (sums.R @ V)
        return sums.cross.T @ (sums.cross @ V)

    def check(self, mean: Array, variances: Array, divisor: float) -> None:
        """Raise ModelError if the sums contradict the column means or variances (d,) of the model; see `check_sums`."""
        check_sums(self.sums, self.rounding, mean, variances, divisor)


def product_rounding(rounding: Array) -> Array:
    """Return a (d,) such that the inner product of columns i and j has a relative error of at most 2 sqrt(a_i a_j).

    `rounding` (d,) is the relative error of each column, so the error of the product, relative to the product of the
    lengths, is at most rounding_i + rounding_j. By Cauchy's inequality, a_i = (t + rounding_i^2 / t) / 2 suffices for
    every t > 0. Entries of UNKNOWN_ROUNDING or more are returned unchanged.
    """
    known = rounding[rounding < UNKNOWN_ROUNDING]
    t = float(known.max()) if len(known) else 1.0
    return np.where(rounding < UNKNOWN_ROUNDING, (t + rounding * rounding / t) / 2, rounding) if t > 0 else rounding


def _gap_errors(gap: Array, sizes: Array) -> Array:
    """Return errors e of sums of squares that come from the errors `gap` (d,) of a difference of two means.

    `gap` is scaled like the length of a column. Products of columns i and j are off by at most 2 sqrt(e_i e_j). The
    shape is that of the sums `sizes`: (d,), or with labels (d + 1,); the error of the labels is 0.
    """
    parts = relative_errors(gap, np.sqrt(sizes[: len(gap)]), none=0.0)
    t = float(parts.max())
    off = (t + parts * parts / t) / 2 * sizes[: len(gap)] if t > 0 else parts
    return np.append(off, np.zeros(len(sizes) - len(gap)))


def relative_errors(off: Array, sizes: Array, none: float = EPS) -> Array:
    """Return the errors `off` (d,) divided by `sizes` (d,), at most 1; `none` where the error is 0."""
    with np.errstate(all="ignore"):
        return np.where(off > 0, off / np.maximum(sizes, off), none)


def _pairs(rows: int) -> float:
    """Return the number of ordered pairs of rows: the sum of w_i w_j over i != j with all weights 1."""
    return float(rows) * (rows - 1)


def _centre(rows: int, weight: Array, means: Array, errors: Iterable[float]) -> Centre:
    """Return the centre of `rows` rows with origin 0, from the arrays weights, means and weights_error of a file."""
    zeros, (off, pairs_off) = np.zeros(means.shape[1]), map(float, errors)
    return Centre(rows, float(weight[0]), float(weight[1]), zeros, means[0], means[1], zeros > 0, off, pairs_off)


def _differing(one: Centre, other: Centre) -> NDArray[np.bool_]:
    """Return a mask (d,) of the columns that vary in a group of rows, or whose means differ between the groups.

    Means that differ count even if the square of the difference underflows.
    """
    return np.asarray(one.varies | other.varies | (one.high != other.high) | (one.low != other.low))


def _varying(sums: Any, rounding: Array, varies: NDArray[np.bool_] | None = None) -> Any:
    """Return a copy of the sums with the mask `centre.varies` set to `varies` (d,).

    Without `varies`, the columns with a sum of squares above 0 vary; for labels, the mask is always set in this way.
    Columns and labels whose `rounding` is at least UNKNOWN_ROUNDING count as constant.
    """
    covered = rounding < UNKNOWN_ROUNDING
    varies = sums.squares > 0 if varies is None else varies
    sums = sums._replace(centre=sums.centre._replace(varies=varies & covered[: len(sums.squares)]))
    if isinstance(sums, CrossMoments):
        sums = sums._replace(label=sums.label._replace(varies=(sums.label_squares > 0) & covered[-1]))
    return sums


def _without_empty(sums: CrossMoments, classes: tuple[str, ...]) -> tuple[CrossMoments, tuple[str, ...]]:
    """Return the sums and the names without the classes that have no rows.

    The shares of the other classes are computed again from whole numbers of rows, to be free of rounding error.
    """
    n = sums.centre.rows
    counts = np.rint((sums.label.high + sums.label.low) * n)
    kept = np.flatnonzero(counts)  # keeps counts below 0, which show that the removed rows were not in the sums
    shares = counts / n
    label = sums.label._replace(high=shares, low=np.zeros(len(counts)))
    sums = sums._replace(label=label, label_squares=counts * (1.0 - shares))
    return sums.of_labels(kept), tuple(classes[i] for i in kept.tolist())

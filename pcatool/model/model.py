"""The fitted record `Model`, and its table of explained variance.

A model projects rows to scores, reconstructs rows, and measures the error of reconstruction. Rows are samples: X has
shape (n, d). Scores are Z = ((X - mu) / sigma) B; the reconstruction is X~ = sigma * (Z B^T) + mu. Kernel models are in
`pcatool.kernels.model`.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

import numpy as np
from numpy.typing import NDArray

from pcatool.arrays import Array
from pcatool.errors import DataError, ModelError, UsageError
from pcatool.linalg.blas import one_blas_thread
from pcatool.linalg.moments import center_rows, row_means
from pcatool.model.validate import OPTIONAL, check_model, check_orthonormal
from pcatool.wording import counted, percent, show

__all__ = ["FORMAT_VERSION", "SCIKIT_LEARN", "Model", "VarianceTable", "component_name"]

if TYPE_CHECKING:
    from pcatool.linalg.row_sums import Statistic


@dataclass(frozen=True)
class VarianceTable:
    """Variance that the first M components keep and lose, for M = 1, 2, ...; one row per known eigenvalue."""

    component: NDArray[np.int64]  # M
    eigenvalue: Array  # eigenvalue of component M
    share: Array  # eigenvalue / total variance
    cumulative: Array  # V_M / total variance
    captured: Array  # V_M: sum of the first M eigenvalues
    lost: Array  # J_M: total variance - V_M
    lost_share: Array  # J_M / total variance

    @classmethod
    def of(cls, eigenvalues: Array, total: float) -> VarianceTable:
        """Return the table of the known eigenvalues (m,) and of `total`, the sum of all eigenvalues."""
        m = len(eigenvalues)
        # Variance beyond the known eigenvalues; a remainder within the rounding error of the sum counts as 0.
        unknown = total - float(np.sum(eigenvalues))
        unknown = unknown if unknown > 8 * m * np.finfo(float).eps * total else 0.0
        # J_M is summed from the smallest eigenvalue on, so that a small loss keeps its digits.
        tail = np.concatenate([[0.0], np.cumsum(eigenvalues[:0:-1])])[::-1] if m else np.zeros(0)
        lost = tail + unknown
        captured = np.cumsum(eigenvalues)
        lost_share = np.minimum(lost / total, 1.0)
        return cls(
            component=np.arange(1, m + 1),
            eigenvalue=np.array(eigenvalues),
            share=np.minimum(eigenvalues / total, 1.0),
            cumulative=1.0 - lost_share,
            captured=captured,
            lost=lost,
            lost_share=lost_share,
        )

    @property
    def slack(self) -> float:
        """Rounding error allowed in a sum of shares, so that shares which add up to 0.95 on paper reach 0.95."""
        return 8 * max(len(self.lost_share), 1) * float(np.finfo(float).eps)

    def smallest_k(self, share: float) -> int | None:
        """Return the smallest number of components that keep at least `share` of the total variance, up to rounding.

        Return None if all components with a known eigenvalue together keep less.
        """
        reached = np.flatnonzero(self.lost_share <= (1.0 - share) + self.slack)
        return int(reached[0]) + 1 if len(reached) else None

    def first(self, count: int) -> VarianceTable:
        """Return the table of the first `count` rows."""
        return VarianceTable(**{name: column[:count] for name, column in self.columns().items()})

    def columns(self) -> dict[str, NDArray[Any]]:
        """Return a dict from the name of each column to its values, in the order that reports and CSV files have."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}


def component_name(number: int) -> str:
    """Return the name of a component, such as `PC1`; numbers begin at 1."""
    return f"PC{number}"


# Version 2 has whitening, row centring, kernel and supervised models, which a reader of version 1 would misread.
FORMAT_VERSION = 2

# Name of the solver of a model that was converted from scikit-learn.
SCIKIT_LEARN = "scikit-learn"


@dataclass(frozen=True, eq=False)
class Model:
    """A fitted linear model: an immutable record whose shapes and values are checked when it is built.

    Made by `pcatool.fit`, saved by `pcatool.save_model`, read by `pcatool.load_model`, applied by `pcatool.transform`
    and `pcatool.reconstruct`. Two models are equal if their files would be the same; a copy or a pickle of a model is
    equal to the model. A model has no `len`: use `n_samples`, `d` or `k`.

    Raises `ModelError` where arrays or settings do not fit together.

    >>> import pcatool
    >>> model = pcatool.fit([[10.0, 10], [2, 2], [7, 7], [1, 1], [5, 5]], components=1)
    >>> model
    <pcatool.Model: pca, 5 x 2, k=1 keeps 100.00%, not standardised, ddof 0, solver covariance>
    >>> model.basis.shape, model.columns
    ((2, 1), ('c1', 'c2'))
    """

    EXTRA_ARRAYS: ClassVar[Mapping[str, str]] = {}  # further arrays of a subclass: name -> numpy kind

    mean: Array  # (d,) zeros when not centred
    std: Array  # (d,) ones when not standardised
    basis: Array  # (d, k) orthonormal columns, leading first
    eigenvalues: Array  # (m,) all that are known, m >= k; >= 0, descending except as meta["aligned"] says
    total_variance: float  # sum of all eigenvalues, known or not, computed from the data
    n_samples: int  # rows used
    columns: tuple[str, ...]  # feature names, in the order of the rows of basis
    meta: Mapping[str, Any] = field(default_factory=dict)  # settings, listed in `validate.SETTINGS`
    variances: Array | None = None  # (d,) of the columns as read, about their mean; None: unknown
    column_means: Array | None = None  # (d,) fill values for missing cells, if the model is not centred
    statistic: Statistic | None = None  # sums over rows, for `update`, `merge` and `refit`; None: not kept

    def __post_init__(self) -> None:
        """Copy the arrays as read-only float64, freeze the settings, and raise `ModelError` if the model is invalid."""
        for name in ("mean", "std", "basis", "eigenvalues", *OPTIONAL, *self.EXTRA_ARRAYS):
            if getattr(self, name) is None:
                continue
            array = np.array(getattr(self, name), dtype=np.float64, order="C")
            array.setflags(write=False)
            object.__setattr__(self, name, array)
        object.__setattr__(self, "columns", tuple(str(c) for c in self.columns))
        object.__setattr__(self, "total_variance", float(self.total_variance))
        object.__setattr__(self, "n_samples", int(self.n_samples))
        object.__setattr__(self, "meta", frozen(self.meta))
        _set_read_only(self.statistic)
        with np.errstate(all="ignore"):
            check_model(self)

    def check_basis(self) -> None:
        """Raise `ModelError` unless `basis` has at most d columns, all orthonormal, and the settings name no kernel.

        `KernelModel` checks its own arrays instead.
        """
        if self.meta.get("method") == "kernel" or "kernel" in self.meta:
            raise ModelError("the settings describe a kernel model, but array 'dual_vectors' is missing")
        if self.k > self.d:
            raise ModelError(
                f"array 'basis' has {self.k} components, but the model has only {counted(self.d, 'column')}"
            )
        check_orthonormal(self.basis, "basis")

    @property
    def d(self) -> int:
        """Number of columns."""
        return len(self.columns)

    @property
    def k(self) -> int:
        """Number of components."""
        return int(self.basis.shape[1]) if self.basis.ndim == 2 else 0

    @property
    def directions(self) -> int:
        """Largest possible number of components: the columns, or the training rows of a kernel model."""
        return self.d

    @property
    def possible(self) -> int:
        """Largest possible number of eigenvalues: the number of rows or `directions`, whichever is smaller.

        For a fit by EM the number is `directions`, since the noise has variance in all directions.
        """
        return self.directions if "em" in self.meta else min(self.n_samples, self.directions)

    @property
    def ddof(self) -> int:
        """0 if variances are divided by n, 1 if by n - 1."""
        return int(self.meta.get("ddof", 0))

    @property
    def centered(self) -> bool:
        """Whether the column means are subtracted."""
        return bool(self.meta.get("center", True))

    @property
    def standardized(self) -> bool:
        """Whether columns are divided by their standard deviations."""
        return bool(self.meta.get("standardize", False))

    @property
    def rows_centered(self) -> bool:
        """Whether the mean of each row is subtracted from the row, before anything else."""
        return bool(self.meta.get("center_rows", False))

    @property
    def whitening(self) -> str:
        """Kind of whitening: none, pca or zca."""
        return str(self.meta.get("whiten", "none"))

    @property
    def epsilon(self) -> float:
        """Number that whitening adds to each eigenvalue before it divides; 0 without whitening."""
        return float(self.meta.get("epsilon", 0.0))

    @property
    def noise(self) -> float:
        """Mean variance in the directions outside the components (Tipping and Bishop 1999); 0 if k is d."""
        return float(self.variance.lost[self.k - 1]) / (self.d - self.k) if self.k < self.d else 0.0

    @property
    def fill_values(self) -> Array | None:
        """Column means (d,) that can replace missing cells; None if the model has none."""
        return self.mean if self.centered else self.column_means

    @property
    def variance(self) -> VarianceTable:
        """Table of explained variance, with a row for each known eigenvalue, also beyond the k components."""
        return VarianceTable.of(self.eigenvalues, self.total_variance)

    def score_names(self) -> list[str]:
        """Return the names of the columns that `project` returns: PC1, PC2, ...; with ZCA the feature names."""
        if self.whitening == "zca":
            return list(self.columns)
        return [component_name(j) for j in range(1, self.k + 1)]

    def truncated(self, k: int | None) -> Model:
        """Return the model with only its first k components, but all eigenvalues; with k None the model itself.

        Raises `DataError` if k is not between 1 and the number of components.
        """
        if k is None or k == self.k:
            return self
        if not 1 <= k <= self.k:
            has = counted(self.k, "component")
            raise DataError(f"-k {k}: the model has {has}", f"give a number from 1 to {self.k}, or leave out -k")
        return replace(self, basis=self.basis[:, :k])

    def with_meta(self, **more: Any) -> Model:
        """Return a copy of the model whose settings `meta` are extended, or replaced, by `more`."""
        return replace(self, meta={**self.meta, **more})

    def standard_rows(self, X: Array) -> Array:
        """Return rows X (n, d) in the units of the fit, (X - mu) / sigma.

        With `rows_centered`, the mean of each row is subtracted first. The column means mu are subtracted before any
        product, because X B - mu B loses digits.
        """
        Y = (center_rows(X) if self.rows_centered else X) - self.mean
        return Y / self.std if np.any(self.std != 1.0) else Y

    def project(self, X: Array) -> Array:
        """Return the scores (n, k) of rows X (n, d); with ZCA (n, d)."""
        Y = self.standard_rows(X)
        with one_blas_thread():
            Z = self.whitened(self._without_noise(Y, Y @ self.basis))
            return Z @ self.basis.T if self.whitening == "zca" else Z

    def whitened(self, Z: Array) -> Array:
        """Return scores Z (n, k) divided by `whitening_divisors` if the model whitens, else Z; without ZCA rotation."""
        return Z if self.whitening == "none" else Z / self.whitening_divisors()

    def reconstruct(self, Z: Array) -> Array:
        """Return rows (n, d) in original units from scores Z, as `project` returns them.

        Except with ZCA, Z may have only the first columns of the scores. A row mean that the model subtracts from each
        row is not added again. Raises `DataError` if Z has more columns than the scores.
        """
        most = len(self.score_names())
        if Z.shape[1] > most:
            raise DataError(
                f"a row has {Z.shape[1]} scores, but the model gives {counted(most, 'score')} per row",
                f"leave out the columns after the first {most}",
            )
        with one_blas_thread():
            if self.whitening == "zca":
                Z = Z @ self.basis
            m = Z.shape[1]
            if self.whitening != "none":
                Z = Z * self.whitening_divisors()[:m]
            return self.std * (Z @ self.basis[:, :m].T) + self.mean

    def reversible(self) -> Model:
        """Return the model itself; models that cannot reconstruct rows from scores raise `UsageError` here."""
        return self

    def with_preimage(self) -> Model:
        """Raise `UsageError`; a kernel model returns a model here that reconstructs rows approximately."""
        raise UsageError("--preimage has no effect: only kernel models need --preimage", "leave out --preimage")

    def project_and_reconstruct(self, X: Array) -> Array:
        """Return the reconstruction (n, d) of rows X (n, d) from their scores, in original units.

        Unlike `reconstruct`, this adds the row means again that a model with `rows_centered` subtracts.
        """
        back = self.reconstruct(self.project(X))
        return back + row_means(X)[:, None] if self.rows_centered else back

    def squared_error(self, X: Array) -> Array:
        """Return the squared reconstruction error of each row of X (n, d), (n,): |y - B B^T y|^2.

        y is the row in the units of the fit, as `standard_rows` returns it. Whitening does not change this error.
        """
        Y = self.standard_rows(X)
        with one_blas_thread():
            R = Y - (Y @ self.basis) @ self.basis.T
        errors: Array = np.einsum("ij,ij->i", R, R)
        return errors

    def whitening_divisors(self) -> Array:
        """Return the divisors of whitening (k,): the square roots of eigenvalue + epsilon."""
        divisors: Array = np.sqrt(self.eigenvalues[: self.k] + self.epsilon)
        return divisors

    def _without_noise(self, Y: Array, Z: Array) -> Array:
        """Return scores Z (n, k) with 0 for scores on components beyond the rank that may be rounding error.

        Y (n, d) are the rows in the units of the fit. The bound on rounding error covers a product of d terms, the
        subtraction of the mean, and the error of directions beyond the rank: computed from squares, such a direction
        leans towards component j by eps * lambda_1 / lambda_j.
        """
        values = self.eigenvalues[: self.k]
        null = values == 0
        if not null.any():
            return Z
        size = np.sqrt(self.d) * (np.abs(Y).max(axis=1) + float(np.abs(self.mean / self.std).max()))
        lean = np.abs(Z[:, ~null]) @ (values.max() / values[~null])
        bound = 8 * self.d * np.finfo(float).eps * (size + lean)
        return np.where(null & (np.abs(Z) <= bound[:, None]), 0.0, Z)

    def to_sklearn(self) -> Any:
        """Convert the model to a fitted scikit-learn estimator with the same transform and inverse_transform.

        Returns a `sklearn.decomposition.PCA`, or a `TruncatedSVD` if the model is not centred; for a standardised
        model, a `Pipeline` that begins with a `StandardScaler`. Whitening with an epsilon above 0 adds a scaler at the
        end. Variances keep the divisor of the model; scikit-learn's divisor has ddof=1. Attributes that the
        model does not know are nan. Raises `UsageError` if scikit-learn has no such estimator, or is not installed.

        >>> import pcatool
        >>> model = pcatool.fit([[10.0, 10], [2, 2], [7, 7], [1, 1], [5, 6]], components=1, ddof=1)
        >>> pca = model.to_sklearn()
        >>> pca.n_features_in_, pca.n_samples_, pca.n_components_
        (2, 5, 1)
        """
        from pcatool.model.scikit_learn import estimator

        return estimator(self)

    def __eq__(self, other: object) -> bool:
        """Whether both models hold the same values to the last bit, so that their files are the same."""
        if not isinstance(other, Model):
            return NotImplemented
        return type(self) is type(other) and all(
            _equal_fields(getattr(self, each.name), getattr(other, each.name)) for each in fields(self)
        )

    def __hash__(self) -> int:
        return hash((self.columns, self.n_samples, self.total_variance))

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        """Set the fields from `state`, unpickled or deep-copied, and make arrays and settings read-only again."""
        self.__dict__.update(state)
        self.__dict__["meta"] = frozen(self.meta)
        for value in state.values():
            _set_read_only(value)

    def __repr__(self) -> str:
        kept = self.variance.cumulative[self.k - 1]
        kernel = f" {self.meta['kernel']['name']}" if "kernel" in self.meta else ""
        solver = show(self.meta["solver"])[1:-1] if "solver" in self.meta else "unknown"
        phrases = [
            f"{self.meta.get('method', 'pca')}{kernel}, {self.n_samples} x {self.d}",
            f"k={self.k} keeps {percent(float(kept))}",
            *(["not centred"] if not self.centered else []),
            "standardised" if self.standardized else "not standardised",
            *([f"{self.whitening} whitening"] if self.whitening != "none" else []),
            f"ddof {self.ddof}, solver {solver}",
        ]
        return f"<pcatool.{type(self).__name__}: {', '.join(phrases)}>"

    def _repr_html_(self) -> str:
        """Return the HTML that a notebook shows for the model."""
        from pcatool.model.description import model_html

        return model_html(self)


def _set_read_only(value: Any) -> None:
    """Make an array read-only, or all arrays in a tuple and in tuples inside it; leave other values alone."""
    if isinstance(value, np.ndarray):
        value.setflags(write=False)
    elif isinstance(value, tuple):
        for inner in value:
            _set_read_only(inner)


def _equal_fields(left: Any, other: Any) -> bool:
    """Whether two values of a field are equal; arrays and sums over rows are compared by their values."""
    if hasattr(left, "arrays") and hasattr(other, "arrays"):  # sums over rows
        left, other = left.arrays(), other.arrays()
        return left.keys() == other.keys() and all(np.array_equal(left[name], other[name]) for name in left)
    if isinstance(left, np.ndarray) and isinstance(other, np.ndarray):
        return np.array_equal(left, other)
    return type(left) is type(other) and bool(left == other)


# --- settings that nobody can change ---


def _refuse_change(self: object, *given: object, **named: object) -> NoReturn:
    """Raise `TypeError`; replaces every method of dict and list that would change the object."""
    raise TypeError("the settings of a model cannot be changed; change a copy, which copy.deepcopy(model.meta) returns")


class FrozenDict(dict[str, Any]):
    """Immutable JSON object. Its copies and pickles are plain dictionaries."""

    __setitem__ = __delitem__ = __ior__ = _refuse_change
    clear = pop = popitem = setdefault = update = _refuse_change

    def __reduce__(self) -> tuple[Any, ...]:
        return dict, (dict(self),)

    def __deepcopy__(self, memo: object) -> dict[str, Any]:
        return {key: deepcopy(value) for key, value in self.items()}


class FrozenList(list[Any]):
    """Immutable JSON array. Its copies and pickles are plain lists."""

    __setitem__ = __delitem__ = __iadd__ = __imul__ = _refuse_change
    append = clear = extend = insert = pop = remove = reverse = sort = _refuse_change

    def __reduce__(self) -> tuple[Any, ...]:
        return list, (list(self),)

    def __deepcopy__(self, memo: object) -> list[Any]:
        return [deepcopy(value) for value in self]


def frozen(value: Any) -> Any:
    """Return a JSON value as `FrozenDict` and `FrozenList` at every depth, so that nobody can change it."""
    if isinstance(value, (FrozenDict, FrozenList)):
        return value
    if isinstance(value, Mapping):
        return FrozenDict({key: frozen(inner) for key, inner in value.items()})
    if isinstance(value, (list, tuple)):
        return FrozenList(map(frozen, value))
    return value

"""The fitted record `Model`, and its table of explained variance.

`Model` projects, reconstructs and measures what is lost. Records of kernel models are in `pcatool.kernels.model`.

The fitted record, and what can be done with it: project, reconstruct, measure what is lost.
Rows are samples: X (n, d). scores Z = ((X - mu) / sigma) B; reconstruction X~ = sigma * (Z B^T) + mu.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from pcatool.arrays import Array
from pcatool.errors import DataError, ModelError, UsageError, show
from pcatool.linalg.blas import threads
from pcatool.linalg.moments import center_rows, row_means
from pcatool.model.settings import frozen
from pcatool.model.validate import OPTIONAL, check_model, check_orthonormal
from pcatool.registry import VIEWS

__all__ = ["FORMAT_VERSION", "Model", "VarianceTable"]

if TYPE_CHECKING:
    from pcatool.linalg.row_sums import Statistic


@dataclass(frozen=True)
class VarianceTable:
    """What the first M components keep and lose, one row per known eigenvalue."""

    component: NDArray[np.int64]
    eigenvalue: Array
    share: Array  # lambda_j / tr S
    cumulative: Array  # V_M / V_D
    captured: Array  # V_M
    lost: Array  # J_M
    lost_share: Array  # 1 - V_M / V_D

    @classmethod
    def of(cls, eigenvalues: Array, total: float) -> VarianceTable:
        m = len(eigenvalues)
        # What lies past the known eigenvalues; a remainder within the rounding of the sum is none.
        unknown = total - float(np.sum(eigenvalues))
        unknown = unknown if unknown > 8 * m * np.finfo(float).eps * total else 0.0
        # J_M is summed from the small end, so a small loss keeps its digits.
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
        """A few roundings of the sum: with it 0.95 is reached by eigenvalues that add up to it on paper."""
        return 8 * max(len(self.lost_share), 1) * float(np.finfo(float).eps)

    def smallest_k(self, share: float) -> int | None:
        """The smallest k that keeps the share; None when the known eigenvalues do not reach it."""
        reached = np.flatnonzero(self.lost_share <= (1.0 - share) + self.slack)
        return int(reached[0]) + 1 if len(reached) else None

    def first(self, count: int) -> VarianceTable:
        """The leading rows."""
        return VarianceTable(**{name: column[:count] for name, column in self.columns().items()})

    def columns(self) -> dict[str, NDArray[Any]]:
        """The columns by the names every report uses, in order."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}


# 2: whitening, row centring, kernel and supervised models, which a program that knows 1 would misread.
FORMAT_VERSION = 2


@dataclass(frozen=True, eq=False)
class Model:
    """A fitted linear model. It cannot be built with shapes or values that do not fit together, nor changed.

    Made by `pcatool.fit`, kept by `pcatool.save_model` and `pcatool.load_model`, applied by `pcatool.transform` and
    `pcatool.reconstruct`. Pickles and copies are models like any other, and equal to it: equal are models whose files
    would be the same. A model has no length: `n_samples`, `d` and `k` say what could be counted.

    Raises `ModelError` where arrays or settings do not fit together.

    >>> import pcatool
    >>> model = pcatool.fit([[10.0, 10], [2, 2], [7, 7], [1, 1], [5, 5]], components=1)
    >>> model
    <pcatool.Model: pca, 5 x 2, k=1 keeps 100.0000%, not standardised, ddof 0, solver covariance>
    >>> model.basis.shape, model.columns
    ((2, 1), ('c1', 'c2'))
    """

    MORE: ClassVar[
        Mapping[str, str]
    ] = {}  # arrays that a kind of model has beside the fields below: name -> numpy kind

    mean: Array  # (d,) zeros when not centred
    std: Array  # (d,) ones when not standardised
    basis: Array  # (d, k) orthonormal columns, leading first
    eigenvalues: Array  # (m,) every eigenvalue known, m >= k, descending but for meta["aligned"], >= 0
    total_variance: float  # tr S, from the data
    n_samples: int  # rows used
    columns: tuple[str, ...]  # feature names, in basis order
    meta: Mapping[str, Any] = field(default_factory=dict)
    variances: Array | None = None  # (d,) of the columns as read, about their mean; files of format 1 have none
    column_means: Array | None = None  # (d,) what stood in for missing cells, where the mean was not subtracted
    statistic: Statistic | None = None  # the sums over rows, so that more can be added later

    def __post_init__(self) -> None:
        for name in ("mean", "std", "basis", "eigenvalues", *OPTIONAL, *self.MORE):
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
        """What holds the components must be what it says it is; each kind of model has its own."""
        if self.meta.get("method") == "kernel" or "kernel" in self.meta:
            raise ModelError("a kernel model without dual vectors")
        if self.k > self.d:
            raise ModelError(f"{self.k} components of {self.d} columns")
        check_orthonormal(self.basis, "basis")

    @property
    def d(self) -> int:
        return len(self.columns)

    @property
    def k(self) -> int:
        return int(self.basis.shape[1]) if self.basis.ndim == 2 else 0

    @property
    def directions(self) -> int:
        """How many components there could be of rows without number."""
        return self.d

    @property
    def possible(self) -> int:
        """How many eigenvalues there are: as many as rows and columns allow. EM's noise has every direction."""
        return self.directions if "em" in self.meta else min(self.n_samples, self.directions)

    @property
    def ddof(self) -> int:
        return int(self.meta.get("ddof", 0))

    @property
    def centered(self) -> bool:
        return bool(self.meta.get("center", True))

    @property
    def standardized(self) -> bool:
        return bool(self.meta.get("standardize", False))

    @property
    def rows_centered(self) -> bool:
        return bool(self.meta.get("center_rows", False))

    @property
    def whitening(self) -> str:
        return str(self.meta.get("whiten", "none"))

    @property
    def epsilon(self) -> float:
        """What whitening adds to each eigenvalue."""
        return float(self.meta.get("epsilon", 0.0))

    @property
    def noise(self) -> float:
        """The variance left over in each direction beside the components (Tipping and Bishop 1999)."""
        return float(self.variance.lost[self.k - 1]) / (self.d - self.k) if self.k < self.d else 0.0

    @property
    def stand_in(self) -> Array | None:
        """(d,) the column means that can stand in for missing cells; None where the model has none."""
        return self.mean if self.centered else self.column_means

    @property
    def variance(self) -> VarianceTable:
        return VarianceTable.of(self.eigenvalues, self.total_variance)

    def score_names(self) -> list[str]:
        """What the columns of `project` are called: ZCA stays with the original columns."""
        if self.whitening == "zca":
            return list(self.columns)
        return [f"PC{j}" for j in range(1, self.k + 1)]

    def truncated(self, k: int | None) -> Model:
        """This model with only its first k components; every eigenvalue stays known."""
        if k is None or k == self.k:
            return self
        if not 1 <= k <= self.k:
            has = "1 component" if self.k == 1 else f"{self.k} components"
            raise DataError(f"-k {k}: the model has {has}", f"give a number from 1 to {self.k}, or leave out -k")
        return replace(self, basis=self.basis[:, :k])

    def with_meta(self, **more: Any) -> Model:
        """The same model with more said about it."""
        return replace(self, meta={**self.meta, **more})

    def standard_rows(self, X: Array) -> Array:
        """Rows in the units of the fit, (X - mu) / sigma, (n, d): centred first, since X B - mu B loses digits."""
        Y = (center_rows(X) if self.rows_centered else X) - self.mean
        return Y / self.std if np.any(self.std != 1.0) else Y

    def project(self, X: Array) -> Array:
        """Scores (n, k) of rows (n, d); (n, d) with ZCA."""
        Y = self.standard_rows(X)
        with threads(1):  # more would give other bits
            Z = self.whitened(self._without_noise(Y, Y @ self.basis))
            return Z @ self.basis.T if self.whitening == "zca" else Z

    def whitened(self, Z: Array) -> Array:
        """Scores (n, k) of variance 1, where the model whitens; ZCA turns them back after that."""
        return Z if self.whitening == "none" else Z / self.spread()

    def reconstruct(self, Z: Array) -> Array:
        """Rows (n, d) in original units from what `project` gives; its first columns are enough, save with ZCA."""
        if Z.shape[1] > len(self.score_names()):
            raise DataError(f"{Z.shape[1]} scores in a row, the model has {self.k} components")
        with threads(1):
            if self.whitening == "zca":
                Z = Z @ self.basis
            m = Z.shape[1]
            if self.whitening != "none":
                Z = Z * self.spread()[:m]
            return self.std * (Z @ self.basis[:, :m].T) + self.mean

    def reversible(self) -> Model:
        """This model, if rows can be had back from scores; refused by those from which they cannot."""
        return self

    def with_preimage(self) -> Model:
        """A model that comes back from scores approximately, where that is all there is."""
        raise UsageError(
            "--preimage is for kernel models, this one comes back from scores as it is", "leave out --preimage"
        )

    def there_and_back(self, X: Array) -> Array:
        """What the components keep of rows (n, d), in original units."""
        back = self.reconstruct(self.project(X))
        return back + row_means(X)[:, None] if self.rows_centered else back

    def squared_error(self, X: Array) -> Array:
        """What the components leave out of each row, |y - B B^T y|^2 in the units of the fit, (n,)."""
        Y = self.standard_rows(X)
        with threads(1):
            R = Y - (Y @ self.basis) @ self.basis.T
        errors: Array = np.einsum("ij,ij->i", R, R)
        return errors

    def spread(self) -> Array:
        """What whitening divides the scores by, (k,)."""
        spread: Array = np.sqrt(self.eigenvalues[: self.k] + self.epsilon)
        return spread

    def _without_noise(self, Y: Array, Z: Array) -> Array:
        """Scores on components past the rank that rounding alone can explain become 0; real ones stay.

        The bound covers a product of d terms, the subtraction of the mean, and directions past the rank that lean
        towards component j by eps * lambda_1 / lambda_j, as those found from squares do.
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
        """This model as a fitted estimator of scikit-learn, whose transform and inverse_transform are the model's.

        Gives a `sklearn.decomposition.PCA`, a `TruncatedSVD` if the model is not centred, and a `Pipeline` with a
        `StandardScaler` ahead of it if it is standardised; whitening with an epsilon above 0 is one more scaler behind
        it. Variances keep the model's divisor: those of scikit-learn are fitted with ddof=1. What the model does not
        know is nan. Raises `UsageError` where scikit-learn has no such estimator, or is not installed.

        >>> import pcatool
        >>> model = pcatool.fit([[10.0, 10], [2, 2], [7, 7], [1, 1], [5, 6]], components=1, ddof=1)
        >>> pca = model.to_sklearn()
        >>> pca.n_features_in_, pca.n_samples_, pca.n_components_
        (2, 5, 1)
        """
        from pcatool.model.to_sklearn import estimator

        return estimator(self)

    def __eq__(self, other: object) -> bool:
        """Two models are equal if they hold the same, to the last bit: their files are the same."""
        if not isinstance(other, Model):
            return NotImplemented
        return type(self) is type(other) and all(
            _alike(getattr(self, one.name), getattr(other, one.name)) for one in fields(self)
        )

    def __hash__(self) -> int:
        return hash((self.columns, self.n_samples, self.total_variance))

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        """From a pickle, or a deep copy, whose arrays and settings come back such that they could be changed."""
        self.__dict__.update(state)
        self.__dict__["meta"] = frozen(self.meta)
        for value in state.values():
            _set_read_only(value)

    def __repr__(self) -> str:
        kept = self.variance.cumulative[self.k - 1]
        kernel = f" {self.meta['kernel']['name']}" if "kernel" in self.meta else ""
        solver = show(self.meta["solver"])[1:-1] if "solver" in self.meta else "unknown"
        said = [
            f"{self.meta.get('method', 'pca')}{kernel}, {self.n_samples} x {self.d}",
            f"k={self.k} keeps {kept:.4%}",
            *(["not centred"] if not self.centered else []),
            "standardised" if self.standardized else "not standardised",
            *([f"{self.whitening} whitening"] if self.whitening != "none" else []),
            f"ddof {self.ddof}, solver {solver}",
        ]
        return f"<pcatool.{type(self).__name__}: {', '.join(said)}>"

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        html: str = VIEWS.load("notebook")(self)
        return html


def _set_read_only(value: Any) -> None:
    """Of an array, or of all that sums over rows hold."""
    if isinstance(value, np.ndarray):
        value.setflags(write=False)
    elif isinstance(value, tuple):
        for inner in value:
            _set_read_only(inner)


def _alike(one: Any, other: Any) -> bool:
    """The same value, or arrays of the same values."""
    if hasattr(one, "arrays") and hasattr(other, "arrays"):  # sums over rows
        one, other = one.arrays(), other.arrays()
        return one.keys() == other.keys() and all(np.array_equal(one[name], other[name]) for name in one)
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        return np.array_equal(one, other)
    return type(one) is type(other) and bool(one == other)

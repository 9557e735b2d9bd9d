"""Turn a fitted estimator of scikit-learn into a model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from pcatool.arrays import Array
from pcatool.errors import ModelError, UsageError, show
from pcatool.model.model import FORMAT_VERSION, Model
from pcatool.model.to_sklearn import scikit_learn

__all__ = ["from_sklearn"]

# The solver of a model that was taken from there.
SCIKIT_LEARN = "scikit-learn"


TAKEN = "a fitted PCA or IncrementalPCA, or a Pipeline of a StandardScaler and one of them"

# How far a number of rows may be from a whole one that rounding alone has moved.
ROUNDED = 0.25
# The same as a part of itself, of numbers in single precision.
SINGLE = 1e-5


@dataclass(frozen=True)
class Parts:
    """What the steps of an estimator say, in double precision; sums of squares where they divide differently."""

    scaler: Any  # None where there is none
    pca: Any
    rows: int
    values: Array  # (k,) explained_variance_
    total: float
    basis: Array  # (d, k)
    ddof: int  # of the values

    @property
    def scaled(self) -> bool:
        return self.scaler is not None and self.scaler.scale_ is not None

    @property
    def whiten(self) -> bool:
        return bool(self.pca.whiten)

    @property
    def mean(self) -> Array:
        own = np.asarray(self.pca.mean_, dtype=np.float64)
        own = own * self.scaler.scale_ if self.scaled else own
        return own + self.scaler.mean_ if self.scaler is not None and self.scaler.with_mean else own


def from_sklearn(estimator: Any) -> Model:
    """The model that transforms and comes back as a fitted estimator of scikit-learn does.

    Takes a fitted `PCA` or `IncrementalPCA`, whitening or not, or a `Pipeline` of a `StandardScaler` and one of them.
    Gives a `Model` that can be saved, inspected and applied. scikit-learn divides variances by n - 1, so ddof is 1; its
    `StandardScaler` divides by n, so of a pipeline with one the eigenvalues are those of the correlation matrix, with
    ddof 0 (1 when whitening, which comes to the same scores). Eigenvalues that scikit-learn dropped are not known, only
    their sum is; there are no sums over rows to update from, and no certificate: nothing tells how right it is.
    Raises `UsageError` for other estimators, for ones that are not fitted, and where scikit-learn is not installed;
    `ModelError` where the attributes do not fit together.

    >>> import numpy as np, pcatool
    >>> from sklearn.decomposition import PCA
    >>> X = np.array([[10.0, 10], [2, 2], [7, 7], [1, 1], [5, 6]])
    >>> pca = PCA(n_components=1).fit(X)
    >>> model = pcatool.from_sklearn(pca)
    >>> bool(np.allclose(pcatool.transform(model, X), pca.transform(X)))
    True
    """
    parts = _parts(*_steps(estimator))
    rank = int(np.sum(parts.values > len(parts.basis) * np.finfo(np.float64).eps * parts.values.max(initial=0.0)))
    if parts.whiten and rank < len(parts.values):
        raise ModelError(f"whitening divides by the rounding of PC{rank + 1}", f"fit with n_components={rank}")
    std, values, total, ddof = _scaled(parts) if parts.scaled else _plain(parts)
    return Model(
        mean=parts.mean,
        std=std,
        basis=parts.basis,
        eigenvalues=values,
        total_variance=total,
        n_samples=parts.rows,
        columns=_columns(estimator, len(parts.basis)),
        meta=_meta(parts, ddof, max(rank, 1)),
        variances=_variances(parts, values, ddof),
    )


def _steps(estimator: Any) -> tuple[Any, Any]:
    """The scaler, if there is one, and the PCA."""
    sk = scikit_learn()
    steps = [estimator]
    if isinstance(estimator, sk.Pipeline):
        steps = [step for _, step in estimator.steps if step is not None and step != "passthrough"]
    if any(isinstance(step, sk.TruncatedSVD) for step in steps):
        raise UsageError(
            "a TruncatedSVD keeps neither the number of its rows nor their sum of squares", f"give {TAKEN}"
        )
    kinds = [(sk.PCA, sk.IncrementalPCA)] if len(steps) == 1 else [sk.StandardScaler, (sk.PCA, sk.IncrementalPCA)]
    if len(steps) != len(kinds) or not all(map(isinstance, steps, kinds)):
        names = " and then ".join(type(step).__name__ for step in steps)
        raise UsageError(f"no model can be taken from {names or 'no steps'}", f"give {TAKEN}")
    for step in steps:
        if not hasattr(step, "n_features_in_"):
            raise UsageError(f"the {type(step).__name__} is not fitted", "call its fit first")
    return (None if len(steps) == 1 else steps[0]), steps[-1]


def _parts(scaler: Any, pca: Any) -> Parts:
    rows = int(getattr(pca, "n_samples_", 0) or getattr(pca, "n_samples_seen_", 0))
    values = np.asarray(pca.explained_variance_, dtype=np.float64)
    basis = np.asarray(pca.components_, dtype=np.float64).T
    if not np.all(np.isfinite(values)) or not np.sum(values) > 0:
        raise ModelError(f"explained_variance_ is {show(values)}: no component has any", "fit rows that vary")
    total = float(np.sum(values))
    if len(values) < min(rows, len(basis)):  # some were dropped; their sum is kept as the share of the others
        total = max(float(values[0] / np.asarray(pca.explained_variance_ratio_, dtype=np.float64)[0]), total)
    return Parts(scaler, pca, rows, values, total, basis, _ddof(pca, rows, values))


def _ddof(pca: Any, rows: int, values: Array) -> int:
    """1 in every PCA that scikit-learn has fitted; singular values tell of one that came from a model with 0."""
    singular = np.asarray(pca.singular_values_)
    if not np.all(np.isfinite(singular)):
        raise ModelError("singular_values_ do not tell what the variances were divided by", "rows were weighted")
    if singular.dtype != np.float64:
        return 1
    return _nought_or_one(rows - float(singular[0]) ** 2 / values[0], "singular_values_ and explained_variance_")


def _nought_or_one(found: float, what: str) -> int:
    if not min(abs(found), abs(found - 1)) <= ROUNDED:
        raise ModelError(f"{what} do not agree: they are of {found:.6g} rows fewer than were fitted")
    return round(abs(found))


def _plain(parts: Parts) -> tuple[Array, Array, float, int]:
    return np.ones(len(parts.basis)), parts.values, parts.total, parts.ddof


def _scaled(parts: Parts) -> tuple[Array, Array, float, int]:
    """sigma, eigenvalues, their sum and ddof, brought to one divisor: z stays what it is.

    With sigma over n and variances over n - 1, the eigenvalues (n - 1) / n of scikit-learn's are those over n. When
    whitening, sigma is taken over n - 1 instead: rows and the roots of the eigenvalues shrink by the same factor.
    """
    scale, n = np.asarray(parts.scaler.scale_, dtype=np.float64), parts.rows
    ddof = _ddof_of_scale(parts, scale)
    if ddof == parts.ddof:
        return scale, parts.values, parts.total, ddof
    shrink = (n - parts.ddof) / (n - ddof)
    if parts.whiten:
        return scale / np.sqrt(shrink), parts.values * shrink, parts.total * shrink, parts.ddof
    return scale, parts.values * shrink, parts.total * shrink, ddof


def _ddof_of_scale(parts: Parts, scale: Array) -> int:
    """Scaled columns have variance 1: by their sum it can be told what the squares in the scale were divided by."""
    ones = float(np.sum(np.asarray(parts.scaler.var_) / np.square(scale)))
    found = parts.rows - parts.total * (parts.rows - parts.ddof) / ones
    if np.asarray(parts.pca.components_).dtype != np.float64 and abs(found) <= SINGLE * parts.rows:
        return 0
    return _nought_or_one(found, "the StandardScaler and the PCA behind it")


def _variances(parts: Parts, values: Array, ddof: int) -> Array | None:
    """Of the columns as read, if a scaler kept them or all components are there."""
    if parts.scaled:
        scale = np.asarray(parts.scaler.scale_, dtype=np.float64)
        var = np.asarray(parts.scaler.var_, dtype=np.float64)
        return var * (parts.rows - _ddof_of_scale(parts, scale)) / (parts.rows - ddof)
    return np.square(parts.basis) @ values if len(values) == len(parts.basis) else None


def _columns(estimator: Any, d: int) -> tuple[str, ...]:
    names = getattr(estimator, "feature_names_in_", None)
    return tuple(f"c{i}" for i in range(1, d + 1)) if names is None else tuple(str(name) for name in names)


def _meta(parts: Parts, ddof: int, rank: int) -> dict[str, Any]:
    kind = type(parts.pca).__name__
    asked = parts.pca.n_components
    meta = {
        "format_version": FORMAT_VERSION,
        "method": "pca",
        "components": len(parts.values),
        "choice": "all that it could" if asked is None else f"n_components={show(asked)[1:-1]}",
        "center": True,
        "standardize": parts.scaled,
        "ddof": ddof,
        "missing": "error",
        "rank": min(rank, parts.rows, len(parts.basis)),
        "solver": SCIKIT_LEARN,
        "reason": f"taken from a fitted {kind}",
    }
    return meta | ({"whiten": "pca", "epsilon": 0.0} if parts.whiten else {})

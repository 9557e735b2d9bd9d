"""Convert a fitted scikit-learn estimator to a model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from pcatool.arrays import Array
from pcatool.errors import ModelError, UsageError, show
from pcatool.model.model import FORMAT_VERSION, SCIKIT_LEARN, Model, component_name
from pcatool.model.to_sklearn import scikit_learn

__all__ = ["from_sklearn"]

# Estimators that can be converted, for error messages.
CONVERTIBLE = "a fitted PCA or IncrementalPCA, or a Pipeline of a StandardScaler and one of them"

# Largest distance of a computed ddof from 0 or 1 that is taken for rounding error.
DDOF_TOLERANCE = 0.25
# Rounding error of such a ddof relative to the number of rows, for numbers in single precision.
SINGLE_PRECISION_TOLERANCE = 1e-5


@dataclass(frozen=True)
class SklearnFit:
    """Attributes of a fitted scaler and PCA, converted to double precision."""

    scaler: Any  # fitted StandardScaler, or None
    pca: Any  # fitted PCA or IncrementalPCA
    rows: int  # rows fitted
    values: Array  # (k,) explained_variance_
    total: float  # sum of all eigenvalues, also of those dropped
    basis: Array  # (d, k)
    ddof: int  # the values were divided by rows - ddof

    @property
    def scaled(self) -> bool:
        """Whether the scaler divides by standard deviations."""
        return self.scaler is not None and self.scaler.scale_ is not None

    @property
    def whiten(self) -> bool:
        """Whether the PCA whitens its scores."""
        return bool(self.pca.whiten)

    @property
    def mean(self) -> Array:
        """Column means (d,) in the units of the rows as read."""
        own = np.asarray(self.pca.mean_, dtype=np.float64)
        own = own * self.scaler.scale_ if self.scaled else own
        return own + self.scaler.mean_ if self.scaler is not None and self.scaler.with_mean else own


def from_sklearn(estimator: Any) -> Model:
    """Convert a fitted scikit-learn estimator to a `Model` with the same scores and reconstructions.

    `estimator` is a fitted `PCA` or `IncrementalPCA`, whitening or not, or a `Pipeline` of a `StandardScaler` and one
    of them. The model can be saved, inspected and applied. scikit-learn divides variances by n - 1, so ddof is 1. Its
    `StandardScaler` divides by n, so with a scaler the eigenvalues are those of the correlation matrix with ddof 0
    (ddof 1 when whitening, which gives the same scores). Only the sum of the eigenvalues that scikit-learn dropped is
    known. The model has no sums over rows, so it cannot be updated, and no certificate, so its error is unknown.
    Raises `UsageError` for other estimators, for estimators that are not fitted, and where scikit-learn is not
    installed; `ModelError` where the attributes do not fit together.

    >>> import numpy as np, pcatool
    >>> from sklearn.decomposition import PCA
    >>> X = np.array([[10.0, 10], [2, 2], [7, 7], [1, 1], [5, 6]])
    >>> pca = PCA(n_components=1).fit(X)
    >>> model = pcatool.from_sklearn(pca)
    >>> bool(np.allclose(pcatool.transform(model, X), pca.transform(X)))
    True
    """
    fit = _sklearn_fit(*_steps(estimator))
    rank = int(np.sum(fit.values > len(fit.basis) * np.finfo(np.float64).eps * fit.values.max(initial=0.0)))
    if fit.whiten and rank < len(fit.values):
        raise ModelError(
            f"whitening divides by the rounding error of {component_name(rank + 1)}", f"fit with n_components={rank}"
        )
    std, values, total, ddof = _scaled_spectrum(fit) if fit.scaled else _unscaled_spectrum(fit)
    return Model(
        mean=fit.mean,
        std=std,
        basis=fit.basis,
        eigenvalues=values,
        total_variance=total,
        n_samples=fit.rows,
        columns=_columns(estimator, len(fit.basis)),
        meta=_meta(fit, ddof, max(rank, 1)),
        variances=_variances(fit, values, ddof),
    )


def _steps(estimator: Any) -> tuple[Any, Any]:
    """Return the scaler, or None, and the PCA; refuse other estimators, and estimators that are not fitted."""
    sk = scikit_learn()
    steps = [estimator]
    if isinstance(estimator, sk.Pipeline):
        steps = [step for _, step in estimator.steps if step is not None and step != "passthrough"]
    if any(isinstance(step, sk.TruncatedSVD) for step in steps):
        raise UsageError(
            "a TruncatedSVD stores neither the number of rows nor their sum of squares", f"give {CONVERTIBLE}"
        )
    kinds = [(sk.PCA, sk.IncrementalPCA)] if len(steps) == 1 else [sk.StandardScaler, (sk.PCA, sk.IncrementalPCA)]
    if len(steps) != len(kinds) or not all(map(isinstance, steps, kinds)):
        names = " and then ".join(type(step).__name__ for step in steps)
        raise UsageError(f"{names or 'a Pipeline without steps'} cannot be converted to a model", f"give {CONVERTIBLE}")
    for step in steps:
        if not hasattr(step, "n_features_in_"):
            raise UsageError(f"the {type(step).__name__} is not fitted", "call its fit method first")
    return (None if len(steps) == 1 else steps[0]), steps[-1]


def _sklearn_fit(scaler: Any, pca: Any) -> SklearnFit:
    """Read the attributes of a scaler and a PCA; refuse a PCA without variance."""
    rows = int(getattr(pca, "n_samples_", 0) or getattr(pca, "n_samples_seen_", 0))
    values = np.asarray(pca.explained_variance_, dtype=np.float64)
    basis = np.asarray(pca.components_, dtype=np.float64).T
    if not np.all(np.isfinite(values)) or not np.sum(values) > 0:
        raise ModelError(f"explained_variance_ is {show(values)}: no component has variance", "fit rows that differ")
    total = float(np.sum(values))
    if len(values) < min(rows, len(basis)):  # some were dropped: the share of the first gives the sum of all
        total = max(float(values[0] / np.asarray(pca.explained_variance_ratio_, dtype=np.float64)[0]), total)
    return SklearnFit(scaler, pca, rows, values, total, basis, _ddof(pca, rows, values))


def _ddof(pca: Any, rows: int, values: Array) -> int:
    """Return the ddof of `values`, found from the singular values.

    It is 1 in every PCA that scikit-learn has fitted, and may be 0 in one that came from a model. Singular values in
    single precision are too coarse for this; then 1 is returned.
    """
    singular = np.asarray(pca.singular_values_)
    if not np.all(np.isfinite(singular)):
        raise ModelError(
            "singular_values_ are not finite, so the divisor of the variances is unknown",
            "weighted rows cannot be converted",
        )
    if singular.dtype != np.float64:
        return 1
    return _zero_or_one(rows - float(singular[0]) ** 2 / values[0], "singular_values_ and explained_variance_")


def _zero_or_one(computed: float, what: str) -> int:
    """Round a computed ddof to 0 or 1; refuse a number that is near neither."""
    if not min(abs(computed), abs(computed - 1)) <= DDOF_TOLERANCE:
        raise ModelError(f"{what} do not agree: they imply a ddof of {computed:.6g}")
    return round(abs(computed))


def _unscaled_spectrum(fit: SklearnFit) -> tuple[Array, Array, float, int]:
    """Return sigma (d,), the eigenvalues (k,), their sum and ddof of a PCA whose columns are not scaled."""
    return np.ones(len(fit.basis)), fit.values, fit.total, fit.ddof


def _scaled_spectrum(fit: SklearnFit) -> tuple[Array, Array, float, int]:
    """Return sigma (d,), the eigenvalues (k,), their sum and ddof of a PCA of scaled columns, all with one divisor.

    scikit-learn divides by n for sigma, and by n - 1 for the variances: its eigenvalues times (n - 1) / n are those
    with divisor n. When whitening, sigma is converted to divisor n - 1 instead: rows and the square roots of the
    eigenvalues shrink by the same factor, so the scores stay.
    """
    scale, n = np.asarray(fit.scaler.scale_, dtype=np.float64), fit.rows
    ddof = _ddof_of_scale(fit, scale)
    if ddof == fit.ddof:
        return scale, fit.values, fit.total, ddof
    shrink = (n - fit.ddof) / (n - ddof)
    if fit.whiten:
        return scale / np.sqrt(shrink), fit.values * shrink, fit.total * shrink, fit.ddof
    return scale, fit.values * shrink, fit.total * shrink, ddof


def _ddof_of_scale(fit: SklearnFit, scale: Array) -> int:
    """Return the ddof of sigma.

    Scaled columns have variance 1 each, so the sum of all eigenvalues tells the divisor of sigma.
    """
    variances_sum = float(np.sum(np.asarray(fit.scaler.var_) / np.square(scale)))
    computed = fit.rows - fit.total * (fit.rows - fit.ddof) / variances_sum
    if np.asarray(fit.pca.components_).dtype != np.float64 and abs(computed) <= SINGLE_PRECISION_TOLERANCE * fit.rows:
        return 0
    return _zero_or_one(computed, "the StandardScaler and the PCA")


def _variances(fit: SklearnFit, values: Array, ddof: int) -> Array | None:
    """Return the variances (d,) of the columns as read, if a scaler or a full basis tells them; else None."""
    if fit.scaled:
        scale = np.asarray(fit.scaler.scale_, dtype=np.float64)
        var = np.asarray(fit.scaler.var_, dtype=np.float64)
        return var * (fit.rows - _ddof_of_scale(fit, scale)) / (fit.rows - ddof)
    return np.square(fit.basis) @ values if len(values) == len(fit.basis) else None


def _columns(estimator: Any, d: int) -> tuple[str, ...]:
    """Return the feature names of an estimator, or c1, c2, ... if it has none."""
    names = getattr(estimator, "feature_names_in_", None)
    return tuple(f"c{i}" for i in range(1, d + 1)) if names is None else tuple(str(name) for name in names)


def _meta(fit: SklearnFit, ddof: int, rank: int) -> dict[str, Any]:
    """Return the settings of the converted model."""
    kind = type(fit.pca).__name__
    n_components = fit.pca.n_components
    meta = {
        "format_version": FORMAT_VERSION,
        "method": "pca",
        "components": len(fit.values),
        "choice": "all that it could" if n_components is None else f"n_components={show(n_components)[1:-1]}",
        "center": True,
        "standardize": fit.scaled,
        "ddof": ddof,
        "missing": "error",
        "rank": min(rank, fit.rows, len(fit.basis)),
        "solver": SCIKIT_LEARN,
        "reason": f"taken from a fitted {kind}",
    }
    return meta | ({"whiten": "pca", "epsilon": 0.0} if fit.whiten else {})

"""Convert a model to a fitted scikit-learn estimator, and a fitted estimator to a model."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from pcatool.arrays import Array
from pcatool.errors import ModelError, UsageError, check_memory
from pcatool.kernels.model import KernelModel
from pcatool.model.model import FORMAT_VERSION, SCIKIT_LEARN, Model, component_name
from pcatool.wording import printable, show

__all__ = ["estimator", "from_sklearn", "kernel_estimator", "library"]


class Library(NamedTuple):
    """The scikit-learn classes that models are converted to or from."""

    PCA: Any
    IncrementalPCA: Any
    TruncatedSVD: Any
    KernelPCA: Any
    KernelCenterer: Any
    StandardScaler: Any
    Pipeline: Any


@lru_cache(maxsize=1)
def library() -> Library:
    """Import scikit-learn and return its classes; raise `UsageError` if the import fails."""
    try:
        from sklearn.decomposition import PCA, IncrementalPCA, KernelPCA, TruncatedSVD
        from sklearn.pipeline import Pipeline
        from sklearn.preprocessing import KernelCenterer, StandardScaler
    except ModuleNotFoundError as error:
        package = "scikit-learn" if str(error.name).partition(".")[0] == "sklearn" else error.name
        remedy = "run pip install scikit-learn"
        raise UsageError(f"to_sklearn and from_sklearn need the package {package}", remedy) from None
    except ImportError as error:
        check_memory(error)
        raise UsageError(
            f"scikit-learn cannot be imported: {printable(str(error))}",
            "run pip uninstall scikit-learn, then pip install scikit-learn",
        ) from error
    return Library(PCA, IncrementalPCA, TruncatedSVD, KernelPCA, KernelCenterer, StandardScaler, Pipeline)


# Remedy for models that scikit-learn cannot hold.
REMEDY = "apply the model with pcatool.transform(model, data)"

# Smallest divisor that scikit-learn uses when it whitens.
LEAST_DIVISOR = float(np.finfo(np.float64).eps)


def estimator(model: Model) -> Any:
    """Convert a linear model to a fitted estimator with the same transform and inverse_transform.

    Attributes are those of a fit of the same rows by scikit-learn, except that variances keep the divisor of the model
    (scikit-learn's has ddof 1), and that attributes which the model does not know are nan. Raises `UsageError` if
    scikit-learn has no such estimator.
    """
    _check(model)
    steps = [("scale", scaler(model))] if model.standardized else []
    divisors = np.sqrt(model.eigenvalues[: model.k] + model.epsilon)
    whiten = model.whitening == "pca"
    in_pca = whiten and model.centered and model.epsilon == 0 and bool(np.all(divisors >= LEAST_DIVISOR))
    steps.append(("pca", _pca(model, in_pca)) if model.centered else ("svd", _svd(model)))
    if whiten and not in_pca:
        steps.append(("whiten", _divider(divisors, model.n_samples)))
    return joined(model, steps)


def joined(model: Model, steps: list[tuple[str, Any]]) -> Any:
    """Return the estimator of a single step, or a `Pipeline` of several steps (name, fitted estimator).

    The first estimator gets the feature names of the model, unless these are the default names c1, c2, ...
    """
    if model.columns != tuple(f"c{i}" for i in range(1, model.d + 1)):
        steps[0][1].feature_names_in_ = np.array(model.columns, dtype=object)
    return steps[0][1] if len(steps) == 1 else library().Pipeline(steps)


def scaler(model: Model) -> Any:
    """Return a fitted `StandardScaler` that centres and scales rows as the model does."""
    fitted = library().StandardScaler(with_mean=model.centered, with_std=model.standardized)
    fitted.mean_ = np.array(model.mean) if model.centered else _means(model)
    fitted.scale_ = np.array(model.std) if model.standardized else None
    fitted.var_ = np.square(model.std) if model.standardized else None
    if model.standardized and model.variances is not None:
        fitted.var_[model.variances == 0] = 0.0  # a constant column is divided by 1
    fitted.n_features_in_ = model.d
    fitted.n_samples_seen_ = np.int64(model.n_samples)
    return fitted


def _check(model: Model) -> None:
    """Raise `UsageError` for a linear model for which scikit-learn has no estimator."""
    if model.meta.get("method") == "supervised":
        raise UsageError("scikit-learn has no supervised PCA", REMEDY)
    if model.rows_centered:
        raise UsageError("scikit-learn has no step that subtracts the mean of each row", REMEDY)
    if model.whitening == "zca":
        refit = "convert the model that pcatool.refit(model, whiten='pca') returns"
        raise UsageError("scikit-learn has no ZCA whitening", REMEDY if model.statistic is None else refit)


def _pca(model: Model, whiten: bool) -> Any:
    """Return the components of a centred model as a fitted `PCA`, which whitens its scores if `whiten` is true.

    The mean of the PCA is 0 for a standardised model, because a `StandardScaler` centres the rows first.
    """
    k, largest = model.k, model.possible
    fitted = library().PCA(n_components=k, whiten=whiten)
    _add_axes(fitted, model)
    fitted.mean_ = np.zeros(model.d) if model.standardized else np.array(model.mean)
    fitted.explained_variance_ = np.array(model.eigenvalues[:k])
    fitted.explained_variance_ratio_ = fitted.explained_variance_ / model.total_variance
    fitted.noise_variance_ = float(model.variance.lost[k - 1]) / (largest - k) if k < largest else 0.0
    fitted.n_components_ = k
    fitted.n_samples_ = model.n_samples
    return fitted


def _svd(model: Model) -> Any:
    """Return the components of an uncentred model as a fitted `TruncatedSVD`.

    The variances in the result are those of the scores about their mean, whereas the eigenvalues of the model are
    about 0. The variances are nan if the model does not know the means and variances of its columns.
    """
    fitted = library().TruncatedSVD(n_components=model.k)
    _add_axes(fitted, model)
    means, all_rows = _means(model), model.n_samples / _divisor(model)
    if means is None or model.variances is None:
        unknown = np.full(model.k, np.nan)
        fitted.explained_variance_, fitted.explained_variance_ratio_ = unknown, unknown.copy()
        return fitted
    about_zero = model.eigenvalues[: model.k] / all_rows
    fitted.explained_variance_ = np.maximum(about_zero - np.square(means / model.std @ model.basis), 0.0)
    whole = float(np.sum(model.variances / np.square(model.std))) / all_rows
    fitted.explained_variance_ratio_ = fitted.explained_variance_ / whole
    return fitted


def _add_axes(fitted: Any, model: Model) -> None:
    """Set components, singular values and number of features of `fitted`, a `PCA` or `TruncatedSVD`."""
    fitted.components_ = np.array(model.basis.T, order="C")
    fitted.singular_values_ = np.sqrt(model.eigenvalues[: model.k] * _divisor(model))
    fitted.n_features_in_ = model.d


def _divider(divisors: Array, rows: int) -> Any:
    """Return a fitted scaler that divides scores by `divisors` (k,), for whitening that `PCA` cannot do itself."""
    fitted = library().StandardScaler(with_mean=False)
    fitted.mean_, fitted.scale_, fitted.var_ = np.zeros(len(divisors)), divisors, np.square(divisors)
    fitted.n_features_in_ = len(divisors)
    fitted.n_samples_seen_ = np.int64(rows)
    return fitted


def _divisor(model: Model) -> float:
    """Return the divisor of the variances, n - ddof; nan for weighted rows, since scikit-learn has no weights."""
    return np.nan if "weights" in model.meta else float(model.n_samples - model.ddof)


def _means(model: Model) -> Array | None:
    """Return the column means (d,) of an uncentred model; None if the model does not know them."""
    if model.statistic is not None:
        return np.array(model.statistic.centre.mean)
    return None if model.column_means is None else np.array(model.column_means)


# Kernels that scikit-learn has, too -> their names there.
SKLEARN_KERNELS = {"linear": "linear", "rbf": "rbf", "polynomial": "poly", "sigmoid": "sigmoid", "cosine": "cosine"}


def kernel_estimator(model: KernelModel) -> Any:
    """Convert a kernel model to a fitted `KernelPCA`, after a `StandardScaler` if columns are centred or scaled.

    Raises `UsageError` if scikit-learn has no such estimator.
    """
    _check_kernel(model)
    settings, n = model.settings, model.n_samples
    settings_given = {name: getattr(settings, name) for name in model.kernel.uses}
    fitted = library().KernelPCA(n_components=model.k, kernel=SKLEARN_KERNELS[settings.name], **settings_given)
    fitted.X_fit_ = np.array(model.prepared)
    fitted.gamma_ = 1.0 / model.d if settings.gamma is None else settings.gamma
    fitted.eigenvalues_ = model.eigenvalues[: model.k] * (n - model.ddof)
    fitted.eigenvectors_ = np.array(model.dual_vectors)
    fitted.n_features_in_ = model.d
    fitted._centerer = library().KernelCenterer()
    fitted._centerer.K_fit_rows_ = np.array(model.kernel_means)
    fitted._centerer.K_fit_all_ = float(np.mean(model.kernel_means))
    fitted._centerer.n_features_in_ = n
    scaled = model.standardized or bool(model.mean.any())
    return joined(model, [*([("scale", scaler(model))] if scaled else []), ("pca", fitted)])


def _check_kernel(model: KernelModel) -> None:
    """Raise `UsageError` for a kernel model that `KernelPCA` cannot represent."""
    name = model.settings.name
    reasons = {
        "scikit-learn has no supervised kernel PCA": model.supervised,
        "scikit-learn has no step that subtracts the mean of each row": model.rows_centered,
        "KernelPCA needs all rows of the fit, but this model keeps only landmarks": model.landmarks,
        "KernelPCA needs the kernel matrix of the fit, which a model does not keep": not model.kernel.of_rows,
        f"KernelPCA has no kernel {name}": name not in SKLEARN_KERNELS,
        "KernelPCA always centres its kernel, but this model does not": not model.centered,
    }
    for reason, true in reasons.items():
        if true:
            raise UsageError(reason, REMEDY)


# --- from scikit-learn ---

# Estimators that can be converted, for error messages.
CONVERTIBLE = "a fitted PCA or IncrementalPCA, alone or in a Pipeline after a StandardScaler"

# Largest distance of a computed ddof from 0 or 1 that is taken for rounding error.
DDOF_TOLERANCE = 0.25
# Rounding error of such a ddof relative to the number of rows, for numbers in single precision.
SINGLE_PRECISION_TOLERANCE = 1e-5


@dataclass(frozen=True)
class SklearnFit:
    """Attributes of a fitted scaler and PCA, converted to double precision."""

    scaler: Any  # fitted StandardScaler, or None
    pca: Any  # fitted PCA or IncrementalPCA
    rows: int  # number of rows of the fit
    values: Array  # (k,) explained_variance_
    total: float  # sum of all eigenvalues, with those that the PCA dropped
    basis: Array  # (d, k) components_, transposed
    ddof: int  # `values` were divided by rows - ddof

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

    `estimator` is a fitted `PCA` or `IncrementalPCA`, whitening or not, or a `Pipeline` of a `StandardScaler` and a
    `PCA` or `IncrementalPCA`. The model can be saved, inspected and applied. scikit-learn divides variances by n - 1,
    so ddof is 1. A `StandardScaler` divides by n, so with a scaler the eigenvalues are those of the correlation matrix
    with ddof 0 (ddof 1 when whitening, which gives the same scores). Only the sum of the eigenvalues that scikit-learn
    dropped is known. The model has no sums over rows, so it cannot be updated, and no certificate, so the errors of its
    eigenvalues are unknown.
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
            f"whitening divides by the eigenvalue of {component_name(rank + 1)}, which is only rounding error",
            f"fit with n_components={rank}",
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
    """Return the scaler, or None, and the PCA; raise `UsageError` for other estimators and for unfitted ones."""
    sk = library()
    steps = [estimator]
    if isinstance(estimator, sk.Pipeline):
        steps = [step for _, step in estimator.steps if step is not None and step != "passthrough"]
    if any(isinstance(step, sk.TruncatedSVD) for step in steps):
        raise UsageError(
            "a TruncatedSVD cannot be converted: it stores neither the number of rows nor their sum of squares",
            f"give {CONVERTIBLE}",
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
    """Read the attributes of a scaler (or None) and a PCA; raise `ModelError` for a PCA without variance."""
    rows = int(getattr(pca, "n_samples_", 0) or getattr(pca, "n_samples_seen_", 0))
    values = np.asarray(pca.explained_variance_, dtype=np.float64)
    basis = np.asarray(pca.components_, dtype=np.float64).T
    if not np.all(np.isfinite(values)) or not np.sum(values) > 0:
        raise ModelError(
            f"explained_variance_ is {show(values)}: no component has variance", "fit the PCA to rows that differ"
        )
    total = float(np.sum(values))
    if len(values) < min(rows, len(basis)):  # the PCA dropped components: the first share gives the total
        total = max(float(values[0] / np.asarray(pca.explained_variance_ratio_, dtype=np.float64)[0]), total)
    return SklearnFit(scaler, pca, rows, values, total, basis, _ddof(pca, rows, values))


def _ddof(pca: Any, rows: int, values: Array) -> int:
    """Return the ddof of the variances `values` (k,), 0 or 1, computed from the singular values of the PCA.

    The ddof is 1 in every PCA that scikit-learn has fitted, and may be 0 in a PCA that `to_sklearn` returned. Return 1
    for singular values in single precision, which are too coarse for the computation. Raise `ModelError` if singular
    values are not finite, or if they and `values` imply a ddof that is near neither 0 nor 1.
    """
    singular = np.asarray(pca.singular_values_)
    if not np.all(np.isfinite(singular)):
        raise ModelError(
            "singular_values_ are not finite, so the divisor of the variances is unknown",
            "give an estimator that scikit-learn has fitted, not an estimator made from a model with weights",
        )
    if singular.dtype != np.float64:
        return 1
    return _zero_or_one(
        rows - float(singular[0]) ** 2 / values[0], "singular_values_ and explained_variance_ agree with"
    )


def _zero_or_one(computed: float, what: str) -> int:
    """Round a computed ddof to 0 or 1; raise `ModelError` if it is near neither. `what` begins the message."""
    if not min(abs(computed), abs(computed - 1)) <= DDOF_TOLERANCE:
        raise ModelError(
            f"{what} neither ddof 0 nor ddof 1",
            "fit the estimator again, with all its steps on the same rows",
        )
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
    """Return the ddof, 0 or 1, of the standard deviations `scale` (d,) of the scaler.

    Scaled columns have variance 1 each, so the sum of all eigenvalues determines the divisor of sigma.
    """
    variances_sum = float(np.sum(np.asarray(fit.scaler.var_) / np.square(scale)))
    computed = fit.rows - fit.total * (fit.rows - fit.ddof) / variances_sum
    if np.asarray(fit.pca.components_).dtype != np.float64 and abs(computed) <= SINGLE_PRECISION_TOLERANCE * fit.rows:
        return 0
    fits = "the PCA was not fitted to the output of the StandardScaler: the sum of its eigenvalues agrees with"
    return _zero_or_one(computed, fits)


def _variances(fit: SklearnFit, values: Array, ddof: int) -> Array | None:
    """Return the variances (d,) of the columns as read, with divisor n - ddof; `values` are the eigenvalues.

    Return None if the variances are unknown: the PCA dropped components, and no scaler divides the columns.
    """
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
    """Return the settings `meta` of the model that `from_sklearn` returns; `rank` is the rank of the PCA."""
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

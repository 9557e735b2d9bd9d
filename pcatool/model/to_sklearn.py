"""Convert a model to a fitted scikit-learn estimator."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from pcatool.arrays import Array
from pcatool.errors import UsageError, check_memory, printable
from pcatool.kernels.model import KernelModel
from pcatool.model.model import Model

__all__ = ["estimator", "kernel_estimator", "scikit_learn"]


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
def scikit_learn() -> Library:
    """Import scikit-learn and return its classes; raise `UsageError` if it is not installed or does not load."""
    try:
        from sklearn.decomposition import PCA, IncrementalPCA, KernelPCA, TruncatedSVD
        from sklearn.pipeline import Pipeline
        from sklearn.preprocessing import KernelCenterer, StandardScaler
    except ModuleNotFoundError as error:
        package = "scikit-learn" if str(error.name).partition(".")[0] == "sklearn" else error.name
        remedy = "install it: pip install scikit-learn"
        raise UsageError(f"to_sklearn and from_sklearn need the package {package}", remedy) from None
    except ImportError as error:
        check_memory(error)
        raise UsageError(f"scikit-learn does not load: {printable(str(error))}", "reinstall it") from error
    return Library(PCA, IncrementalPCA, TruncatedSVD, KernelPCA, KernelCenterer, StandardScaler, Pipeline)


# Remedy for models that scikit-learn cannot hold.
REMEDY = "apply the model with pcatool.transform(model, data)"

# Smallest divisor that scikit-learn uses when it whitens.
LEAST_DIVISOR = float(np.finfo(np.float64).eps)


def estimator(model: Model) -> Any:
    """Return the model as a fitted estimator with the same transform and inverse_transform.

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
    """Return one step as it is, several steps as a `Pipeline`.

    The first step gets the feature names, unless they are the default names c1, c2, ...
    """
    if model.columns != tuple(f"c{i}" for i in range(1, model.d + 1)):
        steps[0][1].feature_names_in_ = np.array(model.columns, dtype=object)
    return steps[0][1] if len(steps) == 1 else scikit_learn().Pipeline(steps)


def scaler(model: Model) -> Any:
    """Return the mean and standard deviation of the model as a fitted `StandardScaler`."""
    fitted = scikit_learn().StandardScaler(with_mean=model.centered, with_std=model.standardized)
    fitted.mean_ = np.array(model.mean) if model.centered else _means(model)
    fitted.scale_ = np.array(model.std) if model.standardized else None
    fitted.var_ = np.square(model.std) if model.standardized else None
    if model.standardized and model.variances is not None:
        fitted.var_[model.variances == 0] = 0.0  # a constant column is divided by 1
    fitted.n_features_in_ = model.d
    fitted.n_samples_seen_ = np.int64(model.n_samples)
    return fitted


def _check(model: Model) -> None:
    """Refuse linear models for which scikit-learn has no estimator."""
    if model.meta.get("method") == "supervised":
        raise UsageError("scikit-learn has no supervised PCA", REMEDY)
    if model.rows_centered:
        raise UsageError("scikit-learn has no step that subtracts the mean of each row", REMEDY)
    if model.whitening == "zca":
        raise UsageError(
            "scikit-learn has no ZCA whitening",
            "convert pcatool.refit(model, whiten='pca') instead",
        )


def _pca(model: Model, whiten: bool) -> Any:
    """Return the components of a centred model as a fitted `PCA`, with mean 0 behind a scaler."""
    k, largest = model.k, model.possible
    fitted = scikit_learn().PCA(n_components=k, whiten=whiten)
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

    Its variances are those of the scores about their mean, whereas the eigenvalues of the model are about 0. They are
    nan if the model does not know its column means and variances.
    """
    fitted = scikit_learn().TruncatedSVD(n_components=model.k)
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
    """Set the attributes that `PCA` and `TruncatedSVD` share."""
    fitted.components_ = np.array(model.basis.T, order="C")
    fitted.singular_values_ = np.sqrt(model.eigenvalues[: model.k] * _divisor(model))
    fitted.n_features_in_ = model.d


def _divider(divisors: Array, rows: int) -> Any:
    """Return a scaler that divides scores by `divisors` (k,), for whitening that a `PCA` cannot do itself."""
    fitted = scikit_learn().StandardScaler(with_mean=False)
    fitted.mean_, fitted.scale_, fitted.var_ = np.zeros(len(divisors)), divisors, np.square(divisors)
    fitted.n_features_in_ = len(divisors)
    fitted.n_samples_seen_ = np.int64(rows)
    return fitted


def _divisor(model: Model) -> float:
    """Return the divisor of the sums of squares; nan for weighted rows, since scikit-learn has no weights."""
    return np.nan if "weights" in model.meta else float(model.n_samples - model.ddof)


def _means(model: Model) -> Array | None:
    """Return the column means (d,) of a model that does not subtract them; None if it does not know them."""
    if model.statistic is not None:
        return np.array(model.statistic.centre.mean)
    return None if model.column_means is None else np.array(model.column_means)


# Kernels that scikit-learn has, too -> their names there.
SKLEARN_KERNELS = {"linear": "linear", "rbf": "rbf", "polynomial": "poly", "sigmoid": "sigmoid", "cosine": "cosine"}


def kernel_estimator(model: KernelModel) -> Any:
    """Return a kernel model as a fitted `KernelPCA`, behind a `StandardScaler` if columns are centred or scaled.

    Raises `UsageError` if scikit-learn has no such estimator.
    """
    _check_kernel(model)
    settings, n = model.settings, model.n_samples
    settings_given = {name: getattr(settings, name) for name in model.kernel.uses}
    fitted = scikit_learn().KernelPCA(n_components=model.k, kernel=SKLEARN_KERNELS[settings.name], **settings_given)
    fitted.X_fit_ = np.array(model.prepared)
    fitted.gamma_ = 1.0 / model.d if settings.gamma is None else settings.gamma
    fitted.eigenvalues_ = model.eigenvalues[: model.k] * (n - model.ddof)
    fitted.eigenvectors_ = np.array(model.dual_vectors)
    fitted.n_features_in_ = model.d
    fitted._centerer = scikit_learn().KernelCenterer()
    fitted._centerer.K_fit_rows_ = np.array(model.kernel_means)
    fitted._centerer.K_fit_all_ = float(np.mean(model.kernel_means))
    fitted._centerer.n_features_in_ = n
    scaled = model.standardized or bool(model.mean.any())
    return joined(model, [*([("scale", scaler(model))] if scaled else []), ("pca", fitted)])


def _check_kernel(model: KernelModel) -> None:
    """Refuse kernel models that `KernelPCA` cannot hold."""
    name = model.settings.name
    reasons = {
        "scikit-learn has no supervised kernel PCA": model.supervised,
        "scikit-learn has no step that subtracts the mean of each row": model.rows_centered,
        "KernelPCA needs all rows of the fit, but this model has landmarks": model.landmarks,
        "KernelPCA needs the kernel matrix of the fit, which a model does not keep": not model.kernel.of_rows,
        f"KernelPCA has no kernel {name}": name not in SKLEARN_KERNELS,
        "KernelPCA always centres its kernel, but this model does not": not model.centered,
    }
    for reason, true in reasons.items():
        if true:
            raise UsageError(reason, REMEDY)

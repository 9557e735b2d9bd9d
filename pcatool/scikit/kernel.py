"""A kernel model as a fitted KernelPCA, which has the same formula for new rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from pcatool.errors import UsageError
from pcatool.kernels.model import KernelModel
from pcatool.model.to_sklearn import OUR_OWN, joined, scaler
from pcatool.scikit.library import scikit_learn

__all__ = ["kernel_estimator"]

# The kernels of both, by their names there.
SHARED = {"linear": "linear", "rbf": "rbf", "polynomial": "poly", "sigmoid": "sigmoid", "cosine": "cosine"}


def kernel_estimator(model: KernelModel) -> Any:
    """The model as a fitted KernelPCA, behind a StandardScaler that centres and scales as it does."""
    _check(model)
    settings, n = model.settings, model.n_samples
    given = {name: getattr(settings, name) for name in model.kernel.uses}
    made = scikit_learn().KernelPCA(n_components=model.k, kernel=SHARED[settings.name], **given)
    made.X_fit_ = np.array(model.prepared)
    made.gamma_ = 1.0 / model.d if settings.gamma is None else settings.gamma
    made.eigenvalues_ = model.eigenvalues[: model.k] * (n - model.ddof)
    made.eigenvectors_ = np.array(model.dual_vectors)
    made.n_features_in_ = model.d
    made._centerer = scikit_learn().KernelCenterer()
    made._centerer.K_fit_rows_ = np.array(model.kernel_means)
    made._centerer.K_fit_all_ = float(np.mean(model.kernel_means))
    made._centerer.n_features_in_ = n
    moved = model.standardized or bool(model.mean.any())
    return joined(model, [*([("scale", scaler(model))] if moved else []), ("pca", made)])


def _check(model: KernelModel) -> None:
    name = model.settings.name
    reasons = {
        "scikit-learn has no supervised kernel PCA": model.supervised,
        "scikit-learn has no step that subtracts from each row its own mean": model.rows_centered,
        "a KernelPCA is of all rows of its fit, this model is of landmarks": model.landmarks,
        "a KernelPCA holds the kernel's table of its fit, which a model does not keep": not model.kernel.of_rows,
        f"KernelPCA has no kernel {name}": name not in SHARED,
        "a KernelPCA centres its kernel always, this model does not": not model.centered,
    }
    for reason, true in reasons.items():
        if true:
            raise UsageError(reason, OUR_OWN)

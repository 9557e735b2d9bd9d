"""The one place that imports scikit-learn: it takes seconds, and few need it."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

from pcatool.errors import UsageError, check_memory, printable

__all__ = ["Library", "scikit_learn"]


class Library(NamedTuple):
    """The kinds of estimators that models become, or are taken from."""

    PCA: Any
    IncrementalPCA: Any
    TruncatedSVD: Any
    KernelPCA: Any
    KernelCenterer: Any
    StandardScaler: Any
    Pipeline: Any


@lru_cache(maxsize=1)
def scikit_learn() -> Library:
    """scikit-learn, where it is installed; without it a sentence that says so."""
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
        raise UsageError(f"scikit-learn does not load: {printable(str(error))}", "install it anew") from error
    return Library(PCA, IncrementalPCA, TruncatedSVD, KernelPCA, KernelCenterer, StandardScaler, Pipeline)

"""The fitted model of kernel PCA, which holds training rows and dual vectors in place of a basis."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from pcatool.arrays import Array
from pcatool.errors import ModelError, UsageError
from pcatool.kernels.base import DualVectors, Kernel, KernelSettings, load, row_slices
from pcatool.linalg.blas import one_blas_thread
from pcatool.model.model import Model
from pcatool.model.validate import check_orthonormal
from pcatool.registry import KERNELS
from pcatool.wording import show

__all__ = ["KernelModel"]

# Bounds of the settings of a kernel in a model file: value > LOWER_BOUNDS and value <= UPPER_BOUND.
LOWER_BOUNDS = {"gamma": 0.0, "degree": 0.0, "coef0": -math.inf, "neighbours": 0.0}
UPPER_BOUND = 1e300


@dataclass(frozen=True, eq=False, repr=False)
class KernelModel(Model):
    """Fitted kernel PCA, also supervised: scores of new rows come from their kernel values with the training rows."""

    EXTRA_ARRAYS: ClassVar[Mapping[str, str]] = {"training_rows": "f", "dual_vectors": "f", "kernel_means": "f"}

    training_rows: Array = field(kw_only=True)  # (t, d) in original units; (0, d) for a precomputed kernel
    dual_vectors: Array = field(kw_only=True)  # (t, k) V; orthonormal unless the training rows are landmarks
    kernel_means: Array = field(kw_only=True)  # (t,) row means of the kernel matrix; zeros when not centred

    @property
    def k(self) -> int:
        """Number of components."""
        return int(self.dual_vectors.shape[1]) if self.dual_vectors.ndim == 2 else 0

    @property
    def directions(self) -> int:
        """Largest possible number of components: the number of training rows."""
        return len(self.kernel_means)

    @property
    def landmarks(self) -> bool:
        """Whether the training rows are landmarks: a sample that represents all rows of the fit."""
        return "landmarks" in self.meta

    @cached_property
    def settings(self) -> KernelSettings:
        """Name and settings of the kernel; raises ModelError if a setting is invalid."""
        return _settings(self.meta.get("kernel"))

    @cached_property
    def kernel(self) -> Kernel:
        """The kernel that the settings describe."""
        return load(self.settings)

    @cached_property
    def prepared(self) -> Array:
        """The training rows (t, d), centred and scaled for the kernel; read-only."""
        rows = np.ascontiguousarray(self.standard_rows(self.training_rows))
        rows.setflags(write=False)
        return rows

    @cached_property
    def dual(self) -> DualVectors:
        """Eigenvectors and eigenvalues of the kernel matrix, for the scores of new rows.

        The model stores eigenvalues divided by n - ddof; those of the result are not divided.
        """
        values = self.eigenvalues[: self.k] * (self.n_samples - self.ddof)
        return DualVectors(self.dual_vectors, values, self.kernel_means, self.orthonormal and self.centered)

    @property
    def orthonormal(self) -> bool:
        """Whether the dual vectors are eigenvectors of the kernel matrix of all rows, and so orthonormal."""
        return self.meta.get("method") == "kernel" and not self.landmarks

    def __getstate__(self) -> dict[str, Any]:
        """Return the fields for pickling, without cached properties, which are computed again when needed."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def check_basis(self) -> None:
        """Raise ModelError unless all arrays have the right shapes and finite values, and fit the metadata.

        The dual vectors must be orthonormal if `orthonormal` says so.
        """
        if self.meta.get("method") != "kernel" and not (self.supervised and "labels" in self.meta):
            raise ModelError(f"method {show(self.meta.get('method'))} has no dual vectors")
        if self.kernel_means.ndim != 1:
            raise ModelError(f"array 'kernel_means' has shape {self.kernel_means.shape}, not one dimension")
        t, d = len(self.kernel_means), self.d
        rows = t if self.kernel.of_rows else 0
        shapes = {"basis": (d, 0), "training_rows": (rows, d), "dual_vectors": (t, self.k), "kernel_means": (t,)}
        for name, shape in shapes.items():
            array = getattr(self, name)
            if array.shape != shape:
                raise ModelError(f"array {show(name)} has shape {array.shape}, not {shape}")
            if not np.all(np.isfinite(array)):
                raise ModelError(f"array {show(name)} has a value that is not finite")
        self._check_rows(t)
        if self.orthonormal:
            check_orthonormal(self.dual_vectors, "dual_vectors")

    def _check_rows(self, t: int) -> None:
        """Raise ModelError unless t training rows fit the metadata: number of rows or landmarks, kernel, components."""
        expected = self.meta.get("landmarks", self.n_samples)
        if isinstance(expected, bool) or expected != t or t > self.n_samples:
            raise ModelError(
                f"it has {t} training rows, but should have {show(expected)} of the {self.n_samples} rows of the fit"
            )
        if self.landmarks and (self.kernel.graph or not self.kernel.of_rows):
            raise ModelError(f"kernel {self.settings.name} cannot have landmarks")
        if not self.kernel.of_rows and t != self.d:
            raise ModelError(f"array 'dual_vectors' has {t} rows, but the kernel matrix has {self.d} columns")
        neighbours = self.settings.neighbours
        if neighbours is not None and neighbours >= t:
            raise ModelError(f"the setting 'neighbours' is {neighbours}, but the model has only {t} training rows")
        if self.k > t:
            raise ModelError(f"it has {self.k} components, but only {t} training rows")

    def truncated(self, k: int | None) -> Model:
        """Return the model with its first k components only; with k None the model itself.

        Raise DataError if k is not between 1 and the number of components.
        """
        if k is None or k == self.k:
            return self
        super().truncated(k)  # called for its check: raises if k is out of bounds
        return replace(self, dual_vectors=self.dual_vectors[:, :k])

    def project(self, X: Array) -> Array:
        """Return the scores (n, k) of rows X (n, d), computed from the kernel values of a few rows at a time."""
        Y = np.ascontiguousarray(self.standard_rows(X))
        T, dual = self.prepared, self.dual
        Z = np.empty((len(Y), self.k))
        with one_blas_thread(), np.errstate(all="ignore"):  # the caller checks for infinities
            for part in row_slices(len(Y), len(T) or self.d):
                Z[part] = (
                    self._supervised_scores(Y[part], T) if self.supervised else self.kernel.scores(Y[part], T, dual)
                )
        return Z

    @property
    def supervised(self) -> bool:
        """Whether the model is supervised kernel PCA, whose dual vectors multiply uncentred kernel values."""
        return self.meta.get("method") == "supervised"

    def _supervised_scores(self, Y: Array, T: Array) -> Array:
        return self.kernel.cross(Y, T) @ self.dual_vectors

    def reconstruct(self, Z: Array) -> Array:
        """Raise UsageError, because a kernel model cannot reconstruct rows; a `PreimageModel` can, approximately."""
        self.reversible()
        return Z

    def to_sklearn(self) -> Any:
        """Return a fitted `sklearn.decomposition.KernelPCA`, after a `StandardScaler` if columns are shifted or scaled.

        Raise UsageError unless the fit was centred, without landmarks, labels and --center-rows, with the kernel
        linear, rbf, polynomial, sigmoid or cosine. The estimator has no inverse_transform.
        """
        from pcatool.model.scikit_learn import kernel_estimator

        return kernel_estimator(self)

    def reversible(self) -> Model:
        """Raise UsageError, because a kernel model cannot reconstruct rows exactly."""
        if not self.kernel.of_rows:
            raise UsageError(
                "this model was fitted to a kernel matrix, so the model does not hold the rows",
                "fit the rows with another --kernel, then reconstruct with the new model and --preimage",
            )
        raise UsageError(
            "a kernel model cannot reconstruct rows exactly: its directions lie in the feature space of the kernel",
            "give --preimage for an approximation",
        )

    def with_preimage(self) -> Model:
        """Return a copy that reconstructs rows approximately; raise UsageError for a precomputed kernel."""
        from pcatool.kernels.preimage import with_preimage

        return with_preimage(self)

    def squared_error(self, X: Array) -> Array:
        """Return the squared error (n,) of each row x of X (n, d) in the kernel's feature space, k_c(x, x) - |z|^2.

        k_c is the kernel, centred if the fit was centred, and z are the scores of x. Raise UsageError for landmark and
        supervised models, and for kernels that are not positive semidefinite or have no value of a row with itself.
        """
        Y = np.ascontiguousarray(self.standard_rows(X))
        with one_blas_thread(), np.errstate(all="ignore"):
            norms = self.kernel.squared_norms(Y)
        if norms is None or not (self.orthonormal and self.kernel.is_definite(self.centered)):
            lengths = "are unknown" if norms is None else "may be below 0"
            kernel = f"kernel {self.settings.name}, because squared lengths in its feature space {lengths}"
            what = "a supervised model with a kernel" if self.supervised else "a model of landmarks"
            what = kernel if self.orthonormal else what
            raise UsageError(f"--with-error does not go with {what}", "leave out --with-error")
        squares = np.einsum("ij,ij->i", Z := self.project(X), Z)
        with one_blas_thread(), np.errstate(all="ignore"):
            if self.centered:
                means = [
                    self.kernel.cross(Y[part], self.prepared).mean(axis=1)
                    for part in row_slices(len(Y), len(self.prepared))
                ]
                norms = norms - 2 * np.concatenate([np.zeros(0), *means]) + self.kernel_means.mean()
        return np.asarray(np.maximum(norms - squares, 0.0))


def _settings(saved: Any) -> KernelSettings:
    """Return the kernel settings from the metadata of a model; raise ModelError unless every setting is valid."""
    if not isinstance(saved, dict) or not isinstance(saved.get("name"), str) or saved["name"] not in KERNELS:
        raise ModelError(
            f"the setting 'kernel' is {show(saved)}, which this version of pcatool does not know",
            "install a newer pcatool",
        )
    uses = KERNELS.load(saved["name"]).uses
    if set(saved) != {"name", *uses}:
        raise ModelError(
            f"the setting 'kernel' is {show(saved)}, but kernel {saved['name']} needs {', '.join(('name', *uses))}"
        )
    for setting in uses:
        value = saved[setting]
        number = isinstance(value, int if setting == "neighbours" else (int, float)) and not isinstance(value, bool)
        if not (number and LOWER_BOUNDS[setting] < value <= UPPER_BOUND):
            raise ModelError(f"in the setting 'kernel', {show(setting)} is {show(value)}, which is not valid")
    return KernelSettings(**saved)

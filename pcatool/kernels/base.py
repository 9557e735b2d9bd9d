"""The protocol of a kernel (`Kernel`), its settings, and the preparation of rows for a kernel."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np

from pcatool.arrays import Array, Runner, block_rows
from pcatool.errors import DataError, RefusedError
from pcatool.linalg.moments import ColumnMoments, center_rows
from pcatool.linalg.spectrum import EPS
from pcatool.progress import doing
from pcatool.registry import KERNELS
from pcatool.wording import counted, grouped

__all__ = [
    "DualVectors",
    "Kernel",
    "KernelSettings",
    "Preparation",
    "Prepared",
    "load",
    "resolve",
    "row_blocks",
    "row_slices",
    "symmetric",
]


class Preparation(NamedTuple):
    """Centring and scaling of rows before the kernel; the fitted model applies the same steps to new rows."""

    rows_centered: bool  # whether the mean of each row is subtracted from the row
    mean: Array  # (d,) subtracted from each row; zeros without a shift
    std: Array  # (d,) divisor of each column; ones when not standardised
    variances: Array  # (d,) variances of the columns about their mean
    constant: tuple[int, ...]  # indices of constant columns

    @classmethod
    def of(
        cls, moments: ColumnMoments, *, shift: bool, standardize: bool, rows_centered: bool, ddof: int
    ) -> Preparation:
        """Build from the column moments; `shift` subtracts column means, `standardize` divides by standard deviations.

        Variances have the divisor n - `ddof`. Constant columns are divided by 1. `rows_centered` says that the moments
        are those of rows minus their own means.
        """
        d = len(moments.squares)
        constant = ~moments.centre.varies
        variances = np.maximum(moments.squares, 0.0) / max(moments.centre.rows - ddof, 1)
        std = np.where(constant, 1.0, np.sqrt(np.where(constant, 1.0, variances))) if standardize else np.ones(d)
        mean = moments.centre.mean if shift else np.zeros(d)
        return cls(rows_centered, mean, std, variances, tuple(np.flatnonzero(constant).tolist()))

    def apply(self, X: Array) -> Array:
        """Return the rows X (n, d), as read, centred and scaled by the steps above."""
        Y = (center_rows(X) if self.rows_centered else X) - self.mean
        return np.ascontiguousarray(Y / self.std if np.any(self.std != 1.0) else Y)

    def rounding(self, X: Array, Y: Array, n: int, *, mean_matters: bool) -> Array:
        """Return bounds (h,) on the Euclidean length of the rounding error of each row of Y = apply(X), both (h, d).

        `n` is the number of rows that mean and std were computed from. `mean_matters` says that the eigenvalues of the
        kernel matrix change when all rows are shifted by one vector, so that errors of the mean count.
        """
        d, unit = Y.shape[1], EPS / 2
        spread = np.sqrt(self.variances) / self.std
        scaled = bool(np.any(self.std != 1.0))
        # One rounding for the subtraction, some for the division. The standard deviation comes from n squares, added
        # one by one, of differences from a row whose distance from the mean is at most sqrt(n) deviations.
        relative = unit * float(np.any(self.mean != 0.0)) + scaled * unit * (n / 2 + 2 * np.sqrt(n) + 6)
        column_error = np.zeros(d)
        if mean_matters and np.any(self.mean != 0.0):
            column_error += unit * (np.abs(self.mean) / self.std + (n + 3 * np.sqrt(n) + 3) * spread)
        row_error = np.zeros(len(Y))
        if self.rows_centered:  # each row loses its first cell, then the mean of d differences
            row_error = (d + 4) * unit * np.abs(X - X[:, :1]).max(axis=1)
            largest = float(row_error.max(initial=0.0))
            relative += scaled * largest / float(self.std.min())
            column_error += (largest / self.std) * mean_matters
            row_error = row_error * float(np.sqrt(np.sum(self.std**-2.0)))
        lengths = np.sqrt(np.einsum("ij,ij->i", Y, Y))
        return np.asarray(relative * lengths + float(np.linalg.norm(column_error)) + row_error)


def row_blocks(X: Array) -> Iterator[Array]:
    """Yield X (n, d) in blocks of `block_rows(d)` rows, the fixed height for d columns; the last may have fewer."""
    height = block_rows(X.shape[1])
    return (X[start : start + height] for start in range(0, len(X), height))


# Default settings; the default of gamma is 1/d.
DEGREE, COEF0, NEIGHBOURS = 3.0, 1.0, 10

# Elements of a kernel matrix per step: a slice of rows stays in the cache from the product to the exponential.
CELLS_PER_STEP = 1 << 19
FEWEST_ROWS = 1 << 4


class KernelRequest(Protocol):
    """The kernel options of a fit; None where an option was not given."""

    @property
    def kernel(self) -> str | None: ...
    @property
    def gamma(self) -> float | None: ...
    @property
    def degree(self) -> float | None: ...
    @property
    def coef0(self) -> float | None: ...
    @property
    def neighbours(self) -> int | None: ...


class KernelSettings(NamedTuple):
    """Name of a kernel with the settings that the kernel uses; other settings are None."""

    name: str
    gamma: float | None = None
    degree: float | None = None
    coef0: float | None = None
    neighbours: int | None = None

    def used(self) -> dict[str, str | float | int]:
        """Return the name and the settings that are not None, as a model stores them."""
        return {name: value for name, value in self._asdict().items() if value is not None}


class DualVectors(NamedTuple):
    """Eigenvectors and eigenvalues of the kernel matrix of t training rows, for the scores of new rows."""

    vectors: Array  # V (t, k)
    values: Array  # (k,) eigenvalues Lambda, 0 past the rank
    means: Array  # (t,) means of the rows of the kernel matrix; zeros when not centred
    # Whether the mean of a new row's kernel values is subtracted from these: after a centred fit to all rows, not to
    # landmarks.
    subtract_row_means: bool

    @property
    def scores(self) -> Array:
        """Scores of the training rows, V sqrt(Lambda), (t, k)."""
        return self.vectors * np.sqrt(self.values)

    @property
    def weights(self) -> Array:
        """Weights of the kernel values of new rows, V / sqrt(Lambda), (t, k); zeros past the rank."""
        return self.vectors * np.where(self.values > 0, 1.0 / np.sqrt(np.where(self.values > 0, self.values, 1.0)), 0.0)


class Prepared(NamedTuple):
    """Rows after centring and scaling, with bounds on their rounding errors."""

    Y: Array  # (n, d)
    error: Array  # (n,) bound on the Euclidean length of the error of each row

    def take(self, rows: slice) -> Prepared:
        """Return the rows in the slice `rows`, with their bounds."""
        return Prepared(self.Y[rows], self.error[rows])


class Kernel(ABC):
    """Base class of all kernels k(x, y), for rows x and y that a `Preparation` has centred and scaled."""

    uses: ClassVar[tuple[str, ...]] = ()  # names of the settings that the kernel uses
    invariant: ClassVar[bool] = False  # values do not change when all rows are shifted by one vector
    shift_cancels: ClassVar[bool] = False  # such a shift changes the values, but not the centred matrix
    definite: bool = True  # the centred matrix is known to be positive semidefinite
    definite_if_centred: ClassVar[bool] = False  # the matrix is positive semidefinite only after centring
    flat_spectrum: ClassVar[bool] = False  # the leading eigenvalues are nearly equal
    graph: ClassVar[bool] = False  # values depend on the neighbour graph of all rows, not on two rows alone
    loads: ClassVar[int] = 0  # bytes of the libraries that the kernel needs besides those of other fits
    of_rows: ClassVar[bool] = True  # the columns are features; False: the table is the kernel matrix

    def __init__(self, settings: KernelSettings) -> None:
        self.settings = settings

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.settings,)

    @abstractmethod
    def matrix(self, X: Array, run: Runner) -> Array:
        """Return the kernel matrix K (n, n) of the prepared rows X (n, d), not centred, exactly symmetric.

        `run` applies a function to slices of the rows, perhaps in threads; the bits of K do not depend on the threads.
        """

    @abstractmethod
    def cross(self, X: Array, T: Array) -> Array:
        """Return the kernel values (h, n) between new rows X (h, d) and training rows T (n, d)."""

    @abstractmethod
    def row_error_bounds(self, K: Array, X: Prepared, T: Prepared) -> Array:
        """Return bounds (h,) on the sum of the absolute errors in each row of K (h, n), the computed `cross(X, T)`.

        A bound is infinite if no bound is known. If K is the kernel matrix of all rows, the largest bound also bounds
        the norm of its error, and so the error of each eigenvalue (Weyl).
        """

    def rounding_norm(self, K: Array, rows: Prepared, run: Runner) -> float:
        """Return a bound on the spectral norm of the rounding error of the kernel matrix K (n, n), before centring.

        The result is infinite if no bound is known; then no eigenvalue is reported as accurate.
        """
        with np.errstate(all="ignore"):
            parts = run(lambda part: self.row_error_bounds(K[part], rows.take(part), rows), row_slices(len(K), len(K)))
            largest = max(float(np.max(part)) for part in parts)
        return largest if largest >= 0 else np.inf  # NaN: a sum overflowed, so no bound is known

    def scores(self, X: Array, T: Array, dual: DualVectors) -> Array:
        """Return the scores (h, k) of new rows X (h, d), from their kernel values with the training rows T (n, d).

        `dual.means` are subtracted from the kernel values of a row; so is the mean of the result, if
        `dual.subtract_row_means`. The values are then multiplied by V / sqrt(Lambda).
        """
        B = self.cross(X, T)
        B -= dual.means
        if dual.subtract_row_means:
            B -= B.mean(axis=1, keepdims=True)
        return B @ dual.weights

    def squared_norms(self, X: Array) -> Array | None:
        """Return k(x, x) of each row x of X (h, d), as (h,); None if the kernel has no value of a row with itself."""
        return None

    def remark(self, values: Array) -> str:
        """Return a warning about unreliable components, or an empty text.

        `values` (k,) are the eigenvalues of the kernel matrix, largest first.
        """
        return ""

    def most_rank(self, d: int) -> int | None:
        """Return the largest rank that the kernel matrix of rows of d columns can have; None if d sets no limit."""
        return None

    def is_definite(self, centred: bool) -> bool:
        """Whether the kernel matrix, centred or not, is known to be positive semidefinite."""
        return self.definite and (centred or not self.definite_if_centred)

    def overflow(self) -> RefusedError:
        """Return the error for kernel values that overflow a double."""
        smaller = ", or give a smaller --gamma or --degree" if "degree" in self.uses else ""
        columns = f"rescale the columns, as --standardize does{smaller}"
        return RefusedError(
            f"values of kernel {self.settings.name} overflow a double",
            columns if self.of_rows else "divide all values of the table by the same number",
        )

    def underflow(self, what: str = "") -> RefusedError:
        """Return the error for numbers that underflow a double: the kernel values, or those that `what` names."""
        return RefusedError(
            f"{what or f'values of kernel {self.settings.name}'} underflow a double",
            "rescale the columns to larger values"
            if self.of_rows
            else "multiply all values of the table by the same number",
        )

    def share_remark(self, share: float, k: int) -> str:
        """Return the note for a `share` that needs k components because the eigenvalues are nearly equal."""
        return (
            f"the eigenvalues of kernel {self.settings.name} are nearly equal, so -k {share:g} needs "
            f"{counted(k, 'component')}; give a number of components with -k"
        )

    def warning_of_negative(self, negative: int, n: int, lowest: float) -> str:
        """Return the warning for `negative` of n eigenvalues below 0; `lowest` is the lowest divided by the largest."""
        which = f"{grouped(negative)} of {grouped(n)} eigenvalues {'is' if negative == 1 else 'are'}"
        return (
            f"kernel {self.settings.name} is not positive semidefinite for these data: {which} negative (the lowest "
            f"eigenvalue is {lowest:.2g} times the largest); negative eigenvalues give no components"
        )

    def no_eigenvalue(self, matrix: str) -> DataError:
        """Return the error for a kernel matrix, called `matrix`, without an eigenvalue above rounding error."""
        other = f", or another value for {' or '.join(f'--{setting}' for setting in self.uses)}" if self.uses else ""
        remedy = f"use another --kernel{other}" if self.of_rows else "give another kernel matrix"
        return DataError(f"{matrix} has no eigenvalue that is larger than rounding error", remedy)


def resolve(request: KernelRequest, d: int) -> KernelSettings:
    """Return the settings of the kernel that `request` asks for, by default rbf, for rows of d columns.

    A setting that the kernel uses and that was not given gets its default.
    """
    name = request.kernel or "rbf"
    defaults: dict[str, Any] = {"gamma": 1.0 / d, "degree": DEGREE, "coef0": COEF0, "neighbours": NEIGHBOURS}
    uses = KERNELS.load(name).uses
    given: dict[str, Any] = {setting: getattr(request, setting) for setting in uses}
    return KernelSettings(
        name, **{setting: defaults[setting] if value is None else value for setting, value in given.items()}
    )


def load(settings: KernelSettings) -> Kernel:
    """Return the kernel that the settings describe."""
    kernel: Kernel = KERNELS.load(settings.name)(settings)
    return kernel


def row_slices(n: int, width: int) -> Iterator[slice]:
    """Yield slices that cut n rows of `width` elements into steps of about CELLS_PER_STEP elements.

    A slice has at least FEWEST_ROWS rows, save the last. Slices depend on `n` and `width` alone, so results do not
    depend on the number of threads.
    """
    height = max(CELLS_PER_STEP // max(width, 1), FEWEST_ROWS)
    for start in range(0, n, height):
        yield slice(start, min(start + height, n))


def symmetric(values: Callable[[slice, slice], Array], n: int, run: Runner) -> Array:
    """Return the symmetric matrix K (n, n) whose block for two slices of rows is `values(rows, other_rows)`.

    Only blocks on and above the diagonal are computed; they are mirrored below.
    """
    K = np.empty((n, n))

    def fill(rows: slice) -> None:
        start, stop = rows.start, rows.stop
        B = values(rows, slice(start, n))
        height = stop - start
        square = np.triu(B[:, :height])
        K[start:stop, start:stop] = square + np.triu(square, 1).T
        K[start:stop, stop:] = B[:, height:]
        K[stop:, start:stop] = B[:, height:].T

    doing("comparing rows")
    for _ in run(fill, row_slices(n, n)):
        pass
    return K

"""Protocol of a kernel: settings, matrix over the training rows, values for new rows; and scaling of columns."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from functools import reduce
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np

from pcatool.arrays import Array, Runner, block_rows
from pcatool.linalg.moments import Centre, center_block, center_rows
from pcatool.linalg.spectrum import EPS
from pcatool.progress import doing
from pcatool.registry import KERNELS

__all__ = [
    "ColumnMoments",
    "DualVectors",
    "Kernel",
    "KernelSettings",
    "Preparation",
    "Prepared",
    "cut",
    "load",
    "resolve",
    "slabs",
    "symmetric",
]


class ColumnMoments(NamedTuple):
    """Count, means and sums of squares of the columns, without their products."""

    centre: Centre
    squares: Array  # (d,)

    @classmethod
    def of_block(cls, X: Array, origin: Array) -> ColumnMoments:
        centre, Y, rest = center_block(X, origin)
        return cls(centre, np.einsum("ij,ij->j", Y, Y) - rest * rest / centre.weight)

    def merge(self, other: ColumnMoments) -> ColumnMoments:
        centre, delta, weight = self.centre.merge(other.centre)
        return ColumnMoments(centre, self.squares + other.squares + delta * delta * weight)

    @classmethod
    def gather(cls, parts: Iterable[ColumnMoments]) -> ColumnMoments:
        with np.errstate(over="ignore", invalid="ignore"):
            return reduce(cls.merge, parts)


class Preparation(NamedTuple):
    """How a row as read becomes one as the kernel sees it; the same as the model will do to new rows."""

    rows_centered: bool
    mean: Array  # (d,)
    std: Array  # (d,)
    variances: Array  # (d,) of the columns, about their mean
    constant: tuple[int, ...]  # columns with one value only

    @classmethod
    def of(
        cls, moments: ColumnMoments, *, shift: bool, standardize: bool, rows_centered: bool, ddof: int
    ) -> Preparation:
        d = len(moments.squares)
        constant = ~moments.centre.varies
        variances = np.maximum(moments.squares, 0.0) / max(moments.centre.rows - ddof, 1)
        std = np.where(constant, 1.0, np.sqrt(np.where(constant, 1.0, variances))) if standardize else np.ones(d)
        mean = moments.centre.mean if shift else np.zeros(d)
        return cls(rows_centered, mean, std, variances, tuple(np.flatnonzero(constant).tolist()))

    def apply(self, X: Array) -> Array:
        """Rows (n, d) as the kernel sees them."""
        Y = (center_rows(X) if self.rows_centered else X) - self.mean
        return np.ascontiguousarray(Y / self.std if np.any(self.std != 1.0) else Y)

    def rounding(self, X: Array, Y: Array, n: int, *, mean_matters: bool) -> Array:
        """(h,) bounds on the error of each row Y (h, d) that `apply` made of X, as a length.

        `n` rows went into mean and std. `mean_matters` where the kernel's values change when all rows are shifted.
        """
        d, unit = Y.shape[1], EPS / 2
        spread = np.sqrt(self.variances) / self.std
        scaled = bool(np.any(self.std != 1.0))
        # Subtracted first, divided then; a standard deviation comes of n squares, added one by one, of differences to a
        # row that is no farther from the mean than sqrt(n) deviations.
        relative = unit * float(np.any(self.mean != 0.0)) + scaled * unit * (n / 2 + 2 * np.sqrt(n) + 6)
        error = np.zeros(d)
        if mean_matters and np.any(self.mean != 0.0):
            error += unit * (np.abs(self.mean) / self.std + (n + 3 * np.sqrt(n) + 3) * spread)
        rows = np.zeros(len(Y))
        if self.rows_centered:  # a cell is taken off each row, and then the mean of d differences
            rows = (d + 4) * unit * np.abs(X - X[:, :1]).max(axis=1)
            most = float(rows.max(initial=0.0))
            relative += scaled * most / float(self.std.min())
            error += (most / self.std) * mean_matters
            rows = rows * float(np.sqrt(np.sum(self.std**-2.0)))
        lengths = np.sqrt(np.einsum("ij,ij->i", Y, Y))
        return np.asarray(relative * lengths + float(np.linalg.norm(error)) + rows)


def cut(X: Array) -> Iterator[Array]:
    """Blocks of rows already in memory."""
    height = block_rows(X.shape[1])
    return (X[at : at + height] for at in range(0, len(X), height))


# Where nothing was asked for; gamma is 1/d then.
DEGREE, COEF0, NEIGHBOURS = 3.0, 1.0, 10

# Cells of a kernel matrix that are worked on at a time: they stay in cache from the product to the exponential.
CELLS = 1 << 19
FEWEST_ROWS = 1 << 4


class Wishes(Protocol):
    """What a fit asks of its kernel; None where it asks for nothing."""

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
    """A kernel by name, with the numbers that it uses; the others are None."""

    name: str
    gamma: float | None = None
    degree: float | None = None
    coef0: float | None = None
    neighbours: int | None = None

    def used(self) -> dict[str, str | float | int]:
        """What is saved in a model."""
        return {name: value for name, value in self._asdict().items() if value is not None}


class DualVectors(NamedTuple):
    """What a fit leaves for new rows: eigenvectors and eigenvalues of the kernel matrix of t training rows."""

    vectors: Array  # V (t, k)
    values: Array  # (k,) Lambda, 0 past the rank
    means: Array  # (t,) of the kernel matrix's rows; zeros when not centred
    about_all: bool  # the training rows are all rows of the fit, and it was centred

    @property
    def scores(self) -> Array:
        """V sqrt(Lambda), (t, k)."""
        return self.vectors * np.sqrt(self.values)

    @property
    def weights(self) -> Array:
        """V / sqrt(Lambda), (t, k); zeros past the rank."""
        return self.vectors * np.where(self.values > 0, 1.0 / np.sqrt(np.where(self.values > 0, self.values, 1.0)), 0.0)


class Prepared(NamedTuple):
    """Rows as a kernel sees them, with what rounding may have done to each before that."""

    Y: Array  # (n, d)
    error: Array  # (n,) lengths

    def take(self, rows: slice) -> Prepared:
        return Prepared(self.Y[rows], self.error[rows])


class Kernel(ABC):
    """k(x, y) of rows x and y as prepared: centred and scaled as the model says."""

    uses: ClassVar[tuple[str, ...]] = ()  # the settings that matter to it
    invariant: ClassVar[bool] = False  # no value changes when all rows are shifted by the same
    cancels: ClassVar[bool] = False  # such a shift changes values, but not the centred matrix
    definite: bool = True  # the centred matrix is known to be positive semidefinite
    conditional: ClassVar[bool] = False  # the matrix is so only once it is centred
    flat: ClassVar[bool] = False  # its leading eigenvalues are nearly equal
    graph: ClassVar[bool] = False  # made from the neighbours among all rows, not from two rows alone
    of_rows: ClassVar[bool] = True  # the columns are features of the rows, not the kernel itself

    def __init__(self, settings: KernelSettings) -> None:
        self.settings = settings

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.settings,)

    @abstractmethod
    def matrix(self, X: Array, run: Runner) -> Array:
        """K (n, n) of the rows X (n, d), exactly symmetric; the same bits whoever runs it."""

    @abstractmethod
    def cross(self, X: Array, T: Array) -> Array:
        """Values (h, n) between new rows X (h, d) and training rows T (n, d)."""

    @abstractmethod
    def doubt(self, K: Array, X: Prepared, T: Prepared) -> Array:
        """(h,) bounds on the sum of the errors of each row of K (h, n), values between X and T as they were computed.

        The largest of them bounds what rounding did to the norm of the whole matrix, and so to each eigenvalue (Weyl).
        """

    def noise(self, K: Array, rows: Prepared, run: Runner) -> float:
        """Bound on the norm of what rounding did to the matrix K (n, n) of these rows, before it is centred.

        Infinite where nothing is known: then nothing is vouched for.
        """
        with np.errstate(all="ignore"):
            parts = run(lambda part: self.doubt(K[part], rows.take(part), rows), slabs(len(K), len(K)))
            most = max(float(np.max(part)) for part in parts)
        return most if most >= 0 else np.inf  # a sum that overflowed on the way says nothing

    def scores(self, X: Array, T: Array, dual: DualVectors) -> Array:
        """Scores (h, k) of new rows: k_t - 1/n 1 1^T k_t - 1/n K 1 + 1/n^2 1 1^T K 1, times V / sqrt(Lambda)."""
        B = self.cross(X, T)
        B -= dual.means
        if dual.about_all:
            B -= B.mean(axis=1, keepdims=True)
        return B @ dual.weights

    def squared_norms(self, X: Array) -> Array | None:
        """k(x, x) of each row, (h,); None where no more is known of a row than its values with others."""
        return None

    def remark(self, values: Array) -> str:
        """What should be known of components with these eigenvalues (k,), before they are trusted; mostly nothing."""
        return ""

    def is_definite(self, centred: bool) -> bool:
        return self.definite and (centred or not self.conditional)


def resolve(wishes: Wishes, d: int) -> KernelSettings:
    """The settings with every default filled in that matters to this kernel of rows with d columns."""
    name = wishes.kernel or "rbf"
    defaults: dict[str, Any] = {"gamma": 1.0 / d, "degree": DEGREE, "coef0": COEF0, "neighbours": NEIGHBOURS}
    uses = KERNELS.load(name).uses
    asked: dict[str, Any] = {what: getattr(wishes, what) for what in uses}
    return KernelSettings(name, **{what: defaults[what] if value is None else value for what, value in asked.items()})


def load(settings: KernelSettings) -> Kernel:
    """The kernel that settings describe."""
    kernel: Kernel = KERNELS.load(settings.name)(settings)
    return kernel


def slabs(n: int, width: int) -> Iterator[slice]:
    """Cuts of n rows into parts of CELLS cells when each row is `width` long: from the sizes alone."""
    height = max(CELLS // max(width, 1), FEWEST_ROWS)
    for start in range(0, n, height):
        yield slice(start, min(start + height, n))


def symmetric(values: Callable[[slice, slice], Array], n: int, run: Runner) -> Array:
    """K (n, n) from `values` of some rows against the others: computed on and above the diagonal, mirrored below."""
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
    for _ in run(fill, slabs(n, n)):
        pass
    return K

"""What every kernel is: its settings, its matrix over the training rows, its values between new rows and those."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np

from pcatool.arrays import Array, Runner
from pcatool.progress import doing
from pcatool.registry import KERNELS

__all__ = ["Dual", "Kernel", "Prepared", "Settings", "Wishes", "load", "resolve", "slabs", "symmetric"]

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


class Settings(NamedTuple):
    """A kernel by name, with the numbers that it uses; the others are None."""

    name: str
    gamma: float | None = None
    degree: float | None = None
    coef0: float | None = None
    neighbours: int | None = None

    def used(self) -> dict[str, str | float | int]:
        """What is saved in a model."""
        return {name: value for name, value in self._asdict().items() if value is not None}


class Dual(NamedTuple):
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

    def __init__(self, settings: Settings) -> None:
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

    def scores(self, X: Array, T: Array, dual: Dual) -> Array:
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


def resolve(wishes: Wishes, d: int) -> Settings:
    """The settings with every default filled in that matters to this kernel of rows with d columns."""
    name = wishes.kernel or "rbf"
    defaults: dict[str, Any] = {"gamma": 1.0 / d, "degree": DEGREE, "coef0": COEF0, "neighbours": NEIGHBOURS}
    uses = KERNELS.load(name).uses
    asked: dict[str, Any] = {what: getattr(wishes, what) for what in uses}
    return Settings(name, **{what: defaults[what] if value is None else value for what, value in asked.items()})


def load(settings: Settings) -> Kernel:
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

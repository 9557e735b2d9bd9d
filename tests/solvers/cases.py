"""Every kind of matrix, in one table. All are small, so that exact arithmetic can judge them.

Every solver of the registry runs on each of them, centred or not, standardised or not, with either divisor: a new
solver, or a new row here, is tested against all the rest without a new test.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import Any
from zlib import crc32

import numpy as np
import pytest
from numpy.typing import NDArray

from pcatool.arrays import recut
from pcatool.methods.pca import PCA
from pcatool.model.model import Model
from pcatool.options import FitOptions
from pcatool.progress import Reporter
from pcatool.registry import SOLVERS
from solvers.oracle import Exact

__all__ = [
    "CASES",
    "Array",
    "Case",
    "Run",
    "by_name",
    "every_fit",
    "every_refusal",
    "fit",
    "fitted",
    "names_of",
    "over",
    "rows_of",
    "runs_of",
]

Array = NDArray[np.float64]
Maker = Callable[[np.random.Generator], Array]


@dataclass(frozen=True)
class Case:
    """A matrix, and what is special about it."""

    name: str
    make: Maker
    rank: int | None = None  # of the centred data; None: min(d, n - 1)
    each: bool = False  # every eigenvalue has a relative error of its own, not only one against the largest
    exit_code: int = 0  # of a centred fit
    uncentred_exit_code: int = 0
    says: str = ""  # words in the refusal

    def __str__(self) -> str:
        return self.name


# --- makers ---


def normal(*shape: int, by: float | Array = 1.0, shift: float = 0.0) -> Maker:
    return lambda rng: rng.normal(size=shape) * by + shift


def low_rank(rng: np.random.Generator) -> Array:
    """Rank 3 of 6, in whole numbers, so that it is exact."""
    return (rng.integers(-9, 10, (30, 3)) @ rng.integers(-5, 6, (3, 6))).astype(np.float64)


def duplicates(rng: np.random.Generator) -> Array:
    X = rng.normal(size=(25, 3))
    return np.column_stack([X, X[:, 0], X[:, 2]])


def proportional(rng: np.random.Generator) -> Array:
    """Columns that differ by a factor, which rounds: dependent on paper, not to the last bit."""
    X = rng.normal(size=(60, 2)) + 3
    return np.column_stack([X, 2.54 * X[:, 0], X[:, 1] / 3])


def close_duplicates(rng: np.random.Generator) -> Array:
    """Two columns a thousandth apart, each four times: eigenvalues 1 and 1e-6, then rank ends."""
    x, y = rng.normal(size=(2, 40))
    return np.tile(np.column_stack([x, x + 1e-3 * y]), 4)


def one_constant(rng: np.random.Generator) -> Array:
    X = rng.normal(size=(20, 4))
    X[:, 1] = 0.1  # the rounded mean of many 0.1 need not be 0.1
    return X


def among_constants(rng: np.random.Generator) -> Array:
    return np.column_stack([rng.normal(size=9), np.full((9, 2), 7.0)])


def cross(*sides: float) -> Maker:
    """The ends of a cross: eigenvalues 2 side^2 / n, exactly."""
    return lambda rng: np.concatenate([np.diag(sides), -np.diag(sides)])


def near_constant(rng: np.random.Generator) -> Array:
    X = rng.normal(size=(40, 3))
    X[:, 1] = 1e8 + 1e-6 * rng.normal(size=40)
    return X


def counts_and_flags(rng: np.random.Generator) -> Array:
    return np.column_stack([rng.poisson(3, (40, 2)), rng.random((40, 2)) < 0.3]).astype(np.float64)


def one_column_times(factor: float) -> Maker:
    def make(rng: np.random.Generator) -> Array:
        X = rng.normal(size=(20, 4))
        X[:, 2] *= factor
        return X

    return make


EVEN: Array = np.float_power(10, np.arange(-8, 9, 2))
SHUFFLED: Array = np.float_power(10, [0, -8, 8, 3, -3, 5])

# Solvers that draw no random numbers, and give all components.
EXACT_SOLVERS = [name for name in SOLVERS if not SOLVERS[name].seeded]

CASES = (
    Case("tall", normal(40, 6)),
    Case("wide", normal(5, 9)),
    Case("square", normal(6, 6)),
    Case("n = d + 1", normal(7, 6)),
    Case("rank-deficient", low_rank, rank=3),
    Case("duplicate columns", duplicates, rank=3),
    Case("proportional columns", proportional, rank=2),
    Case("close duplicates", close_duplicates, rank=2),
    Case("one column", normal(15, 1)),
    Case("one column among constants", among_constants, rank=1),
    Case("constant column", one_constant, rank=3),
    Case("all constant", lambda rng: np.full((5, 3), 0.1), exit_code=3, says="constant"),
    Case("all zero", lambda rng: np.zeros((4, 2)), exit_code=3, uncentred_exit_code=3, says="no variance"),
    Case("offset 1e6", normal(40, 4, shift=1e6)),
    Case("offset 1e8", normal(40, 4, shift=1e8)),
    Case("wide, offset 1e8", normal(4, 7, shift=1e8)),
    Case("duplicates, offset 1e8", lambda rng: duplicates(rng) + 1e8, rank=3),
    Case("near-constant column", near_constant, each=True),
    Case("scales 1e-8 to 1e8", normal(60, 9, by=EVEN), each=True),
    Case("scales, shuffled", normal(30, 6, by=SHUFFLED), each=True),
    Case("scales, wide", normal(4, 6, by=SHUFFLED)),
    Case("scales, duplicates", lambda rng: np.tile(rng.normal(size=(20, 3)) * EVEN[[0, 8, 4]], 2), rank=3),
    Case("repeated eigenvalues", cross(2.0, 1.0, 1.0, 1.0)),
    Case("all eigenvalues equal", cross(1.0, 1.0, 1.0)),
    Case("one row", normal(1, 4), exit_code=3, says="2 rows"),
    Case("two rows", normal(2, 4)),
    Case("whole numbers", lambda rng: rng.integers(-50, 51, (30, 5)).astype(np.float64)),
    Case("counts and flags", counts_and_flags),
    Case("values near 1e150", normal(20, 4, by=1e150)),
    Case("values near 1e-150", normal(20, 4, by=1e-150)),
    Case("one column near 1e150", one_column_times(1e150), each=True),
    Case("one column near 1e-150", one_column_times(1e-150), each=True),
    Case("values near 1e160", normal(20, 4, by=1e160), exit_code=6, uncentred_exit_code=6, says="overflow"),
    Case("one column near 1e160", one_column_times(1e160), exit_code=6, uncentred_exit_code=6, says="overflow"),
    # Squares of 1e-160 are subnormal and keep four digits, those of 1e-170 are 0.
    Case("values near 1e-160", normal(20, 4, by=1e-160), exit_code=6, uncentred_exit_code=6, says="underflow"),
    Case("values near 1e-170", normal(20, 4, by=1e-170), exit_code=6, uncentred_exit_code=6, says="underflow"),
    Case("one column near 1e-160", one_column_times(1e-160), exit_code=6, uncentred_exit_code=6, says="underflow"),
    Case("one column near 1e-170", one_column_times(1e-170), exit_code=6, uncentred_exit_code=6, says="underflow"),
)


@dataclass(frozen=True)
class Run:
    """One solver on one case with one set of options."""

    solver: str
    case: Case
    center: bool
    standardize: bool
    ddof: int

    def __str__(self) -> str:
        centred = "centred" if self.center else "uncentred"
        scale = "standardised" if self.standardize else "as it is"
        return f"{self.solver}-{self.case.name}-{centred}-{scale}-ddof {self.ddof}"

    @property
    def X(self) -> Array:
        return rows_of(self.case)

    @property
    def exact(self) -> Exact:
        return exact(self.case, self.center, self.standardize, self.ddof)

    @property
    def exit_code(self) -> int:
        """What the fit ends with."""
        code = self.case.exit_code if self.center else self.case.uncentred_exit_code
        return code or (3 if len(self.X) <= self.ddof else 0)

    @property
    def standard(self) -> Array:
        """The rows in the units of the fit, (n, d), rounded."""
        mean = np.array([float(mu) for mu in self.exact.origin])
        return (self.X - mean) / np.array([float(s) for s in self.exact.deviations])


def by_name(name: str) -> Case:
    return next(case for case in CASES if case.name == name)


@cache
def rows_of(case: Case) -> Array:
    """The rows of a case, (n, d), the same on every call; nobody may write to them."""
    X = np.ascontiguousarray(case.make(np.random.default_rng(crc32(case.name.encode()))))
    X.setflags(write=False)
    return X


@cache
def exact(case: Case, center: bool, standardize: bool, ddof: int) -> Exact:
    return Exact(rows_of(case), center, standardize, ddof)


def names_of(d: int) -> tuple[str, ...]:
    return tuple(f"c{j}" for j in range(1, d + 1))


def fit(X: Array, reporter: Reporter | None = None, **options: Any) -> Model:
    """A fit as the pipeline does it, from rows in memory."""
    d = X.shape[1]
    return PCA(FitOptions(**options), reporter or Reporter()).fit(recut([X], d), names_of(d)).model


@cache
def fitted(run: Run) -> Model:
    """All components there can be, those past the rank included."""
    return fit(
        run.X,
        solver=run.solver,
        center=run.center,
        standardize=run.standardize,
        ddof=run.ddof,
        components=min(run.X.shape),
    )


# Centred or not, standardised or not, the divisor.
SETTINGS = tuple(product((True, False), (False, True), (0, 1)))


def runs_of(solver: str, case: Case) -> list[Run]:
    return [Run(solver, case, *setting) for setting in SETTINGS]


def over(chosen: Callable[[Run], bool]) -> Callable[[Callable[[Run], None]], Callable[[str, Case], None]]:
    """Make a test of one run a test of every solver on every case, with every setting chosen."""
    pairs = [pair for pair in product(SOLVERS, CASES) if any(map(chosen, runs_of(*pair)))]

    def decorate(test: Callable[[Run], None]) -> Callable[[str, Case], None]:
        @pytest.mark.parametrize(("solver", "case"), pairs, ids=str)
        def every(solver: str, case: Case) -> None:
            for run in filter(chosen, runs_of(solver, case)):
                try:
                    test(run)
                except Exception as error:
                    error.add_note(str(run))
                    raise

        every.__doc__ = test.__doc__
        return every

    return decorate


every_fit = over(lambda run: not run.exit_code)
every_refusal = over(lambda run: bool(run.exit_code))

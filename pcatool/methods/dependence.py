"""Q = X^T H Ky H X taken apart: what every way to it needs, and what comes of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from pcatool.arrays import Array
from pcatool.errors import DataError, RefusedError, listed
from pcatool.linalg.cross_moments import Uncertain, of_cross
from pcatool.linalg.moments import Centre, center_rows
from pcatool.linalg.spectrum import Spectrum
from pcatool.methods.base import Labels, Supply
from pcatool.methods.label_kernels import LabelKernel
from pcatool.progress import Notices
from pcatool.resources import size_text
from pcatool.solvers.base import SMALLEST, Problem, Solution, assembled, check_solvable, one_row, scale_of
from pcatool.solvers.rows import Rows

__all__ = [
    "COPIES",
    "Columns",
    "Dependence",
    "Task",
    "check_total",
    "found",
    "from_product",
    "independent",
    "refuse_above",
]

# A matrix that is taken apart: itself, its scaled copy, a triangle, singular vectors, and LAPACK's own of each.
COPIES = 6


class Task(NamedTuple):
    """Rows whose labels follow the features, and what is asked of them."""

    rows: Rows
    problem: Problem
    labels: Labels
    kernel: LabelKernel
    supply: Supply
    center_rows: bool
    notices: Notices

    def split(self, block: Array) -> tuple[Array, Array]:
        """Features and label columns of a block."""
        X, Y = block[:, : self.problem.d], block[:, self.problem.d :]
        return (center_rows(X) if self.center_rows else X), Y

    @property
    def origin(self) -> tuple[Array, Array]:
        X, Y = self.split(self.rows.origin[None, :])
        return X[0], Y[0]


class Dependence(NamedTuple):
    """What was found, how, and how many eigenvalues could be above 0."""

    solution: Solution
    possible: int
    solver: str
    reason: str
    classes: int | None = None


class Columns(NamedTuple):
    """The features in the units of the fit."""

    centre: Centre
    variances: Array  # (d,) as read
    sigma: Array  # (d,)
    length: Array  # (d,) |x - mu| / sigma of each column
    noise: Array  # (d,) relative rounding of each

    @classmethod
    def of(cls, centre: Centre, squares: Array, problem: Problem) -> Columns:
        n, constant = centre.rows, ~centre.varies
        divisor = n - problem.ddof
        with np.errstate(all="ignore"):
            variances = squares / max(divisor, 1)
            sigma = scale_of(variances, constant, problem)
            length = np.sqrt(squares) / sigma
            total = float(np.sum(np.square(length)))
        if n < 2:  # not about zero either: H is what makes it supervised
            raise one_row()
        check_solvable(problem, n, divisor, constant, variances, total)
        return cls(centre, variances, sigma, length, problem.noise(centre, squares))

    @property
    def varying(self) -> int:
        return int(np.count_nonzero(self.centre.varies))


def refuse_above(limit: int | None, need: int, what: str, remedy: str) -> None:
    if limit is not None and need > limit:
        raise RefusedError(
            f"{what}: that takes about {size_text(need)}, the limit is {size_text(limit)} "
            "(--memory, else half of what is free)",
            remedy,
        )


def independent(labels: Labels) -> DataError:
    noun = "label" if len(labels.names) == 1 else "labels"
    return DataError(
        f"no column depends on {noun} {listed(labels.names)}: their products are 0 but for rounding",
        "give another label or other columns",
    )


def from_product(
    problem: Problem,
    labels: Labels,
    columns: Columns,
    M: Uncertain,
    solver: str,
    reason: str,
    classes: int | None = None,
) -> Dependence:
    """From M with Q = M M^T."""
    A = M.values
    with np.errstate(all="ignore"):
        total = float(np.einsum("ij,ij->", A, A))
    check_total(total, A)
    spectrum = of_cross(M, problem.wish)
    return found(problem, labels, columns, spectrum, total, lambda V: A @ (A.T @ V), M.most, solver, reason, classes)


def check_total(total: float, A: Array) -> None:
    if not np.isfinite(total):
        raise RefusedError("products of the values and the label overflow a double", "rescale the columns or the label")
    if total < SMALLEST and A.any():
        raise RefusedError(
            "products of the values and the label underflow a double", "rescale the columns or the label"
        )


def found(
    problem: Problem,
    labels: Labels,
    columns: Columns,
    spectrum: Spectrum,
    total: float,
    apply: Callable[[Array], Array],
    possible: int,
    solver: str,
    reason: str,
    classes: int | None = None,
) -> Dependence:
    """What there is to say of Q, of which only what it does to vectors is known here."""
    if spectrum.rank == 0:
        raise independent(labels)
    most = min(columns.centre.rows, problem.d)
    spectrum = spectrum.sized(most)
    solution = assembled(problem, columns.centre, columns.variances, columns.sigma, total, spectrum, apply)
    return Dependence(solution._replace(mean=np.zeros(problem.d)), possible, solver, reason, classes)

"""Protocol of a solver: its problem and solution; and steps that several solvers share."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from pcatool.arrays import Array, nothing_to_fit
from pcatool.errors import DataError, RefusedError
from pcatool.linalg.eigen import triangle
from pcatool.linalg.moments import LEAST, Centre, center_block
from pcatool.linalg.row_sums import Statistic
from pcatool.linalg.spectrum import EPS, Spectrum, Wish
from pcatool.linalg.triangle import Triangle
from pcatool.solvers.estimate import Estimate
from pcatool.solvers.rows import AT_ONCE, Rows, first_heavy_row
from pcatool.wording import counted, grouped, listed, show

__all__ = [
    "MAX_DIVISOR_ERROR",
    "ColumnScales",
    "Problem",
    "Solution",
    "Solver",
    "centered_matrix",
    "check_columns",
    "check_solvable",
    "column_rounding",
    "make_solution",
    "scale_of",
    "solve_factor",
    "squares_overflow",
    "too_few_rows",
    "uncertain_divisor",
]

# Rounding error of a centred cell, of the mean and of the sums, in eps times the standard deviation of the column.
CELL_ROUNDING = 4.0

# Largest count that a double holds exactly.
MOST_COUNTED = 1 << 53

# Largest relative error of the divisor, equal to that of an accurate eigenvalue: every eigenvalue has this error.
MAX_DIVISOR_ERROR = 1e-8

# If the weights add up to more than LARGE, or less than its inverse, the message about overflow or underflow of squares
# blames the weights. LARGEST limits the factor that a message suggests.
LARGE, LARGEST = 1e20, 1e300

# A variance below this is a sum of squares that have lost digits near the smallest double.
MIN_VARIANCE = 4 * float(np.finfo(np.float64).tiny)


class Problem(NamedTuple):
    """Settings and facts that determine how a fit is solved; independent of the solver and of the machine."""

    columns: tuple[str, ...]  # names of the features
    n: int | None  # number of rows; None if unknown, because only the first rows were read before solving
    wish: int | float | str = 0.99  # components: a number, a share of the variance, or the name of a rule
    center: bool = True
    standardize: bool = False
    ddof: int = 0
    weights: str | None = None  # "frequency" or "reliability"
    seed: int = 0
    needs_small_eigenvalues: bool = False  # whether the scores will be divided by small eigenvalues
    keeps_sums: bool = False  # whether the solution keeps the sums over rows, so that rows can be added later
    rows_centered: bool = False  # whether each row is centred on its own mean
    eigenvalues: str = "auto"  # which eigenvalues to find: auto, all or kept

    @property
    def d(self) -> int:
        return len(self.columns)

    def observations(self, rows: int, weight: float) -> int:
        """Number of observations: with frequency weights the rounded sum `weight`, at least `rows`; else `rows`."""
        return max(min(round(weight), MOST_COUNTED), rows) if self.weights == "frequency" else rows

    def divisor(self, centre: Centre) -> float:
        """Return the divisor that turns sums of squares of the rows of `centre` into variances, such as n - ddof."""
        return centre.divisor(self.ddof, reliability=self.weights == "reliability")

    def divisor_error(self, centre: Centre) -> float:
        """Return the relative error bound of `divisor(centre)`; infinite if the divisor is not above 0."""
        return centre.divisor_error(self.ddof, reliability=self.weights == "reliability")

    def eigenvalue_error(self, centre: Centre) -> float:
        """Return the relative error that the error of the divisor adds to each eigenvalue.

        The error is 0 for correlations, where the divisor cancels.
        """
        return 0.0 if self.standardize and self.center else self.divisor_error(centre)

    def scale_rounding(self, rounding: Array) -> Array | float:
        """Return the relative error (d,) of the scale of each column: `rounding` (d,) if standardising, else 0."""
        return rounding if self.standardize else 0.0

    def rounding(self, centre: Centre, squares: Array) -> Array:
        """Return the relative rounding error (d,) of each centred column, from its sum of squares, `squares` (d,).

        The mean square is `squares` divided by the weight of all rows, not by the divisor of variances, because
        rounding error is relative to the cells.
        """
        cells = 2 * float(np.abs(centre.mean).max()) if self.rows_centered else 0.0
        return column_rounding(centre.high, squares / centre.weight, cells) + underflow_error(centre.rows, squares)


class Solution(NamedTuple):
    """Mean, scale and spectrum of the rows, from a solver, before the number of components k is chosen."""

    n: int  # number of rows
    mean: Array  # (d,) subtracted from the rows: zeros when not centred
    std: Array  # (d,) divisors of the centred columns: ones when not standardised
    eigenvalues: Array  # (m,) descending, 0 past the rank
    error: Array  # (m,) bounds on the rounding error of each eigenvalue
    leading: Callable[[int], Array]  # k -> the first k directions (d, k)
    total_variance: float  # sum of all eigenvalues, also of those that were not computed
    rank: int  # number of eigenvalues above rounding error
    route: str  # algorithm: "eigh", "lanczos", "evr", "svd", "gram", "jacobi", "krylov" or "em"
    constant: tuple[int, ...]  # indices of columns whose smallest and largest value are equal
    variances: Array  # (d,) of the columns as read, about their mean
    apply: Callable[[Array], Array]  # V -> S V, with S the matrix that has these eigenvalues; for the certificate
    observations: int  # as from `Problem.observations`; the n of the rules that choose k
    statistic: Statistic | None = None  # the sums over rows, if the problem keeps them
    squared_shares: float | None = None  # as in `Spectrum`


class Solver(Protocol):
    """Protocol of a solver, which has one class per file."""

    def solve(self, rows: Rows, problem: Problem) -> Solution:
        """Read the rows and return the solution.

        Raise `NoRows` without rows, and `DataError` or `RefusedError` if no component can be computed.
        """
        ...

    def estimate(self, problem: Problem, n: int | None, k: int) -> Estimate:
        """Return passes and memory of a fit of n rows, None if unknown, with k kept components."""
        ...


def scale_of(variances: Array, constant: NDArray[np.bool_], problem: Problem) -> Array:
    """Return the divisors sigma (d,) of the columns: standard deviations, 1 if constant or not standardising."""
    if not problem.standardize:
        return np.ones(problem.d)
    return np.where(constant, 1.0, np.sqrt(np.where(constant, 1.0, variances)))


class ColumnScales(NamedTuple):
    """Divisor, variances and scales of the columns, from which a solver forms the matrix that it decomposes."""

    divisor: float  # of sums of squares
    safe_divisor: float  # the divisor, or 1 where it is not above 0, which `check` refuses
    constant: NDArray[np.bool_]  # (d,)
    variances: Array  # (d,)
    sigma: Array  # (d,) as from `scale_of`

    @classmethod
    def of(cls, problem: Problem, centre: Centre, squares: Array) -> ColumnScales:
        """Build from the centre of all rows and the sums of squares (d,) about their mean."""
        divisor, constant = problem.divisor(centre), ~centre.varies
        safe_divisor = divisor if divisor > 0 else 1.0
        with np.errstate(over="ignore", invalid="ignore", divide="ignore", under="ignore"):
            variances = squares / safe_divisor
            return cls(divisor, safe_divisor, constant, variances, scale_of(variances, constant, problem))

    def check(self, problem: Problem, centre: Centre, total: float) -> None:
        """Raise the errors of `check_solvable`; `total` is the trace of the matrix to decompose."""
        check_solvable(problem, centre.rows, self.divisor, self.constant, self.variances, total, centre)


def column_rounding(shift: Array, variances: Array, cells: float = 0.0) -> Array:
    """Return the relative rounding error (d,) of each centred column with these variances (d,).

    The error grows with `shift` (d,), the mean minus the origin, because digits are lost in the difference; and with
    `cells`, the size of the cells from which the mean of their row was subtracted, 0 if no row means were subtracted.
    """
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        far = (np.abs(shift) + cells) / np.sqrt(variances)
    return EPS * (CELL_ROUNDING + np.where(np.isfinite(far), far, 0.0))


def underflow_error(rows: int, squares: Array) -> Array:
    """Return the largest errors (d,) by underflow of sums of `rows` squares each, as shares of the sums `squares` (d,).

    Each product may be off by the smallest positive double.
    """
    return np.where(squares > 0, rows * LEAST / np.where(squares > 0, squares, 1.0), 0.0)


def too_few_rows(other: str = "", *, weighted: bool = False) -> DataError:
    """Return the error for a centred fit of a single row; `other` is appended to the remedy "give more rows".

    With `weighted`, rows of weight 0 do not count.
    """
    if weighted:
        which = "rows with a weight above 0"
        return DataError(
            f"a centred fit needs at least 2 {which}, but the data have only 1", f"give more {which}{other}"
        )
    return DataError("a centred fit needs at least 2 rows, but the data have 1 row", f"give more rows{other}")


def check_columns(weights: NDArray[Any], columns: Sequence[str]) -> None:
    """Raise `DataError` naming the columns without an observed cell.

    `weights` (d,) are the sums of the weights of the observed cells of each column, or their counts.
    """
    without = [columns[j] for j in np.flatnonzero(~(weights > 0)).tolist()]
    if len(without) == len(columns):
        raise DataError("every cell is missing", "give rows with values")
    if without:
        noun = "column" if len(without) == 1 else "columns"
        raise DataError(
            f"{noun} {listed(without)} {'has' if len(without) == 1 else 'have'} no value",
            f"leave the {noun} out with -x; if you gave --triples, remove the lines of the {noun} instead",
        )


def check_solvable(
    problem: Problem,
    n: int,
    divisor: float,
    constant: NDArray[np.bool_],
    variances: Array,
    total: float,
    centre: Centre | None = None,
) -> None:
    """Raise `DataError` or `RefusedError` if no component can be computed from n rows.

    The reasons: too few rows, a divisor not above 0, no variance, and squares that overflow or underflow a double. With
    a `centre`, also weights that leave too few digits of the divisor. `total` is the trace of the matrix to decompose.
    """
    if problem.center and n < 2:
        raise too_few_rows(", or fit with --no-center", weighted=problem.weights is not None)
    if centre is not None:
        check_weights(problem, centre)
    if divisor <= 0:
        divided = f"a divisor of {divisor:g} for {counted(n, 'row')}"
        if problem.weights == "frequency" and centre is not None:
            divided += f", because their weights add up to {centre.weight:.6g}"
        raise DataError(f"--ddof {problem.ddof} leaves {divided}", _divisor_remedy(problem))
    finite = bool(np.isfinite(total) and np.all(np.isfinite(variances)))
    # Merged or kept sums may count a column that overflows as constant.
    if problem.center and constant.all() and finite:
        what = f"column {show(problem.columns[0])} is" if problem.d == 1 else f"all {grouped(problem.d)} columns are"
        raise DataError(f"{what} constant: there is no variance to explain", "add a column that varies")
    if (lost := _underflown(problem, divisor, constant, variances, centre)) is not None:
        raise _squares_underflow(problem, problem.columns[lost], centre)
    if not finite:
        raise squares_overflow(problem.columns, variances, *_weights_remedy(problem, centre))
    if total <= 0:
        raise DataError("every value is 0: there is no variance to explain", "give a table with values other than 0")


def _underflown(
    problem: Problem, divisor: float, constant: NDArray[np.bool_], variances: Array, centre: Centre | None
) -> int | None:
    """Return the index of the column whose squares lose most digits to underflow; None if no column loses any."""
    # With a `centre`, the squares before the division by the divisor must not underflow either.
    squares = variances * min(divisor, 1.0) if centre is not None else variances
    nonzero = ~constant
    if centre is not None and not problem.center:
        with np.errstate(all="ignore"):
            squares = np.where(constant, centre.mean * centre.mean * min(centre.weight, 1.0), squares)
        nonzero = nonzero | (centre.mean != 0)
    columns = np.flatnonzero(nonzero)
    least = columns[squares[columns].argmin()] if len(columns) else None
    return None if least is None or not squares[least] < MIN_VARIANCE else int(least)


def check_weights(problem: Problem, centre: Centre) -> None:
    """Raise `RefusedError` if sums of the weights overflow, or if rounding leaves too few digits of the divisor."""
    if problem.weights is None:
        return
    if not (np.isfinite(centre.weight) and np.isfinite(centre.pairs)):
        raise RefusedError(
            f"the weights add up to {centre.weight:.3g}, and products of weights overflow a double",
            f"divide all weights by {_decade(min(centre.weight, LARGEST))}",
        )
    divisor_error, divisor = problem.divisor_error(centre), problem.divisor(centre)
    if divisor_error <= MAX_DIVISOR_ERROR or (
        divisor <= 0 and not (centre.rows > 1 and problem.weights == "reliability")
    ):
        return
    if problem.weights == "reliability":
        raise RefusedError(
            f"--ddof {problem.ddof} with --weights-kind reliability divides by "
            + (
                "products of weights, which underflow a double"
                if centre.weight < 1 / LARGE
                else "a difference of weights, which is only rounding error"
            ),
            "multiply all weights by " + _decade(1 / centre.weight) + ", or use --ddof 0"
            if 0 < centre.weight < 1 / LARGE
            else "use --ddof 0",
        )
    raise uncertain_divisor(problem, centre.weight, divisor, divisor_error)


def uncertain_divisor(problem: Problem, weight: float, divisor: float, divisor_error: float) -> RefusedError:
    """Return the error for a divisor, the sum `weight` minus ddof, that rounding leaves with too few digits."""
    return RefusedError(
        f"the weights add up to {weight:.17g}, so --ddof {problem.ddof} leaves a divisor of {divisor:.2g}; "
        f"its relative error, {min(divisor_error, 1.0):.0e}, is too large",
        _divisor_remedy(problem),
    )


def _divisor_remedy(problem: Problem) -> str:
    """Return the remedy for a divisor that is not above 0 or has too few digits."""
    shares = "give --weights-kind reliability if the weights are not counts, or "
    return f"{shares if problem.weights == 'frequency' else ''}use --ddof 0"


def _decade(number: float) -> str:
    """Return the largest power of ten that is at most `number`, such as "1e20"."""
    return f"1e{math.floor(math.log10(number))}"


def _weights_remedy(problem: Problem, centre: Centre | None) -> tuple[str, ...]:
    """Return the remedy "divide all weights" if weights above LARGE make squares overflow, else no remedy."""
    heavy = problem.weights is not None and centre is not None and centre.weight > LARGE
    return (f"divide all weights by {_decade(centre.weight)}",) if heavy and centre is not None else ()


def _squares_underflow(problem: Problem, name: str, centre: Centre | None) -> RefusedError:
    """Return the error for the column `name`, whose squares underflow; weights may be the cause."""
    if problem.weights is None or centre is None:
        return RefusedError(
            f"squares of the values of column {show(name)} underflow a double",
            "rescale the column so that its values differ by more than 1e-140, or leave the column out with -x",
        )
    light = centre.weight < 1 / LARGE
    return RefusedError(
        f"squares of the values of column {show(name)}, multiplied by the row weights, underflow a double",
        (f"multiply all weights by {_decade(1 / centre.weight)}, " if light else "leave out rows with a tiny weight, ")
        + "rescale the column, or leave the column out with -x",
    )


def squares_overflow(columns: Sequence[str], variances: Array, *others: str) -> RefusedError:
    """Return the error for columns whose variance is not finite, else for the column with the largest variance.

    `others` are remedies to name before rescaling.
    """
    lost = np.flatnonzero(~np.isfinite(variances)).tolist() or [int(variances.argmax())]
    noun = "column" if len(lost) == 1 else "columns"
    return RefusedError(
        f"squares of the values of {noun} {listed(columns[j] for j in lost)} overflow a double",
        "".join(f"{other}, " for other in others)
        + f"rescale the {noun} so that values stay below 1e150, or leave the {noun} out with -x",
    )


def make_solution(
    problem: Problem,
    centre: Centre,
    variances: Array,
    sigma: Array,
    total: float,
    spectrum: Spectrum,
    apply: Callable[[Array], Array],
) -> Solution:
    """Return the solution for the centre of the rows and the spectrum of S, the scatter after scaling and division.

    `variances` and `sigma` (d,) are those of the columns, `total` is the trace of S, and `apply` multiplies by S.
    """
    observations = problem.observations(centre.rows, centre.weight)
    m = min(observations, problem.d)  # a solver may return more eigenvalues, which are 0
    values = spectrum.eigenvalues[:m]
    return Solution(
        n=centre.rows,
        mean=centre.mean if problem.center else np.zeros(problem.d),
        std=sigma,
        eigenvalues=values,
        error=spectrum.error[:m] + problem.eigenvalue_error(centre) * values,
        leading=spectrum.leading,
        total_variance=total,
        rank=min(spectrum.rank, m),  # rounding may add to the rank of few rows
        route=spectrum.route,
        constant=tuple(np.flatnonzero(~centre.varies).tolist()),
        variances=variances,
        apply=apply,
        observations=observations,
        squared_shares=spectrum.squared_shares,
    )


class Decompose(Protocol):
    """Function that returns the spectrum of F^T F from F (r, d), like `linalg.eigen.spectrum_of_factor`."""

    def __call__(
        self, F: Array, rounding: Array, rows: int, wish: Wish, scale_rounding: Array | float = ...
    ) -> Spectrum: ...


def centered_matrix(rows: Rows) -> tuple[Centre, Array]:
    """Return the centre of all rows, and Y (n, d): the centred rows times the square roots of their weights.

    Y^T Y is the scatter. Raise `NoRows` without rows.
    """
    X, w = rows.matrix()
    if not len(X):
        raise nothing_to_fit()
    centre, Y, rest = center_block(X, X[first_heavy_row(w)].copy(), w, out=X)
    with np.errstate(over="ignore", invalid="ignore"):
        if w is None:
            Y -= rest / centre.weight
        else:  # in slabs: the outer product is as large as all rows
            root, step = np.sqrt(w), max(AT_ONCE // (8 * Y.shape[1]), 1)
            for at in range(0, len(Y), step):
                Y[at : at + step] -= np.outer(root[at : at + step], rest / centre.weight)
    return centre, Y


def solve_factor(
    centre: Centre,
    Y: Array,
    problem: Problem,
    decompose: Decompose,
    rounding: Array | None = None,
    rounding_about_zero: Array | None = None,
) -> Solution:
    """Return the solution from Y (r, d), where Y^T Y is the scatter about the mean; Y is overwritten.

    `rounding` (d,) is the relative rounding error of the columns, by default computed. `rounding_about_zero` (d,) is
    the error relative to squares about 0, which an uncentred fit decomposes; by default equal to `rounding`.
    """
    kept = Triangle(centre, triangle(Y)) if problem.keeps_sums else None
    with np.errstate(over="ignore", invalid="ignore", divide="ignore", under="ignore"):
        squares = np.einsum("ij,ij->j", Y, Y)
        scales = ColumnScales.of(problem, centre, squares)
        if not problem.center:
            # One more row adds the square of the mean: the difference between the scatter about zero and Y^T Y.
            Y = np.vstack([Y, np.sqrt(centre.weight) * centre.mean])
        Y /= scales.sigma * np.sqrt(scales.safe_divisor)
        total = float(np.einsum("ij,ij->", Y, Y))
    scales.check(problem, centre, total)
    observations = problem.observations(centre.rows, centre.weight)
    rounding = problem.rounding(centre, squares) if rounding is None else rounding
    entries = rounding if problem.center or rounding_about_zero is None else rounding_about_zero
    spectrum = decompose(Y, entries, centre.rows, problem.wish, problem.scale_rounding(rounding)).resized(
        min(observations, problem.d)
    )
    solution = make_solution(problem, centre, scales.variances, scales.sigma, total, spectrum, lambda V: Y.T @ (Y @ V))
    return solution._replace(statistic=Statistic.summed(kept, rounding)) if kept else solution

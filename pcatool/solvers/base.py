"""Protocol of a solver: its problem, solution and estimate; and steps that several solvers share."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from pcatool.arrays import Array, nothing_to_fit
from pcatool.errors import DataError, RefusedError, counted, grouped, listed, show
from pcatool.linalg.eigen import triangle
from pcatool.linalg.moments import LEAST, Centre, center_block
from pcatool.linalg.row_sums import Statistic
from pcatool.linalg.spectrum import EPS, Spectrum, Wish
from pcatool.linalg.triangle import Triangle
from pcatool.solvers.rows import AT_ONCE, Rows, first_heavy_row

__all__ = [
    "MAX_DIVISOR_ERROR",
    "ColumnScales",
    "Estimate",
    "Problem",
    "Solution",
    "Solver",
    "centered_matrix",
    "check_columns",
    "check_solvable",
    "column_rounding",
    "decomposing_bytes",
    "directions_bytes",
    "estimate_in_memory",
    "factor_bytes",
    "make_solution",
    "scale_of",
    "solve_factor",
    "squares_overflow",
    "too_few_rows",
    "uncertain_divisor",
]

# Rounding error of one centred cell, of the mean and of the sums, in units of eps times the standard deviation of the
# column.
CELL_ROUNDING = 4.0

# Largest count that a double holds exactly.
MOST_COUNTED = 1 << 53

# Largest relative error of the divisor, equal to that of an accurate eigenvalue: a larger error would spoil all
# eigenvalues.
MAX_DIVISOR_ERROR = 1e-8

# If the weights add up to more than LARGE, or less than its inverse, the message about overflow or underflow of squares
# blames the weights. LARGEST limits the factor that a message suggests.
LARGE, LARGEST = 1e20, 1e300

# A variance below this is a sum of squares that have lost digits near the smallest double.
MIN_VARIANCE = 4 * float(np.finfo(np.float64).tiny)


class Problem(NamedTuple):
    """Settings and facts that determine how a fit is solved; independent of the solver and of the machine."""

    columns: tuple[str, ...]
    n: int | None  # rows; None if there are more than were held
    wish: int | float | str = 0.99  # components: a number, a share of the variance, or the name of a rule
    center: bool = True
    standardize: bool = False
    ddof: int = 0
    weights: str | None = None  # "frequency" or "reliability"
    seed: int = 0
    needs_small_eigenvalues: bool = False  # whether the scores will be divided by small eigenvalues
    keeps_sums: bool = False  # whether the solution keeps the sums over rows, so that rows can be added later
    rows_centered: bool = False  # whether each row is centred on its own mean

    @property
    def d(self) -> int:
        return len(self.columns)

    def observations(self, rows: int, weight: float) -> int:
        """Number of observations: with frequency weights their sum, else the number of rows."""
        return max(min(round(weight), MOST_COUNTED), rows) if self.weights == "frequency" else rows

    def divisor(self, centre: Centre) -> float:
        """Return the divisor of sums of squares, such as n - ddof."""
        return centre.divisor(self.ddof, reliability=self.weights == "reliability")

    def divisor_error(self, centre: Centre) -> float:
        """Return the relative error of the divisor."""
        return centre.divisor_error(self.ddof, reliability=self.weights == "reliability")

    def eigenvalue_error(self, centre: Centre) -> float:
        """Return the relative error that the divisor adds to each eigenvalue.

        The error is 0 for correlations, where the divisor cancels.
        """
        return 0.0 if self.standardize and self.center else self.divisor_error(centre)

    def scale_rounding(self, rounding: Array) -> Array | float:
        """Return the relative error of the scale of each column, (d,), from the rounding of centred columns (d,)."""
        return rounding if self.standardize else 0.0

    def rounding(self, centre: Centre, squares: Array) -> Array:
        """Return the relative rounding error of each centred column, (d,), from its sum of squares, `squares` (d,).

        The mean square is `squares` divided by the weight of all rows, whatever the divisor of variances is: rounding
        error is relative to the cells.
        """
        cells = 2 * float(np.abs(centre.mean).max()) if self.rows_centered else 0.0
        return column_rounding(centre.high, squares / centre.weight, cells) + underflow_error(centre.rows, squares)


class Solution(NamedTuple):
    """Mean, scale and spectrum of the rows, from a solver; the choice of k comes later."""

    n: int
    mean: Array  # (d,) as subtracted: zeros when not centred
    std: Array  # (d,) as divided by: ones when not standardised
    eigenvalues: Array  # (m,) descending, 0 past the rank
    error: Array  # (m,) bounds on the rounding error of each eigenvalue
    leading: Callable[[int], Array]  # k -> directions (d, k)
    total_variance: float
    rank: int
    route: str
    constant: tuple[int, ...]  # indices of columns whose smallest and largest value are equal
    variances: Array  # (d,) of the columns as read, about their mean
    apply: Callable[[Array], Array]  # V -> S V, for the certificate
    observations: int  # observations for the rules for k: with frequency weights, their sum
    statistic: Statistic | None = None  # the sums over rows, if the problem keeps them


class Estimate(NamedTuple):
    """Passes over the rows, and most bytes of memory of a solver, in addition to the program.

    The blocks that are read and worked on are not included.
    """

    passes: str
    bytes: int  # while rows are read, without the results of blocks
    result: int = 0  # bytes of the result of one block; some results wait to be merged
    solving: int = 0  # bytes after all rows are read, if that is more
    work: int = 0  # working bytes of a thread for one block, without copies of the block
    copies: int = 1  # copies of its block that a thread makes
    height: int = 0  # smaller blocks are joined until they have this many rows
    merging: int = 0  # bytes to merge two results, while other threads work
    without_blocks: bool = False  # whether no thread works on blocks of rows: they are joined or compressed


def directions_bytes(d: int, k: int) -> int:
    """Bytes of k directions at the end of a fit: of the solver, of the model, of S times them or the model file."""
    return 8 * 3 * d * k


class Solver(Protocol):
    """Reads the rows and solves the problem. One class per solver file."""

    def solve(self, rows: Rows, problem: Problem) -> Solution: ...

    def estimate(self, d: int, n: int | None, k: int) -> Estimate:
        """Estimate the need for n rows; n is None if the number is unknown."""
        ...


def scale_of(variances: Array, constant: NDArray[np.bool_], problem: Problem) -> Array:
    """Return sigma (d,): standard deviations (1 for a constant column) if standardising, else ones."""
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
        """Compute from the centre of all rows and the sums of squares (d,) about their mean."""
        divisor, constant = problem.divisor(centre), ~centre.varies
        safe_divisor = divisor if divisor > 0 else 1.0
        with np.errstate(over="ignore", invalid="ignore", divide="ignore", under="ignore"):
            variances = squares / safe_divisor
            return cls(divisor, safe_divisor, constant, variances, scale_of(variances, constant, problem))

    def check(self, problem: Problem, centre: Centre, total: float) -> None:
        """Raise an error if no component can be computed; `total` is the trace of the matrix to decompose."""
        check_solvable(problem, centre.rows, self.divisor, self.constant, self.variances, total, centre)


def column_rounding(shift: Array, variances: Array, cells: float = 0.0) -> Array:
    """Return the relative rounding error of each centred column, (d,).

    An origin far from the mean, by `shift` (d,), costs digits in the difference. So do `cells` of this size from which
    the mean of their row was subtracted.
    """
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        far = (np.abs(shift) + cells) / np.sqrt(variances)
    return EPS * (CELL_ROUNDING + np.where(np.isfinite(far), far, 0.0))


def underflow_error(rows: int, squares: Array) -> Array:
    """Return the largest error by underflow of a sum of `rows` squares, as a share of `squares` (d,).

    Each product may be rounded near the smallest double.
    """
    return np.where(squares > 0, rows * LEAST / np.where(squares > 0, squares, 1.0), 0.0)


def too_few_rows(other: str = "") -> DataError:
    """Return the error for a single row; `other` is a remedy besides more rows."""
    return DataError("a centred fit needs at least 2 rows, but the data have 1 row", f"give more rows{other}")


def check_columns(weights: NDArray[Any], columns: Sequence[str]) -> None:
    """Raise `DataError` if a column has no observed cell.

    `weights` (d,) are the sums of the weights of the observed cells of each column.
    """
    without = [columns[j] for j in np.flatnonzero(~(weights > 0)).tolist()]
    if len(without) == len(columns):
        raise DataError("every cell is missing", "give rows with values")
    if without:
        noun = "column" if len(without) == 1 else "columns"
        raise DataError(
            f"{noun} {listed(without)} {'has' if len(without) == 1 else 'have'} no value",
            f"leave the {noun} out with -x",
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
    """Raise an error if no component can be computed.

    The reasons: too few rows, no variance, and squares that overflow or underflow a double. With a `centre`, also
    weights that leave too few digits of the divisor.
    """
    if problem.center and n < 2:
        raise too_few_rows(", or fit with --no-center")
    if centre is not None:
        check_weights(problem, centre)
    if divisor <= 0:
        divided = f"a divisor of {divisor:g} for {counted(n, 'row')}"
        raise DataError(f"--ddof {problem.ddof} leaves {divided}", _without_ddof(problem))
    held = bool(np.isfinite(total) and np.all(np.isfinite(variances)))
    if problem.center and constant.all() and held:  # merged or kept sums do not tell if an overflowed column varies
        what = f"column {show(problem.columns[0])} is" if problem.d == 1 else f"all {grouped(problem.d)} columns are"
        raise DataError(f"{what} constant: there is no variance to explain", "add a column that varies")
    if (lost := _underflown(problem, divisor, constant, variances, centre)) is not None:
        raise _squares_underflow(problem, problem.columns[lost], centre)
    if not held:
        raise squares_overflow(problem.columns, variances, *_lighter(problem, centre))
    if total <= 0:
        raise DataError("every value is 0: there is no variance to explain", "give a table with values")


def _underflown(
    problem: Problem, divisor: float, constant: NDArray[np.bool_], variances: Array, centre: Centre | None
) -> int | None:
    """Return the column whose squares have lost most digits to underflow, or None."""
    # Kept sums hold squares before the division.
    squares = variances * min(divisor, 1.0) if centre is not None else variances
    there = ~constant
    if centre is not None and not problem.center:
        with np.errstate(all="ignore"):
            squares = np.where(constant, centre.mean * centre.mean * min(centre.weight, 1.0), squares)
        there = there | (centre.mean != 0)
    columns = np.flatnonzero(there)
    least = columns[squares[columns].argmin()] if len(columns) else None
    return None if least is None or not squares[least] < MIN_VARIANCE else int(least)


def check_weights(problem: Problem, centre: Centre) -> None:
    """Raise `RefusedError` if sums of the weights overflow, or if the weights cancel in the divisor."""
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
    """Return the error for a sum of weights of which rounding leaves too few digits after ddof is subtracted."""
    return RefusedError(
        f"the weights add up to {weight:.17g}, so --ddof {problem.ddof} leaves a divisor of {divisor:.2g} with a "
        f"relative error of {min(divisor_error, 1.0):.0e}",
        _without_ddof(problem),
    )


def _without_ddof(problem: Problem) -> str:
    """Return the remedy for a divisor that is not above 0. Weights that are shares of a whole do not count rows."""
    shares = "give --weights-kind reliability if the weights are not counts, or "
    return f"{shares if problem.weights == 'frequency' else ''}use --ddof 0"


def _decade(number: float) -> str:
    return f"1e{math.floor(math.log10(number))}"


def _lighter(problem: Problem, centre: Centre | None) -> tuple[str, ...]:
    """Return a further remedy for squares that overflow, if heavy weights are the cause."""
    heavy = problem.weights is not None and centre is not None and centre.weight > LARGE
    return (f"divide all weights by {_decade(centre.weight)}",) if heavy and centre is not None else ()


def _squares_underflow(problem: Problem, name: str, centre: Centre | None) -> RefusedError:
    """Return the error for a column whose squares underflow; light weights have a remedy of their own."""
    if problem.weights is None or centre is None:
        return RefusedError(
            f"squares of the values of column {show(name)} underflow a double",
            "rescale the column so that its values differ by more than 1e-140, or leave it out with -x",
        )
    light = centre.weight < 1 / LARGE
    return RefusedError(
        f"squares of the values of column {show(name)}, times the weights of their rows, underflow a double",
        (f"multiply all weights by {_decade(1 / centre.weight)}, " if light else "leave out rows with a tiny weight, ")
        + "rescale the column, or leave it out with -x",
    )


def squares_overflow(columns: Sequence[str], variances: Array, *others: str) -> RefusedError:
    """Return the error for columns whose variance is not finite, else for the column with the largest variance.

    `others` are remedies besides rescaling.
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
    """Build the solution from the centre of the rows and the spectrum of their scatter."""
    observations = problem.observations(centre.rows, centre.weight)
    m = min(observations, problem.d)  # also when the solver returns more: all others are 0
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
    )


class Decompose(Protocol):
    """Decomposes a factor F (r, d) with F^T F = S, like `linalg.eigen.spectrum_of_factor`."""

    def __call__(
        self, F: Array, rounding: Array, rows: int, wish: Wish, scale_rounding: Array | float = ...
    ) -> Spectrum: ...


def decomposing_bytes(rows: int, d: int) -> int:
    """Bytes to decompose a factor with at most as many rows as columns.

    They cover its scaled copy, LAPACK's copies and workspace, and singular vectors, but not the factor itself.
    """
    return 8 * (7 * rows * d // 2 + 6 * rows * rows)


def factor_bytes(d: int, rows: int, k: int) -> int:
    """Bytes of a factor (rows, d) of at most d rows, and to decompose this factor or to keep k directions."""
    factor = 8 * rows * d
    return factor + max(decomposing_bytes(rows, d), factor + directions_bytes(d, min(k, rows)))


def estimate_in_memory(d: int, n: int | None, k: int) -> Estimate:
    """Estimate the need of a solver that holds all n rows and decomposes them: solver `svd`."""
    rows = n or 0
    held = 8 * rows * d
    if rows > d:  # LAPACK's two copies of the rows; then their triangle, like `tsqr`
        return Estimate("1", held, solving=max(3 * held, factor_bytes(d, d, k)))
    return Estimate("1", held, solving=max(factor_bytes(d, rows, k), held + min(held, AT_ONCE)))


def centered_matrix(rows: Rows) -> tuple[Centre, Array]:
    """Return the centre of all rows, and Y (n, d): centred rows times the root of their weights.

    Y^T Y is the scatter.
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
    """Solve from a factor Y of the centred scatter Y^T Y; overwrite Y.

    `rounding` (d,) is the relative rounding error of the columns, by default computed; `rounding_about_zero` that of
    squares about 0, which an uncentred fit decomposes.
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

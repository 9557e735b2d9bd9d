"""Protocol of a solver: its problem, its solution, its estimate; and steps that several solvers share."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from pcatool.arrays import Array
from pcatool.errors import DataError, RefusedError, listed, show
from pcatool.linalg.eigen import triangle
from pcatool.linalg.moments import LEAST, Centre, center_block
from pcatool.linalg.row_sums import Statistic
from pcatool.linalg.spectrum import EPS, Spectrum, Wish
from pcatool.linalg.triangle import Triangle
from pcatool.solvers.rows import AT_ONCE, Rows, first_heavy, nothing_to_fit

__all__ = [
    "KNOWN",
    "Estimate",
    "Problem",
    "Solution",
    "Solver",
    "assembled",
    "blurred_divisor",
    "centred_matrix",
    "check_columns",
    "check_solvable",
    "decomposing_bytes",
    "finish",
    "kept_bytes",
    "one_row",
    "rounding",
    "scale_of",
    "squares_overflow",
]

# Rounding of one centred cell, of the mean and of the sums, in units of eps and of the column's standard deviation.
CELL = 4.0

# A double counts no further one by one.
MOST_COUNTED = 1 << 53

# A divisor that is known to fewer digits than an eigenvalue must have to be vouched for spoils all of them.
KNOWN = 1e-8

# Sums of weights past this, or below its inverse, are what is named where squares overflow or underflow.
LARGE, LARGEST = 1e20, 1e300

# A variance below this is a sum of squares that have lost digits to the lower end of doubles.
SMALLEST = 4 * float(np.finfo(np.float64).tiny)


class Problem(NamedTuple):
    """All that may decide how a fit is solved: nothing of the route, the load or the machine."""

    columns: tuple[str, ...]
    n: int | None  # None: more rows than were held
    wish: int | float | str = 0.99  # how many components
    center: bool = True
    standardize: bool = False
    ddof: int = 0
    weights: str | None = None  # "frequency" or "reliability"
    seed: int = 0
    sharp: bool = False  # small eigenvalues will be divided by
    keeps: bool = False  # the sums over rows, so that more can be added later
    rows_centred: bool = False  # each row about its own mean

    @property
    def d(self) -> int:
        return len(self.columns)

    def counted(self, rows: int, weight: float) -> int:
        """Rows, a row that occurs w times counting w."""
        return max(min(round(weight), MOST_COUNTED), rows) if self.weights == "frequency" else rows

    def divisor(self, centre: Centre) -> float:
        """What sums of squares are divided by."""
        return centre.divisor(self.ddof, reliability=self.weights == "reliability")

    def blur(self, centre: Centre) -> float:
        """To what part of itself the divisor is known."""
        return centre.blur(self.ddof, reliability=self.weights == "reliability")

    def divided(self, centre: Centre) -> float:
        """What the divisor adds to the relative error of each eigenvalue; in correlations it cancels."""
        return 0.0 if self.standardize and self.center else self.blur(centre)

    def scales(self, noise: Array) -> Array | float:
        """(d,) to what part of itself each column's scale is known, from the rounding of centred columns (d,)."""
        return noise if self.standardize else 0.0

    def noise(self, centre: Centre, squares: Array) -> Array:
        """(d,) relative rounding of each centred column, of which these are the sums of squares.

        Their mean is taken over the weights, whatever variances are divided by: rounding is a part of the cells.
        """
        cells = 2 * float(np.abs(centre.mean).max()) if self.rows_centred else 0.0
        return rounding(centre.high, squares / centre.weight, cells) + underflow(centre.rows, squares)


class Solution(NamedTuple):
    """Mean, scale and spectrum of the data; which components are kept is not decided here."""

    n: int
    mean: Array  # (d,) as subtracted: zeros when not centred
    std: Array  # (d,) as divided by: ones when not standardised
    eigenvalues: Array  # (m,) descending, 0 past the rank
    error: Array  # (m,) what rounding may have done to each
    leading: Callable[[int], Array]  # k -> directions (d, k)
    total_variance: float
    rank: int
    route: str
    constant: tuple[int, ...]  # columns whose smallest and largest value are equal
    variances: Array  # (d,) of the columns as read, about their mean
    apply: Callable[[Array], Array]  # V -> S V, for the certificate
    counted: int  # rows as the rules for k count them: with frequency weights, what they add up to
    statistic: Statistic | None = None  # the sums over rows, where they are kept


class Estimate(NamedTuple):
    """What a solver will need: passes over the data, and bytes of memory at the most beyond the program itself.

    The blocks that are being read and worked on are not in it.
    """

    passes: str
    bytes: int  # while rows are read, beside results
    result: int = 0  # bytes of what becomes of one block, of which some wait to be merged
    solving: int = 0  # bytes once all rows are read, if that is more
    work: int = 0  # bytes that a thread takes for a block, beside copies of it
    copies: int = 1  # of a block that a thread works on, beside it
    height: int = 0  # rows to which blocks are joined, where they have fewer
    by_cells: bool = False  # the rows are held as cells in compressed form, never in blocks


def kept_bytes(d: int, k: int) -> int:
    """Of k directions that are kept: those of the solver, the model's, and S times these or the model's file."""
    return 8 * 3 * d * k


class Solver(Protocol):
    """Reads the rows and solves."""

    def solve(self, rows: Rows, problem: Problem) -> Solution: ...

    def estimate(self, d: int, n: int | None, k: int) -> Estimate:
        """For n rows; None when their number is not known and does not matter, or cannot be told."""
        ...


def scale_of(variances: Array, constant: NDArray[np.bool_], problem: Problem) -> Array:
    """sigma: standard deviations when standardising, 1 for a constant column, else ones."""
    if not problem.standardize:
        return np.ones(problem.d)
    return np.where(constant, 1.0, np.sqrt(np.where(constant, 1.0, variances)))


def rounding(shift: Array, variances: Array, cells: float = 0.0) -> Array:
    """Relative rounding of each centred column: an origin far from its mean costs digits in the difference.

    So do `cells` that were as large when a mean of their row was taken off them.
    """
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        far = (np.abs(shift) + cells) / np.sqrt(variances)
    return EPS * (CELL + np.where(np.isfinite(far), far, 0.0))


def underflow(rows: int, squares: Array) -> Array:
    """What products of so many rows, each rounded at the lower end of doubles, may be off by: parts of squares (d,)."""
    return np.where(squares > 0, rows * LEAST / np.where(squares > 0, squares, 1.0), 0.0)


def one_row(other: str = "") -> DataError:
    """A refusal; `other` is what could be done beside giving more rows."""
    return DataError("a centred fit needs at least 2 rows, there is 1", f"give more rows{other}")


def check_columns(weights: NDArray[Any], columns: Sequence[str]) -> None:
    """Refuse columns without a cell: `weights` (d,) are of the cells that are there."""
    without = [columns[j] for j in np.flatnonzero(~(weights > 0)).tolist()]
    if len(without) == len(columns):
        raise DataError("every cell is missing", "give rows with values")
    if without:
        noun = "column" if len(without) == 1 else "columns"
        raise DataError(f"no value in {noun} {listed(without)}", f"leave the {noun} out with -x")


def check_solvable(
    problem: Problem,
    n: int,
    divisor: float,
    constant: NDArray[np.bool_],
    variances: Array,
    total: float,
    centre: Centre | None = None,
) -> None:
    """Refuse what has no components, too few rows or no variance at all, and squares that a double cannot hold.

    With a `centre`, so are weights that say too little of what variances are divided by.
    """
    if problem.center and n < 2:
        raise one_row(", or fit with --no-center")
    if centre is not None:
        check_weights(problem, centre)
    if divisor <= 0:
        what = f"{n} row" + ("s" if n != 1 else "")
        raise DataError(f"--ddof {problem.ddof} leaves a divisor of {divisor:g} for {what}", _without_ddof(problem))
    held = bool(np.isfinite(total) and np.all(np.isfinite(variances)))
    if problem.center and constant.all() and held:  # sums that came from elsewhere do not tell what overflowed varies
        what = f"column {show(problem.columns[0])} is" if problem.d == 1 else f"all {problem.d} columns are"
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
    """The column whose squares have lost most digits to the lower end of doubles."""
    # Sums that are kept hold squares that nothing was divided by.
    squares = variances * min(divisor, 1.0) if centre is not None else variances
    there = ~constant
    if centre is not None and not problem.center:
        with np.errstate(all="ignore"):
            squares = np.where(constant, centre.mean * centre.mean * min(centre.weight, 1.0), squares)
        there = there | (centre.mean != 0)
    columns = np.flatnonzero(there)
    least = columns[squares[columns].argmin()] if len(columns) else None
    return None if least is None or not squares[least] < SMALLEST else int(least)


def check_weights(problem: Problem, centre: Centre) -> None:
    """Refuse weights whose sums overflow, or which cancel in the divisor."""
    if problem.weights is None:
        return
    if not (np.isfinite(centre.weight) and np.isfinite(centre.pairs)):
        raise RefusedError(
            f"the weights add up to {centre.weight:.3g}, and products of weights overflow a double",
            f"divide all weights by {_decade(min(centre.weight, LARGEST))}",
        )
    blur, divisor = problem.blur(centre), problem.divisor(centre)
    if blur <= KNOWN or (divisor <= 0 and not (centre.rows > 1 and problem.weights == "reliability")):
        return
    if problem.weights == "reliability":
        raise RefusedError(
            f"--ddof {problem.ddof} with --weights-kind reliability divides by products of weights, which "
            + ("underflow a double" if centre.weight < 1 / LARGE else "cancel"),
            "multiply all weights by " + _decade(1 / centre.weight) + ", or use --ddof 0"
            if 0 < centre.weight < 1 / LARGE
            else "use --ddof 0",
        )
    raise blurred_divisor(problem, centre.weight, divisor, blur)


def blurred_divisor(problem: Problem, weight: float, divisor: float, blur: float) -> RefusedError:
    """Of a sum of weights of which rounding leaves too little when ddof is taken off."""
    return RefusedError(
        f"the weights add up to {weight:.17g}: --ddof {problem.ddof} leaves a divisor of {divisor:.2g}, which "
        f"rounding makes known to {min(blur, 1.0):.0e} of itself only",
        _without_ddof(problem),
    )


def _without_ddof(problem: Problem) -> str:
    """How a divisor above 0 is had; weights that are shares of a whole count no rows."""
    shares = "weights that are no counts need --weights-kind reliability; or " if problem.weights == "frequency" else ""
    return f"{shares}use --ddof 0"


def _decade(number: float) -> str:
    return f"1e{math.floor(math.log10(number))}"


def _lighter(problem: Problem, centre: Centre | None) -> tuple[str, ...]:
    """What else could be done about squares that overflow: heavy weights make them so."""
    heavy = problem.weights is not None and centre is not None and centre.weight > LARGE
    return (f"divide all weights by {_decade(centre.weight)}",) if heavy and centre is not None else ()


def _squares_underflow(problem: Problem, name: str, centre: Centre | None) -> RefusedError:
    if problem.weights is None or centre is None:
        return RefusedError(
            f"squares of the values of column {show(name)} underflow a double",
            "rescale the column so that its values differ by more than 1e-140, or leave it out with -x",
        )
    light = centre.weight < 1 / LARGE
    return RefusedError(
        f"squares of the values of column {show(name)}, times the weights of their rows, underflow a double",
        (
            f"multiply all weights by {_decade(1 / centre.weight)}, "
            if light
            else "leave out rows of hardly any weight, "
        )
        + "rescale the column, or leave it out with -x",
    )


def squares_overflow(columns: Sequence[str], variances: Array, *others: str) -> RefusedError:
    """Of the columns whose variance is no number, or of the one that has most of a sum that is none.

    `others` are remedies beside rescaling.
    """
    lost = np.flatnonzero(~np.isfinite(variances)).tolist() or [int(variances.argmax())]
    noun = "column" if len(lost) == 1 else "columns"
    return RefusedError(
        f"squares of the values of {noun} {listed(columns[j] for j in lost)} overflow a double",
        "".join(f"{other}, " for other in others)
        + f"rescale the {noun} so that values stay below 1e150, or leave the {noun} out with -x",
    )


def assembled(
    problem: Problem,
    centre: Centre,
    variances: Array,
    sigma: Array,
    total: float,
    spectrum: Spectrum,
    apply: Callable[[Array], Array],
) -> Solution:
    """The solution from the centre of the rows and the spectrum of their scatter."""
    counted = problem.counted(centre.rows, centre.weight)
    m = min(counted, problem.d)  # whatever the solver: of a scatter all others are 0
    values = spectrum.eigenvalues[:m]
    return Solution(
        n=centre.rows,
        mean=centre.mean if problem.center else np.zeros(problem.d),
        std=sigma,
        eigenvalues=values,
        error=spectrum.error[:m] + problem.divided(centre) * values,
        leading=spectrum.leading,
        total_variance=total,
        rank=min(spectrum.rank, m),  # sums of few rows may have more by their rounding
        route=spectrum.route,
        constant=tuple(np.flatnonzero(~centre.varies).tolist()),
        variances=variances,
        apply=apply,
        counted=counted,
    )


class Decompose(Protocol):
    """Takes a factor apart, as `linalg.spectral.of_factor` does."""

    def __call__(self, F: Array, noise: Array, rows: int, wish: Wish, scales: Array | float = ...) -> Spectrum: ...


def decomposing_bytes(rows: int, d: int) -> int:
    """For a factor of no more rows than columns, beside it: it scaled, LAPACK's copies and work, singular vectors."""
    return 8 * (7 * rows * d // 2 + 6 * rows * rows)


def centred_matrix(rows: Rows) -> tuple[Centre, Array]:
    """All rows about their mean, times the root of their weights: Y (n, d) with Y^T Y the scatter."""
    X, w = rows.matrix()
    if not len(X):
        raise nothing_to_fit()
    centre, Y, rest = center_block(X, X[first_heavy(w)].copy(), w, out=X)
    with np.errstate(over="ignore", invalid="ignore"):
        if w is None:
            Y -= rest / centre.weight
        else:  # some rows at a time: the product is as large as the rows
            root, step = np.sqrt(w), max(AT_ONCE // (8 * Y.shape[1]), 1)
            for at in range(0, len(Y), step):
                Y[at : at + step] -= np.outer(root[at : at + step], rest / centre.weight)
    return centre, Y


def finish(
    centre: Centre,
    Y: Array,
    problem: Problem,
    decompose: Decompose,
    noise: Array | None = None,
    about_zero: Array | None = None,
) -> Solution:
    """The solution from a factor Y of the centred scatter, Y^T Y, which is used up; the rest as of `covariance`."""
    kept = Triangle(centre, triangle(Y)) if problem.keeps else None
    constant = ~centre.varies
    divisor = problem.divisor(centre)
    safe = divisor if divisor > 0 else 1.0
    with np.errstate(over="ignore", invalid="ignore", divide="ignore", under="ignore"):
        squares = np.einsum("ij,ij->j", Y, Y)
        variances = squares / safe
        sigma = scale_of(variances, constant, problem)
        if not problem.center:
            # One more row carries the mean: its square is what the scatter about zero has more.
            Y = np.vstack([Y, np.sqrt(centre.weight) * centre.mean])
        Y /= sigma * np.sqrt(safe)
        total = float(np.einsum("ij,ij->", Y, Y))
    check_solvable(problem, centre.rows, divisor, constant, variances, total, centre)
    counted = problem.counted(centre.rows, centre.weight)
    noise = problem.noise(centre, squares) if noise is None else noise
    entries = noise if problem.center or about_zero is None else about_zero
    spectrum = decompose(Y, entries, centre.rows, problem.wish, problem.scales(noise)).sized(min(counted, problem.d))
    solution = assembled(problem, centre, variances, sigma, total, spectrum, lambda V: Y.T @ (Y @ V))
    return solution._replace(statistic=Statistic.summed(kept, noise)) if kept else solution

"""Count, mean and scatter: published tests of accuracy, any blocks, any order of merging, any offset."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache
from itertools import pairwise

import mpmath
import numpy as np
import pytest

from pcatool.linalg.moments import FEW, Moments, _varying, two_sum
from pcatool.registry import SOLVERS
from solvers import tolerances as within
from solvers.cases import Array, fit
from solvers.oracle import relative_errors

every_solver = pytest.mark.parametrize("solver", list(SOLVERS))


def parts(X: Array, cuts: list[int], origin: Array | None = None) -> list[Moments]:
    """Moments of the rows between the cuts, about the first row of all."""
    origin = X[0].copy() if origin is None else origin
    return [Moments.of_block(np.asfortranarray(X[a:b]), origin) for a, b in pairwise([0, *cuts, len(X)])]


def in_order(found: list[Moments]) -> Moments:
    total = found[0]
    for part in found[1:]:
        total = total.merge(part)
    return total


def balanced(found: list[Moments]) -> Moments:
    while len(found) > 1:
        pairs = [found[i].merge(found[i + 1]) for i in range(0, len(found) - 1, 2)]
        found = pairs + found[len(found) - len(found) % 2 :]
    return found[0]


def from_the_end(found: list[Moments]) -> Moments:
    total = found[-1]
    for part in found[-2::-1]:
        total = part.merge(total)
    return total


def at_random(found: list[Moments]) -> Moments:
    rng = np.random.default_rng(len(found))
    while len(found) > 1:
        i = int(rng.integers(len(found) - 1))
        found[i : i + 2] = [found[i].merge(found[i + 1])]
    return found[0]


TREES: dict[str, Callable[[list[Moments]], Moments]] = {
    "in order": in_order,
    "balanced": balanced,
    "from the end": from_the_end,
    "at random": at_random,
}
every_tree = pytest.mark.parametrize("tree", TREES)


def exact(X: Array) -> tuple[list[Fraction], list[list[Fraction]]]:
    """Means and scatter as fractions."""
    columns = [[Fraction(x) for x in column] for column in X.T.tolist()]
    means = [sum(column, Fraction()) / len(column) for column in columns]
    Y = [[x - mu for x in column] for column, mu in zip(columns, means, strict=True)]
    return means, [[sum((x * y for x, y in zip(a, b, strict=True)), Fraction()) for b in Y] for a in Y]


def of_largest(found: Array, true: list[list[Fraction]]) -> float:
    """Largest error of a scatter, of its largest entry."""
    largest = max(abs(value) for row in true for value in row)
    pairs = zip(found.ravel().tolist(), [value for row in true for value in row], strict=True)
    return float(max(abs(Fraction(a) - b) for a, b in pairs) / largest)


# --- NIST Statistical Reference Datasets, univariate summary statistics ---


def alternating(middle: float, low: float, high: float) -> Array:
    return np.array([middle] + [low, high] * 500)


# Those that their definition gives. (PiDigits is not the digits of pi: their first 5,000 add up to 22,679, not 22,674.)
# Rows, certified mean, certified standard deviation (divisor n - 1), and how far decimals stored as doubles move it.
NIST: dict[str, tuple[Array, float, float, float]] = {
    "NumAcc1": (np.array([10000001.0, 10000003.0, 10000002.0]), 10000002, 1, 0),
    "NumAcc2": (alternating(1.2, 1.1, 1.3), 1.2, 0.1, 2e-15),
    "NumAcc3": (alternating(1000000.2, 1000000.1, 1000000.3), 1000000.2, 0.1, 1.2e-9),
    "NumAcc4": (alternating(10000000.2, 10000000.1, 10000000.3), 10000000.2, 0.1, 1.9e-8),
}


@every_solver
@pytest.mark.parametrize("name", NIST)
def test_nist(solver: str, name: str) -> None:
    rows, mean, std, stored = NIST[name]
    model = fit(rows[:, None], solver=solver, ddof=1, standardize=True)
    assert abs(model.mean[0] - mean) <= within.NIST * mean
    assert abs(model.std[0] - std) <= (within.NIST + stored) * std


@every_solver
@pytest.mark.parametrize("name", NIST)
def test_nist_rows_as_stored(solver: str, name: str) -> None:
    """Against the doubles themselves nothing is lost, whatever the offset."""
    rows = NIST[name][0]
    model = fit(rows[:, None], solver=solver, ddof=1, standardize=True)
    (_,), ((scatter,),) = exact(rows[:, None])
    with mpmath.workdps(50):
        variance = scatter / (len(rows) - 1)
        std = mpmath.sqrt(mpmath.mpf(variance.numerator) / variance.denominator)
    assert relative_errors(model.std, [std]).max() <= within.STD


# --- blocks and merging ---

N = 600


def rows_at(offset: float) -> Array:
    rng = np.random.default_rng(31)
    return rng.normal(size=(N, 4)) * np.array([1.0, 3.0, 0.1, 10.0]) + offset


@cache
def exact_at(offset: float) -> tuple[list[Fraction], list[list[Fraction]]]:
    return exact(rows_at(offset))


def cuts() -> Iterator[tuple[str, list[int]]]:
    yield "one block", []
    for size in (1, 2, 7, 64, 599):
        yield f"blocks of {size}", list(range(size, N, size))
    yield "uneven", sorted(np.random.default_rng(3).choice(np.arange(1, N), 40, replace=False).tolist())


CUTS = dict(cuts())


@every_tree
@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize("offset", [0.0, 1e6, 1e8])
def test_merged_in_any_tree(tree: str, cut: str, offset: float) -> None:
    X = rows_at(offset)
    means, scatter = exact_at(offset)
    merged = TREES[tree](parts(X, CUTS[cut]))
    assert merged.centre.rows == N
    assert of_largest(merged.scatter, scatter) <= within.MERGED
    error = [abs(Fraction(a) - b) for a, b in zip(merged.centre.mean.tolist(), means, strict=True)]
    assert float(max(error)) <= within.MEAN * np.abs(X).max() + within.MERGED_MEAN * np.ptp(X)


@every_tree
@pytest.mark.parametrize("origin", ["first row", "zero"])
def test_noise_on_a_large_offset_survives_thirty_merges(tree: str, origin: str) -> None:
    """1e8 + 1e-6: plain merging gets the standard deviation 40 % wrong. The origin may be far from the rows."""
    rng = np.random.default_rng(30)
    X = np.column_stack([1e8 + 1e-6 * rng.normal(size=31 * 20), rng.normal(size=31 * 20)])
    merged = TREES[tree](parts(X, list(range(20, len(X), 20)), None if origin == "first row" else np.zeros(2)))
    _, scatter = exact(X)
    with mpmath.workdps(50):
        true = [mpmath.sqrt(mpmath.mpf(row[j].numerator) / row[j].denominator) for j, row in enumerate(scatter)]
    assert relative_errors(np.sqrt(np.diagonal(merged.scatter)), true).max() <= within.NOISE_STD


@every_tree
def test_first_row_far_from_all_others(tree: str) -> None:
    """The origin is the first row, whatever it is."""
    X = rows_at(0.0)
    X[0] = 1e6
    means, scatter = exact(X)
    merged = TREES[tree](parts(X, CUTS["blocks of 64"]))
    assert of_largest(merged.scatter, scatter) <= within.MERGED
    assert np.abs(merged.centre.mean - np.array([float(mu) for mu in means])).max() <= within.MEAN * 1e6


@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_about_zero(offset: float) -> None:
    X = rows_at(offset)
    columns = [[Fraction(x) for x in column] for column in X.T.tolist()]
    true = [[sum((x * y for x, y in zip(a, b, strict=True)), Fraction()) for b in columns] for a in columns]
    assert of_largest(in_order(parts(X, CUTS["blocks of 64"])).scatter_about_zero(), true) <= within.MERGED


def test_block_is_left_alone() -> None:
    X = np.asfortranarray(rows_at(1e6))
    X.setflags(write=False)
    before = X.tobytes()
    Moments.of_block(X, X[0])
    assert X.tobytes() == before


def test_varies_is_exact() -> None:
    """One unit in the last place is a difference; the sign of zero is none."""
    X = np.full((10, 4), 0.1)
    X[7, 1] = np.nextafter(0.1, 1)
    X[:, 2] = 0.0
    X[3, 2] = -0.0
    X[9, 3] = 5e-324 + 0.1  # rounds to 0.1
    for cut in ([], [1], [7], [8], list(range(1, 10))):
        assert in_order(parts(X, cut)).centre.varies.tolist() == [False, True, False, False]


@pytest.mark.parametrize("rows", [1, 2, FEW - 1, FEW, FEW + 1, 200])
@pytest.mark.parametrize("d", [1, 6])
def test_columns_that_vary_are_those_with_something_but_zero(rows: int, d: int) -> None:
    """By the first rows, by all of them, or by the last alone."""
    rng = np.random.default_rng(rows * d)
    for turn in range(40):
        Y = np.asfortranarray(rng.normal(size=(rows, d)) * (rng.random((rows, d)) < rng.choice([0.0, 0.01, 0.2, 1.0])))
        if turn % 2:
            Y[:, rng.random(d) < 0.5] = rng.choice([0.0, -0.0])
            Y[-1, rng.random(d) < 0.3] = rng.choice([5e-324, -1.0, np.nan, np.inf])
        if turn % 3 == 0:
            Y = np.ascontiguousarray(Y)
        Y.setflags(write=False)
        found = _varying(Y)
        assert (found.shape, found.dtype) == ((d,), np.dtype(bool))
        assert found.tolist() == Y.any(axis=0).tolist()


def test_smallest_difference_counts() -> None:
    X = np.zeros((3, 1))
    X[2] = 5e-324
    assert in_order(parts(X, [1, 2])).centre.varies.tolist() == [True]


def test_scatter_is_symmetric_to_rounding_and_not_negative() -> None:
    merged = in_order(parts(rows_at(1e8), CUTS["blocks of 7"]))
    largest = np.abs(merged.scatter).max()
    assert np.abs(merged.scatter - merged.scatter.T).max() <= within.MERGED * largest
    assert np.linalg.eigvalsh(merged.scatter).min() >= -within.MERGED * largest
    assert np.all(np.diagonal(merged.scatter) >= 0)


def test_two_sum_loses_nothing() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 500)) * 10.0 ** rng.integers(-20, 20, (2, 500))
    s, t = two_sum(a, b)
    for values in zip(a.tolist(), b.tolist(), s.tolist(), t.tolist(), strict=True):
        x, y, high, low = map(Fraction, values)
        assert high + low == x + y
        assert float(x + y) == high

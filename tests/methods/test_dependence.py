"""Cross-moments to nearly the last digit, however the rows are cut, at any offset, of any number of classes."""

from __future__ import annotations

from fractions import Fraction
from functools import reduce
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from methods.supervision import classes_of
from pcatool.linalg.cross_moments import (
    FEW_CLASSES,
    CrossMoments,
    ProductMatrix,
    spectrum_of_cross,
    spectrum_of_quadratic,
)
from pcatool.linalg.spectrum import complete_basis

Array = NDArray[np.float64]

seeded = settings(max_examples=40, deadline=None, derandomize=True, database=None)

# Relative to |x| |y|: a few roundings of a cell and of each merge, as for the moments of PCA.
MERGED = 1e-14


def exact(X: Array, Y: Array) -> tuple[Array, Array]:
    """X^T H Y transposed, (t, d), and the sums of squares of X, in fractions."""
    columns = [[Fraction(v) for v in column] for column in X.T.tolist()]
    labels = [[Fraction(v) for v in column] for column in Y.T.tolist()]
    means = [sum(column) / len(column) for column in columns]
    cross = [
        [float(sum((x - m) * y for x, y in zip(c, label, strict=True))) for c, m in zip(columns, means, strict=True)]
        for label in labels
    ]
    squares = [float(sum((x - m) ** 2 for x in c)) for c, m in zip(columns, means, strict=True)]
    return np.array(cross), np.array(squares)


def cut(n: int, cuts: list[int]) -> list[slice]:
    ends = [0, *sorted({c % n for c in cuts} - {0}), n]
    return [slice(a, b) for a, b in pairwise(ends)]


def moments_of_classes(X: Array, y: NDArray[np.intp], parts: list[slice]) -> CrossMoments:
    return reduce(CrossMoments.merge, (CrossMoments.of_classes(X[p], y[p], X[0]) for p in parts))


def moments_of_numbers(X: Array, Y: Array, parts: list[slice]) -> CrossMoments:
    return reduce(CrossMoments.merge, (CrossMoments.of_numbers(X[p], Y[p], X[0], Y[0]) for p in parts))


def check(found: CrossMoments, X: Array, Y: Array, *, noise: float = MERGED) -> None:
    cross, squares = exact(X, Y)
    sizes = np.outer(np.linalg.norm(Y - Y.mean(axis=0), axis=0), np.sqrt(squares))
    assert np.all(np.abs(found.cross - cross) <= noise * sizes + 1e-300)
    np.testing.assert_allclose(found.squares, squares, rtol=10 * noise)
    np.testing.assert_allclose(found.label_squares, np.square(Y - Y.mean(axis=0)).sum(axis=0), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(found.label.mean, Y.mean(axis=0), rtol=1e-14)
    np.testing.assert_allclose(found.centre.mean, X.mean(axis=0), rtol=1e-14, atol=1e-14)


@seeded
@given(n=st.integers(2, 90), cuts=st.lists(st.integers(0, 200), max_size=5), seed=st.integers(0, 99))
def test_classes_however_the_rows_are_cut(n: int, cuts: list[int], seed: int) -> None:
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(n, 3)), classes_of(rng.integers(0, rng.integers(1, n + 1), n))
    check(moments_of_classes(X, y, cut(n, cuts)), X, np.eye(int(y.max()) + 1)[y])


@seeded
@given(n=st.integers(2, 90), cuts=st.lists(st.integers(0, 200), max_size=5), seed=st.integers(0, 99))
def test_numbers_however_the_rows_are_cut(n: int, cuts: list[int], seed: int) -> None:
    rng = np.random.default_rng(seed)
    X, Y = rng.normal(size=(n, 3)), rng.normal(size=(n, 2))
    check(moments_of_numbers(X, Y, cut(n, cuts)), X, Y)


@pytest.mark.parametrize("offset", [1e6, -1e8])
def test_an_offset_costs_no_digits(offset: float) -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(300, 3)) + offset
    Y = X[:, :2] - offset + rng.normal(size=(300, 2)) + offset
    y = classes_of(rng.integers(0, 4, 300))
    parts = cut(300, [3, 50, 60, 190])
    check(moments_of_numbers(X, Y - offset, parts), X, Y - offset)
    check(moments_of_classes(X, y, parts), X, np.eye(4)[y])
    found, (cross, squares) = moments_of_numbers(X, Y, parts), exact(X, Y)
    assert np.all(np.abs(found.cross - cross) <= MERGED * np.outer(np.sqrt(found.label_squares), np.sqrt(squares)))


def test_many_classes_are_summed_as_few_are() -> None:
    rng = np.random.default_rng(2)
    y = classes_of(rng.integers(0, 3 * FEW_CLASSES, 500))
    assert y.max() > FEW_CLASSES
    X = rng.normal(size=(500, 2))
    check(moments_of_classes(X, y, cut(500, [100, 333])), X, np.eye(int(y.max()) + 1)[y])


def test_a_block_knows_only_the_classes_it_has_met() -> None:
    X = np.arange(600.0).reshape(300, 2)
    late = CrossMoments.of_classes(X, np.full(300, 200_000), X[0])
    assert late.cross.shape == (1, 2)
    assert late.t == 200_001


# --- the spectrum of M M^T ---


def uncertain(M: Array, *, most: int | None = None) -> ProductMatrix:
    d, t = M.shape
    return ProductMatrix(M, np.ones(d), np.ones(t), np.full(d, 1e-15), 100, min(d, t) if most is None else most)


@pytest.mark.parametrize(("d", "t"), [(6, 2), (2, 6), (4, 4), (1, 3), (3, 1), (200, 5), (5, 200)])
def test_spectrum_of_a_product(d: int, t: int) -> None:
    M = np.random.default_rng(0).normal(size=(d, t))
    found = spectrum_of_cross(uncertain(M), "all")
    values = np.linalg.svd(M, compute_uv=False) ** 2
    assert found.rank == min(d, t)
    np.testing.assert_allclose(found.eigenvalues, values, rtol=1e-12)
    B = found.leading(found.rank)
    np.testing.assert_allclose(M @ (M.T @ B), B * values, atol=1e-12 * values[0])


def test_rank_has_a_bound_on_paper() -> None:
    M = np.random.default_rng(0).normal(size=(5, 3))
    found = spectrum_of_cross(uncertain(M, most=2), "all")
    assert (found.rank, found.eigenvalues[2]) == (2, 0.0)


def test_spectrum_of_a_square() -> None:
    A = np.random.default_rng(0).normal(size=(5, 5))
    Q = A @ A.T
    found = spectrum_of_quadratic(ProductMatrix(Q, np.ones(5), 4.0, np.full(5, 1e-15), 100, 5))
    np.testing.assert_allclose(found.eigenvalues, np.linalg.eigvalsh(Q)[::-1], rtol=1e-12)
    B = found.leading(5)
    np.testing.assert_allclose(Q @ B, B * found.eigenvalues, atol=1e-12)


def test_a_basis_is_completed() -> None:
    V = np.linalg.qr(np.random.default_rng(0).normal(size=(7, 3)))[0]
    W = complete_basis(V, 7)
    np.testing.assert_array_equal(W[:, :3], V)
    np.testing.assert_allclose(W.T @ W, np.eye(7), atol=1e-14)

"""The sign rule: the entry of largest absolute value is positive, and rounding does not choose between equals."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pcatool.linalg.eigen import NEARLY_LARGEST, fix_signs
from pcatool.registry import SOLVERS
from solvers.cases import fit


@pytest.mark.parametrize(
    ("column", "turned"),
    [
        ([1.0, -2.0, 1.5], True),
        ([1.0, 2.0, -1.5], False),
        ([-1.0], True),
        ([1.0], False),
        ([-1.0, 1.0], True),  # equal: the first decides
        ([1.0, -1.0], False),
        ([0.0, -1.0, 1.0], True),
        ([-1.0, 1.0 + 5e-9], True),  # equal to within 1e-8
        ([-1.0 - 5e-9, 1.0], True),
        ([1.0, -1.0 - 5e-9], False),
        ([-1.0, 1.0 + 5e-8], False),  # not equal any more
        ([1.0, -1.0 - 5e-8], True),
        ([0.5, -1.0, 1.0 + 9e-9, 1.0], True),
    ],
)
def test_table(column: list[float], turned: bool) -> None:
    B = np.array(column)[:, None]
    np.testing.assert_array_equal(fix_signs(B), -B if turned else B)


def test_equal_means_one_in_a_hundred_million() -> None:
    assert NEARLY_LARGEST == 1e-8


columns = st.lists(st.floats(-1, 1), min_size=1, max_size=6).filter(lambda v: max(map(abs, v)) > 1e-3)


@given(columns)
@settings(max_examples=200, deadline=None, derandomize=True, database=None)
def test_sign_of_what_comes_in_does_not_matter(values: list[float]) -> None:
    B = np.array(values)[:, None]
    once = fix_signs(B)
    np.testing.assert_array_equal(fix_signs(-B), once)
    np.testing.assert_array_equal(fix_signs(once), once)
    np.testing.assert_array_equal(np.abs(once), np.abs(B))


@given(columns, st.lists(st.floats(-1e-10, 1e-10), min_size=6, max_size=6))
@settings(max_examples=200, deadline=None, derandomize=True, database=None)
def test_rounding_does_not_decide(values: list[float], noise: list[float]) -> None:
    """Unless an entry stands just at the border of what counts as equal."""
    B = np.array(values)[:, None]
    size = np.abs(B) / np.abs(B).max()
    if np.any(
        np.abs(size - (1 - NEARLY_LARGEST))
        < 1e-6 * NEARLY_LARGEST + 4e-7 * (size < 1 - NEARLY_LARGEST / 2) * (size > 1 - 3 * NEARLY_LARGEST)
    ):
        return
    moved = fix_signs(B + np.array(noise[: len(values)])[:, None] * 1e-3 * np.abs(B).max())
    assert np.abs(moved - fix_signs(B)).max() <= 1e-12


@pytest.mark.parametrize("solver", list(SOLVERS))
@pytest.mark.parametrize("seed", range(10))
def test_exchangeable_columns(solver: str, seed: int) -> None:
    """Every row also with its columns swapped: the directions are (1, 1) and (1, -1), their entries equal on paper."""
    half = np.random.default_rng(seed).normal(size=(50, 2)) * [1, 3]
    X = np.concatenate([half, half[:, ::-1]])
    for rows in (X, X[::-1], np.random.default_rng(seed).permutation(X), X * 1e6, X + 1e6):
        B = fit(rows, solver=solver, components=2).basis * np.sqrt(2)
        assert np.all(B[0] > 0)
        assert np.abs(np.sort(B[1]) - [-1, 1]).max() < 1e-9


@pytest.mark.parametrize("solver", list(SOLVERS))
def test_directions_do_not_depend_on_the_sign_of_the_data(solver: str) -> None:
    X = np.random.default_rng(4).normal(size=(40, 5))
    one, other = fit(X, solver=solver, components=5), fit(-X, solver=solver, components=5)
    assert np.abs(one.basis - other.basis).max() < 1e-9

"""Which solver finds the eigenvalues of a kernel matrix."""

from __future__ import annotations

import pytest

from pcatool.kernels.eigen import LANCZOS, choose_solver, expected_space


@pytest.mark.parametrize(
    ("n", "wish", "definite", "flat", "name", "why"),
    [
        (1024, 3, True, False, "lapack", "computing all 1,024 eigenvalues is fast"),
        (5000, 10, True, False, "lanczos", "few components"),
        (5000, 0.9, True, False, "lanczos", "few components"),
        (5000, 313, True, False, "lapack", "would be slow for 313 components of 5,000 rows"),
        (5000, 10, False, False, "lapack", "may have negative eigenvalues"),
        (5000, "all", True, False, "lapack", "every eigenvalue"),
        (5000, 2, True, True, "lapack", "nearly equal"),
    ],
)
def test_the_choice(n: int, wish: int | float | str, definite: bool, flat: bool, name: str, why: str) -> None:
    solver, reason = choose_solver(n, wish, definite=definite, flat_spectrum=flat)
    assert solver == name
    assert why in reason


@pytest.mark.parametrize(
    ("wish", "rank", "known"), [(3, None, True), (0.9, 20, True), (0.9, None, False), (0.9, 300, False)]
)
def test_a_space_is_expected_where_lanczos_ends_for_certain(wish: float, rank: int | None, known: bool) -> None:
    """A share of the variance may take every component, but no more than the rank."""
    assert choose_solver(2000, wish, definite=True, flat_spectrum=False)[0] == LANCZOS
    space = expected_space(2000, wish, rank)
    assert (space is not None) == known
    assert space is None or 3 <= space <= 1000

"""Shares, sums and losses: identities for any eigenvalues, and the smallest k for a share."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from pcatool.model.model import VarianceTable
from pcatool.options import FitOptions, parse_components
from pcatool.rules.base import Evidence, decide
from solvers import tolerances as within
from solvers.cases import Array, Run, every_fit, fit, fitted


def spectra() -> Iterator[tuple[str, Array, float]]:
    """Name, known eigenvalues, trace."""
    rng = np.random.default_rng(12)
    yield "one", np.array([3.7]), 3.7
    yield "equal", np.full(7, 0.1), 0.7
    yield "with zeros", np.array([5.0, 1.0, 0.0, 0.0]), 6.0
    yield "steep", 10.0 ** -np.arange(0.0, 40.0, 2.0), float(np.sum(10.0 ** -np.arange(0.0, 40.0, 2.0)))
    yield "tiny", np.array([3e-300, 1e-300]), 4e-300
    yield "huge", np.array([3e300, 1e300]), 4e300
    yield "some unknown", np.array([5.0, 3.0, 1.0]), 12.0
    yield "some unknown after zeros", np.array([5.0, 0.0]), 5.5
    for m in (2, 10, 100, 1000):
        values = np.sort(rng.exponential(size=m) ** 3)[::-1]
        yield f"{m} random", values, float(values.sum())
        yield f"{m} random, rounded above", values, float(values.sum()) * (1 + 1e-15)
        yield f"{m} random, rounded below", values, float(values.sum()) * (1 - 1e-15)


SPECTRA = {name: (values, total) for name, values, total in spectra()}
every_spectrum = pytest.mark.parametrize("name", SPECTRA)


def table_of(name: str) -> VarianceTable:
    values, total = SPECTRA[name]
    return VarianceTable.of(values, total)


@every_spectrum
def test_identities(name: str) -> None:
    values, total = SPECTRA[name]
    table = table_of(name)
    m = len(values)
    np.testing.assert_array_equal(table.component, np.arange(1, m + 1))
    np.testing.assert_array_equal(table.eigenvalue, values)
    slack = within.SHARE * max(m, 10)
    assert np.abs(table.share - values / total).max() <= slack
    assert np.abs(table.captured / total - table.cumulative).max() <= slack
    assert np.abs(table.lost / total - table.lost_share).max() <= slack
    assert np.abs(table.cumulative + table.lost_share - 1).max() <= slack
    assert np.abs((table.captured + table.lost) / total - 1).max() <= slack
    assert np.abs(np.cumsum(table.share) - table.cumulative).max() <= slack


@every_spectrum
def test_columns_go_one_way_and_stay_in_bounds(name: str) -> None:
    table = table_of(name)
    assert np.all(np.diff(table.captured) >= 0)
    assert np.all(np.diff(table.cumulative) >= 0)
    assert np.all(np.diff(table.lost) <= 0)
    assert np.all(np.diff(table.share) <= 0)
    for column in (table.cumulative, table.lost_share):
        assert np.all((column >= 0) & (column <= 1))
    assert np.all(table.lost >= 0)


@every_spectrum
def test_lost_keeps_the_digits_of_small_eigenvalues(name: str) -> None:
    values, total = SPECTRA[name]
    unknown = total - values.sum()
    if unknown > within.SHARE * len(values) * 10 * total:
        return  # then the unknown part is what is lost, and it is known only as a difference
    for M, lost in enumerate(table_of(name).lost, 1):
        assert abs(lost - values[M:][::-1].sum()) <= within.SHARE * lost


def test_nothing_is_lost_when_all_is_kept() -> None:
    """Not 1e-17, though the trace is summed in another order than the eigenvalues."""
    for name in ("one", "equal", "2 random, rounded above", "10 random, rounded above", "1000 random, rounded below"):
        table = table_of(name)
        assert table.lost[-1] == 0
        assert table.cumulative[-1] == 1


@every_spectrum
def test_no_share_is_more_than_the_whole(name: str) -> None:
    assert np.all(table_of(name).share <= 1)


@every_fit
def test_table_of_a_fit(run: Run) -> None:
    table = fitted(run).variance
    assert np.all(table.share <= 1)
    assert np.all(np.diff(table.lost) <= 0)
    assert abs(table.cumulative[-1] - 1) <= within.SHARE * 10


# --- the smallest k ---

# Eigenvalues and the k that keep each share, on paper.
PAPER = [
    ([0.95, 0.05], 0.95, 1),
    ([0.5, 0.45, 0.05], 0.95, 2),
    ([0.19] * 5 + [0.05], 0.95, 5),
    ([0.1] * 10, 0.3, 3),
    ([0.1] * 10, 0.7, 7),
    ([0.1] * 10, 0.9, 9),
    ([0.1] * 10, 0.95, 10),
    ([1 / 3] * 3, 2 / 3, 2),
    ([0.01] * 100, 0.99, 99),
    ([0.01] * 100, 0.29, 29),
    ([0.01] * 100, 0.57, 57),
    ([9.9e20, 1e19], 0.99, 1),
    ([99.0, 1.0], 0.99, 1),
    ([99.0, 1.0 + 1e-9], 0.99, 2),
    ([99.0, 1.0 - 1e-9], 0.99, 1),
    ([5.0, 5.0], 0.5, 1),
    ([5.0, 5.0], 0.5 + 1e-12, 2),
    ([1.0, 0.0, 0.0], 0.999999999, 1),
    ([1.0, 1e-3], 0.99, 1),
    ([1.0, 1e-9, 1e-10], 0.9999999999, 2),
    ([1e-310, 1e-312], 0.99, 1),
]


@pytest.mark.parametrize(("values", "share", "k"), PAPER)
def test_smallest_k_as_on_paper(values: list[float], share: float, k: int) -> None:
    eigenvalues = np.array(values)
    assert VarianceTable.of(eigenvalues, float(eigenvalues.sum())).smallest_k(share) == k
    evidence = Evidence(eigenvalues, float(eigenvalues.sum()), 100, len(values), int(np.count_nonzero(values)))
    assert decide(share, evidence).k == k


@every_spectrum
@pytest.mark.parametrize("share", [0.01, 0.5, 0.9, 0.95, 0.99, 0.999999])
def test_smallest_k_keeps_the_share_and_one_less_does_not(name: str, share: float) -> None:
    table = table_of(name)
    k = table.smallest_k(share)
    slack = within.SHARE * max(len(table.share), 10)
    if k is None:
        assert table.cumulative[-1] < share
    else:
        assert table.cumulative[k - 1] >= share - slack
        assert k == 1 or table.cumulative[k - 2] < share


def test_share_past_the_known_eigenvalues_has_no_k() -> None:
    table = table_of("some unknown")
    assert table.smallest_k(0.75) == 3
    assert table.smallest_k(0.76) is None


def test_default_keeps_99_percent() -> None:
    assert parse_components(FitOptions().components) == 0.99
    eigenvalues = np.array([60.0, 39.0, 1.0])
    X = np.concatenate([np.diag(np.sqrt(eigenvalues)), -np.diag(np.sqrt(eigenvalues))])
    assert fit(X).k == 2
    assert fit(X, components="0.990001").k == 3


@pytest.mark.parametrize("share", [0.5, 0.99, 0.9999999999999999])
def test_share_never_keeps_more_than_the_rank(share: float) -> None:
    rng = np.random.default_rng(2)
    X = rng.normal(size=(50, 2)) @ rng.normal(size=(2, 6))
    assert fit(X, components=share).k <= 2

"""Parallel analysis: the simulated noise has the law of noise that was drawn in full, and costs next to nothing."""

import time

import numpy as np
import pytest

from pcatool.rules.base import Evidence, decide
from pcatool.rules.parallel import correlation_eigenvalues, covariance_eigenvalues, noise_shares
from rules.planted import evidence_of, planted, spectrum

pytestmark = pytest.mark.long


def drawn_in_full(n, d, *, standardize, center, samples, seed):
    """Shares of noise, (samples, p), by drawing all the rows."""
    rng = np.random.default_rng(seed)
    p = min(n - center, d)
    shares = np.empty((samples, p))
    for i in range(samples):
        Y = rng.standard_normal((n, d))
        if center:
            Y = Y - Y.mean(axis=0)
        if standardize:
            Y = Y / np.sqrt((Y * Y).mean(axis=0))
        values = np.linalg.svd(Y, compute_uv=False)[:p] ** 2
        shares[i] = values / values.sum()
    return shares


def size(n, d, **more):
    """Evidence of a size only."""
    return Evidence(np.ones(d), float(d), n, d, min(n - 1, d), **more)


@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize(("n", "d"), [(30, 6), (12, 11), (11, 11), (9, 20), (4, 3), (200, 2)])
def test_the_noise_is_that_of_rows_drawn_in_full(n, d, standardize):
    samples = 3000
    full = drawn_in_full(n, d, standardize=standardize, center=True, samples=samples, seed=1)
    draw = correlation_eigenvalues if standardize else covariance_eigenvalues
    rng = np.random.default_rng(2)
    quick = np.array([draw(rng, n - 1, d) for _ in range(samples)])
    quick /= quick.sum(axis=1, keepdims=True)
    error = np.sqrt((full.var(axis=0) + quick.var(axis=0)) / samples)
    assert np.all(np.abs(full.mean(axis=0) - quick.mean(axis=0)) < 4.5 * error + 1e-12)
    assert quick.std(axis=0) == pytest.approx(full.std(axis=0), rel=0.12, abs=1e-12)
    spread = np.quantile(full[:, 0], 0.95) - np.quantile(full[:, 0], 0.05)
    assert abs(np.quantile(full[:, 0], 0.95) - np.quantile(quick[:, 0], 0.95)) < 0.06 * spread


@pytest.mark.parametrize("standardize", [False, True])
def test_each_fit_is_held_against_its_own_noise(standardize):
    """The leading share of 5 rows and 3 columns: 0.70 of a covariance matrix, 0.62 of a correlation matrix."""
    found = noise_shares(size(5, 3, standardized=standardize)).mean(axis=0)[0]
    own, other = (
        drawn_in_full(5, 3, standardize=s, center=True, samples=3000, seed=1).mean(axis=0)[0]
        for s in (standardize, not standardize)
    )
    assert abs(found - own) < 0.25 * abs(other - own)


@pytest.mark.parametrize("n, d", [(50, 8), (7, 30), (1, 1), (5, 1), (1, 4)])
def test_what_does_not_depend_on_the_sample(n, d):
    rng = np.random.default_rng(0)
    values = covariance_eigenvalues(rng, n, d)
    correlations = correlation_eigenvalues(rng, n, d)
    assert values.shape == correlations.shape == (min(n, d),)
    assert np.all(np.diff(values) <= 0)
    assert np.all(np.diff(correlations) <= 0)
    assert np.all(values >= 0)
    assert correlations.sum() == pytest.approx(d)  # the trace of a correlation matrix


def test_the_trace_of_a_scatter_is_chi_square():
    rng = np.random.default_rng(3)
    traces = [covariance_eigenvalues(rng, 40, 7).sum() for _ in range(4000)]
    assert np.mean(traces) == pytest.approx(280, rel=0.01)
    assert np.var(traces) == pytest.approx(560, rel=0.1)


def test_large_correlations_are_simulated_as_covariances():
    """The stand-in past the limit differs by less than the samples do."""
    n, d = 200, 150
    rng = np.random.default_rng(4)
    exact = np.array([correlation_eigenvalues(rng, n, d) for _ in range(12)])
    stand_in = np.array([covariance_eigenvalues(rng, n, d) for _ in range(12)])
    exact, stand_in = (v / v.sum(axis=1, keepdims=True) for v in (exact, stand_in))
    assert stand_in.mean(axis=0)[:30] == pytest.approx(exact.mean(axis=0)[:30], rel=0.02)


@pytest.mark.parametrize("standardize", [False, True])
def test_a_million_rows_cost_no_more_than_a_hundred(standardize):
    noise_shares(size(100, 50, standardized=standardize))  # imports
    start = time.perf_counter()
    shares = noise_shares(size(1_000_000, 50, standardized=standardize))
    assert time.perf_counter() - start < 2  # drawing the rows of the 200 samples takes minutes
    assert shares == pytest.approx(np.full((200, 50), 1 / 50), rel=0.03)


@pytest.mark.parametrize("rule", ["parallel", "parallel-95"])
@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize(("n", "d"), [(500, 20), (50, 200), (100, 100)])
def test_a_planted_rank_is_found(rule, standardize, n, d):
    strong = 10 * max(1, d / n) ** 0.5 * np.array([4, 3, 2])
    assert decide(rule, evidence_of(planted(n, d, strong, n), standardize=standardize)).k == 3


@pytest.mark.parametrize("standardize", [False, True])
def test_noise_passes_the_95th_percentile_one_time_in_twenty(standardize):
    reasons = [
        decide("parallel-95", evidence_of(planted(80, 10, [], seed), standardize=standardize)).reason
        for seed in range(150)
    ]
    passed = sum("none" not in reason for reason in reasons)
    assert 1 <= passed <= 18  # of 150 at 5 %: outside one time in a thousand


def test_the_95th_percentile_never_keeps_more_than_the_mean():
    for seed in range(20):
        evidence = evidence_of(planted(60, 10, [2, 1], seed))
        assert decide("parallel-95", evidence).k <= decide("parallel", evidence).k


def test_the_count_ends_at_the_first_that_fails():
    noise = noise_shares(spectrum(np.ones(5), 20)).mean(axis=0)
    shares = noise * [1.2, 0.8, 1.1, 1.1, 1.0]
    assert decide("parallel", spectrum(shares / shares.sum(), 20)).k == 1


def test_the_seed_decides():
    evidence = [size(40, 6, seed=seed) for seed in (7, 7, 8)]
    one, same, other = map(noise_shares, evidence)
    assert np.array_equal(one, same)
    assert not np.array_equal(one, other)


def test_the_scale_plays_no_part():
    eigenvalues = np.array([5, 2, 1.1, 0.9, 0.5])
    for rule in ("parallel", "parallel-95"):
        assert len({decide(rule, spectrum(eigenvalues * scale, 30)) for scale in (1.0, 1e-300, 1e300)}) == 1


def test_constant_columns_change_nothing():
    X = planted(300, 20, [3, 2, 1], 5)
    padded = evidence_of(np.column_stack([X, np.ones((300, 60))]))
    assert decide("parallel", padded) == decide("parallel", evidence_of(X))

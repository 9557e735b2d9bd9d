"""Marchenko-Pastur and Gavish-Donoho: the law, the published thresholds, and what they find."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import brentq

from pcatool.rules.base import decide
from pcatool.rules.gavish_donoho import omega
from pcatool.rules.marchenko_pastur import aspect, median
from rules.planted import evidence_of, low_rank, planted, spectrum


def median_by_quadrature(beta):
    low, high = (1 - np.sqrt(beta)) ** 2, (1 + np.sqrt(beta)) ** 2  # edges of the law

    def density(x):
        return np.sqrt((high - x) * (x - low)) / (2 * np.pi * beta * x)

    def excess(middle):
        return quad(density, middle, high, epsabs=1e-13, epsrel=1e-13)[0] - 0.5

    return brentq(excess, max(low, 0.6), 1.0, xtol=1e-14)


@pytest.mark.parametrize("beta", [0.001, 0.05, 0.3, 0.5, 0.75, 0.9, 0.99, 0.999999, 1.0])
def test_the_median_solves_the_law(beta):
    assert median(beta) == pytest.approx(median_by_quadrature(beta), rel=1e-9)


def test_the_median_tends_to_one_for_many_rows():
    assert median(1e-14) == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize(("n", "d"), [(1200, 300), (300, 1200), (500, 500)])
def test_noise_has_this_median_and_edge(n, d):
    evidence = evidence_of(np.random.default_rng(2).standard_normal((n, d)), center=False)
    beta = aspect(evidence)
    assert beta == min(n, d) / max(n, d)
    unit = evidence.spectrum * n / max(n, d)
    assert np.median(unit) == pytest.approx(median(beta), rel=0.02)
    assert unit[0] == pytest.approx((1 + np.sqrt(beta)) ** 2, rel=0.03)


def test_the_mean_takes_a_row_and_a_constant_column_is_none():
    assert aspect(spectrum([1.0] * 10 + [0.0] * 10, n=11)) == 10 / 20
    assert aspect(spectrum([1.0] * 10 + [0.0] * 10, n=11, centered=False)) == 11 / 20
    assert aspect(spectrum([1.0] * 10 + [0.0] * 10, n=41, constant=10)) == 10 / 40


@pytest.mark.parametrize(
    ("beta", "published"),
    [(0.05, 1.5194), (0.1, 1.6089), (0.5, 2.1711), (1.0, 2.8582)],  # Gavish and Donoho 2014, table of omega
)
def test_the_published_omega(beta, published):
    assert omega(beta) == pytest.approx(published, abs=2e-4)  # theirs came from a coarser quadrature


def test_the_cubic_fit_is_near():
    beta = np.linspace(0.01, 1, 50)
    cubic = 0.56 * beta**3 - 0.95 * beta**2 + 1.82 * beta + 1.43
    assert np.max(np.abs([omega(b) for b in beta] - cubic)) < 0.02


@pytest.mark.parametrize("rule", ["gavish-donoho", "marchenko-pastur"])
@pytest.mark.parametrize(("n", "d"), [(500, 20), (60, 300), (200, 200), (201, 200)])
@pytest.mark.parametrize("scale", [1.0, 1e-150, 1e150])
def test_a_planted_rank_is_found_at_any_scale(rule, n, d, scale):
    strong = 12 * max(1, d / n) ** 0.5 * np.array([4, 3, 2])
    assert decide(rule, evidence_of(scale * planted(n, d, strong, n + d))).k == 3


def test_reconstruction_is_best_at_the_chosen_rank():
    """Gavish and Donoho's point: a component that is there but drowned makes the reconstruction worse."""
    variances = [30, 20, 10, 0.55]
    X, signal = planted(400, 100, variances, 11), low_rank(400, 100, variances, 11)
    U, s, Vt = np.linalg.svd(X, full_matrices=False)
    errors = [np.sum(((U[:, :k] * s[:k]) @ Vt[:k] - signal) ** 2) for k in range(8)]
    assert decide("gavish-donoho", evidence_of(X, center=False)).k == np.argmin(errors) == 3


def test_a_weak_component_shows_past_the_edge_but_not_over_the_threshold():
    evidence = evidence_of(planted(2000, 100, [30, 20, 10, 0.4], 3))
    assert decide("marchenko-pastur", evidence).k == 4
    assert decide("gavish-donoho", evidence).k == 3


@pytest.mark.parametrize("rule", ["gavish-donoho", "marchenko-pastur"])
def test_without_noise_it_is_the_rank(rule):
    assert decide(rule, spectrum([3, 2, 1] + [0] * 17)).k == 3
    assert "no noise" in decide(rule, spectrum([3, 2, 1] + [0] * 17)).reason


@pytest.mark.parametrize("rule", ["gavish-donoho", "marchenko-pastur"])
def test_constant_columns_change_nothing(rule):
    X = planted(300, 20, [30, 20, 10], 5)
    padded = evidence_of(np.column_stack([X, np.ones((300, 60))]))
    assert decide(rule, padded) == decide(rule, evidence_of(X))


def test_the_mean_is_a_component_when_it_stays_in():
    X = planted(300, 20, [30, 20, 10], 5) + 50
    assert [decide("marchenko-pastur", evidence_of(X, center=c)).k for c in (True, False)] == [3, 4]
    assert [decide("gavish-donoho", evidence_of(X, center=c)).k for c in (True, False)] == [3, 4]

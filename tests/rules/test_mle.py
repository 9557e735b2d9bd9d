"""Minka's evidence: against the formula to fifty digits, against scikit-learn, and where that one stumbled."""

import mpmath
import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.decomposition import PCA
from sklearn.decomposition._pca import _assess_dimension

from often import often
from pcatool.rules.base import decide
from pcatool.rules.mle import EQUAL_EIGENVALUES, log_evidence
from rules.planted import evidence_of, planted, spectrum


def formula(eigenvalues, n, d, k):
    """log p(D | k) as printed in the paper, eigenvalues past those given being 0, direction by direction.

    Of equal eigenvalues an angle ranges over pi, and all angles of one direction over half of its sphere at most.
    """
    with mpmath.workdps(50):
        values = [mpmath.mpf(float(v)) for v in eigenvalues] + [mpmath.mpf(0)] * (d - len(eigenvalues))
        noise = mpmath.fsum(values[k:]) / (d - k)
        hat = values[:k] + [noise] * (d - k)
        directions = mpmath.mpf(1)
        for i in range(k):
            sphere = 2 * mpmath.pi ** (mpmath.mpf(d - i) / 2) / mpmath.gamma(mpmath.mpf(d - i) / 2)
            width, equal = mpmath.mpf(1), False
            for j in range(i + 1, d):
                if values[i] - values[j] <= EQUAL_EIGENVALUES * values[i]:
                    width, equal = width * mpmath.pi, True
                    continue
                a = (1 / hat[j] - 1 / hat[i]) * (values[i] - values[j]) * n
                width *= mpmath.sqrt(2 * mpmath.pi / a)
            directions *= (min(width, sphere / 2) if equal else width) / sphere
        likelihood = mpmath.fprod(values[:k]) ** (-mpmath.mpf(n) / 2) * noise ** (-mpmath.mpf(n) * (d - k) / 2)
        return mpmath.log(likelihood * directions * (2 * mpmath.pi / n) ** (mpmath.mpf(k) / 2))


def check_against_formula(eigenvalues, n, d):
    found = log_evidence(np.array(eigenvalues, dtype=float), n, d)
    exact = [formula(eigenvalues, n, d, k) for k in range(1, len(eigenvalues))]
    assert found.shape == (len(eigenvalues) - 1,)
    assert np.all(np.isfinite(found))
    differences = np.array([float(exact[i] - exact[0]) for i in range(len(exact))])
    assert found - found[0] == pytest.approx(differences, rel=1e-10, abs=1e-8)


# eigenvalues, rows, columns
SPECTRA = {
    "clear": ([9, 4, 1.1, 1, 0.9], 200, 5),
    "geometric": ([2.0**-i for i in range(12)], 1000, 12),
    "crowded": ([1 + 0.001 * i for i in range(10, 0, -1)], 50, 10),
    "nearly equal": ([5.0, 5 - 1e-7, 1.0, 1 - 1e-7, 0.5], 50, 5),
    "equal": ([1.0] * 6, 30, 6),
    "equal in front": ([5.0, 5, 5, 1, 0.9], 100, 5),
    "equal behind": ([5.0, 3, 1, 1, 1], 100, 5),
    "two pairs": ([5.0, 5, 2, 2, 1], 100, 5),
    "one step of rounding": ([5.0, 5 - 2**-50, 1, 1 - 2**-53], 100, 4),
    "graded": ([1e16, 1e8, 1, 1e-8, 1e-16], 60, 5),
    "from end to end": ([1e300, 1.0, 1e-300], 40, 3),
    "huge": ([9e299, 4e299, 1e299, 0.9e299], 100, 4),
    "tiny": ([9e-300, 4e-300, 1e-300, 0.9e-300], 100, 4),
    "subnormal": ([5e-321, 2e-321, 1e-321], 100, 3),
    "few rows": ([9, 4, 1.1, 1, 0.9], 6, 40),
    "few rows, equal": ([9, 4, 1.0, 1, 1], 6, 12),
    "two": ([2, 1], 10, 2),
    "many rows": ([3, 2, 1.001, 1, 0.999], 10**9, 5),
}


@pytest.mark.parametrize("name", SPECTRA)
def test_the_formula_to_rounding(name):
    check_against_formula(*SPECTRA[name])


@pytest.mark.parametrize("seed", range(5))
def test_the_formula_on_real_spectra(seed):
    n, d = [(60, 9), (20, 19), (15, 15), (14, 30), (400, 12)][seed]
    evidence = evidence_of(planted(n, d, [6, 3], seed))
    check_against_formula(evidence.spectrum, n, d)


@pytest.mark.parametrize(("n", "d"), [(200, 6), (1000, 20), (60, 10)])
def test_scikit_learn_has_the_same_evidence(n, d):
    values = np.geomspace(20, 0.1, d)  # far enough apart for Laplace's method throughout
    theirs = np.array([_assess_dimension(values, k, n) for k in range(1, d)])
    ours = log_evidence(values, n, d)
    assert ours - ours[0] == pytest.approx(theirs - theirs[0], rel=1e-10)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(("n", "d", "signal"), [(500, 20, [9, 6, 4]), (200, 10, [5]), (100, 30, [20, 15, 12, 9])])
def test_scikit_learn_chooses_the_same(n, d, signal, seed):
    X = planted(n, d, signal, seed)
    theirs = PCA(n_components="mle", svd_solver="full").fit(X).n_components_
    assert decide("mle", evidence_of(X)).k == theirs == len(signal)


@pytest.mark.parametrize("start", range(0, 400, 100))
def test_scikit_learn_chooses_the_same_of_random_tables(start):
    """Among them spectra so flat that angles are hardly told: the paper's formula holds there, too."""
    for seed in range(start, start + often(100)):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(5, 80))
        d = int(rng.integers(2, min(n, 15)))
        mix = [np.eye(d), np.diag(rng.uniform(0.1, 3, d)), rng.standard_normal((d, d))][seed % 3]
        X = rng.standard_normal((n, d)) @ mix
        theirs = PCA(n_components="mle", svd_solver="full").fit(X).n_components_
        assert decide("mle", evidence_of(X)).k == theirs, seed


@pytest.mark.parametrize("ddof", [0, 1])
@pytest.mark.parametrize("scale", [1.0, 1e-140, 1e140])
def test_neither_scale_nor_divisor_matter(scale, ddof):
    assert decide("mle", evidence_of(scale * planted(60, 8, [9, 5], 1), ddof=ddof)).k == 2


@pytest.mark.parametrize(("n", "d"), [(20, 21), (20, 20), (21, 20), (50, 200), (30, 1000)])
def test_fewer_rows_than_columns(n, d):
    """scikit-learn refuses these."""
    for seed in range(5):
        evidence = evidence_of(planted(n, d, 40 * (d / n) * np.array([3, 2, 1.5]), seed))
        assert evidence.rank == min(n - 1, d)
        assert decide("mle", evidence).k == 3


def test_all_but_one_dimension_can_be_chosen():
    """scikit-learn issues 4441 and 16546: the last candidate was never tried."""
    for d in (2, 3, 8):
        signal = 5.0 * 1.5 ** np.arange(d - 1, 0, -1)
        X = planted(2000, d, signal, d, noise=0.05)
        assert decide("mle", evidence_of(X)).k == d - 1


def test_one_of_one_and_one_of_two():
    rng = np.random.default_rng(1)
    assert decide("mle", evidence_of(rng.standard_normal((50, 1)))).k == 1
    assert decide("mle", evidence_of(rng.standard_normal((50, 2)))).k == 1
    assert decide("mle", evidence_of(np.ones((9, 6)), center=False)).k == 1  # issue 16546: NaN there
    assert decide("mle", evidence_of(rng.standard_normal((2, 6)))).k == 1


def test_a_full_rank_sample_of_three():
    """Issue 16546."""
    cov = [[0.5, 0.2, 0.1], [0.2, 0.5, 0.3], [0.1, 0.3, 0.5]]
    X = np.random.default_rng(0).multivariate_normal([1, 1, 1], cov, size=1000)
    assert decide("mle", evidence_of(X)).k == 2 == PCA("mle").fit(X).n_components_


def test_a_column_that_is_the_mean_of_the_others():
    """Issue 16730: nine dimensions carry variance and the tenth none, so there is no noise. It said 8."""
    X = np.random.RandomState(0).randn(1000, 10)
    X[:, -1] = X[:, :-1].mean(axis=1)
    choice = decide("mle", evidence_of(X))
    assert choice.k == 9
    assert "so there is no noise" in choice.reason


def test_repeated_columns():
    """Issue 4441 and its test: one informative feature, eighteen times repeated."""
    X, _ = make_classification(
        n_features=20, n_informative=1, n_repeated=18, n_redundant=1, n_clusters_per_class=1, random_state=42
    )
    evidence = evidence_of(X)
    assert decide("mle", evidence) == (1, "the data have rank 1, so there is no other choice")


def test_a_spectrum_that_falls_off_a_cliff():
    """Issue 4441: log(0)."""
    assert decide("mle", spectrum([1, 1e-30, 1e-30, 1e-30], n=10)).k == 1
    assert decide("mle", spectrum([3, 2, 1, 1e-30, 1e-30, 1e-30], n=1000)).k == 3


def test_an_eigenvalue_of_zero_before_the_rank():
    """The rank is judged without the scale of the columns; a tiny eigenvalue may still have been rounded away."""
    assert decide("mle", spectrum([3, 2, 1, 0], rank=4)).k == 3


def test_mostly_zeros_constants_and_copies():
    """Like the table of issue 10217: 26 columns, most of them 0, some 1 or alike in every row."""
    rng = np.random.default_rng(7)
    X = np.zeros((40, 26))
    X[:, [9, 13]] = 1.0
    X[:, 1] = rng.random(40)
    X[:, 11] = rng.random(40).round(3)
    X[:, 12] = X[:, 11]
    X[:, 16] = np.where(rng.random(40) < 0.5, 0.0, 0.96963)
    X[:, 17] = X[:, 16] * 0.69883 / 0.96963
    evidence = evidence_of(X)
    assert (evidence.rank, evidence.possible) == (3, 5)
    assert decide("mle", evidence).k == 3


def test_constant_columns_change_nothing():
    X = planted(300, 20, [3, 2, 1], 5)
    assert decide("mle", evidence_of(np.column_stack([X, np.ones((300, 7))]))) == decide("mle", evidence_of(X))


def test_equal_eigenvalues_count_as_one_size():
    """Three equal ones above equal noise: Laplace's method alone would give every split of a tie infinite evidence."""
    assert decide("mle", spectrum([5.0] * 3 + [1.0] * 7, n=200)).k == 3
    assert decide("mle", spectrum([1.0] * 10, n=200)).k == 1
    hadamard = np.array([[1.0]])
    for _ in range(4):
        hadamard = np.block([[hadamard, hadamard], [hadamard, -hadamard]])
    evidence = evidence_of(np.vstack([hadamard, -hadamard]))  # sixteen eigenvalues of exactly 1
    assert np.ptp(evidence.eigenvalues) < 1e-12
    assert decide("mle", evidence).k == 1


def test_many_columns_are_quick():
    values = np.sort(np.random.default_rng(1).random(2000))[::-1]
    found = log_evidence(values, 5000, 2000)  # pair by pair, as printed, that is 10^9 logarithms
    assert np.all(np.isfinite(found))
    assert found.shape == (1999,)

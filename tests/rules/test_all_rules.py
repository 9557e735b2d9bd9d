"""What holds for every rule, whatever the data: an answer from 1 to the rank, no warning, the same answer again."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from often import often
from pcatool.registry import RULES
from pcatool.rules.base import Evidence, above, decide, leading_passing
from rules.planted import evidence_of, low_rank, planted, spectrum

pytestmark = pytest.mark.long

rng = np.random.default_rng(12)
SPECTRUM_ONLY = [name for name in RULES if RULES[name].needs_spectrum_only]

TABLES = {
    "one column": rng.standard_normal((30, 1)),
    "one column, two rows": np.array([[1.0], [2.0]]),
    "two rows": rng.standard_normal((2, 7)),
    "three rows": rng.standard_normal((3, 7)),
    "two columns": rng.standard_normal((40, 2)),
    "rank one": np.outer(rng.standard_normal(30), rng.standard_normal(6)),
    "rank two of eight": low_rank(30, 8, [3, 1], 1),
    "n < d": rng.standard_normal((12, 40)),
    "n = d": rng.standard_normal((15, 15)),
    "n = d + 1": rng.standard_normal((16, 15)),
    "repeated rows": np.repeat(planted(12, 5, [4], 2), 4, axis=0),
    "repeated columns": np.repeat(planted(30, 4, [4], 3), 3, axis=1),
    "constant columns": np.column_stack([planted(30, 4, [4], 4), np.ones((30, 9))]),
    "equal eigenvalues": np.vstack([np.eye(6), -np.eye(6)]),
    "simplex": np.eye(9),
    "scales apart": planted(60, 9, [4], 5) * 10.0 ** np.arange(-8, 9, 2)[:9],
    "huge": 1e150 * planted(40, 6, [9, 4], 6),
    "tiny": 1e-150 * planted(40, 6, [9, 4], 6),
    "far from zero": planted(40, 6, [9, 4], 7) + 1e6,
    "whole numbers": rng.integers(0, 2, (50, 10)).astype(float),
}

FITS = {
    "plain": {},
    "standardised": {"standardize": True},
    "uncentred": {"center": False},
    "both": {"standardize": True, "center": False},
    "ddof 1": {"ddof": 1},
}


@pytest.mark.parametrize("fit", FITS)
@pytest.mark.parametrize("name", TABLES)
def test_an_answer_from_one_to_the_rank(name, fit):
    evidence = evidence_of(TABLES[name], **FITS[fit])
    for rule in RULES:
        choice = RULES.load(rule)(evidence, RULES[rule].default)
        assert 1 <= choice.k <= evidence.rank, rule
        assert type(choice.k) is int
        assert choice.reason
        assert decide(rule, evidence) == choice  # again, and by the front door


SPECTRA = {
    "one": ([1.0], {}),
    "one of many columns": ([1.0] + [0.0] * 9, {}),
    "equal": ([1.0] * 8, {}),
    "equal, few rows": ([1.0] * 8 + [0.0] * 12, {"n": 9}),
    "end to end": ([1e300, 1.0, 1e-300], {}),
    "largest": ([1e307] * 3, {}),
    "smallest": ([5e-324] * 3, {}),
    "smallest and none": ([1e-320, 5e-324, 0.0], {}),
    "zeros past the rank": ([5.0, 3, 1, 0.5] + [0.0] * 16, {}),
    "half zeros": ([5.0, 3, 0, 0], {}),
    "a billion rows": ([5.0, 3, 1.0001, 1, 0.9999], {"n": 10**9}),
    "two rows": ([2.0, 0, 0], {"n": 2}),
    "one row, uncentred": ([2.0, 0, 0], {"n": 1, "centered": False}),
}


@pytest.mark.parametrize("rule", SPECTRUM_ONLY)
@pytest.mark.parametrize("name", SPECTRA)
@pytest.mark.parametrize("standardized", [False, True])
def test_every_spectrum(name, rule, standardized):
    eigenvalues, more = SPECTRA[name]
    evidence = spectrum(eigenvalues, standardized=standardized, **more)
    choice = RULES.load(rule)(evidence, RULES[rule].default)
    assert 1 <= choice.k <= evidence.rank
    assert choice.reason


@settings(max_examples=often(60), deadline=None, derandomize=True)
@given(
    exponents=st.lists(st.one_of(st.floats(-700, 700), st.integers(-3, 3)), min_size=1, max_size=12),
    zeros=st.integers(0, 5),
    n=st.one_of(st.integers(2, 30), st.integers(2, 10**9)),
    standardized=st.booleans(),
)
def test_any_spectrum(exponents, zeros, n, standardized):
    values = np.exp(np.sort(np.array(exponents, dtype=float))[::-1])
    values[n - 1 :] = 0  # no more than the rows allow
    evidence = spectrum(np.append(values, np.zeros(zeros)), n, standardized=standardized)
    for rule in SPECTRUM_ONLY:
        choice = RULES.load(rule)(evidence, RULES[rule].default)
        assert 1 <= choice.k <= evidence.rank, rule


@pytest.mark.parametrize("rule", [rule for rule in SPECTRUM_ONLY if rule != "eigenvalue"])
def test_powers_of_two_change_nothing(rule):
    values = np.array([7.0, 4, 2, 1.1, 1, 0.9, 0.8])
    assert len({decide(rule, spectrum(values * scale, 50)).k for scale in (1.0, 2.0**-900, 2.0**900)}) == 1


# Which rules find three strong components of 500 rows and 20 columns, and in which fit.
FINDERS = [
    "ratio",
    "eigenvalue:2",
    "kaiser",
    "broken-stick",
    "elbow",
    "parallel",
    "parallel-95",
    "mle",
    "gavish-donoho",
    "marchenko-pastur",
    "cross-validation",
]

# Rules that do not look for a gap, and why.
NOT_FINDERS = {"all": "keeps every component"}


@pytest.mark.parametrize("rule", FINDERS)
@pytest.mark.parametrize("seed", range(4))
def test_three_planted_components_are_found(rule, seed):
    assert decide(rule, evidence_of(planted(500, 20, [20, 18, 16], seed))).k == 3


def test_every_rule_is_tried_on_planted_components():
    named = {rule.partition(":")[0] for rule in FINDERS} | set(NOT_FINDERS)
    assert named == set(RULES), "name the rule in FINDERS, or in NOT_FINDERS with the reason"


@pytest.mark.parametrize("rule", ["broken-stick", "parallel-95", "mle", "gavish-donoho", "marchenko-pastur"])
def test_noise_is_seldom_taken_for_components(rule):
    chosen = [decide(rule, evidence_of(planted(500, 20, [], seed))).k for seed in range(12)]
    assert np.mean(chosen) < 1.3


def test_rows_are_left_as_they_were():
    X = planted(40, 6, [9, 4], 6)
    X.setflags(write=False)
    evidence = evidence_of(X)
    before = evidence.eigenvalues.copy()
    evidence.eigenvalues.setflags(write=False)
    for rule in RULES:
        decide(rule, evidence)
    assert np.array_equal(evidence.eigenvalues, before)


def test_what_can_carry_variance():
    evidence = Evidence(np.ones(6), 6.0, 5, 8, 4, constant=2)
    assert (evidence.degrees, evidence.varying, evidence.possible) == (4, 6, 4)
    uncentred = Evidence(np.ones(6), 6.0, 5, 8, 4, centered=False, constant=2)
    assert (uncentred.degrees, uncentred.varying, uncentred.possible) == (5, 8, 5)
    assert evidence.spectrum.tolist() == [1, 1, 1, 1]
    assert evidence.shares == pytest.approx(1 / 6)


def test_above_and_at_a_bound():
    values = np.array([2.0, 1 + 1e-9, 1 + 4e-16, 1.0, 1 - 4e-16, 1 - 1e-9])
    assert above(values, 1.0).tolist() == [True, True, False, False, False, False]
    assert above(values, 1.0, equal=True).tolist() == [True, True, True, True, True, False]


@pytest.mark.parametrize(
    ("passed", "k", "text"),
    [
        ([True, True, False, True], 2, "fair: the first 2"),
        ([True], 1, "fair: the first 1"),
        ([False, True], 1, "fair: none, so 1 is kept"),
        ([], 1, "fair: none, so 1 is kept"),
    ],
)
def test_the_count_ends_at_the_first_that_fails(passed, k, text):
    choice = leading_passing(np.array(passed, dtype=bool), "fair")
    assert (choice.k, choice.reason) == (k, text)

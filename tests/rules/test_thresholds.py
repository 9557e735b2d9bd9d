"""Rules that hold eigenvalues or shares against a line, and the elbow."""

import numpy as np
import pytest

from pcatool.rules.base import decide
from pcatool.rules.broken_stick import pieces
from rules.planted import evidence_of, planted, spectrum


def k_of(rule, eigenvalues, n=100, **more):
    return decide(rule, spectrum(eigenvalues, n, **more)).k


@pytest.mark.parametrize(
    ("rule", "eigenvalues", "k"),
    [
        ("ratio", [80, 15, 5], 3),  # at the threshold counts
        ("ratio", [80, 15.5, 4.5], 2),
        ("ratio:0.2", [80, 15, 5], 1),
        ("ratio:0.9", [80, 15, 5], 1),  # none
        ("ratio", [1] * 20, 20),  # each is 1/20 on paper
        ("ratio", [0.1] * 20, 20),
        ("kaiser", [3, 1, 0.5, 0.3], 1),  # the mean is 1.2
        ("kaiser", [3, 1.3, 0.4, 0.3], 2),
        ("kaiser", [2, 1, 0], 1),  # at the mean does not count
        ("kaiser", [0.3, 0.2, 0.1], 1),  # though 0.2 is above the mean in floating point
        ("kaiser", [1, 1, 1], 1),
        ("broken-stick", [62, 28, 10], 2),  # 61.1, 27.8, 11.1 %
        ("broken-stick", [62, 27, 11], 1),
        ("broken-stick", [60, 30, 10], 1),
        ("broken-stick", [11, 5, 2], 1),  # at the pieces' lengths
        ("elbow", [5, 4.9, 1, 0.9], 2),
        ("elbow", [3, 2, 1], 1),
        ("elbow", [0.3, 0.2, 0.1], 1),
        ("elbow", [2, 2, 0], 2),
        ("elbow", [1, 1, 1], 3),  # no drop: all
        ("elbow", [7], 1),
        ("all", [3, 2, 0, 0], 2),
    ],
)
@pytest.mark.parametrize("scale", [1.0, 2.0**-900, 2.0**900])
def test_the_count_at_any_scale(rule, eigenvalues, k, scale):
    assert k_of(rule, np.array(eigenvalues) * scale) == k


@pytest.mark.parametrize(
    ("rule", "eigenvalues", "k"),
    [
        ("eigenvalue", [3, 1, 0.5], 2),  # at the threshold counts
        ("eigenvalue", [3, 1 - 2e-16, 0.5], 2),
        ("eigenvalue", [3, 1 - 1e-9, 0.5], 1),
        ("eigenvalue:0.4", [3, 1, 0.5], 3),
        ("eigenvalue:10", [3, 1, 0.5], 1),
        ("eigenvalue", [1e16, 1, 1e-16], 2),  # the scale of the first is no excuse for the last
        ("eigenvalue:1e-300", [1e-299, 1e-300, 1e-301], 2),
    ],
)
def test_the_count_above_an_eigenvalue(rule, eigenvalues, k):
    assert k_of(rule, eigenvalues) == k


@pytest.mark.parametrize(
    ("p", "percent"),
    [  # Jackson 1993, Ecology 74(8), and any table of the broken-stick distribution
        (2, [75.0, 25.0]),
        (3, [61.11, 27.78, 11.11]),
        (4, [52.08, 27.08, 14.58, 6.25]),
        (10, [29.29, 19.29, 14.29, 10.96, 8.46, 6.46, 4.79, 3.36, 2.11, 1.00]),
    ],
)
def test_the_published_table_of_the_broken_stick(p, percent):
    assert np.round(100 * pieces(p), 2).tolist() == percent


def test_the_pieces_are_what_a_stick_breaks_into():
    breaks = np.sort(np.random.default_rng(1).random((40_000, 5)), axis=1)
    lengths = np.diff(breaks, axis=1, prepend=0, append=1)
    mean = np.sort(lengths, axis=1)[:, ::-1].mean(axis=0)
    assert mean == pytest.approx(pieces(6), rel=0.01)


def test_kaiser_of_standardised_data_is_the_eigenvalue_one():
    X = planted(60, 8, [9, 4], 3)
    evidence = evidence_of(np.column_stack([X, np.full(60, 7.0)]), standardize=True)  # a constant column plays no part
    assert evidence.constant == 1
    assert decide("kaiser", evidence).k == decide("eigenvalue:1", evidence).k == np.sum(evidence.eigenvalues > 1)
    assert "mean 1:" in decide("kaiser", evidence).reason


def test_the_stick_has_as_many_pieces_as_rows_and_columns_allow():
    # 4 centred rows: 3 components. Of 10 pieces the first two would pass.
    eigenvalues = [60, 27, 13] + [0] * 7
    assert k_of("broken-stick", eigenvalues, n=4) == 1
    assert k_of("broken-stick", eigenvalues, n=100) == 2
    assert k_of("broken-stick", eigenvalues, n=100, constant=7) == 1
    assert k_of("broken-stick", eigenvalues, n=3, centered=False) == 1


def test_the_elbow_sees_as_many_eigenvalues_as_every_solver_knows():
    few_rows = [3, 2.5, 0, 0, 0]
    assert k_of("elbow", few_rows, n=3) == 2
    assert k_of("elbow", few_rows, n=2, centered=False) == k_of("elbow", few_rows[:2], n=2, d=5, centered=False) == 1


def test_a_rule_with_a_number_says_it():
    assert decide("ratio:0.2", spectrum([8, 2])).reason == "share of at least 0.2: the first 2"
    assert decide("ratio:0.9", spectrum([8, 2])).reason == "share of at least 0.9: none, so 1 is kept"

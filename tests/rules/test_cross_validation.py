"""Cross-validation by cells: against its definition, cell by cell, and where leaving out rows alone fails."""

import numpy as np
import pytest

from pcatool.errors import RefusedError
from pcatool.rules.base import Evidence, decide
from pcatool.rules.cross_validation import directions, errors_left_out, fold_errors
from rules.planted import evidence_of, low_rank, planted, spectrum


def by_definition(X, V, k):
    """Leave out each cell, fit the scores to the other cells of its row, predict it."""
    total = 0.0
    for x in X:
        for j in range(len(x)):
            others = np.arange(len(x)) != j
            scores = np.linalg.lstsq(V[others, :k], x[others], rcond=None)[0] if k else np.zeros(0)
            total += (x[j] - V[j, :k] @ scores) ** 2
    return total


@pytest.mark.parametrize(("n", "d"), [(20, 8), (9, 30), (12, 12), (5, 2)])
def test_one_fold_by_definition(n, d):
    X, new = planted(n, d, [9, 4][: d - 1], n), planted(4, d, [9, 4][: d - 1], n + 1)
    most = min(n, d - 1)
    V = directions(X, most)
    assert V.shape == (d, most)
    found = fold_errors(new, V, most)
    assert found == pytest.approx([by_definition(new, V, k) for k in range(most + 1)], rel=1e-8)


@pytest.mark.parametrize(("n", "d"), [(20, 8), (8, 20)])
def test_directions_are_those_of_the_svd(n, d):
    X = planted(n, d, [9, 4], 1)
    V = directions(X, 5)
    Vt = np.linalg.svd(X)[2][:5]
    assert np.abs(Vt @ V) == pytest.approx(np.eye(5), abs=1e-10)
    assert np.max(np.abs(V.T @ V - np.eye(5))) < 1e-12


@pytest.mark.parametrize("centered", [True, False])
@pytest.mark.parametrize(("n", "d"), [(23, 7), (6, 9)])
def test_the_whole_by_definition(n, d, centered):
    """Each row is left out once, and the means are those of the others."""
    Y, seed = planted(n, d, [9, 4], 2) + 3, 5
    found = errors_left_out(Y, np.ones(n), centered, seed)
    order = np.random.default_rng(seed).permutation(n)
    folds = min(n, 10)
    expected = np.zeros(len(found))
    for fold in range(folds):
        left = order[fold::folds]
        rest = np.setdiff1d(order, left)
        mean = Y[rest].mean(axis=0) * centered
        V = np.linalg.svd(Y[rest] - mean)[2].T
        expected += [by_definition(Y[left] - mean, V, k) for k in range(len(found))]
    assert len(found) == 1 + min(d - 1, n - -(-n // folds) - centered)
    assert found * np.abs(Y).max() ** 2 == pytest.approx(expected, rel=1e-7)


def test_past_the_rank_nothing_changes():
    X = low_rank(20, 8, [9, 4], 1)
    errors = fold_errors(X[:10], directions(X[10:], 5), 5)
    assert errors[2:] == pytest.approx(0, abs=1e-12 * errors[0])
    assert errors[1] > 1e-3 * errors[0]
    assert np.array_equal(errors[3:], errors[2:3].repeat(3))


@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    ("n", "d", "signal"),
    [(500, 20, [20, 18, 16]), (50, 200, [60, 40, 30]), (100, 100, [40, 30, 20]), (30, 60, [90, 75, 60])],
)
def test_a_planted_rank_is_found(n, d, signal, seed, standardize):
    assert decide("cross-validation", evidence_of(planted(n, d, signal, seed), standardize=standardize)).k == 3


def test_more_than_half_of_the_columns_can_be_chosen():
    assert decide("cross-validation", evidence_of(planted(1000, 6, [90, 80, 70, 60], 1, noise=0.3))).k == 4


def test_leaving_out_whole_rows_would_keep_everything():
    """Why cells: the error of whole rows left out falls with every component, noise or not."""
    X = planted(60, 12, [40, 30], 3)
    Y, test = X[:40] - X[:40].mean(axis=0), X[40:] - X[:40].mean(axis=0)
    Vt = np.linalg.svd(Y)[2]
    by_row = [np.sum((test - test @ Vt[:k].T @ Vt[:k]) ** 2) for k in range(13)]
    assert np.argmin(by_row) == 12
    assert decide("cross-validation", evidence_of(X)).k == 2


@pytest.mark.parametrize("seed", range(5))
def test_noise_has_no_component_that_helps(seed):
    choice = decide("cross-validation", evidence_of(planted(200, 20, [], seed)))
    assert choice.k == 1
    assert "a model needs at least 1" in choice.reason


def test_rank_1_leaves_no_choice():
    choice = decide("cross-validation", evidence_of(low_rank(20, 4, [3], 1)))
    assert choice == (1, "the data have rank 1, so cross-validation was not run")


def test_without_noise_the_smallest_number_that_is_exact():
    assert decide("cross-validation", evidence_of(low_rank(80, 20, [9, 4, 1], 1))).k == 3


def test_a_column_alone_in_its_component_is_predicted_by_its_mean():
    """The other columns tell nothing of it: its error is its sum of squares, whatever number of components holds it."""
    X = np.zeros((20, 4))
    X[:, 0] = 9 * planted(20, 1, [], 1)[:, 0]
    X[:, 1:] = low_rank(20, 3, [2], 2)
    V = np.zeros((4, 2))
    V[0, 0] = 1
    V[1:, 1] = np.linalg.svd(X[:, 1:])[2][0]
    alone, rest = np.sum(X[:, 0] ** 2), np.sum(X[:, 1:] ** 2)
    assert fold_errors(X, V, 2) == pytest.approx([alone + rest, alone + rest, alone])


def test_a_part_without_which_nothing_varies():
    """Equal rows and two others: when these two are left out together there is nothing to fit."""
    V = directions(np.zeros((18, 3)), 2)
    assert V.shape == (3, 0)
    assert directions(np.zeros((2, 3)), 2).shape == (3, 0)
    assert fold_errors(np.array([[1.0, 2, 0], [0, 1, 5]]), V, 2).tolist() == [31, 31, 31]


def test_the_seed_decides_and_only_the_seed():
    Y = planted(40, 9, [2, 1], 4)
    one, same, other = (errors_left_out(Y, np.ones(40), True, seed) for seed in (1, 1, 2))
    assert np.array_equal(one, same)
    assert not np.array_equal(one, other)


@pytest.mark.parametrize("scale", [1e-150, 1.0, 1e150])
def test_the_scale_plays_no_part(scale):
    assert decide("cross-validation", evidence_of(scale * planted(100, 10, [20, 10], 1))).k == 2


def test_the_means_are_taken_from_the_rows_that_stay():
    """An offset left in the rows would look like one more component; rows left out must not move it either."""
    Y = planted(60, 10, [20, 10], 1)
    near, far = (errors_left_out(Z, np.ones(60), True, 0) * np.abs(Z).max() ** 2 for Z in (Y, Y + 1000))
    assert far[:6] == pytest.approx(near[:6], rel=1e-6)


def test_weighted_rows_are_centred_by_their_weights():
    """Rows come times the roots of their weights: the weighted mean of those that stay is taken off."""
    rng = np.random.default_rng(2)
    X, weights = planted(60, 10, [40, 30], 1), rng.integers(1, 9, 60).astype(float)
    roots = np.sqrt(weights)
    centred = X - weights @ X / weights.sum()
    errors = [errors_left_out(roots[:, None] * Z, roots, True, 0) for Z in (centred, centred + 5)]
    sizes = [np.abs(roots[:, None] * Z).max() ** 2 for Z in (centred, centred + 5)]
    assert errors[1] * sizes[1] == pytest.approx(errors[0] * sizes[0], rel=1e-9)
    plain = evidence_of(X)
    weighted = Evidence(
        plain.eigenvalues,
        plain.total_variance,
        60,
        10,
        10,
        rows=lambda: roots[:, None] * centred,
        weights=lambda: weights,
    )
    assert decide("cross-validation", weighted).k == 2


def test_without_rows_it_is_refused_with_a_remedy():
    with pytest.raises(RefusedError, match=r"needs all rows in memory.*gavish-donoho") as caught:
        decide("cross-validation", spectrum([3, 2, 1]))
    assert caught.value.exit_code == 6


@pytest.mark.parametrize(("n", "d", "center"), [(3, 5, True), (3, 2, True), (2, 9, True), (2, 2, False)])
def test_the_fewest_rows(n, d, center):
    assert decide("cross-validation", evidence_of(planted(n, d, [3], 1), center=center)).k == 1

"""Fits aligned to an older model: the same directions, with its signs and nearly its order."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import pcatool
from pcatool.errors import DataError, ModelError, UsageError
from pcatool.methods.align import aligned_to
from pcatool.model.model import FORMAT_VERSION, Model
from pcatool.model.npz import dumps, loads
from pcatool.pipeline.fit import Fitted
from pcatool.pipeline.scree import rule_choices, smallest_k
from pcatool.progress import Reporter
from pcatool.readers.row_counts import RowCounts

EYE = np.eye(5)


def made(values: list[float], basis: np.ndarray = EYE, columns: str = "abcde", **meta: Any) -> Model:
    """A model with these eigenvalues; its components are the columns of the basis."""
    k = basis.shape[1]
    certificate = {
        "relative_error": [(j + 1) * 1e-12 for j in range(k)],
        "vouched": [j % 2 == 0 for j in range(k)],
        "close_pairs": [[1, 2]],
    }
    settings = {"format_version": FORMAT_VERSION, "method": "pca", "center": True, "standardize": False, "ddof": 0}
    d = len(columns)
    return Model(
        mean=np.zeros(d),
        std=np.ones(d),
        basis=basis,
        eigenvalues=np.array(values),
        total_variance=float(sum(values)),
        n_samples=100,
        columns=tuple(columns),
        meta={**settings, "certificate": certificate, **meta},
        variances=np.ones(d),
    )


def align(model: Model, old: Model) -> Model:
    return aligned_to(model, old, Reporter())


OLD = made([5.0, 3.0, 2.9, 1.0, 0.5])


def test_signs_follow_the_older_model() -> None:
    signs = np.array([1.0, -1.0, 1.0, -1.0, -1.0])
    found = align(made([5.0, 3.0, 2.5, 1.0, 0.5]), replace(OLD, basis=EYE * signs))
    np.testing.assert_array_equal(found.basis, EYE * signs)
    assert found.meta["aligned"] == [1, 2, 3, 4, 5]


def test_near_equal_components_trade_places_and_take_everything_along() -> None:
    new = made([5.0, 3.0, 2.9, 1.0, 0.5], EYE[:, [0, 2, 1, 3, 4]])
    found = align(new, OLD)
    np.testing.assert_array_equal(found.basis, EYE)
    np.testing.assert_array_equal(found.eigenvalues, [5.0, 2.9, 3.0, 1.0, 0.5])
    assert found.meta["aligned"] == [1, 3, 2, 4, 5]
    certificate = found.meta["certificate"]
    assert certificate["relative_error"] == [1e-12, 3e-12, 2e-12, 4e-12, 5e-12]
    assert certificate["vouched"] == [True, True, False, False, True]
    assert certificate["close_pairs"] == [[1, 3]]
    assert found.variance.captured.tolist() == [5.0, 7.9, 10.9, 11.9, 12.4]
    again = loads(dumps(found))
    assert again.meta == found.meta
    np.testing.assert_array_equal(again.eigenvalues, found.eigenvalues)


def test_components_further_apart_than_a_tenth_do_not_trade_places() -> None:
    new = made([5.0, 3.3, 2.9, 1.0, 0.5], -EYE[:, [0, 2, 1, 3, 4]])
    found = align(new, OLD)
    assert found.meta["aligned"] == [1, 2, 3, 4, 5]
    np.testing.assert_array_equal(found.basis, EYE[:, [0, 2, 1, 3, 4]], "with the signs of those they are like")


def test_a_tenth_is_of_the_eigenvalue_whose_place_it_is() -> None:
    """0.9 may stand where 1 stood, 1 not where 0.9 stood: so neither moves."""
    old, swapped = made([1.0, 0.9], EYE[:2, :2], "ab"), EYE[:2, [1, 0]]
    assert align(made([1.0, 0.9], swapped, "ab"), old).meta["aligned"] == [1, 2]
    assert align(made([1.0, 0.91], swapped, "ab"), old).meta["aligned"] == [2, 1]


def test_of_several_the_best_order_as_a_whole_is_taken() -> None:
    """Two are most like the first; together it is better that the second yields."""
    rng = np.random.default_rng(3)
    values = [1.0, 0.99, 0.98, 0.97, 0.96]
    for _ in range(20):
        Q = np.linalg.qr(rng.normal(size=(5, 5)))[0]
        found = align(made(values, Q), made(values))
        sums = [np.abs(Q[list(order), range(5)]).sum() for order in _orders(5)]
        assert np.abs(np.diag(found.basis)).sum() == pytest.approx(max(sums), abs=1e-7)
        np.testing.assert_array_equal(np.abs(found.basis), np.abs(Q[:, np.array(found.meta["aligned"]) - 1]))
        np.testing.assert_array_equal(found.eigenvalues, np.array(values)[np.array(found.meta["aligned"]) - 1])


def _orders(k: int) -> list[tuple[int, ...]]:
    from itertools import permutations

    return list(permutations(range(k)))


def test_what_is_past_the_rank_stays() -> None:
    new = made([5.0, 3.0, 0.0, 0.0, 0.0], EYE[:, [0, 1, 3, 2, 4]], rank=2)
    assert align(new, OLD).meta["aligned"] == [1, 2, 3, 4, 5]


def test_rounding_decides_neither_sign_nor_order() -> None:
    half = np.sqrt(0.5)
    turned = np.array([[half, -half], [half, half]])
    assert align(made([1.0, 0.99], turned, "ab"), made([1.0, 0.99], EYE[:2, :2], "ab")).meta["aligned"] == [1, 2]
    tilted = EYE[:, :2] + 0.0
    tilted[3, 0] = -1e-12
    other = made([1.0, 0.99], EYE[:, 3:5])
    np.testing.assert_array_equal(align(made([1.0, 0.5], tilted), other).basis, tilted)


def test_components_unlike_those_of_the_same_number_are_named() -> None:
    reporter = Reporter()
    aligned_to(made([5.0, 3.3, 2.9, 1.0, 0.5], EYE[:, [0, 2, 1, 3, 4]]), OLD, reporter)
    assert reporter.warnings == [
        "--align-to: 2 components are not similar to the components with the same numbers in the older model: "
        "|cosine| 0.00 for PC2, 0.00 for PC3; pcatool diff shows the most similar components"
    ]
    reporter = Reporter()
    aligned_to(made([5.0, 3.0, 2.9, 1.0, 0.5], -EYE[:, [0, 2, 1, 3, 4]]), OLD, reporter)
    assert reporter.warnings == [], "components of nearly equal eigenvalues that change places"


def test_columns_are_matched_by_name() -> None:
    new = made([5.0, 3.0, 2.5, 1.0, 0.5])
    old = made([5.0, 3.0, 2.5, 1.0, 0.5], -EYE[::-1], "edcba")
    np.testing.assert_array_equal(align(new, old).basis, -EYE)
    reporter = Reporter()
    aligned_to(new, made([5.0, 3.0, 2.5, 1.0, 0.5], -EYE, "abcxy"), reporter)
    assert reporter.notes == [
        "--align-to ignores columns that are only in the new model: 'd', 'e'",
        "--align-to ignores columns that are only in the older model: 'x', 'y'",
    ]
    with pytest.raises(
        DataError,
        match=r"no column of the new model \('a', .*\) is in the older model \('v', .*\); give --align-to a model",
    ):
        align(new, made([5.0, 3.0, 2.5, 1.0, 0.5], columns="vwxyz"))


@pytest.mark.parametrize("k", [2, 5])
@pytest.mark.parametrize("older", [1, 3, 5])
def test_numbers_of_components_may_differ(k: int, older: int) -> None:
    values = [5.0, 3.0, 2.9, 1.0, 0.5]
    new = made(values, -EYE[:, :k])
    np.testing.assert_array_equal(
        align(new, made(values, EYE[:, :older])).basis[:, : min(k, older)], EYE[:, : min(k, older)]
    )


# --- what follows from it ---


def swapped() -> Model:
    return align(made([5.0, 3.0, 2.9, 1.0, 0.5], EYE[:, [0, 2, 1, 3, 4]]), OLD)


def test_a_truncated_model_keeps_the_first_as_they_stand() -> None:
    cut = swapped().truncated(2)
    np.testing.assert_array_equal(cut.basis, EYE[:, :2])
    assert cut.variance.lost[1] == pytest.approx(4.5)
    assert cut.noise == pytest.approx(1.5)
    assert pcatool.inspect(cut)["aligned"] == [1, 3]


def test_reports_go_by_the_order_of_the_components() -> None:
    model = swapped()
    table = pcatool.explain_variance(model)
    assert table["eigenvalue"].tolist() == [5.0, 2.9, 3.0, 1.0, 0.5]
    assert table["lost"].tolist() == pytest.approx([7.4, 4.5, 1.5, 0.5, 0.0])
    fitted = Fitted(model, RowCounts()), Fitted(made([5.0, 3.0, 2.9, 1.0, 0.5]), RowCounts())
    assert smallest_k(fitted[0], 7.9 / 12.4) == 2
    assert rule_choices(fitted[0], None, 0) == rule_choices(fitted[1], None, 0), "rules ask for eigenvalues by size"
    assert "PC" in str(pcatool.scree(model))


def test_the_largest_eigenvalue_need_not_be_the_first() -> None:
    """Where scores past the rank are told from noise, and where bars are as long as it is."""
    new = made([3.0, 2.9, 0.0], EYE[:3, [1, 0, 2]], "abc", rank=2)
    model = align(new, made([3.0, 2.9, 2.0], EYE[:3, :3], "abc"))
    assert model.eigenvalues.tolist() == [2.9, 3.0, 0.0]
    X = np.array([[0.0, 1e8, 1e-8]])
    np.testing.assert_array_equal(model.project(X), [[0.0, 1e8, 0.0]])
    chart = str(pcatool.scree(model, width=60)).splitlines()
    assert chart[2].count("█") > chart[1].count("█")


def test_only_what_alignment_does_is_a_model() -> None:
    model = swapped()

    def with_places(values: list[float], places: Any) -> Model:
        return replace(model, eigenvalues=np.array(values), meta={**model.meta, "aligned": places})

    with_places([5.0, 2.9, 3.0, 1.0, 0.5], [1, 3, 2, 4, 5])
    for values, places in (
        ([5.0, 2.9, 3.0, 1.0, 0.5], [1, 2, 3, 4, 5]),  # not as it says
        ([5.0, 3.0, 2.9, 1.0, 0.5], [1, 3, 2, 4, 5]),
        ([5.0, 2.0, 3.0, 1.0, 0.5], [1, 3, 2, 4, 5]),  # too far apart
        ([5.0, 3.0, 2.9, 0.0, 0.0], [1, 2, 3, 5, 4]),  # nothing to trade
        ([5.0, 2.9, 3.0, 1.0, 0.5], [1, 3, 2]),  # too few
        ([5.0, 2.9, 3.0, 1.0, 0.5], [1, 3, 2, 4, 5, 6]),
    ):
        with pytest.raises(ModelError, match=r"'aligned'|not in descending"):
            with_places(values, places)
    for places in (
        [],
        [1, 3, 3, 4, 5],
        [0, 1, 2, 3, 4],
        [1.0, 3, 2, 4, 5],
        "13245",
        {"a": 1},
        [True, 3, 2, 4, 5],
        None,
    ):
        with pytest.raises(
            ModelError, match=r"'aligned' is .*, not the numbers 1, 2, 3 and so on in any order|not descending"
        ):
            with_places([5.0, 2.9, 3.0, 1.0, 0.5], places)


@pytest.mark.parametrize("whiten", ["none", "pca", "zca"])
def test_scores_are_those_of_the_fit_moved_and_turned(whiten: str) -> None:
    rng = np.random.default_rng(5)
    Q = np.linalg.qr(np.column_stack([np.ones(300), rng.normal(size=(300, 4))]))[0][:, 1:]
    X = pd.DataFrame(Q * [60, 41, 40, 10], columns=list("abcd"))
    plain = pcatool.fit(X, components=3, whiten=whiten, missing="em")
    old = replace(plain, basis=plain.basis[:, [0, 2, 1]] * [1, -1, 1])
    model = pcatool.fit(X, components=3, whiten=whiten, missing="em", align_to=old)
    assert model.meta["aligned"] == [1, 3, 2]
    np.testing.assert_allclose(np.einsum("ij,ij->j", model.basis, old.basis), 1)
    Z, aligned = pcatool.transform(plain, X).to_numpy(), pcatool.transform(model, X).to_numpy()
    expected = Z if whiten == "zca" else Z[:, [0, 2, 1]] * [1, -1, 1]
    np.testing.assert_allclose(aligned, expected, rtol=1e-10, atol=1e-12)
    holes = X.mask(rng.random(X.shape) < 0.2)
    for how in ("mean", "project", "em"):
        Z, aligned = (pcatool.reconstruct(m, holes, source="rows", missing=how).to_numpy() for m in (plain, model))
        np.testing.assert_allclose(aligned, Z, rtol=1e-9, atol=1e-9)


# --- fits ---


@pytest.fixture
def frame() -> pd.DataFrame:
    rng = np.random.default_rng(1)
    return pd.DataFrame(rng.normal(size=(200, 4)) * [4, 3, 2, 1], columns=list("abcd"))


def test_what_cannot_be_held_against_each_other_is_refused(frame: pd.DataFrame) -> None:
    plain, scaled = pcatool.fit(frame), pcatool.fit(frame, standardize=True)
    kernel = pcatool.fit(frame[:20], method="kernel", components=2)
    with pytest.raises(
        UsageError, match=r"is standardised, but the new model is not; give .* fitted without standardize"
    ):
        pcatool.fit(frame, align_to=scaled)
    for combine in (
        lambda: pcatool.update(plain, frame, align_to=scaled),
        lambda: pcatool.merge(plain, plain, align_to=scaled),
        lambda: pcatool.refit(plain, components=2, align_to=scaled),
    ):
        with pytest.raises(UsageError, match=r"new model is not; give .* fitted without standardize"):
            combine()
    with pytest.raises(
        UsageError, match=r"older model is not standardised.*; give align_to a model fitted with standardize=True"
    ):
        pcatool.fit(frame, standardize=True, align_to=plain)
    with pytest.raises(
        UsageError, match=r'the older model has a kernel.*; give align_to a model fitted with method="pca" and without'
    ):
        pcatool.fit(frame, align_to=kernel)
    with pytest.raises(UsageError, match="does not go with kernels"):
        pcatool.fit(frame, method="kernel", align_to=plain)
    with pytest.raises(UsageError, match='to a pca model; give align_to a model fitted with method="supervised"'):
        pcatool.fit(frame, method="supervised", label="d", align_to=plain)
    for model, old in ((kernel, plain), (plain, kernel), (plain, scaled)):
        with pytest.raises(UsageError):
            align(model, old)


def test_supervised_components_are_aligned(frame: pd.DataFrame) -> None:
    settings = {"method": "supervised", "label": ["c", "d"], "label_kernel": "linear", "components": 2}
    old = pcatool.fit(frame, **settings)
    turned = replace(old, basis=-old.basis)
    np.testing.assert_array_equal(pcatool.fit(frame, align_to=turned, **settings).basis, turned.basis)


def test_paths_and_models_are_the_same_to_the_last_byte(frame: pd.DataFrame, tmp_path: Path) -> None:
    old = tmp_path / "old.npz"
    pcatool.save_model(pcatool.fit(frame), old)
    by_path, by_model = (pcatool.fit(frame, align_to=given) for given in (old, pcatool.load_model(old)))
    assert dumps(by_path) == dumps(by_model)
    assert "old.npz" not in str(by_path.meta)
    assert pcatool.explain_variance(frame, align_to=str(old)).equals(pcatool.explain_variance(by_path))

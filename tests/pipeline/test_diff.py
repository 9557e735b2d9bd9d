"""What is said to have changed between two models, against scipy, and models made so that it is known."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.linalg import subspace_angles

import pcatool
from fuzz.models import MODELS
from methods.test_align import EYE, made
from pcatool.linalg.certificate import principal_angles
from pcatool.render.comparison import comparison_table, comparison_text

RNG = np.random.default_rng(0)


def orthonormal(d: int, k: int) -> np.ndarray:
    return np.linalg.qr(RNG.normal(size=(d, k)))[0]


# --- angles ---


@pytest.mark.parametrize(("d", "p", "q"), [(8, 3, 3), (8, 2, 5), (8, 5, 2), (6, 4, 4), (5, 5, 1), (1, 1, 1)])
def test_angles_are_those_of_scipy(d: int, p: int, q: int) -> None:
    A, B = orthonormal(d, p), orthonormal(d, q)
    np.testing.assert_allclose(principal_angles(A, B), subspace_angles(A, B)[::-1], atol=3e-8)  # scipy: root of eps


@pytest.mark.parametrize("angle", [0.0, 1e-12, 1e-8, 1e-4, 0.1, 0.7, 0.8, 1.5, np.pi / 2])
def test_angles_of_any_size_are_right(angle: float) -> None:
    Q = orthonormal(9, 4)
    tilted = np.column_stack([Q[:, 0], np.cos(angle) * Q[:, 1] + np.sin(angle) * Q[:, 3]])
    found = principal_angles(Q[:, :2], tilted)
    np.testing.assert_allclose(found, [0, angle], rtol=1e-9, atol=4e-15)


def test_columns_taken_away_leave_no_false_direction() -> None:
    """Of an identity less a row a column is empty: no angle is measured to nothing."""
    assert principal_angles(EYE[:4], EYE[:4]).shape == (4,)
    assert principal_angles(EYE[:2, 3:], EYE[:2]).shape == (0,)


# --- models ---


def test_everything_that_changed_is_told() -> None:
    old = made([5.0, 3.0, 2.9, 1.0, 0.5])
    new = replace(
        made([5.0, 3.0, 2.9, 1.0, 0.1], EYE[:, [0, 2, 1, 3, 4]] * [1, 1, -1, 1, 1], ddof=1),
        mean=np.array([0.0, 0.5, 0.0, -2.0, 0.0]),
        variances=np.array([1.0, 1.0, 4.0, 1.0, 0.25]),
        n_samples=120,
    )
    facts = pcatool.diff(old, new)
    assert facts["settings"] == [{"setting": "ddof", "a": 0, "b": 1}]
    assert facts["rows"] == {"a": 100, "b": 120, "change": 20}
    assert facts["total_variance"]["change"] == pytest.approx(-0.4)
    assert facts["angles"] == pytest.approx([0.0] * 5)
    rows = facts["matched"]
    assert [(row["a"], row["b"]) for row in rows] == [(1, 1), (2, 3), (3, 2), (4, 4), (5, 5)]
    assert [row["cosine"] for row in rows] == [1, -1, 1, 1, 1]
    assert [row["flipped"] for row in rows] == [False, True, False, False, False]
    assert [row["swapped"] for row in rows] == [False, True, True, False, False]
    assert rows[1]["near_in_a"] == [3]
    assert rows[1]["too_close_in_a"] == [1]
    assert rows[4]["share_change"] == pytest.approx(0.1 / 12.0 - 0.5 / 12.4)
    shifts = {row["column"]: (row["shift"], row["std_ratio"]) for row in facts["column_shifts"]}
    assert shifts == {"a": (0, 1), "b": (0.5, 1), "c": (0, 2), "d": (-2, 1), "e": (0, 0.5)}
    text = comparison_text(facts, everything=False, width=None)
    for said in (
        "setting: ddof: 0 in A, 1 in B\n",
        "rows: 100 in A, 120 in B\n",
        "total variance: 12.4 in A, 12 in B (-3.23%)\n",
        "swapped: PC2, PC3 of A\n",
        "flipped: PC2 of A\n",
        "hint: a fit with --align-to A keeps the signs of A, and the order of components with nearly equal eigenvalues",
        "cosine has no meaning: rounding may mix the component with PC1 in A",
        "shown: the columns that changed; -v shows 1 more column\n",
    ):
        assert said in text
    columns = [line.split()[0] for line in text.splitlines() if line[:2] in ("a ", "b ", "c ", "d ", "e ")]
    assert columns == ["d", "c", "e", "b"], "those that changed most come first"


def test_a_smaller_model_lies_in_a_larger() -> None:
    values = [5.0, 3.0, 2.0, 1.0, 0.5]
    small, large = made(values, EYE[:, 1:2]), made(values, EYE[:, :4])
    for pair in ((small, large), (large, small)):
        facts = pcatool.diff(*pair)
        assert facts["angles"] == [0.0]
        assert len(facts["matched"]) == 1
    assert pcatool.diff(made(values, EYE[:, 4:]), large)["angles"] == [90.0]


def test_columns_are_matched_by_name() -> None:
    values = [5.0, 3.0, 2.0, 1.0, 0.5]
    facts = pcatool.diff(made(values), made(values, EYE[::-1], "edcba"))
    assert facts["columns"] == {"shared": 5, "only_a": [], "only_b": [], "in_order": False}
    assert [row["cosine"] for row in facts["matched"]] == [1] * 5
    assert max(facts["angles"]) == 0
    facts = pcatool.diff(made(values), made(values, columns="abcxy"))
    assert facts["columns"] == {"shared": 3, "only_a": ["d", "e"], "only_b": ["x", "y"], "in_order": True}
    assert [row["column"] for row in facts["column_shifts"]] == ["a", "b", "c"]
    text = comparison_text(facts, everything=False, width=None)
    assert "(columns not standardised; only columns in both models are compared)" in text
    assert "shown: no columns, because nothing that was compared has changed; -v shows all columns\n" in text


def test_angles_of_fits_are_those_of_their_bases(tmp_path: Path) -> None:
    X = pd.DataFrame(RNG.normal(size=(400, 6)) @ RNG.normal(size=(6, 6)), columns=list("abcdef"))
    one, other = (pcatool.fit(X[part], components=3, standardize=True) for part in (slice(200), slice(200, 400)))
    facts = pcatool.diff(one, other)
    np.testing.assert_allclose(facts["angles"], np.degrees(subspace_angles(one.basis, other.basis))[::-1], atol=1e-10)
    for row, name in zip(facts["column_shifts"], X, strict=True):
        first, second = X[name][:200], X[name][200:]
        assert row["shift"] == pytest.approx((second.mean() - first.mean()) / first.std(ddof=0))
        assert row["std_ratio"] == pytest.approx(second.std(ddof=0) / first.std(ddof=0))


def test_what_was_constant_has_no_units_to_shift_by() -> None:
    one, other = (pcatool.fit(np.array([[0.0, x], [1.0, x], [3.0, y]])) for x, y in ((7, 7), (7, 8)))
    row = pcatool.diff(one, other)["column_shifts"][1]
    assert (row["shift"], row["std_ratio"]) == (None, None)
    assert "nan" in comparison_text(pcatool.diff(one, other), everything=False, width=None)
    assert json.dumps(pcatool.diff(one, other), allow_nan=False)
    assert pcatool.diff(one, one)["column_shifts"][1]["shift"] == 0


def test_what_cannot_be_compared_is_refused_or_left_out() -> None:
    X = pd.DataFrame(RNG.normal(size=(30, 3)), columns=list("abc"))
    plain, scaled = pcatool.fit(X), pcatool.fit(X, standardize=True)
    kernel = pcatool.fit(X, method="kernel", components=2)
    with pytest.raises(pcatool.UsageError, match="a pca model and a kernel model cannot be compared"):
        pcatool.diff(plain, kernel)
    with pytest.raises(
        pcatool.DataError, match="the models have no column in common: the first model has 'a', 'b', 'c', and"
    ):
        pcatool.diff(plain, pcatool.fit(X.rename(columns=str.upper)))
    facts = pcatool.diff(plain, scaled)
    assert facts["angles"] is facts["matched"] is None
    assert "standardised and the other is not" in facts["not_compared"]["angles"]
    text = comparison_text(facts, everything=False, width=None)
    assert "not compared: angles and matched components, because one model is standardised and the other is" in text
    assert facts["column_shifts"][0] | {"column": ""} == pcatool.diff(plain, plain)["column_shifts"][0] | {"column": ""}
    facts = pcatool.diff(kernel, pcatool.fit(X[1:], method="kernel", components=2))
    assert "lie in different spaces" in facts["not_compared"]["matched"]
    assert facts["cumulative"]["change"] != 0


def test_statistics_that_a_model_lacks_are_named() -> None:
    X = pd.DataFrame(RNG.normal(size=(50, 2)), columns=list("ab"))
    full, without = pcatool.fit(X, components=2), pcatool.fit(X, components=2, center=False, updatable=False)
    for one, other, name in ((full, without, "model B"), (without, full, "model A")):
        text = comparison_text(pcatool.diff(one, other), everything=False, width=None)
        assert f"not compared: column shifts, because {name} contains no means of the columns\n" in text
    again = pcatool.fit(X + 1, components=2, center=False, updatable=False)
    both = comparison_text(pcatool.diff(without, again), everything=False, width=None)
    assert "because model A and model B contain no means of the columns\n" in both


def test_means_that_were_not_subtracted_are_compared_too() -> None:
    X = pd.DataFrame(RNG.normal(size=(50, 2)), columns=list("ab"))
    one, other = pcatool.fit(X, center=False, components=2), pcatool.fit(X.assign(b=X["b"] + 2), components=2)
    facts = pcatool.diff(one, other)
    assert facts["column_shifts"][1]["shift"] == pytest.approx(2 / X["b"].std(ddof=0))
    text = comparison_text(facts, everything=False, width=None)
    assert "of the sum of squares about 0 in A, 100.00% of the variance in B" in text
    labels = {"method": "supervised", "label": "b", "label_kernel": "linear", "components": 1}
    rows = pcatool.diff(pcatool.fit(X, **labels), pcatool.fit(X + 1, **labels))["column_shifts"]
    assert [row["shift"] for row in rows] == [pytest.approx(1 / X["a"].std(ddof=0))]


def test_a_direction_past_the_rank_means_nothing() -> None:
    one, other = made([5.0, 3.0, 0.0], EYE[:, :3], rank=2), made([5.0, 3.0, 0.0], EYE[:, [0, 1, 3]], rank=2)
    text = comparison_text(pcatool.diff(one, other), everything=False, width=None)
    assert (
        "cosine has no meaning: the component has eigenvalue 0 in A; "
        "cosine has no meaning: the component has eigenvalue 0 in B" in text
    )


@pytest.mark.parametrize("path", MODELS, ids=lambda path: path.stem)
def test_a_model_is_identical_to_itself(path: Path) -> None:
    facts = pcatool.diff(path, pcatool.load_model(path))
    assert facts["identical"]
    assert facts["settings"] == []
    assert not facts["angles"] or max(facts["angles"]) < 1e-12
    assert all(row["cosine"] == pytest.approx(1) and not row["swapped"] for row in facts["matched"] or ())
    assert json.loads(json.dumps(facts, allow_nan=False)) == facts
    text = comparison_text(facts, everything=False, width=80)
    assert text.startswith("identical")
    assert comparison_text({**facts, "identical": False}, everything=True, width=80)
    table: dict[str, Any] = comparison_table(facts)
    assert list(table) == ["what", "name", "a", "b", "change"]

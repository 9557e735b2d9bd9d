"""The kernel over labels: its factors, its products, and when rows need not be held."""

from __future__ import annotations

import numpy as np
import pytest

from methods import supervision as by_hand
from methods.supervision import case, dense, fit, spectrum
from pcatool.arrays import run_serially
from pcatool.methods import label_kernels as module
from pcatool.methods.label_kernels import (
    DIAGONAL_ROUNDING,
    LabelKernel,
    centred_factor,
    distinct,
    full_factor,
    low_rank_factor,
    product_with,
)
from pcatool.options import FitOptions


@pytest.mark.parametrize(("t", "gamma"), [(1, 1.0), (2, 0.5), (3, 30.0)])
def test_factors_give_the_kernel_back(t: int, gamma: float) -> None:
    Y = np.random.default_rng(0).normal(size=(150, t))
    kernel = LabelKernel("rbf", gamma)
    K = np.asarray(by_hand.rbf(Y, gamma), dtype=float)
    np.testing.assert_allclose(kernel.between(Y, Y), K, rtol=1e-12)
    for G in (low_rank_factor(kernel, Y), full_factor(kernel, Y, run_serially)):
        assert G is not None
        np.testing.assert_allclose(G.T @ G, K, atol=2 * DIAGONAL_ROUNDING)


def test_a_smooth_kernel_has_a_low_rank() -> None:
    Y = np.random.default_rng(0).normal(size=(5000, 1))
    G = low_rank_factor(LabelKernel("rbf", 1.0), Y)
    assert G is not None
    assert len(G) < 60


def test_a_narrow_kernel_has_none() -> None:
    Y = np.random.default_rng(0).normal(size=(500, 3))
    assert low_rank_factor(LabelKernel("rbf", 1e6), Y) is None


def test_equal_labels_share_a_row() -> None:
    Y = np.array([[2.0, 1], [0, 1], [2, 1], [0, 5]])
    values, codes = distinct(Y)
    assert len(values) == 3
    np.testing.assert_allclose(values[codes], Y - (np.unique(Y, axis=0)).mean(axis=0))


@pytest.mark.parametrize("name", ["delta", "linear", "rbf"])
def test_centred_factor(name: str) -> None:
    rows = case(40, 3)
    Y = rows.y[:, None].astype(float) if name == "delta" else rows.targets
    full = {"delta": by_hand.delta(rows.y), "linear": by_hand.linear(Y), "rbf": by_hand.rbf(Y, 0.5)}[name]
    H = by_hand.centring(40)
    L, lacks = centred_factor(LabelKernel(name, 0.5 if name == "rbf" else None), Y, run_serially, lambda m: None)
    gap = np.asarray(L @ L.T - H @ full @ H, dtype=float)
    assert np.linalg.norm(gap, 2) <= lacks + 40 * np.finfo(float).eps * np.linalg.norm(L) ** 2


def test_product_by_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    Y, X, counts = rng.normal(size=(90, 2)), rng.normal(size=(90, 4)), rng.integers(1, 5, 90).astype(float)
    monkeypatch.setattr("pcatool.kernels.base.CELLS_PER_STEP", 1000)
    Q, norm = product_with(LabelKernel("rbf", 2.0), Y, X, counts, run_serially)
    K = np.asarray(by_hand.rbf(Y, 2.0), dtype=float)
    np.testing.assert_allclose(Q, X.T @ K @ X, atol=1e-12)
    root = np.sqrt(counts)
    assert np.linalg.norm(root[:, None] * K * root, 2) <= norm * (1 + 1e-12)


@pytest.mark.parametrize(("n", "d"), [(300, 5), (30, 60)])
@pytest.mark.parametrize("standardize", [False, True])
def test_without_a_low_rank_the_answer_is_the_same(
    monkeypatch: pytest.MonkeyPatch, n: int, d: int, standardize: bool
) -> None:
    rows = case(n, d)
    targets = np.round(rows.targets[:, :1], 1)  # with equal ones
    expected = fit(rows.X, targets, label_kernel="rbf", components=3, standardize=standardize).model
    monkeypatch.setattr(module, "MOST_STEPS", 2)
    model = fit(rows.X, targets, label_kernel="rbf", components=3, standardize=standardize).model
    np.testing.assert_allclose(model.eigenvalues[:3], expected.eigenvalues[:3], rtol=1e-10)
    np.testing.assert_allclose(model.basis, expected.basis, atol=1e-9)
    assert all(model.meta["certificate"]["vouched"])
    values, _ = spectrum(dense(rows.X, by_hand.rbf(targets, 1.0), model.std))
    np.testing.assert_allclose(model.eigenvalues[:3], values[:3], rtol=1e-10)


def test_label_kernels_by_default() -> None:
    rows = case(20, 3)
    options = FitOptions(method="supervised", label=("y",))
    assert LabelKernel.of(options, by_hand.labels_of(rows.targets)) == ("linear", None)
    assert LabelKernel.of(options, by_hand.labels_of(rows.targets[:, :1], classes=True)) == ("delta", None)
    narrow = FitOptions(method="supervised", label=("y",), label_kernel="rbf", label_gamma=4.0)
    assert LabelKernel.of(narrow, by_hand.labels_of(rows.targets)) == ("rbf", 4.0)
    assert [LabelKernel(name).is_product for name in ("delta", "linear", "rbf")] == [True, True, False]


def test_a_target_far_from_0_changes_nothing() -> None:
    rows = case(80, 4)
    y = np.round(rows.targets[:, 0] * 1024) / 1024
    for kernel in ("linear", "rbf"):
        near = fit(rows.X, y, label_kernel=kernel).model
        far = fit(rows.X, y + 2.0**30, label_kernel=kernel).model
        np.testing.assert_allclose(far.eigenvalues, near.eigenvalues, rtol=1e-11, atol=1e-12 * near.eigenvalues[0])
        np.testing.assert_allclose(far.basis[:, 0], near.basis[:, 0], atol=1e-10)


@pytest.mark.parametrize("kernel", [None, "rbf"])
def test_a_gamma_that_hardly_looks_at_the_label_is_told(kernel: str | None) -> None:
    rows = case(80, 4)
    salaries = rows.targets[:, 0] * 20_000 + 50_000
    notes = fit(rows.X, salaries, label_kernel="rbf", kernel=kernel).reporter.notes
    said = [
        note
        for note in notes
        if note.startswith("with --label-gamma 1, hardly any two rows have similar values of 'y'")
    ]
    assert len(said) == 1
    gamma = float(said[0].split("--label-gamma ")[-1])
    assert 1e-10 < gamma < 1e-8
    assert not fit(rows.X, salaries, label_kernel="rbf", label_gamma=gamma, kernel=kernel).reporter.notes

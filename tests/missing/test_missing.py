"""Rows with missing cells, from the data to the models, scores and fills that come of them.

The oracles: SimpleImputer, StandardScaler and PCA of scikit-learn, least squares row by row, and the formulas of the
posterior mean and of coverage. `holed` is what most tests fit: 600 rows of 8 correlated columns, one cell in five gone.
"""

from __future__ import annotations

import io
import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.decomposition import PCA
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import StandardScaler

import pcatool
from missing.made import angle, filled, made, punched
from often import TIMES
from pcatool.api.messages import with_settings
from pcatool.arrays import Array
from pcatool.errors import DataError, ModelError, PcatoolError, PcatoolWarning, UsageError
from pcatool.model.model import Model
from pcatool.model.npz import dumps, loads
from pcatool.registry import RULES, SOLVERS

pytestmark = pytest.mark.long

# Two ways to one number, through sums and factorisations of a few hundred rows: some hundred roundings.
CLOSE = 1e-10

# Where EM stops against the maximum of the likelihood: it gains less than 1e-10 a cell by then.
CONVERGED = 1e-4

LINEAR = ("mean", "project", "em")
SETTINGS: list[dict[str, Any]] = [
    {},
    {"center": False},
    {"standardize": True},
    {"ddof": 1},
    {"standardize": True, "ddof": 1},
    {"standardize": True, "center": False},
]
every_setting = pytest.mark.parametrize("settings", SETTINGS, ids=lambda s: "-".join(s) or "plain")
little = pytest.mark.filterwarnings("ignore:.*mean(s)? little")


@pytest.fixture(scope="module")
def whole() -> Array:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(600, 8)) * np.linspace(4, 1, 8) @ rng.normal(size=(8, 8)) + 10 * rng.normal(size=8)
    X.setflags(write=False)
    return X


@pytest.fixture(scope="module")
def holed(whole: Array) -> Array:
    """Rows 0 and 1 are whole, row 2 has only holes, row 3 one cell."""
    X = punched(whole, 0.2, 4)
    X[:2] = whole[:2]
    X[2] = np.nan
    X[3, 1:], X[3, 0] = np.nan, whole[3, 0]
    X.setflags(write=False)
    return X


def imputed(X: Array) -> Array:
    return np.asarray(SimpleImputer().fit_transform(X))


def same_numbers(one: Model, other: Model, within: float = CLOSE) -> None:
    """Means, scales, eigenvalues, the variance and the directions."""
    for name in ("mean", "std", "eigenvalues", "total_variance", "basis"):
        mine, its = np.asarray(getattr(one, name)), np.asarray(getattr(other, name))
        np.testing.assert_allclose(mine, its, rtol=0, atol=within * np.abs(its).max(), err_msg=name)


def same_arrays(one: Model, other: Model) -> None:
    """Bit for bit."""
    for name in ("mean", "std", "basis", "eigenvalues", "total_variance", "n_samples"):
        assert np.array_equal(getattr(one, name), getattr(other, name)), name


def close(found: Array, expected: Array, within: float = CLOSE) -> None:
    np.testing.assert_allclose(found, expected, rtol=within, atol=within * np.nanmax(np.abs(expected)))


# --- means that stand in ---


@every_setting
def test_mean_is_a_fit_of_the_imputed_rows(settings: dict[str, Any], holed: Array) -> None:
    model = pcatool.fit(holed, components=3, missing="mean", **settings)
    same_numbers(model, pcatool.fit(imputed(holed), components=3, **settings))
    assert model.n_samples == len(holed)


@pytest.mark.parametrize("standardize", [False, True])
def test_mean_is_what_scikit_learn_makes_of_it(standardize: bool, holed: Array) -> None:
    Y = imputed(holed)
    Y = StandardScaler().fit_transform(Y) if standardize else Y
    theirs = PCA(3).fit(Y)
    model = pcatool.fit(holed, components=3, missing="mean", standardize=standardize, ddof=int(not standardize))
    ratio = (len(Y) - 1) / len(Y) if standardize else 1.0  # PCA divides by n - 1, StandardScaler by n
    close(model.eigenvalues[:3], theirs.explained_variance_ * ratio)
    Z = pcatool.transform(model, holed)
    close(np.abs(Z), np.abs(theirs.transform(Y)))


@pytest.mark.parametrize("solver", list(SOLVERS))
def test_mean_goes_with_every_solver(solver: str, holed: Array) -> None:
    model = pcatool.fit(holed, components=3, missing="mean", solver=solver)
    assert model.meta["solver"] == solver
    # The randomized solver stops at eigenvalues good to half of the digits or better.
    same_numbers(model, pcatool.fit(imputed(holed), components=3, solver="svd"), 1e-6 if "random" in solver else CLOSE)


@pytest.mark.parametrize("missing", ["mean", "em"])
def test_a_weight_is_so_many_rows(missing: str, holed: Array) -> None:
    w = np.random.default_rng(1).integers(0, 4, len(holed))
    weighted = pd.DataFrame(holed).assign(w=w).rename(columns=str)
    model = pcatool.fit(weighted, components=2, missing=missing, weights="w", ddof=1)
    repeated = pcatool.fit(np.repeat(holed, w, axis=0), components=2, missing=missing, ddof=1)
    same_numbers(model, repeated, CONVERGED if missing == "em" else CLOSE)
    if missing == "mean":
        assert model.n_samples == np.count_nonzero(w)


@every_setting
@pytest.mark.parametrize("weights", [None, "w"])
def test_mean_in_one_pass_where_few_rows_are_held(
    settings: dict[str, Any], weights: str | None, holed: Array, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first block has no hole, and the second none of a column, so that means move when blocks are merged."""
    X = np.tile(holed, (8, 1))
    X[:64], X[64:128, 0] = imputed(holed)[:64], np.nan
    frame = pd.DataFrame(X + np.arange(len(X))[:, None] / 1e3).rename(columns=str)
    frame["w"] = np.random.default_rng(2).integers(1, 3, len(X))
    chosen = {"exclude": ["w"]} if weights is None else {"weights": weights}
    held = pcatool.fit(frame, components=3, missing="mean", **chosen, **settings)
    monkeypatch.setattr("pcatool.arrays.MOST_ROWS", 64)
    monkeypatch.setattr("pcatool.solvers.rows.SMALL_BYTES", 1 << 14)
    same_numbers(pcatool.fit(frame, components=3, missing="mean", **chosen, **settings), held)


def test_mean_of_more_rows_than_are_held(tmp_path: Path) -> None:
    """48 MB, of which the first 30 000 rows have no hole."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(300_000, 20)) @ (rng.normal(size=(20, 20)) * np.linspace(3, 1, 20)) + 1e4
    H = punched(X, 0.1, 6)
    H[:30_000] = X[:30_000]
    path = tmp_path / "x.parquet"
    pq.write_table(pa.table({f"f{j}": H[:, j] for j in range(20)}), path, compression="none", use_dictionary=False)
    model = pcatool.fit(path, components=5, missing="mean", standardize=True)
    assert model.meta["solver"] == "covariance"
    F = imputed(H)
    Y = (F - F.mean(axis=0)) / F.std(axis=0)
    values, vectors = np.linalg.eigh(Y.T @ Y / len(Y))
    close(model.eigenvalues, values[::-1])
    close(np.abs(model.basis), np.abs(vectors[:, :-6:-1]))
    close(model.mean, np.nanmean(H, axis=0))


@pytest.mark.parametrize("missing", ["mean", "em"])
@every_setting
def test_without_holes_nothing_changes(missing: str, settings: dict[str, Any], whole: Array) -> None:
    same_arrays(
        pcatool.fit(whole, components=3, missing=missing, **settings), pcatool.fit(whole, components=3, **settings)
    )


def test_mean_of_many_rows_without_holes_changes_nothing(whole: Array, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pcatool.arrays.MOST_ROWS", 64)
    monkeypatch.setattr("pcatool.solvers.rows.SMALL_BYTES", 1 << 14)
    same_arrays(pcatool.fit(whole, components=3, missing="mean"), pcatool.fit(whole, components=3))


@every_setting
def test_uncentred_models_remember_the_means(settings: dict[str, Any], holed: Array) -> None:
    model = loads(dumps(pcatool.fit(holed, components=3, missing="mean", **settings)))
    Z, expected = pcatool.transform(model, holed), pcatool.transform(model, imputed(holed), missing="error")
    close(Z, expected)
    if not settings.get("center", True):
        assert model.column_means is not None
        assert not model.mean.any()
        close(model.column_means, np.nanmean(holed, axis=0))


def test_mean_squared_error_of_the_fitted_rows_is_what_the_components_lose(holed: Array) -> None:
    model = pcatool.fit(holed, components=3, missing="mean")
    errors = pcatool.transform(model, holed, with_error=True)[:, -1]
    assert errors.mean() == pytest.approx(model.variance.lost[2], rel=CLOSE)


def test_rows_about_their_own_mean_are_filled_after_that(holed: Array) -> None:
    """The mean of a row is that of its cells; then columns' means stand in: of the fitted rows 0 on average."""
    X = np.delete(holed, 2, axis=0)
    about = X - np.nanmean(X, axis=1, keepdims=True)
    model = pcatool.fit(X, components=3, missing="mean", center_rows=True)
    same_numbers(model, pcatool.fit(about, components=3, missing="mean"))
    Z = pcatool.transform(model, X)
    close(Z, (imputed(about) - model.mean) @ model.basis)


# --- EM ---


def test_fills_are_as_good_as_the_true_model_could_make_them() -> None:
    true = made(2000, 30, [30, 20, 10, 5], 0.3, 1)
    X = punched(true.X, 0.4, 2)
    model = pcatool.fit(X, components=4, missing="em")
    F = pcatool.reconstruct(model, X, fill=True)
    best = filled(X, true.basis, true.signal, true.mean, true.noise)
    hole = np.isnan(X)
    mine, its = (float(np.sqrt(np.mean((R - true.X)[hole] ** 2))) for R in (F, best))
    assert mine <= 1.05 * its
    assert model.meta["em"]["converged"]
    assert model.noise == pytest.approx(0.09, rel=0.05)  # 36 000 cells tell the noise to 1 %


def test_few_holes_hardly_turn_the_components() -> None:
    true = made(2000, 30, [30, 20, 10, 5], 0.3, 3)
    found = pcatool.fit(punched(true.X, 0.05, 4), components=4, missing="em").basis
    assert angle(found, pcatool.fit(true.X, components=4).basis) < 1.0


@pytest.mark.parametrize(("wish", "k"), [(0.95, 4), ("kaiser", 3), ("all", 12)])
@little
def test_em_finds_how_many(wish: float | str, k: int) -> None:
    true = made(1500, 12, [30, 20, 10, 5], 0.3, 5)
    X = punched(true.X, 0.2, 6)
    model = loads(dumps(pcatool.fit(X, components=wish, missing="em")))
    assert model.k == k
    assert model.k == pcatool.fit(true.X, components=wish).k
    if wish == 0.95:
        assert model.variance.cumulative[k - 1] >= 0.95 > model.variance.cumulative[k - 2]


def test_rules_that_em_refuses_are_not_compared() -> None:
    """They are made for complete tables, as `-k` says where it refuses them."""
    X = punched(made(300, 6, [30, 10], 0.5, 1).X, 0.2, 2)
    for row in pcatool.compare_rules(X, missing="em", components=2).itertuples():
        if row.rule in RULES and not RULES[row.rule].any_method:
            assert np.isnan(row.k), row


def test_em_with_divisor_n_less_1_only_scales(holed: Array) -> None:
    n = len(holed) - 1  # one row has no cell
    by_n, by_less = (pcatool.fit(holed, components=3, missing="em", ddof=ddof) for ddof in (0, 1))
    assert by_n.n_samples == n
    close(by_less.eigenvalues, by_n.eigenvalues * n / (n - 1), CONVERGED)
    close(by_less.basis, by_n.basis, CONVERGED)


def test_em_standardised_is_em_of_columns_over_their_deviation(holed: Array) -> None:
    model = pcatool.fit(holed, components=3, missing="em", standardize=True)
    close(model.std, np.nanstd(holed, axis=0))
    other = pcatool.fit(holed / np.nanstd(holed, axis=0), components=3, missing="em")
    close(model.eigenvalues, other.eigenvalues, CONVERGED)
    close(model.basis, other.basis, CONVERGED)


def test_em_not_centred_is_em_about_0(holed: Array) -> None:
    """Rows and their mirror images have the mean 0, so centring them changes nothing."""
    model = pcatool.fit(holed, components=3, missing="em", center=False)
    assert not model.mean.any()
    both = pcatool.fit(np.vstack([holed, -holed]), components=3, missing="em")
    close(model.eigenvalues, both.eigenvalues, CONVERGED)
    close(model.basis, both.basis, CONVERGED)


def test_em_of_rows_about_their_own_mean(holed: Array) -> None:
    X = np.delete(holed, 2, axis=0)
    about = X - np.nanmean(X, axis=1, keepdims=True)
    model, other = (
        pcatool.fit(X, components=3, missing="em", center_rows=True),
        pcatool.fit(about, components=3, missing="em"),
    )
    same_numbers(model, other, CONVERGED)
    close(pcatool.transform(model, X), pcatool.transform(other, about), 1e-3)
    back = pcatool.reconstruct(other, about) + np.nanmean(X, axis=1, keepdims=True)
    close(pcatool.reconstruct(model, X), back, 1e-3)


@pytest.mark.parametrize("missing", ["mean", "em"])
def test_whitened_scores_are_scores_over_their_deviation(missing: str, holed: Array) -> None:
    plain = pcatool.fit(holed, components=3, missing=missing)
    model = pcatool.fit(holed, components=3, missing=missing, whiten="pca", epsilon=0.5)
    same_numbers(model, plain)
    close(pcatool.transform(model, holed), pcatool.transform(plain, holed) / np.sqrt(plain.eigenvalues[:3] + 0.5))
    close(pcatool.reconstruct(model, holed), pcatool.reconstruct(plain, holed))


def test_holes_in_empty_rows_only_are_pca_of_the_others(whole: Array) -> None:
    X = np.vstack([whole[:5], np.full((2, 8), np.nan), whole[5:]])
    model, plain = pcatool.fit(X, components=3, missing="em"), pcatool.fit(whole, components=3)
    for name in ("mean", "std", "basis"):
        close(getattr(model, name), getattr(plain, name))
    close(model.eigenvalues[:3], plain.eigenvalues[:3])
    assert model.n_samples == len(whole)


@pytest.mark.filterwarnings("ignore:the components explain every observed cell")
@pytest.mark.parametrize("empty", [True, False])
def test_rows_without_noise_make_a_model_that_can_be_written(empty: bool) -> None:
    rng = np.random.default_rng(7)
    X = np.outer(rng.normal(size=20), rng.normal(size=4))
    holes = (7, slice(None)) if empty else (7, 2)
    whole, X[holes] = X.copy(), np.nan
    model = loads(dumps(pcatool.fit(X, components=1, missing="em")))
    assert model.eigenvalues[1:].max() <= 1e-9 * model.eigenvalues[0]
    if not empty:
        close(pcatool.reconstruct(model, X, fill=True), whole, 1e-5)  # the root of the noise that is left


# --- rows with holes under a model ---

MODELS: dict[str, dict[str, Any]] = {
    "em": {"missing": "em"},
    "mean": {"missing": "mean"},
    "uncentred": {"missing": "mean", "center": False},
    "standardised": {"missing": "em", "standardize": True, "ddof": 1},
    "whitened": {"missing": "em", "whiten": "pca"},
    "zca": {"missing": "mean", "whiten": "zca"},
    "rows-centred": {"missing": "em", "center_rows": True},
}
each_model = pytest.mark.parametrize("name", MODELS)


@pytest.fixture(scope="module")
def models(holed: Array) -> Callable[[str], Model]:
    X = np.delete(holed, 2, axis=0)
    fitted = {name: pcatool.fit(X, components=3, **settings) for name, settings in MODELS.items()}
    return fitted.__getitem__


def in_units_of(model: Model, X: Array) -> Array:
    with np.errstate(invalid="ignore"):
        X = X - np.nanmean(X, axis=1, keepdims=True) if model.rows_centered else X
    return (X - model.mean) / model.std


def expected_scores(model: Model, Y: Array, how: str, k: int) -> Array:
    """Row by row, of rows that have a cell."""
    B, noise = model.basis[:, :k], model.truncated(k).noise
    L = np.diag(model.eigenvalues[:k] - noise)
    Z = np.empty((len(Y), k))
    for z, y in zip(Z, Y, strict=True):
        o = ~np.isnan(y)
        if how == "em":
            z[:] = L @ B[o].T @ np.linalg.solve(B[o] @ L @ B[o].T + noise * np.eye(o.sum()), y[o])
        else:
            z[:] = np.linalg.lstsq(B[o], y[o], rcond=1e-8)[0]
    return Z


@each_model
@pytest.mark.parametrize("how", ["project", "em"])
@pytest.mark.parametrize("k", [3, 2])
def test_scores_by_the_cells_that_are_there(
    name: str, how: str, k: int, models: Callable[[str], Model], holed: Array
) -> None:
    model, X = models(name), np.delete(holed, 2, axis=0)[:200]
    Y = in_units_of(model, X)
    Z = expected_scores(model, Y, how, k)
    errors = np.nansum((Y - Z @ model.basis[:, :k].T) ** 2, axis=1)
    holes = np.isnan(X).any(axis=1)
    found = pcatool.transform(model, X, missing=how, components=k, with_error=True, with_coverage=True)
    if model.whitening != "none":
        Z = Z / np.sqrt(model.eigenvalues[:k] + model.epsilon)
    if model.whitening == "zca":
        Z = Z @ model.basis[:, :k].T
    # A row of one cell divides by its loading alone, which makes its scores, and roundings, the largest.
    close(found[holes, : Z.shape[1]], Z[holes], 1e-9)
    close(found[holes, -2], errors[holes], 1e-9)
    carried = (model.basis[:, :k] ** 2 @ model.eigenvalues[:k]) / model.eigenvalues[:k].sum()
    close(found[:, -1], (~np.isnan(X)) @ carried)
    assert np.all(found[~holes, -1] == 1.0)


@each_model
def test_rows_without_holes_get_what_they_always_get(name: str, models: Callable[[str], Model], whole: Array) -> None:
    model = models(name)
    plain = pcatool.transform(model, whole, missing="error", with_error=True)
    for how in (*LINEAR, "keep"):
        assert np.array_equal(pcatool.transform(model, whole, missing=how, with_error=True), plain)


@pytest.mark.parametrize("name", [name for name in MODELS if name != "rows-centred"])
def test_means_stand_in(name: str, models: Callable[[str], Model], holed: Array) -> None:
    model = models(name)
    means = model.mean if model.centered else model.column_means
    F = np.where(np.isnan(holed), means, holed)
    for apply in (pcatool.transform, pcatool.reconstruct):
        how = {"source": "rows"} if apply is pcatool.reconstruct else {}
        close(apply(model, holed, missing="mean", **how), apply(model, F, missing="error", **how))


@each_model
@pytest.mark.parametrize("how", LINEAR)
def test_fill_leaves_what_is_there(name: str, how: str, models: Callable[[str], Model], holed: Array) -> None:
    model = models(name)
    X = np.delete(holed, 2, axis=0)
    F = pcatool.reconstruct(model, X, fill=True, missing=how, source="rows")
    there = ~np.isnan(X)
    assert np.array_equal(F[there], X[there])
    if how == "mean":
        means = model.mean if model.centered else model.column_means
        own = np.nanmean(X, axis=1, keepdims=True) if model.rows_centered else 0.0
    back = pcatool.reconstruct(model, X, missing=how, source="rows")
    close(F[~there], back[~there])
    if how != "mean":
        Z = expected_scores(model, in_units_of(model, X), how, 3)
        expected = model.std * (Z @ model.basis.T) + model.mean
        expected += np.nanmean(X, axis=1, keepdims=True) if model.rows_centered else 0.0
        close(F[~there], expected[~there], 1e-9)
    else:
        assert means is not None
        assert np.isfinite(own + F).all()


def test_what_is_done_unless_asked(models: Callable[[str], Model], holed: Array) -> None:
    X, em, mean = holed, models("em"), models("mean")
    drop = pcatool.fit(pd.DataFrame(X, columns=em.columns).dropna(), components=3, missing="drop")
    same = np.array_equal
    for model, forward, back, fill in (
        (em, "project", "em", "em"), (mean, "mean", "mean", "mean"), (drop, "keep", "keep", "project")
    ):  # fmt: skip
        assert same(pcatool.transform(model, X), pcatool.transform(model, X, missing=forward), equal_nan=True)
        assert same(pcatool.reconstruct(model, X), pcatool.reconstruct(model, X, missing=back), equal_nan=True)
        told = pcatool.reconstruct(model, X, missing=fill, fill=True)
        assert same(pcatool.reconstruct(model, X, fill=True), told, equal_nan=True)
    plain = pcatool.fit(imputed(X), components=3)
    with pytest.raises(
        DataError, match=r"the array, row 3: a cell is missing in column 'c1'; give missing=.keep. .*missing=.project"
    ):
        pcatool.transform(plain, X)


@pytest.mark.parametrize(("how", "scores", "coverage"), [("project", np.nan, 0), ("em", 0.0, 0), ("mean", 0.0, 0)])
def test_rows_without_a_cell(
    how: str, scores: float, coverage: float, models: Callable[[str], Model], holed: Array
) -> None:
    """Least squares tells nothing of them; the model expects its mean, which stands in, too."""
    found = pcatool.transform(models("em"), holed, missing=how, with_coverage=True)[2]
    np.testing.assert_array_equal(found, [scores] * 3 + [coverage])
    F = pcatool.reconstruct(models("em"), holed, missing=how, fill=True)[2]
    np.testing.assert_array_equal(F, np.full(8, np.nan) if how == "project" else models("em").mean)


def test_fill_takes_rows_of_a_model_that_keeps_their_columns(models: Callable[[str], Model], holed: Array) -> None:
    """Scores of ZCA are called like the rows, but only rows have holes to fill."""
    zca = models("zca")
    frame = pd.DataFrame(np.delete(holed, 2, axis=0), columns=zca.columns)
    expected = pcatool.reconstruct(zca, frame, fill=True, source="rows")
    assert np.array_equal(pcatool.reconstruct(zca, frame, fill=True), expected)


def test_keep_leaves_rows_with_holes_empty_and_in_their_place(models: Callable[[str], Model], holed: Array) -> None:
    frame = pd.DataFrame(holed, columns=models("em").columns).assign(name=[f"r{i}" for i in range(len(holed))])
    found = pcatool.transform(models("em"), frame, missing="keep", keep=["name", "c3"], with_error=True)
    holes = np.isnan(holed).any(axis=1)
    assert list(found.columns) == ["name", "c3", "PC1", "PC2", "PC3", "squared_error"]
    assert found["name"].tolist() == frame["name"].tolist()
    np.testing.assert_array_equal(found["c3"], holed[:, 2])
    assert np.array_equal(found[["PC1", "PC2", "PC3", "squared_error"]].isna().to_numpy().any(axis=1), holes)
    back = pcatool.reconstruct(models("em"), frame, fill=True, keep=["name"], with_coverage=True)
    assert list(back.columns) == ["name", *models("em").columns, "coverage"]


# --- the same bytes ---


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One table with holes as CSV and as Parquet, larger than a block, and two models of it."""
    place = tmp_path_factory.mktemp("holes")
    true = made(9_000, 12, [30, 20, 10, 5], 0.5, 8)
    X = np.round(punched(true.X, 0.15, 9), 6)
    X[::1000] = np.nan
    frame = pd.DataFrame(X, columns=[f"f{j}" for j in range(12)])
    frame.to_csv(place / "x.csv", index=False, na_rep="NA")
    table = pa.table({name: pa.array(frame[name], from_pandas=True) for name in frame})
    pq.write_table(table, place / "x.parquet", row_group_size=777)
    for missing in ("mean", "em"):
        model = pcatool.fit(place / "x.csv", components=3, missing=missing, threads=1)
        pcatool.save_model(model, place / f"{missing}.npz")
    return place


@pytest.fixture(scope="module")
def run(environment: dict[str, str]) -> Callable[..., subprocess.CompletedProcess[bytes]]:
    def run(place: Path, *arguments: str, data: bytes | None = None, code: int = 0) -> Any:
        done = subprocess.run(["pcatool", *arguments], cwd=place, env=environment, input=data, capture_output=True)
        assert done.returncode == code, done.stderr.decode()
        assert b"Traceback" not in done.stderr
        return done

    return run


@pytest.fixture(scope="module")
def piped(environment: dict[str, str]) -> Callable[..., bytes]:
    """What the program makes of the CSV in pieces of odd sizes; its output goes to a file, so that nothing waits."""

    def piped(place: Path, *arguments: str) -> bytes:
        data, rng, at = (place / "x.csv").read_bytes(), np.random.default_rng(1), 0
        command = ["pcatool", *arguments]
        with (place / "piped").open("wb") as out:
            process = subprocess.Popen(command, cwd=place, env=environment, stdin=subprocess.PIPE, stdout=out)
            assert process.stdin is not None
            while at < len(data):
                size = int(rng.integers(1, 90_000))
                process.stdin.write(data[at : at + size])
                process.stdin.flush()
                at += size
            process.stdin.close()
            assert process.wait(timeout=60) == 0
        return (place / "piped").read_bytes()

    return piped


@pytest.mark.parametrize("missing", ["mean", "em"])
def test_models_by_every_route(missing: str, place: Path, run: Any, piped: Any) -> None:
    expected = (place / f"{missing}.npz").read_bytes()
    arguments = ["fit", "-k", "3", "--missing", missing, "-o", "-"]
    assert piped(place, *arguments) == expected
    assert run(place, *arguments, "x.parquet", "--threads", "3").stdout == expected
    for name in ("x.csv", "x.parquet"):
        assert dumps(pcatool.fit(place / name, components=3, missing=missing, threads=3)) == expected


@pytest.mark.parametrize("weights", [None, "f0"])
@pytest.mark.parametrize("missing", ["mean", "em"])
def test_models_by_every_route_of_many_blocks(
    missing: str, weights: str | None, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Few of them are held, so that means are taken in one pass, and EM reads a file again and again."""
    monkeypatch.setattr("pcatool.arrays.MOST_ROWS", 512)
    monkeypatch.setattr("pcatool.solvers.rows.SMALL_BYTES", 1 << 16)
    frame = pd.read_csv(place / "x.csv").assign(f0=lambda t: t["f0"].notna() + 1)
    frame.to_csv(place / "w.csv", index=False)
    frame.to_parquet(place / "w.parquet", row_group_size=333)
    found = {
        dumps(pcatool.fit(place / name, components=2, missing=missing, threads=threads, weights=weights))
        for name in ("w.csv", "w.parquet")
        for threads in (1, 3)
    }
    assert len(found) == 1


APPLIED = {
    "transform": ["--with-coverage", "--with-error"],
    "reconstruct": ["--with-error"],
    "reconstruct --fill": ["--with-coverage"],
}


@pytest.mark.parametrize("command", APPLIED)
@pytest.mark.parametrize("how", LINEAR)
def test_results_by_every_route(command: str, how: str, place: Path, piped: Any) -> None:
    name, *fill = command.split()
    settings: dict[str, Any] = {flag[2:].replace("-", "_"): True for flag in (*fill, *APPLIED[command])}
    apply = getattr(pcatool, name)
    outputs = []
    for source, threads in (("x.csv", 1), ("x.csv", 3), ("x.parquet", 3)):
        out = place / f"{source}-{threads}.out.csv"
        apply(place / "em.npz", place / source, output=out, missing=how, threads=threads, **settings)
        outputs.append(out.read_bytes())
    outputs.append(piped(place, name, "em.npz", *fill, "--missing", how, *APPLIED[command]))
    assert len(set(outputs)) == 1


@each_model
@pytest.mark.parametrize("how", LINEAR)
def test_a_row_alone_gets_what_it_gets_in_company(
    name: str, how: str, models: Callable[[str], Model], holed: Array
) -> None:
    settings: dict[str, Any] = {"missing": how, "with_error": True, "with_coverage": True}
    together = pcatool.transform(models(name), holed[100:140], **settings)
    fills = pcatool.reconstruct(models(name), holed[100:140], fill=True, source="rows", **settings)
    for i in range(0, 40, 5):
        alone = holed[100 + i : 101 + i]
        assert np.array_equal(pcatool.transform(models(name), alone, **settings)[0], together[i])
        filled_alone = pcatool.reconstruct(models(name), alone, fill=True, source="rows", **settings)[0]
        assert np.array_equal(filled_alone, fills[i])


# --- what is refused ---


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"missing": "em", "solver": "svd"}, 'solver does not go with missing="em"; leave out solver'),
        ({"missing": "mean", "method": "kernel"}, 'missing="mean" does not go with method="kernel"'),
        ({"missing": "em", "method": "supervised", "label": "c1"}, 'missing="em" does not go with method="supervised"'),
        ({"missing": "fill"}, "invalid value 'fill' for missing: choose error, drop, mean or em"),
        (
            {"missing": "em", "components": "parallel"},
            "components='parallel' does not go with missing=\"em\"",
        ),
    ],
)
def test_fits_that_are_refused(settings: dict[str, Any], said: str, holed: Array) -> None:
    with pytest.raises(UsageError) as caught:
        pcatool.fit(holed, **settings)
    assert with_settings(said) in str(caught.value)


@pytest.mark.parametrize("missing", ["mean", "em"])
@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([[1, np.nan], [2, np.nan], [4, np.nan]], "column 'c2' has no value; leave the column out with exclude"),
        ([[np.nan, np.nan]] * 3, "every cell is missing; give rows with values"),
        ([[np.nan, np.nan], [np.nan, 3.0]], "column 'c1' has no value"),
    ],
)
def test_tables_that_say_nothing(missing: str, rows: list[list[float]], said: str) -> None:
    with pytest.raises(DataError) as caught:
        pcatool.fit(np.array(rows), missing=missing)
    assert with_settings(said) in str(caught.value)


def test_too_few_cells_for_the_components(holed: Array) -> None:
    X = np.where(np.tri(6, 8, -1, dtype=bool)[:, ::-1], np.nan, holed[100:106])
    with pytest.raises(
        DataError,
        match=r"components=6 with 8 columns needs more than 42 observed cells, but the data have \d+ observed cells;",
    ):
        pcatool.fit(X, components=6, missing="em")
    with pytest.raises(DataError, match=r"components=9"):
        pcatool.fit(holed, components=9, missing="em")


@pytest.mark.parametrize("missing", ["mean", "em"])
def test_a_missing_weight(missing: str, holed: Array) -> None:
    frame = pd.DataFrame(holed).rename(columns=str).assign(w=1.0)
    frame.loc[4, "w"] = np.nan
    with pytest.raises(DataError, match=r"row 5, column 'w': the weight is missing; give missing=.drop. to leave out"):
        pcatool.fit(frame, weights="w", missing=missing)


def test_applications_that_are_refused(models: Callable[[str], Model], holed: Array) -> None:
    em, frame = models("em"), pd.DataFrame(holed, columns=models("em").columns)
    without_means = pcatool.fit(imputed(holed), components=2, center=False)
    kernel = pcatool.fit(imputed(holed)[:50], components=2, method="kernel")
    supervised = pcatool.fit(
        pd.DataFrame(imputed(holed), columns=em.columns).assign(y=holed[:, 0] > 0), method="supervised", label="y"
    )
    refused: list[tuple[Callable[[], Any], str]] = [
        (
            lambda: pcatool.reconstruct(em, frame, fill=True, missing="keep"),
            'fill=True cannot be combined with missing="keep"',
        ),
        (lambda: pcatool.reconstruct(em, frame, fill=True, missing="error"), 'give missing="mean", project or em'),
        (lambda: pcatool.transform(em, frame, missing="drop"), 'missing="drop" is only for fits'),
        (
            lambda: pcatool.transform(without_means, holed, missing="mean"),
            "does not have: it was fitted with center=False; give missing=",
        ),
        (
            lambda: pcatool.transform(kernel, holed, missing="project"),
            'needs a model fitted with method="pca", but this model was fitted with method="kernel"',
        ),
        (
            lambda: pcatool.transform(supervised, frame, missing="em"),
            'needs a model fitted with method="pca", but this model was fitted with method="supervised"',
        ),
        (
            lambda: pcatool.reconstruct(supervised, frame, fill=True),
            'fill=True needs a model fitted with method="pca", but this model was fitted with method="supervised"',
        ),
    ]
    scores = pcatool.transform(em, frame)
    for more in ({"fill": True}, {"with_coverage": True}, {"with_error": True}):
        said = f"{next(iter(more))}=True needs the original rows, but the input holds scores"
        refused.append((lambda more=more: pcatool.reconstruct(em, scores, **more), said))
    refused.append(
        (lambda: pcatool.reconstruct(em, scores, missing="em"), 'missing="em" applies to original rows, but the input')
    )
    for call, said in refused:
        with pytest.raises(UsageError) as caught:
            call()
        assert with_settings(said) in str(caught.value)
    assert np.isnan(pcatool.reconstruct(em, scores).to_numpy()[2]).all()  # a row without a cell has no scores


@pytest.mark.filterwarnings("ignore::pcatool.errors.PcatoolWarning")
@pytest.mark.parametrize("missing", ["mean", "em", "drop"])
@pytest.mark.parametrize("settings", [*SETTINGS, {"components": "all", "whiten": "pca"}, {"center_rows": True}])
def test_any_small_table_gives_a_model_or_a_sentence(missing: str, settings: dict[str, Any]) -> None:
    rng = np.random.default_rng(11)
    shapes = [(1, 2, 0.5), (2, 2, 0.25), (3, 3, 0.3), (3, 5, 0.5), (9, 4, 0.7), (20, 5, 0.6)]
    for n, d, share in shapes if TIMES > 1 else shapes[1::2]:
        for kind in (rng.normal(size=(n, d)), rng.integers(0, 2, (n, d)) * 1.0, rng.normal(size=(n, 1)) * np.ones(d)):
            X = np.where(rng.random((n, d)) < share, np.nan, kind)
            try:
                model = loads(dumps(pcatool.fit(X, missing=missing, **settings)))
            except PcatoolError as error:
                assert error.exit_code in (3, 6), error
                continue
            F = pcatool.reconstruct(model, X, fill=True, missing="project", source="rows")
            empty = np.isnan(X).all(axis=1)
            assert np.isfinite(F[~empty]).all()
            assert np.isnan(F[empty]).all()


@pytest.mark.parametrize("missing", ["mean", "em"])
def test_squares_that_overflow_are_refused_in_words(missing: str) -> None:
    X = np.array([[1e300, 2e300], [np.nan, -1e300], [3e300, 4e300], [5e299, np.nan], [1e299, 1.0]])
    with pytest.raises(PcatoolError, match="squares of the values of columns 'c1', 'c2' overflow"):
        pcatool.fit(X, missing=missing, components=1)


# --- the report ---

SPELLED = """a,b,c,d
1,NA,2,3
2,NA, ,1
,NULL,4,5
7,3,,6
8,2,5,1
3,9,1,2
4,1,7,.
n/a,5,2,4
"""


@pytest.mark.parametrize("missing", ["mean", "em", "drop"])
@pytest.mark.parametrize("quoted", [False, True])
def test_the_report_counts_holes(missing: str, quoted: bool, tmp_path: Path, run: Any) -> None:
    text = SPELLED.replace("NULL", '"NULL"') if quoted else SPELLED
    (tmp_path / "x.csv").write_text(text)
    done = run(tmp_path, "fit", "x.csv", "-k", "1", "--missing", missing, "--json", "-q", "-o", "m.npz")
    facts = json.loads(done.stdout)
    found = facts["missing"]
    assert facts["rows_read"] == 8
    assert facts["rows_dropped"] == (6 if missing == "drop" else 0)
    assert found["cells"] == 8
    assert found["share"] == 8 / 32
    assert found["rows"] == 6
    assert found["spellings"] == {"NA": 2, "": 2, "NULL": 1, ".": 1, "n/a": 1} | {"": 3}
    assert {name: column["cells"] for name, column in found["columns"].items()} == {"a": 2, "b": 3, "c": 2, "d": 1}
    assert found["columns"]["b"]["share"] == 3 / 8
    patterns = {tuple(pattern["columns"]): pattern["rows"] for pattern in found["commonest_patterns"]}
    assert patterns == {("b",): 1, ("b", "c"): 1, ("a", "b"): 1, ("c",): 1, ("d",): 1} or found["patterns"] == 6
    assert found["patterns"] == 6
    assert found["more_patterns"] is False


def test_the_report_in_words(tmp_path: Path, run: Any) -> None:
    (tmp_path / "x.csv").write_text(SPELLED)
    said = run(tmp_path, "fit", "x.csv", "-k", "1", "--missing", "mean", "-v", "-o", "m.npz").stderr.decode()
    assert "8 cells missing (25.00%) in 6 rows: 3 empty cells, 2 'NA', 1 'n/a', 1 'NULL', 1 '.'" in said
    assert "missing by column: 'b' 37.50%, 'a' 25.00%, 'c' 25.00%, 'd' 12.50%" in said
    assert "6 patterns of missing cells: each pattern is in one row" in said
    none = run(tmp_path, "fit", "-", "-k", "1", "--missing", "mean", "--json", "-o", "m.npz", data=b"a,b\n1,2\n3,5\n")
    assert "missing" not in json.loads(none.stdout)


def test_the_report_is_the_same_by_every_route(place: Path, run: Any) -> None:
    table = pq.read_table(place / "x.parquet")
    holes = sum(column.null_count for column in table.columns)
    found = {}
    for name, word in (("x.csv", "NA"), ("x.parquet", "null")):
        for threads in ("1", "3"):
            done = run(place, "fit", name, "-k", "3", "--missing", "mean", "--json", "--threads", threads, "-o", "m")
            report = json.loads(done.stdout)["missing"]
            assert report.pop("spellings") == {word: holes}
            assert report["cells"] == holes
            found[json.dumps(report)] = report
    assert len(found) == 1
    rows = np.isnan(table.to_pandas().to_numpy())
    assert next(iter(found.values()))["patterns"] == len(np.unique(rows[rows.any(axis=1)], axis=0))


@pytest.mark.parametrize(
    ("missing", "said"),
    [
        ("mean", "at most 5.00% of its weight comes from observed cells, the rest from column means"),
        ("em", r"at most [0-9.]+% of its variance is determined by observed cells"),
    ],
)
def test_components_of_cells_that_are_not_there_are_warned_of(missing: str, said: str) -> None:
    """The last column has the largest variance by far, and 100 cells of 2000; the others keep components of theirs."""
    X = np.random.default_rng(13).normal(size=(2000, 6)) * [5, 4, 1, 1, 1, 100]
    pcatool.fit(punched(X, 0.05, 1), components=3, missing=missing)
    X[100:, 5] = np.nan
    with pytest.warns(PcatoolWarning, match=rf"PC1 is unreliable: {said}"):
        pcatool.fit(X, components=3, missing=missing)


@pytest.mark.parametrize("missing", ["mean", "em"])
def test_weak_components_are_not_laid_to_few_holes(missing: str) -> None:
    """Its fifth component is as weak as the noise, with one hole in 18 000 cells or with none."""
    X = made(1500, 12, [30, 20, 10, 5], 0.3, 5).X
    X[5, 3] = np.nan
    assert pcatool.fit(X, missing=missing).k == 5


def test_applying_tells_of_holes(place: Path, run: Any) -> None:
    table = pd.read_csv(place / "x.csv")
    done = run(place, "transform", "em.npz", "x.csv", "--json", "-o", "z.csv")
    facts = json.loads(done.stdout)
    assert facts["rows_incomplete"] == int(table.isna().any(axis=1).sum())
    assert facts["rows_left_empty"] == int(table.isna().all(axis=1).sum())
    scores = pd.read_csv(place / "z.csv")
    assert len(scores) == len(table)
    assert np.array_equal(scores.isna().all(axis=1), table.isna().all(axis=1))


def test_models_tell_how_em_went(place: Path, run: Any) -> None:
    model = pcatool.load_model(place / "em.npz")
    em = model.meta["em"]
    assert em["converged"]
    assert len(em["climb"]) <= em["steps"]
    assert np.diff(em["climb"]).min() >= 0
    assert em["climb"][-1] == em["log_likelihood"]
    assert em["noise_variance"] == pytest.approx(model.noise, rel=1e-12)
    said = run(place, "explain-variance", "em.npz", "-v").stderr.decode()
    assert f"EM has converged in {em['steps']} steps" in said


# --- the model file ---


def tampered(model: Model, **changes: Any) -> bytes:
    with np.load(io.BytesIO(dumps(model))) as archive:
        arrays = dict(archive)
    meta = json.loads(str(arrays["meta"]))
    for name, value in changes.items():
        if name in arrays:
            arrays[name] = value
            meta["arrays"][name] = [value.dtype.str, list(value.shape)]
        else:
            meta[name] = value
    arrays["meta"] = np.array(json.dumps(meta))
    packed = io.BytesIO()
    np.savez(packed, **arrays)
    return packed.getvalue()


@pytest.mark.parametrize(
    "changes",
    [
        {"missing": "x"},
        {"missing": ["em"]},
        {"absent": 3},
        {"em": []},
        {"em": {"steps": "many", "converged": True, "noise_variance": 0.1, "log_likelihood": 1.0}},
        {"em": {"steps": 3}},
        {"em": {"steps": 3, "converged": True, "noise_variance": float("nan"), "log_likelihood": 1.0}},
        {"column_means": np.full(8, np.nan)},
        {"column_means": np.zeros(7)},
    ],
    ids=str,
)
def test_models_that_were_tampered_with(
    changes: dict[str, Any], models: Callable[[str], Model], tmp_path: Path, run: Any
) -> None:
    model = models("uncentred")
    assert loads(tampered(model)).k == 3
    with pytest.raises(ModelError) as caught:
        loads(tampered(model, **changes))
    assert caught.value.exit_code == 4
    (tmp_path / "m.npz").write_bytes(tampered(model, **changes))
    run(tmp_path, "explain-variance", "m.npz", "--json", "-v", code=4)

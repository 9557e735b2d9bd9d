"""The fitted record: it cannot be built wrong, and cannot be changed."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import FrozenInstanceError, fields, replace
from typing import Any

import numpy as np
import pytest

from pcatool.errors import DataError, ModelError
from pcatool.model.model import Model
from pcatool.model.npz import dumps
from solvers import tolerances as within
from solvers.cases import fit

ARRAYS = ("mean", "std", "basis", "eigenvalues")


def parts(**changed: Any) -> dict[str, Any]:
    """What a good model of three columns and two components is made of."""
    good = {
        "mean": np.array([1.0, 2.0, 3.0]),
        "std": np.array([1.0, 2.0, 0.5]),
        "basis": np.array([[0.6, 0.8], [0.8, -0.6], [0.0, 0.0]]),
        "eigenvalues": np.array([4.0, 1.0, 0.5]),
        "total_variance": 5.5,
        "n_samples": 10,
        "columns": ("a", "b", "c"),
        "meta": {"method": "pca", "ddof": 1, "center": True, "standardize": True},
    }
    return {**good, **changed}


def spoiled(name: str, at: Any, value: float) -> np.ndarray[Any, Any]:
    array = np.array(parts()[name], dtype=np.float64)
    array[at] = value
    return array


def test_the_good_one_is_good() -> None:
    model = Model(**parts())
    assert (model.d, model.k, model.n_samples, model.ddof) == (3, 2, 10, 1)
    assert model.centered
    assert model.standardized
    assert model.score_names() == ["PC1", "PC2"]
    assert model.truncated(1).score_names() == ["PC1"]


# What is wrong, and the word by which the refusal names it.
WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "mean too short": ({"mean": np.zeros(2)}, "mean"),
    "mean a matrix": ({"mean": np.zeros((3, 1))}, "mean"),
    "mean a number": ({"mean": 0.0}, "mean"),
    "std too long": ({"std": np.ones(4)}, "std"),
    "std zero": ({"std": spoiled("std", 1, 0.0)}, "std"),
    "std negative": ({"std": spoiled("std", 1, -1.0)}, "std"),
    "basis a vector": ({"basis": np.array([1.0, 0.0, 0.0])}, "basis"),
    "basis a number": ({"basis": 1.0}, "basis"),
    "basis of three dimensions": ({"basis": np.zeros((3, 2, 1))}, "basis"),
    "basis transposed": ({"basis": parts()["basis"].T}, "basis"),
    "basis without columns": ({"basis": np.zeros((3, 0))}, "components"),
    "more components than columns": ({"basis": np.zeros((3, 4)), "eigenvalues": np.zeros(4)}, "components"),
    "basis not of unit length": ({"basis": parts()["basis"] * 1.001}, "orthonormal"),
    "basis oblique": ({"basis": np.array([[0.6, 0.6], [0.8, 0.8], [0.0, 0.0]])}, "orthonormal"),
    "fewer eigenvalues than components": ({"eigenvalues": np.array([4.0])}, "eigenvalues"),
    "eigenvalues a matrix": ({"eigenvalues": np.ones((3, 1))}, "eigenvalues"),
    "eigenvalues a number": ({"eigenvalues": 4.0}, "eigenvalues"),
    "an eigenvalue below 0": ({"eigenvalues": np.array([4.0, 1.0, -1e-300])}, "eigenvalues"),
    "eigenvalues ascending": ({"eigenvalues": np.array([1.0, 4.0, 0.5])}, "descending"),
    "eigenvalues above the trace": ({"total_variance": 5.0}, "total_variance"),
    "a method that is none": ({"meta": {"method": "lda"}}, "method"),
    "a method that is no text": ({"meta": {"method": []}}, "method"),
    "a kernel without dual vectors": ({"meta": {"method": "kernel"}}, "array 'dual_vectors' is missing"),
    "an element beyond its vector": (
        {"columns": ("v[0]", "v[1]", "v[9]"), "meta": {"method": "pca", "vectors": {"v": 9}}},
        "it has a column 'v[9]', but the vectors of 'v' end at 'v[8]'",
    ),
    "trace zero": ({"eigenvalues": np.zeros(3), "total_variance": 0.0}, "total_variance"),
    "trace negative": ({"total_variance": -1.0}, "total_variance"),
    "no rows": ({"n_samples": 0}, "rows"),
    "no columns": ({"columns": (), "mean": [], "std": [], "basis": np.zeros((0, 1))}, "columns"),
    "a name twice": ({"columns": ("a", "b", "a")}, "same name"),
    "a name too many": ({"columns": ("a", "b", "c", "d")}, "columns"),
    "a basis of huge entries": ({"basis": parts()["basis"] * 1e300}, "orthonormal"),
    "eigenvalues whose sum overflows": ({"eigenvalues": np.full(3, 1.5e308), "total_variance": 1.7e308}, "total"),
    **{
        f"{name} holds {value}": ({name: spoiled(name, (1,), value)}, name)
        for name in ARRAYS
        for value in (np.nan, np.inf, -np.inf)
    },
    **{f"trace {value}": ({"total_variance": value}, "total_variance") for value in (np.nan, np.inf)},
}


@pytest.mark.parametrize("what", WRONG)
def test_cannot_be_built_wrong(what: str) -> None:
    changed, word = WRONG[what]
    with pytest.raises(ModelError) as caught:
        Model(**parts(**changed))
    assert word in str(caught.value)
    assert caught.value.exit_code == 4


@pytest.mark.parametrize("name", [field.name for field in fields(Model)])
def test_cannot_be_changed(name: str) -> None:
    model = Model(**parts())
    with pytest.raises(FrozenInstanceError):
        setattr(model, name, getattr(model, name))


@pytest.mark.parametrize("name", ARRAYS)
def test_arrays_cannot_be_written_to(name: str) -> None:
    model = Model(**parts())
    with pytest.raises(ValueError, match="read-only"):
        getattr(model, name)[0] = 0.0
    assert getattr(fit(np.random.default_rng(0).normal(size=(9, 3))), name).flags.writeable is False


def test_arrays_are_its_own() -> None:
    """What the caller does later to the arrays it was built from does not reach it."""
    given = parts()
    model = Model(**given)
    for name in ARRAYS:
        given[name][...] = 7.0
        np.testing.assert_array_equal(getattr(model, name), parts()[name])


def test_settings_are_its_own() -> None:
    given = parts()
    model = Model(**given)
    given["meta"]["ddof"] = 0
    assert model.ddof == 1


def test_survives_pickling() -> None:
    """Engines send models between processes."""
    model = Model(**parts())
    assert dumps(pickle.loads(pickle.dumps(model))) == dumps(model)


def test_numbers_of_any_kind_become_float64() -> None:
    model = Model(**parts(mean=[1, 2, 3], std=np.ones(3, np.float32), total_variance=np.float32(5.5)))
    assert {getattr(model, name).dtype for name in ARRAYS} == {np.dtype(np.float64)}
    assert type(model.total_variance) is float
    assert type(model.n_samples) is int


def test_layout_of_the_basis_does_not_show() -> None:
    one, other = Model(**parts()), Model(**parts(basis=np.asfortranarray(parts()["basis"])))
    assert one.basis.flags.c_contiguous
    assert other.basis.flags.c_contiguous


# --- use ---


def test_truncated() -> None:
    model = Model(**parts())
    cut = model.truncated(1)
    assert cut.k == 1
    np.testing.assert_array_equal(cut.basis, model.basis[:, :1])
    np.testing.assert_array_equal(cut.eigenvalues, model.eigenvalues)
    assert cut.total_variance == model.total_variance
    assert model.truncated(None) is model
    assert model.truncated(2) is model


@pytest.mark.parametrize("k", [3, 100])
def test_truncated_to_more_than_there_is(k: int) -> None:
    with pytest.raises(DataError, match="2 components"):
        Model(**parts()).truncated(k)


@pytest.mark.parametrize("k", [0, -1])
def test_truncated_to_nothing(k: int) -> None:
    with pytest.raises((DataError, ModelError)):
        Model(**parts()).truncated(k)


def test_scores_of_fewer_components_come_back_too() -> None:
    model = Model(**parts())
    Z = np.array([[1.0, -2.0]])
    np.testing.assert_array_equal(model.reconstruct(Z[:, :1]), model.truncated(1).reconstruct(Z[:, :1]))
    with pytest.raises(DataError, match="3 scores"):
        model.reconstruct(np.zeros((1, 3)))


def test_formulas() -> None:
    """z = B^T ((x - mu) / sigma), x~ = sigma * (B z) + mu, by hand."""
    model = Model(**parts())
    X = np.array([[2.0, 6.0, 3.0]])
    np.testing.assert_allclose(model.project(X), [[0.6 + 1.6, 0.8 - 1.2]], atol=1e-15)
    np.testing.assert_allclose(model.reconstruct(np.array([[1.0, 0.0]])), [[1.6, 3.6, 3.0]], atol=1e-15)
    np.testing.assert_allclose(model.squared_error(np.array([[2.0, 6.0, 4.0]])), [4.0], atol=1e-14)


def test_projecting_far_from_the_origin_keeps_digits() -> None:
    """(X - mu) B, not X B - mu B: at 1e8 the latter keeps eight digits fewer."""
    rng = np.random.default_rng(5)
    Y = np.round(rng.normal(size=(50, 3)) * 2**10) / 2**10
    near, far = fit(Y, components=3), fit(Y + 2.0**27, components=3)
    assert np.abs(near.project(Y) - far.project(Y + 2.0**27)).max() <= 3e-8  # half a unit in the last place of the mean
    differences = np.diff(far.project(Y + 2.0**27), axis=0) - np.diff(near.project(Y), axis=0)
    assert np.abs(differences).max() <= within.ROUND_TRIP * np.abs(Y).max() * 10


@pytest.mark.parametrize("use", [Model.project, Model.squared_error], ids=["project", "squared_error"])
def test_no_rows(use: Callable[[Model, Any], Any]) -> None:
    assert len(use(fit(np.random.default_rng(0).normal(size=(9, 3)), components=3), np.empty((0, 3)))) == 0


# --- past the rank ---


@pytest.fixture
def flat() -> Model:
    """Three columns of which the third is the sum of the others; all three components kept."""
    rng = np.random.default_rng(3)
    X = rng.integers(-9, 10, (40, 2)).astype(np.float64)
    return fit(np.column_stack([X, X.sum(axis=1)]), components=3)


def test_new_rows_off_the_plane_have_a_score_there(flat: Model) -> None:
    """Zero scores are for what rounding explains; a row that leaves the plane must show."""
    away = flat.mean + flat.basis[:, 2]
    for distance in (1.0, 1e-3, 1e-9):
        row = flat.mean + distance * (away - flat.mean)
        score = flat.project(row[None, :])[0, 2]
        assert abs(score - distance) <= 1e-6 * distance + 1e-14


def test_new_rows_in_the_plane_have_none(flat: Model) -> None:
    rng = np.random.default_rng(4)
    X = rng.normal(size=(500, 2)) * 10.0 ** rng.integers(-3, 6, (500, 1))
    rows = np.column_stack([X, X.sum(axis=1)])
    assert np.all(flat.project(rows)[:, 2] == 0)


@pytest.mark.parametrize("factor", [1e-12, 1e-6, 1e6, 1e12])
def test_units_do_not_decide_what_is_noise(flat: Model, factor: float) -> None:
    rng = np.random.default_rng(3)
    X = rng.integers(-9, 10, (40, 2)).astype(np.float64)
    X = np.column_stack([X, X.sum(axis=1)]) * factor
    model = fit(X, components=3)
    assert np.all(model.project(X)[:, 2] == 0)
    assert model.meta["rank"] == flat.meta["rank"] == 2
    away = model.mean + factor * model.basis[:, 2]
    assert abs(model.project(away[None, :])[0, 2] - factor) <= 1e-6 * factor


def test_a_row_too_large_to_square_keeps_its_score(flat: Model) -> None:
    row = flat.mean + 1e200 * flat.basis[:, 2]
    with np.errstate(over="ignore"):
        assert flat.project(row[None, :])[0, 2] == pytest.approx(1e200)


def test_same_model_with_more_said() -> None:
    model = Model(**parts())
    more = model.with_meta(note="x")
    assert more.meta["note"] == "x"
    assert "note" not in model.meta
    assert replace(more, meta=model.meta).meta == model.meta

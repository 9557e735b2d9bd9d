"""What components are made of, against numpy on the same rows; and what cannot be told of a model."""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import pcatool
from pcatool.model.model import Model
from pcatool.options.showing import VALUES, ComponentsOptions, parse_values
from pcatool.pipeline.loadings import PANELS, component_table, components_picture, images_shown, table_caption

ROOT = Path(__file__).resolve().parents[2]
DIGITS = pd.read_csv(ROOT / "sample_data" / "digits.csv").drop(columns="digit")
ARRESTS = pd.read_csv(ROOT / "tests" / "data" / "usarrests.csv").drop(columns="state")

FITS = {
    "arrests": (ARRESTS, {"components": "all"}),
    "arrests, some": (ARRESTS, {"components": 2}),
    "arrests, standardised": (ARRESTS, {"components": "all", "standardize": True}),
    "arrests, standardised, some, ddof 1": (ARRESTS, {"components": 3, "standardize": True, "ddof": 1}),
    "arrests, ddof 1": (ARRESTS, {"components": 2, "ddof": 1}),
    "arrests, whitened": (ARRESTS, {"components": 3, "whiten": "pca", "epsilon": 0.5}),
    "digits": (DIGITS, {"components": 12}),
    "digits, all": (DIGITS, {"components": "all"}),
    "digits, tsqr": (DIGITS, {"components": 12, "solver": "tsqr"}),
    "digits, standardised": (DIGITS, {"components": 5, "standardize": True}),
}


def without_variances(model: pcatool.Model) -> pcatool.Model:
    """As files of format 1 are."""
    return replace(model, variances=None, statistic=None)


def matrix(model: Model, values: str, first: int | None = None) -> np.ndarray:
    table = component_table(model, [values], first)
    return np.column_stack([column for name, column in table.items() if name != "column"])


def correlated(X: np.ndarray, Z: np.ndarray) -> np.ndarray:
    """(d, k) by numpy; a constant column has none, which numpy calls not a number, and we 0."""
    d = X.shape[1]
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.nan_to_num(np.corrcoef(X.T, Z.T)[:d, d:])


@pytest.fixture(params=FITS)
def fitted(request: pytest.FixtureRequest) -> tuple[np.ndarray, Model]:
    frame, settings = FITS[request.param]
    return frame.to_numpy(float), pcatool.fit(frame, **settings)


# --- values ---


def test_loadings_are_the_basis(fitted: tuple[np.ndarray, Model]) -> None:
    _, model = fitted
    np.testing.assert_array_equal(matrix(model, "loadings"), model.basis)


def test_correlations_are_those_of_columns_and_scores(fitted: tuple[np.ndarray, Model]) -> None:
    X, model = fitted
    found = matrix(model, "correlations")
    np.testing.assert_allclose(found, correlated(X, model.project(X)), rtol=0, atol=1e-10)
    assert np.abs(found).max() <= 1


def test_contributions_add_up_to_100_for_each_component(fitted: tuple[np.ndarray, Model]) -> None:
    _, model = fitted
    found = matrix(model, "contributions")
    np.testing.assert_allclose(found, 100 * model.basis**2, rtol=1e-15)
    np.testing.assert_allclose(found.sum(axis=0), 100, rtol=1e-12)


def test_cos2_is_the_share_of_the_columns_variance(fitted: tuple[np.ndarray, Model]) -> None:
    """What it leaves is what the components leave of the column: its squared error over its variance."""
    X, model = fitted
    found = matrix(model, "cos2")
    np.testing.assert_allclose(found, matrix(model, "correlations") ** 2, rtol=0, atol=1e-15)
    varies = X.std(axis=0) > 0
    left = ((X - model.reconstruct(model.project(X))) ** 2).mean(axis=0)[varies] / X.var(axis=0)[varies]
    np.testing.assert_allclose(1 - found.sum(axis=1)[varies], left, rtol=0, atol=1e-10)
    np.testing.assert_array_equal(found[~varies], 0)


def test_a_constant_column_correlates_with_nothing() -> None:
    X = np.column_stack([ARRESTS.to_numpy(float), np.full(len(ARRESTS), 0.1)])
    for settings in ({}, {"standardize": True}, {"solver": "svd"}, {"components": 5}):
        with warnings.catch_warnings(), np.errstate(all="raise"):
            warnings.simplefilter("ignore", pcatool.PcatoolWarning)  # of a component past the rank
            found = matrix(pcatool.fit(X, **settings), "correlations")
        np.testing.assert_array_equal(found[-1], 0)


def test_columns_of_very_different_scale_correlate_as_well() -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(300, 4)) @ rng.normal(size=(4, 4)) * [1e-8, 1.0, 1e8, 1e-3]
    for standardize in (False, True):
        model = pcatool.fit(X, components=2, standardize=standardize)
        np.testing.assert_allclose(matrix(model, "correlations"), correlated(X, model.project(X)), rtol=0, atol=1e-10)


def test_correlations_heed_the_weights() -> None:
    rng = np.random.default_rng(2)
    frame = pd.DataFrame(rng.normal(size=(40, 3)) @ rng.normal(size=(3, 3)), columns=list("abc"))
    times = rng.integers(1, 5, 40)
    weighted = pcatool.fit(frame.assign(w=times), weights="w", components=2)
    repeated = pcatool.fit(frame.loc[frame.index.repeat(times)], components=2)
    np.testing.assert_allclose(matrix(weighted, "correlations"), matrix(repeated, "correlations"), rtol=0, atol=1e-10)


def test_rows_about_their_mean_are_what_correlates() -> None:
    X = DIGITS.to_numpy(float)
    model = pcatool.fit(DIGITS, components=4, center_rows=True)
    Y = X - X.mean(axis=1, keepdims=True)
    np.testing.assert_allclose(matrix(model, "correlations"), correlated(Y, model.project(X)), rtol=0, atol=1e-10)


# --- models that hold no variances, and such as are not centred ---


@pytest.mark.parametrize("frame", [ARRESTS, DIGITS], ids=["arrests", "digits"])
def test_variances_are_recovered_from_all_components(frame: pd.DataFrame) -> None:
    model = pcatool.fit(frame, components="all")
    np.testing.assert_allclose(
        matrix(replace(model, variances=None, statistic=None), "correlations"),
        matrix(model, "correlations"),
        rtol=0,
        atol=1e-10,
    )


def test_a_standardised_model_needs_no_variances() -> None:
    model = pcatool.fit(DIGITS, components=3, standardize=True)
    np.testing.assert_allclose(
        matrix(replace(model, variances=None, statistic=None), "correlations"),
        matrix(model, "correlations"),
        rtol=0,
        atol=1e-10,
    )


def test_some_components_do_not_tell_the_variances() -> None:
    model = without_variances(pcatool.fit(ARRESTS, components=2))
    with pytest.raises(pcatool.ModelError) as caught:
        component_table(model, ["cos2"])
    assert str(caught.value) == (
        "correlations and cos2 need the variances of the columns, but the model does not hold these variances: "
        "the model was made by an earlier version of pcatool, or by scikit-learn; "
        "run pcatool fit on the same rows"
    )
    assert len(component_table(model, ["loadings", "contributions"])) == 4


@pytest.mark.parametrize("components", [2, "all"])
def test_without_centring_there_are_no_correlations(components: int | str) -> None:
    model = pcatool.fit(ARRESTS, components=components, center=False)
    with pytest.raises(pcatool.UsageError) as caught:
        component_table(model, ["correlations"])
    assert str(caught.value) == (
        "correlations and cos2 are not defined for a model fitted with --no-center; "
        "fit without --no-center, or give --values loadings or --values contributions"
    )


def test_supervised_models_have_loadings_and_contributions_only() -> None:
    model = pcatool.fit(ARRESTS, components=1, method="supervised", label="Murder")
    assert list(component_table(model, ["loadings", "contributions"]))[2:] == ["loading", "contribution"]
    for values in ("correlations", "cos2"):
        with pytest.raises(
            pcatool.UsageError,
            match="whose eigenvalues are not variances of scores; give --values loadings or --values contributions",
        ):
            component_table(model, ["loadings", values])


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_kernel_models_are_not_made_of_columns(kernel: str) -> None:
    model = pcatool.fit(ARRESTS, components=2, method="kernel", kernel=kernel)
    for ask in (lambda: component_table(model), lambda: components_picture(model, (2, 2), "png")):
        with pytest.raises(pcatool.UsageError) as caught:
            ask()
        assert str(caught.value) == (
            "the components of a kernel model are directions in the kernel space, "
            "not combinations of columns; for scores, run pcatool transform"
        )


# --- the table ---


def test_one_value_has_a_column_for_each_component() -> None:
    model = pcatool.fit(ARRESTS, components=3)
    table = component_table(model, ["loadings"], 2)
    assert list(table) == ["column", "PC1", "PC2"]
    assert list(table["column"]) == list(ARRESTS.columns)
    np.testing.assert_array_equal(table["PC2"], model.basis[:, 1])


def test_several_values_have_a_row_for_each_component_and_column() -> None:
    model = pcatool.fit(ARRESTS, components=3)
    table = component_table(model, ["cos2", "loadings"], 2)
    assert list(table) == ["component", "column", "cos2", "loading"]
    assert table["component"].tolist() == [1] * 4 + [2] * 4
    assert table["column"].tolist() == [*ARRESTS.columns] * 2
    np.testing.assert_array_equal(table["loading"], model.basis[:, :2].T.ravel())
    np.testing.assert_array_equal(table["cos2"], matrix(model, "cos2", 2).T.ravel())


def test_names_are_taken_as_they_are() -> None:
    names = ["PC1", "column", "a\x07", " b,"]
    frame = ARRESTS.set_axis(names, axis=1)
    assert component_table(pcatool.fit(frame))["column"].tolist() == names


def test_zero_has_no_sign() -> None:
    model = pcatool.fit(np.array([[2.0, 0], [-2, 0], [0, 1], [0, -1]]), components="all")
    model = replace(model, basis=-model.basis)
    assert not np.any(np.signbit(matrix(model, "loadings")[[0, 1], [1, 0]]))


def test_more_components_than_there_are_is_refused() -> None:
    model = pcatool.fit(ARRESTS, components=2)
    remedy = "give a smaller number, or fit with a larger -k"
    for few, count in ((model, "2 components"), (model.truncated(1), "1 component")):
        with pytest.raises(pcatool.DataError) as caught:
            component_table(few, first=3)
        assert str(caught.value) == f"--first 3: the model has {count}; {remedy}"


def test_a_caption_says_what_the_numbers_are() -> None:
    model = pcatool.fit(ARRESTS, components=3, ddof=1)
    assert table_caption(model, ["contributions", "cos2"], 1) == (
        "contributions of columns to components in per cent; "
        "cos2, the share of a column's variance that a component explains; "
        "centred, not standardised, divisor n - 1 (ddof 1); the first 1 of 3 components"
    )
    for name in VALUES:
        assert table_caption(model, [name], None).endswith("; k = 3")


# --- what is asked for ---


def test_options_are_made_what_they_stand_for() -> None:
    asked = ComponentsOptions(values="cos2,loadings,cos2", first="4")
    assert (asked.values, asked.first, asked.image) == (("cos2", "loadings"), 4, None)
    for text in ("8x4", "8X4", "8×4"):
        assert ComponentsOptions(image=text).image == (8, 4)


@pytest.mark.parametrize("text", ["8", "x8", "0x8", "8x8x8", "8 x 8", "-8x8", "1.5x2", "٨x٨", ""])
def test_other_sizes_are_refused(text: str) -> None:
    with pytest.raises(pcatool.UsageError, match="is not a size; give height x width in pixels, such as 28x28"):
        ComponentsOptions(image=text)


def test_no_values_are_refused() -> None:
    with pytest.raises(pcatool.UsageError, match="--values is empty; give one or more of loadings, correlations"):
        parse_values([])
    with pytest.raises(pcatool.UsageError, match=r"invalid value 'loading' for --values: .*; did you mean loadings\?"):
        parse_values("loading")


def test_a_picture_shows_no_more_than_can_be_told_apart() -> None:
    model = pcatool.fit(DIGITS, components=40)
    assert [images_shown(model, first) for first in (None, 1, 40)] == [PANELS, 1, 40]
    assert images_shown(model.truncated(5), None) == 5


# --- from Python ---


def test_a_frame_of_a_model_a_path_or_data(tmp_path: Path) -> None:
    model = pcatool.fit(ARRESTS, components=2)
    pcatool.save_model(model, tmp_path / "m.npz")
    frames = [
        pcatool.components(model),
        pcatool.components(tmp_path / "m.npz"),
        pcatool.components(ARRESTS, components=2),
    ]
    for frame in frames:
        pd.testing.assert_frame_equal(frame, frames[0])
    assert frames[0].columns.tolist() == ["column", "PC1", "PC2"]
    long = pcatool.components(model, values=["loadings", "cos2"], first=np.int64(1))
    assert long.columns.tolist() == ["component", "column", "loading", "cos2"]
    assert len(long) == 4


def test_a_picture_in_a_file(tmp_path: Path) -> None:
    model = pcatool.fit(DIGITS, components=3)
    assert pcatool.components(model, image=(8, 8), output=tmp_path / "a.png") is None
    pcatool.components(DIGITS, image="8x8", first=2, output=tmp_path / "b.png", components=3)
    first, second = ((tmp_path / name).read_bytes() for name in ("a.png", "b.png"))
    assert first == components_picture(model, (8, 8), "png") != second
    assert second == components_picture(model, (8, 8), "png", 2)


def test_a_picture_needs_a_size_a_file_and_that_many_pixels(tmp_path: Path) -> None:
    model = pcatool.fit(DIGITS, components=3)
    for settings in ({"image": (8, 8)}, {"output": tmp_path / "a.png"}):
        with pytest.raises(pcatool.UsageError, match="a picture needs both image and output; give image and output"):
            pcatool.components(model, **settings)
    with pytest.raises(pcatool.UsageError, match=r"end the name with \.png, \.svg or \.pdf"):
        pcatool.components(model, image=(8, 8), output=tmp_path / "a.gif")
    with pytest.raises(
        pcatool.DataError, match=r"an image of 8x7 has 56 pixels, but the model has 64 columns; .* columns, .* exclude"
    ):
        pcatool.components(model, image=(8, 7), output=tmp_path / "a.png")
    assert list(tmp_path.iterdir()) == []

"""Models of the sums that models keep: what a fit of all the rows would have given, whatever way the rows came."""

from __future__ import annotations

import dataclasses
import io
import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import pcatool
from often import often
from pcatool.api.messages import with_settings
from pcatool.errors import DataError, MissingColumns, ModelError, PcatoolWarning, RefusedError, UsageError
from pcatool.linalg.row_sums import Statistic
from pcatool.methods.base import why_not_updatable
from pcatool.methods.sums import fit_from_statistic, options_of
from pcatool.model.model import Model
from pcatool.model.npz import dumps, loads
from pcatool.pipeline.combine import merge
from pcatool.progress import Reporter

pytestmark = pytest.mark.filterwarnings("ignore::pcatool.PcatoolWarning")

N = 700
CUTS = [0, 300, 302, 340, 500, 699, N]  # a part of two rows, and a last one of a single row

FITS: dict[str, dict[str, Any]] = {
    "plain": {},
    "standardised": {"standardize": True},
    "ddof 1": {"standardize": True, "ddof": 1},
    "tsqr": {"solver": "tsqr"},
    "svd": {"solver": "svd", "standardize": True},
    "rows centred": {"center_rows": True},
    "whitened": {"whiten": "zca", "components": 5},
    "a share": {"components": 0.9},
    "a rule": {"components": "broken-stick"},
    "occurrences": {"weights": "w", "standardize": True},
    "reliability": {"weights": "w", "weights_kind": "reliability", "ddof": 1},
    "classes": {"method": "supervised", "label": "species", "components": 2},
    "classes, standardised": {"method": "supervised", "label": "species", "components": 2, "standardize": True},
    "numbers": {"method": "supervised", "label": "y", "components": 1, "ddof": 1},
}


def table(offset: float, seed: int = 0, n: int = N) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 5)) @ np.diag([3, 2, 1.4, 1, 0.6]) @ rng.standard_normal((5, 5)) + offset
    frame = pd.DataFrame(X, columns=list("abcde"))
    frame["w"] = rng.integers(1, 5, n).astype(float)
    frame["y"] = frame["a"] - 0.5 * frame["b"] + rng.standard_normal(n)
    frame["species"] = rng.choice(["ant", "bee", "cat"], n)
    return frame


def fitted(frame: pd.DataFrame, settings: dict[str, Any]) -> Model:
    others = {"w", "y", "species"} - {settings.get("weights"), settings.get("label")}
    return pcatool.fit(frame.drop(columns=list(others)), **{"components": 4, **settings})


def assert_same(model: Model, one: Model, bound: float = 1e-11) -> None:
    assert (model.columns, model.k, model.n_samples) == (one.columns, one.k, one.n_samples)
    np.testing.assert_allclose(model.mean, one.mean, rtol=bound, atol=1e-15)
    np.testing.assert_allclose(model.std, one.std, rtol=bound)
    np.testing.assert_allclose(model.eigenvalues, one.eigenvalues, rtol=bound, atol=bound * one.eigenvalues[0])
    np.testing.assert_allclose(model.basis, one.basis, rtol=0, atol=bound)
    np.testing.assert_allclose(model.total_variance, one.total_variance, rtol=bound)
    for name in ("center", "standardize", "ddof", "whiten", "weights", "weights_kind", "labels", "components", "rank"):
        assert model.meta.get(name) == one.meta.get(name), name
    assert model.meta["certificate"]["vouched"] == one.meta["certificate"]["vouched"]


@pytest.mark.parametrize("offset", [0.0, 1e6])
@pytest.mark.parametrize("settings", FITS.values(), ids=FITS)
def test_what_comes_and_goes_leaves_what_a_fit_gives(settings: dict[str, Any], offset: float) -> None:
    frame = table(offset)
    parts = [frame[a:b] for a, b in itertools.pairwise(CUTS)]
    one = fitted(frame, settings)
    small = {**settings, "components": 1} if "components" not in settings else settings
    big = fitted(parts[0], settings)
    model = big
    for part in parts[1:]:
        model = pcatool.update(loads(dumps(model)), part)
    assert_same(model, one)
    if settings.get("method") != "supervised" and "whiten" not in settings:
        merged = pcatool.merge(*(fitted(part, small) for part in parts[:1] + parts[2:5]))
        rows = pd.concat([*parts[:1], *parts[2:5]])
        assert_same(merged, fitted(rows, small))
    rest = pd.concat([parts[0], *parts[3:]])
    left = pcatool.subtract(model, pd.concat(parts[1:3]))
    assert_same(left, fitted(rest, settings))
    assert_same(pcatool.subtract(model, fitted(pd.concat(parts[1:3]), settings)), fitted(rest, settings))


@pytest.mark.parametrize("standardize", [False, True])
def test_thirty_nights_against_longer_numbers(standardize: bool) -> None:
    frame = table(1e6, n=3100).drop(columns=["w", "y", "species"])
    model = pcatool.fit(frame[:100], components=5, standardize=standardize)
    for night in range(30):
        model = pcatool.update(model, frame[100 * (night + 1) : 100 * (night + 2)])
    X = frame.to_numpy().astype(np.longdouble)
    Xc = X - X.mean(axis=0)
    if standardize:
        Xc /= np.sqrt((Xc**2).mean(axis=0))
    S = (Xc.T @ Xc / len(X)).astype(float)
    np.testing.assert_allclose(model.eigenvalues, np.linalg.eigvalsh(S)[::-1], rtol=1e-12)
    np.testing.assert_allclose(model.mean, X.mean(axis=0).astype(float), rtol=1e-15)
    residual = S @ model.basis - model.basis * model.eigenvalues
    assert np.abs(residual).max() < 1e-12 * model.eigenvalues[0]
    assert max(model.meta["certificate"]["relative_error"]) < 1e-11
    assert_same(model, pcatool.fit(frame, components=5, standardize=standardize))


def test_classes_that_come_and_go() -> None:
    frame = table(0.0).drop(columns=["w", "y"])
    settings = {"method": "supervised", "label": "species", "components": 1}
    without = frame[frame.species != "cat"]
    cats = frame[frame.species == "cat"]
    model = pcatool.update(pcatool.fit(without, **settings), cats)
    assert_same(model, pcatool.fit(pd.concat([without, cats]), **settings))
    back = pcatool.subtract(model, cats)
    assert_same(back, pcatool.fit(without, **settings))
    assert back.statistic is not None
    assert set(back.statistic.classes) == {"ant", "bee"}
    with pytest.raises(DataError, match=r"the model has no class 'cat'; give rows that the model was fitted to"):
        pcatool.subtract(pcatool.fit(without, **settings), cats)


def test_labels_that_were_never_there_are_not_taken_out() -> None:
    frame = table(0.0).drop(columns=["w"])
    settings = {"method": "supervised", "components": 1}
    why = "not in the model: {}; give rows that the model was fitted to"
    classes = frame.drop(columns="y").assign(species=["cat"] * 3 + ["bee"] * (N - 3))
    with pytest.raises(DataError, match=why.format("the rows to remove include more rows of class 'cat' than .*")):
        pcatool.subtract(pcatool.fit(classes, label="species", **settings), classes[3:13].assign(species="cat"))
    numbers = frame.drop(columns="species")
    with pytest.raises(DataError, match=why.format("label 'y' of the remaining rows would have a variance below 0")):
        pcatool.subtract(pcatool.fit(numbers, label="y", **settings), numbers[:10].assign(y=1e3))
    same = numbers.assign(y=np.where(np.arange(N) < 10, numbers["y"], 5.0))
    with pytest.raises(DataError, match="label 'y' is '5' in every row"):
        pcatool.subtract(pcatool.fit(same, label="y", **settings), same[:10])


REFITS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "k": ({}, {"components": 2}),
    "a share": ({}, {"components": 0.8}),
    "a rule": ({"standardize": True}, {"components": "marchenko-pastur"}),
    "standardised": ({}, {"standardize": True}),
    "no more": ({"standardize": True}, {"standardize": False}),
    "about zero": ({"components": 3}, {"center": False}),
    "about the mean": ({"components": 3, "center": False}, {"center": True}),
    "ddof": ({}, {"ddof": 1, "components": 5}),
    "whitened": ({}, {"whiten": "zca", "components": 3}),
    "epsilon": ({"whiten": "pca", "components": 3}, {"epsilon": 0.5}),
    "white no more": ({"whiten": "pca", "epsilon": 0.25}, {"whiten": "none"}),
    "weights": ({"weights": "w"}, {"ddof": 1, "standardize": True}),
    "supervised": ({"method": "supervised", "label": "species", "components": 2}, {"standardize": True}),
}


@pytest.mark.parametrize(("settings", "changes"), REFITS.values(), ids=REFITS)
def test_refit_gives_what_a_fit_with_these_settings_gives(settings: dict[str, Any], changes: dict[str, Any]) -> None:
    frame = table(10.0)
    both = {**settings, **changes}
    if both.get("whiten") == "none":
        both.pop("epsilon", None)
    assert_same(pcatool.refit(fitted(frame, settings), **changes), fitted(frame, both))


@pytest.mark.parametrize("settings", [{}, {"solver": "tsqr"}, {"method": "supervised", "label": "y", "components": 1}])
def test_refit_drops_columns(settings: dict[str, Any]) -> None:
    frame = table(10.0)
    settings = {"components": 1, **settings}
    model = pcatool.refit(fitted(frame, settings), exclude="b,d")
    assert_same(model, fitted(frame.drop(columns=["b", "d"]), settings))
    assert pcatool.refit(fitted(frame, settings), columns="a-c", exclude="b").columns == ("a", "c")
    assert_same(pcatool.refit(model, exclude="e"), fitted(frame.drop(columns=["b", "d", "e"]), settings))


def test_refit_takes_columns_in_the_order_in_which_they_are_named() -> None:
    frame = table(10.0)
    names = ["d", "a", "c"]
    model = pcatool.refit(fitted(frame, {"components": 2}), columns=names)
    assert model.columns == ("d", "a", "c")
    assert_same(model, pcatool.fit(frame, columns=names, components=2))


def test_refit_drops_a_vector_whole() -> None:
    rows = np.random.default_rng(0).standard_normal((40, 3))
    frame = pd.DataFrame({"v": list(rows), "a": rows[:, 0] ** 2, "b": rows[:, 1] ** 2})
    model = pcatool.fit(frame, columns=["v", "a", "b"])
    assert pcatool.refit(model, exclude="v").columns == ("a", "b")
    assert pcatool.refit(model, exclude="v[1]").columns == ("v[0]", "v[2]", "a", "b")


def test_columns_in_another_order_and_more_of_them() -> None:
    frame = table(5.0).drop(columns=["w", "y", "species"])
    model, other = pcatool.fit(frame[:400]), pcatool.fit(frame.loc[400:, list("edcba")])
    one = pcatool.fit(frame)
    assert_same(pcatool.merge(model, other), one)
    more = frame[400:].assign(z=1.0)[["z", *"ecabd"]]
    assert_same(pcatool.update(model, more), one)


def test_the_statistic_survives_the_file() -> None:
    for settings in FITS.values():
        model = fitted(table(1e3), settings)
        assert model.statistic is not None
        again = loads(dumps(model)).statistic
        assert again is not None
        assert again.classes == model.statistic.classes
        for name, array in model.statistic.arrays().items():
            np.testing.assert_array_equal(again.arrays()[name], array)
        assert dumps(loads(dumps(model))) == dumps(model)


def test_what_is_kept_depends_on_columns_and_the_flag() -> None:
    rng = np.random.default_rng(0)
    wide = rng.standard_normal((30, 1025))
    assert pcatool.fit(wide, components=2).statistic is None
    assert why_not_updatable(pcatool.fit(wide, components=2)) == (
        "the model has more than 1024 columns, and --updatable was not given"
    )
    kept = pcatool.fit(wide, components=2, updatable=True).statistic
    assert kept is not None
    assert kept.arrays()["factor"].shape == (30, 1025)  # no more numbers than the rows have
    assert pcatool.fit(wide[:, :1024], components=2).statistic is not None
    bare = pcatool.fit(wide[:, :4], components=2, updatable=False)
    assert bare.statistic is None
    assert (
        why_not_updatable(bare) == "the model was fitted with --no-updatable, or by an older pcatool that kept no sums"
    )


UNKEPT: dict[str, tuple[dict[str, Any], str]] = {
    "kernel": ({"method": "kernel"}, "kernel PCA keeps rows, not sums over rows"),
    "rbf": (
        {"method": "supervised", "label": "y", "label_kernel": "rbf"}, "the label kernel rbf compares the labels of "
        "all pairs of rows"
    ),
    "in features": (
        {"method": "supervised", "label": "y", "kernel": "rbf"},
        "with --kernel, the fit compares all pairs of rows",
    ),
    "mean": ({"missing": "mean"}, "the values that replace missing cells depend on all rows"),
    "em": ({"missing": "em"}, "the values that replace missing cells depend on all rows"),
    "randomized": ({"solver": "randomized", "components": 2}, "solver randomized computes no sums over rows"),
}  # fmt: skip


@pytest.mark.parametrize(("settings", "reason"), UNKEPT.values(), ids=UNKEPT)
def test_what_cannot_be_added_to_is_refused_with_the_reason(settings: dict[str, Any], reason: str) -> None:
    frame = table(0.0, n=60)
    model = fitted(frame, {"components": 1, **settings})
    plain = fitted(frame, {"components": 1})
    for command, rows, refused in (
        ("update", "the old and the new rows together", lambda: pcatool.update(model, frame)),
        ("merge", "the rows of all models together", lambda: pcatool.merge(model)),
        ("merge", "the rows of all models together", lambda: pcatool.merge(plain, model)),
        ("subtract", "the rows that remain", lambda: pcatool.subtract(model, frame)),
        ("subtract", "the rows that remain", lambda: pcatool.subtract(plain, model)),
        ("refit", "the same rows with the new settings", lambda: pcatool.refit(model, components=1)),
    ):
        with pytest.raises(ModelError) as error:
            refused()
        said = f"{command} needs sums over rows, but 'the model' keeps no sums: {reason}; run pcatool fit on {rows}"
        assert str(error.value) == with_settings(said)
    for flag in (True, False):
        with pytest.raises(UsageError) as wrong:
            fitted(frame, {"components": 1, **settings, "updatable": flag})
        name = "--updatable" if flag else "--no-updatable"
        assert str(wrong.value) == with_settings(f"{name} has no effect: {reason}; leave out {name}")


def test_what_a_report_would_not_keep_is_refused() -> None:
    for flag, name in ((True, "--updatable"), (False, "--no-updatable")):
        for report in (pcatool.explain_variance, pcatool.components, pcatool.scree, pcatool.compare_rules):
            with pytest.raises(UsageError) as wrong:
                report(table(0.0, n=60), updatable=flag)
            assert str(wrong.value) == with_settings(f"{name} has no effect: no model is written; leave out {name}")


def test_models_of_different_things_are_not_merged() -> None:
    frame = table(0.0, n=60)
    for one, other, flag, said in (
        (
            {},
            {"standardize": True},
            "--standardize",
            "no and yes; use pcatool refit to change --standardize",
        ),
        ({}, {"center": False}, "--center", "yes and no; use pcatool refit"),
        ({"ddof": 1}, {}, "--ddof", "'1' and '0'; use pcatool refit"),
        ({}, {"center_rows": True}, "--center-rows", "no and yes; fit both models with the same settings"),
        ({}, {"weights": "w"}, "--weights", "no and 'w'; fit both models with the same settings"),
        ({"whiten": "pca"}, {}, "--whiten", "'pca' and no; use pcatool refit"),
        ({"whiten": "pca", "epsilon": 0.5}, {"whiten": "pca"}, "--epsilon", "'0.5' and no; use pcatool refit"),
        ({}, {"method": "supervised", "label": "y", "components": 1}, "--method", "'pca' and 'supervised'"),
    ):
        with pytest.raises(ModelError, match=with_settings(f"'the model' and 'the model' differ in {flag}: {said}")):
            pcatool.merge(fitted(frame, one), fitted(frame, other))
    by = {"method": "supervised", "components": 1}
    labels = fitted(frame, {**by, "label": "y"}), fitted(frame, {**by, "label": "species"})
    with pytest.raises(ModelError, match="differ in label: 'y' and 'species'; fit both models with the same settings"):
        pcatool.merge(*labels)
    fewer = fitted(frame.drop(columns="c"), {})
    remedy = "fit 'the model' and 'the model' with the same columns"
    with pytest.raises(MissingColumns, match=rf"the model: no column 'c' .*; {remedy}"):
        pcatool.merge(fitted(frame, {}), fewer)
    with pytest.raises(MissingColumns, match=rf"the model: no column 'c' .*; {remedy}"):
        pcatool.merge(fewer, fitted(frame, {}))


def test_a_merge_says_whose_k_it_takes() -> None:
    one, two = fitted(table(0.0), {"components": 1}), fitted(table(3.0), {"components": 2})
    reporter = Reporter()
    merge([("one.npz", one), ("two.npz", two)], None, reporter)
    assert reporter.notes == ["the merged model uses -k 1 of 'one.npz'; 'two.npz' was fitted with another -k"]


def test_slips_are_mentioned() -> None:
    model = fitted(table(0.0), {})
    with pytest.warns(pcatool.PcatoolWarning, match="'the model' and 'the model' seem to hold the same rows"):
        pcatool.merge(model, fitted(table(0.0), {"components": 2}))
    with pytest.warns(pcatool.PcatoolWarning, match="the input has no rows: the model is unchanged"):
        assert dumps(pcatool.update(model, table(0.0)[:0].drop(columns=["w", "y", "species"]))) == dumps(model)
    holes = table(0.0)[:3].drop(columns=["w", "y", "species"]).assign(a=np.nan)
    with pytest.warns(pcatool.PcatoolWarning, match="every row of the input was dropped: the model is unchanged"):
        assert dumps(pcatool.update(model, holes, missing="drop")) == dumps(model)
    with pytest.raises(UsageError, match=r"merge needs a model; give one model or more"):
        pcatool.merge()
    with pytest.raises(UsageError, match=r"no setting is changed; give components, standardize=True, "):
        pcatool.refit(model)
    with pytest.raises(DataError, match=r"no column is left; name fewer columns with exclude"):
        pcatool.refit(model, exclude="a-e")
    with pytest.raises(
        UsageError,
        match="the mean of a row includes all columns, so no column can be dropped; run pcatool fit --center-rows",
    ):
        pcatool.refit(fitted(table(0.0), {"center_rows": True}), exclude="a")
    with pytest.raises(RefusedError, match=r"cross-validation. needs the rows"):
        pcatool.refit(model, components="cross-validation")
    with pytest.raises(UsageError, match="epsilon has no effect without whiten"):
        pcatool.refit(model, epsilon=1.0)
    for wrong in ({"ddof": 2}, {"whiten": "yes"}, {"components": 0}):
        with pytest.raises(UsageError):
            pcatool.refit(model, **wrong)
    with pytest.raises(UsageError, match="invalid value 'mean' for missing: choose error or drop"):
        pcatool.update(model, table(0.0), missing="mean")


def test_rows_with_holes_go_as_they_went_in_the_fit() -> None:
    frame = table(0.0).drop(columns=["w", "y", "species"])
    holes = frame.copy()
    holes.loc[650, "b"] = np.nan
    model = pcatool.fit(frame[:600])
    with pytest.raises(DataError, match="1 of 100 rows has missing cells") as error:
        pcatool.update(model, holes[600:])
    assert error.value.remedy == 'give missing="drop" to leave out rows with missing cells'
    one = pcatool.fit(frame.drop(index=650))
    assert_same(pcatool.update(model, holes[600:], missing="drop"), one)
    dropping = pcatool.fit(frame[:600], missing="drop")
    assert_same(pcatool.update(dropping, holes[600:]), one)


@pytest.mark.parametrize("label", [["species"], ["species", "grade"]])
def test_a_class_of_dropped_rows_alone_is_none(label: list[str]) -> None:
    frame = table(0.0).drop(columns=["w", "y"]).assign(grade=[1, 2] * (N // 2))
    holes = frame.copy()
    holes.loc[[3, 650], "species"] = "emu"
    holes.loc[[3, 650], "b"] = np.nan
    settings: dict[str, Any] = {"method": "supervised", "label": label, "components": 2, "missing": "drop"}
    one = pcatool.fit(frame[["a", "b", "c", "d", "e", *label]].drop(index=[3, 650]), **settings)
    columns = ["a", "b", "c", "d", "e", *label]
    whole = pcatool.fit(holes[columns], **settings)
    assert_same(loads(dumps(whole)), one)
    parts = pcatool.update(pcatool.fit(holes[columns][:600], **settings), holes[columns][600:])
    assert_same(loads(dumps(parts)), one)


def labelled(labels: list[Any], seed: int) -> pd.DataFrame:
    X = np.random.default_rng(seed).standard_normal((len(labels), 2))
    return pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "y": labels})


CLASSES: dict[str, Any] = {"method": "supervised", "label": "y", "label_kernel": "delta", "components": "all"}


@pytest.mark.parametrize(
    ("first", "then", "classes"),
    [
        (["01", "02", "x"], ["01", "1", "02"], ["01", "02", "x", "1"]),
        (["01", "02", "01"], ["01", "02", "01"], ["01", "02"]),
        (["A", "B", "C"], ["7", "07", "7"], ["A", "B", "C", "7", "07"]),
        (["A", "B", "C"], ["A", "2", "A"], ["A", "B", "C", "2"]),
        ([1, 2, 1], ["01", "02", "1.0"], ["1", "2"]),
    ],
)
def test_an_update_takes_labels_for_what_they_are_in_the_model(
    first: list[Any], then: list[str], classes: list[str], tmp_path: Path
) -> None:
    """Whether 7 and 07 are one class is for the first rows to say, as in one fit; a CSV does not tell by itself."""
    before, after = tmp_path / "before.parquet", tmp_path / "after.csv"
    labelled(first, 1).to_parquet(before)
    labelled(then, 2).to_csv(after, index=False)
    one = pcatool.fit([before, after], **CLASSES)
    model = loads(dumps(pcatool.update(pcatool.fit(before, **CLASSES), after)))
    assert_same(model, one)
    assert one.statistic is not None
    assert model.statistic is not None
    assert model.statistic.classes == one.statistic.classes == tuple(classes)
    assert_same(pcatool.update(model, after), pcatool.fit([before, after, after], **CLASSES))  # still known


def test_labels_that_are_no_numbers_are_not_added_to_numbers() -> None:
    model = pcatool.fit(labelled([1, 2, 1], 1), **CLASSES)
    said = (
        r"label 'y' holds no numbers \(first value '01'\), but in the model the label holds numbers; "
        "give the label as numbers"
    )
    with pytest.raises(DataError, match=said):
        pcatool.update(model, labelled(["01", "02", "01"], 2))
    linear = pcatool.fit(labelled([1, 2, 4], 1), method="supervised", label="y", components=1)
    with pytest.raises(DataError, match=r"label 'y' holds no numbers \(first value 'x'\), but in the model") as caught:
        pcatool.update(linear, labelled(["x", "y", "x"], 2))
    assert "label_kernel" not in str(caught.value)


def test_models_of_which_one_takes_a_label_for_a_number_are_not_merged() -> None:
    text, number = (pcatool.fit(labelled(labels, 1), **CLASSES) for labels in (["01", "x", "2"], [1, 2, 1]))
    for models in ((text, number), (number, text)):
        with pytest.raises(ModelError) as error:
            pcatool.merge(*models)
        assert error.value.message.startswith("label 'y' is a number in 'the model' and text in 'the model': as")
        remedy = "add the rows of 'the model' with pcatool update 'the model', which reads labels as text"
        assert error.value.remedy == remedy
    old = pcatool.fit(labelled([1, 2, 1], 1), **CLASSES)
    old = dataclasses.replace(old, meta={key: value for key, value in old.meta.items() if key != "label_numbers"})
    assert pcatool.merge(text, old).n_samples == 6  # a model that does not say


def test_labels_that_overflow_are_refused_as_they_are_in_a_fit() -> None:
    frame = table(0.0, n=6)[["a", "b"]].assign(y=[1e100, 2e100, -1e100, 0.0, 1e200, 0.0])
    settings: dict[str, Any] = {"method": "supervised", "label": "y"}
    with pytest.raises(RefusedError, match="squares of label 'y' overflow a double"):
        pcatool.fit(frame, **settings)
    with pytest.raises(RefusedError, match="squares of label 'y' overflow a double"):
        pcatool.update(pcatool.fit(frame[:4], **settings), frame[4:])


# --- columns ---


def vectors(width: int, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame({"e": rng.standard_normal(20), "z": list(rng.standard_normal((20, width)))})


def test_vectors_of_another_length_are_no_columns_of_a_model(tmp_path: Path) -> None:
    """A longer one would be cut off without a word."""
    model = pcatool.fit(vectors(4))
    longer = tmp_path / "longer.parquet"
    vectors(5).to_parquet(longer)
    same = pcatool.update(loads(dumps(model)), vectors(4, 1))
    for use in (pcatool.update, pcatool.transform, pcatool.subtract):
        for of in (model, same, pcatool.refit(same, exclude="e")):
            with pytest.raises(
                DataError,
                match="column 'z': the vectors have length 5, but the vectors in the model have length 4; give vectors",
            ):
                use(of, longer)
    some = pcatool.fit(vectors(5), columns=["z[1]", "z[2]"])
    assert pcatool.transform(some, vectors(5)).shape == (20, some.k)


@pytest.mark.parametrize("terms", [["z,e"], ["z", "e"], ["e,z"], "z[1],e,z[0],z[2]"])
def test_refit_takes_columns_in_lists(terms: Any) -> None:
    frame = vectors(3)
    assert_same(pcatool.refit(pcatool.fit(frame), columns=terms), pcatool.fit(frame, columns=terms))


def test_columns_that_one_of_the_models_has_as_booleans_stay_so() -> None:
    X = np.random.default_rng(0).standard_normal((20, 2))
    words = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "c": X[:, 0] > 0})
    numbers = words.assign(c=words["c"].astype(int))
    models = [pcatool.fit(part, columns=list("abc")) for part in (words[:9], numbers[9:])]
    one = pcatool.transform(pcatool.merge(*models), words)
    np.testing.assert_allclose(pcatool.transform(pcatool.merge(*models[::-1]), words), one, atol=1e-12)


def test_a_rule_that_needs_the_rows_is_refused_with_the_way_out() -> None:
    frame = table(0.0)[["a", "b", "c"]]
    model = pcatool.fit(frame, components="cross-validation")
    calls: list[Any] = [
        lambda: pcatool.update(model, frame),
        lambda: pcatool.merge(model, model),
        lambda: pcatool.refit(model, standardize=True),
    ]
    for call in calls:
        with pytest.raises(RefusedError) as error:
            call()
        assert str(error.value).startswith(
            'components="cross-validation" needs the rows, but a model keeps only sums over rows; '
            "first choose a number of components or a share of the variance, for example with pcatool refit -k 0.99"
        )
    for remedy in (2, 0.99):
        assert pcatool.update(pcatool.refit(model, components=remedy), frame).n_samples == 2 * N
    can = pcatool.inspect(model)
    assert can["can"]["refit"] == "with another -k"
    assert can["cannot"]["update"] == "-k cross-validation needs the rows: run pcatool refit with another -k first"


# --- taking out ---


def test_rows_that_were_never_there_are_not_taken_out() -> None:
    frame = table(0.0).drop(columns=["w", "y", "species"])
    model = pcatool.fit(frame)
    among = "some of the rows to remove are not in the model: "
    with pytest.raises(
        DataError,
        match=f"{among}column 'a' of the remaining rows would have a variance below 0; give rows",
    ):
        pcatool.subtract(model, frame[:10] + 100)
    apart = frame[:100].copy()
    apart["b"] = -2 * apart["a"] + 1e-3 * apart["b"]
    tight = frame.assign(b=frame["a"] + 1e-3 * frame["b"])
    with pytest.raises(DataError, match=f"{among}some combination of columns of the remaining rows"):
        pcatool.subtract(pcatool.fit(tight), apart.assign(b=-0.5 * apart["a"]))
    with pytest.raises(DataError, match=r"cannot remove 700 of 700 rows: no row would be left; remove fewer"):
        pcatool.subtract(model, frame)
    fixed = frame.assign(f=7.0)
    with pytest.raises(DataError, match="column 'f' of the remaining rows would have a variance below 0"):
        pcatool.subtract(pcatool.fit(fixed), fixed[:10].assign(f=8.0))
    assert pcatool.subtract(pcatool.fit(fixed), fixed[:10]).n_samples == 690


def test_rows_of_more_weight_than_the_model_are_not_taken_out() -> None:
    frame = table(0.0).drop(columns=["y", "species"]).assign(w=1.0)
    why = "weights of the rows to remove add up to 3500, and the weights of all rows of the model to 700; give rows"
    with pytest.raises(DataError, match=why):
        pcatool.subtract(pcatool.fit(frame, weights="w"), frame[:350].assign(w=10.0))


def test_what_cancels_too_far_is_refused() -> None:
    frame = table(0.0).drop(columns=["w", "y", "species"])
    frame.loc[:9, "c"] *= 1e6
    model = pcatool.fit(frame)
    with pytest.raises(RefusedError) as error:
        pcatool.subtract(model, frame[:10])
    assert str(error.value).endswith(": rounding leaves too few digits; run pcatool fit on the remaining rows")
    wide = frame.assign(a=frame["a"] * 1e8)
    model = pcatool.fit(wide, components=3)
    with pytest.raises(RefusedError, match=r"PC2 .*, or keep fewer components first \(pcatool refit -k 1\)$"):
        pcatool.subtract(model, wide[:10])
    assert pcatool.subtract(pcatool.refit(model, components=1), wide[:10]).k == 1
    with pytest.raises(RefusedError) as error:
        pcatool.subtract(pcatool.fit(frame, standardize=True), frame[:10])
    assert "the variance of column 'c' would have a relative error of " in str(error.value)
    assert "rounding leaves fewer than 8 correct digits; " in str(error.value)
    assert pcatool.subtract(pcatool.fit(frame.drop(columns="c"), standardize=True), frame[:10]).n_samples == 690
    some = frame.copy()
    some.loc[:9, "c"] /= 1e4
    left = pcatool.subtract(pcatool.fit(some), some[:10])
    one = pcatool.fit(some[10:])
    error_bound = np.array(left.meta["certificate"]["relative_error"])
    off = np.abs(left.eigenvalues - one.eigenvalues)[: left.k] / one.eigenvalues[: left.k]
    assert np.all(off <= error_bound)
    assert error_bound.max() > 2 * max(one.meta["certificate"]["relative_error"])


@pytest.mark.parametrize("kind", ["reliability", "frequency"])
@pytest.mark.parametrize("ddof", [0, 1])
@pytest.mark.parametrize("heavy", [1, 30, 400, 1e4, 1e6, 1e8])
@pytest.mark.parametrize("unit", [1, 1e-12])
def test_weights_that_cancel_are_in_the_bound_or_refused(kind: str, ddof: int, heavy: float, unit: float) -> None:
    """Of heavy rows taken out the sums keep the rounding, and the products of weights that of squares."""
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(rng.standard_normal((80, 3)), columns=list("abc"))
    w = np.where(np.arange(80) < 30, heavy, 1.0) * rng.uniform(0.5, 2, 80)
    w = np.ceil(w) if kind == "frequency" else w * unit
    settings: dict[str, Any] = {"weights": "w", "weights_kind": kind, "ddof": ddof, "components": "all"}
    model = pcatool.update(pcatool.fit(frame.assign(w=w)[:30], **settings), frame.assign(w=w)[30:])
    try:
        left = loads(dumps(pcatool.subtract(model, frame.assign(w=w)[:30])))
    except RefusedError as error:
        assert heavy >= 1e4
        assert "rounding leaves too few digits; run pcatool fit on the remaining rows" in str(error)
        return
    X, w = frame.to_numpy()[30:], w[30:]
    Y = X - w @ X / w.sum()
    divisor = w.sum() - ddof * (w @ w / w.sum() if kind == "reliability" else 1)
    values = np.linalg.eigvalsh((Y.T * w) @ Y / divisor)[::-1]
    assert np.all(np.abs(left.eigenvalues - values) <= np.array(left.meta["certificate"]["relative_error"]) * values)


def test_one_row_about_0_may_be_left() -> None:
    frame = pd.DataFrame(np.random.default_rng(0).standard_normal((10, 3)) + 100, columns=list("abc"))
    left = pcatool.subtract(pcatool.fit(frame, center=False), frame[:9])
    assert left.n_samples == 1
    assert left.eigenvalues[0] == pytest.approx(float(np.square(frame.to_numpy()[9]).sum()), rel=1e-9)


def test_a_weight_that_cancels_is_refused_by_name() -> None:
    heavy = pd.DataFrame({"a": [1.0, 0.0, 1.0], "b": [0.0, 1.0, 1.0], "w": [7e8, 7e8, 7e8]})
    light = pd.DataFrame({"a": [0.34, 0.33, 0.9], "b": [0.8, -1.3, 0.44], "w": [0.3, 0.3, 0.3]})
    model = pcatool.update(pcatool.fit(heavy, weights="w", weights_kind="reliability"), light)
    with pytest.raises(
        RefusedError, match=r"the sum of the remaining weights would have a relative error of 1e\+00: rounding"
    ):
        pcatool.subtract(model, heavy)


@pytest.mark.parametrize(
    ("near", "scale", "said"),
    [
        (1e-2, 1.0, None),
        (1e-5, 1.0, "would have a relative error of 2e-03"),
        (1e-6, 1.0, "would have a relative error of 2e-01"),
        (3e-7, 1.0, "could not be distinguished from 0"),
        (1e-8, 1.0, "could not be distinguished from 0"),
        (3e-6, 10.0, "could not be distinguished from 0"),
        (0.0, 1.0, None),
    ],
)
@pytest.mark.filterwarnings("ignore:PC4")
def test_a_small_component_is_not_lost_without_a_word(near: float, scale: float, said: str | None) -> None:
    """A column that is nearly the sum of two others: the whole is solved from the rows, what is left from sums."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(570, 3))
    X = np.column_stack([X, X[:, 0] + X[:, 1] + near * rng.normal(size=570)])
    X[:400] *= scale
    model = pcatool.fit(X, components="all")
    if said is None:
        one = pcatool.fit(X[400:], components="all")
        assert_same(pcatool.subtract(model, X[:400]), one, 1e-8)
        return
    with pytest.raises(RefusedError, match=f"the eigenvalue of PC4.* {said}: rounding leaves too few digits"):
        pcatool.subtract(model, X[:400])


@pytest.mark.filterwarnings("ignore:PC")
@pytest.mark.parametrize("offset", [1e6, 1e7, 1e8])
@pytest.mark.parametrize("components", [2, "all"])
def test_components_about_0_far_from_it_are_not_lost_without_a_word(offset: float, components: int | str) -> None:
    X = np.random.default_rng(1).normal(size=(570, 4)) + offset
    model = pcatool.fit(X, center=False, components=components)
    assert model.k > 1
    with pytest.raises(RefusedError, match=r"the eigenvalue of PC2.*: rounding leaves too few digits"):
        pcatool.subtract(model, X[:400])


@pytest.mark.parametrize("scale", [1.0, 3.0])
def test_a_category_that_leaves_a_window_takes_its_component_along(scale: float) -> None:
    """Columns of 0 and 1 depend on each other, and on fewer of them: what is gone was as large as the others."""
    rng = np.random.default_rng(2)
    X = np.column_stack([scale * rng.normal(size=(60, 2)), np.eye(3)[rng.integers(0, 2, 60)]])
    X[:20, 2:] = np.eye(3)[rng.integers(0, 3, 20)]
    left, one = (pcatool.subtract(pcatool.fit(X, components="all"), X[:20]), pcatool.fit(X[20:], components="all"))
    assert (left.meta["rank"], one.meta["rank"]) == (3, 3)
    np.testing.assert_allclose(left.eigenvalues, one.eigenvalues, rtol=1e-12, atol=1e-12)
    few = np.eye(3)[[0, 1, 2, 0, 1, 0, 1, 0]]
    for center in (True, False):
        left = pcatool.subtract(pcatool.fit(few, center=center, components="all"), few[:3])
        one = pcatool.fit(few[3:], center=center, components="all")
        np.testing.assert_allclose(left.eigenvalues, one.eigenvalues, rtol=1e-12, atol=1e-12)


def test_two_rows_may_be_left_of_many() -> None:
    """Eight of ten columns do not vary any more, and are 0 but for rounding."""
    X = np.eye(10)[[*np.tile(np.arange(10), 3), 3, 7]]
    left = pcatool.subtract(pcatool.fit(X, center=False), X[:30])
    np.testing.assert_allclose(left.eigenvalues, [0.5, 0.5], rtol=1e-12)


def test_what_leaves_no_component_is_refused() -> None:
    model = pcatool.fit(np.random.default_rng(0).normal(size=(400, 6)))
    assert model.statistic is not None
    blurred = model.statistic._replace(rounding=np.full(6, 0.45))
    with pytest.raises(
        RefusedError, match="the sums give no component that is distinguishable from rounding error; run pcatool fit on"
    ):
        fit_from_statistic(blurred, model.columns, options_of(model), Reporter())
    normal = np.random.default_rng(0).normal(size=(80, 6))
    with pytest.raises(RefusedError, match="rounding leaves"):
        pcatool.subtract(pcatool.fit(np.vstack([normal[:40], normal[40:] * 3e-7])), normal[:40])


def test_a_column_that_does_not_vary_any_more() -> None:
    frame = table(0.0).drop(columns=["w", "y", "species"]).assign(z=0.0)
    frame.loc[:9, "z"] = np.arange(10.0)
    with pytest.raises(
        RefusedError, match=r"leave this column out first \(pcatool refit -x z\), or run pcatool fit on"
    ):
        pcatool.subtract(pcatool.fit(frame, standardize=True), frame[:10])
    left = pcatool.subtract(pcatool.fit(frame, components=5), frame[:10])
    assert_same(left, pcatool.fit(frame[10:], components=5))
    assert left.meta["constant_columns"] == 1


def test_a_sliding_window_keeps_its_digits() -> None:
    frame = table(1e6, n=2000).drop(columns=["w", "y", "species"])
    model = pcatool.fit(frame[:500], components=5, standardize=True)
    for at in range(500, 2000, 100):
        model = pcatool.subtract(pcatool.update(model, frame[at : at + 100]), frame[at - 500 : at - 400])
    assert_same(model, pcatool.fit(frame[1500:], components=5, standardize=True))


@pytest.mark.parametrize("standardize", [False, True])
def test_a_hundred_steps_of_a_window_leave_only_their_own_rounding(standardize: bool) -> None:
    last = 1000 * often(1)
    frame = table(1e6, n=last + 100).drop(columns=["w", "y", "species"])
    frame += 10.0 * np.arange(len(frame))[:, None] / len(frame)
    model = pcatool.fit(frame[:100], components=5, standardize=standardize)
    for at in range(100, last + 100, 10):
        model = pcatool.subtract(pcatool.update(model, frame[at : at + 10]), frame[at - 100 : at - 90])
    one = pcatool.fit(frame[last:], components=5, standardize=standardize)
    bound = np.array(model.meta["certificate"]["relative_error"])
    assert bound.max() < 1e-9
    assert np.all(np.abs(model.eigenvalues - one.eigenvalues) <= bound * one.eigenvalues)
    assert_same(model, one, 1e-10)


def test_what_is_left_of_rows_of_another_scale_is_bounded_or_refused() -> None:
    """Columns of which only rounding is left may still outweigh the others, and the mean has fewer digits, too."""
    rng = np.random.default_rng(0)
    refused = 0
    for scale in 10.0 ** np.arange(3, 13):
        frame = pd.DataFrame(rng.standard_normal((60, 3)), columns=list("abc"))
        frame.loc[:9, "a"] *= scale
        for center in (True, False):
            settings = {"components": 3, "center": center}
            one = pcatool.fit(frame[10:], **settings)
            try:
                left = pcatool.subtract(pcatool.fit(frame, **settings), frame[:10])
            except RefusedError:
                refused += 1
                continue
            bound = np.array(left.meta["certificate"]["relative_error"])
            assert np.all(np.abs(left.eigenvalues - one.eigenvalues) <= bound * left.eigenvalues)
    assert 10 < refused < 20


def test_a_burst_that_leaves_a_window_leaves_a_constant() -> None:
    """The squares of what is nearly 0 are rounded the same way a thousand times."""
    frame = table(0.0, n=5000).drop(columns=["w", "y", "species"]).assign(z=0.0)
    frame.loc[:9, "z"] = np.arange(10.0) + 0.1
    model = pcatool.subtract(pcatool.fit(frame[:4900], components=5), frame[:10])
    said = "the remaining variance of column 'z' is indistinguishable from rounding error"
    with pytest.warns(pcatool.PcatoolNote, match=said):
        model = pcatool.subtract(pcatool.update(model, frame[4900:]), frame[10:20])
    assert_same(model, pcatool.fit(frame[20:], components=5))
    assert model.meta["constant_columns"] == 1
    with pytest.raises(RefusedError, match=r"the variance of column 'z' would be only rounding error: rounding"):
        pcatool.refit(model, standardize=True)
    back = pcatool.update(model, frame[:10])
    assert_same(back, pcatool.fit(pd.concat([frame[20:], frame[:10]]), components=5))
    alone = pcatool.fit(frame[["z"]])
    with pytest.raises(
        RefusedError,
        match="the remaining variance of column 'z' is indistinguishable from rounding error; run pcatool fit",
    ):
        pcatool.subtract(alone, frame[["z"]][:10])


def test_parts_of_fewer_rows_than_columns_have_no_more_eigenvalues_than_a_fit() -> None:
    frame = table(1.0, n=4).drop(columns=["w", "y", "species"])
    for solver in ("auto", "covariance", "tsqr", "svd", "dual"):
        model = pcatool.update(pcatool.fit(frame[:2], solver=solver, components=1), frame[2:])
        one = pcatool.fit(frame, solver=solver, components=1)
        assert len(model.eigenvalues) == len(one.eigenvalues) == 4


def test_columns_of_any_scale_have_a_certificate() -> None:
    X = np.random.default_rng(0).standard_normal((40, 2)) * [1e-129, 1e139]
    frame = pd.DataFrame(np.column_stack([X, X @ [1.0, 1e-262]]), columns=list("abc"))
    model = pcatool.merge(*(pcatool.fit(part, components="all") for part in (frame[:15], frame[15:])))
    assert np.all(np.isfinite(model.meta["certificate"]["relative_error"][0]))


# --- files ---


def changed(model: Model, **arrays: np.ndarray) -> bytes:
    """The model file with some arrays of the statistic changed."""

    class Changed:
        def arrays(self) -> dict[str, np.ndarray]:
            assert model.statistic is not None
            return {name: a for name, a in {**model.statistic.arrays(), **arrays}.items() if a is not None}

    bare = dataclasses.replace(model, statistic=None)
    object.__setattr__(bare, "statistic", Changed())
    return dumps(bare)


DAMAGE = {
    "rounding below 0": ({"rounding": np.full(5, -1.0)}, "array 'rounding' has a value below 0"),
    "too short": ({"rounding": np.zeros(4)}, "array 'means' has shape"),
    "other means": ({"means": np.ones((2, 5))}, "the means stored with the sums do not match the column means"),
    "not finite": ({"means": np.full((2, 5), np.inf)}, "array 'means' has a value that is not finite"),
    "no means": ({"means": None}, "it has array 'scatter' but no array 'means'"),
    "other squares": ({"scatter": np.eye(5)}, "the sums of squares do not match the column variances"),
    "two kinds": ({"factor": np.eye(5)}, "it has both array 'scatter' and array 'factor'"),
    "too many products": (
        {"weights": np.array([60.0, 3601.0])},
        "the second value in array 'weights' is above the square of the first",
    ),
    "another sign": ({"scatter": "turned"}, "the sums over rows do not match the components and eigenvalues"),
    "errors of no weights": (
        {"weights_error": np.zeros(2)},
        "it has array 'weights_error' but no array 'weights'",
    ),
    "error below 0": ({"means_error": np.full((2, 5), -1.0)}, "array 'means_error' has a value below 0"),
    "no weight": ({"weights": np.array([0.0, 1.0])}, "the first value in array 'weights', the sum of the weights, is"),
}


@pytest.mark.parametrize(("arrays", "why"), DAMAGE.values(), ids=DAMAGE)
def test_damaged_sums_are_refused(arrays: dict[str, Any], why: str) -> None:
    model = fitted(table(0.0), {})
    assert model.statistic is not None
    if "scatter" in arrays:
        S = model.statistic.arrays()["scatter"]
        signs = np.array([1, -1, 1, 1, 1])
        arrays = {"scatter": S * signs * signs[:, None] if isinstance(arrays["scatter"], str) else arrays["scatter"]}
    with pytest.raises(ModelError, match=f"'the model' is not a usable model: {why}"):
        loads(changed(model, **arrays), "the model")


def test_damaged_products_are_refused() -> None:
    model = fitted(table(0.0), {})
    assert model.statistic is not None
    S = model.statistic.arrays()["scatter"].copy()
    S[0, 1] *= 1.01
    with pytest.raises(ModelError, match="array 'scatter' is not symmetric"):
        loads(changed(model, scatter=S))
    S[0, 1] = S[1, 0] = 2 * np.sqrt(S[0, 0] * S[1, 1])
    with pytest.raises(ModelError, match=r"array 'scatter' has an entry S_ij whose absolute value is above sqrt"):
        loads(changed(model, scatter=S))
    classes = fitted(table(0.0), {"method": "supervised", "label": "species", "components": 1})
    assert classes.statistic is not None
    with pytest.raises(ModelError, match="array 'class_names' has two equal names"):
        loads(changed(classes, class_names=np.array(["ant", "ant", "bee"])))
    for arrays, why in (
        ({"class_names": None}, "the sums over rows belong to another method"),
        ({"label_squares": np.array([-1.0, 1, 1])}, "array 'label_squares' is empty, or has a value below 0"),
        ({"label_means": np.ones((2, 3))}, "array 'label_means' must hold shares above 0, one for each class"),
        (
            {"cross": 2 * np.asarray(classes.statistic.arrays()["cross"])},
            "the sums over rows do not match the components",
        ),
    ):
        with pytest.raises(ModelError, match=why):
            loads(changed(classes, **arrays))
    with pytest.raises(ModelError, match="the sums over rows belong to another method"):
        dataclasses.replace(model, statistic=classes.statistic)
    other = dataclasses.replace(model, variances=None, statistic=None)
    with pytest.raises(ModelError, match="the model has sums over rows, but not the variances of the columns"):
        dataclasses.replace(other, statistic=model.statistic)


def test_numpy_reads_the_sums() -> None:
    """The scatter over n is the covariance, whatever the settings of the fit."""
    frame = table(3.0)
    model = fitted(frame, {"standardize": True, "ddof": 1})
    with np.load(io.BytesIO(dumps(model))) as arrays:
        X = frame[list("abcde")].to_numpy()
        np.testing.assert_allclose(arrays["scatter"] / N, np.cov(X.T, bias=True), rtol=1e-12)
        np.testing.assert_allclose(arrays["means"].sum(axis=0), X.mean(axis=0), rtol=1e-15)


def test_a_scatter_and_a_factor_add_up() -> None:
    frame = table(1.0).drop(columns=["w", "y", "species"])
    a, b = pcatool.fit(frame[:400], solver="tsqr"), pcatool.fit(frame[400:], solver="covariance")
    assert isinstance(a.statistic, Statistic)
    assert_same(pcatool.merge(a, b), pcatool.fit(frame))
    assert_same(pcatool.merge(b, a), pcatool.fit(frame))


def test_a_component_that_sums_of_all_rows_do_not_tell_is_told_of() -> None:
    """Rows of small scale have a component that a scatter beside large ones does not hold."""
    rng = np.random.default_rng(1)
    small, large = 1e-8 * rng.normal(size=(300, 4)), rng.normal(size=(300, 3))
    large = np.column_stack([large, large[:, 0] + large[:, 1]])
    a, b = pcatool.fit(small, components="all"), pcatool.fit(large, components="all")
    said = "the sums over all rows have too few digits for 1 of 4 components; a fit of all"
    with pytest.warns(PcatoolWarning, match=said):
        pcatool.merge(a, b)
    with pytest.warns(PcatoolWarning, match=said):
        pcatool.update(a, large)

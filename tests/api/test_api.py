"""`import pcatool`: everything the command line does, on arrays, frames, Arrow tables and paths."""

from __future__ import annotations

import copy
import dataclasses
import json
import pickle
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from decimal import Decimal
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars
import pyarrow as pa
import pytest
from scipy import sparse

import pcatool

PUBLIC = {
    "__version__",
    "explain_variance",
    "fit",
    "from_sklearn",
    "inspect",
    "diff",
    "update",
    "merge",
    "subtract",
    "refit",
    "report",
    "load_model",
    "reconstruct",
    "save_model",
    "scree",
    "plan",
    "plot",
    "compare_rules",
    "components",
    "transform",
    "Model",
    "PcatoolNote",
    "PcatoolWarning",
    "PcatoolError",
    "DataError",
    "FileError",
    "ModelError",
    "RefusedError",
    "UsageError",
}

X = np.array([[10.0, 10.0, 1.0], [2.0, 2.0, 0.0], [7.0, 7.0, 2.0], [1.0, 1.0, 1.0], [5.0, 5.0, 1.0]])
NAMES = ["price", "area", "floors"]


def frozen(array: np.ndarray) -> np.ndarray:
    array = array.copy()
    array.flags.writeable = False
    return array


@pytest.fixture
def frame() -> pd.DataFrame:
    made = pd.DataFrame(X.copy(), columns=NAMES, index=["v", "w", "x", "y", "z"])
    made["city"] = ["Ulm", "Bonn", "Ulm", "Kiel", "Bonn"]
    return made


@pytest.fixture
def model() -> pcatool.Model:
    return pcatool.fit(X, components=2)


# --- names ---


def test_public_names() -> None:
    assert set(pcatool.__all__) == PUBLIC
    assert set(dir(pcatool)) == PUBLIC
    for name in PUBLIC:
        assert getattr(pcatool, name) is not None


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'pcatool' has no attribute 'PCA'"):
        _ = pcatool.PCA


def test_star_import_gives_the_public_names() -> None:
    script = "from pcatool import *; print(fit.__module__, Model.__name__, __version__)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["pcatool.api.fit", "Model", pcatool.__version__]


def test_errors_are_one_family() -> None:
    family = {pcatool.DataError: 3, pcatool.FileError: 5, pcatool.ModelError: 4, pcatool.RefusedError: 6}
    for kind, code in {**family, pcatool.UsageError: 2}.items():
        assert issubclass(kind, pcatool.PcatoolError)
        assert kind.exit_code == code
    assert issubclass(pcatool.PcatoolWarning, UserWarning)


# --- fit ---


def test_fit_agrees_with_numpy(model: pcatool.Model) -> None:
    values, vectors = np.linalg.eigh(np.cov(X.T, ddof=0))
    np.testing.assert_allclose(model.eigenvalues, values[::-1], atol=1e-13)
    np.testing.assert_allclose(np.abs(model.basis), np.abs(vectors[:, ::-1][:, :2]), atol=1e-12)
    assert model.columns == ("c1", "c2", "c3")
    assert model.n_samples == 5


def test_every_form_of_the_data_gives_one_model(frame: pd.DataFrame, tmp_path: Path) -> None:
    frame.to_csv(tmp_path / "a.csv", index=False)
    frame.to_parquet(tmp_path / "a.parquet")
    numbers = frame[NAMES]
    forms = [frame[NAMES], pa.Table.from_pandas(numbers), tmp_path / "a.csv", str(tmp_path / "a.parquet"), frame]
    models = [pcatool.fit(form, components=2, columns=NAMES) for form in forms]
    parts = [tmp_path / "b.csv", tmp_path / "c.csv"]
    frame[:2].to_csv(parts[0], index=False)
    frame[2:].to_csv(parts[1], index=False)
    models.append(pcatool.fit(parts, components=2, columns=NAMES))
    for made in models:
        assert made.columns == tuple(NAMES)
        np.testing.assert_array_equal(made.basis, models[0].basis)
        np.testing.assert_array_equal(made.eigenvalues, models[0].eigenvalues)


@pytest.mark.parametrize(
    "data",
    [
        X.tolist(),
        X.astype(np.float32),
        X.astype(int),
        np.asfortranarray(X),
        X[::-1],
        np.vstack([X, X])[::2],
        X.T.copy().T,
    ],
)
def test_fit_takes_any_array_of_numbers(data: object) -> None:
    assert pcatool.fit(data, components=1).columns == ("c1", "c2", "c3")


def test_settings_are_those_of_the_command_line(frame: pd.DataFrame) -> None:
    made = pcatool.fit(
        frame, components="all", standardize=True, ddof=1, solver="svd", exclude="floors", missing="drop"
    )
    assert made.standardized
    assert made.ddof == 1
    assert made.columns == ("price", "area")
    assert made.k == 1
    assert not pcatool.fit(X, center=False).centered
    assert pcatool.fit(X, components=0.5).k == 1
    assert pcatool.fit(X, components=np.int64(2)).k == 2


def notes_of(call: Callable[[], object]) -> list[str]:
    """The notes that a call issues; all of them name this file as their place."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    notes = [w for w in caught if issubclass(w.category, pcatool.PcatoolNote)]
    assert {Path(w.filename).name for w in notes} <= {Path(__file__).name}
    return [str(w.message) for w in notes]


def test_what_is_left_out_or_used_as_0_and_1_is_noted(frame: pd.DataFrame, tmp_path: Path) -> None:
    frame = frame.assign(yes=[True, False, True, True, False])
    frame.to_parquet(tmp_path / "a.parquet", index=False)
    left_out = "left out text column 'city' (first value 'Ulm')"
    used = "used boolean column 'yes' as 0 and 1; leave the column out with exclude=\"yes\" if it is not a feature"
    for data in (frame, pa.Table.from_pandas(frame, preserve_index=False), tmp_path / "a.parquet"):
        assert sorted(notes_of(lambda: pcatool.fit(data))) == [left_out, used]  # noqa: B023
        assert pcatool.fit(data).columns == (*NAMES, "yes")
    assert notes_of(lambda: pcatool.fit(frame, columns=["price", "yes"])) == []
    with warnings.catch_warnings(action="error", category=pcatool.PcatoolWarning):
        pcatool.fit(frame)


def truths() -> dict[str, Any]:
    """One table of booleans, in every form that has a type for them."""
    B = np.random.default_rng(1).random((12, 3)) < 0.5
    names = ["c1", "c2", "c3"]
    frame = pd.DataFrame(B, columns=names)
    return {
        "numpy": B,
        "objects": B.astype(object),
        "pandas": frame,
        "nullable": frame.astype("boolean"),
        "of Arrow": frame.astype(pd.ArrowDtype(pa.bool_())),
        "objects of pandas": frame.astype(object),
        "Arrow": pa.table({name: B[:, j] for j, name in enumerate(names)}),
        "polars": polars.DataFrame({name: B[:, j] for j, name in enumerate(names)}),
    }


@pytest.mark.parametrize("form", truths())
def test_boolean_types_are_0_and_1_by_every_route(form: str) -> None:
    given = truths()
    made = []
    assert notes_of(lambda: made.append(pcatool.fit(given[form], components=2))) == [
        "used boolean columns 'c1', 'c2', 'c3' as 0 and 1; "
        'leave the columns out with exclude="c1,c2,c3" if they are not features'
    ]
    (model,) = made
    assert model == pcatool.fit(pd.DataFrame(given["numpy"], columns=["c1", "c2", "c3"]), components=2)
    plain = pcatool.fit(given["numpy"].astype(float), components=2)
    np.testing.assert_array_equal(model.basis, plain.basis)
    scores = pcatool.transform(plain, given["numpy"].astype(float))
    np.testing.assert_array_equal(np.asarray(pcatool.transform(model, given[form])), scores)
    np.testing.assert_array_equal(np.asarray(pcatool.transform(plain, given[form])), scores)


MIXED = {
    "a word": ([1.5, "abc", 3.0, 4.0, 2.0], "row 2, column 'm': 'abc' is not a number"),
    "a word first": (["abc", 2, 3, 4, 5], "row 1, column 'm': 'abc' is not a number"),
    "a word last": ([1, 2, 3, 4, "abc"], "row 5, column 'm': 'abc' is not a number"),
    "underscores": ([1, 2, "1_000", 4, 5], "row 3, column 'm': '1_000' is not a number"),
    "other digits": ([1, 2, "\u0663", 4, 5], "row 3, column 'm': '\u0663' is not a number"),
    "hexadecimal": ([1, 2, "0x10", 4, 5], "row 3, column 'm': '0x10' is not a number"),
    "a comma": ([1, 2, "1,5", 4, 5], "row 3, column 'm': '1,5' is not a number"),
    "infinity": ([1, 2, "infinity", 4, 5], "row 3, column 'm': 'inf' is not finite"),
    "a list": ([1, 2, [3], 4, 5], "row 3, column 'm': '\\[3\\]' is not a number"),
    "a complex number": ([1, 2, 3 + 1j, 4, 5], r"row 3, column 'm': '\(3\+1j\)' is not a number"),
    "beyond 64 bits": (
        [1, 2, 2**64, 4, 5],
        "row 3, column 'm': '18446744073709551616' is a whole number of more than 64",
    ),
    "far below 0": ([1, 2, -(10**30), 4, 5], "is a whole number of more than 64 bits; give the column as floats"),
}


@pytest.mark.parametrize("case", MIXED)
def test_a_bad_cell_among_numbers_is_an_error(case: str) -> None:
    cells, message = MIXED[case]
    column = np.empty(5, dtype=object)
    column[:] = cells
    frame = pd.DataFrame({"a": X[:, 0], "m": pd.Series(column, dtype=object)})
    with pytest.raises(pcatool.DataError, match=f"the table, {message}" if message.startswith("row") else message):
        pcatool.fit(frame)
    assert pcatool.fit(frame, exclude="m").columns == ("a",)
    model = pcatool.fit(pd.DataFrame({"a": X[:, 0], "m": X[:, 1]}))
    with pytest.raises(pcatool.DataError):
        pcatool.transform(model, frame)
    array = np.column_stack([X[:, 0].astype(object), column])
    with pytest.raises(pcatool.DataError, match=message.replace("'m'", "'c2'")):
        pcatool.fit(array)


def test_texts_among_numbers_follow_the_rules_of_csv(tmp_path: Path) -> None:
    cells = [
        1,
        "2.5",
        " -3e2 ",
        "NA",
        "",
        None,
        float("nan"),
        Decimal("0.25"),
        np.float32(7),
        True,
        Fraction(1, 4),
        pd.NA,
    ]
    numbers = [1, 2.5, -300, np.nan, np.nan, np.nan, np.nan, 0.25, 7, 1, 0.25, np.nan]
    other = np.arange(float(len(cells)))
    given = pd.DataFrame({"a": other, "m": pd.Series(cells, dtype=object)})
    with pytest.warns(pcatool.PcatoolWarning, match="dropped 5 of 12"):
        wanted = pcatool.fit(pd.DataFrame({"a": other, "m": numbers}), missing="drop")
    with pytest.warns(pcatool.PcatoolWarning, match="dropped 5 of 12"):
        assert pcatool.fit(given, missing="drop") == wanted
    texts = np.array([["1", "2"], ["x", "3.5"], ["y", "7"]], dtype=object)
    assert notes_of(lambda: pcatool.fit(texts[:, [1, 1]] + "")) == []
    with pytest.raises(pcatool.DataError, match="the array, row 2, column 'c1': 'x' is not a number"):
        pcatool.fit(texts)
    assert pcatool.fit(texts, exclude="c1").columns == ("c2",)
    words = np.column_stack([X.astype(object), np.array(list("vwxyz"), dtype=object)])
    assert notes_of(lambda: pcatool.fit(words)) == ["left out text column 'c4' (first value 'v')"]
    kept = pcatool.transform(pcatool.fit(given[["a"]]), given, keep="m")
    assert kept["m"].tolist()[:2] == [1, "2.5"]


def test_what_is_no_table_is_an_error_of_ours(model: pcatool.Model) -> None:
    levels = pd.DataFrame(X, columns=pd.MultiIndex.from_tuples([("a", 1), ("a", 2), ("b", 1)]))
    for call in (lambda: pcatool.fit(levels), lambda: pcatool.transform(model, levels)):
        with pytest.raises(pcatool.UsageError, match="names of the frame have 2 levels; join the levels"):
            call()
    for kind in (sparse.csr_matrix, sparse.coo_array, sparse.csc_array, sparse.lil_matrix):
        with pytest.raises(pcatool.UsageError, match=f"a sparse {kind.__name__} of scipy is not supported"):
            pcatool.fit(kind(X))
    for calls in ([model], (model, model), [str]):
        with pytest.raises(pcatool.UsageError, match="merge takes several, as in merge"):
            pcatool.merge(calls)  # type: ignore[arg-type]
    for thing in (None, 5, {}, b"m.npz", X, model.meta):
        wrong = f"an object of type {type(thing).__name__} is neither a model nor the path of a model"
        for use in (
            lambda: pcatool.transform(thing, X),  # type: ignore[call-overload]  # noqa: B023
            lambda: pcatool.inspect(thing),  # type: ignore[arg-type]  # noqa: B023
            lambda: pcatool.diff(model, thing),  # type: ignore[arg-type]  # noqa: B023
        ):
            with pytest.raises(pcatool.UsageError, match=wrong):
                use()
        with pytest.raises(pcatool.PcatoolError):
            pcatool.update(thing, X)  # type: ignore[arg-type]
    with pytest.raises(pcatool.DataError, match="of more than 64 bits"):
        pcatool.fit([[2**70, 1], [3, 4]])
    with pytest.raises(pcatool.DataError, match="of more than 64 bits"):
        pcatool.fit(pd.DataFrame({"a": [2**70, 1, 5], "b": [1, 2, 4]}))


def changes(value: Any, path: str = "meta") -> Iterator[tuple[str, Callable[[], object]]]:
    """Every way to change a JSON value in place, at every depth."""
    if isinstance(value, dict):
        yield f"{path} set", lambda: value.__setitem__("x", 1)
        yield f"{path} |=", lambda: value.__ior__({"x": 1})
        for way in ("update", "setdefault", "pop", "popitem", "clear"):
            given = {"update": ({"x": 1},), "setdefault": ("x", 1), "pop": ("method", None)}.get(way, ())
            yield f"{path} {way}", partial(getattr(value, way), *given)
        for key, inner in value.items():
            yield f"{path} del {key}", partial(value.__delitem__, key)
            yield from changes(inner, f"{path}.{key}")
    if isinstance(value, list):
        given = {"append": (1,), "extend": ([1],), "insert": (0, 1), "remove": (value[0] if value else 1,)}
        for way in ("append", "extend", "insert", "remove", "pop", "clear", "reverse", "sort"):
            yield f"{path} {way}", partial(getattr(value, way), *given.get(way, ()))
        yield f"{path} set", lambda: value.__setitem__(slice(None), [])
        yield f"{path} +=", lambda: value.__iadd__([1])
        yield f"{path} *=", lambda: value.__imul__(0)
        for i, inner in enumerate(value):
            yield from changes(inner, f"{path}[{i}]")


def arrays_in(value: object) -> Iterator[np.ndarray]:
    if isinstance(value, np.ndarray):
        yield value
    for inner in value if isinstance(value, tuple) else ():
        yield from arrays_in(inner)


def test_settings_of_a_model_cannot_be_changed(tmp_path: Path) -> None:
    def both(model: pcatool.Model) -> Iterator[pcatool.Model]:
        yield model
        yield pickle.loads(pickle.dumps(model))
        yield copy.deepcopy(model)
        pcatool.save_model(model, tmp_path / "m.npz")
        yield pcatool.load_model(tmp_path / "m.npz")

    for model in both(pcatool.fit(X, components=2)):
        before = json.dumps(model.meta, sort_keys=True)
        ways = list(changes(model.meta))
        assert len(ways) > 40
        for what, change in ways:
            with pytest.raises(TypeError, match="settings of a model cannot be changed"):
                change()
            assert json.dumps(model.meta, sort_keys=True) == before, what
        with pytest.raises(TypeError):
            model.meta["note"] = 1  # type: ignore[index]
        held = [array for value in vars(model).values() for array in arrays_in(value)]
        assert len(held) > 8
        assert not any(array.flags.writeable for array in held)
    free = copy.deepcopy(model.meta)
    free["certificate"]["vouched"][0] = "changed"  # type: ignore[index]
    assert type(free) is dict
    assert type(pickle.loads(pickle.dumps(model.meta))["certificate"]["vouched"]) is list
    assert free != model.meta
    handed: dict[str, Any] = dict(model.meta) | {"certificate": {**model.meta["certificate"]}}
    again = dataclasses.replace(model, meta=handed)
    handed["certificate"]["vouched"] = []
    assert again == model
    facts = pcatool.inspect(model)
    facts["fitted_with"]["components"] = 7
    assert model.meta["components"] == 2


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"standardise": True}, "there is no setting called 'standardise'; did you mean standardize?"),
        ({"k": 2}, "there is no setting called 'k'; did you mean components?"),
        ({"zzz": 2}, "there is no setting called 'zzz'; the settings are absent, align_to, center, "),
        ({"components": 0}, "components='0' is not a number of components"),
        ({"components": 1.5}, "components='1.5' is not a number of components"),
        ({"components": float("nan")}, "components='nan' is not a number of components"),
        ({"components": ""}, "components='' is not a number of components"),
        ({"components": "al"}, "did you mean 'all'"),
        ({"solver": "arpack"}, "invalid value 'arpack' for solver: choose"),
        ({"ddof": 2}, "ddof=2 is neither 0 nor 1"),
        ({"missing": "ignore"}, "invalid value 'ignore' for missing: choose"),
        ({"delimiter": "ab"}, "delimiter='ab'"),
    ],
)
def test_wrong_settings_are_refused_before_the_data_are_read(settings: dict[str, object], message: str) -> None:
    with pytest.raises(pcatool.UsageError) as caught:
        pcatool.fit("nowhere.csv", **settings)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("data", "kind", "message"),
    [
        (np.zeros(3), pcatool.UsageError, "1-dimensional"),
        (np.zeros((3, 0)), pcatool.DataError, "no columns"),
        (np.zeros((0, 2)), pcatool.DataError, "no rows"),
        ([["a", "b"], ["c", "d"]], pcatool.DataError, "numbers"),
        (np.ones((3, 2)), pcatool.DataError, "constant"),
        (
            np.array([[1.0, np.inf], [2.0, 3.0]]),
            pcatool.DataError,
            "the array, row 1, column 'c2': 'inf' is not finite",
        ),
        (np.array([[1.0, np.nan], [2.0, 3.0]]), pcatool.DataError, "1 of 2 rows has missing cells"),
        (X + 1j, pcatool.DataError, "numbers"),
        (np.ma.masked_array(X, X == 10), pcatool.DataError, "1 of 5 rows has missing cells"),
        (pd.DataFrame(X, columns=["a", "b", "a"]), pcatool.DataError, "'a'"),
        ("nowhere.csv", pcatool.FileError, "cannot read 'nowhere.csv'"),
        ([], pcatool.UsageError, "the list of data is empty"),
        ("", pcatool.UsageError, "empty name"),
        (None, pcatool.UsageError, "data of type NoneType are not a table"),
    ],
)
def test_data_that_cannot_be_fitted(data: object, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        pcatool.fit(data)


def test_a_callers_array_is_never_changed() -> None:
    data = frozen(X)
    for settings in ({}, {"standardize": True}, {"solver": "svd"}, {"center": False}):
        model = pcatool.fit(data, components=2, **settings)
        scores = frozen(pcatool.transform(model, data))
        pcatool.reconstruct(model, data)
        pcatool.reconstruct(model, scores, source="scores", header=False)
    np.testing.assert_array_equal(data, X)


# --- transform, reconstruct ---


def test_transform_of_an_array_is_an_array(model: pcatool.Model) -> None:
    scores = pcatool.transform(model, X)
    assert isinstance(scores, np.ndarray)
    np.testing.assert_allclose(scores, (X - X.mean(axis=0)) @ model.basis, atol=1e-12)
    np.testing.assert_array_equal(pcatool.transform(model, X[1:2]), scores[1:2])
    assert pcatool.transform(model, np.empty((0, 3))).shape == (0, 2)
    assert pcatool.transform(model, X, components=1).shape == (5, 1)


def test_transform_of_a_frame_keeps_its_index(frame: pd.DataFrame) -> None:
    model = pcatool.fit(frame, components=2)
    shuffled = frame[["city", "floors", "area", "price"]]
    scores = pcatool.transform(model, shuffled)
    assert list(scores.columns) == ["PC1", "PC2"]
    assert list(scores.index) == list("vwxyz")
    np.testing.assert_allclose(scores.to_numpy(), pcatool.transform(model, frame[NAMES]).to_numpy())
    kept = pcatool.transform(model, frame, keep=["city"], with_error=True)
    assert list(kept.columns) == ["city", "PC1", "PC2", "squared_error"]
    pd.testing.assert_series_equal(kept["city"], frame["city"])
    everything = pcatool.transform(model, frame, keep_all=True)
    pd.testing.assert_frame_equal(everything[frame.columns.tolist()], frame)


def test_an_array_has_no_names_and_is_matched_by_position(frame: pd.DataFrame) -> None:
    model = pcatool.fit(frame, components=2)
    scores = pcatool.transform(model, frame).to_numpy()
    np.testing.assert_array_equal(pcatool.transform(model, X), scores)
    np.testing.assert_allclose(pcatool.reconstruct(model, scores), pcatool.reconstruct(model, frame).to_numpy())
    with pytest.raises(pcatool.DataError, match="2 columns without names, but the model has 3"):
        pcatool.transform(model, X[:, :2])


def test_transform_of_an_arrow_table_is_one(frame: pd.DataFrame) -> None:
    table = pa.Table.from_pandas(frame, preserve_index=False)
    model = pcatool.fit(table, components=1)
    scores = pcatool.transform(model, table, keep="city")
    assert isinstance(scores, pa.Table)
    assert scores.column_names == ["city", "PC1"]
    assert scores["city"].equals(table["city"])


class Foreign:
    """A table of another library, which gives itself to Arrow in one way only."""

    def __init__(self, table: pa.Table, way: str) -> None:
        source = table.to_batches()[0] if way == "__arrow_c_array__" else table
        setattr(type(self), way, lambda self, *asked, **named: getattr(source, way)(*asked, **named))


@pytest.mark.parametrize("way", ["__arrow_c_stream__", "__arrow_c_array__", "__dataframe__"])
def test_tables_of_other_libraries_come_through_arrow(way: str, frame: pd.DataFrame) -> None:
    table = pa.Table.from_pandas(frame, preserve_index=False)
    foreign = type("Foreign", (Foreign,), {})(table, way)
    model = pcatool.fit(foreign, components=2)
    assert model == pcatool.fit(table, components=2)
    scores = pcatool.transform(model, foreign, keep="city")
    assert scores.equals(pcatool.transform(model, table, keep="city"))


def test_a_record_batch_gives_one_and_a_reader_a_table(frame: pd.DataFrame) -> None:
    table = pa.Table.from_pandas(frame, preserve_index=False)
    model = pcatool.fit(table.to_reader(max_chunksize=2), components=2)
    assert model == pcatool.fit(table, components=2)
    expected = pcatool.transform(model, table, keep="city")
    batch = pcatool.transform(model, table.to_batches()[0], keep="city")
    assert isinstance(batch, pa.RecordBatch)
    assert pa.Table.from_batches([batch]).equals(expected)
    assert pcatool.transform(model, table.to_batches()[0].slice(0, 0)).num_rows == 0
    assert pcatool.transform(model, table.to_reader(), keep="city").equals(expected)


def test_polars_gives_polars(frame: pd.DataFrame) -> None:
    table = polars.from_arrow(pa.Table.from_pandas(frame, preserve_index=False))
    model = pcatool.fit(table, components=2)
    scores = pcatool.transform(model, table, keep="city")
    assert isinstance(scores, polars.DataFrame)
    assert scores.columns == ["city", "PC1", "PC2"]
    assert scores["city"].to_list() == frame["city"].tolist()
    np.testing.assert_array_equal(scores[["PC1", "PC2"]].to_numpy(), pcatool.transform(model, frame).to_numpy())
    assert isinstance(pcatool.reconstruct(model, scores[["PC1", "PC2"]]), polars.DataFrame)
    with pytest.raises(pcatool.UsageError, match="data of type LazyFrame have no rows yet; call the method collect"):
        pcatool.fit(table.lazy())


def test_one_column_is_a_table_only_with_a_name() -> None:
    series = pd.Series(X[:, 0], name="price", index=list("vwxyz"))
    scores = pcatool.transform(pcatool.fit(series), series)
    assert list(scores.index) == list("vwxyz")
    with pytest.raises(pcatool.UsageError, match="data of type ChunkedArray are a single column, not"):
        pcatool.fit(pa.chunked_array([X[:, 0]]))


def test_a_kind_of_frame_made_from_pandas_is_one(frame: pd.DataFrame) -> None:
    class Own(pd.DataFrame):
        pass

    scores = pcatool.transform(pcatool.fit(frame), Own(frame))
    assert isinstance(scores, pd.DataFrame)
    assert list(scores.index) == list("vwxyz")


def test_columns_kept_of_an_array_need_a_frame(model: pcatool.Model) -> None:
    kept = pcatool.transform(model, X.tolist(), keep="1")
    assert list(kept.columns) == ["c1", "PC1", "PC2"]
    np.testing.assert_array_equal(kept["c1"], X[:, 0])


def test_transform_from_file_to_file(frame: pd.DataFrame, tmp_path: Path) -> None:
    source, target = tmp_path / "in.csv", tmp_path / "out.parquet"
    frame.to_csv(source, index=False)
    model = pcatool.fit(source, components=2)
    assert pcatool.transform(model, source, output=target, keep="city") is None
    pd.testing.assert_frame_equal(pd.read_parquet(target), pcatool.transform(model, source, keep="city"))
    with pytest.raises(pcatool.UsageError, match="same file as the input"):
        pcatool.transform(model, source, output=source)
    with pytest.raises(pcatool.FileError, match="exists"):
        pcatool.transform(model, source, output=target, no_clobber=True)


def test_a_missing_column_names_the_nearest(frame: pd.DataFrame) -> None:
    model = pcatool.fit(frame)
    with pytest.raises(pcatool.DataError, match=r"no column 'price' \(nearest: 'Price'\)"):
        pcatool.transform(model, frame.rename(columns={"price": "Price"}))
    with pytest.raises(pcatool.DataError, match="3"):
        pcatool.transform(pcatool.fit(X), X[:, :2])


def test_rows_with_holes(frame: pd.DataFrame) -> None:
    model = pcatool.fit(frame, components=1)
    frame.loc["w", "area"] = np.nan
    with pytest.raises(pcatool.DataError, match="a cell is missing in column 'area'"):
        pcatool.transform(model, frame)
    scores = pcatool.transform(model, frame, missing="keep")
    assert scores["PC1"].isna().tolist() == [False, True, False, False, False]


def test_reconstruct_comes_back(frame: pd.DataFrame) -> None:
    model = pcatool.fit(frame, components="all", standardize=True)
    scores = pcatool.transform(model, frame)
    again = pcatool.reconstruct(model, scores)
    pd.testing.assert_frame_equal(again, frame[NAMES])
    rows = pcatool.reconstruct(model, frame, components=1, with_error=True)
    assert list(rows.columns) == [*NAMES, "squared_error"]
    j = pcatool.explain_variance(model)["lost"][0]
    assert rows["squared_error"].mean() == pytest.approx(j, rel=1e-12)


def test_reconstruct_of_an_array_is_told_what_it_is(model: pcatool.Model) -> None:
    scores = pcatool.transform(model, X)
    np.testing.assert_allclose(pcatool.reconstruct(model, scores, source="scores"), X, atol=1e-12)
    np.testing.assert_allclose(pcatool.reconstruct(model, X, source="rows"), X, atol=1e-12)
    with pytest.raises(pcatool.UsageError, match="invalid source 'both'; choose scores or rows"):
        pcatool.reconstruct(model, X, source="both")


# --- models ---


def test_explain_variance(model: pcatool.Model) -> None:
    table = pcatool.explain_variance(model)
    assert list(table.columns) == ["component", "eigenvalue", "share", "cumulative", "captured", "lost", "lost_share"]
    assert table["component"].tolist() == [1, 2, 3]
    np.testing.assert_allclose(table["captured"] + table["lost"], model.total_variance)
    assert pcatool.explain_variance(model, threshold=0.9) == 1
    for wrong in (0, 1, 1.5, float("nan")):
        with pytest.raises(pcatool.UsageError, match="is not a share"):
            pcatool.explain_variance(model, threshold=wrong)


def test_explain_variance_of_data_fits_them_first(frame: pd.DataFrame, tmp_path: Path) -> None:
    expected = pcatool.explain_variance(pcatool.fit(frame, standardize=True, ddof=1))
    frame.to_csv(tmp_path / "a.csv", index=False)
    pcatool.save_model(pcatool.fit(frame, standardize=True, ddof=1), tmp_path / "m.npz")
    for data in (frame, tmp_path / "a.csv"):
        pd.testing.assert_frame_equal(pcatool.explain_variance(data, standardize=True, ddof=1), expected)
    pd.testing.assert_frame_equal(pcatool.explain_variance(tmp_path / "m.npz"), expected)


def test_save_and_load(model: pcatool.Model, tmp_path: Path) -> None:
    path = tmp_path / "m.npz"
    pcatool.save_model(model, path)
    again = pcatool.load_model(path)
    np.testing.assert_array_equal(again.basis, model.basis)
    assert again.columns == model.columns
    assert again.meta == model.meta
    np.testing.assert_array_equal(pcatool.transform(path, X), pcatool.transform(model, X))
    np.testing.assert_array_equal(pcatool.transform(str(path), X), pcatool.transform(model, X))
    with np.load(path, allow_pickle=False) as arrays:
        assert {"mean", "std", "basis", "eigenvalues", "total_variance", "n_samples", "columns", "meta"} <= set(arrays)
    with pytest.raises(pcatool.FileError, match="exists"):
        pcatool.save_model(model, path, no_clobber=True)
    with pytest.raises(pcatool.FileError, match="nowhere"):
        pcatool.load_model("nowhere.npz")
    (tmp_path / "broken.npz").write_bytes(path.read_bytes()[:100])
    with pytest.raises(pcatool.ModelError, match="is not a usable model"):
        pcatool.load_model(tmp_path / "broken.npz")


def test_a_path_to_a_model_is_of_any_kind(model: pcatool.Model, tmp_path: Path) -> None:
    class Place:
        def __fspath__(self) -> str:
            return str(tmp_path / "m.npz")

    pcatool.save_model(model, tmp_path / "m.npz")
    for path in (str(tmp_path / "m.npz"), tmp_path / "m.npz", Place()):
        loadings = pcatool.plot("loadings", path, axes=1)
        assert len(loadings) == model.d
        assert pcatool.explain_variance(path).equals(pcatool.explain_variance(model))
        assert pcatool.refit(path, components=1).k == 1  # type: ignore[arg-type]
        assert pcatool.transform(path, np.zeros((2, model.d))).shape == (2, model.k)  # type: ignore[call-overload]
        with pytest.raises(pcatool.UsageError, match="a model has no rows to draw"):
            pcatool.plot("scores", path)


def test_a_model_cannot_be_changed(model: pcatool.Model) -> None:
    with pytest.raises(AttributeError):
        model.basis = np.eye(3)  # type: ignore[misc]


MODELS: dict[str, tuple[dict[str, object], str]] = {
    "plain": ({}, "Model: pca, 5 x 3, k=2 keeps 100.00%, not standardised, ddof 0, solver svd"),
    "not centred": (
        {"center": False, "standardize": True, "ddof": 1, "solver": "svd"},
        "Model: pca, 5 x 3, k=2 keeps 100.00%, not centred, standardised, ddof 1, solver svd",
    ),
    "whitened": (
        {"whiten": "zca"},
        "Model: pca, 5 x 3, k=2 keeps 100.00%, not standardised, zca whitening, ddof 0, solver svd",
    ),
    "kernel": (
        {"method": "kernel", "kernel": "linear"},
        "KernelModel: kernel linear, 5 x 3, k=2 keeps 100.00%, not standardised, ddof 0, solver lapack",
    ),
    "supervised": (
        {"method": "supervised", "label": "c3", "columns": ["c1", "c2"], "components": 1},
        "Model: supervised, 5 x 2, k=1 keeps 100.00%, not standardised, ddof 0, solver ",
    ),
}


def model_of(case: str) -> pcatool.Model:
    settings, _ = MODELS[case]
    return pcatool.fit(pd.DataFrame(X, columns=["c1", "c2", "c3"]), **{"components": 2, **settings})


@pytest.mark.parametrize("case", MODELS)
def test_a_model_in_a_line(case: str) -> None:
    text = repr(model_of(case))
    assert text.startswith(f"<pcatool.{MODELS[case][1]}")
    assert text.count("\n") == 0


@pytest.mark.parametrize("case", MODELS)
@pytest.mark.parametrize(
    "again", [lambda m: pickle.loads(pickle.dumps(m)), copy.copy, copy.deepcopy], ids=["pickle", "copy", "deepcopy"]
)
def test_pickles_and_copies_are_equal_and_frozen(case: str, again: Callable[[pcatool.Model], pcatool.Model]) -> None:
    model = model_of(case)
    pcatool.transform(model, X[:, : model.d])  # what it has worked out since is no part of it
    other = again(model)
    assert type(other) is type(model)
    assert other == model
    assert hash(other) == hash(model)
    assert repr(other) == repr(model)
    np.testing.assert_array_equal(pcatool.transform(other, X[:, : model.d]), pcatool.transform(model, X[:, : model.d]))
    for name in ("mean", "basis", "eigenvalues", *model.EXTRA_ARRAYS):
        assert not getattr(other, name).flags.writeable


def test_models_are_equal_when_their_files_are(model: pcatool.Model, tmp_path: Path) -> None:
    pcatool.save_model(model, tmp_path / "m.npz")
    assert pcatool.load_model(tmp_path / "m.npz") == model
    assert model != pcatool.fit(X, components=1)
    assert model != pcatool.fit(X, components=2, ddof=1)
    assert model != pcatool.fit(X, components=2, updatable=False)
    assert model != pcatool.fit(X + 1, components=2)
    assert model != "m.npz"
    assert len({model, pcatool.fit(X, components=2)}) == 1


def test_a_model_has_no_length(model: pcatool.Model) -> None:
    with pytest.raises(TypeError):
        len(model)  # type: ignore[arg-type]


# --- warnings ---


def test_warnings_are_pythons_and_point_at_the_caller() -> None:
    flat = np.column_stack([X[:, 0], X[:, 0]])
    with pytest.warns(pcatool.PcatoolWarning, match="PC2 explains no variance") as caught:
        pcatool.fit(flat, components=2)
    assert [Path(w.filename).name for w in caught] == [Path(__file__).name]
    holes = np.vstack([X, [np.nan, 1.0, 2.0]])
    with pytest.warns(pcatool.PcatoolWarning, match="dropped 1 of 6 rows") as caught:
        pcatool.fit(holes, missing="drop")
    assert [Path(w.filename).name for w in caught] == [Path(__file__).name]


def test_numpy_numbers_count_as_python_ones() -> None:
    model = pcatool.fit(np.array([[1.0, 2.0], [3.0, 1.0], [4.0, 7.0]]), ddof=np.int64(1), standardize=np.bool_(True))
    assert (model.ddof, model.standardized) == (1, True)


@pytest.mark.parametrize(
    ("setting", "value", "message"),
    [("center", "no", "True or False"), ("ddof", True, "whole number"), ("seed", "a", "whole number")],
)
def test_settings_of_the_wrong_kind(setting: str, value: object, message: str) -> None:
    with pytest.raises(pcatool.UsageError, match=message):
        pcatool.fit(np.eye(3), **{setting: value})


def test_an_array_of_all_scores_is_not_taken_for_rows() -> None:
    X = np.array([[1.0, 2.0], [3.0, 1.0], [4.0, 7.0], [9.0, 2.0]])
    model = pcatool.fit(X, components="all")
    scores = pcatool.transform(model, X)
    with pytest.raises(pcatool.UsageError, match="source="):
        pcatool.reconstruct(model, scores)
    np.testing.assert_allclose(pcatool.reconstruct(model, scores, source="scores"), X)


def test_a_model_and_a_path_are_told_from_other_objects(tmp_path: Path) -> None:
    model = pcatool.fit(X)
    for wrong in (X, model, None, 5):
        name = type(wrong).__name__
        with pytest.raises(pcatool.UsageError, match=f"an object of type {name} is not a path; .* load_model\\('model"):
            pcatool.load_model(wrong)  # type: ignore[arg-type]
        with pytest.raises(
            pcatool.UsageError, match=f"an object of type {name} is not a path; .* save_model\\(model, "
        ):
            pcatool.save_model(model, wrong)  # type: ignore[arg-type]
    with pytest.raises(pcatool.UsageError, match=r"type str is not a model; give the model first, as in save_model\("):
        pcatool.save_model(str(tmp_path / "m.npz"), model)  # type: ignore[arg-type]
    assert not list(tmp_path.iterdir())


def test_rules_for_a_model_take_no_settings_of_a_fit() -> None:
    model = pcatool.fit(np.random.default_rng(0).normal(size=(30, 4)))
    assert len(pcatool.compare_rules(model, ["kaiser"], seed=3)) == 1
    assert list(pcatool.compare_rules(model, "kaiser,elbow")["rule"]) == ["kaiser", "elbow"]
    with pytest.raises(
        pcatool.UsageError,
        match="that is already fitted; give data instead of a model, or leave out standardize",
    ):
        pcatool.compare_rules(model, standardize=True)
    with pytest.raises(pcatool.UsageError, match="give data instead of a model, or leave out seed, standardize"):
        pcatool.explain_variance(model, seed=1, standardize=True)

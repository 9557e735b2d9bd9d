"""Parts of the inputs added up apart and merged give what one fit of all rows gives, whatever the shape of the tree."""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import pcatool
from pcatool import errors, registry
from pcatool.api.messages import with_settings
from pcatool.errors import DataError, PcatoolError, PcatoolWarning, UsageError
from pcatool.options import TableOptions
from pcatool.readers import splits
from pcatool.readers.input_files import ResolvedInputs
from pcatool.readers.splits import splits_of

D, FILES = 6, 7
X_ONLY = {"columns": "x*"}


@pytest.fixture(autouse=True)
def apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """The engine called dask is one of the tests' own."""
    entry = registry.ENGINES["dask"]._replace(target="engines.apart:Apart")
    monkeypatch.setitem(registry.ENGINES.entries, "dask", entry)


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folders of Parquet files: whole, with holes, and far from zero."""
    root, rng = tmp_path_factory.mktemp("tables"), np.random.default_rng(3)
    for name, holes, offset in (("whole", 0.0, 0.0), ("holes", 0.05, 10.0), ("far", 0.0, 1e6)):
        (root / name).mkdir()
        mix = rng.standard_normal((D, D)) * np.logspace(0, -2, D)
        for number in range(FILES):
            X = rng.standard_normal((200 + 13 * number, D)) @ mix + offset
            y = X[:, 0] + rng.standard_normal(len(X))
            X[rng.random(X.shape) < holes] = np.nan
            columns: dict[str, Any] = {f"x{j}": pa.array(X[:, j], from_pandas=True) for j in range(D)}
            columns |= {"w": rng.integers(0, 4, len(X)), "y": y, "c": rng.choice(["a", "b", "ü"][: 1 + number], len(X))}
            parquet.write_table(pa.table(columns), root / name / f"part-{number}.parquet", row_group_size=100)
    return root


SETTINGS: dict[str, tuple[str, dict[str, Any]]] = {
    "plain": ("whole", {}),
    "at an offset": ("far", {}),
    "standardised": ("far", {"standardize": True}),
    "ddof 1": ("whole", {"ddof": 1}),
    "uncentred": ("holes", {"center": False, "missing": "drop"}),
    "rows centred": ("whole", {"center_rows": True}),
    "tsqr": ("far", {"solver": "tsqr"}),
    "whitened": ("whole", {"whiten": "pca", "epsilon": 0, "components": 4}),
    "weights": ("far", {"weights": "w"}),
    "reliability": ("whole", {"weights": "w", "weights_kind": "reliability", "ddof": 1}),
    "dropped": ("holes", {"missing": "drop"}),
    "mean": ("holes", {"missing": "mean"}),
    "mean, standardised": ("holes", {"missing": "mean", "standardize": True}),
    "mean, uncentred": ("holes", {"missing": "mean", "center": False}),
    "mean, weights": ("holes", {"missing": "mean", "weights": "w"}),
    "mean where nothing is missing": ("far", {"missing": "mean"}),
    "classes": ("whole", {"method": "supervised", "label": "c", "components": 2}),
    "a target": ("far", {"method": "supervised", "label": "y", "components": 1, "standardize": True}),
}


@pytest.mark.parametrize("fan", ["2", "3", "8"])
@pytest.mark.parametrize("name", SETTINGS)
def test_parts_give_what_all_rows_give(tables: Path, name: str, fan: str) -> None:
    folder, settings = SETTINGS[name]
    path, settings = str(tables / folder), {**X_ONLY, **settings}
    here, said = fitted(path, **settings)
    parts, said_of_parts = fitted(path, engine="dask", scheduler=fan, **settings)
    scale = here.eigenvalues[0]
    assert np.abs(parts.eigenvalues - here.eigenvalues).max() <= 1e-13 * scale
    assert np.linalg.norm(parts.basis - here.basis @ (here.basis.T @ parts.basis)) <= 1e-10
    for field in ("mean", "std", "variances"):
        np.testing.assert_allclose(getattr(parts, field), getattr(here, field), rtol=1e-13, atol=1e-13)
    assert parts.total_variance == pytest.approx(here.total_variance, rel=1e-13)
    same = ("n_samples", "columns", "k")
    assert [getattr(parts, name) for name in same] == [getattr(here, name) for name in same]
    assert (parts.statistic is None) == (here.statistic is None)
    assert said == said_of_parts
    if settings.get("method") == "supervised":
        assert parts.meta["reason"] == here.meta["reason"]


@pytest.mark.parametrize("name", SETTINGS)
def test_bounds_hold(tables: Path, name: str) -> None:
    """What the certificate says an eigenvalue may be off by is more than how far it is from that of another way."""
    folder, settings = SETTINGS[name]
    path, settings = str(tables / folder), {**X_ONLY, **settings}
    here, _ = fitted(path, **settings)
    parts, _ = fitted(path, engine="dask", **settings)
    bounds = [model.meta["certificate"]["relative_error"] for model in (here, parts)]
    k = min(parts.k, parts.meta["rank"])
    off = np.abs(parts.eigenvalues[:k] / here.eigenvalues[:k] - 1)
    assert np.all(off <= np.sum([bound[:k] for bound in bounds], axis=0))


def fitted(path: str, **settings: Any) -> tuple[Any, list[str]]:
    """A model, and what was said."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        model = pcatool.fit(path, **settings)
    return model, sorted(str(warning.message) for warning in said)


def test_the_model_of_parts_is_that_of_numpy(tables: Path) -> None:
    X = np.concatenate([matrix(path) for path in sorted((tables / "far").iterdir())])
    model, _ = fitted(str(tables / "far"), engine="dask", **X_ONLY, components="all")
    expected = np.linalg.svd(X - X.mean(axis=0), compute_uv=False) ** 2 / len(X)
    np.testing.assert_allclose(model.eigenvalues, expected, rtol=1e-11)


def matrix(path: Path) -> Any:
    table = parquet.read_table(path)
    return np.column_stack([table[f"x{j}"] for j in range(D)])


def test_update_adds_up_apart(tables: Path) -> None:
    paths = sorted(str(path) for path in (tables / "far").iterdir())
    for settings in ({}, {"solver": "tsqr"}, {"method": "supervised", "label": "c", "components": 1}):
        first = pcatool.fit(paths[:2], **X_ONLY, **settings)
        here, apart = pcatool.update(first, paths[2:]), pcatool.update(first, paths[2:], engine="dask")
        np.testing.assert_allclose(apart.eigenvalues, here.eigenvalues, rtol=0, atol=1e-13 * here.eigenvalues[0])
        assert apart.n_samples == here.n_samples == pcatool.fit(paths, **X_ONLY, **settings).n_samples


# --- splits ---


def cut(path: Path, monkeypatch: pytest.MonkeyPatch, size: int, **options: Any) -> list[splits.Split]:
    monkeypatch.setattr(splits, "LARGE_FILE", size)
    return splits_of(ResolvedInputs.of([str(path)], TableOptions(**options)), TableOptions(**options))


def test_small_files_are_not_cut(tables: Path) -> None:
    found = splits_of(ResolvedInputs.of([str(tables / "whole")], TableOptions()), TableOptions())
    assert [(split.position, split.input.groups) for split in found] == [(i, None) for i in range(FILES)]


def test_large_files_are_cut_between_row_groups(tables: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tables / "whole" / "part-6.parquet"  # 278 rows in groups of 100
    size = path.stat().st_size
    assert [p.input.groups for p in cut(path, monkeypatch, size // 3)] == [(0, 1), (1, 2), (2, 3)]
    assert [p.input.groups for p in cut(path, monkeypatch, size - 1)] == [(0, 2), (2, 3)]
    assert [p.input.groups for p in cut(path, monkeypatch, 1)] == [(0, 1), (1, 2), (2, 3)]
    assert [p.input.groups for p in cut(path, monkeypatch, 1, skip_bad=True)] == [None]


def test_many_small_files_go_together(tables: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = splits_of(ResolvedInputs.of([str(tables / "far")], TableOptions()), TableOptions())
    assert splits.group_splits(found) == [(split,) for split in found]  # too few to keep workers busy
    monkeypatch.setattr(splits, "ENOUGH_TASKS", 3)
    parts = splits.group_splits(found)
    assert 3 <= len(parts) <= 5
    assert [split for part in parts for split in part] == found
    whole, apart = pcatool.fit(str(tables / "far"), **X_ONLY), pcatool.fit(str(tables / "far"), engine="dask", **X_ONLY)
    np.testing.assert_allclose(apart.eigenvalues, whole.eigenvalues, rtol=0, atol=1e-13 * whole.eigenvalues[0])
    assert splits.group_splits([]) == []
    monkeypatch.setattr(splits, "MOST_SPLITS", 1)
    assert len(splits.group_splits(found)) == 1


def test_there_are_no_more_cuts_than_a_scheduler_can_bear(tables: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(splits, "MOST_SPLITS", 1)
    assert [p.input.groups for p in cut(tables / "whole" / "part-6.parquet", monkeypatch, 1)] == [None]


@pytest.mark.parametrize("most_open", [None, 0])
def test_cut_or_not_the_rows_are_the_same(tables: Path, monkeypatch: pytest.MonkeyPatch, most_open: int | None) -> None:
    """Read by rows, and by columns as wide files are."""
    whole = pcatool.fit(str(tables / "far"), **X_ONLY)
    monkeypatch.setattr(splits, "LARGE_FILE", 1)
    if most_open is not None:
        monkeypatch.setattr("pcatool.readers.parquet.table.MOST_OPEN", most_open)
    apart = pcatool.fit(str(tables / "far"), engine="dask", **X_ONLY)
    assert apart.n_samples == whole.n_samples
    np.testing.assert_allclose(apart.eigenvalues, whole.eigenvalues, rtol=0, atol=1e-13 * whole.eigenvalues[0])


def test_a_bad_cell_is_named_by_its_row_in_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.arange(300.0)
    x[217] = np.inf
    parquet.write_table(pa.table({"a": x, "b": np.sqrt(np.arange(300.0))}), tmp_path / "t.parquet", row_group_size=50)
    monkeypatch.setattr(splits, "LARGE_FILE", 1)
    with pytest.raises(DataError, match=r"t\.parquet, row 218, column 'a': 'inf' is not finite"):
        pcatool.fit(str(tmp_path / "t.parquet"), engine="dask")


def test_what_workers_cannot_read_is_refused() -> None:
    with pytest.raises(UsageError, match="workers cannot read standard input"):
        splits_of(ResolvedInputs.of(["-"], TableOptions()), TableOptions())
    with pytest.raises(UsageError, match="workers cannot read a table in memory"):
        pcatool.fit(np.eye(3), engine="dask")


# --- what was met while parts were read ---


def write(folder: Path, *texts: str) -> list[str]:
    paths = [folder / f"{number}.csv" for number in range(len(texts))]
    for path, text in zip(paths, texts, strict=True):
        path.write_text(text)
    return [str(path) for path in paths]


def both(paths: list[str], **settings: Any) -> Iterator[tuple[str, Any]]:
    """What is said, or refused, here and apart."""
    for engine in ("threads", "dask"):
        try:
            model, said = fitted(paths, engine=engine, **settings)  # type: ignore[arg-type]
            yield engine, (model.n_samples, model.columns, said)
        except PcatoolError as error:
            yield engine, (type(error), str(error))


@pytest.mark.parametrize(
    ("texts", "settings"),
    {
        "missing cells are counted over all": (("a,b\n1,2\n3,\n", "a,b\n5,6\n,\n7,1\n", "a,b\n,1\n2,2\n"), {}),
        "rows dropped": (("a,b\n1,2\n3,\n", "a,b\n5,6\n,\n7,1\n"), {"missing": "drop"}),
        "no row left": (("a,b\n1,\n", "a,b\n,3\n"), {"missing": "drop"}),
        "a later column of numbers": (("a,b\n1,2\n3,5\n", "a,b,c\n5,6,7\n8,8,8\n", "a,c,b\n5,6,7\n"), {}),
        "no such column in the second": (("a,b\n1,2\n3,5\n", "a,c\n5,6\n"), {}),
        "no such column, left out": (("a,b\n1,2\n3,5\n", "a,c\n5,6\n", "a,b\n1,0\n"), {"skip_bad": True}),
        "bad by its own columns alone": (("a,b,c\n1,2,\n9,8,\n", "a,b,c\n5,6,u\n1,0,u\n"), {"skip_bad": True}),
        "all bad": (("a,b\n1,2\n3,x\n", "a,c\n5,6\n"), {"skip_bad": True, "columns": "a,b"}),
        "text in a number": (("a,b\n1,2\n3,5\n", "a,b\n5,6\nx,1\n", "a,b\n5,6\ny,1\n"), {}),
        "no rows": (("a,b\n", "a,b\n"), {}),
        "rows in one file only": (("a,b\n", "a,b\n1,2\n2,5\n"), {}),
        "one row": (("a,b\n", "a,b\n1,2\n"), {}),
        "constant": (("a,b\n7,2\n", "a,b\n7,3\n", "a,b\n7,5\n"), {}),
        "squares that overflow": (("a,b\n1e200,2e200\n-1e200,1e200\n", "a,b\n5e200,1e200\n0,0\n"), {}),
        "constant in each": (("a,b\n7,2\n7,1\n", "a,b\n8,3\n8,4\n"), {}),
        "large whole numbers": (("a,b\n9007199254740993,2\n7,1\n", "a,b\n9007199254740995,3\n8,4\n"), {}),
        "squares underflow": (("a,b\n1e-170,2\n3e-170,1\n", "a,b\n2e-170,3\n1e-170,9\n"), {}),
        "squares of a few underflow": (
            ("a,b\n1e-170,2\n3e-170,1\n", "a,b\n2e-170,3\n1e-170,9\n"), {"solver": "tsqr", "standardize": True}
        ),
        "squares between files underflow": (("a,b\n1e-170,2\n1e-170,1\n", "a,b\n2e-170,3\n2e-170,9\n"), {}),
        "squares underflow beside a label": (
            ("a,b,c\n1e-170,2,u\n3e-170,1,v\n", "a,b,c\n2e-170,3,u\n1e-170,9,v\n"),
            {"method": "supervised", "label": "c"},
        ),
        "one class": (("a,b,c\n1,2,u\n7,1,u\n", "a,b,c\n8,3,u\n"), {"method": "supervised", "label": "c"}),
        "classes as they first appear": (
            ("a,b,c\n1,2,u\n7,1,v\n", "a,b,c\n8,3,w\n2,4,u\n"), {"method": "supervised", "label": "c"}
        ),
        "a negative weight": (("a,b,c\n1,2,1\n7,1,1\n", "a,b,c\n8,3,-1\n"), {"weights": "c"}),
    }.values(),
)  # fmt: skip
def test_the_same_is_said(tmp_path: Path, texts: tuple[str, ...], settings: dict[str, Any]) -> None:
    here, apart = (said for _, said in both(write(tmp_path, *texts), **settings))
    assert apart == here


def test_a_longer_vector_than_the_first_input_has_is_refused(tmp_path: Path) -> None:
    for name, width in (("a", 2), ("b", 3)):
        rows = np.random.default_rng(1).standard_normal((5, width)).tolist()
        parquet.write_table(pa.table({"v": pa.array(rows, pa.list_(pa.float64()))}), tmp_path / f"{name}.parquet")
    here, apart = (said for _, said in both([str(tmp_path)]))
    assert apart == here
    assert "the vectors have length 3" in here[1]


# --- what does not add up ---


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"solver": "svd"}, "solver=.svd. cannot be spread over workers: it needs all rows in one place"),
        ({"solver": "dual"}, "--solver dual cannot be spread over workers"),
        ({"solver": "randomized", "components": 2}, "--solver randomized cannot be spread over workers"),
        ({"method": "kernel", "kernel": "rbf"}, "a fit with a kernel cannot be spread over workers"),
        ({"missing": "em"}, "--missing em cannot be spread over workers: it reads the rows many times"),
        ({"missing": "mean", "solver": "tsqr"}, "--solver tsqr with --missing mean cannot be spread"),
        (
            {"triples": "x0,x1,x2"},
            "--triples cannot be spread over workers: the cells of a row may be in any part of the input",
        ),
        ({"components": "cross-validation"}, "-k cross-validation cannot be spread over workers"),
        (
            {"method": "supervised", "label": "y", "label_kernel": "rbf"},
            "--label-kernel rbf cannot be spread over workers: every label is compared with every other label",
        ),
        ({"threads": 2}, "threads has no effect with engine=.dask."),
    ],
)
def test_what_does_not_add_up_is_refused(tables: Path, settings: dict[str, Any], text: str) -> None:
    columns = {} if "triples" in settings else X_ONLY
    with pytest.raises(UsageError, match=with_settings(text)):
        pcatool.fit(str(tables / "whole"), engine="dask", **columns, **settings)


def test_a_scheduler_belongs_to_an_engine_elsewhere(tables: Path) -> None:
    with pytest.raises(UsageError, match=r"scheduler has no effect without engine=.dask. or spark"):
        pcatool.fit(str(tables / "whole"), scheduler="tcp://127.0.0.1:1", **X_ONLY)
    with pytest.raises(UsageError, match="invalid value 'dusk' for engine: choose threads, dask or spark"):
        pcatool.fit(str(tables / "whole"), engine="dusk", **X_ONLY)


def test_a_model_is_not_read_elsewhere(tables: Path, tmp_path: Path) -> None:
    model = tmp_path / "m.npz"
    pcatool.save_model(pcatool.fit(str(tables / "whole"), **X_ONLY), model)
    with pytest.raises(UsageError, match="is already fitted: engine has no effect"):
        pcatool.explain_variance(str(model), engine="dask")


def test_a_plan_refuses_what_the_fit_would(tables: Path) -> None:
    with pytest.raises(UsageError, match=r"threads has no effect with engine=.dask."):
        pcatool.plan(str(tables / "whole"), engine="dask", threads=2, **X_ONLY)


def test_a_fit_that_needs_too_much_is_refused_before_the_work(tables: Path) -> None:
    with pytest.raises(errors.RefusedError, match="memory"):
        pcatool.fit(str(tables / "whole"), engine="dask", memory="1MB", **X_ONLY)


@pytest.mark.parametrize(
    "error",
    [
        errors.BadCell("t.csv, line 2", "a", "x", "is not a number", "mend it"),
        errors.MissingColumns(["a"], ["b"], "t.csv"),
        errors.FileError("cannot read 't'"),
        errors.LostError("lost", "again"),
        errors.RefusedError("too much"),
        errors.ModelError("no model"),
        UsageError("wrong", "right"),
    ],
)
def test_errors_come_back_as_they_are(error: PcatoolError) -> None:
    error.of_input = True
    back = pickle.loads(pickle.dumps(error))
    assert type(back) is type(error)
    assert (str(back), back.message, back.remedy, back.exit_code, back.of_input) == (
        str(error), error.message, error.remedy, error.exit_code, True
    )  # fmt: skip
    back.add_remedy("or so")
    assert str(back).endswith("or so")


def test_warnings_are_those_of_the_library(tmp_path: Path) -> None:
    paths = write(tmp_path, "a,b\n1,2\n3,\n5,5\n", "a,b\n5,6\n,\n7,1\n")
    with pytest.warns(PcatoolWarning, match="dropped 2 of 6 rows"):
        pcatool.fit(paths, engine="dask", missing="drop")

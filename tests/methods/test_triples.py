"""Tables with one line for each cell, from the lines to models, scores and fills.

The oracle is the same program on the pivoted table, which has oracles of its own, and for absent cells that are zeros
PCA of scikit-learn. `holed` is the table most tests take apart: 240 rows of 12 columns, a third of the cells gone.
"""

from __future__ import annotations

import datetime
import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn.decomposition import PCA

import pcatool
from missing.made import made, punched
from pcatool.arrays import Array
from pcatool.errors import DataError, UsageError
from pcatool.model.model import Model
from pcatool.model.npz import dumps

pytestmark = pytest.mark.long

COLUMNS = ("user", "item", "rating")
TRIPLES: dict[str, Any] = {"triples": COLUMNS}
ITEMS = [f"i{j:02}" for j in range(12)]  # their order as text is their order as numbers

# Two ways to one number, through sums and factorisations of some hundred rows.
CLOSE = 1e-10

# Cells and blocks take the same way up the likelihood; sums of other order leave it by their rounding, times what
# 50 steps make of it.
SAME_CLIMB = 1e-6

SETTINGS: list[dict[str, Any]] = [
    {},
    {"center": False},
    {"standardize": True},
    {"ddof": 1},
    {"standardize": True, "ddof": 1},
]
every_setting = pytest.mark.parametrize("settings", SETTINGS, ids=lambda s: "-".join(s) or "plain")


@pytest.fixture(scope="module")
def holed() -> Array:
    X = np.round(punched(made(240, 12, [30, 20, 10], 0.5, 1).X, 0.35, 2), 6)
    X[5] = np.nan  # a user without a cell, who is none
    X.setflags(write=False)
    return X


@pytest.fixture(scope="module")
def counts() -> Array:
    """Mostly zeros."""
    X = np.random.default_rng(3).poisson(0.4, size=(150, 12)) * 1.0
    X[np.arange(150), np.arange(150) % 12] += 1  # nobody has none
    return X


def lines(X: Array, *, users: Any = None, items: Any = None, seed: int = 0) -> pd.DataFrame:
    """The cells of X that are there, in some order."""
    i, j = np.nonzero(~np.isnan(X))
    order = np.random.default_rng(seed).permutation(len(i))
    i, j = i[order], j[order]
    users = np.arange(len(X)) if users is None else np.asarray(users)
    items = [f"i{j:02}" for j in range(X.shape[1])] if items is None else items
    return pd.DataFrame({"user": users[i], "item": np.asarray(items)[j], "rating": X[i, j]})


def arrow(X: Array, **names: Any) -> pa.Table:
    return pa.Table.from_pandas(lines(X, **names), preserve_index=False)


def nonzero(X: Array) -> Array:
    return np.where(X == 0, np.nan, X)


def same_numbers(one: Model, other: Model, within: float) -> None:
    known = min(len(one.eigenvalues), len(other.eigenvalues))
    np.testing.assert_allclose(
        one.eigenvalues[:known], other.eigenvalues[:known], rtol=0, atol=within * one.eigenvalues[0]
    )
    for name in ("mean", "std", "total_variance", "basis"):
        mine, its = np.asarray(getattr(one, name)), np.asarray(getattr(other, name))
        np.testing.assert_allclose(mine, its, rtol=0, atol=within * np.abs(its).max(), err_msg=name)
    assert one.n_samples == other.n_samples


def close(found: Any, expected: Any, within: float = CLOSE) -> None:
    np.testing.assert_allclose(found, expected, rtol=within, atol=within * np.nanmax(np.abs(expected)))


@pytest.fixture(scope="module")
def run(environment: dict[str, str]) -> Callable[..., subprocess.CompletedProcess[str]]:
    def run(place: Path, *arguments: str, data: str | bytes | None = None, code: int = 0) -> Any:
        given = data.encode() if isinstance(data, str) else data
        done = subprocess.run(["pcatool", *arguments], cwd=place, env=environment, input=given, capture_output=True)
        assert done.returncode == code, done.stderr.decode()
        assert b"Traceback" not in done.stderr
        out, err = done.stdout.decode("utf-8", "replace"), done.stderr.decode()
        return subprocess.CompletedProcess(done.args, code, out, err)

    return run


# --- the table that the lines make up ---


@pytest.mark.parametrize(("missing", "within"), [("em", SAME_CLIMB), ("mean", CLOSE)])
@every_setting
def test_absent_cells_are_holes(missing: str, within: float, settings: dict[str, Any], holed: Array) -> None:
    model = pcatool.fit(lines(holed), components=3, missing=missing, **TRIPLES, **settings)
    table = pd.DataFrame(np.delete(holed, 5, axis=0), columns=ITEMS)
    same_numbers(model, pcatool.fit(table, components=3, missing=missing, **settings), within)
    assert model.columns == tuple(ITEMS)
    if not settings.get("center", True) and missing == "mean":
        assert model.column_means is not None
        close(model.column_means, np.nanmean(holed, axis=0))


def test_em_is_what_is_done_with_absent_cells(holed: Array) -> None:
    model = pcatool.fit(lines(holed), components=3, **TRIPLES)
    assert (model.meta["missing"], model.meta["absent"], model.meta["solver"]) == ("em", "missing", "em")
    assert dumps(model) == dumps(pcatool.fit(lines(holed), components=3, missing="em", absent="missing", **TRIPLES))


@pytest.mark.parametrize(("n", "d"), [(150, 12), (30, 300), (200, 150)])
@every_setting
def test_absent_cells_are_zeros(n: int, d: int, settings: dict[str, Any]) -> None:
    X = np.random.default_rng(n).poisson(0.4, size=(n, d)) * 1.0
    X[np.arange(max(n, d)) % n, np.arange(max(n, d)) % d] += 1  # no row and no column without a line
    items = [f"i{j:03}" for j in range(d)]
    model = pcatool.fit(lines(nonzero(X), items=items), components=3, absent="zero", **TRIPLES, **settings)
    plain = pcatool.fit(pd.DataFrame(X, columns=items), components=3, **settings)
    same_numbers(model, plain, CLOSE)
    assert model.columns == plain.columns


def test_zeros_against_scikit_learn(counts: Array) -> None:
    theirs = PCA(3).fit(counts)
    model = pcatool.fit(lines(nonzero(counts)), components=3, absent="zero", ddof=1, **TRIPLES)
    close(model.eigenvalues[:3], theirs.explained_variance_)
    Z = pcatool.transform(model, arrow(nonzero(counts)), **TRIPLES).to_pandas().sort_values("user")
    close(np.abs(Z[["PC1", "PC2", "PC3"]]), np.abs(theirs.transform(counts)))


@every_setting
@pytest.mark.parametrize("how", [{"missing": "em"}, {"missing": "mean"}, {"absent": "zero"}])
def test_all_cells_given_are_the_table(how: dict[str, str], settings: dict[str, Any]) -> None:
    X = made(90, 7, [30, 20, 10], 0.5, 4).X
    order = [6, 0, 3, 1, 5, 2, 4]
    items = [f"n{j}" for j in order]
    model = pcatool.fit(lines(X, items=items), components=3, **how, **TRIPLES, **settings)
    plain = pcatool.fit(pd.DataFrame(X, columns=items)[list(model.columns)], components=3, **settings)
    assert model.columns == tuple(sorted(items))
    for name in ("mean", "std", "basis", "eigenvalues", "total_variance", "n_samples"):
        assert np.array_equal(getattr(model, name), getattr(plain, name)), name


@pytest.mark.parametrize(
    ("ids", "expected"),
    [
        ([10, 9, -2, 100, 0], ["-2", "0", "9", "10", "100"]),
        (["10", "9", "-2", "100", "0"], ["-2", "0", "9", "10", "100"]),
        (["10", "9", "x", "100", "0"], ["0", "9", "10", "100", "x"]),
        (["010", "9", "-2", "100", "0"], ["-2", "0", "9", "010", "100"]),
        (["q10", "q9", "q9b", "a", "b"], ["a", "b", "q9", "q9b", "q10"]),
    ],
)
def test_columns_in_order_of_numbers_or_of_text(ids: list[Any], expected: list[str], counts: Array) -> None:
    model = pcatool.fit(lines(counts[:, :5], items=ids), components=1, **TRIPLES)
    assert list(model.columns) == expected


# --- the same bytes ---


@pytest.mark.parametrize("how", [{"missing": "em"}, {"missing": "mean"}, {"absent": "zero"}], ids=str)
def test_models_by_every_route(how: dict[str, str], holed: Array, tmp_path: Path, run: Any) -> None:
    """Another order of lines, other types of names, another format, several files, a pipe, more threads."""
    items = np.arange(12)
    first, other = (lines(holed, items=items, seed=seed) for seed in (1, 2))
    first.to_csv(tmp_path / "x.csv", index=False)
    first[:900].to_csv(tmp_path / "a.csv", index=False)
    first[900:].to_csv(tmp_path / "b.csv", index=False)
    other.to_parquet(tmp_path / "x.parquet", row_group_size=101)
    texts = other.astype({"user": str, "item": str})
    texts.to_parquet(tmp_path / "texts.parquet")
    other[["rating", "item", "user"]].to_csv(tmp_path / "turned.csv", index=False)
    routes: list[Any] = [["x.csv"], ["x.parquet"], ["a.csv", "b.csv"], ["b.csv", "a.csv"], ["texts.parquet"]]
    found = {
        dumps(pcatool.fit([tmp_path / name for name in names], components=2, threads=threads, **how, **TRIPLES))
        for names in [*routes, ["turned.csv"]]
        for threads in (1, 3)
    }
    found |= {dumps(pcatool.fit(table, components=2, **how, **TRIPLES)) for table in (first, texts)}
    arguments = ["fit", "-k", "2", "--triples", ",".join(COLUMNS), "-o", "m.npz"]
    arguments += [word for name, value in how.items() for word in (f"--{name}", value)]
    run(tmp_path, *arguments, data=(tmp_path / "turned.csv").read_bytes())
    assert found == {(tmp_path / "m.npz").read_bytes()}


@pytest.mark.parametrize("command", ["transform", "reconstruct", "reconstruct --fill"])
def test_results_by_every_route(command: str, holed: Array, tmp_path: Path, run: Any) -> None:
    table = lines(holed, seed=3)
    table.to_csv(tmp_path / "x.csv", index=False)
    table.to_parquet(tmp_path / "x.parquet", row_group_size=101)
    pcatool.save_model(pcatool.fit(table, components=2, **TRIPLES), tmp_path / "m.npz")
    arguments = [*command.split(), "--triples", ",".join(COLUMNS), "--with-coverage", "--with-error"]
    arguments.insert(1, "m.npz")
    found = {run(tmp_path, *arguments, *more).stdout for more in (["x.csv"], ["x.parquet", "--threads", "3"])}
    found.add(run(tmp_path, *arguments, data=(tmp_path / "x.csv").read_bytes()).stdout)
    assert len(found) == 1


def test_users_in_another_order_get_the_same_results(holed: Array) -> None:
    model = pcatool.fit(lines(holed), components=2, **TRIPLES)
    results = [
        pcatool.transform(model, arrow(holed, seed=seed), with_error=True, **TRIPLES).to_pandas().sort_values("user")
        for seed in (1, 2)
    ]
    assert np.array_equal(results[0].to_numpy(), results[1].to_numpy())


# --- names ---

DAYS = [datetime.date(2024, 1, 1) + datetime.timedelta(days=3 * i) for i in range(240)]
HOURS = [datetime.datetime(2024, 1, 1) + datetime.timedelta(hours=i) for i in range(240)]
KINDS: dict[str, pa.Array] = {
    "text": pa.array([f"u{i}" for i in range(240)]),
    "int8": pa.array(range(-120, 120), pa.int8()),
    "uint64": pa.array(range(240), pa.uint64()),
    "float": pa.array(np.arange(240) / 8),
    "date": pa.array(DAYS),
    "timestamp": pa.array(HOURS),
    "timestamp in Berlin": pa.array(HOURS, pa.timestamp("ms", "Europe/Berlin")),
    "time": pa.array([datetime.time(i // 60, i % 60) for i in range(240)]),
    "duration": pa.array([datetime.timedelta(hours=i) for i in range(240)]),
    "dictionary": pa.array([f"u{i}" for i in range(240)]).dictionary_encode(),
    "dictionary of int": pa.array(range(240)).dictionary_encode(),
    "large text": pa.array([f"u{i}" for i in range(240)], pa.large_string()),
}


@pytest.mark.parametrize("kind", KINDS)
def test_users_come_back_as_they_are(kind: str, holed: Array) -> None:
    """One row each, in the order in which they first appear, of the type they had."""
    i, j = np.nonzero(~np.isnan(holed))
    order = np.random.default_rng(4).permutation(len(i))
    i, j = i[order], j[order]
    table = pa.table({"user": KINDS[kind].take(pa.array(i)), "item": [ITEMS[c] for c in j], "rating": holed[i, j]})
    model = pcatool.fit(table, components=2, **TRIPLES)
    found = pcatool.transform(model, table, **TRIPLES)
    assert found["user"].type == KINDS[kind].type
    users = list(dict.fromkeys(i.tolist()))
    assert found["user"].to_pylist() == KINDS[kind].take(pa.array(users)).to_pylist()
    wide = pcatool.transform(model, holed[users])
    assert np.array_equal(found.select(["PC1", "PC2"]).to_pandas().to_numpy(), wide)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "float"])
def test_items_of_any_type(kind: str, counts: Array) -> None:
    i, j = np.nonzero(counts)
    table = pa.table({"user": i, "item": KINDS[kind].take(pa.array(j)), "rating": counts[i, j]})
    model = pcatool.fit(table, components=2, absent="zero", **TRIPLES)
    assert model.d == 12
    assert sorted(pcatool.fit(counts, components=2).eigenvalues) == pytest.approx(sorted(model.eigenvalues), rel=CLOSE)


def test_results_of_a_frame_are_a_frame(holed: Array) -> None:
    frame = lines(holed)
    model = pcatool.fit(frame, components=2, **TRIPLES)
    found = pcatool.transform(model, frame, **TRIPLES)
    assert list(found.columns) == ["user", "PC1", "PC2"]
    assert found["user"].tolist() == frame["user"].drop_duplicates().tolist()
    expected = pcatool.transform(model, pa.Table.from_pandas(frame), **TRIPLES).to_pandas()
    assert np.array_equal(found.to_numpy(), expected.to_numpy())


WORDS = "doc,word,n\nd1,none,2\nd1,NA,1\nd2,null,3\nd2,none,1\nd3,tea,4\nd3,NA,2\nNone,tea,1\n"


def test_names_that_look_like_nothing_are_names(tmp_path: Path, run: Any) -> None:
    arguments = ["fit", "-", "--triples", "doc,word,n", "--absent", "zero", "-k", "2", "-o", "m.npz"]
    said = run(tmp_path, *arguments, data=WORDS).stderr
    assert "note: read 'None' as the name of a user, not as a missing value" in said
    assert "note: taken as the name of a item, not as missing" not in said
    assert "'none'" in said
    assert "'NA'" in said
    model = pcatool.load_model(tmp_path / "m.npz")
    assert model.columns == ("NA", "none", "null", "tea")
    assert model.n_samples == 4
    done = run(tmp_path, "transform", "m.npz", "--triples", "doc,word,n", data=WORDS)
    assert [line.split(",")[0] for line in done.stdout.splitlines()] == ["doc", "d1", "d2", "d3", "None"]
    refused = run(tmp_path, *arguments, "--null-value", "tea", data=WORDS, code=3).stderr
    assert "line 6: the item (column 'word') is missing; correct or remove the line" in refused


# --- cells ---


def test_a_line_without_a_value_is_an_absent_cell(holed: Array) -> None:
    table = lines(holed)
    more = pd.DataFrame({"user": [0, 5], "item": [ITEMS[int(np.isnan(holed[0]).argmax())], ITEMS[0]], "rating": np.nan})
    longer = pd.concat([table, more])
    wide = pd.DataFrame(holed, columns=ITEMS)  # of user 5 all that is known is the name
    model = pcatool.fit(longer, components=2, **TRIPLES)
    same_numbers(model, pcatool.fit(wide, components=2, missing="em"), SAME_CLIMB)
    same_numbers(model, pcatool.fit(table, components=2, **TRIPLES), CLOSE)
    Z = pcatool.transform(model, pa.Table.from_pandas(longer), **TRIPLES).to_pandas().set_index("user")
    assert Z.loc[5].isna().all()
    with pytest.raises(
        DataError,
        match=rf"row {len(longer) - 1}: the value is missing \(absent=.zero. sets only cells without a line to 0\); "
        "give the value, or remove the line if the cell is to be 0",
    ):
        pcatool.fit(longer, components=2, absent="zero", **TRIPLES)


GOOD = "user,item,rating\nann,tea,1\nann,pie,2\nbob,tea,4\nbob,jam,5\ncat,jam,6\ncat,pie,2\ncat,tea,3\ndan,pie,1\n"
AT = ["--triples", "user,item,rating"]


@pytest.mark.parametrize(
    ("data", "more", "said"),
    [
        (
            GOOD + "ann,tea,7\n",
            [],
            "item 'tea' is given twice, in rows 1 and 9 of the input, not counting headers; give each cell once",
        ),
        (GOOD + " ann ,tea,7\n", [], "the cell of user 'ann' and item 'tea' is given twice, in rows 1 and 9 of the"),
        (GOOD + ",tea,7\n", [], "line 10: the user (column 'user') is missing; correct or remove the line"),
        (GOOD + "  ,tea,7\n", [], "line 10: the user (column 'user') is missing"),
        (GOOD + "ann,,7\n", [], "line 10: the item (column 'item') is missing"),
        (
            GOOD + "ann,jam,\n",
            ["--absent", "zero"],
            "line 10: the value is missing (--absent zero sets only cells without a line to 0)",
        ),
        (GOOD + "ann,jam,high\n", [], "line 10, column 'rating': 'high'"),
        (GOOD + "ann,jam,inf\n", [], "line 10, column 'rating': 'inf' is not finite"),
        ("user,item,rating\nann,tea,good\n", [], "column 'rating' holds no numbers (first value 'good')"),
        ('user,item,rating\nann,tea,"$1,200"\n', [], "'$1,200' is not a plain number; read the table with"),
        ("user,item,rating\n", [], "no rows to fit"),
        ("user,item,rating\nann,tea,\nbob,pie,NA\n", [], "every cell is missing"),
        (GOOD, ["-k", "3"], "-k 3 with 3 columns needs more than 9 observed cells, but the data have 8 observed cells"),
        (GOOD, ["-k", "4", "--absent", "zero"], "-k 4"),
        (
            GOOD,
            ["--triples", "user,item"],
            "--triples 'user,item' names 2 different columns; name three columns, as in --triples 'user,item,value'",
        ),
        (
            GOOD,
            ["--triples", "1,2,2"],
            "--triples '1,2,2' names 2 different columns; name three columns, as in --triples 'user,item,value'",
        ),
        (GOOD, ["--triples", "user,item,stars"], "'stars'"),
        (GOOD, ["--triples", "rating,item,user"], "column 'user' holds no numbers (first value 'ann')"),
    ],
)
def test_lines_that_are_refused(data: str, more: list[str], said: str, tmp_path: Path, run: Any) -> None:
    at = [] if "--triples" in more else AT
    done = run(
        tmp_path, "fit", "-", "-k", "1", *at, *more, "-o", "m.npz", data=data, code=2 if "; name three" in said else 3
    )
    assert said in done.stderr
    assert not (tmp_path / "m.npz").exists()


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["-c", "rating"], "-c does not go with --triples; leave out -c, and remove the lines of unwanted items"),
        (["-x", "rating"], "-x does not go with --triples"),
        (["--weights", "rating"], "--weights does not go with --triples"),
        (["--solver", "svd"], "--solver does not go with --triples"),
        (["--center-rows"], "--center-rows does not go with --triples"),
        (["--missing", "drop"], "--missing drop does not go with --triples"),
        (
            ["--missing", "mean", "--absent", "zero"],
            "--missing mean does not go with --absent zero: the cells without a line are 0",
        ),
        (
            ["--missing", "em", "--absent", "zero"],
            "--missing em does not go with --absent zero: the cells without a line are 0",
        ),
        (["--method", "kernel"], "--method kernel does not go with --triples"),
        (["--absent", "never"], "invalid value 'never' for --absent: choose missing or zero"),
        (
            ["-k", "0.9"],
            "-k 0.9 is not possible with --triples: cells are missing, and EM needs a number of components; "
            "give a number, such as -k 10",
        ),
        (["-k", "kaiser"], "-k kaiser is not possible with --triples"),
    ],
)
def test_flags_that_are_refused(more: list[str], said: str, tmp_path: Path, run: Any) -> None:
    done = run(tmp_path, "fit", "-", "-k", "1", *AT, *more, "-o", "m.npz", data=GOOD, code=2)
    assert said in done.stderr


def test_flags_that_are_refused_where_a_model_is_applied(holed: Array, tmp_path: Path) -> None:
    model = pcatool.fit(lines(holed), components=2, **TRIPLES)
    table = arrow(holed)
    refused: list[tuple[Callable[[], Any], str]] = [
        (lambda: pcatool.transform(model, table, keep=["user"], **TRIPLES), "keep does not go with triples"),
        (lambda: pcatool.transform(model, table, keep_all=True, **TRIPLES), "keep_all=True does not go with triples"),
        (lambda: pcatool.transform(model, holed, absent="zero"), "absent has no effect without triples"),
        (
            lambda: pcatool.fit(holed, absent="missing"),
            "absent has no effect without triples; give triples, or leave out absent",
        ),
        (lambda: pcatool.transform(model, table, missing="drop", **TRIPLES), 'missing="drop" is only for fits'),
    ]
    for call, said in refused:
        with pytest.raises(UsageError) as caught:
            call()
        assert said in str(caught.value)
    with pytest.raises(DataError, match=r"user '\d+': a cell is missing in column 'i\d+'; give missing=.keep."):
        pcatool.transform(model, table, missing="error", **TRIPLES)


def test_items_that_the_model_does_not_know(holed: Array, tmp_path: Path, run: Any) -> None:
    pcatool.save_model(pcatool.fit(lines(holed), components=2, **TRIPLES), tmp_path / "m.npz")
    known = "user,item,rating\nann,i03,1\nann,i07,2\nbob,i01,4\n"
    expected = run(tmp_path, "transform", "m.npz", *AT, data=known)
    assert expected.stderr == ""
    found = run(tmp_path, "transform", "m.npz", *AT, data=known + "ann,tea,9\nbob,pie,3\n")
    assert found.stdout == expected.stdout
    assert "the model does not have: 'tea', 'pie'" in found.stderr
    only = run(tmp_path, "transform", "m.npz", *AT, data=known + "cat,tea,9\n")
    assert only.stdout == expected.stdout + "cat,,\n"
    none = run(tmp_path, "transform", "m.npz", *AT, data="user,item,rating\nann,tea,9\n", code=3)
    assert "the model has none of the items of the input, which are 'tea'; check that" in none.stderr


def test_no_lines_are_no_rows(holed: Array, tmp_path: Path, run: Any) -> None:
    """As a table without rows: a night on which nobody rated is no failure."""
    pcatool.save_model(pcatool.fit(lines(holed), components=2, **TRIPLES), tmp_path / "m.npz")
    assert run(tmp_path, "transform", "m.npz", data=",".join(ITEMS) + "\n").stdout == "PC1,PC2\n"
    assert run(tmp_path, "transform", "m.npz", *AT, data="user,item,rating\n").stdout == "user,PC1,PC2\n"


# --- models applied to lines ---


@pytest.mark.parametrize("how", [{}, {"missing": "em"}, {"missing": "mean"}, {"missing": "keep"}], ids=str)
@pytest.mark.parametrize("whiten", ["none", "pca", "zca"])
def test_lines_get_what_the_table_gets(how: dict[str, str], whiten: str, holed: Array) -> None:
    table = pd.DataFrame(holed, columns=ITEMS)
    model = pcatool.fit(table, components=3, missing="em", whiten=whiten)
    users = lines(holed)["user"].drop_duplicates().to_numpy()
    for apply, more in (
        (pcatool.transform, {"with_error": True, "with_coverage": True}),
        (pcatool.reconstruct, {"with_error": True}),
        (pcatool.reconstruct, {"fill": True, "with_coverage": True}),
    ):
        if more.get("fill") and how.get("missing") == "keep":
            continue
        found = apply(model, arrow(holed), **TRIPLES, **how, **more).to_pandas()
        source = {"source": "rows"} if apply is pcatool.reconstruct else {}
        expected = apply(model, table, **how, **more, **source)
        assert list(found.columns) == ["user", *expected.columns]
        assert found["user"].tolist() == users.tolist()
        assert np.array_equal(found.iloc[:, 1:], expected.iloc[users], equal_nan=True)


@pytest.mark.parametrize("command", ["transform", "reconstruct"])
def test_models_of_counts_take_absent_cells_as_zeros(command: str, counts: Array) -> None:
    model = pcatool.fit(lines(nonzero(counts)), components=2, absent="zero", **TRIPLES)
    assert model.meta["absent"] == "zero"
    table = arrow(nonzero(counts))
    apply = getattr(pcatool, command)
    found = apply(model, table, **TRIPLES).to_pandas().sort_values("user").iloc[:, 1:]
    close(found, apply(model, counts, missing="error"))
    by_holes = apply(model, table, absent="missing", missing="project", **TRIPLES).to_pandas().sort_values("user")
    close(by_holes.iloc[:, 1:], apply(model, nonzero(counts), missing="project"))


def test_fill_keeps_the_values_that_are_given(holed: Array) -> None:
    model = pcatool.fit(lines(holed), components=3, **TRIPLES)
    F = pcatool.reconstruct(model, arrow(holed), fill=True, **TRIPLES).to_pandas().set_index("user").sort_index()
    X = np.delete(holed, 5, axis=0)
    assert list(F.columns) == ITEMS
    there = ~np.isnan(X)
    assert np.array_equal(F.to_numpy()[there], X[there])
    true = made(240, 12, [30, 20, 10], 0.5, 1).X
    rest = (F.to_numpy() - np.delete(true, 5, axis=0))[~there]
    assert np.sqrt(np.mean(rest**2)) < 0.5 * np.nanstd(X)


@pytest.mark.parametrize("d", [3, 12])
def test_lines_without_a_header(d: int, holed: Array, tmp_path: Path) -> None:
    """Three columns of numbers are no scores, whatever the model."""
    table = lines(holed[:, :d], items=np.arange(d))
    table.to_csv(tmp_path / "x.csv", index=False)
    table.to_csv(tmp_path / "bare.csv", index=False, header=False)
    bare: dict[str, Any] = {"triples": ("1", "2", "3"), "header": False}
    model = pcatool.fit(tmp_path / "x.csv", components=3, missing="mean", **TRIPLES)
    assert dumps(pcatool.fit(tmp_path / "bare.csv", components=3, missing="mean", **bare)) == dumps(model)
    for apply in (pcatool.transform, pcatool.reconstruct):
        found, expected = apply(model, tmp_path / "bare.csv", **bare), apply(model, tmp_path / "x.csv", **TRIPLES)
        assert list(found.columns) == ["c1", *expected.columns[1:]]
        assert np.array_equal(found.to_numpy(), expected.to_numpy())


def test_an_array_of_lines(holed: Array) -> None:
    table = lines(holed, items=np.arange(12))
    model = pcatool.fit(table.to_numpy(float), components=2, triples=("1", "2", "3"))
    assert dumps(model) == dumps(pcatool.fit(table, components=2, **TRIPLES))


def test_lines_are_never_scores(holed: Array) -> None:
    model = pcatool.fit(lines(holed), components=2, **TRIPLES)
    with pytest.raises((UsageError, DataError)):
        pcatool.reconstruct(model, arrow(holed), source="scores", **TRIPLES)


# --- the report ---


def test_the_report(holed: Array, tmp_path: Path, run: Any) -> None:
    table = lines(holed)
    table.loc[[3, 8, 11], "rating"] = np.nan
    table.to_csv(tmp_path / "x.csv", index=False, na_rep="n/a")
    arguments = ["fit", "x.csv", "-k", "2", *AT, "-o", "m.npz"]
    facts = json.loads(run(tmp_path, *arguments, "--json").stdout)
    there = table.dropna()
    spreads = {
        f"cells_per_{what}": [int(count.min()), float(count.median()), int(count.max())]
        for what, count in ((name, there.groupby(name)["rating"].size()) for name in ("user", "item"))
    }
    assert facts["triples"] == {"users": 239, "items": 12, "cells": len(there), **spreads}
    assert facts["rows_read"] == len(table)
    assert facts["rows"] == 239
    assert facts["missing"]["spellings"] == {"n/a": 3}
    assert facts["em"]["converged"]
    said = run(tmp_path, *arguments, "-v").stderr
    assert f"{len(table) - 3:,} cells of 239 users and 12 items" in said
    applied = json.loads(run(tmp_path, "transform", "m.npz", "x.csv", *AT, "--json", "-o", "z.csv").stdout)
    assert applied["rows_read"] == 239
    plan = run(tmp_path, *arguments, "--plan", "--json").stdout
    assert json.loads(plan)["solver"] == "em"


@pytest.mark.parametrize("command", ["explain-variance", "scree", "components"])
def test_lines_wherever_data_are_taken(command: str, counts: Array, tmp_path: Path, run: Any) -> None:
    lines(nonzero(counts)).to_csv(tmp_path / "x.csv", index=False)
    pd.DataFrame(counts, columns=ITEMS).to_csv(tmp_path / "wide.csv", index=False)
    found = run(tmp_path, command, "x.csv", *AT, "--absent", "zero", "-k", "2").stdout.splitlines()
    expected = run(tmp_path, command, "wide.csv", "-k", "2").stdout.splitlines()
    assert len(found) == len(expected)
    assert found[0].split(",") == expected[0].split(",")


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_user_is_called_as_first_spelled_and_no_other_moves(kind: str, tmp_path: Path) -> None:
    """Names that differ by blanks are one user, also where both are new in the same block of lines."""
    rows = [("a", "x", 1), ("  a", "y", 2), ("b", "x", 3), ("b", "y", 5), ("c", "x", 1), ("c", "y", 7)]
    table = pd.DataFrame(rows, columns=list(COLUMNS))
    path = tmp_path / f"t.{kind}"
    if kind == "csv":
        path.write_text("user,item,rating\n" + "".join(f'"{u}",{i},{v}\n' for u, i, v in rows))
    else:
        table.to_parquet(path)
    model = pcatool.fit(path, **TRIPLES, absent="zero", components=1)
    scores = pcatool.transform(model, path, **TRIPLES)
    assert [str(name).strip() for name in scores["user"]] == ["a", "b", "c"]
    wide = np.array([[1.0, 2.0], [3.0, 5.0], [1.0, 7.0]])
    np.testing.assert_allclose(scores["PC1"], (wide - model.mean) @ model.basis[:, 0], atol=1e-12)

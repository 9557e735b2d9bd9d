"""transform and reconstruct elsewhere: a folder of parts that holds the rows of one run, and says so."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import pcatool
from engines.dask_processes import Processes
from pcatool.api.messages import with_settings
from pcatool.errors import DataError, FileError, MissingColumns, PcatoolError, PcatoolWarning, UsageError
from pcatool.options import OutputOptions
from pcatool.pipeline.cluster import OutputPart, SplitReading, WriteParts
from pcatool.pipeline.output_parts import PartsFolder
from pcatool.readers import splits

if TYPE_CHECKING:
    from stores.server import Store

D = 5


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Processes]:
    """A scheduler and two workers, in another folder than the tests."""
    with Processes(tmp_path_factory.mktemp("dask"), 2) as processes:
        yield processes


@pytest.fixture
def elsewhere(pair: Processes) -> dict[str, str]:
    return {"engine": "dask", "scheduler": pair.address}


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Files in folders of partitions, one without holes, one without rows, and models of them."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(1)
    mix = rng.standard_normal((D, D))
    for number, rows in enumerate((40, 30, 0, 25)):
        X = rng.standard_normal((rows, D)) @ mix + 100
        if number:
            X[rng.random(X.shape) < 0.1] = np.nan
        columns: dict[str, Any] = {f"x{j}": pa.array(X[:, j], from_pandas=True) for j in range(D)}
        columns |= {"n": pa.array(np.arange(rows), pa.int32()), "c": pa.array(["a", "ü"] * rows, pa.string())[:rows]}
        folder = Path(f"data/year={2020 + number // 2}")
        folder.mkdir(parents=True, exist_ok=True)
        parquet.write_table(pa.table(columns), folder / f"{number}.parquet", row_group_size=10)
    whole = "data/year=2020/0.parquet"
    pcatool.save_model(pcatool.fit(whole, columns="x*", components=3), "m.npz")
    pcatool.save_model(pcatool.fit(whole, columns="x*", components=2, method="kernel", kernel="rbf"), "kernel.npz")
    return tmp_path


def parts_of(folder: str) -> list[str]:
    return sorted(path.name for path in Path(folder).iterdir())


def rows_of(folder: str) -> pa.Table:
    return pa.concat_tables(parquet.read_table(path, partitioning=None) for path in sorted(Path(folder).glob("part-*")))


def assert_same(parts: pa.Table, whole: pa.Table) -> None:
    assert parts.schema == whole.schema
    for name in whole.column_names:
        one, other = parts[name].combine_chunks(), whole[name].combine_chunks()
        if one.type != pa.float64():
            assert one.equals(other)
            continue
        assert one.is_null().equals(other.is_null())
        np.testing.assert_allclose(one.fill_null(0), other.fill_null(0), rtol=1e-13, atol=1e-13)


FOUR = [f"part-0000{i}.parquet" for i in range(4)]
ALL = ["_SUCCESS", *FOUR]
PROJECT = {"missing": "project"}

CASES: dict[str, tuple[Callable[..., Any], str, dict[str, Any]]] = {
    "scores": (pcatool.transform, "m.npz", PROJECT),
    "columns passed through": (pcatool.transform, "m.npz", {"keep": "c,6-,year", "missing": "keep"}),
    "with error and coverage": (
        pcatool.transform, "m.npz",
        {"keep_all": True, "with_error": True, "with_coverage": True, "components": 2, **PROJECT},
    ),
    "a kernel": (pcatool.transform, "kernel.npz", {"missing": "keep"}),
    "there and back": (pcatool.reconstruct, "m.npz", {**PROJECT, "keep": "n"}),
    "holes filled": (pcatool.reconstruct, "m.npz", {"fill": True, "keep_all": True, **PROJECT}),
    "preimages": (pcatool.reconstruct, "kernel.npz", {"preimage": True, "missing": "keep", "source": "rows"}),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_the_rows_of_one_machine(here: Path, elsewhere: dict[str, str], case: str) -> None:
    call, model, settings = CASES[case]
    call(model, "data", output="whole.parquet", **settings)
    assert call(model, "data", output="out/", **settings, **elsewhere) is None
    assert parts_of("out") == ALL
    assert_same(rows_of("out"), parquet.read_table("whole.parquet"))


def test_what_comes_back(here: Path, elsewhere: dict[str, str]) -> None:
    pcatool.transform(pcatool.load_model("m.npz"), "data", output="out/", keep="c", **PROJECT, **elsewhere)
    pcatool.reconstruct("m.npz", "data", output="whole.parquet", **PROJECT)
    for into in ({"output": "back/", **elsewhere}, {"output": "back.parquet"}):
        pcatool.reconstruct("m.npz", "out", **into)
    assert_same(rows_of("back"), parquet.read_table("whole.parquet"))
    assert_same(parquet.read_table("back.parquet"), parquet.read_table("whole.parquet"))


def test_large_files_are_several_parts(here: Path, elsewhere: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(splits, "LARGE_FILE", 1200)
    pcatool.transform("m.npz", "data", output="whole.parquet", keep="n", **PROJECT)
    pcatool.transform("m.npz", "data", output="out/", keep="n", **PROJECT, **elsewhere)
    assert len(parts_of("out")) > len(ALL)
    assert_same(rows_of("out"), parquet.read_table("whole.parquet"))


def test_many_small_files_are_few_tasks_and_a_part_each(here: Path, elsewhere: dict[str, str]) -> None:
    Path("many").mkdir()
    X = np.random.default_rng(2).standard_normal((150, 2, D))
    for number, rows in enumerate(X):
        table = pa.table({f"x{j}": rows[:, j] for j in range(D)})
        parquet.write_table(table, f"many/{number:03}.parquet")
    pcatool.transform("m.npz", "many", output="whole.parquet")
    pcatool.transform("m.npz", "many", output="out/", **elsewhere)
    assert len(parts_of("out")) == 151
    assert_same(rows_of("out"), parquet.read_table("whole.parquet"))


def test_more_than_99999_parts_keep_their_order() -> None:
    names = PartsFolder("out/", "csv").parts(100_001)
    assert names[1] == "part-000001.csv"
    assert names == sorted(names)


def test_parts_of_text(here: Path, elsewhere: dict[str, str]) -> None:
    settings = {"output_format": "csv", "float_format": ".3f", "header": False, "missing": "keep"}
    pcatool.transform("m.npz", "data", output="out/", **settings, **elsewhere)
    pcatool.transform("m.npz", "data", output="whole.csv", **settings)
    assert parts_of("out") == ["_SUCCESS", *(f"part-0000{i}.csv" for i in range(4))]
    assert "".join((here / "out" / f"part-0000{i}.csv").read_text() for i in range(4)) == Path("whole.csv").read_text()


# --- the folder holds one run, or does not say that it does ---


def test_parts_of_an_earlier_run_go(here: Path, elsewhere: dict[str, str]) -> None:
    pcatool.transform("m.npz", "data", output="out/", **PROJECT, **elsewhere)
    Path("out/part-00004.parquet").write_bytes(Path("out/part-00000.parquet").read_bytes())
    Path("out/notes.md").write_text("kept")
    Path("out/.part-00001.parquet.0123456789abcdef.pcatool-tmp").write_text("of a worker that was lost")
    Path("out/.sign-0123456789abcdef.pcatool-tmp").write_text("of a run that was lost")
    pcatool.transform("m.npz", "data/year=2020", output="out", **PROJECT, **elsewhere)  # a folder by now
    assert parts_of("out") == ["_SUCCESS", "notes.md", *FOUR[:2]]
    assert rows_of("out").num_rows == 70


def test_a_bad_cell(here: Path, elsewhere: dict[str, str]) -> None:
    pcatool.transform("m.npz", "data", output="out/", **PROJECT, **elsewhere)
    Path("data/year=2021/4.csv").write_text("x0,x1,x2,x3,x4\n1,2,3,4,5\n1,2,3,4,five\n")
    Path("data/year=2021/5.csv").write_text("x0,x1\n1,2\n")
    with pytest.raises(
        DataError,
        match=r"4.csv, line 3, column 'x4': 'five' is not a number.*give skip_bad=True to leave out bad files",
    ):
        pcatool.transform("m.npz", "data", output="out/", **PROJECT, **elsewhere)
    there = parts_of("out")
    assert "_SUCCESS" not in there
    assert set(there) <= set(FOUR)
    with pytest.warns(PcatoolWarning, match=r"left out 2 of 6 files:\n  .*4.csv.*\n  .*5.csv"):
        pcatool.transform("m.npz", "data", output="out/", skip_bad=True, **PROJECT, **elsewhere)
    assert parts_of("out") == ALL
    assert rows_of("out").num_rows == 95
    with pytest.raises(DataError, match="none of the 2 files can be used"):
        pcatool.transform("m.npz", "data/year=2021/*.csv", output="out/", skip_bad=True, **elsewhere)


def test_a_missing_cell(here: Path, elsewhere: dict[str, str]) -> None:
    with pytest.raises(DataError, match=r"1.parquet, row \d+: a cell is missing in column 'x\d'; give missing=.keep."):
        pcatool.transform("m.npz", "data", output="out/", **elsewhere)
    assert "_SUCCESS" not in parts_of("out")


@pytest.mark.filterwarnings("ignore:left out")
def test_the_part_of_a_file_that_is_left_out_is_not_there(here: Path, elsewhere: dict[str, str]) -> None:
    pcatool.transform("m.npz", "data", output="out/", **PROJECT, **elsewhere)
    Path("data/year=2020/1.parquet").write_bytes(b"PAR1 and no more")
    pcatool.transform("m.npz", "data", output="out/", skip_bad=True, **PROJECT, **elsewhere)
    assert parts_of("out") == ["_SUCCESS", FOUR[0], *FOUR[2:]]


def test_what_lies_in_the_folder_is_no_input_of_a_search_above_it(here: Path, elsewhere: dict[str, str]) -> None:
    for _ in range(2):
        pcatool.transform("m.npz", ".", output="out/", **PROJECT, **elsewhere)
        assert rows_of("out").num_rows == 95


def test_a_column_that_only_a_later_input_has(here: Path, elsewhere: dict[str, str]) -> None:
    Path("data/z.csv").write_text("x0,x1,x2,x3,x4,n,c,year,note\n1,2,3,4,5,1,a,2023,lost?\n")
    with pytest.warns(PcatoolWarning, match=r"keep_all=True left out column 'note' of .*z.csv, because .*0.parquet"):
        pcatool.transform("m.npz", "data", output="out/", missing="project", keep_all=True, **elsewhere)
    assert rows_of("out").num_rows == 96


def test_an_input_where_the_parts_would_go_is_no_part_of_an_earlier_run(here: Path, elsewhere: dict[str, str]) -> None:
    source = Path("data/year=2022/part-00000.parquet")
    source.parent.mkdir()
    before = Path("data/year=2020/0.parquet").rename(source).read_bytes()
    with pytest.raises(UsageError, match=rf"the input '{source}' is in the output folder '.*2022/'"):
        pcatool.transform("m.npz", "data", output="data/year=2022/", **PROJECT, **elsewhere)
    assert source.read_bytes() == before


def test_the_summary(here: Path, elsewhere: dict[str, str], plain_environment: dict[str, str]) -> None:
    Path("data/z.csv").write_text("")
    options = ["--engine", "dask", "--scheduler", elsewhere["scheduler"], "--json", "-v", "--skip-bad", "--with-error"]
    command = ["pcatool", "transform", "m.npz", "data", "-o", "out/", "--missing", "project", *options]
    done = subprocess.run(command, env=plain_environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    facts = json.loads(done.stdout)
    counts = ("rows_read", "parts", "parts_written", "files_read", "engine", "output")
    assert [facts[name] for name in counts] == [95, 5, 4, 4, "dask", "out/"]
    assert facts["outputs"][1]["file"] == "data/year=2020/1.parquet"
    assert facts["outputs"][1]["output"] == "out/part-00001.parquet"
    assert facts["outputs"][1]["rows"] == 30
    assert facts["skipped"] == [{"file": "data/z.csv", "reason": "data/z.csv is empty"}]
    pcatool.transform("m.npz", "data/year=*", output="whole.parquet", with_error=True, **PROJECT)
    errors = parquet.read_table("whole.parquet")["squared_error"].drop_null().to_numpy()
    assert facts["mean_squared_error"] == pytest.approx(errors.mean(), rel=1e-13)
    assert facts["rows_incomplete"] > 0
    assert "pcatool: 4 parts written to out/\n" in done.stderr
    assert "pcatool: 4 files read; 1 file left out\n" in done.stderr
    command = [word for word in command if word not in ("--skip-bad", "--json")]
    done = subprocess.run(command, env=plain_environment, capture_output=True, text=True)
    assert done.returncode == 3
    assert "pcatool: note: 'out/' has no file _SUCCESS, because not all parts were written\n" in done.stderr
    assert "pcatool: error: data/z.csv is empty; " in done.stderr


def test_in_a_store(here: Path, elsewhere: dict[str, str], store: Store) -> None:
    where = f"endpoint_override=127.0.0.1:{store.port}&scheme=http&region=us-east-1"

    def named(name: str) -> str:
        return f"s3://somebody:secret@{store.bucket}/{name}?{where}"

    for number in range(4):
        store.put(f"in/{number}.parquet", Path(f"data/year={2020 + number // 2}/{number}.parquet").read_bytes())
    pcatool.transform("m.npz", named("in/"), output=named("out/"), **PROJECT, **elsewhere)
    assert [name for name in store.names() if name.startswith("out/")] == [f"out/{name}" for name in ALL]
    assert store.get("out/_SUCCESS") == b""
    pcatool.transform("m.npz", "data", output="whole.parquet", **PROJECT)
    pcatool.transform("m.npz", named("in/3.parquet"), output=named("out/"), **PROJECT, **elsewhere)
    assert [name for name in store.names() if name.startswith("out/")] == ["out/_SUCCESS", f"out/{FOUR[0]}"]
    Path("some.parquet").write_bytes(store.get(f"out/{FOUR[0]}"))
    assert_same(parquet.read_table("some.parquet"), parquet.read_table("whole.parquet").slice(70))
    with pytest.raises(
        FileError, match=r"out/part-00000.parquet' exists, and no_clobber=True was given; name another folder"
    ):
        pcatool.transform("m.npz", "data", output=named("out/"), no_clobber=True, **elsewhere)
    with pytest.raises(UsageError, match=r"in/0.parquet' is in the output folder 's3://.*/in/'"):
        pcatool.transform("m.npz", [named("in/0.parquet")], output=named("in/"), **elsewhere)
    with pytest.raises(FileError, match="there is no such bucket"):
        pcatool.transform("m.npz", "data", output=named("out/").replace(store.bucket, "b-none"), **elsewhere)


# --- what is refused ---


@pytest.mark.parametrize(
    ("data", "settings", "error", "message"),
    [
        (
            "data",
            {"output": None},
            UsageError,
            'engine="dask" writes a folder, and cannot write to standard output; name a folder',
        ),
        ("data", {"output": "-"}, UsageError, "writes a folder, and cannot write to standard output"),
        (
            "data",
            {"output": "s.csv"},
            UsageError,
            "writes a folder, but 's.csv' is not a folder; name a folder, as",
        ),
        ("data", {"output": "s3://b/x"}, UsageError, "writes a folder, but 's3://b/x' is not a folder"),
        ("data", {"output": "https://b/x/"}, UsageError, "pcatool can only read from web servers"),
        (
            "data",
            {"resume": True},
            UsageError,
            'resume=True does not go with engine="dask", whose output files are not',
        ),
        (
            "data",
            {"float_format": ".3f"},
            UsageError,
            "float_format does not go with Parquet: a Parquet file stores numbers in binary form, not as text",
        ),
        (
            "data",
            {"header": False},
            UsageError,
            "a Parquet file always contains the column names",
        ),
        (
            "data",
            {"triples": "c,n,x0"},
            UsageError,
            "triples cannot be spread over workers: the cells of a row may be in",
        ),
        ("data", {"threads": 2}, UsageError, 'threads has no effect with engine="dask"'),
        ("data", {"keep": "nope"}, MissingColumns, "no column 'nope'"),
        (
            np.eye(D),
            {},
            UsageError,
            "workers cannot read a table in memory; write the table to files that all workers",
        ),
        ("-", {}, UsageError, "workers cannot read standard input; give files that all workers can read"),
        (
            "data",
            {"output": "data/"},
            UsageError,
            "the input 'data/year=2020/0.parquet' is in the output folder 'data/'",
        ),
        (
            "data",
            {"output": "link/"},
            UsageError,
            "the input 'data/year=2020/0.parquet' is in the output folder 'link/'",
        ),
        (
            "us*d/*.csv",
            {"output": "used/"},
            FileError,
            "all inputs are in the output folder 'used/'; name another",
        ),
        (
            "data",
            {"output": "used/"},
            FileError,
            r"'used/' holds files that are not parts of this output: 'a\.csv'; readers",
        ),
        ("data", {"output": "done/", "no_clobber": True}, FileError, "'done/_SUCCESS' exists, and no_clobber=True"),
        ("data", {"output": "m.npz/"}, FileError, "cannot make the folder '.*m.npz'"),
    ],
)
def test_refused(
    here: Path, elsewhere: dict[str, str], data: Any, settings: dict[str, Any], error: type[PcatoolError], message: str
) -> None:
    for folder in ("used", "done"):
        Path(folder).mkdir()
    Path("done/_SUCCESS").touch()
    Path("used/a.csv").write_text("x0,x1,x2,x3,x4\n1,2,3,4,5\n")
    Path("link").symlink_to("data")
    before = sorted(str(path) for path in here.rglob("*"))
    with pytest.raises(error, match=with_settings(message)):
        pcatool.transform("m.npz", data, **{"output": "out/", **settings}, **elsewhere)
    assert sorted(str(path) for path in here.rglob("*") if path.name != "out") == before


def test_the_model_is_no_part(here: Path, elsewhere: dict[str, str]) -> None:
    Path("out").mkdir()
    Path("m.npz").rename("out/part-00000.parquet")
    with pytest.raises(UsageError, match=r"the output 'out/part-00000\.parquet' is the same file as the model"):
        pcatool.transform("out/part-00000.parquet", "data", output="out/", **elsewhere)


def test_a_fit_with_scores_is_refused(here: Path, elsewhere: dict[str, str]) -> None:
    with pytest.raises(
        UsageError, match='scores does not go with engine="dask"; leave out scores, then run pcatool transform'
    ):
        pcatool.fit("data", scores="out/", **elsewhere)


def test_workers_that_see_another_folder(here: Path) -> None:
    folder = PartsFolder("out/", "parquet")
    nothing: Any = None
    work = WriteParts(SplitReading(*[nothing] * 3), nothing, OutputOptions(), folder, str(here / "out/.sign"))
    with pytest.raises(FileError, match="a worker cannot see the output folder 'out/'; name a folder that all"):
        work([OutputPart(nothing, "part-00000.parquet")])
    Path("out").mkdir()
    with pytest.raises(
        FileError, match=r"1 of 1 parts are not in 'out/', though they were written: 'part-00000\.parquet'; name a"
    ):
        folder.finish(["part-00000.parquet"])
    assert parts_of("out") == []

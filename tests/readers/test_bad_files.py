"""Many files of which some are bad: each is left out whole, or named."""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import pcatool
from pcatool.errors import DataError, FileError, PcatoolWarning, UsageError
from pcatool.model.npz import dumps
from pcatool.options import ApplyOptions, EngineOptions, FitOptions, SelectOptions, TableOptions
from pcatool.pipeline import apply as applying
from pcatool.pipeline import fit as fitting
from pcatool.progress import Reporter
from pcatool.readers import rows as reading_rows
from readers.reading import read, write

HEADER = "a,b,c\n"


def rows(seed: int, count: int = 50) -> str:
    X = np.random.default_rng(seed).normal(size=(count, 3))
    return "".join(f"{a!r},{b!r},{c!r}\n" for a, b, c in X.tolist())


BAD = {
    "no such file": None,
    "no bytes": "",
    "another schema": "a,b,x\n1,2,3\n4,y,6\n",
    "a bad cell at the end": HEADER + rows(9, 3000) + "1,2,x\n",
    "a ragged row": HEADER + rows(9) + "1,2\n",
    "an infinite cell": HEADER + rows(9) + "1,2,inf\n",
    "a missing cell": HEADER + rows(9) + "1,,3\n",
    "a damaged Parquet file": b"PAR1\x15\x04 and no more PAR1",
    "cut off": b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\x4b\xd4",
    "a page of an error": "<!doctype html>\n",
    "text": HEADER + "x,y,z\n" + rows(9),
}


class Made:
    """A model's bytes, and what was said."""

    def __init__(self, paths: Sequence[object], **options: object) -> None:
        self.reporter = Reporter()
        table, more = TableOptions(skip_bad=bool(options.pop("skip_bad", True))), FitOptions(**options)  # type: ignore[arg-type]
        job = fitting.Job([str(p) for p in paths], table, SelectOptions(), more, EngineOptions(), self.reporter)
        self.bytes = dumps(fitting.fit(job).model)


@pytest.fixture
def good(tmp_path: Path) -> list[Path]:
    return [write(tmp_path, HEADER + rows(i), f"good{i}.csv") for i in range(3)]


@pytest.mark.parametrize("kind", BAD)
@pytest.mark.parametrize("at", [0, 1, 3])
def test_the_model_is_that_of_the_good_files(kind: str, at: int, good: list[Path], tmp_path: Path) -> None:
    bad, data = tmp_path / "bad.csv", BAD[kind]
    if data is not None:
        write(tmp_path, data, bad.name)
    files = [*good[:at], bad, *good[at:]]
    made = Made(files)
    assert made.bytes == Made(good, skip_bad=False).bytes
    assert [name for name, _ in made.reporter.skipped] == [str(bad)]
    (warning,) = made.reporter.warnings
    assert warning.startswith("left out 1 of 4 files:\n  ")
    assert "bad.csv" in warning
    assert made.reporter.files_read == 3
    with pytest.raises((DataError, FileError), match=r"bad\.csv"):
        Made(files, skip_bad=False)


@pytest.mark.parametrize("held", [0, 5000])
def test_a_file_too_large_to_hold_is_read_twice(
    held: int, good: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading_rows, "MOST_HELD", held)
    long = write(tmp_path, HEADER + rows(7, 30_000), "long.csv")
    bad = write(tmp_path, HEADER + rows(8, 30_000) + "1,2,x\n", "bad.csv")
    assert Made([good[0], bad, long, good[1]]).bytes == Made([good[0], long, good[1]], skip_bad=False).bytes


def test_rows_that_were_written_are_those_of_the_good_files(good: list[Path], tmp_path: Path) -> None:
    model = pcatool.fit(good)
    bad = write(tmp_path, HEADER + rows(9, 20_000) + "1,2,x\n", "bad.csv")
    for files in ([bad, *good], [good[0], bad, *good[1:]], [*good, bad]):
        results = []
        for given, skip in ((files, True), (good, False)):
            data = [str(path) for path in given]
            table, apply = TableOptions(skip_bad=skip), ApplyOptions(keep_all=True, with_error=True)
            made = applying.transform(model, data, table, apply, EngineOptions(), Reporter())
            blocks = list(made.each(lambda kept, values: ([k.to_pylist() for k in kept], values.tolist())))
            kept = [row for columns, _ in blocks for row in zip(*columns, strict=True)]
            results.append((kept, [row for _, values in blocks for row in values], made.row_counts.rows))
        assert results[0] == results[1]
        assert results[0][2] == 150


def test_passes_over_the_data_leave_out_the_same(good: list[Path], tmp_path: Path) -> None:
    bad = write(tmp_path, HEADER + rows(9) + "1,2,x\n", "bad.csv")
    made = Made([good[0], bad, *good[1:]], solver="randomized", components=1)
    assert made.bytes == Made(good, solver="randomized", components=1, skip_bad=False).bytes
    assert len(made.reporter.warnings) == len(made.reporter.skipped) == 1


def test_classes_are_counted_in_good_files_only(good: list[Path], tmp_path: Path) -> None:
    labelled = [write(tmp_path, f"a,b,kind\n1,{i},k{i}\n2,{i},k{i + 1}\n3,1,k0\n", f"l{i}.csv") for i in range(3)]
    bad = write(tmp_path, "a,b,kind\n1,2,new\n1,2,\n", "bad.csv")
    options = {"method": "supervised", "label": ("kind",)}
    made = Made([labelled[0], bad, *labelled[1:]], **options)
    assert made.bytes == Made(labelled, skip_bad=False, **options).bytes
    assert "a cell is missing in column 'kind'" in made.reporter.warnings[0]


def test_weights_below_zero(good: list[Path], tmp_path: Path) -> None:
    bad = write(tmp_path, HEADER + "1,2,3\n4,5,-1\n", "bad.csv")
    fine = [write(tmp_path, HEADER + "1,2,3\n4,5,1\n2,9,1\n", f"w{i}.csv") for i in range(2)]
    made = Made([bad, *fine, bad], weights="c")
    assert made.bytes == Made(fine, weights="c", skip_bad=False).bytes
    assert "is a negative weight" in made.reporter.warnings[0]


def test_missing_cells_are_bad_only_where_they_are_refused(good: list[Path], tmp_path: Path) -> None:
    holes = write(tmp_path, HEADER + rows(9) + "1,,3\n", "holes.csv")
    assert Made([holes, *good]).reporter.skipped
    assert not Made([holes, *good], missing="drop").reporter.skipped


def test_all_are_bad(tmp_path: Path) -> None:
    one, two = write(tmp_path, HEADER + "1,2,x\n3,4,5\n", "one.csv"), tmp_path / "none.csv"
    with pytest.raises(
        DataError, match=r"none of the 2 files can be used; the first error is: .*none.csv.*No such file"
    ):
        Made([two, write(tmp_path, "", "e.csv")])
    with pytest.raises(DataError, match=r"^cannot read '.*none.csv': No such file") as error:
        Made([two])
    assert error.value.exit_code == 3
    with pytest.raises(DataError, match=r"^.*one.csv, line 2, column 'c': 'x' is not a number"):
        Made([one])


def test_many_are_counted(good: list[Path], tmp_path: Path) -> None:
    bad = [write(tmp_path, "x\n1\n", f"bad{i:02}.csv") for i in range(13)]
    warning = Made([*good, *bad]).reporter.warnings[0]
    assert warning.startswith("left out 13 of 16 files:\n")
    assert warning.endswith("bad09.csv: no columns 'a', 'b', 'c' (the only column is 'x')\n  and 3 more files")


def test_a_full_disk_is_no_fault_of_the_file(good: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    opened = os.open

    def full(path: object, *more: int) -> int:
        if str(path).endswith("good1.csv"):
            raise OSError(errno.EMFILE, "Too many open files")
        return opened(path, *more)  # type: ignore[call-overload, no-any-return]

    monkeypatch.setattr(os, "open", full)
    with pytest.raises(FileError, match="Too many open files"):
        Made(good)


def test_a_pipe_that_is_bad_is_an_error(good: list[Path]) -> None:
    reader, writer = os.pipe()
    os.write(writer, b"a,b,c\n1,2,x\n")
    os.close(writer)
    try:
        with pytest.raises(DataError, match=r"line 2, column 'c': 'x' is not a number"):
            Made([good[0], f"/dev/fd/{reader}"])
    finally:
        os.close(reader)


@pytest.mark.parametrize("data", ["", "a,b\n1,2\n", "a,b,c\n1,2,x\n"])
def test_and_nothing_leaves_it_out(data: str, good: list[Path]) -> None:
    for files, settings in ((good, {}), (good, {"skip_bad": True})):
        reader, writer = os.pipe()
        os.write(writer, data.encode())
        os.close(writer)
        try:
            with pytest.raises(DataError) as failed:
                pcatool.fit([*files, f"/dev/fd/{reader}"], **settings)
        finally:
            os.close(reader)
        assert "skip-bad" not in str(failed.value)


def test_only_of_files() -> None:
    with pytest.raises(UsageError, match="skip_bad=True applies to files"):
        pcatool.fit(np.eye(3), skip_bad=True)


def test_python_is_warned(good: list[Path], tmp_path: Path) -> None:
    with pytest.warns(PcatoolWarning, match=r"left out 1 of 4 files:\n  .*no.csv"):
        pcatool.fit([*good, tmp_path / "no.csv"], skip_bad=True)


# --- what later files have more, or first ones less ---


def test_further_columns_of_numbers_are_named_once(tmp_path: Path) -> None:
    one = write(tmp_path, "a,t\n1,x\n2,y\n", "1.csv")
    two = write(tmp_path, "a,t,new,more,name\n1,x,4,5,z\n7,x,4,5,z\n", "2.csv")
    three = write(tmp_path, "new,a,t\n1,2,x\n", "3.csv")
    made = Made([one, two, three, three], skip_bad=False)
    (warning,) = made.reporter.warnings
    assert warning == (
        f"left out columns 'new', 'more' of {two}, and columns of 2 more files, because {one} has no such "
        "columns of numbers; give all files the same columns, or give -c with the columns to use"
    )
    assert Made([two, two], skip_bad=False).reporter.warnings == []
    other = write(tmp_path, "a,t,depth\n1,x,3\n", "other.csv")
    (warning,) = Made([one, three, other], skip_bad=False).reporter.warnings
    assert warning.startswith(
        f"left out column 'new' of {three}, and columns of 1 more file, because {one} has no such "
    )
    swapped = write(tmp_path, "a,t\n1,5\n2,6\n", "4.csv")
    assert f"left out column 't' of {swapped}, because " in Made([one, swapped], skip_bad=False).reporter.warnings[0]
    reporter, first = Reporter(), write(tmp_path, "a,t,n0,m0\n1,x,1,3\n2,y,8,2\n", "5.csv")
    later = write(tmp_path, "a,t,n0,m0,n1,m1\n1,x,1,2,3,4\n", "6.csv")
    select = SelectOptions(exclude=("n*", "m0, m*"))
    fitting.fit(fitting.Job([str(first), str(later)], TableOptions(), select, FitOptions(), EngineOptions(), reporter))
    assert reporter.warnings == []


def test_further_columns_that_are_not_passed_through_are_named(tmp_path: Path) -> None:
    one = write(tmp_path, "a,b,k\n1,2,x\n3,5,y\n4,1,z\n", "1.csv")
    (tmp_path / "year=2").mkdir()
    two = write(tmp_path / "year=2", "k,b,a,note\nx,2,1,more\n", "2.csv")
    model = pcatool.fit(one)
    said = (
        f"--keep-all left out columns 'note', 'year' of {two}, and columns of 1 more file, because {one}, the "
        "first file, has no such columns; give all files the same columns, or name the columns to keep with --keep"
    )
    for table in (TableOptions(), TableOptions(skip_bad=True)):
        reporter = Reporter()
        files, keep = [str(one), str(two), str(one), str(two)], ApplyOptions(keep_all=True)
        results = applying.transform(model, files, table, keep, EngineOptions(), reporter)
        assert list(results.rows_read())
        assert [name for name, _ in results.passthrough] == ["a", "b", "k"]
        assert reporter.warnings == [said]
    with pytest.warns(
        PcatoolWarning,
        match="keep_all=True left out columns 'note', 'year' of .*, the first file, has no such columns; give all",
    ):
        pcatool.fit([one, two], scores=tmp_path / "s.csv", keep_all=True)
    with pytest.warns(
        PcatoolWarning,
        match="keep_all=True left out columns 'note', 'year' of .*, the first file, has no such columns; give all",
    ):
        pcatool.transform(model, [one, two], keep_all=True)
    pcatool.transform(model, [one, two], keep=["k"])
    pcatool.transform(model, [one, one], keep_all=True)
    pcatool.transform(model, [one, two], keep_all=True, output=f"{tmp_path}/each/")
    with pytest.raises(DataError, match="no column"):
        pcatool.transform(model, [two, one], keep_all=True)


def test_a_first_file_without_rows_leaves_it_to_the_next(tmp_path: Path) -> None:
    empty = write(tmp_path, "name,a,b\n", "0.csv")
    full = write(tmp_path, "b,a,name\n1,2,x\n5,3,y\n", "1.csv")
    table = read(empty, full)
    assert (table.names, table.rows) == (("a", "b"), [[2, 1], [3, 5]])
    assert any("left out text column 'name'" in note for note in table.notes)
    kind = pa.list_(pa.float64())
    parquet.write_table(pa.table({"v": pa.array([], kind)}), tmp_path / "0.parquet")
    parquet.write_table(pa.table({"v": pa.array([[1, 2]], kind)}), tmp_path / "1.parquet")
    parquet.write_table(pa.table({"v": pa.array([[1, 2, 3]], kind)}), tmp_path / "2.parquet")
    assert read(tmp_path / "0.parquet", tmp_path / "1.parquet").rows == [[1, 2]]
    with pytest.raises(DataError, match=r"2.parquet, column 'v': the vectors have length 3"):
        read(*(tmp_path / f"{i}.parquet" for i in range(3)))


def test_descriptors_are_closed(tmp_path: Path) -> None:
    for i in range(30):
        write(tmp_path, HEADER + rows(i, 3), f"{i}.csv")
        parquet.write_table(pa.table({"a": [1.0, i], "b": [2.0, 3.0], "c": [i, 1.0]}), tmp_path / f"{i}.parquet")
    before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208
    pcatool.fit(tmp_path)
    pcatool.transform(pcatool.fit(tmp_path, skip_bad=True), tmp_path)
    assert len(os.listdir("/proc/self/fd")) == before  # noqa: PTH208

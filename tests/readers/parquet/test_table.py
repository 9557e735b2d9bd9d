"""Parquet that is turned through a temporary file says what it says when it is read by rows."""

from __future__ import annotations

import math
import os
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import pcatool
from pcatool.arrays import block_rows
from pcatool.engines.threads import Threads
from pcatool.errors import FileError, PcatoolError
from pcatool.model.npz import dumps
from pcatool.options import TableOptions
from pcatool.progress import Reporter
from pcatool.readers import arrow_parts
from pcatool.readers.inputs import Inputs
from pcatool.readers.parquet import table as reader
from pcatool.readers.parquet.file import ParquetData
from pcatool.readers.parquet.table import MOST_COLUMNS, columns_at_once
from pcatool.readers.parquet.transposed import TransposedGroup, TransposedInMemory
from pcatool.readers.row_counts import RowCounts
from pcatool.readers.rows import checked_batches
from pcatool.readers.schema import ColumnChoice
from programs import kernels
from readers.reading import read, same_bits

HEIGHT = 64
GROUPS = (1, 63, 64, 65, 0, 200, 2)  # rows
ROWS = sum(GROUPS)

Both = Callable[[Callable[[], Any]], Any]


@pytest.fixture
def both(monkeypatch: pytest.MonkeyPatch) -> Both:
    """What a function gives or raises by rows, which is the same when all is turned, by few columns at a time."""
    monkeypatch.setattr("pcatool.arrays.MOST_ROWS", HEIGHT)
    monkeypatch.setattr(reader, "PORTION_BYTES", 4000)
    turned: list[str] = []
    by_columns = reader.ParquetTable._transposed

    def counted(self: reader.ParquetTable, *given: Any) -> Any:
        turned.append(self.name)
        return by_columns(self, *given)

    monkeypatch.setattr(reader.ParquetTable, "_transposed", counted)

    def run(work: Callable[[], Any]) -> Any:
        monkeypatch.setattr(reader, "MOST_OPEN", 1 << 60)
        turned.clear()
        expected = _outcome(work)
        assert not turned
        monkeypatch.setattr(reader, "MOST_OPEN", -1)
        for most_held in (1 << 60, -1):  # in memory, and through a file
            monkeypatch.setattr(reader, "IN_MEMORY_BYTES", most_held)
            monkeypatch.setattr(reader, "FEW_BYTES", most_held)
            turned.clear()
            assert _outcome(work) == expected
            assert turned
        return expected

    return run


def _outcome(work: Callable[[], Any]) -> Any:
    try:
        return work()
    except PcatoolError as error:
        return type(error), error.exit_code, str(error)


def x_of(file: Path, **options: Any) -> tuple[tuple[str, ...], tuple[int, ...], bytes]:
    """Names, shape and bits; every NaN is written the same."""
    table = read(file, **options)
    return table.names, table.X.shape, np.where(np.isnan(table.X), np.nan, table.X).tobytes("F")


def save(file: Path, table: pa.Table, groups: Sequence[int] = GROUPS, **options: Any) -> Path:
    """The rows of a table, in groups of these sizes."""
    with parquet.ParquetWriter(file, table.schema, **options) as writer:
        at = 0
        for size in groups:
            writer.write_table(table.slice(at, size))
            at += size
    assert at == table.num_rows
    found = parquet.ParquetFile(file).metadata
    assert [found.row_group(i).num_rows for i in range(found.num_row_groups)] == list(groups)
    return file


def plain(d: int, rows: int = ROWS, seed: int = 1) -> pa.Table:
    X = np.random.default_rng(seed).normal(size=(rows, d)) * np.linspace(1, 3, d) + 100
    return pa.table({f"c{j}": X[:, j] for j in range(d)})


def mixed() -> pa.Table:
    """Every kind of column, each with holes."""
    rng = np.random.default_rng(4)

    def holes(values: Sequence[Any]) -> list[Any]:
        return [None if hole else value for value, hole in zip(values, rng.random(ROWS) < 0.2, strict=True)]

    whole = rng.integers(-999, 999, ROWS).tolist()
    return pa.table(
        {
            "f64": holes(rng.normal(size=ROWS).tolist()),
            "f32": pa.array(holes(rng.normal(size=ROWS).tolist()), pa.float32()),
            "i8": pa.array(holes((np.array(whole) % 100).tolist()), pa.int8()),
            "u64": pa.array(holes([2**63 + abs(i) for i in whole]), pa.uint64()),
            "text": ["x"] * ROWS,
            "small": pa.array(holes([Decimal(i) / 100 for i in whole]), pa.decimal128(9, 2)),
            "wide": pa.array(holes([Decimal(f"{i}.{i % 7:020d}") for i in whole]), pa.decimal128(30, 20)),
            "labels": pa.array(holes([i % 5 for i in whole])).dictionary_encode(),
            "yes": holes([i % 2 == 0 for i in whole]),
            "struct": [{"x": 1.0, "y": {"z": 2}}] * ROWS,
            "none": pa.nulls(ROWS),
            "last": whole,
        }
    )


TERMS: dict[str, dict[str, Any]] = {
    "all": {},
    "in the order of the terms": {"columns": ["last", "f32", "i8", "f64"]},
    "terms that name a column twice": {"columns": ["last,f32", "f32", "1", "last", "f*"]},
    "booleans": {"columns": ["yes", "labels", "small", "yes"]},
    "left out": {"exclude": ["wide", "1-3"]},
    "as a model asks": {"names": ["last", "wide", "u64"]},
}


@pytest.mark.parametrize("terms", TERMS)
def test_every_kind_of_column(terms: str, both: Both, tmp_path: Path) -> None:
    file = save(tmp_path / "t.parquet", mixed())
    _, shape, _ = both(lambda: x_of(file, **TERMS[terms]))
    assert shape[0] == ROWS


@pytest.mark.parametrize("groups", [(ROWS,), (0, ROWS), (1,) * 5 + (ROWS - 5,), (200, 195), (HEIGHT, ROWS - HEIGHT, 0)])
@pytest.mark.parametrize("d", [1, 17])
def test_every_size_of_row_groups(groups: tuple[int, ...], d: int, both: Both, tmp_path: Path) -> None:
    table = plain(d)
    file = save(tmp_path / "t.parquet", table, groups)
    _, _, bits = both(lambda: x_of(file))
    assert bits == np.column_stack([table.column(j).to_numpy() for j in range(d)]).tobytes("F")


@pytest.mark.parametrize("at_once", [1, 8 * 65 * 3, 1 << 30])
def test_any_number_of_columns_at_a_time(
    at_once: int, both: Both, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reader, "PORTION_BYTES", at_once)
    file = save(tmp_path / "t.parquet", mixed())
    both(lambda: x_of(file))


def test_more_columns_than_a_spool_takes_at_once(both: Both, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "PORTION_BYTES", 1 << 30)
    d = 2 * MOST_COLUMNS + 5
    file = save(tmp_path / "t.parquet", plain(d, 20), (13, 7))
    assert both(lambda: x_of(file))[1] == (20, d)


def test_names_that_occur_twice_or_hold_dots(both: Both, tmp_path: Path) -> None:
    names = ["a", "s", "a.b", "a", "s.x"]
    arrays = [pa.array([{"x": i, "y": i}] * 4) if name == "s" else pa.array([i] * 4) for i, name in enumerate(names)]
    file = save(tmp_path / "t.parquet", pa.Table.from_arrays(arrays, names=names), (3, 1))
    assert both(lambda: x_of(file, exclude=["1"]))[0] == ("a.b", "a", "s.x")


def test_files_without_rows(both: Both, tmp_path: Path) -> None:
    """No row group, or some without rows."""
    for groups in ((), (0,), (0, 0)):
        file = save(tmp_path / "t.parquet", plain(3, 0), groups)
        assert both(lambda file=file: x_of(file)) == (("c0", "c1", "c2"), (0, 3), b"")


def test_several_files_of_which_one_is_empty(both: Both, tmp_path: Path) -> None:
    files = [save(tmp_path / f"{i}.parquet", plain(5, rows, i), (rows,)) for i, rows in enumerate((70, 0, 65))]
    assert both(lambda: dumps(pcatool.fit(files, components=2)))


# --- models ---

FITS: dict[str, dict[str, Any]] = {
    "as it is": {"exclude": ["none", "text"], "missing": "drop"},
    "booleans and weights": {"columns": ["f64", "yes", "i8"], "missing": "drop", "weights": "u64"},
    "refused for holes": {"columns": ["f64", "f32", "last"]},
    "all dropped": {"columns": ["f64", "none", "last"], "missing": "drop"},
}


@pytest.mark.filterwarnings("ignore::pcatool.errors.PcatoolWarning")
@pytest.mark.parametrize("threads", [1, 2, 8])
@pytest.mark.parametrize("case", FITS)
def test_models(case: str, threads: int, both: Both, tmp_path: Path) -> None:
    file = save(tmp_path / "t.parquet", mixed())

    def model() -> bytes:
        return dumps(pcatool.fit(file, components=1, threads=threads, **FITS[case]))

    found = both(model)
    assert isinstance(found, tuple) == (case in ("refused for holes", "all dropped")), found


@pytest.mark.parametrize("threads", [1, 4])
def test_several_passes(threads: int, both: Both, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of them turns the file anew."""
    monkeypatch.setattr("pcatool.solvers.rows.SMALL_BYTES", 10_000)
    file = save(tmp_path / "t.parquet", plain(30))
    assert both(lambda: dumps(pcatool.fit(file, components=2, solver="randomized", threads=threads)))


@pytest.mark.parametrize("threads", [1, 4])
def test_from_a_pipe(threads: int, both: Both, tmp_path: Path) -> None:
    file = save(tmp_path / "t.parquet", plain(30))

    def piped() -> bytes:
        pipe = tmp_path / "pipe"
        os.mkfifo(pipe)
        feeder = threading.Thread(target=pipe.write_bytes, args=(file.read_bytes(),), daemon=True)
        feeder.start()
        try:
            return dumps(pcatool.fit(pipe, components=3, threads=threads))
        finally:
            feeder.join(30)
            pipe.unlink()

    assert both(piped) == dumps(pcatool.fit(file, components=3))


@pytest.mark.parametrize("threads", [1, 4])
def test_scores(threads: int, both: Both, tmp_path: Path) -> None:
    file = save(tmp_path / "t.parquet", plain(30))
    model = pcatool.fit(file, components=3)
    assert both(lambda: pcatool.transform(model, file, threads=threads).to_numpy().tobytes())


# --- columns that are read by rows beside ---


def kept_of(file: Path, *keep: str, **options: Any) -> tuple[Any, ...]:
    table = read(file, keep=keep, **options)
    return table.names, table.X.shape, np.where(np.isnan(table.X), np.nan, table.X).tobytes("F"), table.kept


def test_columns_that_are_kept(both: Both, tmp_path: Path) -> None:
    """Of every kind, features among them."""
    table = mixed().append_column("v", pa.array([[float(i), 2.0] for i in range(ROWS)]))
    file = save(tmp_path / "t.parquet", table)
    names = table.column_names
    _, _, _, kept = both(lambda: kept_of(file, *names, columns=["f64", "f32", "i8", "last"]))
    assert kept == [column.to_pylist() for column in table.columns]


def test_categories_that_differ_from_row_group_to_row_group(both: Both, tmp_path: Path) -> None:
    """Arrow cuts a batch where the dictionary changes."""
    words = [f"{'abc'[i * 3 // ROWS]}{i % 7}" for i in range(ROWS)]
    table = plain(4).append_column("word", pa.array(words).dictionary_encode())
    file = save(tmp_path / "t.parquet", table)
    assert both(lambda: kept_of(file, "word"))[3] == [words]


@pytest.mark.parametrize("height", [5, HEIGHT, 1000])
def test_batches_of_any_height_are_cut_to_the_blocks(height: int, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr("pcatool.arrays.MOST_ROWS", HEIGHT)
    monkeypatch.setattr(reader, "MOST_OPEN", -1)
    batches = ParquetData.batches
    monkeypatch.setattr(ParquetData, "batches", lambda self, rows, *given: batches(self, height, *given))
    table = plain(4).append_column("word", pa.array([f"w{i}" for i in range(ROWS)]))
    file = save(tmp_path / "t.parquet", table)
    found = read(file, keep=["word", "c2"])
    assert found.kept == [table.column("word").to_pylist(), table.column("c2").to_pylist()]
    assert found.X.tolist() == [list(row.values()) for row in table.select(["c0", "c1", "c2", "c3"]).to_pylist()]


def test_vectors_beside_plain_columns(both: Both, tmp_path: Path) -> None:
    """A vector column is one to open, and would be read once for each portion of its elements."""
    vectors = [[float(i), i / 3, -1.0] if i % 9 else None for i in range(ROWS)]
    table = plain(5)
    table = table.add_column(2, "v", pa.array(vectors)).append_column("id", pa.array(range(ROWS)))
    file = save(tmp_path / "t.parquet", table)
    names, shape, _, _ = both(lambda: kept_of(file, "id", exclude=["id"]))
    assert names == ("c0", "c1", "v[0]", "v[1]", "v[2]", "c2", "c3", "c4")
    assert shape == (ROWS, 8)
    both(lambda: kept_of(file, "v", columns=["c4", "v[2]", "v[0]", "c0"]))


def test_vectors_alone_are_never_turned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = save(tmp_path / "t.parquet", pa.table({"v": [[1.0, 2.0]] * ROWS, "id": range(ROWS)}))
    monkeypatch.setattr(reader, "MOST_OPEN", -1)
    monkeypatch.delattr(reader, "TransposedGroup")
    monkeypatch.delattr(reader, "TransposedInMemory")
    assert read(file, keep=["id"], exclude=["id"]).X.shape == (ROWS, 2)


@pytest.mark.parametrize("row", [0, 64, 300, ROWS - 1])
def test_a_vector_of_another_length(row: int, both: Both, tmp_path: Path) -> None:
    vectors = [[1.0, 2.0] if i != row or not row else [1.0] for i in range(ROWS)]
    vectors[1] = [1.0] if not row else vectors[1]
    file = save(tmp_path / "t.parquet", plain(3).append_column("v", pa.array(vectors)))
    _, code, text = both(lambda: x_of(file))
    assert code == 3
    assert f"t.parquet, row {(row or 1) + 1}, column 'v': the vector has length 1" in text


def test_scores_with_kept_columns(both: Both, tmp_path: Path) -> None:
    """The bytes of the file that is written."""
    table = plain(30).append_column("word", pa.array([f"w{i % 11}" for i in range(ROWS)]))
    file = save(tmp_path / "t.parquet", table)
    model = pcatool.fit(file, components=3, exclude="word")

    def written() -> bytes:
        pcatool.transform(model, file, keep=["word", "c1"], output=tmp_path / "s.csv")
        return (tmp_path / "s.csv").read_bytes()

    assert both(written).count(b"\n") == ROWS + 1


def test_the_note_on_whole_numbers_that_are_rounded(both: Both, tmp_path: Path) -> None:
    """Names the first of them: that of the leftmost column in the first block with one."""
    large = 2**53 + 1
    table = plain(6).append_column("id", pa.array([large if i in (70, 90) else i for i in range(ROWS)]))
    table = table.append_column("number", pa.array([large + 2 if i in (66, 340) else i for i in range(ROWS)]))
    file = save(tmp_path / "t.parquet", table)
    for keep in ([], ["c1"], ["number"]):
        [note] = both(lambda keep=keep: read(file, keep=keep).notes)
        assert note.startswith(f"{file}, row 71, column 'id': {large} is read as {large - 1}, because")
        [note] = both(lambda keep=keep: read(file, keep=keep, exclude=["id"]).notes)
        assert note.startswith(f"{file}, row 67, column 'number': {large + 2} is read as")


def test_a_temporary_file_that_cannot_be_written_is_done_without(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From the row group on where it fails, as long as the open columns take less than they may."""
    monkeypatch.setattr("pcatool.arrays.MOST_ROWS", HEIGHT)
    monkeypatch.setattr(reader, "MOST_OPEN", -1)
    monkeypatch.setattr(reader, "IN_MEMORY_BYTES", -1)
    monkeypatch.setattr(reader, "FEW_BYTES", -1)
    file = save(tmp_path / "t.parquet", plain(9))
    expected = kept_of(file, "c1")
    written = TransposedGroup.write

    def full(self: TransposedGroup, first: int, start: int, X: Any) -> None:
        if self.rows > 100:
            raise FileError("the disk is full", "")
        written(self, first, start, X)

    monkeypatch.setattr(TransposedGroup, "write", full)
    assert kept_of(file, "c1") == expected
    table = opened(file)
    parts = list(table.parts(tuple(reader.Feature(f"c{j}", j) for j in range(9)), ()))
    assert {type(part) for part in parts} == {reader.TransposedPart, reader.ArrowPart}
    assert table.ended()
    monkeypatch.setattr(reader, "MOST_OPEN_BY_ROWS", 0)
    with pytest.raises(FileError, match="the disk is full"):
        kept_of(file, "c1")


# --- what is wrong is named as by rows ---


def replaced(table: pa.Table, column: str, row: int, value: Any) -> pa.Table:
    cells = table.column(column).to_pylist()
    cells[row] = value
    at = table.column_names.index(column)
    return table.set_column(at, column, pa.array(cells, table.column(column).type))


@pytest.mark.parametrize("threads", [1, 4])
@pytest.mark.parametrize("row", [0, 1, 63, 64, 128, 192, 193, 300, ROWS - 1])
def test_the_row_of_an_infinite_cell(row: int, threads: int, both: Both, tmp_path: Path) -> None:
    file = save(tmp_path / "t.parquet", replaced(plain(9), "c7", row, math.inf))
    _, code, text = both(lambda: pcatool.fit(file, threads=threads))
    assert code == 3
    assert f"t.parquet, row {row + 1}, column 'c7': 'inf' is not finite" in text


@pytest.mark.parametrize("threads", [1, 4])
def test_the_rows_with_missing_cells(threads: int, both: Both, tmp_path: Path) -> None:
    table = plain(9)
    for row, column in ((1, "c0"), (63, "c8"), (193, "c4"), (300, "c4")):
        table = replaced(table, column, row, None)
    file = save(tmp_path / "t.parquet", table)
    _, _, text = both(lambda: pcatool.fit(file, threads=threads))
    assert f"4 of {ROWS} rows have missing cells: 2 in column 'c4', 1 in column 'c0', 1 in column 'c8'; the" in text
    assert "t.parquet, rows 2, 64 and 194;" in text


@pytest.fixture
def guarded(tmp_path: Path) -> tuple[Path, Callable[[int, int], int]]:
    """A file with checksums and nothing packed, and where a column of a row group begins in it."""
    options = {"use_dictionary": False, "compression": "none", "write_page_checksum": True}
    file = save(tmp_path / "t.parquet", plain(20, 3000), (1000, 2000), **options)
    metadata = parquet.ParquetFile(file).metadata
    return file, lambda group, column: int(metadata.row_group(group).column(column).data_page_offset)


@pytest.mark.parametrize("threads", [1, 4])
@pytest.mark.parametrize(("group", "column"), [(0, 0), (0, 13), (1, 19)])
def test_a_changed_byte(
    group: int, column: int, threads: int, guarded: tuple[Path, Any], both: Both, tmp_path: Path
) -> None:
    file, begins = guarded
    data = bytearray(file.read_bytes())
    data[begins(group, column) + 4000] ^= 1
    file.write_bytes(data)
    _, code, text = both(lambda: pcatool.fit(file, threads=threads))
    assert code == 3
    assert "t.parquet: the Parquet data are damaged or cut off (" in text
    assert text.endswith("; create the file again")


@pytest.mark.parametrize("threads", [1, 4])
def test_a_hole_in_the_middle_of_a_column(threads: int, guarded: tuple[Path, Any], both: Both) -> None:
    """The table of contents at the end is whole, and what it promises is not there."""
    file, begins = guarded
    data = file.read_bytes()
    at = begins(1, 5)
    file.write_bytes(data[:at] + bytes(9000) + data[at + 9000 :])
    _, code, text = both(lambda: pcatool.fit(file, threads=threads))
    assert code == 3
    assert "t.parquet: the Parquet data are damaged or cut off (" in text


@pytest.mark.parametrize("columns", [1, 5])
def test_a_row_group_that_has_fewer_rows_than_it_says(columns: int, both: Both, tmp_path: Path) -> None:
    """All of its columns agree; only the number of rows in the footer does not."""
    file = save(tmp_path / "t.parquet", plain(columns, 900), (900,))
    data, rows = file.read_bytes(), b"\x16\x88\x0e"  # an i64 of the footer: twice 900, seven bits a byte
    before, found, after = data.rpartition(rows)
    assert found
    file.write_bytes(before + b"\x16\x8a\x0e" + after)
    assert parquet.ParquetFile(file).metadata.row_group(0).num_rows == 901
    _, code, text = both(lambda: x_of(file))
    assert code == 3
    assert "damaged or cut off (a column has 900 rows instead of 901)" in text


def test_a_file_that_is_cut_off_while_it_is_read(
    guarded: tuple[Path, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After it was opened; its first row group comes out whole."""
    monkeypatch.setattr(reader, "MOST_OPEN", 0)
    file, begins = guarded
    inputs = Inputs([str(file)], TableOptions(), Reporter())
    os.truncate(file, begins(1, 5) + 3000)
    rows = 0
    with pytest.raises(PcatoolError, match=r"t\.parquet: the Parquet data are damaged or cut off") as error:
        for batch in checked_batches(inputs, ColumnChoice(tuple(f"c{j}" for j in range(20))), RowCounts(), eager=False):
            rows += len(batch.X)
    assert rows == 1000
    assert error.value.exit_code == 3


PROGRAM = """
import sys
from pcatool.readers.parquet import table as parquet
parquet.MOST_OPEN = 0
from pcatool.cli import main
sys.argv = ["pcatool", "fit", "t.parquet", "-o", "m.npz"]
main()
"""


def test_the_program_names_it_and_leaves_nothing(guarded: tuple[Path, Any], tmp_path: Path) -> None:
    file, begins = guarded
    data = bytearray(file.read_bytes())
    data[begins(0, 3) + 4000] ^= 1
    file.write_bytes(data)
    (tmp_path / "temporary").mkdir()
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], cwd=tmp_path, env={**kernels(), "TMPDIR": str(tmp_path / "temporary")},
        text=True, capture_output=True, timeout=60,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr.startswith("pcatool: error: t.parquet: the Parquet data are damaged or cut off (")
    assert done.stderr.count("\n") == 1
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["t.parquet", "temporary"]


# --- when it is done, and how ---


def opened(file: Path) -> reader.ParquetTable:
    table = Inputs([str(file)], TableOptions(), Reporter()).first
    assert isinstance(table, reader.ParquetTable)
    return table


def test_what_open_columns_take(tmp_path: Path) -> None:
    """A reader; a page, a dictionary and one of them compressed, never more than three times what is in a row group."""
    few = opened(save(tmp_path / "few.parquet", plain(10, 100), (10, 90), compression="none", use_dictionary=False))
    pages = few._open_bytes(range(10)) - 10 * reader.READER
    assert 10 * 3 * 8 * 90 <= pages <= 10 * 3 * 8 * 90 * 1.2
    assert few._open_bytes([3]) <= few._open_bytes(range(10))  # of small groups of rows the whole is the bound
    many = plain(3, 400_000)
    many = many.append_column("s", pa.array([{"x": 1.0, "y": 2.0}] * 400_000))
    table = opened(save(tmp_path / "many.parquet", many, (400_000,), use_dictionary=False))
    assert table._open_bytes([0, 1]) == 2 * (reader.READER + reader.OPEN_COLUMN)
    assert table._open_bytes([3]) == table._open_bytes([0, 1])  # a struct is as many as it has parts
    assert opened(save(tmp_path / "none.parquet", plain(3, 0), ()))._open_bytes([0, 1, 2]) == 3 * reader.READER


@pytest.mark.parametrize("columns", [1000, 6000])
def test_few_rows_of_very_many_columns_are_turned_in_memory(
    columns: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To have 6,000 columns open would take ten times as much as their numbers; no file is needed for these."""
    file = save(tmp_path / "t.parquet", plain(columns, 40), (40,))
    wanted = tuple(reader.Feature(f"c{j}", j) for j in range(columns))
    monkeypatch.delattr(reader, "TransposedGroup")
    found = opened(file)
    parts = list(found.parts(wanted, ()))
    assert {type(part) for part in parts} == {reader.TransposedPart if columns == 6000 else reader.ArrowPart}
    X = np.vstack([part.batch().X for part in parts])
    np.testing.assert_array_equal(X, np.column_stack([x.to_numpy() for x in plain(columns, 40).columns]))


def test_only_what_is_too_large_by_rows_is_turned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = opened(save(tmp_path / "t.parquet", plain(4)))
    size = table._open_bytes(range(4), reader.SAFE_COPIES)
    for most, kind in ((size, reader.ArrowPart), (size - 1, reader.TransposedPart)):
        monkeypatch.setattr(reader, "MOST_OPEN", most)
        found = opened(tmp_path / "t.parquet")
        wanted = tuple(reader.Feature(f"c{j}", j) for j in range(4))
        assert {type(part) for part in found.parts(wanted, ())} == {kind}


@pytest.mark.parametrize("groups", [1, 2])
def test_row_groups_of_a_hundred_mb_are_turned_in_memory_if_they_are_several(
    groups: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The memory of the first is used again for the second. 16,384 images of 28 x 28; here without a value."""
    rows, d = 16_384, 784
    table = pa.table({f"c{j}": pa.nulls(groups * rows, pa.int8()) for j in range(d)})
    file = save(tmp_path / "t.parquet", table, (rows,) * groups)
    monkeypatch.setattr(reader, "MOST_OPEN", -1)
    found = opened(file)
    first = next(iter(found.parts(tuple(reader.Feature(f"c{j}", j) for j in range(d)), ())))
    assert isinstance(first, reader.TransposedPart)
    assert isinstance(first.transposed, reader.TransposedInMemory) == (groups == 2)
    # Planned once: blocks of the first that are in use while the second is filled count as parts.
    numbers = 8 * rows * d
    assert (numbers < found.reading_bytes(1)) == (groups == 2)
    assert found.reading_bytes(1) < 1.5 * numbers


def test_a_row_group_that_a_store_gives_in_one_piece_is_read_by_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """But if its numbers are few, it is turned in memory: more open columns than numbers would be a waste."""
    table = opened(save(tmp_path / "t.parquet", plain(4)))
    features = tuple(reader.Feature(f"c{j}", j) for j in range(4))
    monkeypatch.setattr(reader, "MOST_OPEN", 0)
    assert table._must_transpose(features)
    table._data.whole_groups = True
    assert table._must_transpose(features)
    monkeypatch.setattr(reader, "FEW_BYTES", 0)
    assert not table._must_transpose(features)


@pytest.mark.parametrize("most", [0, 1 << 60])
def test_the_end_is_known_with_the_last_rows(most: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pcatool.arrays.MOST_ROWS", HEIGHT)
    monkeypatch.setattr(reader, "MOST_OPEN", most)
    table = opened(save(tmp_path / "t.parquet", plain(4), (1, 100, ROWS - 101)))
    ended = []
    for _ in table.parts(tuple(reader.Feature(f"c{j}", j) for j in range(4)), ()):
        assert table.ready()
        ended.append(table.ended())
    assert ended == [False] * (len(ended) - 1) + [True]


def test_one_reader_for_each_thread_at_work(both: Both, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not one for each portion of columns: to open a file of many columns takes long."""
    monkeypatch.setattr(reader, "PORTION_BYTES", 1)
    file = save(tmp_path / "t.parquet", plain(60))
    opens: list[object] = []
    another = ParquetData.open_again

    def counted(self: ParquetData, *given: Any, **options: Any) -> Any:
        opens.append(self)
        return another(self, *given, **options)

    monkeypatch.setattr(ParquetData, "open_again", counted)
    both(lambda: dumps(pcatool.fit(file, threads=3, components=1)))
    most = len(GROUPS) * 4  # threads, and what waits
    assert 4 <= len(opens) <= 3 + 2 * most  # three runs, of which two turn the table


# --- the turned table itself ---


@pytest.mark.parametrize("kind", [TransposedGroup, TransposedInMemory])
@pytest.mark.parametrize(("rows", "d"), [(1, 1), (63, 3), (64, 3), (65, 3), (130, 40), (0, 2)])
@pytest.mark.parametrize("threads", [1, 4])
def test_columns_in_rows_out(
    rows: int, d: int, threads: int, kind: type[TransposedGroup], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pcatool.arrays.MOST_ROWS", HEIGHT)
    X = np.random.default_rng(d).normal(size=(rows, d))
    turned = kind(rows, d, block_rows(d))
    assert turned.height == HEIGHT

    def portions() -> Iterator[int]:
        return iter(np.random.default_rng(0).permutation(np.arange(0, d, 3)).tolist())

    with Threads(threads) as pool:
        for _ in pool.map(lambda at: turned.write(at, 0, np.asfortranarray(X[:, at : at + 3])), portions()):
            pass
        blocks = list(pool.map(turned.block, turned.starts))
    assert [len(block) for block in blocks] == [min(HEIGHT, rows - at) for at in range(0, rows, HEIGHT)]
    assert all(block.flags.f_contiguous for block in blocks)
    assert same_bits(np.concatenate([np.empty((0, d)), *blocks]), X)


@pytest.mark.parametrize(("most_held", "times"), [(-1, 3), (1 << 60, 1)])
def test_memory_is_given_back_after_the_last_row_group(
    most_held: int, times: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In memory, each row group needs the same again; to give it back in between would only cost time."""
    file = save(tmp_path / "t.parquet", plain(4), (65, 130, 200))
    for bound, size in (("MOST_OPEN", -1), ("FEW_BYTES", most_held), ("IN_MEMORY_BYTES", most_held)):
        monkeypatch.setattr(reader, bound, size)
    given_back: list[None] = []
    monkeypatch.setattr(reader, "release_free_memory", lambda: given_back.append(None))
    assert len(list(opened(file).parts(tuple(reader.Feature(f"c{j}", j) for j in range(4)), ()))) == 3
    assert len(given_back) == times


@pytest.mark.parametrize("hole", [None, 0, 100, ROWS - 1])
def test_cells_are_checked_once(hole: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By columns, where they are finite; else by blocks too, which tells those with a missing cell."""
    monkeypatch.setattr("pcatool.arrays.MOST_ROWS", HEIGHT)
    monkeypatch.setattr(reader, "MOST_OPEN", -1)
    table = plain(9) if hole is None else replaced(plain(9), "c4", hole, None)
    found = opened(save(tmp_path / "t.parquet", table, (ROWS,)))
    parts = list(found.parts(tuple(reader.Feature(f"c{j}", j) for j in range(9)), ()))
    checked: list[int] = []
    check = arrow_parts.all_finite
    monkeypatch.setattr(arrow_parts, "all_finite", lambda X: checked.append(len(X)) or check(X))
    batches = [part.batch() for part in parts]
    assert [batch.finite for batch in batches] == [hole is None or hole // HEIGHT != i for i in range(len(batches))]
    assert len(checked) == (0 if hole is None else len(batches))


def test_a_block_in_memory_is_freed_as_soon_as_it_is_used() -> None:
    """Else the next row group would be filled while this one is still there."""
    turned = TransposedInMemory(130, 3, HEIGHT)
    turned.write(0, 0, np.ones((130, 3)))
    block = turned.block(64)
    freed = weakref.ref(block.base)
    assert block.base is not None and block.base.nbytes == block.nbytes  # not a view of the whole row group
    del block
    assert freed() is None


@pytest.mark.parametrize("d", [40, 784, 4000])
@pytest.mark.parametrize("rows", [1, 1000, 16_384, 131_072, 1_000_000, 1 << 28])
def test_what_is_read_at_a_time_does_not_grow_with_the_rows(rows: int, d: int) -> None:
    height = block_rows(d)
    for in_memory, size in ((False, reader.PORTION_BYTES), (True, reader.PORTION_IN_MEMORY_BYTES)):
        portion = reader.Portion.of(rows, height, in_memory=in_memory)
        assert portion.size <= max(size, 8 * height)
        assert portion.rows == rows or portion.rows % height == 0
        assert portion.columns == columns_at_once(rows, size)


@pytest.mark.parametrize("in_memory", [True, False])
@pytest.mark.parametrize(("rows", "d"), [(10_852, 256), (16_384, 256), (100_000, 40), (3000, 5000)])
def test_columns_that_are_chosen_for_their_rows_are_read_whole(rows: int, d: int, in_memory: bool) -> None:
    """Of 10,852 rows 10,240 were read at once, and the rest apart: each time with the pages of all columns open."""
    assert reader.Portion.of(rows, block_rows(d), in_memory=in_memory).rows == rows


@pytest.mark.parametrize(
    ("rows", "size", "columns"),
    [(1000, 8000, 1), (1000, 7999, 1), (1000, 16000, 2), (10**9, 1, 1), (1, 1 << 30, MOST_COLUMNS), (0, 80, 10)],
)
def test_columns_at_once(rows: int, size: int, columns: int) -> None:
    assert columns_at_once(rows, size) == columns

"""Small Parquet files, each read in one piece by a thread: the same numbers, texts and errors as otherwise."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from pcatool.engines.threads import Threads
from pcatool.errors import DataError
from pcatool.options import SelectOptions, TableOptions
from pcatool.progress import Reporter
from pcatool.readers.inputs import Inputs
from pcatool.readers.parquet.file import ParquetData
from pcatool.readers.row_counts import RowCounts
from pcatool.readers.rows import CheckedBatch, checked_batches
from readers.reading import read, same_bits

ROWS = 90


def table() -> pa.Table:
    """Columns that Parquet stores as several, or as none of the same number, before those of plain numbers."""
    rng = np.random.default_rng(7)
    numbers = rng.standard_normal((ROWS, 3))
    texts = [f"t{i % 5}" for i in range(ROWS)]
    return pa.table(
        {
            "point": pa.array([{"x": float(i), "y": [i] * (i % 3)} for i in range(ROWS)]),
            "text": pa.array(texts).dictionary_encode(),
            "vector": pa.array([None if i % 7 == 0 else [i, i / 3] for i in range(ROWS)], pa.list_(pa.float32())),
            "a": numbers[:, 0],
            "holes": [None if i % 4 == 0 else i / 7 for i in range(ROWS)],
            "whole": pa.array(range(ROWS), pa.int32()),
            "exact": pa.array([Decimal(i) / 4 for i in range(ROWS)], pa.decimal128(9, 2)),
            "few": pa.array([i % 3 for i in range(ROWS)], pa.int16()).dictionary_encode(),
            "b": numbers[:, 1],
            "c": numbers[:, 2],
        }
    )


def save(folder: Path, content: pa.Table, files: int, **options: Any) -> list[Path]:
    """The rows in so many files."""
    folder.mkdir()
    step = -(-len(content) // files)
    paths = [folder / f"p{at}.parquet" for at in range(files)]
    for at, path in enumerate(paths):
        parquet.write_table(content.slice(at * step, step), path, **options)
    return paths


# All of the columns, few of many, in another order, none but vectors.
TAKEN: dict[str, dict[str, Any]] = {
    "all": {},
    "few": {"columns": ("c,a",)},
    "one": {"columns": ("vector",)},
    "kept": {"columns": ("a,b,c,whole,exact,few,holes",), "keep": ("text,whole,vector",)},
    "kept only beside": {"columns": ("b",), "keep": ("point,a",)},
}


@pytest.mark.parametrize("taken", TAKEN.values(), ids=TAKEN)
@pytest.mark.parametrize("groups", [None, 7])
def test_many_files_give_what_one_gives(taken: dict[str, Any], groups: int | None, tmp_path: Path) -> None:
    one = read(*save(tmp_path / "one", table(), 1), **taken)
    many = read(*save(tmp_path / "many", table(), 4, row_group_size=groups), **taken)
    assert many.names == one.names
    assert same_bits(many.X, one.X)
    assert many.kept == one.kept


def test_they_are_read_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = save(tmp_path / "many", table().select(["a", "b", "c"]), 3)
    monkeypatch.delattr(ParquetData, "batches")  # which reads by rows
    assert len(read(*files).X) == ROWS


def test_a_rounded_number_is_named(tmp_path: Path) -> None:
    numbers = pa.table({"id": [1, 2, 3, 2**53 + 1], "x": [1.0, 2.0, 3.0, 4.0]})
    two = save(tmp_path / "many", numbers, 2)
    assert [note for note in read(*two).notes if "9007199254740993 is read as 9007199254740992" in note]
    assert [note for note in read(*two).notes if f"{two[1]}, row 2, column 'id'" in note]


def test_a_column_of_fewer_rows_than_the_file_says(tmp_path: Path) -> None:
    files = save(tmp_path / "many", pa.table({"a": np.arange(50.0), "b": np.arange(50.0)}), 2)
    data = files[1].read_bytes()
    footer = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    said = b"\x16\x32"  # a number of rows, 25, first of the file and last of its row group
    assert said in data[footer:]
    first, last = data.index(said, footer), data.rindex(said)
    changed = bytearray(data)
    changed[first + 1] = changed[last + 1] = 0x34
    files[1].write_bytes(changed)
    with pytest.raises(DataError, match=r"p1.parquet: the Parquet data are damaged .*25 rows instead of 26"):
        read(*files)


@pytest.mark.parametrize("name", ["damaged_sizes.parquet"])
def test_damage_does_not_end_the_process(name: str) -> None:
    damaged = Path(__file__).parents[2] / "data" / name
    with pytest.raises(DataError, match=r"the Parquet data are damaged or cut off"):
        read(damaged, damaged)


def test_a_vector_of_another_length_is_named_by_row(tmp_path: Path) -> None:
    vectors = pa.table({"v": [[1.0, 2.0]] * 5 + [[1.0]], "x": np.arange(6.0)})
    files = save(tmp_path / "many", vectors, 2)
    with pytest.raises(
        DataError, match=r"p1.parquet, row 3, column 'v': the vector has length 1, but the first vector has length 2"
    ):
        read(*files)


def test_the_same_columns_in_another_file_are_looked_at_once(tmp_path: Path) -> None:
    """What a file says beside its columns makes no difference; another type does."""
    files = save(tmp_path / "many", pa.table({"a": np.arange(6.0), "b": np.arange(6.0)}), 2)
    plain = parquet.read_table(files[1])
    parquet.write_table(plain.replace_schema_metadata({"made by": "another"}), files[1])
    assert read(*files).rows == [[float(i), float(i)] for i in range(6)]
    parquet.write_table(plain.set_column(1, "b", plain["b"].cast(pa.int8())), files[1])
    assert read(*files).rows == [[float(i), float(i)] for i in range(6)]
    parquet.write_table(plain.append_column("more", plain["a"]), files[1])
    assert read(*files).rows == [[float(i), float(i)] for i in range(6)]
    parquet.write_table(plain.rename_columns(["a", "other"]), files[1])
    with pytest.raises(DataError, match=r"p1.parquet.* 'b'"):
        read(*files)


def batches(files: list[Path], **options: Any) -> Iterator[CheckedBatch]:
    """Of files whose next ones are opened by threads before their turn."""
    inputs = Inputs([str(file) for file in files], TableOptions(**options), Reporter())
    with Threads(2) as pool:
        wanted = inputs.columns.choose(SelectOptions())
        yield from checked_batches(inputs, wanted, RowCounts(), eager=False, run=pool.map)


def test_errors_of_files_opened_before_their_turn_come_in_it(tmp_path: Path) -> None:
    files = save(tmp_path / "many", pa.table({"a": np.arange(60.0)}), 6)
    files[2].write_bytes(b"PAR1\x00")
    files[3].unlink()
    rows = []
    with pytest.raises(DataError, match=r"p2.parquet: the Parquet data are damaged"):
        for batch in batches(files):
            rows += batch.X[:, 0].tolist()
    assert rows == list(range(20))
    rows = [x for batch in batches(files, skip_bad=True) for x in batch.X[:, 0].tolist()]
    assert rows == [*range(20), *range(40, 60)]


def test_notes_of_files_opened_before_their_turn_come_in_it(tmp_path: Path) -> None:
    files = save(tmp_path / "many", pa.table({"a": np.arange(60.0)}), 6)
    reporter = Reporter()
    inputs = Inputs([str(file) for file in files], TableOptions(comment="#"), reporter)
    with Threads(2) as pool:
        wanted = inputs.columns.choose(SelectOptions())
        assert sum(len(b.X) for b in checked_batches(inputs, wanted, RowCounts(), eager=False, run=pool.map)) == 60
    assert reporter.notes == [f"--comment has no effect on {file}, which is a Parquet file" for file in files]


def test_files_opened_before_their_turn_are_closed_when_it_does_not_come(tmp_path: Path) -> None:
    files = save(tmp_path / "many", pa.table({"a": np.arange(60.0)}), 12)
    before = len(list(Path("/proc/self/fd").iterdir()))
    reading = batches(files)
    next(reading)
    reading.close()
    del reading
    assert len(list(Path("/proc/self/fd").iterdir())) <= before


def planned(files: list[Path]) -> list[int]:
    """The memory that reading is said to take, after each batch."""
    inputs = Inputs([str(file) for file in files], TableOptions(), Reporter())
    wanted = inputs.columns.choose(SelectOptions())
    return [inputs.reading_bytes(1) for _ in checked_batches(inputs, wanted, RowCounts(), eager=False)]


def test_planned_memory_never_falls_below_what_was_checked(tmp_path: Path) -> None:
    """Else a fit under a limit of just its plan is refused: an earlier file has a longer footer."""
    files = save(tmp_path / "many", table().select(["a", "b", "c"]), 3)
    parquet.write_table(parquet.read_table(files[1]).replace_schema_metadata({"note": "x" * 5000}), files[1])
    first, second, third = planned(files)
    assert first < second == third


@pytest.mark.parametrize("fixed", [False, True])
def test_a_column_of_vectors_takes_what_arrow_holds_of_it(fixed: bool, tmp_path: Path) -> None:
    n, d = 800, 400
    X = np.random.default_rng(0).standard_normal((n, d)).astype(np.float32).ravel()
    starts = np.arange(0, n * d + 1, d, dtype=np.int32)
    lists = pa.FixedSizeListArray.from_arrays(X, d) if fixed else pa.ListArray.from_arrays(starts, X)
    files = save(tmp_path / "many", pa.table({"v": lists}), 2)
    numbers = 8 * n // 2 * d
    elements = numbers // 2  # 4 bytes each
    pages_and_elements = 2 * elements
    assert planned(files)[0] >= files[0].stat().st_size + 2 * numbers + pages_and_elements

"""Parquet that keeps types and values, streams, and does not depend on how the rows came."""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pcatool.errors import UsageError
from pcatool.writers.parquet import GROUP_BYTES, LEAST_ROWS, MOST_ROWS, ParquetWriter, group_rows
from pcatool.writers.sink import open_sink

NOTHING: dict[str, pa.Array] = {}


def names_of(values: Any) -> list[str]:
    return [f"PC{j + 1}" for j in range(values.shape[1])]


def fill(writer: ParquetWriter, kept: dict[str, pa.Array], values: Any, cuts: Sequence[int]) -> None:
    for start, stop in zip((0, *cuts), (*cuts, len(values)), strict=True):
        writer.write([array[start:stop] for array in kept.values()], values[start:stop])
    writer.close()


def parquet(kept: dict[str, pa.Array], values: Any, cuts: Sequence[int] = ()) -> bytes:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "x.parquet"
        with open_sink(str(path), no_clobber=False) as sink:
            writer = ParquetWriter(sink, [(name, array.type) for name, array in kept.items()], names_of(values))
            fill(writer, kept, values, cuts)
        return path.read_bytes()


def read(data: bytes) -> pa.Table:
    return pq.read_table(pa.BufferReader(data))


def test_values_and_types_come_back() -> None:
    values = np.random.default_rng(0).integers(0, 2**64, size=3000, dtype=np.uint64).view(np.float64).reshape(-1, 3)
    values = np.where(np.isfinite(values), values, -0.0)
    values[5, 1] = np.nan
    table = read(parquet(NOTHING, values))
    assert table.schema.equals(pa.schema([(name, pa.float64()) for name in names_of(values)]))
    assert table["PC2"].null_count == 1
    for j, column in enumerate(table.columns):
        back = column.to_numpy()
        np.testing.assert_array_equal(back[6:].view(np.uint64), values[6:, j].copy().view(np.uint64))


KEPT: list[pa.Array] = [
    pa.array([1, None, 3], pa.int16()),
    pa.array(["a", None, ""]),
    pa.array(["a", None, ""], pa.large_string()),
    pa.array(["a", None, "a"]).dictionary_encode(),
    pa.array([True, None, False]),
    pa.array([0.1, None, float("nan")], pa.float32()),
    pa.array([Decimal("1.10"), None, Decimal("2.20")]),
    pa.array([datetime(2024, 7, 1, tzinfo=UTC), None, None], pa.timestamp("us", "Europe/Berlin")),
    pa.array([1, None, 2], pa.timestamp("ns")),
    pa.array([[1.0, None], None, []]),
    pa.array([[1, 2], [3, 4], [5, None]], pa.list_(pa.float32(), 2)),
    pa.array([{"a": 1, "b": "x"}, None, {"a": None, "b": "y"}]),
    pa.array([b"\xff", None, b""]),
    pa.nulls(3),
]


@pytest.mark.parametrize("array", KEPT, ids=[str(array.type) for array in KEPT])
def test_kept_columns_keep_their_type(array: pa.Array) -> None:
    table = read(parquet({"kept": array}, np.ones((3, 1)), cuts=[1]))
    assert table.column_names == ["kept", "PC1"]
    assert table.schema.field("kept").type == array.type
    assert str(table["kept"].to_pylist()) == str(array.to_pylist())  # as text, for NaN


def test_dictionaries_may_differ_from_block_to_block() -> None:
    kind = pa.dictionary(pa.int32(), pa.string())
    with TemporaryDirectory() as folder:
        path = Path(folder) / "x.parquet"
        with open_sink(str(path), no_clobber=False) as sink:
            writer = ParquetWriter(sink, [("kept", kind)], ["PC1"])
            for words in (["a", "b"], ["c", "a"]):
                writer.write([pa.array(words).dictionary_encode()], np.zeros((2, 1)))
            writer.close()
        assert pq.read_table(path)["kept"].to_pylist() == ["a", "b", "c", "a"]


def test_no_rows() -> None:
    table = read(parquet({"id": pa.array([], pa.string())}, np.empty((0, 2))))
    assert table.num_rows == 0
    assert table.column_names == ["id", "PC1", "PC2"]


def test_row_groups_are_full_and_the_bytes_the_same_for_any_cuts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pcatool.writers.parquet.GROUP_BYTES", 72 * 1000)
    values = np.random.default_rng(0).normal(size=(3500, 1))
    values[17] = np.nan
    kept = {"id": pa.array([str(i) if i % 9 else None for i in range(len(values))])}
    data = parquet(kept, values)
    groups = pq.ParquetFile(pa.BufferReader(data)).metadata
    assert [groups.row_group(i).num_rows for i in range(groups.num_row_groups)] == [1000, 1000, 1000, 500]
    assert read(data)["id"].to_pylist() == kept["id"].to_pylist()
    for cuts in ([1, 1, 999, 1000, 1001, 3000], range(100, 3500, 100), [2500]):
        assert parquet(kept, values, cuts) == data


def test_the_callers_memory_may_be_used_again() -> None:
    values = np.ones((10, 2), order="F")
    with TemporaryDirectory() as folder:
        path = Path(folder) / "x.parquet"
        with open_sink(str(path), no_clobber=False) as sink:
            writer = ParquetWriter(sink, [], ["PC1", "PC2"])
            writer.write([], values)
            values[:] = 7
            writer.close()
        assert pq.read_table(path)["PC1"].to_pylist() == [1.0] * 10


def test_read_only_arrays_are_fine() -> None:
    values = np.ones((10, 2))
    values.setflags(write=False)
    assert read(parquet(NOTHING, values)).num_rows == 10


def test_a_pipe_will_do() -> None:
    values = np.random.default_rng(0).normal(size=(50_000, 3))
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb") as out, ThreadPoolExecutor(1) as pool:
        data = pool.submit(out.read)
        with open_sink(f"/dev/fd/{writing}", no_clobber=False) as sink:
            os.close(writing)
            fill(ParquetWriter(sink, [], names_of(values)), NOTHING, values, [])
        assert data.result(timeout=60) == parquet(NOTHING, values)


def test_rows_go_out_group_by_group(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pcatool.writers.parquet.GROUP_BYTES", 8 * 1000)
    with (tmp_path / "x").open("wb") as out, open_sink(f"/dev/fd/{out.fileno()}", no_clobber=False) as sink:
        writer = ParquetWriter(sink, [], ["PC1"])
        sizes = []
        for _ in range(4):
            writer.write([], np.random.default_rng(0).normal(size=(1000, 1)))
            sizes.append((tmp_path / "x").stat().st_size)
        writer.close()
    assert np.all(np.diff([0, *sizes]) > 8000)


def test_a_failing_sink_fails_with_its_own_error() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with pytest.raises(BrokenPipeError), open_sink(f"/dev/fd/{writing}", no_clobber=False) as sink:
        os.close(writing)
        fill(ParquetWriter(sink, [], ["PC1"]), NOTHING, np.ones((5, 1)), [])


def test_a_type_parquet_does_not_have() -> None:
    with pytest.raises(UsageError) as caught:
        parquet({"ok": pa.nulls(1), "t": pa.array([(1, 2, 3)], pa.month_day_nano_interval())}, np.ones((1, 1)))
    assert str(caught.value) == (
        "Parquet cannot store column 't' of type month_day_nano_interval; "
        "convert the column before the run, for example to text, or do not copy it: give --keep with other columns only"
    )


@pytest.mark.parametrize(
    ("kinds", "rows"),
    [
        ([pa.float64()] * 10, GROUP_BYTES // 80),
        ([pa.float64()], MOST_ROWS),
        ([pa.float64()] * 784, GROUP_BYTES // (8 * 784)),
        ([pa.float64()] * 20_000, LEAST_ROWS),
        ([pa.string(), pa.bool_(), pa.int32()], GROUP_BYTES // (64 + 1 + 4)),
        ([pa.list_(pa.float32(), 768)], GROUP_BYTES // (4 * 768)),
        ([pa.list_(pa.float32())], GROUP_BYTES // (4 * 256)),
        ([pa.struct([("a", pa.float64()), ("b", pa.string())])], GROUP_BYTES // 72),
        ([pa.null()], GROUP_BYTES // 64),
        ([pa.struct([])], MOST_ROWS),
    ],
    ids=lambda value: f"{len(value)} of {value[0]}" if isinstance(value, list) else str(value),
)
def test_size_of_a_row_group(kinds: list[pa.DataType], rows: int) -> None:
    assert group_rows(pa.schema([(f"c{i}", kind) for i, kind in enumerate(kinds)])) == rows

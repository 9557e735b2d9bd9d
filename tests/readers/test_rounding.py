"""Whole numbers that no double holds: one note names the first; everything else of that size is no news."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from pcatool.readers.base import has_above_2_53
from readers.reading import read, write

ROUNDED = [
    "9007199254740993",
    "-9007199254740993",
    "+0009007199254740993",
    "12345678901234567890",
    "9007199254740993.0",
]
EXACT = [
    "9007199254740992",
    "9007199254740994",
    "1e20",
    "9007199254740993e0",
    "1e308",
    "123456789012345678.5",
    "1" + "0" * 22,
]


@pytest.mark.parametrize("cell", ROUNDED)
@pytest.mark.parametrize("dress", ["{}", '"{}"', " {} "])
def test_the_first_is_named(cell: str, dress: str, tmp_path: Path) -> None:
    file = write(tmp_path, f"a,id\n1,{EXACT[0]}\n2,{dress.format(cell)}\n3,{cell}\n")
    whole = int(cell.removesuffix(".0"))
    notes = [note.replace(str(tmp_path), "") for note in read(file).notes]
    assert notes == [
        f"/t.csv, line 3, column 'id': {whole} is read as {int(float(whole))}, because whole numbers beyond 2^53 are "
        "rounded; if the numbers are ids, fit the model without the column, with -x id"
    ]
    assert read(file, exclude=["id"], keep=["id"]).notes == []


@pytest.mark.parametrize("cell", EXACT)
def test_what_is_a_double_or_written_as_one_needs_no_note(cell: str, tmp_path: Path) -> None:
    assert read(write(tmp_path, f"a,id\n1,{cell}\n2,-{cell}\n3,\n")).notes == []


def test_it_is_found_in_later_columns_rows_and_files(tmp_path: Path) -> None:
    rows = "".join(f"{i},{2**60 + 256 * i},x\n" for i in range(20_000))
    first = write(tmp_path, f"a,b,t\n{rows}")
    assert [n for n in read(first).notes if "2^53" in n] == []
    second = write(tmp_path, f"b,a,t\n{rows}{2**60 + 1},1,x\n{2**60 + 2},1,x\n", "u.csv")
    (note,) = [n for n in read(first, second).notes if "2^53" in n]
    assert f"u.csv, line 20002, column 'b': {2**60 + 1} is read as {2**60}" in note


def test_thousands_marks_are_no_hindrance(tmp_path: Path) -> None:
    file = write(tmp_path, 'a,b\n1,"9,007,199,254,740,993"\n2,3\n')
    (note,) = read(file, thousands=",").notes
    assert "9007199254740993 is read as 9007199254740992" in note


@pytest.mark.parametrize("kind", [pa.int64(), pa.uint64(), pa.decimal128(38, 0)])
def test_in_parquet(kind: pa.DataType, tmp_path: Path) -> None:
    values = [1, None, 2**53, 2**53 + 1, 2**60 + 1]
    table = pa.table(
        {"a": [1.0, 2e300, 3, 4, 5], "id": pa.array([v if v is None else Decimal(v) for v in values]).cast(kind)}
    )
    parquet.write_table(table, tmp_path / "t.parquet")
    (note,) = read(tmp_path / "t.parquet").notes
    assert "row 4, column 'id': 9007199254740993 is read as 9007199254740992" in note


def test_most_blocks_need_no_second_look() -> None:
    big = 2.0**53
    for X, expected in (([[1, -1e15]], False), ([[1, -big]], True), ([[np.nan, 1]], False), ([[np.nan, big]], True)):
        assert has_above_2_53(np.asfortranarray(X, dtype=np.float64)) is expected
    assert not has_above_2_53(np.full((100, 100), big - 1, order="F"))

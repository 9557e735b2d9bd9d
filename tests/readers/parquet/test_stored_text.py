"""Numbers stored as text in Parquet: named with their type, and read when they are asked for."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from often import often
from pcatool.errors import DataError, MissingColumns
from readers.reading import follow, read, same_bits

TYPES = [pa.string(), pa.large_string(), pa.dictionary(pa.int32(), pa.string())]


def stored(folder: Path, columns: dict[str, pa.Array], name: str = "t.parquet", **more: int) -> Path:
    parquet.write_table(pa.table(columns), folder / name, **more)
    return folder / name


@pytest.mark.parametrize("kind", TYPES, ids=str)
def test_the_way_out_reads_them(kind: pa.DataType, tmp_path: Path) -> None:
    cells = pa.array(["1.0", " 2.5", None, "NA", "-4e1"]).cast(kind)
    file = stored(tmp_path, {"a": cells, "t": pa.array(["x"] * 5)})
    with pytest.raises(
        DataError,
        match=r"no column holds numbers; give -c 'a' to read the numbers that are stored as text \(.*string\) in 'a'",
    ) as caught:
        read(file)
    table = read(file, **follow(caught.value))
    assert same_bits(table.X, np.array([[1], [2.5], [math.nan], [math.nan], [-40]]))
    assert read(file, names=["a"]).names == ("a",)


def test_beside_numbers_they_are_left_out_and_named(tmp_path: Path) -> None:
    file = stored(tmp_path, {"a": pa.array(["1.0", "2"]), "b": pa.array([1.0, 5]), "m": pa.array(["1", "x"])})
    table = read(file)
    assert (table.names, table.notes) == (
        ("b",),
        [
            "left out text column 'a' (first value '1.0', type string; to read its numbers, "
            "give -c with this column and the other features)",
            "left out text column 'm' (first value '1'; the column mixes text and numbers)",
        ],
    )
    assert read(file, columns=["a", "b"]).rows == [[1, 1], [2, 5]]


def test_text_and_numbers_together(tmp_path: Path) -> None:
    file = stored(tmp_path, {"b": pa.array(["x", "1", "2"]), "c": pa.array([1.0, 2, 3])})
    with pytest.raises(
        DataError, match=r"column 'b' mixes text and numbers \(first value 'x'\) and has type string; .*-x b"
    ):
        read(file, columns=["b", "c"])
    with pytest.raises(
        DataError, match=r"column 'b' holds text and numbers \(first value 'x'\) of type string, but the model needs"
    ):
        read(file, names=["b"])
    with pytest.raises(DataError, match=r"column 't' holds no numbers \(first value 'x'\) and has type string"):
        read(stored(tmp_path, {"t": pa.array(["x", "y"])}), columns=["t"])


def test_a_later_text_is_named_by_its_row(tmp_path: Path) -> None:
    cells = [str(i) for i in range(500)] + ["abc"]
    for more in ({}, {"row_group_size": 100}):
        file = stored(tmp_path, {"a": pa.array(cells), "b": pa.array(np.arange(501.0))}, **more)
        with pytest.raises(
            DataError, match="row 501, column 'a': 'abc' is not a number \\(the type of the column is string\\)"
        ):
            read(file, columns=["a", "b"])


@pytest.mark.parametrize("seed", range(often(30)))
def test_every_way_to_read_parquet_reads_them_alike(seed: int, tmp_path: Path) -> None:
    """One file, several, those of many columns, and with rows passed through; against `float`."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(1, 300)), int(rng.integers(1, 6))
    numbers = rng.standard_normal((n, d)) * 10.0 ** rng.integers(-20, 20, size=(n, d))
    columns = {
        f"c{j}": pa.array([repr(float(x)) for x in numbers[:, j]]).cast(TYPES[int(rng.integers(3))]) for j in range(d)
    }
    file = stored(tmp_path, columns, row_group_size=int(rng.integers(1, n + 1)))
    named = list(columns)
    assert same_bits(read(file, columns=named).X, numbers)
    assert same_bits(read(file, file, columns=named).X, np.concatenate([numbers, numbers]))
    assert read(file, columns=named, keep=["c0"]).kept[0] == columns["c0"].to_pylist()


def test_a_model_finds_them_by_name(tmp_path: Path) -> None:
    file = stored(tmp_path, {"a": pa.array(["1", "2"])})
    with pytest.raises(MissingColumns):
        read(file, names=["b"])
    assert read(file, names=["a"]).rows == [[1], [2]]

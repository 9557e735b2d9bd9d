"""Parquet: every type of number to the nearest double, vectors, names of any sort, and files that are cut off."""

from __future__ import annotations

import errno
import math
import subprocess
import sys
from collections.abc import Callable, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet

import pcatool
from pcatool.errors import DataError
from pcatool.readers.arrow_columns import numbers_of
from pcatool.readers.arrow_parts import VectorLength, features_to_block
from pcatool.readers.base import Column, Feature
from pcatool.readers.opener import OpenedInput
from pcatool.readers.parquet import file as parquet_file
from pcatool.readers.parquet.file import ParquetData
from pcatool.readers.paths import Input
from programs import kernels
from readers.reading import read, same_bits

NAN = math.nan


def save(folder: Path, columns: Mapping[str, Any] | pa.Table, name: str = "t.parquet", **options: Any) -> Path:
    table = columns if isinstance(columns, pa.Table) else pa.table(dict(columns))
    parquet.write_table(table, folder / name, **options)
    return folder / name


INTEGERS = [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]
DECIMALS = [Decimal(text) for text in ("0.1", "-12345.67", "99999999999.99", "-0.01", "123456789012.34", "0.07")]

NUMBERS: dict[str, tuple[pa.Array, list[float]]] = {
    **{
        name: (
            pa.array([int(np.iinfo(name).min), int(np.iinfo(name).max), None, 7], getattr(pa, name)()),
            [float(np.iinfo(name).min), float(np.iinfo(name).max), NAN, 7],
        )
        for name in INTEGERS
    },
    "beyond 2^53": (pa.array([2**53 + 1, 2**62 + 1, -(2**63)]), [float(2**53 + 1), float(2**62 + 1), -(2.0**63)]),
    "float16": (pa.array(np.array([1.5, -2, 65504], np.float16)), [1.5, -2, 65504]),
    "float32": (
        pa.array([0.1, None, NAN, 1e-45], pa.float32()),
        [float(np.float32(0.1)), NAN, NAN, float(np.float32(1e-45))],
    ),
    "float64": (pa.array([5e-324, -0.0, None, 1.7976931348623157e308]), [5e-324, -0.0, NAN, 1.7976931348623157e308]),
    "small decimal": (pa.array([*DECIMALS, None], pa.decimal128(14, 2)), [*map(float, DECIMALS), NAN]),
    "large decimal": (pa.array([*DECIMALS, None], pa.decimal128(38, 9)), [*map(float, DECIMALS), NAN]),
    "larger decimal": (pa.array([*DECIMALS, None], pa.decimal256(60, 9)), [*map(float, DECIMALS), NAN]),
    "dictionary": (pa.array([5, 7, None, 5]).dictionary_encode(), [5, 7, NAN, 5]),
    "nothing": (pa.nulls(3), [NAN, NAN, NAN]),
}


@pytest.mark.parametrize("case", NUMBERS)
def test_numbers(case: str, tmp_path: Path) -> None:
    array, expected = NUMBERS[case]
    table = read(save(tmp_path, {"a": array, "b": pa.array(range(len(array)))}))
    assert table.names == ("a", "b")
    assert same_bits(table.X[:, 0], np.array(expected, dtype=np.float64))
    for start in range(len(array)):  # a part of an array is read from where it begins
        assert same_bits(
            np.asarray(numbers_of(array[start:]), dtype=np.float64), np.array(expected[start:], dtype=float)
        )


def test_many_decimals_are_correctly_rounded() -> None:
    draw = np.random.default_rng(5)
    for precision, scale in ((15, 15), (15, 3), (16, 3), (38, 20), (38, 38)):
        digits = ["".join(map(str, row)) for row in draw.integers(0, 10, (300, precision))]
        numbers = [Decimal(f"{row}e-{scale}") for row in digits]
        array = pa.array(numbers, pa.decimal128(precision, scale))
        assert numbers_of(array).tolist() == [float(number) for number in numbers]


def test_what_is_no_number_is_left_out_with_its_first_value(tmp_path: Path) -> None:
    table = read(
        save(
            tmp_path,
            {
                "n": [1.0, 2.0],
                "text": [None, "x"],
                "labels": pa.array(["u", "v"]).dictionary_encode(),
                "yes": [True, False],
                "struct": [{"x": 1, "y": {"z": 2}}, None],
                "nested": [[[1]], [[2]]],
                "words": [["a"], ["b"]],
                "map": pa.array([[("k", 1)], None], pa.map_(pa.string(), pa.int64())),
                "date": pa.array([1, 2], pa.date32()),
                "time": pa.array([1, 2], pa.timestamp("ns", "Europe/Berlin")),
                "bytes": [b"\xff", b"x"],
                "no text": pa.nulls(2, pa.string()),
                "no vector": pa.nulls(2, pa.list_(pa.float32())),
            },
        )
    )
    assert (table.names, table.rows) == (("n", "yes"), [[1, 1], [2, 0]])
    assert table.notes == [
        "left out text column 'text' (first value 'x')",
        "left out text column 'labels' (first value 'u')",
        "left out column 'struct' (first value '{'x': 1, 'y': {'z': 2}}')",
        "left out column 'nested' (first value '[[1]]')",
        "left out column 'words' (first value '['a']')",
        "left out column 'map' (first value '[('k', 1)]')",
        "left out column 'date' (first value '1970-01-02')",
        "left out column 'time' (first value '1970-01-01 01:00:00.000000001+0100')",
        "left out column 'bytes' (first value 'b'\\xff'')",
        "left out text column 'no text' (no values)",
        "left out vector column 'no vector' (no values)",
        "used boolean column 'yes' as 0 and 1; leave the column out with -x yes if it is not a feature",
    ]


def test_named_columns_must_hold_numbers(tmp_path: Path) -> None:
    file = save(tmp_path, {"t": ["x"], "v": pa.nulls(1, pa.list_(pa.float32())), "b": [True], "n": [1]})
    for name, first in (("t", "first value 'x'"), ("v", "no values")):
        with pytest.raises(DataError, match=f"column '{name}' holds no numbers \\({first}\\)"):
            read(file, columns=[name])
    with pytest.raises(DataError, match=r"column 'v' holds no vector: all its cells are missing; leave out 'v\[0\]'"):
        read(file, columns=["v[0]", "n"])
    assert read(file, columns=["b", "n"]).rows == [[1, 1]]


def test_names_with_dots(tmp_path: Path) -> None:
    file = save(tmp_path, {"a.b": [1, 2], "s": [{"b": 3}, {"b": 4}], "a": [5, 6], "a.b.c": [7, 8], "s.b": [9, 10]})
    table = read(file, keep=["s", "a.b"])
    assert (table.names, table.rows) == (("a.b", "a", "a.b.c", "s.b"), [[1, 5, 7, 9], [2, 6, 8, 10]])
    assert table.kept == [[{"b": 3}, {"b": 4}], [1, 2]]


def test_names_that_occur_twice(tmp_path: Path) -> None:
    file = save(tmp_path, pa.Table.from_arrays([pa.array([i, i + 10]) for i in range(4)], names=["a", "b", "a", "a"]))
    with pytest.raises(DataError, match=r"columns 1 and 3 are both called 'a'; .* -x 3"):
        read(file)
    assert read(file, exclude=["3,4"]).rows == [[0, 1], [10, 11]]
    assert read(file, exclude=["1", "3"]).rows == [[1, 3], [11, 13]]


def test_row_groups(tmp_path: Path) -> None:
    columns = {"a": np.arange(30_000.0), "b": np.arange(30_000) % 7, "v": [[i, -i] for i in range(30_000)]}
    expected = read(save(tmp_path, columns))
    for size in (1000, 8192, 29_999):
        table = read(save(tmp_path, columns, row_group_size=size))
        assert same_bits(table.X, expected.X)
    assert expected.rows[-1] == [29_999, 29_999 % 7, 29_999, -29_999]


def test_no_rows(tmp_path: Path) -> None:
    schema = pa.schema({"a": pa.float64(), "v": pa.list_(pa.float32(), 2), "t": pa.string()})
    with parquet.ParquetWriter(tmp_path / "none.parquet", schema):
        pass  # no row group
    save(tmp_path, schema.empty_table(), "empty.parquet")
    for name in ("none.parquet", "empty.parquet"):
        table = read(tmp_path / name)
        assert (table.names, table.X.shape) == (("a", "v[0]", "v[1]"), (0, 3))


def test_files_that_are_cut_off_or_damaged(tmp_path: Path) -> None:
    data = save(tmp_path, {"a": np.arange(5000.0), "t": ["x" * 10] * 5000}).read_bytes()
    for cut in (4, 5, 12, len(data) // 2, len(data) - 4, len(data) - 1):
        (tmp_path / "cut.parquet").write_bytes(data[:cut])
        with pytest.raises(DataError, match=r"cut.parquet: the Parquet data are damaged or cut off"):
            read(tmp_path / "cut.parquet")


def test_a_changed_byte_is_noticed_where_the_file_has_checksums(tmp_path: Path) -> None:
    """In numbers that nothing else guards."""
    options = {"use_dictionary": False, "compression": "none", "write_page_checksum": True}
    file = save(tmp_path, {"a": np.arange(5000.0)}, **options)
    data = bytearray(file.read_bytes())
    data[20_000] ^= 1
    file.write_bytes(data)
    with pytest.raises(DataError, match=r"t.parquet: the Parquet data are damaged"):
        read(file)


def test_damaged_sizes_of_columns_do_not_end_the_process() -> None:
    """Arrow ends it when Python asks for them."""
    with pytest.raises(DataError, match=r"the Parquet data are damaged or cut off"):
        read(Path(__file__).parents[2] / "data" / "damaged_sizes.parquet")


@pytest.mark.parametrize("others", [0, 1])  # of several small files each is read whole
@pytest.mark.parametrize("coded", ["number", "text", "within"])
def test_a_dictionary_without_an_entry_that_is_named(coded: str, others: int, tmp_path: Path) -> None:
    """Arrow would copy whatever stands in memory beyond it."""
    entries: dict[str, pa.Array] = {"number": pa.array([0.5, 1.5, 2.5]), "text": pa.array(["x", "y", "z"])}
    column = pa.DictionaryArray.from_arrays(
        pa.array([0, 1, 2, 0, 1, 2, 0, 1], pa.int32()), entries.get(coded, entries["text"])
    )
    if coded == "within":
        column = pa.StructArray.from_arrays([column], ["part"])
    good = save(tmp_path, {"a": np.arange(8.0), "coded": column}, compression="none")
    data = good.read_bytes()
    indices = b"\x02\x03\x24\x49"  # of two bits each, eight of them
    assert data.count(indices) == 1
    damaged = tmp_path / "damaged.parquet"
    damaged.write_bytes(data.replace(indices, b"\x02\x03\x27\x49"))
    taken: dict[str, Any] = {"columns": ("a,coded",)} if coded == "number" else {"columns": ("a",), "keep": ("coded",)}
    with pytest.raises(DataError, match=r"damaged.parquet: the Parquet data are damaged or cut off"):
        read(*[good] * others, damaged, **taken)


# What Arrow was seen to say, or may say, where it gets no more memory.
SHORT = (
    pa.lib.ArrowMemoryError("malloc of size 5000 failed"),
    MemoryError(),
    OSError("Couldn't deserialize thrift: std::bad_alloc"),
    OSError(errno.ENOMEM, "Cannot allocate memory"),
    OSError("Memory mapping file failed: Cannot allocate memory"),
    OSError("ZSTD decompression failed: Allocation error : not enough memory"),
    pa.ArrowInvalid("realloc of size 1048576 failed"),
    pa.ArrowException("Unknown error: std::bad_alloc"),
    pa.ArrowException("Unknown error: Resource temporarily unavailable"),
    pa.ArrowInvalid("posix_memalign of 64 bytes failed"),
)
DAMAGE = (
    OSError("Couldn't deserialize thrift: TProtocolException: Invalid data"),
    OSError("Unexpected end of stream: Page was smaller (5) than expected (96)"),
    OSError("Corrupt snappy compressed data."),
    pa.ArrowInvalid("Parquet magic bytes not found in footer."),
)


def failing(error: Exception) -> Callable[..., None]:
    def fail(*args: object, **more: object) -> None:
        raise error

    return fail


class Unreadable:
    """A Parquet file that opens, and its reader."""

    def __init__(self, file: Any, error: Exception) -> None:
        self._file, self._error = file, error

    @property
    def reader(self) -> Unreadable:
        return self

    def __getattr__(self, name: str) -> Any:
        return failing(self._error) if name.startswith(("iter_", "read_")) else getattr(self._file, name)


@pytest.mark.parametrize("error", SHORT, ids=str)
@pytest.mark.parametrize("where", ["opening", "reading", "reading a small one"])
def test_too_little_memory_is_not_taken_for_damage(
    where: str, error: Exception, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = [save(tmp_path, {"a": np.arange(5.0), "b": np.ones(5)}, f"{i}.parquet") for i in range(3)]
    good = parquet_file.FileWithoutNames
    model = pcatool.fit(files[0])
    if where == "opening":
        monkeypatch.setattr(parquet_file, "FileWithoutNames", failing(error))
    else:
        # A thread reads small files whole, if there are several.
        monkeypatch.setattr(
            parquet_file, "FileWithoutNames", lambda *given, **more: Unreadable(good(*given, **more), error)
        )
        files = files[:1] if where == "reading" else files
    for call in (
        lambda: pcatool.fit(files),
        lambda: pcatool.fit(files, skip_bad=True),
        lambda: pcatool.update(model, files, skip_bad=True),
        lambda: pcatool.transform(model, files, skip_bad=True),
    ):
        with pytest.raises(MemoryError):
            call()


@pytest.mark.parametrize("error", DAMAGE, ids=str)
def test_damage_is_not_taken_for_too_little_memory(
    error: Exception, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = save(tmp_path, {"a": np.arange(5.0)}, "out of memory malloc failed.parquet")
    monkeypatch.setattr(parquet_file, "FileWithoutNames", failing(error))
    with pytest.raises(DataError, match="the Parquet data are damaged or cut off"):
        read(file)
    with pytest.raises(DataError, match="damaged"):
        pcatool.fit([file], skip_bad=True)


VECTORS: dict[str, pa.DataType] = {
    "list": pa.list_(pa.float32()),
    "large list": pa.large_list(pa.float64()),
    "fixed size": pa.list_(pa.float32(), 3),
    "whole numbers": pa.list_(pa.int16()),
    "half": pa.list_(pa.float16()),
}


def test_missing_vectors_are_counted_once(tmp_path: Path) -> None:
    file = tmp_path / "v.parquet"
    rows = [[1.0, 2.0, 3.0], None, [2.0, 2.0, 5.0]]
    parquet.write_table(pa.table({"v": pa.array(rows, pa.list_(pa.float64())), "z": [1.0, None, None]}), file)
    with pytest.raises(DataError, match=r"cells: 2 in column 'z', 1 in each of 3 columns 'v\[0\]' to 'v\[2\]'; the"):
        pcatool.fit(file)


def vectors(kind: pa.DataType, rows: list[list[float | None] | None]) -> pa.Array:
    cast = np.float16 if kind.value_type == pa.float16() else float if pa.types.is_floating(kind.value_type) else int
    return pa.array([row and [None if e is None else cast(e) for e in row] for row in rows], kind)


ROWS: list[list[float | None] | None] = [None, [1, 2, 3], None, [4, None, 6], [7, 8, 9]]
EXPECTED = np.array([[NAN] * 3, [1, 2, 3], [NAN] * 3, [4, NAN, 6], [7, 8, 9]])


@pytest.mark.parametrize("case", VECTORS)
def test_vectors(case: str, tmp_path: Path) -> None:
    try:
        file = save(tmp_path, {"a": [1, 2, 3, 4, 5], "v": vectors(VECTORS[case], ROWS)})
    except pa.ArrowNotImplementedError:
        pytest.skip("this release of Arrow cannot write them")
    table = read(file)
    assert table.names == ("a", "v[0]", "v[1]", "v[2]")
    assert same_bits(table.X[:, 1:], EXPECTED)
    for columns, expected in (
        (["v"], EXPECTED),
        (["v[2]", "a", "v[0]"], np.column_stack([EXPECTED[:, 2], [1, 2, 3, 4, 5], EXPECTED[:, 0]])),
        (["v[1]", "v"], EXPECTED[:, [1, 0, 2]]),
    ):
        assert same_bits(read(file, columns=columns).X, expected)
    assert same_bits(read(file, exclude=["v[1]", "a"]).X, EXPECTED[:, [0, 2]])
    assert same_bits(read(file, names=["v[2]", "a"]).X[:, 0], EXPECTED[:, 2])
    said = (
        r"no element 'v\[3\]', because the vectors have 3 elements; count elements from 0: the last element is 'v\[2\]'"
    )
    with pytest.raises(DataError, match=said):
        read(file, columns=["v[3]"])


@pytest.mark.parametrize("case", ["list", "large list", "whole numbers", "half"])
@pytest.mark.parametrize("group", [2, 5000])
def test_an_empty_vector_is_a_missing_one(case: str, group: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(group)
    for first in ([[]], [[], None], [None, [], []], [[]] * 1500, [None] * 1500 + [[]] * 1100):
        odd: list[list[float | None] | None] = [[], None, [1, 2, 3], [None, None, None], [4, None, 6]]
        rows = [*first, *(odd[i] for i in rng.integers(0, len(odd), 12)), [7, 8, 9]]
        try:
            file = save(tmp_path, {"v": vectors(VECTORS[case], rows)}, row_group_size=group)
        except pa.ArrowNotImplementedError:
            pytest.skip("this release of Arrow cannot write them")
        table = read(file)
        assert table.names == ("v[0]", "v[1]", "v[2]")
        expected = [[NAN] * 3 if not row else [NAN if e is None else e for e in row] for row in rows]
        assert same_bits(np.ascontiguousarray(table.X), np.array(expected, dtype=np.float64))


@pytest.mark.parametrize(
    "column",
    [
        pa.array([[], []], pa.list_(pa.float64())),
        pa.array([[], None], pa.large_list(pa.int8())),
        pa.array([[], []], pa.list_(pa.null())),
        pa.array([None, None], pa.list_(pa.float32(), 3)).cast(pa.list_(pa.float32())),
    ],
    ids=["list", "large list", "of nulls", "missing"],
)
def test_a_column_of_empty_vectors_has_no_value(column: pa.Array, tmp_path: Path) -> None:
    try:
        file = save(tmp_path, {"a": [1.0, 2.0], "v": column})
    except pa.ArrowNotImplementedError:
        pytest.skip("this release of Arrow cannot write them")
    table = read(file)
    assert (table.names, table.notes) == (("a",), ["left out vector column 'v' (no values)"])
    with pytest.raises(DataError, match=r"column 'v' holds no numbers \(no values\)"):
        read(file, columns=["v"])


def test_a_file_of_empty_vectors_among_others(tmp_path: Path) -> None:
    kind = pa.list_(pa.float64())
    tables = [[[], []], [[1.0, 2.0], []], [[], None], [[3.0, 5.0], [4.0, 1.0]]]
    files = [save(tmp_path, {"v": pa.array(rows, kind)}, f"{i}.parquet") for i, rows in enumerate(tables)]
    with pytest.warns(pcatool.PcatoolWarning, match="dropped 5 of 8 rows"):
        model = pcatool.fit(files, missing="drop", components=1)
    assert model.columns == ("v[0]", "v[1]")
    assert model.n_samples == 3
    with pytest.warns(pcatool.PcatoolWarning, match="dropped 2 of 5 rows"):
        frame = pd.DataFrame({"v": [[], None, [1.0, 2.0], np.array([3.0, 5.0]), (4.0, 1.0)]})
        assert pcatool.fit(frame, missing="drop", components=1) == model


@pytest.mark.parametrize("case", VECTORS)
def test_parts_of_arrays_of_vectors(case: str) -> None:
    array = vectors(VECTORS[case], ROWS)
    features = tuple(Feature(f"v[{e}]", 0, e) for e in (2, 0))
    for start in range(5):
        for stop in range(start, 6):
            X = features_to_block(
                {0: array[start:stop]}, len(array[start:stop]), features, [Column("v", "vector", width=3)]
            )
            assert same_bits(np.ascontiguousarray(X), EXPECTED[start:stop, [2, 0]])


@pytest.mark.parametrize("case", ["list", "large list"])
def test_vectors_of_another_length_are_named_by_row(case: str, tmp_path: Path) -> None:
    rows: list[list[float | None] | None] = [[1, 2], None, [3, 4], [5]]
    with pytest.raises(
        DataError, match=r"t.parquet, row 4, column 'v': the vector has length 1, but the first vector has length 2"
    ):
        read(save(tmp_path, {"v": vectors(VECTORS[case], rows)}))
    many = [[1.0, 2.0]] * 20_000 + [[1.0, 2.0, 3.0]]
    with pytest.raises(
        DataError, match="row 20001, column 'v': the vector has length 3, but the first vector has length 2"
    ):
        read(save(tmp_path, {"v": many}, row_group_size=7000))
    with pytest.raises(VectorLength):
        features_to_block(
            {0: vectors(VECTORS[case], rows)[2:]}, 2, (Feature("v[0]", 0, 0),), [Column("v", "vector", width=2)]
        )


def test_an_infinite_cell_is_named_by_row(tmp_path: Path) -> None:
    column = np.zeros(20_000)
    column[12_345] = -np.inf
    with pytest.raises(DataError, match=r"t.parquet, row 12346, column 'b': '-inf' is not finite"):
        read(save(tmp_path, {"a": np.ones(20_000), "b": column}))


def test_large_numbers_are_not_taken_for_infinite(tmp_path: Path) -> None:
    assert read(save(tmp_path, {"a": [1.7e308, 1.7e308]})).rows == [[1.7e308], [1.7e308]]


def test_kept_columns_keep_their_types(tmp_path: Path) -> None:
    file = save(tmp_path, {"id": [2**60 + 1, 7], "t": ["x", None], "a": [1.0, 2.0], "v": [[1.0], None]})
    table = read(file, columns=["a", "id"], keep=["t", "id", "v", "a"])
    assert table.kept == [["x", None], [2**60 + 1, 7], [[1.0], None], [1.0, 2.0]]


def test_reading_does_not_bring_in_pandas(tmp_path: Path) -> None:
    file = save(
        tmp_path,
        {
            "n": [1, 2], "d": pa.array([1, 2], pa.decimal128(30, 5)), "v": pa.array([[1.0], None]), "t": ["x", "y"],
            "c": pa.array([1, None]).dictionary_encode(), "w": pa.array([1, 2], pa.timestamp("ns")), "b": [True, None],
        },
    )  # fmt: skip
    program = f"import sys\nfrom readers.reading import read\nread({str(file)!r})\nsys.exit('pandas' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], env={**kernels(), "PYTHONPATH": ":".join(p for p in sys.path if p)}
    )
    assert done.returncode == 0


def test_a_further_reader_changes_nothing_of_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "t.parquet"
    parquet.write_table(pa.table({"a": [1.0, 2.0]}), path)
    monkeypatch.setattr(OpenedInput, "remote", True)
    data = ParquetData(OpenedInput(Input(str(path)), None, "utf-8"))
    before = dict(vars(data))
    monkeypatch.setattr(OpenedInput, "remote", False)  # as after a compressed object was copied
    assert data.open_again(data.metadata).read().equals(pa.table({"a": [1.0, 2.0]}))
    assert vars(data) == before

"""CSV and TSV that read back to what was written, bit for bit."""

from __future__ import annotations

import csv
import io
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pcatool.errors import DataError
from pcatool.writers.csv_writer import CsvWriter, TsvWriter
from pcatool.writers.sink import open_sink

NOTHING: dict[str, pa.Array] = {}


def table(
    kept: dict[str, pa.Array],
    values: Any,
    names: Sequence[str] | None = None,
    *,
    kind: type[CsvWriter] = CsvWriter,
    cuts: Sequence[int] = (),
    **options: Any,
) -> str:
    """What a writer makes of a table that comes in blocks, through a real pipe file."""
    values = np.asarray(values, dtype=np.float64)
    values = values[:, None] if values.ndim == 1 else values
    names = [f"PC{j + 1}" for j in range(values.shape[1])] if names is None else names
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb") as out, ThreadPoolExecutor(1) as pool:
        text = pool.submit(out.read)
        with open_sink(f"/dev/fd/{writing}", no_clobber=False) as sink:
            os.close(writing)
            writer = kind(sink, [(name, array.type) for name, array in kept.items()], names, **options)
            for start, stop in zip((0, *cuts), (*cuts, len(values)), strict=True):
                writer.write([array[start:stop] for array in kept.values()], values[start:stop])
            writer.close()
        return text.result(timeout=60).decode()


def kept_cells(array: pa.Array) -> list[str]:
    """The lines of a kept column beside a number, the number taken off again."""
    lines = table({"kept": array}, np.zeros(len(array)), header=False).splitlines()
    assert all(line.endswith(",0") for line in lines)
    return [line[:-2] for line in lines]


def random_bits(n: int, seed: int = 0) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Finite numbers with all bit patterns alike likely, and every kind of edge."""
    bits = np.random.default_rng(seed).integers(0, 2**64, size=n, dtype=np.uint64)
    bits[: n // 4] &= np.uint64(0x800F_FFFF_FFFF_FFFF)  # subnormal
    numbers = bits.view(np.float64)
    numbers = np.where(np.isfinite(numbers), numbers, 1.0)
    edges = [0.0, -0.0, 5e-324, -5e-324, 2.2250738585072014e-308, 1e308, np.finfo(float).max, 0.1, 1 / 3, 1e15, 1e16]
    numbers[: len(edges)] = edges
    numbers[len(edges) : len(edges) + 1000] = np.arange(1000)
    numbers[-1000:] = np.random.default_rng(seed).normal(size=1000)
    return numbers


# --- numbers ---


@pytest.mark.parametrize("columns", [1, 2, 8])
@pytest.mark.parametrize("with_text", [False, True])
def test_numbers_read_back_bit_for_bit(columns: int, with_text: bool) -> None:
    values = random_bits(40_000).reshape(-1, columns)
    kept = {"id": pa.array(["x"] * len(values))} if with_text else NOTHING
    rows = list(csv.reader(io.StringIO(table(kept, values, header=False))))
    back = np.array([[float(cell) for cell in row[len(kept) :]] for row in rows])
    np.testing.assert_array_equal(back.view(np.uint64), values.view(np.uint64))


def digits(cell: str) -> str:
    """The significant digits of a number."""
    mantissa = cell.lower().partition("e")[0].lstrip("-")
    return mantissa.replace(".", "").lstrip("0").rstrip("0")


def test_numbers_have_as_few_digits_as_they_can() -> None:
    values = random_bits(20_000, seed=1)
    cells = table(NOTHING, values, header=False).splitlines()
    assert [digits(cell) for cell in cells] == [digits(repr(value)) for value in values.tolist()]


def test_numbers_read_back_by_arrow() -> None:
    values = random_bits(20_000, seed=2).reshape(-1, 2)
    text = table(NOTHING, values).encode()
    convert = pa.csv.ConvertOptions(column_types={"PC1": pa.float64(), "PC2": pa.float64()})
    back = pa.csv.read_csv(io.BytesIO(text), convert_options=convert)
    for j, column in enumerate(back.columns):
        np.testing.assert_array_equal(column.to_numpy().view(np.uint64), values[:, j].copy().view(np.uint64))


def test_a_small_table() -> None:
    assert table({"id": pa.array(["a", "b"])}, [[1.5, -2], [np.nan, 1e300]]) == ("id,PC1,PC2\na,1.5,-2\nb,,1e+300\n")
    assert table(NOTHING, [[1.5, -2], [np.nan, 1e300]], kind=TsvWriter) == "PC1\tPC2\n1.5\t-2\n\t1e+300\n"


def test_infinities_are_written() -> None:
    assert table(NOTHING, [[np.inf, -np.inf]], header=False) == "inf,-inf\n"


def test_memory_order_and_cuts_change_no_byte() -> None:
    values = random_bits(30_000).reshape(-1, 3)
    values[::7, 1] = np.nan
    kept = {"id": pa.array([f'{i}"' if i % 5 else None for i in range(len(values))])}
    wide = np.zeros((len(values), 6))
    wide[:, ::2] = values
    for columns in (NOTHING, kept):
        expected = table(columns, values)
        assert table(columns, np.asfortranarray(values)) == expected
        assert table(columns, wide[:, ::2]) == expected
        assert table(columns, values, cuts=[1, 1, 2, 4096, 4097, 9000]) == expected


def test_the_callers_arrays_are_left_alone() -> None:
    values = np.array([[1.0, np.nan], [3.0, 4.0]])
    values.setflags(write=False)
    assert table(NOTHING, values, header=False) == "1,\n3,4\n"
    assert table(NOTHING, values, header=False, float_format="%.1f") == "1.0,\n3.0,4.0\n"


def test_blocks_can_be_formatted_by_threads() -> None:
    values = random_bits(40_000).reshape(-1, 4)
    kept = pa.array([f"row {i}," for i in range(len(values))])
    writer = CsvWriter(open_sink("/dev/null", no_clobber=False), [("id", pa.string())], ["a", "b", "c", "d"])
    blocks = [slice(start, start + 500) for start in range(0, len(values), 500)]
    with ThreadPoolExecutor(4) as pool:
        formatted = list(pool.map(lambda rows: bytes(writer.format([kept[rows]], values[rows])), blocks))
    assert b"".join(formatted).decode() == table({"id": kept}, values, header=False)


# --- missing cells and empty rows ---


@pytest.mark.parametrize("options", [{}, {"float_format": "%8.3f"}])
def test_one_column_of_holes_keeps_its_rows(options: dict[str, Any]) -> None:
    text = table(NOTHING, [np.nan, 1, np.nan, np.nan], **options)
    number = "   1.000" if options else "1"
    assert text == f'PC1\n""\n{number}\n""\n""\n'
    assert len(list(csv.DictReader(io.StringIO(text)))) == 4
    back = pa.csv.read_csv(
        io.BytesIO(text.encode()), convert_options=pa.csv.ConvertOptions(quoted_strings_can_be_null=True)
    )
    assert back.column(0).to_pylist() == [None, 1.0, None, None]


def test_one_kept_column_of_holes_keeps_its_rows() -> None:
    text = table({"id": pa.array([None, "a", ""])}, np.empty((3, 0)))
    assert text == 'id\n""\na\n""\n'


def test_several_columns_of_holes() -> None:
    assert table(NOTHING, [[np.nan, np.nan]], header=False) == ",\n"
    assert table({"a": pa.nulls(1)}, [np.nan], header=False) == ",\n"


def test_empty_text_and_missing_are_both_empty() -> None:
    """As in the tables that cells are passed through from."""
    assert kept_cells(pa.array(["", None, "a"])) == ["", "", "a"]


def test_no_rows() -> None:
    assert table(NOTHING, np.empty((0, 2))) == "PC1,PC2\n"
    assert table({"id": pa.array([], pa.string())}, np.empty((0, 1))) == "id,PC1\n"
    assert table(NOTHING, np.empty((0, 2)), header=False) == ""


# --- quotes ---


@pytest.mark.parametrize(
    ("text", "cell"),
    [
        ("plain", "plain"),
        ("two words", "two words"),
        ("it's", "it's"),
        ("a;b|c#d", "a;b|c#d"),
        ("a\tb", "a\tb"),
        ("a,b", '"a,b"'),
        ('say "x"', '"say ""x"""'),
        ('"', '""""'),
        (" a", '" a"'),
        ("a ", '"a "'),
        ("\ta", '"\ta"'),
        (" ", '" "'),
        ("Zoë 花", "Zoë 花"),
        ("NA", "NA"),
        ("-0.10", "-0.10"),
    ],
)
def test_quotes_only_where_needed(text: str, cell: str) -> None:
    assert kept_cells(pa.array([text])) == [cell]
    assert table(NOTHING, np.empty((0, 2)), ["x", text]) == f"x,{cell}\n"


@pytest.mark.parametrize(("text", "cell"), [("a,b", "a,b"), ("a\tb", '"a\tb"'), ('"', '""""')])
def test_quotes_in_tsv(text: str, cell: str) -> None:
    assert table({text: pa.array([text])}, [1.0], kind=TsvWriter) == f"{cell}\tPC1\n{cell}\t1\n"


# Arrow's reader and Python's take any text but NUL and lone surrogates.
TEXTS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=6) | st.sampled_from(
    ["\n", "\r", "\r\n", '"', '""', ",", "\t", " ", "", "a\n", "\ufeff"]
)


@settings(deadline=None)  # files are written, and disks may be slow
@given(st.lists(st.tuples(TEXTS, st.none() | TEXTS), min_size=1, max_size=8), st.sampled_from([CsvWriter, TsvWriter]))
def test_any_text_reads_back(rows: list[tuple[str, str | None]], kind: type[CsvWriter]) -> None:
    first, second = (pa.array(column, pa.string()) for column in zip(*rows, strict=True))
    text = table({"first": first, "second": second}, np.arange(len(rows)), kind=kind, header=False)
    back = list(csv.reader(io.StringIO(text, newline=""), delimiter=kind.delimiter, strict=True))
    assert back == [[a, b or "", str(i)] for i, (a, b) in enumerate(rows)]
    convert = pa.csv.ConvertOptions(
        column_types={"f0": pa.string(), "f1": pa.string()}, strings_can_be_null=True, quoted_strings_can_be_null=False,
        null_values=[""],
    )  # fmt: skip
    parse = pa.csv.ParseOptions(delimiter=kind.delimiter, newlines_in_values=True)
    read = pa.csv.ReadOptions(column_names=["f0", "f1", "f2"])
    if not text.startswith("\ufeff"):  # taken for a byte order mark
        arrow = pa.csv.read_csv(io.BytesIO(text.encode()), read, parse, convert)
        found = zip(arrow["f0"].to_pylist(), arrow["f1"].to_pylist(), strict=True)
        assert [(a or "", b or "") for a, b in found] == [(a, b or "") for a, b in rows]


@settings(deadline=None)  # files are written, and disks may be slow
@given(st.lists(TEXTS, min_size=1, max_size=4, unique=True))
def test_any_header_reads_back(names: list[str]) -> None:
    text = table(NOTHING, np.ones((1, len(names))), names)
    assert list(csv.reader(io.StringIO(text, newline=""), strict=True)) == [names, ["1"] * len(names)]


# --- columns passed through ---

BERLIN = pa.timestamp("s", "Europe/Berlin")
KEPT: list[tuple[pa.Array, list[str]]] = [
    (pa.array([1, None, -(2**63)]), ["1", "", "-9223372036854775808"]),
    (pa.array([2**64 - 1], pa.uint64()), ["18446744073709551615"]),
    (pa.array([True, None, False]), ["true", "", "false"]),
    (pa.array([0.1, None, float("nan"), float("inf"), -0.0]), ["0.1", "", "", "inf", "-0"]),
    (pa.array([0.1, None, float("nan")], pa.float32()), ["0.1", "", ""]),
    (pa.array([np.float16(0.5), None], pa.float16()), ["0.5", ""]),
    (pa.array([Decimal("1.10"), None]), ["1.10", ""]),
    (pa.array([date(2024, 2, 29), None]), ["2024-02-29", ""]),
    (pa.array([datetime(2024, 2, 29, 12, 30, 1)], pa.timestamp("s")), ["2024-02-29 12:30:01"]),
    (pa.array([datetime(2024, 2, 29, 12, 30, 1, 5)], pa.timestamp("us")), ["2024-02-29 12:30:01.000005"]),
    (pa.array([datetime(2024, 7, 1, tzinfo=UTC), None], pa.timestamp("s", "UTC")), ["2024-07-01 00:00:00Z", ""]),
    (pa.array([datetime(2024, 7, 1, tzinfo=UTC)], BERLIN), ["2024-07-01 02:00:00+0200"]),
    (pa.array([0, None], pa.timestamp("s", "Mars/Phobos")), ["1970-01-01 00:00:00Z", ""]),
    (pa.array([time(1, 2, 3)], pa.time32("s")), ["01:02:03"]),
    (pa.array([timedelta(seconds=5)], pa.duration("ms")), ["5000"]),
    (pa.nulls(2), ["", ""]),
    (pa.array(["a,b", None, ""], pa.large_string()), ['"a,b"', "", ""]),
    (pa.array(["a", None, "a"]).dictionary_encode(), ["a", "", "a"]),
    (pa.array([1.5, None]).dictionary_encode(), ["1.5", ""]),
    (pc.run_end_encode(pa.array(["a", "a", None])), ["a", "a", ""]),
    (pa.array([b"text", "Zoë".encode(), None], pa.binary()), ["text", "Zoë", ""]),
    (pa.array([b"\xff\x00a", None, "Zoë".encode()], pa.binary()), ["\\xff\0a", "", "Zoë"]),
    (pa.array([b"\xff\xfe"], pa.binary(2)), ["\\xff\\xfe"]),
    (pa.array([[1.0, 2.5], None, [], [None, float("nan")]]), ['"[1,2.5]"', "", "[]", '"[null,null]"']),
    (pa.array([[1, 2], None], pa.list_(pa.float32(), 2)), ['"[1,2]"', ""]),
    (pa.array([["a"]]), ['"[""a""]"']),
    (pa.array([{"a": 1, "b": "x"}, None]), ['"{""a"":1,""b"":""x""}"', ""]),
]


@pytest.mark.parametrize(("array", "cells"), KEPT, ids=[str(array.type) for array, _ in KEPT])
def test_kept_columns_of_any_type(array: pa.Array, cells: list[str]) -> None:
    assert kept_cells(array) == cells
    # A slice of a longer column holds only its own rows.
    assert kept_cells(pa.concat_arrays([array, array, array])[len(array) : 2 * len(array)]) == cells
    assert kept_cells(array[1:]) == cells[1:]


@pytest.mark.skipif(int(pa.__version__.partition(".")[0]) < 20, reason="Arrow could not yet read its own views")
def test_view_types() -> None:
    assert kept_cells(pa.array(["a,b", None], pa.string_view())) == ['"a,b"', ""]
    assert kept_cells(pa.array([[1], None, [2, 3]], pa.list_view(pa.int8()))) == ["[1]", "", '"[2,3]"']


@pytest.mark.skipif(not hasattr(pa, "uuid"), reason="Arrow had no such type yet")
def test_uuids() -> None:
    known = [UUID(int=1), None, UUID("123e4567-e89b-12d3-a456-426614174000")]
    array = pa.array([u and u.bytes for u in known], pa.binary(16)).cast(pa.uuid())
    assert kept_cells(array) == [str(u or "") for u in known]
    assert kept_cells(array[1:]) == [str(u or "") for u in known[1:]]


def test_text_columns_are_passed_through_verbatim() -> None:
    cells = ["007", "1e5", "1,000", "TRUE", "2024-1-1", "0.10", "+5", "N/A"]
    assert [row[0] for row in csv.reader(kept_cells(pa.array(cells)))] == cells


def test_a_type_without_text_is_refused() -> None:
    interval = pa.array([(1, 2, 3)], pa.month_day_nano_interval())
    union = pa.UnionArray.from_sparse(pa.array([0], pa.int8()), [pa.array([1])])
    for cells in (interval, union, pa.StructArray.from_arrays([union], ["u"])):
        with pytest.raises(DataError) as caught:
            kept_cells(cells)
        assert re.fullmatch(
            r"column '\w+' has the type (month_day_nano_interval|.*sparse_union.*), which pcatool cannot write to CSV, "
            r"TSV or JSON Lines; convert the column before the run, for example to text, or do not copy it: give "
            r"--keep with other columns only",
            str(caught.value),
        )


# --- float format ---


@pytest.mark.parametrize("float_format", ["%.6g", "%.3f", "%10.2e", "%-8.1f", "%+.2f", "% .2f", "%08.3f", "%.0f", "%G"])
@pytest.mark.parametrize("columns", [2, 3])
def test_float_format_is_that_of_printf(float_format: str, columns: int) -> None:
    values = random_bits(12_000)[6000:].reshape(-1, columns)
    values[::5, 1] = np.nan
    expected = [",".join("" if v != v else float_format % v for v in row) + "\n" for row in values.tolist()]
    assert table(NOTHING, values, header=False, float_format=float_format) == "".join(expected)
    kept = pa.array([0.12345678] * len(values))
    with_kept = table({"x": kept}, values, header=False, float_format=float_format)
    assert with_kept == "".join(f"0.12345678,{line}" for line in expected)


# --- on the way ---


def test_rows_arrive_with_each_write() -> None:
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb", buffering=0) as out, open_sink(f"/dev/fd/{writing}", no_clobber=False) as sink:
        os.close(writing)
        writer = CsvWriter(sink, [], ["PC1", "PC2"])
        writer.write([], np.array([[1.0, 2.0]]))
        assert out.read(100) == b"PC1,PC2\n1,2\n"
        writer.write([], np.array([[3.0, 4.0]]))
        assert out.read(100) == b"3,4\n"
        writer.close()


def test_nothing_is_written_before_the_first_rows(tmp_path: Path) -> None:
    """A run that fails on its first rows must not leave a header behind on a pipe."""
    with (tmp_path / "out").open("wb") as out, open_sink(f"/dev/fd/{out.fileno()}", no_clobber=False) as sink:
        writer = CsvWriter(sink, [], ["PC1"])
        assert (tmp_path / "out").read_bytes() == b""
        writer.close()
    assert (tmp_path / "out").read_bytes() == b"PC1\n"


PROGRAM = """
import sys
import numpy as np
import pyarrow as pa
from pcatool.options import OutputOptions
from pcatool.writers.base import open_writer
from pcatool.writers.sink import open_sink

options = OutputOptions(output_format=sys.argv[1], float_format=sys.argv[2] or None)
offsets = pa.py_buffer(np.array([0, 1, 3], dtype=np.int32))
text = pa.Array.from_buffers(pa.string(), 2, [None, offsets, pa.py_buffer(b'a"b')])
kept = [text] if sys.argv[3] else []
with open_sink("/dev/null", no_clobber=False) as sink:
    writer = open_writer(options, sink, [("id", pa.string())] * len(kept), ["PC1", "PC2"])
    writer.write(kept, np.array([[1.0, 2.0], [np.nan, 3.0]]))
    writer.close()
print([name for name in ("pandas", "pyarrow.compute") if name in sys.modules])
"""


def loaded(name: str, float_format: str, kept: str) -> str:
    command = [sys.executable, "-c", PROGRAM, name, float_format, kept]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout.strip()


@pytest.mark.parametrize(
    ("name", "float_format"),
    [("csv", ""), ("csv", "%.3f"), ("tsv", ""), ("jsonl", ""), ("jsonl", "%.3f"), ("parquet", "")],
)
@pytest.mark.parametrize("kept", ["", "kept"])
def test_pandas_is_not_loaded(name: str, float_format: str, kept: str) -> None:
    assert "'pandas'" not in loaded(name, float_format, kept)


def test_plain_numbers_load_no_compute_functions() -> None:
    """They take as long to load as the rest of Arrow, half of a short run's writing."""
    assert loaded("csv", "", "") == "[]"

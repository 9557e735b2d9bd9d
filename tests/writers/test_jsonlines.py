"""JSON lines that any JSON reader takes, with the same numbers and the same text."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pcatool.errors import UsageError
from pcatool.writers.jsonlines import JsonLinesWriter
from pcatool.writers.sink import open_sink

NOTHING: dict[str, pa.Array] = {}


def lines(kept: dict[str, pa.Array], values: Any, *, cuts: Sequence[int] = (), **options: Any) -> str:
    values = np.asarray(values, dtype=np.float64)
    values = values[:, None] if values.ndim == 1 else values
    with TemporaryDirectory() as folder:
        path = Path(folder) / "x.jsonl"
        with open_sink(str(path), no_clobber=False) as sink:
            names = [f"PC{j + 1}" for j in range(values.shape[1])]
            writer = JsonLinesWriter(sink, [(name, array.type) for name, array in kept.items()], names, **options)
            for start, stop in zip((0, *cuts), (*cuts, len(values)), strict=True):
                writer.write([array[start:stop] for array in kept.values()], values[start:stop])
            writer.close()
        return path.read_bytes().decode()


def objects(text: str) -> list[dict[str, Any]]:
    """Every line by itself, by a reader that refuses the words JSON does not have."""

    def refuse(word: str) -> None:
        raise AssertionError(f"{word} is no JSON")

    assert text == "" or text.endswith("\n")
    return [json.loads(line, parse_constant=refuse) for line in text.split("\n")[:-1]]


def kept_values(array: pa.Array) -> list[Any]:
    return [row["kept"] for row in objects(lines({"kept": array}, np.zeros(len(array))))]


def test_a_small_table() -> None:
    text = lines({"id": pa.array(["a", None])}, [[1.5, -2], [np.nan, 1e300]])
    assert text == '{"id":"a","PC1":1.5,"PC2":-2}\n{"id":null,"PC1":null,"PC2":1e+300}\n'


def test_numbers_read_back_bit_for_bit() -> None:
    bits = np.random.default_rng(0).integers(0, 2**64, size=30_000, dtype=np.uint64)
    values = bits.view(np.float64)
    values = np.where(np.isfinite(values), values, 5e-324).reshape(-1, 3)
    values[0] = [-0.0, 0.0, 1e16]
    rows = objects(lines(NOTHING, values))
    back = np.array([[float(row[name]) for name in ("PC1", "PC2", "PC3")] for row in rows])
    # JSON readers give -0 as the whole number 0.
    assert lines(NOTHING, values).startswith('{"PC1":-0,')
    np.testing.assert_array_equal(back[1:].view(np.uint64), values[1:].view(np.uint64))


def test_no_word_for_what_is_not_finite() -> None:
    kept = {"x": pa.array([float("inf"), float("nan"), None, 1.0])}
    rows = objects(lines(kept, [np.nan, np.inf, -np.inf, 2.0]))
    assert [list(row.values()) for row in rows] == [[None, None]] * 3 + [[1, 2]]


def test_cuts_change_no_byte() -> None:
    values = np.random.default_rng(0).normal(size=(9000, 2))
    kept = {"id": pa.array([f"\n{i}" for i in range(len(values))])}
    assert lines(kept, np.asfortranarray(values), cuts=[0, 1, 4096, 5000]) == lines(kept, values)


def test_no_rows() -> None:
    assert lines({"id": pa.array([], pa.string())}, np.empty((0, 2))) == ""


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8) | st.sampled_from(
    ["\\", '"', "\\n", "\x7f", "\0"]
)


@settings(deadline=None)  # files are written, and disks may be slow
@given(st.lists(st.none() | TEXTS, min_size=1, max_size=8), TEXTS)
def test_any_text_reads_back(cells: list[str | None], name: str) -> None:
    name = f"x{name}"
    rows = objects(lines({name: pa.array(cells, pa.string())}, np.zeros(len(cells))))
    assert rows == [{name: cell, "PC1": 0} for cell in cells]


KEPT: list[tuple[pa.Array, list[Any]]] = [
    (pa.array([1, None, -(2**63)]), [1, None, -(2**63)]),
    (pa.array([2**64 - 1], pa.uint64()), [2**64 - 1]),
    (pa.array([True, None, False]), [True, None, False]),
    (pa.array([0.1, None], pa.float32()), [0.1, None]),
    (pa.array([np.float16(0.5), np.float16("inf")], pa.float16()), [0.5, None]),
    (pa.array([Decimal("1.10"), None]), ["1.10", None]),
    (pa.array([date(2024, 2, 29), None]), ["2024-02-29", None]),
    (pa.array([datetime(2024, 7, 1, tzinfo=UTC)], pa.timestamp("s", "UTC")), ["2024-07-01 00:00:00Z"]),
    (pa.nulls(2), [None, None]),
    (pa.array(["a", None, "a"]).dictionary_encode(), ["a", None, "a"]),
    (pa.array([7, None]).dictionary_encode(), [7, None]),
    (pa.array([b"text", b"\xff", None]), ["text", "\\xff", None]),
    (pa.array([[1.0, None], None, [], [float("inf")]]), [[1, None], None, [], [None]]),
    (pa.array([[1, 2], None], pa.list_(pa.float32(), 2)), [[1, 2], None]),
    (pa.array([["a", 'b"'], [None]], pa.large_list(pa.string())), [["a", 'b"'], [None]]),
    (pa.array([[[1], []], None, [None]]), [[[1], []], None, [None]]),
    (
        pa.array([{"a": 1, "b": ["x"]}, None, {"a": None, "b": None}]),
        [{"a": 1, "b": ["x"]}, None, {"a": None, "b": None}],
    ),
    (pa.array([{}, None], pa.struct([])), [{}, None]),
    (pa.array([[{"a": 1}], []]), [[{"a": 1}], []]),
    (pa.array([[("k", 1), ('"', None)], None, []], pa.map_(pa.string(), pa.int8())), [{"k": 1, '"': None}, None, {}]),
    (pa.array([[(1, "x")]], pa.map_(pa.int8(), pa.string())), [{"1": "x"}]),
]


@pytest.mark.parametrize(("array", "expected"), KEPT, ids=[str(array.type) for array, _ in KEPT])
def test_kept_columns_of_any_type(array: pa.Array, expected: list[Any]) -> None:
    assert kept_values(array) == expected
    assert kept_values(array[1:]) == expected[1:]
    assert kept_values(pa.concat_arrays([array, array])[1:]) == (expected * 2)[1:]


@pytest.mark.parametrize("float_format", ["%.6g", "%.3f", "%10.2e", "%-8.1f", "% .2f", "%.0f"])
def test_float_format(float_format: str) -> None:
    values = np.random.default_rng(0).normal(size=100)
    values[3] = np.nan
    rows = objects(lines({"x": pa.array(values)}, values, float_format=float_format))
    assert [row["PC1"] for row in rows] == [None if v != v else float(float_format % v) for v in values.tolist()]
    assert [row["x"] for row in rows] == [None if v != v else v for v in values.tolist()]


@pytest.mark.parametrize("float_format", ["%+.2f", "%08.3f", "%#.0f"])
def test_float_format_that_is_no_json(float_format: str) -> None:
    with pytest.raises(UsageError, match="which is not a JSON number; leave the flags"):
        lines(NOTHING, [1.0], float_format=float_format)

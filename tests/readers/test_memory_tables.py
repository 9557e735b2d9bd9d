"""Arrays, DataFrames and Arrow tables as inputs; none of them is changed."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from pcatool.arrays import Array
from pcatool.errors import DataError, UsageError
from pcatool.options import SelectOptions, TableOptions
from pcatool.progress import Reporter
from pcatool.readers.base import Feature
from pcatool.readers.inputs import Inputs
from pcatool.readers.memory_tables import ArrayPart, ArrayTable, ArrowTable, in_memory
from pcatool.readers.row_counts import RowCounts
from pcatool.readers.rows import checked_batches
from readers.reading import same_bits

NAN = math.nan


def read(data: Any, columns: tuple[str, ...] = ()) -> tuple[tuple[str, ...], Array]:
    inputs = Inputs(data, TableOptions(), Reporter())
    wanted = inputs.columns.choose(SelectOptions(columns))
    batches = [batch.X for batch in checked_batches(inputs, wanted, RowCounts(), eager=False)]
    return wanted.names, np.concatenate([np.empty((0, len(wanted.names))), *batches])


ARRAYS = {
    "float64": np.arange(12.0).reshape(4, 3),
    "column by column": np.asfortranarray(np.arange(12.0).reshape(4, 3)),
    "every other": np.arange(48.0).reshape(8, 6)[::2, ::2],
    "backwards": np.arange(12.0).reshape(4, 3)[::-1, ::-1],
    "float32": np.arange(12, dtype=np.float32).reshape(4, 3) / 3,
    "long": np.arange(12, dtype=np.longdouble).reshape(4, 3),
    "other byte order": np.arange(12.0).reshape(4, 3).astype(">f8"),
    "whole": np.arange(12, dtype=np.uint8).reshape(4, 3),
    "bool": np.arange(12).reshape(4, 3) % 2 == 0,
    "object": np.array([[1, 2.5, None], [Decimal("0.1"), True, 3]], dtype=object),
    "list": [[1, 2], [3, 4]],
    "holes": np.array([[1, NAN], [NAN, 2]]),
    "many": np.random.default_rng(1).standard_normal((20_000, 3)),
    "no rows": np.empty((0, 3)),
}


@pytest.mark.parametrize("case", ARRAYS)
def test_arrays(case: str) -> None:
    data = ARRAYS[case]
    array = np.asarray(data)
    before = array.copy()
    if isinstance(data, np.ndarray):
        data.flags.writeable = False
    expected = np.array([[NAN if cell is None else float(cell) for cell in row] for row in array.tolist()])
    names, X = read(data)
    assert names == tuple(f"c{i + 1}" for i in range(array.shape[1]))
    assert same_bits(X, expected.reshape(array.shape))
    assert read(data, ("c2",))[1].tolist() == X[:, 1:2].tolist() or np.isnan(X).any()
    assert np.array_equal(array.astype(float), before.astype(float), equal_nan=True)


def test_a_masked_cell_is_missing() -> None:
    array = np.ma.masked_array([[1, 2], [3, 4]], mask=[[False, True], [False, False]])
    assert same_bits(read(array)[1], np.array([[1, NAN], [3, 4]]))


NO_ARRAYS: dict[str, tuple[Any, type[Exception], str]] = {
    "text": (np.array([["1", "2"]]), DataError, "does not hold numbers"),
    "words": ([["x", "y"]], DataError, "does not hold numbers: it holds text; convert the array with astype"),
    "complex": (np.array([[1 + 2j]]), DataError, "does not hold numbers"),
    "dates": (np.array([["2024-01-01"]], dtype="M8[D]"), DataError, "does not hold numbers"),
    "one dimension": (
        np.arange(3),
        UsageError,
        "the array is 1-dimensional, not 2-dimensional; give an array of rows and columns",
    ),
    "three dimensions": (np.zeros((1, 2, 3)), UsageError, "the array is 3-dimensional"),
    "ragged": ([[1, 2], [3]], DataError, "the rows of the data differ in length, or a cell holds a list; give rows of"),
    "no columns": (np.zeros((3, 0)), DataError, "has no columns"),
    "nothing": (None, UsageError, "data of type NoneType are not a table; give a DataFrame, an Arrow table or"),
    "one number": (np.array(3), UsageError, "the array is 0-dimensional"),
    "one column of Arrow": (
        pa.array([1, 2, 3]),
        UsageError,
        "data of type Int64Array are a single column, not a table; give a DataFrame, an Arrow table or",
    ),
}


@pytest.mark.parametrize("case", NO_ARRAYS)
def test_what_is_no_array(case: str) -> None:
    data, error, message = NO_ARRAYS[case]
    with pytest.raises(error, match=message):
        read(data)


def test_infinite_cells_of_an_array() -> None:
    with pytest.raises(DataError, match="the array, row 2, column 'c1': 'inf' is not finite"):
        read([[1, 2], [math.inf, 3]])


FRAME = {
    "a": [1, 2, 3],
    "text": ["x", "y", "z"],
    "nullable": pd.array([1, None, 3], dtype="Int64"),
    "float": np.array([1.5, NAN, 2], dtype=np.float32),
    "category": pd.Categorical([7, 8, 7]),
    "bool": [True, False, True],
    "when": pd.to_datetime(["2024-01-01"] * 3),
    5: [4, 5, 6],
}


def test_data_frames() -> None:
    frame = pd.DataFrame(FRAME, index=[9, 8, 7])
    before = frame.copy()
    names, X = read(frame)
    assert names == ("a", "nullable", "float", "category", "bool", "5")
    assert same_bits(X, np.array([[1, 1, 1.5, 7, 1, 4], [2, NAN, NAN, 8, 0, 5], [3, 3, 2, 7, 1, 6]]))
    assert read(frame, ("bool", "5"))[1].tolist() == [[1, 4], [0, 5], [1, 6]]
    pd.testing.assert_frame_equal(frame, before)


def test_data_frames_that_cannot_be_read() -> None:
    with pytest.raises(DataError, match="two columns of the frame are called 'a'; rename one of the columns"):
        read(pd.DataFrame([[1, 2]], columns=["a", "a"]))
    mixed = pd.DataFrame({"a": [1, 2], "mixed": [1, "x"]})
    for columns, remedy in (((), "give .*, or leave the column out"), (("mixed",), "or give --null-value x if the .*")):
        with pytest.raises(
            DataError, match=rf"the table, row 2, column 'mixed': 'x' is not a number; correct the cell, {remedy}"
        ):
            read(mixed, columns)
    assert read(mixed, ("a",))[0] == ("a",)


def test_arrow_tables_and_batches() -> None:
    table = pa.table({"a": pa.chunked_array([[1, 2], [], [None]]), "v": [[1.0, 2.0], None, [3.0, 4.0]], "t": ["x"] * 3})
    for data in (table, table.combine_chunks().to_batches()[0]):
        names, X = read(data)
        assert names == ("a", "v[0]", "v[1]")
        assert same_bits(X, np.array([[1, 1, 2], [2, NAN, NAN], [NAN, 3, 4]]))
    with pytest.raises(
        DataError, match="the table, row 2, column 'v': the vector has length 1, but the first vector has length 2"
    ):
        read(pa.table({"v": [[1.0, 2.0], [1.0]]}))


def test_frames_of_other_libraries_come_through_arrow() -> None:
    class Frame:
        """What polars and duckdb offer."""

        columns = ("a",)

        def __arrow_c_stream__(self, requested_schema: object = None) -> object:
            return pa.table({"a": [1.5, 2.5]}).__arrow_c_stream__(requested_schema)

    assert read(Frame())[1].tolist() == [[1.5], [2.5]]


# Layouts of numbers, truth and text that Arrow's functions do not all take, and what is read of them.
LAYOUTS = {
    "truth in a dictionary": (pa.array([True, None, False]).dictionary_encode(), [1, NAN, 0]),
    "numbers as runs": (pa.RunEndEncodedArray.from_arrays([2, 3], [1.5, 2.5]), [1.5, 1.5, 2.5]),
    "truth as runs": (pa.RunEndEncodedArray.from_arrays([1, 3], [True, False]), [1, 0, 0]),
    "numbers as text in a dictionary": (
        pa.DictionaryArray.from_arrays(pa.array([0, 1, 0], pa.uint8()), pa.array(["2", "5"], pa.string_view())),
        [2, 5, 2],
    ),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts_of_arrow(layout: str) -> None:
    array, numbers = LAYOUTS[layout]
    assert same_bits(read(pa.table({"a": array}), ("a",))[1], np.array(numbers, dtype=float)[:, None])


@pytest.mark.parametrize("kind", [pl.Categorical, pl.Enum(["x", "y"])])
def test_categories_of_polars_are_text(kind: Any) -> None:
    words = pl.Series(["x", None, "y"], dtype=kind)
    frame = pl.DataFrame({"a": [1.5, 2.5, 4.0], "kind": words})
    assert read(frame)[0] == ("a",)
    with pytest.raises(
        DataError, match=r"column 'kind' holds no numbers \(first value 'x'\) and has type dictionary of"
    ):
        read(frame, ("kind",))


def test_columns_of_pandas_that_arrow_has_no_type_for() -> None:
    frame = pd.DataFrame(
        {"long": np.array([1.5, 2.5, 4.0], np.longdouble), "truth": pd.Categorical([True, False, True])}
    )
    names, X = read(frame)
    assert (names, X.tolist()) == (("long", "truth"), [[1.5, 1], [2.5, 0], [4, 1]])


def test_columns_have_names_whatever_the_table_is_called() -> None:
    assert not ArrowTable(pa.table({"a": [1.0]}), name="sales").nameless
    assert in_memory(np.array([[1.0, "2"]], dtype=object)).nameless


def test_the_rows_of_an_array_are_copied_by_the_thread_that_works_on_them() -> None:
    """Parts are handed out one after the other, so that a copy there would leave threads without work."""
    X = np.random.default_rng(0).normal(size=(9, 3))
    table = ArrayTable(X)
    (part,) = table.parts([Feature(f"c{j}", j) for j in range(3)], ())
    assert isinstance(part, ArrayPart)
    assert np.shares_memory(part.numbers, X)
    found = part.batch().X
    assert found.flags.f_contiguous
    assert not np.shares_memory(found, X)
    assert np.array_equal(found, X)

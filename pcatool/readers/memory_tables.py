"""Read tables that are in memory: numpy arrays, pandas DataFrames, Arrow tables, rows of Python objects."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from numbers import Real
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.types as pat
from numpy.typing import NDArray

from pcatool.arrays import Runner, block_rows, run_serially
from pcatool.errors import BadCell, DataError, UsageError, check_memory
from pcatool.readers.arrow_columns import column_of, has_value, plain_column
from pcatool.readers.arrow_parts import ArrowPart
from pcatool.readers.base import Batch, Column, Feature, Part, all_finite, bad_cell_remedy
from pcatool.readers.csv_reader.count_missing import count_in_numbers
from pcatool.readers.csv_reader.dialect import Dialect
from pcatool.wording import reword_for_only_feature, show

__all__ = ["ArrowTable", "in_memory", "is_pandas"]

# Types that pandas uses for a missing value, besides None and NaN.
NULL_TYPES = ("NAType", "NaTType")

# Bounds of the whole numbers that a 64-bit type holds, unsigned or signed.
LARGEST, SMALLEST = 2**64 - 1, -(2**63)
TOO_LARGE = "is a whole number of more than 64 bits"


class BadObject(NamedTuple):
    """A cell that cannot be read in a column of numbers: its row, its text, the reason and the remedy."""

    row: int
    value: str
    why: str = "is not a number"
    remedy: str = ""  # "" for the remedy of any bad cell (`bad_cell_remedy`)


class ObjectColumn(NamedTuple):
    """A column of Python objects, converted to Arrow."""

    array: pa.Array  # as a passthrough column
    # float64, null for a missing or bad cell; None unless the column holds numbers and Arrow took it for another type
    numbers: pa.Array | None = None
    bad: BadObject | None = None  # first cell that is not a number, in a column of numbers


def convert_objects(cells: Any, dialect: Dialect, *, texts_count: bool) -> ObjectColumn:
    """Convert a column of Python objects to Arrow; cells of mixed types become text.

    Cells of mixed types have `numbers` as well if at least one cell is a number. With `texts_count` this is also so for
    columns of text, and a text that reads as a number counts as a number.
    """
    array = _by_arrow(cells)
    if array is not None and not (texts_count and _is_text(array.type)):
        return ObjectColumn(array)
    found = [_number(row, cell, dialect) for row, cell in enumerate(cells)]
    if array is None:
        array = pa.array([None if value is None else str(cell) for value, cell in zip(found, cells, strict=True)])
    if not any(map(partial(_is_number, texts_count=texts_count), cells, found)):
        return ObjectColumn(array)
    numbers = pa.array([None if isinstance(value, BadObject) else value for value in found], pa.float64())
    return ObjectColumn(array, numbers, next((value for value in found if isinstance(value, BadObject)), None))


def _is_number(cell: Any, value: float | BadObject | None, *, texts_count: bool) -> bool:
    """Whether this cell makes its column a column of numbers; `value` is the result of `_number` for the cell.

    True for numbers that are no booleans, also of more than 64 bits, and, with `texts_count`, for texts of numbers.
    """
    if isinstance(value, BadObject):
        return value.why == TOO_LARGE
    return value is not None and not isinstance(cell, (bool, np.bool_)) and (texts_count or not isinstance(cell, str))


def _by_arrow(cells: Any) -> pa.Array | None:
    """Return the cells as an Arrow array; None if Arrow refuses them: mixed types, or an integer beyond 64 bits."""
    try:
        return pa.array(cells, from_pandas=True)
    except (pa.ArrowException, OverflowError, TypeError, ValueError) as error:
        check_memory(error)
        return None


def _is_text(kind: pa.DataType) -> bool:
    return bool(pat.is_string(kind) or pat.is_large_string(kind))


def _number(row: int, cell: Any, dialect: Dialect) -> float | BadObject | None:
    """Return the cell as a number, None if it is missing, or a BadObject if it cannot be read."""
    if isinstance(cell, np.ndarray) and cell.ndim == 0:
        cell = cell.item()
    if cell is None or type(cell).__name__ in NULL_TYPES:
        return None
    if isinstance(cell, str):
        if dialect.is_missing(cell):
            return None
        value = dialect.number(cell)
        return BadObject(row, cell) if value is None else value
    if isinstance(cell, (int, np.integer)) and not SMALLEST <= cell <= LARGEST:
        return BadObject(row, str(cell), TOO_LARGE, "give the column as floats, with astype(float)")
    if isinstance(cell, (Real, np.bool_)) or hasattr(cell, "as_tuple"):  # decimals have as_tuple
        value = float(cell)
        return None if value != value else value
    return BadObject(row, str(cell))


GIVE_TABLE = "give a DataFrame, an Arrow table or a two-dimensional array"
# Methods by which tables of other libraries export themselves (Arrow PyCapsule interface).
TO_ARROW = ("__arrow_c_stream__", "__arrow_c_array__")


def in_memory(data: Any, dialect: Dialect = Dialect()) -> ArrayTable | ArrowTable:  # noqa: B008  (it is frozen)
    """Return a Python object as a table: an array, a DataFrame, an Arrow table, or rows of Python objects.

    DataFrames are converted to Arrow, which supports all their types. Texts in columns of objects are read in the
    dialect. Raises UsageError or DataError for objects that are not tables of numbers.
    """
    _refuse_sparse(data)
    if isinstance(data, pa.Table):
        return ArrowTable(data)
    if isinstance(data, pa.RecordBatch):
        return ArrowTable(pa.Table.from_batches([data]))
    if is_pandas(data):
        return _from_pandas(data, dialect)
    if any(hasattr(data, method) for method in TO_ARROW):
        return ArrowTable(_from_arrow(data))
    if hasattr(data, "__dataframe__"):
        from pyarrow.interchange import from_dataframe

        return ArrowTable(from_dataframe(data))
    if hasattr(data, "collect"):
        raise UsageError(
            f"data of type {type(data).__name__} have no rows yet", "call the method collect(), and pass the result"
        )
    return _from_array(data, dialect)


def _refuse_sparse(data: Any) -> None:
    """Raise UsageError for a sparse matrix or array of scipy."""
    if any(kind.__module__.startswith("scipy.sparse") for kind in type(data).__mro__):
        raise UsageError(
            f"a sparse {type(data).__name__} of scipy is not supported",
            "pass data.toarray(), or write the row, column and value of each cell to a file, and give the file with "
            "triples='row,column,value'",
        )


def is_pandas(data: Any) -> bool:
    """Whether the object is a pandas DataFrame or Series, or an instance of a subclass."""
    return any(kind.__module__.partition(".")[0] == "pandas" for kind in type(data).__mro__)


def _from_arrow(data: Any) -> pa.Table:
    """Return an object with an Arrow export method as an Arrow table; raises UsageError if the object is no table."""
    try:
        return pa.table(data)
    except (pa.ArrowException, TypeError, ValueError) as error:
        check_memory(error)
        column = "non-struct type" in str(error)
        what = "are a single column, not a table" if column else f"cannot be read as a table: {error}"
        raise UsageError(f"data of type {type(data).__name__} {what}", GIVE_TABLE) from None


def _from_pandas(data: Any, dialect: Dialect) -> ArrowTable:
    """Return a DataFrame or Series as a table; raises an error for column names that are equal or of several levels."""
    frame = data if hasattr(data, "columns") else data.to_frame()
    if frame.columns.nlevels > 1:
        raise UsageError(
            f"the column names of the frame have {frame.columns.nlevels} levels",
            "join the levels, as in frame.columns = ['_'.join(map(str, name)) for name in frame.columns]",
        )
    frame = frame.rename(columns=str)
    if not frame.columns.is_unique:
        raise DataError(
            f"two columns of the frame are called {show(frame.columns[frame.columns.duplicated()][0])}",
            "rename one of the columns",
        )
    nulls = ["NaN" if _writes_nan(frame[name].dtype) else "null" for name in frame.columns]
    columns = [_from_series(frame[name], dialect) for name in frame.columns]
    table = pa.table({name: column.array for name, column in zip(frame.columns, columns, strict=True)})
    return ArrowTable(table, nulls, _number_columns(columns))


def _writes_nan(dtype: Any) -> bool:
    """Whether pandas shows a missing cell of this dtype as NaN rather than NA."""
    return isinstance(getattr(dtype, "na_value", math.nan), float)


def _from_series(series: Any, dialect: Dialect) -> ObjectColumn:
    """Return a column of a DataFrame converted to Arrow; texts in a column of objects are read in the dialect."""
    if hasattr(series.dtype, "fill_value"):
        series = series.sparse.to_dense()
    if series.dtype == object:
        return convert_objects(series.to_numpy(), dialect, texts_count=False)
    try:
        return ObjectColumn(pa.array(series, from_pandas=True))
    except pa.ArrowException as error:  # a type that Arrow does not have
        check_memory(error)
        return ObjectColumn(pa.array(series.astype(float if series.dtype.kind == "f" else str)))


def _number_columns(columns: Sequence[ObjectColumn]) -> dict[int, ObjectColumn]:
    """Return the columns that have `numbers` beside their Arrow column, by column number."""
    return {i: column for i, column in enumerate(columns) if column.numbers is not None}


def _from_array(data: Any, dialect: Dialect) -> ArrayTable | ArrowTable:
    """Return an array, or an object that converts to one, as a table; an array of objects gets a type per column."""
    array = _array(data)
    if array.ndim == 0 and not isinstance(data, np.ndarray):
        raise UsageError(f"data of type {type(data).__name__} are not a table", GIVE_TABLE)
    if array.ndim != 2:
        raise UsageError(
            f"the array is {array.ndim}-dimensional, not 2-dimensional", "give an array of rows and columns"
        )
    if array.shape[1] == 0:
        raise DataError("the array has no columns")
    if array.dtype.kind != "O":
        return ArrayTable(array)
    columns = [convert_objects(array[:, j], dialect, texts_count=True) for j in range(array.shape[1])]
    table = pa.table({f"c{j}": column.array for j, column in enumerate(columns, 1)})
    return ArrowTable(table, ["NaN"] * len(columns), _number_columns(columns), name="the array", nameless=True)


def _array(data: Any) -> NDArray[Any]:
    """Return the data as an array of numbers, booleans or objects, masked cells as NaN; raises DataError for others."""
    try:
        if np.ma.isMaskedArray(data):
            return np.ma.filled(data.astype(np.float64), np.nan)
        array = np.asarray(data)
        if array.dtype.kind == "U":
            raise DataError(
                "the array does not hold numbers: it holds text",
                "convert the array with astype(float), or give a DataFrame, whose columns of text are left out",
            )
        if array.dtype.kind not in NUMBERS:
            raise TypeError(f"its type is {array.dtype}")
    except (TypeError, ValueError, OverflowError) as error:
        if "inhomogeneous" in str(error):
            raise DataError(
                "the rows of the data differ in length, or a cell holds a list",
                "give rows of the same length, with one number in each cell",
            ) from None
        raise DataError(f"the array does not hold numbers: {error}") from None
    return array


# Accepted kinds of numpy types: floats, signed and unsigned integers, booleans, and objects (converted by column).
NUMBERS = "fiubO"


class MemoryTable:
    """Base of tables in memory: the methods of `Table` that are the same for all of these."""

    columns: tuple[Column, ...]
    text = False

    def profile(self) -> tuple[Column, ...]:
        return self.columns

    def ready(self) -> bool:
        return True

    def ended(self) -> bool:
        return False  # never asked for a further input

    def share(self) -> float | None:
        return None  # no progress is shown for tables in memory

    @property
    def contents_bytes(self) -> int:
        return 0

    def reading_bytes(self, parts: int) -> int:
        return 0  # the rows are in memory already, and blocks are counted elsewhere


class ArrayTable(MemoryTable):
    """A table over a two-dimensional array; its columns are c1, c2, ..."""

    nameless = True

    def __init__(self, array: NDArray[Any]) -> None:
        self.name = "the array"
        is_boolean = array.dtype.kind == "b"
        self._array = array.astype(np.float64) if is_boolean else array
        kind = "boolean" if is_boolean else "number"
        self.columns = tuple(Column(f"c{i}", kind, boolean_type=is_boolean) for i in range(1, array.shape[1] + 1))

    def expected_rows(self) -> int | None:
        return len(self._array)

    def passthrough_type(self, column: int) -> pa.DataType:
        return pa.from_numpy_dtype(self._array.dtype)

    def parts(
        self,
        features: Sequence[Feature],
        passthrough: Sequence[int],
        *,
        eager: bool = False,
        run: Runner = run_serially,
    ) -> Iterator[Part]:
        height = block_rows(len(features))
        chosen = [f.column for f in features]
        whole = chosen == list(range(self._array.shape[1]))
        for at in range(0, len(self._array), height):
            rows = self._array[at : at + height]
            X = rows if whole else rows[:, chosen]
            yield ArrayPart(X, [pa.array(rows[:, c]) for c in passthrough], at)


class ArrayPart(NamedTuple):
    """A part of an array; `batch` makes float64 of its numbers, in the thread that calls it."""

    numbers: NDArray[Any]  # (n, d)
    passthrough: list[pa.Array]
    first_row: int  # number in the array of the first row, from 0

    def batch(self) -> Batch:
        X = np.asfortranarray(self.numbers, dtype=np.float64)
        return Batch(X, self.passthrough, self.place, all_finite(X), partial(count_in_numbers, X))

    def place(self, row: int) -> str:
        return f"the array, row {self.first_row + row + 1}"


class ArrowTable(MemoryTable):
    """A table over an Arrow table.

    `nulls`: the word for a missing cell in each column. `objects`: columns of Python objects, by column number, whose
    numbers replace the Arrow column where the column is a feature. `nameless`: the columns have no names of their own.
    """

    def __init__(
        self,
        table: pa.Table,
        nulls: Sequence[str] = (),
        objects: Mapping[int, ObjectColumn] = MappingProxyType({}),
        *,
        name: str = "the table",
        nameless: bool = False,
    ) -> None:
        self.name = name
        self.nameless = nameless
        for i, column in enumerate(table.columns):
            if (plain := plain_column(column)) is not column:
                table = table.set_column(i, table.schema.names[i], plain)
        self._table = table
        self._objects = objects
        nulls = nulls or ["null"] * table.num_columns
        self.columns = tuple(
            (Column(field.name) if i in objects else column_of(field.name, field.type, _sample(cells)))._replace(
                null_word=null
            )
            for i, (field, cells, null) in enumerate(zip(table.schema, table.columns, nulls, strict=True))
        )

    def expected_rows(self) -> int | None:
        return int(self._table.num_rows)

    def passthrough_type(self, column: int) -> pa.DataType:
        return self._table.schema.field(column).type

    def parts(
        self,
        features: Sequence[Feature],
        passthrough: Sequence[int],
        *,
        eager: bool = False,
        run: Runner = run_serially,
    ) -> Iterator[Part]:
        used = {f.column for f in features}
        table = self._table
        for column in used & self._objects.keys():
            found = self._objects[column]
            if found.bad is not None:
                place = f"{self.name}, row {found.bad.row + 1}"
                name, bad = self.columns[column].name, found.bad
                remedy = bad.remedy or bad_cell_remedy(bad.value, name, column)
                remedy = reword_for_only_feature(remedy) if len(features) == 1 else remedy
                raise BadCell(place, name, bad.value, bad.why, remedy)
            table = table.set_column(column, self.columns[column].name, found.numbers)
        needed = sorted(used | set(passthrough))
        first_row = 0
        for batch in table.select(needed).to_batches(max_chunksize=block_rows(len(features))):
            arrays = {column: batch.column(i) for i, column in enumerate(needed)}
            yield ArrowPart(
                self.name, batch.num_rows, arrays, tuple(features), tuple(passthrough), self.columns, first_row
            )
            first_row += batch.num_rows


def _sample(column: pa.ChunkedArray) -> pa.Array | None:
    """Return the first chunk that holds a value, neither null nor an empty list; None if no chunk does."""
    return next(filter(has_value, column.chunks), None)

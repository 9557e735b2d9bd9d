"""Check batches for missing and infinite cells; refuse, drop or mark the rows as `--missing` says.

Passthrough columns of later inputs are cast to the types of the first input, unless a cast would change a value.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.types as pat
from numpy.typing import NDArray

from pcatool.arrays import Array, Runner, run_serially
from pcatool.errors import BadCell, DataError, PcatoolError
from pcatool.readers.base import (
    Batch,
    Part,
    RoundedCell,
    Table,
    all_finite,
    bad_cell_remedy,
    has_above_2_53,
    reword_null_value,
)
from pcatool.readers.inputs import Inputs, Piece
from pcatool.readers.labels import Classes
from pcatool.readers.row_counts import IncompleteCells, MissingRemedy, RowCounts
from pcatool.readers.schema import ColumnChoice
from pcatool.wording import reword_for_only_feature, show

__all__ = [
    "USES_INCOMPLETE",
    "CheckedBatch",
    "checked_batches",
    "refuse_incomplete",
    "rows_to_fit",
]


def numbers_for_missing(nulls: Sequence[str]) -> dict[float, str]:
    """Return the spellings in `nulls` that are numbers, such as "-999", by their value."""
    found = {}
    for text in nulls:
        try:
            found[float(text)] = text
        except ValueError:
            continue
    return found


def with_missing(batch: Batch, numbers: Mapping[float, str]) -> Batch:
    """Return the batch with NaN in each cell of X that equals a key of `numbers`.

    The value of the key is its spelling, under which these cells are counted in the batch's `spellings`.
    """
    X, counts = batch.X.copy(order="K"), Counter[str]()
    for value, text in numbers.items():
        is_missing = value == X
        counts[text] += int(np.count_nonzero(is_missing))
        X[is_missing] = np.nan
    return batch._replace(X=X, finite=all_finite(X), spellings=lambda: Counter(batch.spellings()) + counts)


# Values of --missing with which a fit uses incomplete rows as they are.
USES_INCOMPLETE = ("mean", "em")


class CheckedBatch(NamedTuple):
    """A batch without infinite cells, whose incomplete rows are marked; the input of fits and of scoring."""

    X: Array  # (n, d); NaN where a cell is missing
    passthrough: Sequence[Any]  # passthrough columns
    place: Callable[[int], str]  # row of this batch -> "file, line 7"
    incomplete: NDArray[np.bool_] | None  # (n,) mask of rows with a missing cell; None if there are none


class ParsedPiece(NamedTuple):
    """A piece after parsing; `batch` is None at the end of an input and for a bad input."""

    position: int  # of the input
    batch: Batch | None = None
    missing: IncompleteCells | None = None  # missing cells of the batch; None if there are none
    rounded: RoundedCell | None = None  # first whole number without an exact double
    error: PcatoolError | None = None  # why the input is bad

    @property
    def size(self) -> int:
        """Bytes of memory that the batch takes."""
        return (
            0 if self.batch is None else self.batch.X.nbytes + sum(column.nbytes for column in self.batch.passthrough)
        )


class CheckedReading(NamedTuple):
    """Settings with which threads parse and check pieces; threads call the method `read`."""

    inputs: Inputs
    chosen: ColumnChoice
    types: Sequence[tuple[str, Any]]  # name and Arrow type of each passthrough column
    numbers: Mapping[float, str]  # values that count as missing, with their spelling
    report: bool  # count spellings and patterns of missing cells
    check: Callable[[CheckedBatch], None] | None  # raises where a batch must not be used
    allow: str  # option without which missing cells are refused, for remedies; "" if they are not refused

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns of X.

        If the labels are classes, a column with the number of each row's class stands last, in place of all labels.
        """
        chosen = self.chosen
        return chosen.names if chosen.classes is None else (*chosen.features, chosen.classes.name)

    def read(self, piece: Piece) -> ParsedPiece:
        """Parse and check a piece; with --skip-bad, an error that makes the input bad is returned, not raised."""
        if piece.part is None or piece.table is None:
            return ParsedPiece(piece.position, error=piece.error)
        try:
            return self._read(piece.position, piece.table, piece.part)
        except PcatoolError as error:
            if len(self.chosen.features) == 1:
                error.reword(reword_for_only_feature)
            if self.allow:
                error.reword(partial(reword_null_value, option=self.allow))
            return ParsedPiece(piece.position, error=self.inputs.bad_files.skippable_error(piece.position, error))

    def _read(self, position: int, table: Table, part: Part) -> ParsedPiece:
        """Parse a part, cast its passthrough columns, and check its cells."""
        batch = part.batch()
        if self.types:
            batch = batch._replace(passthrough=cast_to_first(batch.passthrough, self.types, table.name, batch.place))
        if self.numbers and not table.text:
            batch = with_missing(batch, self.numbers)
        classes = self.chosen.classes
        missing = _missing_cells(batch, self.names, self.report) if classes is None else None
        rounded = batch.rounded() if not self.inputs.rounding_note and has_above_2_53(batch.X) else None
        if self.check is not None:
            self.check(checked(batch, missing) if classes is None else self._labelled(batch, classes))
        return ParsedPiece(position, batch, missing, rounded)

    def _labelled(self, batch: Batch, classes: Classes) -> CheckedBatch:
        """Return the batch for `check`, with 0 in place of each class number.

        Classes are numbered in row order, which threads do not keep, so that the numbers are not known yet.
        """
        label = np.where(classes.rows_without_label(batch), np.nan, 0.0)
        X = np.column_stack([batch.X[:, : len(self.chosen.features)], label])
        return CheckedBatch(X, (), batch.place, np.isnan(X).any(axis=1))


def checked(batch: Batch, missing: IncompleteCells | None) -> CheckedBatch:
    """Return the batch with the mask of its incomplete rows; `missing` is None if no cell is missing."""
    return CheckedBatch(batch.X, batch.passthrough, batch.place, None if missing is None else missing.rows)


def checked_batches(
    inputs: Inputs,
    chosen: ColumnChoice,
    counts: RowCounts,
    *,
    eager: bool,
    report: bool = False,
    check: Callable[[CheckedBatch], None] | None = None,
    allow: str = "",
    run: Runner = run_serially,
) -> Iterator[CheckedBatch]:
    """Yield all rows of all inputs in order, with incomplete rows marked; adds rows and missing cells to `counts`.

    The inputs are cut into parts in the calling thread; `run` parses the parts, in threads or in turn. With `report`,
    `counts` also counts spellings and patterns of missing cells. `check` is called only where an input counts as a
    whole (`Inputs.by_file`), and an error that `check` raises makes the input bad; elsewhere the caller checks the
    batches. `allow` is the option, such as `--missing drop`, without which missing cells are refused: a remedy that
    names --null-value names `allow`, too. Raises DataError for a cell that cannot be read or is infinite.
    """
    types, check = inputs.columns.passthrough_types(chosen.passthrough), check if inputs.by_file else None
    reading = CheckedReading(inputs, chosen, types, numbers_for_missing(inputs.nulls), report, check, allow)

    def read(of: Inputs) -> Iterator[ParsedPiece]:
        pieces = of.stream.pieces(chosen, eager=eager, run=run)
        return run(reading._replace(inputs=of).read, pieces, ready=of.ready if eager else None)

    for found in whole_files(read, inputs) if inputs.bad_files.allowed else read(inputs):
        batch, missing = found.batch, found.missing
        assert batch is not None
        counts.rows += len(batch.X)
        inputs.at_rows(len(batch.X))
        if found.rounded is not None:
            place = batch.place(found.rounded.row)
            inputs.note_rounding(found.rounded.note(place, chosen.names[found.rounded.feature]))
        if chosen.classes is not None:
            batch = chosen.classes.with_classes(batch)
            missing = _missing_cells(batch, reading.names, report)
        if missing is not None:
            counts.features = len(chosen.features)
            counts.count(batch, missing, reading.names)
        yield checked(batch, missing)
    inputs.finish()


# Most bytes of one file that are kept in memory until its end is read; a larger file is read twice.
MOST_HELD = 64 << 20


def whole_files(read: Callable[[Inputs], Iterator[ParsedPiece]], inputs: Inputs) -> Iterator[ParsedPiece]:
    """Yield the rows of each file only after all of it was read without error; leave out the files that are bad.

    `read` yields the parsed pieces of inputs. A file of more than MOST_HELD bytes is not kept in memory but read a
    second time. The rows of a pipe, which cannot be read again, are yielded at once.
    """
    held: list[ParsedPiece] = []
    size = 0
    for found in read(inputs):
        if found.position in inputs.bad_files.left_out:
            continue
        if found.error is not None:
            inputs.bad_files.leave_out(found.position, found.error)
            held.clear()
            size = 0
        elif found.batch is None:
            yield from read(inputs.single_input(found.position)) if size > MOST_HELD else held
            held.clear()
            size = 0
        elif inputs.resolved.inputs[found.position].is_stream:
            yield found
        else:
            size += found.size
            held.append(found)
            if size > MOST_HELD:
                held.clear()


def _missing_cells(batch: Batch, names: Sequence[str], report: bool) -> IncompleteCells | None:
    """Return the missing cells of a batch, or None if there are none; raises BadCell for an infinite cell."""
    if batch.finite:
        return None
    infinite = np.isinf(batch.X)
    if infinite.any():
        i, j = (int(at[0]) for at in np.nonzero(infinite))
        value = str(batch.X[i, j])
        raise BadCell(batch.place(i), names[j], value, "is not finite", bad_cell_remedy(value, names[j]))
    return IncompleteCells.of(batch, report=report)


def rows_to_fit(
    inputs: Inputs,
    chosen: ColumnChoice,
    policy: str,
    counts: RowCounts,
    *,
    weighted: bool,
    remedy: MissingRemedy,
    run: Runner = run_serially,
) -> Iterator[Array]:
    """Yield the rows for a fit as arrays X (n, d); `policy` (--missing) says what becomes of rows with missing cells.

    With "mean" or "em" these rows are yielded, too, with "drop" they are left out. With "error", DataError with
    `remedy` is raised at the end, once all of them are counted. With `weighted`, the last column is the weight; rows of
    weight 0 are left out, and a negative weight raises BadCell.
    """

    def check(batch: CheckedBatch) -> None:
        if policy == "error":
            refuse_incomplete(batch, chosen, remedy.text())
        if weighted:
            _check_weights(batch, chosen.names[-1], missing=policy in USES_INCOMPLETE or batch.incomplete is None)

    report, allow = policy != "error", "--missing drop" if policy == "error" else ""
    for batch in checked_batches(inputs, chosen, counts, eager=False, report=report, check=check, allow=allow, run=run):
        if policy == "error" and counts.incomplete:
            continue
        dropped = None if policy in USES_INCOMPLETE else batch.incomplete
        if weighted:
            _check_weights(batch, chosen.names[-1], missing=dropped is None)
        X = batch.X if dropped is None else batch.X[~dropped]
        yield X[X[:, -1] > 0] if weighted and not np.all(X[:, -1] > 0) else X
    if policy == "error" and counts.incomplete:
        raise counts.error(remedy)


def refuse_incomplete(batch: CheckedBatch, chosen: ColumnChoice, remedy: str) -> None:
    """Raise DataError, with this remedy, for the first missing cell of the batch, if any."""
    if batch.incomplete is not None and batch.incomplete.any():
        row = int(batch.incomplete.argmax())
        column = int(np.isnan(batch.X[row]).argmax())
        name = chosen.classes.name if chosen.classes and column >= len(chosen.features) else chosen.names[column]
        error = DataError(f"{batch.place(row)}: a cell is missing in column {show(name)}", remedy)
        error.of_input = True
        raise error


def _check_weights(batch: CheckedBatch, name: str, *, missing: bool) -> None:
    """Check the last column of X: raise BadCell for a weight below 0 and, with `missing`, DataError for NaN."""
    w = batch.X[:, -1]
    bad = np.flatnonzero(~(w >= 0)) if missing else np.flatnonzero(w < 0)
    if len(bad):
        value, place = float(w[bad[0]]), batch.place(int(bad[0]))
        if value < 0:
            raise BadCell(place, name, str(value), "is a negative weight", "give weights of 0 or more")
        raise DataError(
            f"{place}, column {show(name)}: the weight is missing",
            "give --missing drop to leave out rows without a weight",
        )


# --- passthrough columns ---

TEXT, NUMBER, BOOLEAN = "text", "number", "truth"
TEXTS = ("string", "large_string", "string_view", "binary", "large_binary", "binary_view", "fixed_size_binary")
# Families that text is cast to. Only numbers and booleans are compared with their text after the cast: Arrow reads a
# date or a time only if the whole text is one.
FROM_TEXT = (NUMBER, BOOLEAN, "date", "moment", "time")

# Leading zeros, as in 007, which a number does not keep.
LEADING_ZERO = r"^\s*[+-]?0[0-9]"
WHOLE = r"\s*[+-]?[0-9]+(\.0*)?\s*"
# A text of at most this many characters, without an exponent, has no more digits than the float type always keeps, and
# needs no further check. Other number types need no limit: Arrow reads their texts exactly or refuses them.
MOST_CHARACTERS = {"double": 15, "float": 6, "halffloat": 3}
# Most significant digits of a text that is accepted as a float: the digits that identify each value of the type.
MOST_DIGITS = {"double": 17, "float": 9, "halffloat": 5}


def cast_to_first(
    passthrough: Sequence[Any], types: Sequence[tuple[str, Any]], name: str, place: Callable[[int], str]
) -> list[Any]:
    """Return the passthrough columns of a batch, cast to the types of the first input.

    `types` are name and Arrow type of each column, `name` is the input, and `place` gives file and row of a row of the
    batch. Raises DataError if a type does not fit or a value would change.
    """
    return [_cast(array, kind, column, name, place) for array, (column, kind) in zip(passthrough, types, strict=True)]


def _cast(array: Any, kind: Any, column: str, name: str, place: Callable[[int], str]) -> Any:
    """Return one column cast to the type; raises DataError as `cast_to_first` does."""
    if array.type == kind:
        return array
    if array.null_count == len(array):
        return pa.nulls(len(array), kind)
    if pat.is_dictionary(array.type):
        return _cast(array.dictionary_decode(), kind, column, name, place)
    # Other types can be cast to text, so a first input with text suits all others.
    first = f", or give {name} first" if _family(array.type) == TEXT else ""
    remedy = f"store the column with one type in all inputs{first}"
    cast = _cast_if_compatible(array, kind)
    if cast is None:
        raise DataError(
            f"{name}: column {show(column)} has type {array.type}, but in the first input the column has type {kind}",
            remedy,
        )
    changed = next(_changed(array, cast), None)
    if changed is not None:
        raise DataError(
            f"{place(changed)}, column {show(column)}: {show(array[changed].as_py())} would change if read as {kind}, "
            "the type of the column in the first input",
            remedy,
        )
    return cast


def _cast_if_compatible(array: Any, kind: Any) -> Any:
    """Return the array cast to another type; None if the families of the types do not fit or the cast fails."""
    here, there = _family(array.type), _family(kind)
    if not (_alike(here, there) or there == TEXT or (here == TEXT and there in FROM_TEXT)):
        return None
    try:
        return array.cast(kind)
    except (ValueError, TypeError, NotImplementedError):  # base classes of Arrow's errors
        return None


def _alike(here: Any, there: Any) -> bool:
    """Whether two families of types (see `_family`) are equal, or `here` is the family of nulls.

    Families of nested types are compared field by field.
    """
    if isinstance(here, list) and isinstance(there, list):
        return len(here) == len(there) and all(map(_alike, here, there))
    return here is None or here == there


def _family(kind: Any) -> Any:
    """Return the family of a type: types whose values keep their meaning when cast from one to another.

    The family of a nested type is a list: the field names (of a struct), then the families of the fields. The family of
    the null type is None.
    """
    if isinstance(kind, pa.BaseExtensionType):
        return _family(kind.storage_type)
    if pat.is_dictionary(kind):
        return _family(kind.value_type)
    if pat.is_nested(kind):
        fields = [kind.field(i) for i in range(kind.num_fields)]
        named = [field.name for field in fields] if pat.is_struct(kind) else []
        return [*named, *(_family(field.type) for field in fields)]
    if pat.is_integer(kind) or pat.is_floating(kind) or pat.is_decimal(kind):
        return NUMBER
    if pat.is_timestamp(kind):
        return "date" if kind.tz is None else "moment"
    name = str(kind).split("[")[0]
    families = {"null": None, "bool": BOOLEAN, "date32": "date", "date64": "date", "time32": "time", "time64": "time"}
    return TEXT if name in TEXTS else families.get(name, name)


def _changed(before: Any, after: Any) -> Iterator[int]:
    """Yield the rows, from 0, in which a cast changed the value; `before` and `after` are the column before and after.

    Casts to text, and from text to dates or times, change no value: no rows are yielded.
    """
    read, to = _family(before.type) == TEXT, _family(after.type)
    if to == TEXT or (read and to not in (NUMBER, BOOLEAN)):
        return iter(())
    if read:
        return _misread(before.cast(pa.string()), after, to)
    if pat.is_nested(before.type) or pat.is_decimal(before.type) or pat.is_decimal(after.type):
        return (i for i in range(len(before)) if not _same(before[i].as_py(), after[i].as_py()))
    back = after.cast(before.type)
    if pat.is_float16(before.type):
        before, back = (array.cast(pa.float32()) for array in (before, back))
    return _differing(before, back)


def _differing(before: Any, back: Any) -> Iterator[int]:
    """Yield the rows, from 0, in which a column differs from itself after a cast and the cast back; NaN equals NaN."""
    import pyarrow.compute as pc

    changed = pc.not_equal(before, back)
    if pat.is_floating(before.type):
        changed = pc.and_not(changed, pc.and_(pc.is_nan(before), pc.is_nan(back)))
    return _rows(changed)


def _rows(chosen: Any) -> Iterator[int]:
    """Yield the rows, from 0, where an Arrow boolean array is true; a null counts as false."""
    return iter(np.flatnonzero(chosen.fill_null(False).to_numpy(zero_copy_only=False)).tolist())


def _misread(text: Any, after: Any, to: str) -> Iterator[int]:
    """Yield the rows, from 0, whose text is not exactly the value that a cast made of it, in `after`.

    `to` is the family of the type of `after`, NUMBER or BOOLEAN. Only texts that are long or of an unusual form are
    compared one by one.
    """
    import pyarrow.compute as pc

    if to == BOOLEAN:
        return _rows(pc.invert(pc.match_substring_regex(text, "^(true|false)$", ignore_case=True)))
    long = pc.greater(pc.binary_length(text), MOST_CHARACTERS.get(str(after.type), 1 << 30))
    odd = pc.or_(long, pc.match_substring_regex(text, f"{LEADING_ZERO}|[^0-9.+-]"))
    return (i for i in _rows(odd) if not _is_exact(text[i].as_py(), after[i].as_py(), str(after.type)))


def _is_exact(text: str, number: Any, kind: str) -> bool:
    """Whether `number` is the number in the text: exactly for integers, decimals and whole numbers, else rounded.

    False for a text with leading zeros, or with more digits than MOST_DIGITS allows for `kind`, the Arrow type of
    `number`.
    """
    try:
        value = Decimal(text.strip())
    except ArithmeticError:
        return False
    if re.match(LEADING_ZERO, text):
        return False
    if not value.is_finite():
        return isinstance(number, float) and (math.isnan(number) if value.is_nan() else number == float(value))
    if kind not in MOST_DIGITS or re.fullmatch(WHOLE, text):
        return math.isfinite(number) and value == Decimal(number)
    digits = len(value.normalize().as_tuple().digits)
    return digits <= MOST_DIGITS[kind] and math.isfinite(number) and (number != 0) == (value != 0)


def _same(one: Any, other: Any) -> bool:
    """Whether two Python values are equal, nested values included; NaN equals NaN.

    A Decimal equals a float if it equals the shortest text that identifies the float.
    """
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
        return len(one) == len(other) and all(map(_same, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_same(one[key], other[key]) for key in one)
    if isinstance(one, float) and isinstance(other, Decimal):
        return _same(other, one)
    if isinstance(one, Decimal) and isinstance(other, float):
        return math.isfinite(other) and one == Decimal(repr(other))
    both_nan = isinstance(one, float) and isinstance(other, float) and math.isnan(one) and math.isnan(other)
    return both_nan or bool(one == other)

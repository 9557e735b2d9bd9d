"""Cast passthrough columns of later inputs to the types of the first input; refuse a cast that changes a value."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.types as pat

from pcatool.errors import DataError, show

__all__ = ["cast_to_first"]

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
    cast = _cast_if_compatible(array, kind)
    if cast is None:
        raise DataError(
            f"{name}: column {show(column)} holds {array.type}, but {kind} in the first input",
            "give the inputs one by one",
        )
    changed = next(_changed(array, cast), None)
    if changed is not None:
        raise DataError(
            f"{place(changed)}, column {show(column)}: {show(array[changed].as_py())} would change if read as {kind}, "
            "the type of the column in the first input",
            f"give the inputs one by one, or {name} first",
        )
    return cast


def _cast_if_compatible(array: Any, kind: Any) -> Any:
    """Return the array cast to another type, or None if values of its type have no meaning in that type."""
    here, there = _family(array.type), _family(kind)
    if not (_alike(here, there) or there == TEXT or (here == TEXT and there in FROM_TEXT)):
        return None
    try:
        return array.cast(kind)
    except (ValueError, TypeError, NotImplementedError):  # base classes of Arrow's errors
        return None


def _alike(here: Any, there: Any) -> bool:
    """Whether values of the family `here` keep their meaning in the family `there`."""
    if isinstance(here, list) and isinstance(there, list):
        return len(here) == len(there) and all(map(_alike, here, there))
    return here is None or here == there


def _family(kind: Any) -> Any:
    """Return the family of a type: types whose values keep their meaning when cast from one to another.

    A nested type gives a list: the field names (of a struct), then the families of the fields. The null type gives
    None.
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
    """Yield the rows whose value changed in a cast."""
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
    """Yield the rows that differ between a column and the same column cast back; NaN equals NaN."""
    import pyarrow.compute as pc

    changed = pc.not_equal(before, back)
    if pat.is_floating(before.type):
        changed = pc.and_not(changed, pc.and_(pc.is_nan(before), pc.is_nan(back)))
    return _rows(changed)


def _rows(chosen: Any) -> Iterator[int]:
    """Yield the rows where an Arrow boolean array is true."""
    return iter(np.flatnonzero(chosen.fill_null(False).to_numpy(zero_copy_only=False)).tolist())


def _misread(text: Any, after: Any, to: str) -> Iterator[int]:
    """Yield the rows whose text was not read exactly as a number or a boolean.

    Only texts that are long or of an unusual form are compared one by one.
    """
    import pyarrow.compute as pc

    if to == BOOLEAN:
        return _rows(pc.invert(pc.match_substring_regex(text, "^(true|false)$", ignore_case=True)))
    long = pc.greater(pc.binary_length(text), MOST_CHARACTERS.get(str(after.type), 1 << 30))
    odd = pc.or_(long, pc.match_substring_regex(text, f"{LEADING_ZERO}|[^0-9.+-]"))
    return (i for i in _rows(odd) if not _is_exact(text[i].as_py(), after[i].as_py(), str(after.type)))


def _is_exact(text: str, number: Any, kind: str) -> bool:
    """Whether `number` is the number in the text: exactly for integers, decimals and whole numbers, else rounded.

    A text with leading zeros, or with more digits than DIGITS allows, is not accepted.
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

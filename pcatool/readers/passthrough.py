"""Cast passthrough columns of later inputs to the types of the first, where no value changes."""

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

__all__ = ["as_first"]

TEXT, NUMBER, TRUTH = "text", "number", "truth"
TEXTS = ("string", "large_string", "string_view", "binary", "large_binary", "binary_view", "fixed_size_binary")
# Of text that Arrow takes for a time it takes nothing but all of it.
FROM_TEXT = (NUMBER, TRUTH, "date", "moment", "time")

# Digits that a number does not keep, as those of 007.
PADDED = r"^\s*[+-]?0[0-9]"
WHOLE = r"\s*[+-]?[0-9]+(\.0*)?\s*"
# So many letters without an exponent hold no more digits than a double, or a shorter float, tells apart; Arrow reads
# other numbers to the last digit or not at all.
PLAIN = {"double": 15, "float": 6, "halffloat": 3}
DIGITS = {"double": 17, "float": 9, "halffloat": 5}


def as_first(
    kept: Sequence[Any], types: Sequence[tuple[str, Any]], name: str, place: Callable[[int], str]
) -> list[Any]:
    """The columns of some rows of an input; `place` tells where a row of them stands."""
    return [_cast(array, kind, column, name, place) for array, (column, kind) in zip(kept, types, strict=True)]


def _cast(array: Any, kind: Any, column: str, name: str, place: Callable[[int], str]) -> Any:
    if array.type == kind:
        return array
    if array.null_count == len(array):
        return pa.nulls(len(array), kind)
    if pat.is_dictionary(array.type):
        return _cast(array.dictionary_decode(), kind, column, name, place)
    cast = _fitting(array, kind)
    if cast is None:
        raise DataError(
            f"{name}: column {show(column)} holds {array.type}, in the first input {kind}",
            "give the inputs one by one",
        )
    changed = next(_changed(array, cast), None)
    if changed is not None:
        raise DataError(
            f"{place(changed)}, column {show(column)}: {show(array[changed].as_py())} would not stay what it is as "
            f"{kind}, the type of the first input",
            f"give the inputs one by one, or {name} first",
        )
    return cast


def _fitting(array: Any, kind: Any) -> Any:
    """The array as another type, if values of its type can be of that at all."""
    here, there = _family(array.type), _family(kind)
    if not (_alike(here, there) or there == TEXT or (here == TEXT and there in FROM_TEXT)):
        return None
    try:
        return array.cast(kind)
    except (ValueError, TypeError, NotImplementedError):  # bases of what Arrow raises
        return None


def _alike(here: Any, there: Any) -> bool:
    if isinstance(here, list) and isinstance(there, list):
        return len(here) == len(there) and all(map(_alike, here, there))
    return here is None or here == there


def _family(kind: Any) -> Any:
    """What a value of this type says; one of another family says something else by the same digits."""
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
    families = {"null": None, "bool": TRUTH, "date32": "date", "date64": "date", "time32": "time", "time64": "time"}
    return TEXT if name in TEXTS else families.get(name, name)


def _changed(before: Any, after: Any) -> Iterator[int]:
    """Rows of which the value is another one in the other type."""
    read, to = _family(before.type) == TEXT, _family(after.type)
    if to == TEXT or (read and to not in (NUMBER, TRUTH)):
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
    import pyarrow.compute as pc

    changed = pc.not_equal(before, back)
    if pat.is_floating(before.type):
        changed = pc.and_not(changed, pc.and_(pc.is_nan(before), pc.is_nan(back)))
    return _rows(changed)


def _rows(chosen: Any) -> Iterator[int]:
    return iter(np.flatnonzero(chosen.fill_null(False).to_numpy(zero_copy_only=False)).tolist())


def _misread(text: Any, after: Any, to: str) -> Iterator[int]:
    """Of cells read as numbers or truth; most are seen to be right at a glance."""
    import pyarrow.compute as pc

    if to == TRUTH:
        return _rows(pc.invert(pc.match_substring_regex(text, "^(true|false)$", ignore_case=True)))
    long = pc.greater(pc.binary_length(text), PLAIN.get(str(after.type), 1 << 30))
    odd = pc.or_(long, pc.match_substring_regex(text, f"{PADDED}|[^0-9.+-]"))
    return (i for i in _rows(odd) if not _read_well(text[i].as_py(), after[i].as_py(), str(after.type)))


def _read_well(text: str, number: Any, kind: str) -> bool:
    """Is the number that a text says this one, or the nearest of its kind, with as many digits as that tells apart?"""
    try:
        said = Decimal(text.strip())
    except ArithmeticError:
        return False
    if re.match(PADDED, text):
        return False
    if not said.is_finite():
        return isinstance(number, float) and (math.isnan(number) if said.is_nan() else number == float(said))
    if kind not in DIGITS or re.fullmatch(WHOLE, text):
        return math.isfinite(number) and said == Decimal(number)
    digits = len(said.normalize().as_tuple().digits)
    return digits <= DIGITS[kind] and math.isfinite(number) and (number != 0) == (said != 0)


def _same(one: Any, other: Any) -> bool:
    """Values as Python has them, of the same sort; a decimal number is what the shortest text of a double says."""
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

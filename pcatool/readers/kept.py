"""Columns passed through many inputs, in the types of the first, where that leaves every value what it is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.types as pat

from pcatool.errors import DataError, show

__all__ = ["as_first"]

TEXT = "text"
NUMBER = "number"

# Digits that a number does not keep.
PADDED = r"^\s*[+-]?0[0-9]"


def as_first(
    kept: Sequence[Any], types: Sequence[tuple[str, Any]], name: str, place: Callable[[int], str]
) -> list[Any]:
    """The columns of some rows of an input; `place` tells where a row of them stands."""
    return [_cast(array, kind, column, name, place) for array, (column, kind) in zip(kept, types, strict=True)]


def _cast(array: Any, kind: Any, column: str, name: str, place: Callable[[int], str]) -> Any:
    if array.type == kind:
        return array
    if pat.is_dictionary(array.type):
        return _cast(array.dictionary_decode(), kind, column, name, place)
    here, there = _family(array.type), _family(kind)
    try:
        if here not in (None, TEXT, there) and there != TEXT:
            raise ValueError
        cast = array.cast(kind)
        changed = _changed_row(array, cast)
    except (ValueError, NotImplementedError):  # bases of what Arrow raises
        raise DataError(
            f"{name}: column {show(column)} holds {array.type}, in the first input {kind}",
            "give the inputs one by one",
        ) from None
    if changed is not None:
        raise DataError(
            f"{place(changed)}, column {show(column)}: {show(array[changed].as_py())} would not stay what it is as "
            f"{kind}, the type of the first input",
            f"give the inputs one by one, or {name} first",
        )
    return cast


def _family(kind: Any) -> Any:
    """What a value of this type says; one of another family says something else by the same digits."""
    if isinstance(kind, pa.BaseExtensionType):
        return _family(kind.storage_type)
    if pat.is_dictionary(kind):
        return _family(kind.value_type)
    if pat.is_null(kind):
        return None
    if pat.is_integer(kind) or pat.is_floating(kind) or pat.is_decimal(kind):
        return NUMBER
    if "string" in str(kind) or "binary" in str(kind):
        return TEXT
    if pat.is_timestamp(kind):
        return "date" if kind.tz is None else "moment"
    if pat.is_date(kind):
        return "date"
    if pat.is_nested(kind):
        return [_family(kind.field(i).type) for i in range(kind.num_fields)]
    return str(kind).split("[")[0].rstrip("3264")  # time32[s] and time64[us] are of one family


def _changed_row(before: Any, after: Any) -> int | None:
    """The first row of which the value does not come back from the other type."""
    import pyarrow.compute as pc

    to, read = _family(after.type), _family(before.type) == TEXT
    if to == TEXT or before.null_count == len(before):
        return None
    if read and to == NUMBER and not pat.is_integer(after.type):
        changed = pc.match_substring_regex(before, PADDED)
        if pat.is_floating(after.type):
            said = pc.match_substring_regex(before, "inf", ignore_case=True)
            changed = pc.or_(changed, pc.and_not(pc.is_inf(after), said))
        return _first(changed)
    back = after.cast(before.type)
    if pat.is_nested(before.type):
        rows = () if before.equals(back) else range(len(before))
        return next((i for i in rows if repr(before[i].as_py()) != repr(back[i].as_py())), None)
    changed = pc.not_equal(before, back)
    if pat.is_floating(before.type):
        changed = pc.and_not(changed, pc.and_(pc.is_nan(before), pc.is_nan(back)))
    return _first(changed)


def _first(changed: Any) -> int | None:
    found = changed.fill_null(False).index(True).as_py()
    return None if found < 0 else int(found)

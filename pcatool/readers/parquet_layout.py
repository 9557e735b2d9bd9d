"""Which columns a Parquet file has, and what it stores for each."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any, NamedTuple

import pyarrow as pa

from pcatool.readers.arrow_columns import column_of, needs_sample
from pcatool.readers.base import Column

__all__ = ["Layout", "layout_of"]


class Layout(NamedTuple):
    """What the schema of a file tells."""

    leaves: list[list[int]]  # for each column the numbers of what Parquet stores for it
    coded: frozenset[int]  # columns with dictionaries, of which damaged files name entries that there are not
    columns: tuple[Column, ...] | None  # where types tell all


class Alike:
    """A schema that is equal to others with the same columns; Arrow's own hash makes an object of each of these."""

    def __init__(self, schema: pa.Schema) -> None:
        self.schema = schema

    def __hash__(self) -> int:
        return len(self.schema)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Alike) and bool(self.schema.equals(other.schema))


def layout_of(schema: pa.Schema) -> Layout:
    """Of many files that are alike it is worked out once."""
    return _layout_of(Alike(schema))


@lru_cache(maxsize=4)
def _layout_of(alike: Alike) -> Layout:
    schema = alike.schema
    told = not any(needs_sample(field.type) for field in schema)
    columns = tuple(column_of(field.name, field.type, None) for field in schema) if told else None
    coded = frozenset(i for i, field in enumerate(schema) if _is_coded(field.type))
    return Layout(list(_leaves(schema)), coded, columns)


def _leaves(fields: Any) -> Iterator[list[int]]:
    """A struct has as many as it has parts."""
    first = 0
    for field in fields:
        count = _count_leaves(field.type)
        yield list(range(first, first + count))
        first += count


def _count_leaves(kind: pa.DataType) -> int:
    if isinstance(kind, pa.BaseExtensionType):
        return _count_leaves(kind.storage_type)
    if pa.types.is_dictionary(kind) or kind.num_fields == 0:
        return 1
    return sum(_count_leaves(kind.field(i).type) for i in range(kind.num_fields))


def _is_coded(kind: pa.DataType) -> bool:
    if isinstance(kind, pa.BaseExtensionType):
        return _is_coded(kind.storage_type)
    return pa.types.is_dictionary(kind) or any(_is_coded(kind.field(i).type) for i in range(kind.num_fields))

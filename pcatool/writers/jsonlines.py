"""Write JSON Lines, one object per row; also the JSON text of nested cells in every text format."""

from __future__ import annotations

import json
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pcatool.errors import UsageError
from pcatool.wording import show
from pcatool.writers.base import PassthroughFields, TextWriter, Values
from pcatool.writers.cells import (
    TEXT_TYPE,
    TextlessType,
    as_text,
    decoded,
    joined,
    literal,
    numbers_as_text,
    string_bytes,
)
from pcatool.writers.sink import Data, Sink

__all__ = ["JsonLinesWriter", "cells_at", "json_tokens"]

# Characters that JSON strings must escape, and their escapes; the backslash first, because the others add backslashes.
ESCAPES = [(c, json.dumps(c)[1:-1]) for c in ("\\", '"', *map(chr, range(32)))]
NEEDS_ESCAPE = r'[\x00-\x1f"\\]'

# An integer scalar, built from a buffer so that Arrow does not import pandas.
ZERO = pa.Array.from_buffers(pa.int64(), 1, [None, pa.py_buffer(bytes(8))])[0]

# Values that together show every sign, width and padding of a float format.
PROBE_VALUES = (0.0, 1.5, -1.5, 1e300)


class JsonLinesWriter(TextWriter):
    """Writer of one JSON object per row. NaN and infinities, which JSON cannot express, become null."""

    def __init__(
        self,
        sink: Sink,
        passthrough: PassthroughFields,
        names: Sequence[str],
        *,
        header: bool = True,
        float_format: str | None = None,
    ) -> None:
        if not header:
            raise UsageError(
                "JSON Lines has no header line: every row contains the column names",
                "leave out --no-output-header, or give --output-format csv",
            )
        if float_format is not None:
            check_format(float_format)
        super().__init__(sink, passthrough, names, float_format=float_format)

    def format_slice(self, passthrough: Sequence[pa.Array], values: Values) -> Data:
        cells = self.texts_of(passthrough, json_tokens)
        cells += [
            numbers_as_text(np.where(np.isfinite(column), column, np.nan), self.float_format) for column in values.T
        ]
        return string_bytes(joined([json_objects(self.names, cells), literal("\n")]))


def check_format(float_format: str) -> None:
    """Raise `UsageError` for a float format, such as "%+.3f", whose output is not a JSON number."""
    for probe in PROBE_VALUES:
        shown = float_format % probe
        try:
            json.loads(shown)
        except ValueError:
            raise UsageError(
                f"--float-format {show(float_format)} gives {show(shown)}, which is not a JSON number",
                "leave the flags '+', '0' and '#' out of the format, or give --output-format csv",
            ) from None


def json_objects(names: Sequence[str], cells: Sequence[pa.Array]) -> pa.Array:
    """Return one JSON object per row; `cells` are columns from `json_tokens`, with the key of each in `names`."""
    pieces: list[pa.Array | pa.Scalar] = []
    for name, column in zip(names, cells, strict=True):
        start = "," if pieces else "{"
        pieces += [literal(f"{start}{json.dumps(name, ensure_ascii=False)}:"), column]
    return joined([*pieces, literal("}" if pieces else "{}")], missing="null")


def json_tokens(column: pa.Array) -> pa.Array:
    """Return the JSON text of each cell of a column of any type; null for a missing, NaN or infinite cell.

    Raise `TextlessType` for a type without a text form.
    """
    import pyarrow.compute as pc

    column = decoded(column)
    kind = column.type
    if pa.types.is_union(kind):
        raise TextlessType
    if pa.types.is_struct(kind):
        return struct_tokens(column)
    if pa.types.is_map(kind):
        return map_tokens(column)
    if pa.types.is_nested(kind):
        return list_tokens(column, json_tokens(column.flatten()), "[", "]")
    if pa.types.is_floating(kind):
        return pc.if_else(pc.is_finite(column), as_text(column), pa.nulls(len(column), TEXT_TYPE))
    words = as_text(column)
    return words if pa.types.is_integer(kind) or pa.types.is_boolean(kind) else quoted(words)


def quoted(words: pa.Array) -> pa.Array:
    """Return texts as JSON strings: in quotes and escaped; null stays null."""
    import pyarrow.compute as pc

    if pc.match_substring_regex(words, NEEDS_ESCAPE).true_count:
        for raw, escaped in ESCAPES:
            words = pc.replace_substring(words, raw, escaped)
    return pc.binary_join_element_wise(literal('"'), words, literal('"'), literal(""))


def struct_tokens(column: pa.Array) -> pa.Array:
    """Return the text of a JSON object for each struct; null (no text) for a missing struct."""
    import pyarrow.compute as pc

    names = [field.name for field in column.type]
    texts = json_objects(names, [json_tokens(child) for child in column.flatten()])
    return pc.if_else(column.is_valid(), texts, pa.nulls(len(column), TEXT_TYPE))


def map_tokens(column: pa.Array) -> pa.Array:
    """Return the text of a JSON object for each map, with the keys as text; null (no text) for a missing map."""
    entry = pa.struct([("key", column.type.key_type), ("value", column.type.item_type)])
    lists = column.cast(pa.list_(entry))
    keys, items = lists.flatten().flatten()
    members = joined([quoted(as_text(decoded(keys))), json_tokens(items)], ":", "null")
    return list_tokens(lists, members, "{", "}")


def list_tokens(column: pa.Array, elements: pa.Array, opening: str, closing: str) -> pa.Array:
    """Return the text of each list in `column`, in these brackets; null for a missing list.

    `elements` holds the JSON text of the elements of all lists, end to end; a missing list has no elements there.
    """
    import pyarrow.compute as pc

    lengths = pc.if_else(column.is_valid(), column.value_lengths(), ZERO.cast(column.value_lengths().type))
    ends = pc.cumulative_sum(lengths.cast(pa.int64()))
    offsets = np.concatenate([[0], np.frombuffer(ends.buffers()[1], np.int64)[: len(ends)]]).astype(np.int64)
    present = pc.if_else(elements.is_valid(), elements, literal("null"))
    kind = pa.large_list(TEXT_TYPE)
    lists = pa.Array.from_buffers(kind, len(column), [None, pa.py_buffer(offsets)], children=[present])
    texts = pc.binary_join_element_wise(
        literal(opening), pc.binary_join(lists, literal(",")), literal(closing), literal("")
    )
    return pc.if_else(column.is_valid(), texts, pa.nulls(len(column), TEXT_TYPE))


def cells_at(column: pa.Array, rows: NDArray[np.intp]) -> list[str | None]:
    """Return the cells of these rows as text, None where a cell is missing; nested cells as JSON."""
    indices = pa.Array.from_buffers(pa.int64(), len(rows), [None, pa.py_buffer(rows.astype(np.int64))])
    taken = decoded(column.take(indices))
    cells: list[str | None] = (json_tokens if pa.types.is_nested(taken.type) else as_text)(taken).to_pylist()
    return cells

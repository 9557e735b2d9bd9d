"""All rows of a small Parquet file, read by whoever makes numbers of them, so that several files are read at once."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from typing import NamedTuple

import pyarrow as pa

from pcatool.arrays import empty_block
from pcatool.readers.arrow_columns import is_exact
from pcatool.readers.arrow_part import Rows
from pcatool.readers.arrow_parts import BadValue, by_column, fill
from pcatool.readers.base import Batch

__all__ = ["WholePart"]


# Reads these columns, one after the other.
Each = Callable[[Sequence[int]], Generator[tuple[int, pa.ChunkedArray], None, None]]


class WholePart(NamedTuple):
    """Rows not yet read."""

    height: int
    rows: Rows
    kept: tuple[int, ...]
    each: Each

    def batch(self) -> Batch:
        rows, kept = self.rows, self.kept
        features, told, places = rows.features, rows.columns, by_column(rows.features)
        X = empty_block(self.height, len(features))
        held: dict[int, pa.Array] = {}
        try:
            with closing(self.each(list(dict.fromkeys([*places, *kept])))) as columns:
                for column, chunks in columns:
                    array = _joined(chunks)
                    if column in places:
                        fill(X, places[column], features, array, told[column])
                    if column in kept or is_exact(array.type):
                        held[column] = array
        except BadValue as error:
            raise error.at(rows.place(error.row)) from None
        return rows.batch(X, held, kept)


def _joined(column: pa.ChunkedArray) -> pa.Array:
    return column.chunk(0) if column.num_chunks == 1 else pa.concat_arrays(column.chunks)

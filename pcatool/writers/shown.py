"""Some cells of a column as text, for a page to show."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pcatool.writers.cells import plain, text
from pcatool.writers.jsonlines import tokens

__all__ = ["cells_at"]


def cells_at(column: pa.Array, rows: NDArray[np.intp]) -> list[str | None]:
    """The cells of these rows as a table of text would hold them; None where they are missing."""
    indices = pa.Array.from_buffers(pa.int64(), len(rows), [None, pa.py_buffer(rows.astype(np.int64))])
    taken = plain(column.take(indices))
    cells: list[str | None] = (tokens if pa.types.is_nested(taken.type) else text)(taken).to_pylist()
    return cells

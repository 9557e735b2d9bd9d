"""Row groups of wide Parquet tables as matrices that are written by columns and read by blocks of rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import pyarrow as pa

from pcatool.arrays import Array, empty_block
from pcatool.readers.arrow_columns import may_exceed_double
from pcatool.readers.arrow_parts import ArrowPart, ArrowRows, BadValue, by_column, fill
from pcatool.readers.base import Batch, RoundedCell, has_above_2_53
from pcatool.resources import Spool

__all__ = ["TransposedGroup", "TransposedInMemory", "TransposedPart"]


class TransposedGroup:
    """A row group as a matrix (rows, d) in a temporary file, written by columns and read by blocks of `height` rows.

    The file holds block after block, each in column order. Threads may write different columns, or read different
    blocks, at the same time. Raises FileError if the file cannot be written.
    """

    def __init__(self, rows: int, d: int, height: int) -> None:
        self.rows, self.d, self.height = rows, d, height
        self._rounded: dict[int, list[RoundedCell]] = {}  # by the first row of the block
        self.finite = True  # no cell that was added is missing or infinite
        self._create()

    def _create(self) -> None:
        """Create the store of the numbers: a temporary file."""
        self._spool = Spool()

    @property
    def starts(self) -> range:
        """Numbers of the first rows of the blocks, counted from 0 in the row group."""
        return range(0, self.rows, self.height)

    def add(self, first: int, start: int, part: ArrowPart, places: Sequence[int]) -> None:
        """Write the features of `part` as the columns from `first` on, from row `start` on, where a block begins.

        `places` are the positions of these features among all features of the table. Of each block, the first cell that
        float64 rounds is kept for `rounded`. Raises DataError for a cell that cannot be read.
        """
        batch = part.batch()
        X = batch.X
        # Checked here, while the cells are in the cache, and not again for each block.
        if not batch.finite:
            self.finite = False
        self.write(first, start, X)
        if any(may_exceed_double(array.type) for array in part.arrays.values()) and has_above_2_53(X):
            for at in range(0, part.rows, self.height):
                cut = {column: array.slice(at, self.height) for column, array in part.arrays.items()}
                rows = min(self.height, part.rows - at)
                cell = part._replace(rows=rows, arrays=cut, first_row=part.first_row + at).batch().rounded()
                if cell is not None:
                    cell = cell._replace(feature=places[cell.feature])
                    self._rounded.setdefault(start + at, []).append(cell)

    def write(self, first: int, start: int, X: Array) -> None:
        """Write X (r, g) as columns from `first` on, from row `start` on, with one write for each block."""
        for at in range(0, len(X), self.height):
            part = X[at : at + self.height]
            offset = (start + at) * self.d + first * len(part)
            self._spool.put([part.ravel(order="F").data.cast("B")], 8 * offset)

    def block(self, start: int) -> Array:
        """Return the rows from `start` to the end of the block, (h, d) with h at most `height`."""
        block = empty_block(min(self.height, self.rows - start), self.d)
        self._spool.get(block.T.data.cast("B"), 8 * start * self.d)
        return block

    def rounded(self, start: int) -> RoundedCell | None:
        """Return a rounded cell of the block that begins at row `start`; None if `add` has kept none for this block.

        If there are several, the cell of the first feature is returned.
        """
        return min(self._rounded.get(start, ()), key=lambda cell: cell.feature, default=None)


class TransposedInMemory(TransposedGroup):
    """Like `TransposedGroup`, with the blocks in memory. Each can be taken once, and then belongs to the caller."""

    def _create(self) -> None:
        self._blocks = {start: empty_block(min(self.height, self.rows - start), self.d) for start in self.starts}

    def write(self, first: int, start: int, X: Array) -> None:
        """Write X (r, g) as columns from `first` on, from row `start` on, where a block begins."""
        for at in range(0, len(X), self.height):
            self._blocks[start + at][:, first : first + X.shape[1]] = X[at : at + self.height]

    def block(self, start: int) -> Array:
        """Return the rows from `start` to the end of the block, (h, d) with h at most `height`, and keep no copy."""
        return self._blocks.pop(start)


class TransposedPart(NamedTuple):
    """A block of rows of a row group whose columns of numbers were read column by column and transposed.

    Its vector columns and passthrough columns were read by rows; `arrays` holds them.
    """

    rows: ArrowRows  # the name of the table, all features, and the position of the block in the table
    transposed: TransposedGroup
    places: Sequence[int]  # positions in the features of the columns of `transposed`
    start: int  # first row of the block in the row group
    arrays: dict[int, pa.Array]  # vector columns and passthrough columns, by column number
    passthrough: tuple[int, ...]  # numbers of the passthrough columns

    def batch(self) -> Batch:
        X, finite = self.transposed.block(self.start), self.transposed.finite
        if len(self.places) < len(self.rows.features):
            X, finite = self._with_vectors(X), False
        return self.rows.batch(X, self.arrays, self.passthrough, finite=finite)._replace(rounded=self._rounded)

    def _with_vectors(self, numbers: Array) -> Array:
        """Return the block (h, d) of all features: `numbers` in their places, and the elements of vector columns."""
        features, columns = self.rows.features, self.rows.columns
        X = empty_block(len(numbers), len(features))
        X[:, self.places] = numbers
        try:
            for column, chosen in by_column(features).items():
                if features[chosen[0]].element is not None:
                    fill(X, chosen, features, self.arrays[column], columns[column])
        except BadValue as error:
            raise error.at(self.rows.place(error.row)) from None
        return X

    def _rounded(self) -> RoundedCell | None:
        return self.transposed.rounded(self.start)

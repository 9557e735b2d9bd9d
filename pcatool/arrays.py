"""Blocks of rows: the `Array` type, and rows re-cut to blocks of one fixed height.

A row stands at the same place of the same block, whatever batches it arrived in. Every sum and product is therefore
taken in the same order and gives the same bits. A block has shape (h, d) and contiguous columns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

__all__ = ["QUEUED_TASKS", "Array", "Runner", "apply_in_blocks", "block_rows", "recut", "run_serially"]

Array = NDArray[np.float64]


Item = TypeVar("Item")
Result = TypeVar("Result")

# Cells in a block: a quarter of a million keep numpy and Arrow busy, and several such blocks need little memory.
CELLS = 1 << 18
MOST_ROWS = 1 << 13
# Blocks of many columns hold more cells: the fixed cost of each column must not outweigh the cost of its cells.
TALL_ROWS, TALL_CELLS = 1 << 10, 1 << 20
FEWEST_ROWS = 1 << 4

# Tasks queued or finished beyond the number of threads: enough that no thread runs out of work, few enough to bound
# memory.
QUEUED_TASKS = 1


class Runner(Protocol):
    """Callable that applies a function to each item, perhaps in several threads, and keeps the order of the items."""

    def __call__(
        self,
        function: Callable[[Item], Result],
        items: Iterable[Item],
        *,
        ready: Callable[[], bool] | None = None,
        most: int | None = None,
    ) -> Iterator[Result]:
        """Yield `function(item)` for each item, in order.

        At most `most` tasks are under way at once. `ready` returns False while the next item may take long to arrive;
        finished results are then yielded first.
        """
        ...


def run_serially(
    function: Callable[[Item], Result],
    items: Iterable[Item],
    *,
    ready: Callable[[], bool] | None = None,
    most: int | None = None,
) -> Iterator[Result]:
    """Apply `function` to each item in the calling thread; a `Runner` that ignores `ready` and `most`."""
    return map(function, items)


def block_rows(d: int) -> int:
    """Return the number of rows in a block of d columns: a power of two."""
    rows = max(_rows_of(CELLS, d), min(TALL_ROWS, _rows_of(TALL_CELLS, d)))
    return min(max(rows, FEWEST_ROWS), MOST_ROWS)


def _rows_of(cells: int, d: int) -> int:
    """Return the largest power of two of rows that hold at most `cells` cells; 1 if one row holds more."""
    return 1 << max(cells // max(d, 1), 1).bit_length() - 1


def empty_block(rows: int, d: int) -> Array:
    """Return an uninitialised block, (rows, d), with contiguous columns."""
    return np.empty((d, rows)).T


def recut(batches: Iterable[Array], d: int) -> Iterator[Array]:
    """Yield the rows of `batches` in blocks of `block_rows(d)` rows; the last block may be shorter.

    A batch that already is such a block is passed on without a copy.
    """
    height = block_rows(d)
    block, filled = empty_block(height, d), 0
    for X in batches:
        if filled == 0 and len(X) == height and X.flags.f_contiguous:
            yield X
            continue
        at = 0
        while at < len(X):
            take = min(height - filled, len(X) - at)
            block[filled : filled + take] = X[at : at + take]
            filled, at = filled + take, at + take
            if filled == height:
                yield block
                block, filled = empty_block(height, d), 0
    if filled:
        yield np.asfortranarray(block[:filled])


def apply_in_blocks(function: Callable[[Array], Array], X: Array, first_row: int) -> Array:
    """Return `function(X)`, computed in whole blocks so that the bits do not depend on how the rows were cut.

    `function` must work row by row. `first_row` is the number of the first row of X in the input. A product of fewer
    rows may round differently, so each part is placed in a block of zeros, where it stands in the input.
    """
    d = X.shape[1]
    height = block_rows(d)
    parts: list[Array] = []
    at = 0
    while at < len(X) or not parts:
        offset = (first_row + at) % height
        take = min(height - offset, len(X) - at)
        if take == height:
            block = np.asfortranarray(X[at : at + height])
        else:
            block = np.zeros((d, height)).T
            block[offset : offset + take] = X[at : at + take]
        parts.append(function(block)[offset : offset + take])
        at += take
    return parts[0] if len(parts) == 1 else np.concatenate(parts)

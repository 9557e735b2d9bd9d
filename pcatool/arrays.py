"""Blocks of rows: the `Array` type, and rows re-cut to blocks of one fixed height.

However the rows arrived, the same row stands at the same place of the same block, so every sum and every product is
taken in the same order and gives the same bits. A block is (h, d) with contiguous columns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

__all__ = ["AHEAD", "Array", "Runner", "block_rows", "by_block", "in_turn", "recut"]

Array = NDArray[np.float64]


Item = TypeVar("Item")
Result = TypeVar("Result")

# A quarter of a million cells keep numpy and Arrow busy, and several blocks in memory cheap.
CELLS = 1 << 18
MOST_ROWS = 1 << 13
# Of many columns a block takes more rows: what each column costs by itself must not outweigh its cells.
TALL_ROWS, TALL_CELLS = 1 << 10, 1 << 20
FEWEST_ROWS = 1 << 4

# Tasks of threads that wait or are done beyond those being worked on: enough that no thread runs dry, few enough for
# memory.
AHEAD = 1


class Runner(Protocol):
    """Who does a function of each item; the results come in the order of the items."""

    def __call__(
        self,
        function: Callable[[Item], Result],
        items: Iterable[Item],
        *,
        ready: Callable[[], bool] | None = None,
        most: int | None = None,
    ) -> Iterator[Result]:
        """At most `most` at once; `ready` tells when the next item may be a long time in coming."""
        ...


def in_turn(
    function: Callable[[Item], Result],
    items: Iterable[Item],
    *,
    ready: Callable[[], bool] | None = None,
    most: int | None = None,
) -> Iterator[Result]:
    """One after the other, here and now."""
    return map(function, items)


def block_rows(d: int) -> int:
    """Rows in a block of d columns: a power of two."""
    rows = max(_rows_of(CELLS, d), min(TALL_ROWS, _rows_of(TALL_CELLS, d)))
    return min(max(rows, FEWEST_ROWS), MOST_ROWS)


def _rows_of(cells: int, d: int) -> int:
    return 1 << max(cells // max(d, 1), 1).bit_length() - 1


def empty_block(rows: int, d: int) -> Array:
    return np.empty((d, rows)).T


def recut(batches: Iterable[Array], d: int) -> Iterator[Array]:
    """The same rows in blocks of `block_rows(d)`; the last may be shorter. A batch that is a block passes as it is."""
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


def by_block(function: Callable[[Array], Array], X: Array, first_row: int) -> Array:
    """`function` row by row over X, whose first row is number `first_row` of the input.

    A product of fewer rows may give other bits, so each part is laid at its place in a whole block of zeros.
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

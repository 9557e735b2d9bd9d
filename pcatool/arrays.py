"""Blocks of rows: the `Array` type, rows re-cut to blocks of one fixed height, and sums over blocks.

A row has the same place in the same block, whatever batches it arrived in. Every sum and product is therefore computed
in the same order and gives the same bits. A block has shape (h, d) and contiguous columns.

An `Accumulator` says how sums over rows are computed: it makes partial sums of each block, or of each split of the
input, and merges neighbouring ones. An `Engine` runs this work: threads merge in the order of the items by `fold`, a
cluster merges in a tree.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from typing import Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from pcatool.errors import DataError

__all__ = [
    "QUEUED_TASKS",
    "SERIAL",
    "SLAB_ROWS",
    "WAITING_BYTES",
    "Accumulator",
    "Array",
    "ArraySum",
    "Block",
    "Engine",
    "LocalEngine",
    "NoRows",
    "Runner",
    "apply_in_blocks",
    "block_rows",
    "empty_block",
    "fold",
    "most_tasks",
    "nothing_to_fit",
    "orthonormality",
    "recut",
    "run_serially",
    "slabs",
]

Array = NDArray[np.float64]


Item = TypeVar("Item")
Part = TypeVar("Part")
Result = TypeVar("Result")

# Cells in a block: a quarter of a million keep numpy and Arrow busy, and several such blocks need little memory.
CELLS = 1 << 18
MOST_ROWS = 1 << 13
# Blocks of many columns hold more cells: the fixed cost of each column must not outweigh the cost of its cells.
TALL_ROWS, TALL_CELLS = 1 << 10, 1 << 20
FEWEST_ROWS = 1 << 4

# Rows of a d x d matrix in one task: enough for matrix products at full speed, and few enough for all cores.
SLAB_ROWS = 512

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

        At most `most` calls are under way at once; None leaves the number to the runner. `ready` returns False while
        the next item may take long to arrive; the results of calls under way are then yielded first.
        """
        ...


def run_serially(
    function: Callable[[Item], Result],
    items: Iterable[Item],
    *,
    ready: Callable[[], bool] | None = None,
    most: int | None = None,
) -> Iterator[Result]:
    """Yield `function(item)` for each item, computed in this thread; a `Runner` that ignores `ready` and `most`."""
    return map(function, items)


def block_rows(d: int) -> int:
    """Return the number of rows in a block of d columns: a power of two, at most MOST_ROWS, that depends on d alone."""
    rows = max(_rows_of(CELLS, d), min(TALL_ROWS, _rows_of(TALL_CELLS, d)))
    return min(max(rows, FEWEST_ROWS), MOST_ROWS)


def _rows_of(cells: int, d: int) -> int:
    """Return the largest power of two of rows that hold at most `cells` cells; 1 if one row holds more."""
    return 1 << max(cells // max(d, 1), 1).bit_length() - 1


def empty_block(rows: int, d: int) -> Array:
    """Return an uninitialised block, (rows, d), with contiguous columns."""
    return np.empty((d, rows)).T


def recut(batches: Iterable[Array], d: int) -> Iterator[Array]:
    """Yield the rows of `batches`, each (h, d), in blocks of `block_rows(d)` rows; the last block may be shorter.

    A batch of that height with contiguous columns is yielded without a copy if no rows of earlier batches wait.
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


def slabs(d: int) -> list[slice]:
    """Return slices of at most SLAB_ROWS rows that cover the d rows of a matrix."""
    return [slice(at, min(at + SLAB_ROWS, d)) for at in range(0, d, SLAB_ROWS)]


def apply_in_blocks(function: Callable[[Array], Array], X: Array, first_row: int) -> Array:
    """Return `function(X)`, computed in whole blocks so that the bits do not depend on how the rows were cut.

    `function` maps a block to as many rows, each computed from one row of the block alone. `first_row` is the number,
    from 0, of the first row of X (n, d) in the input. A product of fewer rows may round differently, so rows that do
    not fill a block are copied into a block of zeros, at the places that they have in their block of the input.
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


def orthonormality(B: Array) -> float:
    """Return the largest absolute entry of B^T B - I, for B (d, k): 0 if its columns are orthonormal."""
    off = B.T @ B
    off.flat[:: len(off) + 1] -= 1.0
    return float(np.maximum(np.abs(off.max()), np.abs(off.min())))


# --- sums ---

# Rows (h, d) and their weights (h,), or None without weights; most accumulators add up such items.
Block = tuple[Array, Array | None]

# Most bytes of joined rows and results that all tasks under way take; a single task may take more.
WAITING_BYTES = 128 << 20


class Accumulator(ABC, Generic[Item, Part]):
    """Recipe for sums over items, such as blocks of rows or splits of the input.

    `of_block` computes the part (partial sums) of one item, `merge` joins two parts, and `finish` turns the part of all
    items into the result. The recipe holds no sums and never changes; it can be pickled for other processes.
    """

    @property
    def part_bytes(self) -> int:
        """Bytes of memory that one part takes; the larger a part, the fewer parts are computed at the same time."""
        return 1

    @property
    def height(self) -> int:
        """Least number of rows of joined blocks, so that merging parts costs little; 0 if blocks are not joined."""
        return 0

    @abstractmethod
    def of_block(self, block: Item) -> Part:
        """Return the partial sums of one item."""

    @abstractmethod
    def merge(self, one: Part, other: Part) -> Part:
        """Return the partial sums of the items of `one` followed by the items of `other`.

        `one` may be overwritten, except in an accumulator for clusters, which may run a merge again.
        """

    def finish(self, part: Part) -> Part:
        """Return the result, from the part that covers all items; called once, in the process that uses the result."""
        return part


class ArraySum(Accumulator[Item, Array]):
    """Accumulator whose result is the sum of the arrays `function(item)` over all items.

    `nbytes` is the size of one array in bytes.
    """

    def __init__(self, function: Callable[[Item], Array], nbytes: int = 1) -> None:
        self.function = function
        self.nbytes = nbytes

    @property
    def part_bytes(self) -> int:
        """Bytes of one array of the sum."""
        return self.nbytes

    def of_block(self, block: Item) -> Array:
        """Return `function(block)`."""
        return self.function(block)

    def merge(self, one: Array, other: Array) -> Array:
        """Return the sum of both arrays."""
        return one + other

    def finish(self, part: Array) -> Array:
        """Return the sum with 0.0 in place of -0.0."""
        return part + 0.0


class Engine(Protocol):
    """Runs functions on items: in this thread, in threads of this process (`engines.threads`), or on a cluster."""

    def map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> Iterable[Result]:
        """Return `function(item)` of every item, in the order of the items."""
        ...

    def reduce(self, items: Iterable[Item], accumulator: Accumulator[Item, Part]) -> Part:
        """Return the result of `accumulator` over all items, merged in their order; raise `NoRows` without items."""
        ...


class LocalEngine(Engine, Protocol):
    """Engine in this process, which may begin before all items have arrived; its `map` is a `Runner`."""

    def map(
        self,
        function: Callable[[Item], Result],
        items: Iterable[Item],
        *,
        ready: Callable[[], bool] | None = None,
        most: int | None = None,
    ) -> Iterator[Result]:
        """Yield `function(item)` for each item; `ready` and `most` are as in `arrays.Runner`."""
        ...


class NoRows(DataError):
    """Error of a fit whose input has no rows."""


def nothing_to_fit() -> NoRows:
    """Return the error for a fit whose input has no rows."""
    return NoRows("the input has no rows to fit", "give an input with at least one row of data")


def fold(accumulator: Accumulator[Item, Part], parts: Iterable[Part]) -> Part:
    """Return the result of `accumulator` from the parts of all items, merged in order; raise `NoRows` without parts."""
    total: Part | None = None
    for part in parts:
        total = part if total is None else accumulator.merge(total, part)
        del part  # otherwise it would take memory while the next part is computed
    if total is None:
        raise nothing_to_fit()
    return accumulator.finish(total)


def most_tasks(size: int, joined: int = 0) -> int:
    """Return how many tasks may be under way, at least 1, so that they take at most WAITING_BYTES together.

    Each task takes `size` bytes for its result, and `joined` bytes for rows of several blocks that it joins.
    """
    return max(WAITING_BYTES // max(size + joined, 1), 1)


class Serial:
    """Engine that works in the calling thread, one item after the other."""

    map = staticmethod(run_serially)

    def reduce(self, items: Iterable[Item], accumulator: Accumulator[Item, Part]) -> Part:
        """Return the result of `accumulator` over all items; raise `NoRows` without items."""
        return fold(accumulator, map(accumulator.of_block, items))


SERIAL = Serial()

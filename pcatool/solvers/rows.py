"""Rows of a fit for the solvers: blocks in order, kept while few, and kept for further passes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from pcatool.arrays import (
    SERIAL,
    Accumulator,
    Array,
    Block,
    LocalEngine,
    Runner,
    empty_block,
    fold,
    most_tasks,
    nothing_to_fit,
)
from pcatool.errors import FileError
from pcatool.progress import KeptRows
from pcatool.resources import Spool, release_free_memory, temporary_folder

__all__ = ["AT_ONCE", "HELD_BYTES", "SMALL_BYTES", "BlockStore", "Rows", "first_heavy_row"]

Place = tuple[int, int, int]  # where a block is in the file, and its shape: offset in bytes, rows, columns
Kept = Array | Place  # a block in memory, or its place in the file


def _rows_in(kept: Kept) -> int:
    """Return the number of rows of a block."""
    return kept[1] if isinstance(kept, tuple) else len(kept)


def _bytes_of(kept: Kept) -> int:
    """Return the bytes of the numbers of a block."""
    return 8 * kept[1] * kept[2] if isinstance(kept, tuple) else kept.nbytes


class BlockStore:
    """Blocks of rows in order, in memory and in a temporary file; iteration reads the blocks.

    Up to `memory` bytes stay in memory, later blocks go to the file. If the file cannot be written, blocks stay in
    memory up to `spare` bytes in total, and then `FileError` is raised. `rows` and `bytes` count all blocks.
    """

    def __init__(self, memory: int, spare: int = 0) -> None:
        self._memory, self._beside_file, self._spare = memory, memory, spare
        self._blocks: list[Kept] = []
        self._spool: Spool | None = None
        self._end = 0  # end of the file in bytes
        self.rows = self.bytes = 0

    def add(self, block: Array) -> None:
        """Append a block (h, d) with contiguous columns."""
        self.rows, self.bytes = self.rows + len(block), self.bytes + block.nbytes
        if self.bytes > self._memory > self._beside_file:
            self.allow(self._beside_file)
        self._blocks.append(block if self.bytes <= self._memory else self._written(block))

    def allow(self, memory: int, beside_file: int | None = None) -> None:
        """Let the first `memory` bytes stay in memory from now on: blocks move from the file to memory, or back.

        If all blocks take more, the first `beside_file` bytes stay in memory, by default `memory`.
        """
        self._beside_file = memory if beside_file is None else min(beside_file, memory)
        self._memory, total = memory if self.bytes <= memory else self._beside_file, 0
        for at, kept in enumerate(self._blocks):
            total += _bytes_of(kept)
            if total <= self._memory:
                self._blocks[at] = self.read(kept)
            elif not isinstance(kept, tuple):
                self._blocks[at] = self._written(kept)
        if not self.file_bytes:
            self._spool = None

    @property
    def file_bytes(self) -> int:
        """Bytes of the blocks that are in the file."""
        return sum(_bytes_of(kept) for kept in self._blocks if isinstance(kept, tuple))

    @property
    def memory_bytes(self) -> int:
        """Bytes of the blocks that are in memory."""
        return sum(_bytes_of(kept) for kept in self._blocks if not isinstance(kept, tuple))

    def _written(self, block: Array) -> Kept:
        """Write a block to the file and return its place; return the block if the file fails but `spare` is enough."""
        try:
            if self._spool is None:
                self._spool = Spool()
            self._spool.put([block.T.data.cast("B")], self._end)
        except FileError:
            if self.bytes > self._spare + block.nbytes:
                raise
            return block
        place = (self._end, len(block), block.shape[1])
        self._end += block.nbytes
        return place

    def __iter__(self) -> Iterator[Array]:
        return map(self.read, self._blocks)

    def unread(self) -> Iterator[Kept]:
        """Return the blocks in order, as `read` takes them: a block in memory, or the place of a block in the file."""
        return iter(self._blocks)

    def drain(self) -> Iterator[Array]:
        """Yield the blocks in order for the last time, and free the memory of each block after it."""
        self._blocks.reverse()
        while self._blocks:
            yield self.read(self._blocks.pop())
        self._spool = None

    def read(self, kept: Kept) -> Array:
        """Return a block that is in memory, or read it from its place in the file; safe to call from any thread."""
        if not isinstance(kept, tuple):
            return kept
        assert self._spool is not None
        place, rows, d = kept
        block = empty_block(rows, d)
        self._spool.get(block.T.data.cast("B"), place)
        return block


Part = TypeVar("Part")
Result = TypeVar("Result")

# Blocks up to this size in total are kept, in memory or in a file, so that the number of rows is known.
SMALL_BYTES = 32 << 20

# Bytes of kept blocks that stay in memory, so that memory does not grow with the rows; later blocks go to a file.
HELD_BYTES = 1 << 20

# Bytes of blocks to copy before their memory is given back.
AT_ONCE = 32 << 20

# Copies of rows while missing cells are filled: rows minus the origin, filled rows, and masks.
FILLING = 3

# Least weight of a row that may be the origin, as a share of the largest weight. A share of 1e-6 costs at most three
# digits, those of its square root; a lighter row would cost too many.
LIGHT = 1e-6

Blocks = Iterable[Array]


class Rows:
    """Blocks of rows with their weights. With `weighted`, the last column of every block holds the weights.

    The constructor reads and keeps up to `small` bytes (SMALL_BYTES), or up to `hold_rows` rows if that is more; up to
    `hold_memory()` bytes of these stay in memory, the others go to a temporary file. If these are all rows, their
    number `n` is known before a solver is chosen; else n is None. `at_least` rows will come for certain: if these are
    too many to be kept, the constructor reads only the first block.

    If there are several passes, the first keeps the blocks as they were read, in memory if all take at most `memory`
    bytes; else in a temporary file, but for the first `memory_beside_file` bytes (by default `memory`). `reread`
    returns all blocks again instead, where that costs little: those of a table in memory. `prepare` is applied to the
    rows of each block whenever the block is used. `check_count(n)` raises `RefusedError` if a fit of n rows held in
    memory would need too much memory; `matrix` calls it while rows arrive, since the rows of a pipe cannot be counted
    first.
    """

    def __init__(
        self,
        blocks: Blocks,
        *,
        weighted: bool = False,
        hold_rows: int = 0,
        hold_memory: Callable[[], int] = lambda: HELD_BYTES,
        at_least: int = 0,
        reread: Callable[[], Blocks] | None = None,
        engine: LocalEngine = SERIAL,
        prepare: Callable[[Array], Array] | None = None,
        small: int | None = None,
        check_count: Callable[[int], None] = lambda count: None,
    ) -> None:
        small = SMALL_BYTES if small is None else small
        self._weighted = weighted
        self._prepare = prepare
        self._filled: Callable[[Array], Array] | None = None
        self._rest = iter(blocks)
        self._reread = reread
        self._engine = engine
        self._check_count = check_count
        self._several = self._started = False
        self.memory = HELD_BYTES  # most bytes of rows that stay in memory for several passes
        self.memory_beside_file: int | None = None  # the same beside a file, if less
        self._store = BlockStore(HELD_BYTES, SMALL_BYTES)
        self._first: Array | None = None
        self.complete = True  # whether all rows are in the store
        for block in self._rest:
            if self._first is None:
                self._first = _first_cells(*self._split(block))
                self._store.allow(hold_memory())  # known once reading has begun
            self._store.add(block)
            rows = max(self._store.rows, at_least)
            if rows * self.row_bytes > small and rows > hold_rows:
                self.complete = False
                break
        if self.complete:
            release_free_memory()
        self.n = self._store.rows if self.complete else None
        self.small = self.complete and self._store.bytes <= small  # whether all rows take few bytes

    @property
    def buffered_rows(self) -> int:
        """Number of rows that the constructor has read."""
        return self._store.rows

    @property
    def held_bytes(self) -> int:
        """Bytes of the rows that are in memory now."""
        return self._store.memory_bytes

    def leave_memory(self) -> None:
        """Move the rows that the constructor has read to the temporary file, but for HELD_BYTES."""
        self._store.allow(HELD_BYTES)
        release_free_memory()

    @property
    def row_bytes(self) -> int:
        """Bytes of one row with its weight; 0 without rows."""
        return self._store.bytes // max(self._store.rows, 1)

    @property
    def must_be_kept(self) -> bool:
        """Whether the rows are stored here for several passes; if not, `reread` gives them again for each pass."""
        return self.complete or self._reread is None

    @property
    def kept(self) -> KeptRows | None:
        """Bytes in memory and in the file of the rows that are kept for several passes; None if none are kept."""
        in_memory, in_file = self._store.memory_bytes, self._store.file_bytes
        if not self._several or not in_memory + in_file:
            return None
        return KeptRows(in_memory, in_file, temporary_folder() if in_file else None)

    def codes(self) -> NDArray[np.bool_]:
        """Return a mask (d,) of columns that look like codes: whole numbers in the first block, not only 0 and 1."""
        block = next(iter(self._store), np.empty((0, 0)))
        X = block[:, :-1] if self._weighted else block
        with np.errstate(invalid="ignore"):
            whole = ((np.floor(X) == X) | np.isnan(X)).all(axis=0)
            return np.asarray(whole & ((X != 0) & (X != 1) & ~np.isnan(X)).any(axis=0))

    def has_missing(self) -> bool:
        """Return whether a cell is missing in the rows that the constructor has read."""
        return any(bool(np.isnan(block).any()) for block in self._store)

    @property
    def origin(self) -> Array:
        """The first row (d,) whose weight is at least LIGHT times the largest weight in the first block.

        A missing cell in this row is replaced by the first observed cell of its column in the first block; the cell
        stays NaN if the column has no observed cell in this block. Raise `NoRows` without rows.
        """
        if self._first is None:
            raise nothing_to_fit()
        return self._first

    def center_and_fill(self, values: Array, origin: Array) -> None:
        """Make all later passes return the rows minus `origin` (d,), then with `values` (d,) in the missing cells."""

        def filled(X: Array) -> Array:
            X = X - origin
            missing = np.isnan(X)
            return np.where(missing, values, X) if missing.any() else X

        self._filled = filled
        first = self.origin - origin
        self._first = np.where(np.isnan(first), values, first)

    def several_passes(self) -> None:
        """Allow several passes: the first pass keeps all blocks, unless `reread` can give them again.

        Call before the first pass; later calls change nothing.
        """
        if self.must_be_kept and not self._several:
            self._several = True
            self._store.allow(self.memory, self.memory_beside_file)
            release_free_memory()

    def reduce(self, accumulator: Accumulator[Block, Part]) -> Part:
        """Return the sums over all rows by the accumulator, in one pass; raise `NoRows` without rows."""
        parts = self.map(accumulator.of_block, size=accumulator.part_bytes, height=accumulator.height)
        return fold(accumulator, parts)

    def map(self, function: Callable[[Block], Result], *, size: int, height: int = 0) -> Iterator[Result]:
        """Apply `function` to every block, in one pass, and yield the results in order.

        Blocks are joined until they have `height` rows. A result takes `size` bytes, which limits the number of blocks
        that threads work on at the same time. For results that can be added up, use `reduce`.
        """

        def work(kept: list[Kept]) -> Result:
            if len(kept) == 1:
                return function(self._split(self._store.read(kept[0])))
            X = np.concatenate([self._store.read(one) for one in kept])
            kept.clear()  # free the rows, which X holds now
            return function(self._split(X))

        joined = 8 * height * len(self.origin) if height else 0
        first = not self._started
        yield from self._engine.map(work, self._joined(height), most=most_tasks(size, joined))
        if first:  # other sizes follow; a later pass reuses the memory of the first
            release_free_memory()

    @property
    def run(self) -> Runner:
        """Function that runs tasks in the threads that also read the rows."""
        return self._engine.map

    def joined(self, height: int) -> Iterator[Block]:
        """Yield consecutive rows, at least `height` at a time but for the last, and their weights; make one pass.

        The caller may overwrite the rows. For sums over rows, use `reduce`.
        """
        for blocks in self._joined(height):
            yield self._joined_block(blocks)  # without a name here, so that the caller can free the rows

    def _joined_block(self, blocks: list[Kept]) -> Block:
        """Return the rows of the blocks and their weights; empties the list."""
        table = np.concatenate([self._store.read(one) for one in blocks])
        blocks.clear()
        return self._split(table)

    def _joined(self, height: int) -> Iterator[list[Kept]]:
        """Yield lists of consecutive blocks with at least `height` rows together; the last list may have fewer."""
        waiting: list[Kept] = []
        for kept in self._blocks():
            waiting.append(kept)
            if sum(map(_rows_in, waiting)) >= height:
                yield waiting
                waiting = []
        if waiting:
            yield waiting

    def _split(self, block: Array) -> Block:
        """Return the rows of a block, prepared and with missing cells filled, and their weights, if any."""
        X, w = self._prepared(block)
        return X if self._filled is None else self._filled(X), w

    def _prepared(self, block: Array) -> Block:
        """Return the rows of a block after `prepare`, and their weights, if any."""
        X, w = (block[:, :-1], block[:, -1]) if self._weighted else (block, None)
        return X if self._prepare is None else self._prepare(X), w

    def _split_in_place(self, table: Array) -> Block:
        """Return the prepared rows of `table` and their weights, if any, as `_split` does, but may change `table`.

        Missing cells are filled some rows at a time, without a second table; the bits do not depend on that. Row means
        are computed from the whole table, since their bits may depend on how rows are stored.
        """
        X, w = self._prepared(table)
        if self._filled is not None:
            step = max(AT_ONCE // (FILLING * 8 * X.shape[1]), 1)
            for at in range(0, len(X), step):
                X[at : at + step] = self._filled(X[at : at + step])
        return X, w

    def _blocks(self) -> Iterator[Kept]:
        """Return the blocks of one pass, from the store, the first reading or `reread`.

        Stored blocks are read by `BlockStore.read`, in the thread that works on the block.
        """
        if self.complete or (self._started and self._several):
            return self._store.unread()
        if not self._started:
            self._started = True
            return self._first_pass()
        assert self._reread is not None, "several_passes must be called before the first pass"
        return iter(self._reread())

    def _first_pass(self) -> Iterator[Kept]:
        """Yield the stored blocks and those still to be read; store these if there are several passes."""
        yield from list(self._store.unread()) if self._several else self._store.drain()
        for block in self._rest:
            if self._several:
                self._store.add(block)
            yield block

    def matrix(self) -> Block:
        """Return all rows as one matrix (n, d) that the caller may change, and their weights (n,) or None.

        Without rows, the matrix is (0, 0). Raise `RefusedError` if the rows need more than the memory limit. Unless the
        rows are `small`, the stored blocks are used up: this is then the last pass.
        """
        if self.small:
            return self._split_in_place(self._joined_store()) if self.n else (np.zeros((0, 0)), None)
        blocks: list[Array] = []
        count = 0
        stored = self.complete or (self._started and self._several)
        for block in self._store.drain() if stored else map(self._store.read, self._blocks()):
            blocks.append(block)
            count += len(block)
            self._check_count(count)
        self.complete, self._started = False, True
        if not blocks:
            return np.zeros((0, 0)), None
        release_free_memory()
        X = np.empty((sum(len(block) for block in blocks), blocks[0].shape[1]))
        at, copied = len(X), 0
        while blocks:  # from the end; each block is freed once it is copied
            block = blocks.pop()
            X[at - len(block) : at] = block
            at, copied = at - len(block), copied + block.nbytes
            if copied > AT_ONCE:
                del block
                release_free_memory()
                copied = 0
        release_free_memory()
        return self._split_in_place(X)

    def _joined_store(self) -> Array:
        """Return the stored rows in one table with contiguous columns; only one block is in memory besides it."""
        X, at = None, 0
        for block in self._store:
            if X is None:
                X = empty_block(self._store.rows, block.shape[1])
            X[at : at + len(block)] = block
            at += len(block)
        assert X is not None
        del block
        release_free_memory()
        return X


def first_heavy_row(w: Array | None) -> int:
    """Return the index of the first row whose weight is at least LIGHT times the largest; 0 without weights.

    This row can be the origin: the rounding error of a difference from a row is relative to that row, and a row of tiny
    weight may be far from the mean.
    """
    return 0 if w is None else int(np.argmax(w >= LIGHT * w.max()))


def _first_cells(X: Array, w: Array | None) -> Array:
    """Return the row `first_heavy_row` of X, missing cells replaced by the first observed cells of their columns."""
    first = X[first_heavy_row(w)]
    missing = np.isnan(first)
    if not missing.any():
        return np.array(first)
    return np.asarray(np.where(missing, X[(~np.isnan(X)).argmax(axis=0), np.arange(X.shape[1])], first))

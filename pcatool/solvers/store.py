"""Blocks kept for later: the first few in memory, the others in a temporary file."""

from __future__ import annotations

from collections.abc import Iterator

from pcatool.arrays import Array, empty_block
from pcatool.errors import FileError
from pcatool.resources import Spool

__all__ = ["Store"]

Place = tuple[int, int, int]  # in the file: byte, rows, columns


class Store:
    """Blocks in their order, up to `memory` bytes of them in memory; up to `spare` where no file can take them."""

    def __init__(self, memory: int, spare: int = 0) -> None:
        self._memory, self._spare = memory, spare
        self._blocks: list[Array | Place] = []
        self._spool: Spool | None = None
        self._end = 0  # of the file
        self.rows = self.bytes = 0

    def add(self, block: Array) -> None:
        """One more block, (h, d) with contiguous columns."""
        self.rows, self.bytes = self.rows + len(block), self.bytes + block.nbytes
        self._blocks.append(block if self.bytes <= self._memory else self._written(block))

    def _written(self, block: Array) -> Array | Place:
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
        return map(self._read, self._blocks)

    def drain(self) -> Iterator[Array]:
        """The blocks for the last time: each is let go of as it is handed out."""
        self._blocks.reverse()
        while self._blocks:
            yield self._read(self._blocks.pop())
        self._spool = None

    def _read(self, kept: Array | Place) -> Array:
        if not isinstance(kept, tuple):
            return kept
        assert self._spool is not None
        place, rows, d = kept
        block = empty_block(rows, d)
        self._spool.get(block.T.data.cast("B"), place)
        return block

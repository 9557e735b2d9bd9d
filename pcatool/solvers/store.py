"""Blocks kept for later: the first few in memory, the others in a temporary file."""

from __future__ import annotations

from collections.abc import Iterator

from pcatool.blocks import empty_block
from pcatool.model import Array
from pcatool.spool import Spool

__all__ = ["Store"]


class Store:
    """Blocks in their order, up to `memory` bytes of them in memory."""

    def __init__(self, memory: int) -> None:
        self._memory = memory
        self._held: list[Array] = []
        self._spool: Spool | None = None
        self._shapes: list[tuple[int, int]] = []  # of the blocks in the file
        self._end = 0  # of the file
        self.rows = self.bytes = 0

    def add(self, block: Array) -> None:
        """One more block, (h, d) with contiguous columns."""
        self.rows, self.bytes = self.rows + len(block), self.bytes + block.nbytes
        if self._spool is None and self.bytes <= self._memory:
            self._held.append(block)
            return
        if self._spool is None:
            self._spool = Spool()
        self._spool.put([block.T.data.cast("B")], self._end)
        self._end += block.nbytes
        self._shapes.append((len(block), block.shape[1]))

    def __iter__(self) -> Iterator[Array]:
        yield from self._held
        yield from self._written()

    def drain(self) -> Iterator[Array]:
        """The blocks for the last time: each is let go of as it is handed out."""
        self._held.reverse()
        while self._held:
            yield self._held.pop()
        yield from self._written()
        self._spool = None

    def _written(self) -> Iterator[Array]:
        place = 0
        for rows, d in self._shapes:
            assert self._spool is not None
            block = empty_block(rows, d)
            self._spool.get(block.T.data.cast("B"), place)
            place += block.nbytes
            yield block

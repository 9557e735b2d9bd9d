"""An object as a file: read from front to back with the next pieces under way, or in parts."""

from __future__ import annotations

from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor

from pcatool.errors import FileError
from pcatool.stores.objects import Ranges

__all__ = ["RemoteBytes"]

# The first bytes tell the format, and of a Parquet file nothing else is wanted from there.
FIRST = 1 << 16
# What is asked for at once, and how many of them are under way: a store answers each at the rate of a slow disk.
PIECE = 8 << 20
UNDER_WAY = 3


class RemoteBytes:
    """The same as `FileBytes` of the readers, of an object in a store."""

    regular = True

    def __init__(self, ranges: Ranges, name: str) -> None:
        self.name = name
        self.failure: FileError | None = None  # which a library may have hidden behind an error of its own
        self.taken = 0  # bytes read one after the other
        self._ranges = ranges
        self._pool = ThreadPoolExecutor(UNDER_WAY)
        self._coming: deque[Future[bytes]] = deque()
        self._asked = 0  # bytes of the sequence that were asked for
        self._piece = memoryview(b"")

    @property
    def size(self) -> int:
        return self._ranges.size

    def read(self, size: int, /) -> bytes:
        if not self._piece:
            self._piece = memoryview(self._next())
        data, self._piece = bytes(self._piece[:size]), self._piece[size:]
        self.taken += len(data)
        return data

    def _next(self) -> bytes:
        first = self._asked == 0
        while self._asked < self.size and len(self._coming) < (1 if first else UNDER_WAY):
            length = min(FIRST if first else PIECE, self.size - self._asked)
            self._coming.append(self._pool.submit(self._part, self._asked, length))
            self._asked += length
        return self._coming.popleft().result() if self._coming else b""

    def pread(self, size: int, offset: int) -> bytes:
        """A part; a large one in pieces at the same time."""
        size = max(0, min(size, self.size - offset))
        if size <= PIECE:
            return self._part(offset, size) if size else b""
        starts = range(offset, offset + size, PIECE)
        pieces = self._pool.map(lambda start: self._part(start, min(PIECE, offset + size - start)), starts)
        return b"".join(pieces)

    def _part(self, offset: int, size: int) -> bytes:
        try:
            return self._ranges.part(offset, size)
        except FileError as error:
            self.failure = error
            raise

    def ready(self) -> bool:
        return True

    def check_unchanged(self) -> None:
        """All was read: it must have been of one and the same object."""
        self._ranges.check_unchanged()

    def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)
        self._ranges.close()

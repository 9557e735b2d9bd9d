"""What comes through a pipe, kept as it is read the first time, so that it can be read once more."""

from __future__ import annotations

import os
from collections.abc import Callable

from pcatool.readers.streams import FileBytes
from pcatool.resources import cannot_spool

__all__ = ["Copy"]


class Copy:
    """One input that can be read only once, and the nameless temporary file with its bytes."""

    def __init__(self) -> None:
        self._kept: FileBytes | None = None
        self._begin = 0

    def open(self, descriptor: Callable[[], int], name: str) -> FileBytes:
        """The input itself the first time, then what was read of it."""
        if self._kept is not None:
            again = FileBytes(os.dup(self._kept.descriptor), name)
            os.lseek(again.descriptor, self._begin, os.SEEK_SET)
            return again
        first = FileBytes(descriptor(), name)
        if first.regular:  # a file on standard input, from where it stands
            self._begin = os.lseek(first.descriptor, 0, os.SEEK_CUR)
            self._kept = FileBytes(os.dup(first.descriptor), name)
            return first
        self._kept = _nameless(name)
        return Tee(first, self._kept)


class Tee(FileBytes):
    """An input whose bytes are written to a file as they are read."""

    def __init__(self, source: FileBytes, kept: FileBytes) -> None:
        super().__init__(source.descriptor, source.name)
        self._source = source  # which closes the descriptor
        self._kept = kept

    def read(self, size: int, /) -> bytes:
        data = super().read(size)
        rest = memoryview(data)
        try:
            while rest:
                rest = rest[os.write(self._kept.descriptor, rest) :]
        except OSError as error:
            raise cannot_spool(error, "a pipe") from None
        return data

    def close(self) -> None:
        self._closed = True
        self._source.close()


def _nameless(name: str) -> FileBytes:
    from tempfile import TemporaryFile

    try:
        with TemporaryFile(buffering=0) as file:
            return FileBytes(os.dup(file.fileno()), name)
    except OSError as error:
        raise cannot_spool(error, "a pipe") from None

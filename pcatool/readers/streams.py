"""Byte streams: files and pipes, streams that can be peeked at, seekable files, and copies of a pipe."""

from __future__ import annotations

import os
import select
import stat
from collections.abc import Callable
from io import SEEK_CUR, SEEK_SET, RawIOBase
from typing import Any, Protocol

from pcatool.errors import FileError
from pcatool.resources import cannot_spool

__all__ = [
    "ByteStream",
    "File",
    "FileBytes",
    "LineEndCheck",
    "Peekable",
    "PipeCopy",
    "Readable",
    "Seekable",
    "copy_to_file",
    "read_whole",
]

# Bytes per read where a whole stream is copied.
READ_BYTES = 1 << 20


class ByteStream(Protocol):
    """A source of bytes that are read once, in order."""

    def read(self, size: int, /) -> bytes:
        """Return at least one byte and at most `size`, waiting if none has arrived; b"" at the end, then always."""
        ...

    def ready(self) -> bool:
        """Whether `read` returns without waiting."""
        ...


class FileBytes:
    """A file descriptor, read without buffering, so that a line on a slow pipe is seen when it arrives.

    Deleting the object closes the descriptor, so that it does not stay open after an error.
    """

    def __init__(self, descriptor: int, name: str) -> None:
        self.descriptor = descriptor
        self.name = name
        self.regular = stat.S_ISREG(os.fstat(descriptor).st_mode)
        self.bytes_read = 0  # bytes returned by `read` so far
        self._closed = False

    @property
    def size(self) -> int:
        return os.fstat(self.descriptor).st_size

    def read(self, size: int, /) -> bytes:
        while True:
            try:
                data = os.read(self.descriptor, size)
                self.bytes_read += len(data)
                return data
            except BlockingIOError:  # another program set the pipe to non-blocking
                self._wait(None)
            except OSError as error:
                raise FileError.from_os(self.name, "read", error) from None

    def pread(self, size: int, offset: int) -> bytes:
        """Return up to `size` bytes of a regular file from `offset`; at most 2 GB per call."""
        return os.pread(self.descriptor, size, offset)

    def ready(self) -> bool:
        return self.regular or self._wait(0)

    def _wait(self, milliseconds: int | None) -> bool:
        """Wait at most this long, without limit if None; return whether data or the end of the pipe has come."""
        poll = select.poll()
        poll.register(self.descriptor, select.POLLIN)
        return bool(poll.poll(milliseconds))

    def check_unchanged(self) -> None:
        """Do nothing: a descriptor stays with its file, even if another file takes the name."""

    def close(self) -> None:
        """Close the descriptor, except that of standard input, which belongs to the caller of the program."""
        if not self._closed and self.descriptor != 0:
            os.close(self.descriptor)
        self._closed = True

    def __del__(self) -> None:
        if hasattr(self, "_closed"):
            self.close()


class File(ByteStream, Protocol):
    """The origin of the bytes of an input: a file, a pipe, or an object in a store."""

    regular: bool  # has a size, and any part of it can be read
    bytes_read: int  # bytes returned by `read` so far

    @property
    def size(self) -> int: ...

    def pread(self, size: int, offset: int) -> bytes:
        """Return bytes from `offset`, without moving the position of `read`; for regular files only."""
        ...

    def check_unchanged(self) -> None:
        """Raise FileError if the bytes read so far are known to come from several versions of the file."""
        ...

    def close(self) -> None: ...


class Peekable:
    """A stream whose first bytes can be peeked at before they are read."""

    def __init__(self, stream: ByteStream) -> None:
        self._stream = stream
        self._peeked = b""

    def peek(self, size: int, needs_more: Callable[[bytes], bool]) -> bytes:
        """Return the next bytes without consuming them: at most `size`, fewer once `needs_more(bytes)` is false."""
        head = self._peeked
        while len(head) < size and needs_more(head):
            more = self._stream.read(size - len(head))
            if not more:
                break
            head += more
        self._peeked = head
        return head[:size]

    def read(self, size: int, /) -> bytes:
        if self._peeked:
            data, self._peeked = self._peeked[:size], self._peeked[size:]
            return data
        return self._stream.read(size)

    def ready(self) -> bool:
        return bool(self._peeked) or self._stream.ready()


class LineEndCheck:
    """A stream of lines that calls `on_cut` if it ends in the middle of a line."""

    def __init__(self, stream: ByteStream, on_cut: Callable[[], None]) -> None:
        self._stream = stream
        self._on_cut = on_cut
        self._last = b"\n"

    def read(self, size: int, /) -> bytes:
        data = self._stream.read(size)
        if not data and self._last not in b"\r\n":
            self._on_cut()
        self._last = data[-1:] or b"\n"
        return data

    def ready(self) -> bool:
        return self._stream.ready()


class Readable(RawIOBase):
    """A stream as a Python file object, as Arrow needs."""

    def __init__(self, stream: ByteStream) -> None:
        self._stream = stream

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        data = self._stream.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)


class Seekable(RawIOBase):
    """A regular file as a Python file object with its own position, independent of that of the descriptor."""

    def __init__(self, file: File) -> None:
        self._file = file
        self._position = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def seek(self, offset: int, whence: int = SEEK_SET, /) -> int:
        # Arrow seeks before each read: the system is asked for the size only if the size matters.
        origin = 0 if whence == SEEK_SET else self._position if whence == SEEK_CUR else self._file.size
        self._position = origin + offset
        return self._position

    def read(self, size: int = -1, /) -> bytes:
        if size < 0:
            size = self._file.size - self._position
        pieces = []
        while size > 0 and (data := self._file.pread(size, self._position)):
            pieces.append(data)
            self._position += len(data)
            size -= len(data)
        return b"".join(pieces)


def copy_to_file(stream: ByteStream, name: str) -> FileBytes:
    """Copy a stream to a nameless temporary file and return that; `name` is for messages.

    Raises FileError if the temporary file cannot be written.
    """
    from tempfile import TemporaryFile

    try:
        with TemporaryFile() as copy:
            while data := stream.read(READ_BYTES):
                copy.write(data)
            copy.flush()
            return FileBytes(os.dup(copy.fileno()), name)
    except OSError as error:
        raise cannot_spool(error, "input from a pipe") from None


def read_whole(stream: ByteStream) -> bytes:
    """Return all bytes of a stream."""
    pieces = []
    while data := stream.read(READ_BYTES):
        pieces.append(data)
    return b"".join(pieces)


class PipeCopy:
    """Keeps the bytes of an input that can be read only once in a nameless temporary file, for a second reading."""

    def __init__(self) -> None:
        self._kept: FileBytes | None = None
        self._begin = 0

    def open(self, descriptor: Callable[[], int], name: str) -> FileBytes:
        """Return the input itself on the first call, and the kept copy of its bytes on later calls.

        `descriptor` opens the input. A regular file on standard input is not copied but read again from the same place.
        """
        if self._kept is not None:
            again = FileBytes(os.dup(self._kept.descriptor), name)
            os.lseek(again.descriptor, self._begin, os.SEEK_SET)
            return again
        first = FileBytes(descriptor(), name)
        if first.regular:  # a file on standard input, read from its current position
            self._begin = os.lseek(first.descriptor, 0, os.SEEK_CUR)
            self._kept = FileBytes(os.dup(first.descriptor), name)
            return first
        self._kept = _unnamed_file(name)
        return CopyingFile(first, self._kept)


class CopyingFile(FileBytes):
    """An input whose bytes are also written to a file as they are read."""

    def __init__(self, source: FileBytes, kept: FileBytes) -> None:
        super().__init__(source.descriptor, source.name)
        self._source = source  # closes the descriptor
        self._kept = kept

    def read(self, size: int, /) -> bytes:
        data = super().read(size)
        rest = memoryview(data)
        try:
            while rest:
                rest = rest[os.write(self._kept.descriptor, rest) :]
        except OSError as error:
            raise cannot_spool(error, "input from a pipe") from None
        return data

    def close(self) -> None:
        self._closed = True
        self._source.close()


def _unnamed_file(name: str) -> FileBytes:
    """Create an empty temporary file without a name in any folder; `name` is for messages. Raises FileError."""
    from tempfile import TemporaryFile

    try:
        with TemporaryFile(buffering=0) as file:
            return FileBytes(os.dup(file.fileno()), name)
    except OSError as error:
        raise cannot_spool(error, "input from a pipe") from None

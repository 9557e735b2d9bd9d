"""Byte streams: files and pipes with a look ahead, seekable ranges, copies of a pipe."""

from __future__ import annotations

import os
import select
import stat
from collections.abc import Callable
from io import SEEK_CUR, SEEK_END, SEEK_SET, RawIOBase
from typing import Any, Protocol

from pcatool.errors import FileError
from pcatool.resources import cannot_spool

__all__ = [
    "ByteStream",
    "Copy",
    "File",
    "FileBytes",
    "Lines",
    "Peekable",
    "Readable",
    "Seekable",
    "read_whole",
    "spooled",
]

READ = 1 << 20


class ByteStream(Protocol):
    """`read` gives what is there, at least one byte, or nothing at the end; once at the end it stays there."""

    def read(self, size: int, /) -> bytes: ...

    def ready(self) -> bool:
        """Would `read` answer at once?"""
        ...


class FileBytes:
    """A file descriptor, read without buffering so that a line on a slow pipe is seen when it comes.

    It closes with the object, too: an error may leave no other time for it.
    """

    def __init__(self, descriptor: int, name: str) -> None:
        self.descriptor = descriptor
        self.name = name
        self.regular = stat.S_ISREG(os.fstat(descriptor).st_mode)
        self.taken = 0  # bytes read one after the other
        self._closed = False

    @property
    def size(self) -> int:
        return os.fstat(self.descriptor).st_size

    def read(self, size: int, /) -> bytes:
        while True:
            try:
                data = os.read(self.descriptor, size)
                self.taken += len(data)
                return data
            except BlockingIOError:  # another program made the pipe answer at once, always
                self._wait(None)
            except OSError as error:
                raise FileError.from_os(self.name, "read", error) from None

    def pread(self, size: int, offset: int) -> bytes:
        """A part of a regular file; at most 2 GB at a time."""
        return os.pread(self.descriptor, size, offset)

    def ready(self) -> bool:
        return self.regular or self._wait(0)

    def _wait(self, milliseconds: int | None) -> bool:
        poll = select.poll()
        poll.register(self.descriptor, select.POLLIN)
        return bool(poll.poll(milliseconds))

    def check_unchanged(self) -> None:
        """A descriptor stays with its file, even when another gets the name."""

    def close(self) -> None:
        """Standard input is not ours to close."""
        if not self._closed and self.descriptor != 0:
            os.close(self.descriptor)
        self._closed = True

    def __del__(self) -> None:
        if hasattr(self, "_closed"):
            self.close()


class File(ByteStream, Protocol):
    """Where bytes come from in the end: a file, a pipe, an object in a store."""

    regular: bool  # it has a size, and any part of it can be read
    taken: int  # bytes read one after the other

    @property
    def size(self) -> int: ...

    def pread(self, size: int, offset: int) -> bytes: ...

    def check_unchanged(self) -> None:
        """Raise an error where what was read is known to be of several states of the file."""
        ...

    def close(self) -> None: ...


class Peekable:
    """A stream whose beginning can be looked at before it is read."""

    def __init__(self, stream: ByteStream) -> None:
        self._stream = stream
        self._pushed = b""

    def peek(self, size: int, undecided: Callable[[bytes], bool]) -> bytes:
        """The first bytes; waits for `size` of them only while fewer leave something undecided."""
        head = b""
        while len(head) < size and undecided(head):
            more = self._stream.read(size - len(head))
            if not more:
                break
            head += more
        self._pushed = head
        return head

    def read(self, size: int, /) -> bytes:
        if self._pushed:
            data, self._pushed = self._pushed[:size], self._pushed[size:]
            return data
        return self._stream.read(size)

    def ready(self) -> bool:
        return bool(self._pushed) or self._stream.ready()


class Lines:
    """A stream of lines, which calls back when it ends in the middle of one."""

    def __init__(self, stream: ByteStream, cut: Callable[[], None]) -> None:
        self._stream = stream
        self._cut = cut
        self._last = b"\n"

    def read(self, size: int, /) -> bytes:
        data = self._stream.read(size)
        if not data and self._last not in b"\r\n":
            self._cut()
        self._last = data[-1:] or b"\n"
        return data

    def ready(self) -> bool:
        return self._stream.ready()


class Readable(RawIOBase):
    """A stream as the file object that Arrow asks for."""

    def __init__(self, stream: ByteStream) -> None:
        self._stream = stream

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        data = self._stream.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)


class Seekable(RawIOBase):
    """A regular file from its first byte, whatever the place its descriptor stands at."""

    def __init__(self, file: File) -> None:
        self._file = file
        self._at = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = SEEK_SET, /) -> int:
        origin = {SEEK_SET: 0, SEEK_CUR: self._at, SEEK_END: self._file.size}[whence]
        self._at = origin + offset
        return self._at

    def read(self, size: int = -1, /) -> bytes:
        if size < 0:
            size = self._file.size - self._at
        pieces = []
        while size > 0 and (data := self._file.pread(size, self._at)):
            pieces.append(data)
            self._at += len(data)
            size -= len(data)
        return b"".join(pieces)


def spooled(stream: ByteStream, name: str) -> FileBytes:
    """The whole stream in a nameless temporary file."""
    from tempfile import TemporaryFile

    try:
        with TemporaryFile() as copy:
            while data := stream.read(READ):
                copy.write(data)
            copy.flush()
            return FileBytes(os.dup(copy.fileno()), name)
    except OSError as error:
        raise cannot_spool(error, "a pipe") from None


def read_whole(stream: ByteStream) -> bytes:
    pieces = []
    while data := stream.read(READ):
        pieces.append(data)
    return b"".join(pieces)


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

"""One input opened: its bytes, unpacked and in UTF-8, and the format that they are in."""

from __future__ import annotations

import os
import stat
from functools import partial

from pcatool.errors import DataError, FileError, show
from pcatool.progress import Notices
from pcatool.readers.compression import MAGICS, compression_of, decompressed
from pcatool.readers.encodings import MARKS, as_utf8
from pcatool.readers.paths import STDIN, Input
from pcatool.readers.streams import ByteStream, File, FileBytes, Lines, Peekable, Seekable, read_whole, spooled
from pcatool.registry import READERS
from pcatool.stores.uri import is_remote

__all__ = ["MODEL", "ZIP", "Input", "Opened", "read_beginning", "read_file", "read_whole"]

MODEL = "model"
ZIP = b"PK\x03\x04"
PARQUET = READERS["parquet"].magic
FOREIGN = {
    b"ARROW1\x00\x00": "an Arrow file",
    b"SQLite format 3\x00": "an SQLite database",
    b"\x89HDF\r\n\x1a\n": "an HDF5 file",
    b"\x93NUMPY": "a numpy file",
    b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1": "an old spreadsheet",
    b"\xfd7zXZ\x00": "xz-compressed",
    b"%PDF-": "a PDF",
    b"\x89PNG\r\n": "a picture",
    b"\xff\xd8\xff": "a picture",
    b"\x7fELF": "a program",
    b"7z\xbc\xaf": "a 7z archive",
    b"PK\x05\x06": "an empty zip archive",
    b"\x04\x22\x4d\x18": "lz4-compressed",
    b"Obj\x01": "an Avro file",
    b"\xff\xff\xff\xff": "an Arrow stream",
    **{b"\x80" + bytes([protocol, opcode]): "a Python pickle" for protocol in (2, 3, 4, 5) for opcode in b"\x95](}cK"},
}
BEGINNINGS = (*MAGICS, *MARKS, *FOREIGN, ZIP, PARQUET)
# A Parquet file goes on with a control character, text does not.
HEAD = max(len(PARQUET) + 1, *map(len, BEGINNINGS))
TEXT_CONTROLS = b"\t\n\r"


class Opened:
    """An input with its format found."""

    def __init__(self, source: Input, input_format: str | None, encoding: str, notices: Notices | None = None) -> None:
        self.input = source
        self.one_of_many = False
        self.lent = False
        self.name = source.name
        self._raw = _file(source)
        self._copy: FileBytes | None = None
        self._whole = self._raw.size if self._raw.regular else 0
        stream = Peekable(self._raw)
        head = stream.peek(HEAD, _undecided)
        kind = compression_of(head)
        self._packed = kind is not None
        if kind is not None:
            stream = Peekable(decompressed(stream, kind, source.name))
            head = stream.peek(HEAD, _undecided)
            if compression_of(head) is not None:
                raise DataError(f"{source.name} is compressed twice", "unpack it once")
        self.format = _format(source, head, input_format)
        is_text = self.format not in (MODEL, "parquet")
        self.stream: ByteStream = as_utf8(stream, encoding, head, source.name) if is_text else stream
        # Whoever writes a file may leave out the last line end; a program that is cut off in a pipe does, too.
        if is_text and notices and not self._raw.regular and not self._packed:
            self.stream = Lines(self.stream, partial(_tell_cut, self.name, notices))

    @property
    def size(self) -> int | None:
        """Bytes of the text or table itself, where they can be told beforehand."""
        return self._raw.size if self._raw.regular and not self._packed else None

    @property
    def taken(self) -> int:
        """Bytes that were read of it so far, as they come."""
        return self._raw.taken

    def share(self) -> float | None:
        """How much of it was read, from 0 to 1; None of a pipe."""
        return min(self._raw.taken / self._whole, 1.0) if self._whole else None

    def seekable(self) -> Seekable:
        """The whole input as a file that can seek: itself, or a copy of what comes through a pipe or packed.

        Each call gives one with a place of its own.
        """
        if self._raw.regular and not self._packed:
            return Seekable(self._raw)
        if self._copy is None:
            self._copy = spooled(self.stream, self.name)
        return Seekable(self._copy)

    def lend(self) -> None:
        """It is read by another thread later, which closes it."""
        self.lent = True

    @property
    def remote(self) -> bool:
        """Does each look at a part of it take as long as reading much?"""
        return self._copy is None and is_remote(self.input.path)

    @property
    def failure(self) -> FileError | None:
        """What went wrong on the way, where a library has made an error of its own of it."""
        return getattr(self._raw, "failure", None)

    def check_unchanged(self) -> None:
        """All was read: raise an error where it was changed meanwhile, as objects in stores may be."""
        self._raw.check_unchanged()

    def close(self) -> None:
        self._raw.close()
        if self._copy is not None:
            self._copy.close()


def _tell_cut(name: str, notices: Notices) -> None:
    notices.note(f"{name} ends in the middle of a line: if what writes it failed, its last row may be cut off")


def _undecided(head: bytes) -> bool:
    """Would more bytes tell more?"""
    return head == PARQUET or any(magic != head and magic.startswith(head) for magic in BEGINNINGS)


def _format(source: Input, head: bytes, input_format: str | None) -> str:
    """The format that the first bytes tell; of those that they do not, the one insisted on or the name's."""
    if head.startswith(ZIP):
        return MODEL
    for magic, what in FOREIGN.items():
        if head.startswith(magic):
            raise DataError(f"{source.name} is {what}, not a table", "give CSV or Parquet")
    by_name = input_format or source.format or "csv"
    following = head.removeprefix(PARQUET)[:1]
    is_parquet = head.startswith(PARQUET) and (
        following < b" " and following not in TEXT_CONTROLS if following else by_name == "parquet"
    )
    if is_parquet:
        if by_name != "parquet" and input_format is not None:
            raise DataError(f"{source.name} is Parquet, not {input_format}", f"leave out --input-format {input_format}")
        return "parquet"
    if input_format == "parquet":
        raise DataError(f"{source.name} is not Parquet: it does not begin with PAR1", "check the file")
    return "csv" if by_name == "parquet" else by_name


def _file(source: Input) -> File:
    if source.copy is not None:
        return source.copy.open(partial(_descriptor, source), source.name)
    if not is_remote(source.path):
        return FileBytes(_descriptor(source), source.name)
    from pcatool.stores.objects import RemoteBytes, open_object

    found = open_object(source.path)
    return FileBytes(found, source.name) if isinstance(found, int) else RemoteBytes(found, source.name)


def _descriptor(source: Input) -> int:
    if source.path == STDIN:
        try:
            os.fstat(0)
        except OSError:
            raise FileError("standard input is closed", "give a file, or a pipe") from None
        return 0
    try:
        descriptor = os.open(source.place, os.O_RDONLY)
    except OSError as error:
        raise FileError.from_os(source.path, "read", error) from None
    if stat.S_ISDIR(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise FileError(f"cannot read {show(source.path)}: it is a folder", "name a file in it")
    return descriptor


def read_file(source: Input, magic: bytes) -> bytes:
    """All bytes of an input that begins as it should; of another, which may have no end, only the first few."""
    file = _file(source)
    try:
        stream = Peekable(file)
        head = stream.peek(len(magic), magic.startswith)
        return read_whole(stream) if head == magic else head
    finally:
        file.close()


def read_beginning(source: Input, size: int) -> bytes:
    """The first bytes of a file, or fewer where it has no more."""
    file = _file(source)
    try:
        return file.read(size)
    finally:
        file.close()

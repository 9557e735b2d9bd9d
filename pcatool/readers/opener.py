"""Open one input: decompress it, decode it to UTF-8, recognise its format."""

from __future__ import annotations

import bz2
import codecs
import io
import os
import stat
import zlib
from functools import partial
from typing import Any

from pcatool.errors import DataError, FileError, UsageError, check_memory, show
from pcatool.progress import Notices
from pcatool.readers.paths import STDIN, Input
from pcatool.readers.streams import (
    ByteStream,
    File,
    FileBytes,
    Lines,
    Peekable,
    Readable,
    Seekable,
    read_whole,
    spooled,
)
from pcatool.registry import READERS
from pcatool.stores.uri import is_remote

__all__ = ["MODEL", "ZIP", "Opened", "read_beginning", "read_file"]

# The mark of UTF-16 LE begins that of UTF-32 LE.
MARKS = {
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
NEWLINE = "\n"
SAME_BYTES = ("utf-8", "utf-8-sig", "ascii")


def as_utf8(stream: ByteStream, encoding: str, head: bytes, name: str) -> ByteStream:
    """The text of a stream that begins with `head`; a mark there counts for more than the encoding named."""
    mark = next((mark for mark in MARKS if head.startswith(mark)), None)
    if mark == codecs.BOM_UTF8:
        stream.read(len(mark))
        return stream
    codec = codecs.lookup(MARKS[mark] if mark else encoding)
    if codec.name in SAME_BYTES:
        return stream
    if not codec._is_text_encoding:
        raise UsageError(f"{show(encoding)} is no encoding of text", "try latin-1, cp1252 or utf-16")
    return Transcoded(stream, codec, name)


class Transcoded:
    """A stream of another encoding as UTF-8."""

    def __init__(self, stream: ByteStream, codec: codecs.CodecInfo, name: str) -> None:
        self._stream = stream
        self._codec = codec
        self._name = name
        self._decoder = codecs.getincrementaldecoder(codec.name)()
        self._line = 1

    def read(self, size: int, /) -> bytes:
        while True:
            data = self._stream.read(size)
            try:
                text = self._decoder.decode(data, final=not data)
            except UnicodeDecodeError as error:
                good, _ = self._codec.decode(error.object[: error.start], "replace")
                place = f"{self._name}, line {self._line + good.count(NEWLINE)}"
                raise DataError(
                    f"{place}: not valid {self._codec.name} ({error.reason})", "name another encoding with --encoding"
                ) from None
            self._line += text.count(NEWLINE)
            if text or not data:
                return text.encode("utf-8", "surrogatepass")

    def ready(self) -> bool:
        return self._stream.ready()


# bzip2 is told by its first block, too: a line of names may well begin with the letters BZh.
MAGICS = {b"\x1f\x8b\x08": "gzip", b"\x28\xb5\x2f\xfd": "zstd"} | {
    b"BZh%d%b" % (level, block): "bz2" for level in range(1, 10) for block in (b"1AY&SY", b"\x17rE8P\x90")
}
# A little may unpack to a thousand times as much.
READ = 1 << 16


def compression_of(head: bytes) -> str | None:
    return next((kind for magic, kind in MAGICS.items() if head.startswith(magic)), None)


def decompressed(stream: ByteStream, kind: str, name: str) -> ByteStream:
    """A compressed stream, its members one after the other; a cut-off one is an error, never a short table."""
    return (ZstdReader if kind == "zstd" else Members)(stream, kind, name)


class Members:
    """gzip or bzip2: what has arrived is unpacked at once."""

    def __init__(self, stream: ByteStream, kind: str, name: str) -> None:
        self._stream = stream
        self._kind = kind
        self._name = name
        self._member: Any = None  # none is open
        self._packed = b""
        self._begun = False  # with the first member
        self._unpacked = io.BytesIO()
        self._left = 0  # to be read of it

    def read(self, size: int, /) -> bytes:
        while self._left == 0:
            self._packed = self._packed or self._stream.read(READ)
            if not self._packed:
                if self._member is not None:
                    raise damaged(self._name, self._kind, "the end is missing")
                return b""
            self._unpack()
        data = self._unpacked.read(size)
        self._left -= len(data)
        return data

    def _unpack(self) -> None:
        if self._member is None and self._kind == "gzip" and self._begun:
            self._packed = self._packed.lstrip(b"\0")  # tapes and disks are padded with zeros; gzip passes over them
            if not self._packed:
                return
        self._begun = True
        if self._member is None:
            self._member = bz2.BZ2Decompressor() if self._kind == "bz2" else zlib.decompressobj(zlib.MAX_WBITS | 16)
        try:
            data = self._member.decompress(self._packed)
        except (OSError, zlib.error) as error:
            check_memory(error)
            raise damaged(self._name, self._kind, str(error)) from None
        self._unpacked, self._left = io.BytesIO(data), len(data)
        self._packed = self._member.unused_data
        if self._member.eof:
            self._member = None

    def ready(self) -> bool:
        return self._left > 0 or self._stream.ready()


class ZstdReader:
    """zstd, by Arrow, which waits until it has as much as was asked for."""

    def __init__(self, stream: ByteStream, kind: str, name: str) -> None:
        self._stream = stream
        self._kind = kind
        self._name = name
        import pyarrow as pa

        self._file = pa.CompressedInputStream(pa.PythonFile(Readable(stream), mode="r"), kind)

    def read(self, size: int, /) -> bytes:
        try:
            return bytes(self._file.read(size))
        except (OSError, ValueError) as error:
            check_memory(error)
            raise damaged(self._name, self._kind, str(error)) from None

    def ready(self) -> bool:
        return self._stream.ready()


def damaged(name: str, kind: str, reason: str) -> DataError:
    return DataError(f"{name}: the {kind} data are damaged or cut off ({reason})", "make the file again")


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

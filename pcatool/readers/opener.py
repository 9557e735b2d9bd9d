"""Open one input: decompress it, recode it to UTF-8, and recognise its format by its first bytes."""

from __future__ import annotations

import bz2
import codecs
import io
import os
import stat
import zlib
from functools import partial
from typing import Any

from pcatool.errors import DataError, FileError, UsageError, check_memory
from pcatool.progress import Reporter
from pcatool.readers.paths import STDIN, Input
from pcatool.readers.streams import (
    ByteStream,
    File,
    FileBytes,
    LineEndCheck,
    Peekable,
    Readable,
    Seekable,
    copy_to_file,
    read_whole,
)
from pcatool.registry import READERS
from pcatool.wording import show

__all__ = ["MODEL", "ZIP", "OpenedInput", "read_beginning", "read_file"]

# Byte order marks and their encodings. UTF-32 LE stands before UTF-16 LE, whose mark is the start of its own.
BYTE_ORDER_MARKS = {
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
NEWLINE = "\n"
# Encodings whose bytes are UTF-8 already.
SAME_BYTES = ("utf-8", "utf-8-sig", "ascii")


def as_utf8(stream: ByteStream, encoding: str, head: bytes, name: str) -> ByteStream:
    """Return the stream recoded to UTF-8, without a UTF-8 byte order mark.

    `head` is the start of the stream, not yet read from it. A byte order mark overrides `encoding`. Raises UsageError
    if `encoding` is not an encoding of text.
    """
    mark = next((mark for mark in BYTE_ORDER_MARKS if head.startswith(mark)), None)
    if mark == codecs.BOM_UTF8:
        stream.read(len(mark))
        return stream
    codec = codecs.lookup(BYTE_ORDER_MARKS[mark] if mark else encoding)
    if codec.name in SAME_BYTES:
        return stream
    if not codec._is_text_encoding:
        raise UsageError(f"{show(encoding)} is not a text encoding", "give a text encoding, such as --encoding latin-1")
    return Transcoded(stream, codec, name)


class Transcoded:
    """A stream in another encoding, read as UTF-8; raises DataError with the line of bytes that are not valid."""

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
                    f"{place}: the text is not valid {self._codec.name} ({error.reason})",
                    "give another encoding, such as --encoding latin-1",
                ) from None
            except UnicodeError as error:  # names no byte: UTF-16 without a byte order mark, for example
                reason = str(error).replace("BOM", "a byte order mark")
                raise DataError(
                    f"{self._name}: the text is not valid {self._codec.name} ({reason})",
                    "give another encoding, such as --encoding utf-16-le",
                ) from None
            self._line += text.count(NEWLINE)
            if text or not data:
                return text.encode("utf-8", "surrogatepass")

    def ready(self) -> bool:
        return self._stream.ready()


# First bytes of compressed data. For bzip2 they include the start of the first block, since a header line may begin
# with the letters BZh.
MAGICS = {b"\x1f\x8b\x08": "gzip", b"\x28\xb5\x2f\xfd": "zstd"} | {
    b"BZh%d%b" % (level, block): "bz2" for level in range(1, 10) for block in (b"1AY&SY", b"\x17rE8P\x90")
}
# Compressed bytes that are read at a time: few, since data may unpack to a thousand times their size.
READ_BYTES = 1 << 16
END_MISSING = "the end is missing"


def compression_of(head: bytes) -> str | None:
    """Return "gzip", "zstd" or "bz2" by the first bytes, or None for other data."""
    return next((kind for magic, kind in MAGICS.items() if head.startswith(magic)), None)


def decompressed(stream: ByteStream, kind: str, name: str) -> ByteStream:
    """Return the decompressed stream; `kind` is "gzip", "zstd" or "bz2".

    If compressed files were joined, all of them are read, in order. Damaged or truncated data raise DataError when they
    are read; the stream never just ends early.
    """
    return (ZstdReader if kind == "zstd" else MemberReader)(stream, kind, name)


class MemberReader:
    """A decompressed gzip or bzip2 stream, which hands out data as soon as compressed bytes arrive."""

    def __init__(self, stream: ByteStream, kind: str, name: str) -> None:
        self._stream = stream
        self._kind = kind
        self._name = name
        self._member: Any = None  # decompressor of the current member
        self._compressed = b""
        self._begun = False  # whether the first member has begun
        self._unpacked = io.BytesIO()
        self._left = 0  # bytes of `_unpacked` not read yet

    def read(self, size: int, /) -> bytes:
        while self._left == 0:
            self._compressed = self._compressed or self._stream.read(READ_BYTES)
            if not self._compressed:
                if self._member is not None:
                    raise damaged_error(self._name, self._kind, END_MISSING)
                return b""
            self._unpack()
        data = self._unpacked.read(size)
        self._left -= len(data)
        return data

    def _unpack(self) -> None:
        """Decompress `_compressed` into `_unpacked`, up to the end of the current member."""
        if self._member is None and self._kind == "gzip" and self._begun:
            self._compressed = self._compressed.lstrip(b"\0")  # zero padding, as on tapes, is skipped as gzip does
            if not self._compressed:
                return
        self._begun = True
        if self._member is None:
            self._member = bz2.BZ2Decompressor() if self._kind == "bz2" else zlib.decompressobj(zlib.MAX_WBITS | 16)
        try:
            data = self._member.decompress(self._compressed)
        except (OSError, zlib.error) as error:
            check_memory(error)
            raise damaged_error(self._name, self._kind, str(error)) from None
        self._unpacked, self._left = io.BytesIO(data), len(data)
        self._compressed = self._member.unused_data
        if self._member.eof:
            self._member = None

    def ready(self) -> bool:
        return self._left > 0 or self._stream.ready()


class ZstdReader:
    """A decompressed zstd stream, read by Arrow; unlike `MemberReader`, waits until all bytes asked for have come."""

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
            reason = END_MISSING if "Truncated" in str(error) else str(error)  # Arrow: Truncated compressed stream
            raise damaged_error(self._name, self._kind, reason) from None

    def ready(self) -> bool:
        return self._stream.ready()


def damaged_error(name: str, kind: str, reason: str) -> DataError:
    """Return the error for damaged or truncated compressed data."""
    return DataError(f"{name}: the {kind} data are damaged or cut off ({reason})", "create the file again")


MODEL = "model"
ZIP = b"PK\x03\x04"
PARQUET = READERS["parquet"].magic
# First bytes of formats that are recognised in order to be refused by name.
REFUSED_FORMATS = {
    b"ARROW1\x00\x00": "an Arrow file",
    b"SQLite format 3\x00": "an SQLite database",
    b"\x89HDF\r\n\x1a\n": "an HDF5 file",
    b"\x93NUMPY": "a numpy file",
    b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1": "an old spreadsheet",
    b"\xfd7zXZ\x00": "an xz-compressed file",
    b"%PDF-": "a PDF",
    b"\x89PNG\r\n": "a picture",
    b"\xff\xd8\xff": "a picture",
    b"\x7fELF": "a program",
    b"7z\xbc\xaf": "a 7z archive",
    b"PK\x05\x06": "an empty zip archive",
    b"\x04\x22\x4d\x18": "an lz4-compressed file",
    b"Obj\x01": "an Avro file",
    b"\xff\xff\xff\xff": "an Arrow stream",
    **{b"\x80" + bytes([protocol, opcode]): "a Python pickle" for protocol in (2, 3, 4, 5) for opcode in b"\x95](}cK"},
}
BEGINNINGS = (*MAGICS, *BYTE_ORDER_MARKS, *REFUSED_FORMATS, ZIP, PARQUET)
# Bytes peeked at to recognise a format: at least one more than "PAR1", since in a Parquet file a control character
# follows and in text none does.
HEAD_BYTES = max(len(PARQUET) + 1, *map(len, BEGINNINGS))
TEXT_CONTROLS = b"\t\n\r"


class OpenedInput:
    """One input, open, with its format recognised; table readers take their bytes from this object.

    Raises FileError if the input cannot be opened, DataError if its format is refused.
    """

    def __init__(
        self, source: Input, input_format: str | None, encoding: str, reporter: Reporter | None = None
    ) -> None:
        self.input = source
        self.one_of_many = False  # the run has several inputs
        self.handed_over = False  # see `hand_over`
        self.name = source.name
        self._raw = _file(source)
        self._copy: FileBytes | None = None
        self._file_size = self._raw.size if self._raw.regular else 0
        stream = Peekable(self._raw)
        head = stream.peek(HEAD_BYTES, _needs_more_bytes)
        kind = compression_of(head)
        self._compressed = kind is not None
        if kind is not None:
            stream = Peekable(decompressed(stream, kind, source.name))
            head = stream.peek(HEAD_BYTES, _needs_more_bytes)
            if compression_of(head) is not None:
                raise DataError(f"{source.name} is compressed twice", "decompress the file once")
        self.format = _format(source, head, input_format)
        is_text = self.format not in (MODEL, "parquet")
        self.stream: ByteStream = as_utf8(stream, encoding, head, source.name) if is_text else stream
        # A missing line end is normal at the end of a file, but in a pipe may mean that the program before it failed.
        if is_text and reporter and not self._raw.regular and not self._compressed:
            self.stream = LineEndCheck(self.stream, partial(_note_cut_line, self.name, reporter))

    @property
    def size(self) -> int | None:
        """Size of the input in bytes; None for a pipe, and for a compressed input, whose unpacked size is unknown."""
        return self._raw.size if self._raw.regular and not self._compressed else None

    @property
    def bytes_read(self) -> int:
        """Bytes read so far, counted before decompression."""
        return self._raw.bytes_read

    def share(self) -> float | None:
        """Return the share of the input read so far, from 0 to 1; None for a pipe or an empty file."""
        return min(self._raw.bytes_read / self._file_size, 1.0) if self._file_size else None

    def seekable(self) -> Seekable:
        """Return the whole input as a file that can seek; each call returns an object with its own position.

        A pipe or a compressed input is copied to a temporary file on the first call.
        """
        if self._raw.regular and not self._compressed:
            return Seekable(self._raw)
        if self._copy is None:
            self._copy = copy_to_file(self.stream, self.name)
        return Seekable(self._copy)

    def hand_over(self) -> None:
        """Set `handed_over`: the thread that reads the rows closes the input, nobody else."""
        self.handed_over = True

    @property
    def remote(self) -> bool:
        """Whether each read is a request to a store, so that a small read takes about as long as a large read.

        False for a temporary copy of a compressed object (see `seekable`).
        """
        return self._copy is None and self.input.remote

    @property
    def failure(self) -> FileError | None:
        """The last error of a read from a store, or None; a library may raise an error of its own in its place."""
        return getattr(self._raw, "failure", None)

    def check_unchanged(self) -> None:
        """Raise FileError if the input changed while it was read, as objects in stores may."""
        self._raw.check_unchanged()

    def close(self) -> None:
        self._raw.close()
        if self._copy is not None:
            self._copy.close()


def _note_cut_line(name: str, reporter: Reporter) -> None:
    """Show the note that a pipe ended in the middle of a line."""
    reporter.note(
        f"{name} ends in the middle of a line: if the program that writes it failed, the last row may be cut off"
    )


def _needs_more_bytes(head: bytes) -> bool:
    """Whether more bytes than `head`, the first bytes, are needed to recognise the format."""
    return head == PARQUET or any(magic != head and magic.startswith(head) for magic in BEGINNINGS)


def _format(source: Input, head: bytes, input_format: str | None) -> str:
    """Return MODEL or the name of a reader, by the first bytes; for text, by `input_format` or else the file name.

    Raises DataError for formats that are not tables, or where the bytes contradict `input_format`.
    """
    if head.startswith(ZIP):
        return MODEL
    for magic, what in REFUSED_FORMATS.items():
        if head.startswith(magic):
            remedy = "decompress the file" if "compressed" in what else "give a CSV or Parquet file"
            raise DataError(f"{source.name} is {what}, not a table", remedy)
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
        raise DataError(
            f"{source.name} is not Parquet: it does not begin with PAR1", "leave out --input-format parquet"
        )
    return "csv" if by_name == "parquet" else by_name


def _file(source: Input) -> File:
    """Open an input for reading its bytes: a file, a pipe, a kept copy of a pipe, or an object in a store."""
    if source.copy is not None:
        return source.copy.open(partial(_descriptor, source), source.name)
    if not source.remote:
        return FileBytes(_descriptor(source), source.name)
    from pcatool.stores.objects import RemoteBytes, open_object

    found = open_object(source.path)
    return FileBytes(found, source.name) if isinstance(found, int) else RemoteBytes(found, source.name)


def _descriptor(source: Input) -> int:
    """Open a local input and return its descriptor, 0 for standard input; raises FileError."""
    if source.path == STDIN:
        try:
            os.fstat(0)
        except OSError:
            raise FileError("standard input is closed", "give a file, or a pipe") from None
        return 0
    try:
        descriptor = os.open(source.local_path, os.O_RDONLY)
    except OSError as error:
        raise FileError.from_os(source.path, "read", error) from None
    if stat.S_ISDIR(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise FileError(f"cannot read {show(source.path)}: it is a folder", "name a file in the folder")
    return descriptor


def read_file(source: Input, magic: bytes) -> bytes:
    """Return all bytes of an input that begins with `magic`; of any other input only the first few bytes.

    The other input may be an endless pipe.
    """
    file = _file(source)
    try:
        stream = Peekable(file)
        head = stream.peek(len(magic), magic.startswith)
        return read_whole(stream) if head == magic else head
    finally:
        file.close()


def read_beginning(source: Input, size: int) -> bytes:
    """Return the first bytes of an input, at most `size`; fewer if a pipe has not sent more yet."""
    file = _file(source)
    try:
        return file.read(size)
    finally:
        file.close()

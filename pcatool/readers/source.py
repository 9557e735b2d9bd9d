"""Where bytes come from: a path, many paths, a glob, a folder, a pipe; whole or compressed, in any encoding."""

from __future__ import annotations

import bz2
import codecs
import gzip
import os
import select
import stat
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from glob import glob, has_magic
from io import RawIOBase
from pathlib import Path
from typing import Any, BinaryIO, Protocol, cast

from pcatool.errors import DataError, FileError, UsageError, show
from pcatool.registry import READERS

__all__ = ["MODEL", "ByteStream", "Input", "Opened", "open_input", "read_file", "read_whole", "resolve", "spooled"]

STDIN = "-"
COMPRESSED = (".gz", ".bz2", ".zst", ".zstd")
# Enough for every magic number below.
MAGIC_BYTES = 4
READ = 1 << 20


@dataclass(frozen=True)
class Input:
    """One input by name, not yet opened."""

    path: str

    @property
    def name(self) -> str:
        return "standard input" if self.path == STDIN else self.path


def resolve(paths: Sequence[str]) -> list[Input]:
    """Inputs in order: globs and folders expanded and sorted; nothing at all means standard input."""
    if not paths:
        return [Input(STDIN)]
    if list(paths).count(STDIN) > 1:
        raise UsageError("standard input is named twice", "name - once")
    found: list[Input] = []
    for path in paths:
        found.extend(Input(p) for p in _expand(path))
    return found


def _expand(path: str) -> list[str]:
    if path == STDIN:
        return [path]
    if path == "":
        raise UsageError("an input has an empty name", "give a path, or - for standard input")
    if Path(path).is_dir():
        files = sorted(str(p) for p in Path(path).rglob("*") if p.is_file() and _is_data(p.relative_to(path)))
        if not files:
            raise FileError(f"no data files in folder {show(path)}", "files in a folder are recognised by their ending")
        return files
    if not os.path.lexists(path) and has_magic(path):
        files = sorted(p for p in glob(path, recursive=True) if Path(p).is_file())
        if not files:
            raise FileError(f"no file matches {show(path)}", "check the pattern")
        return files
    return [path]


def _is_data(path: Path) -> bool:
    """Files of a folder that are tables: a known ending, and not hidden or marked as not data (`_SUCCESS`)."""
    if any(part.startswith((".", "_")) for part in path.parts):
        return False
    return READERS.by_suffix(bare_name(path.name)) is not None


def bare_name(name: str) -> str:
    """The name without a compression's ending."""
    for ending in COMPRESSED:
        if name.lower().endswith(ending):
            return name[: -len(ending)]
    return name


class ByteStream(Protocol):
    """Bytes as they arrive: `read` gives what is there, at least one byte, or nothing at the end."""

    def read(self, size: int, /) -> bytes: ...

    def ready(self) -> bool:
        """Would `read` answer at once?"""
        ...


class FileBytes:
    """A file descriptor, read without buffering so that a line on a slow pipe is seen when it comes."""

    def __init__(self, descriptor: int, name: str) -> None:
        self.descriptor = descriptor
        self.name = name
        self.regular = stat.S_ISREG(os.fstat(descriptor).st_mode)
        self._pushed = b""

    def read(self, size: int, /) -> bytes:
        if self._pushed:
            data, self._pushed = self._pushed[:size], self._pushed[size:]
            return data
        try:
            return os.read(self.descriptor, size)
        except OSError as error:
            raise FileError.from_os(self.name, "read", error) from None

    def close(self) -> None:
        """Standard input is not ours to close."""
        if self.descriptor != 0:
            os.close(self.descriptor)

    def ready(self) -> bool:
        return bool(self._pushed) or self.regular or bool(select.select([self.descriptor], [], [], 0)[0])

    def peek(self, size: int, wanted: Sequence[bytes]) -> bytes:
        """The first bytes; waits for `size` of them only while one of the wanted beginnings is still possible."""
        head = self.read(size)
        while head and len(head) < size and any(w.startswith(head) for w in wanted):
            more = self.read(size - len(head))
            if not more:
                break
            head += more
        self._pushed = head + self._pushed
        return head


class Decompressed:
    """A compressed stream, its members one after the other; a cut-off one is an error, never a short table."""

    def __init__(self, raw: FileBytes, kind: str) -> None:
        self.raw = raw
        self.kind = kind
        file = cast(BinaryIO, _Adapter(raw))
        self._file: Any
        if kind == "gzip":
            self._file = gzip.GzipFile(fileobj=file, mode="rb")
        elif kind == "bzip2":
            self._file = bz2.BZ2File(file)
        else:
            import pyarrow as pa

            self._file = pa.CompressedInputStream(pa.PythonFile(file, mode="r"), "zstd")

    def read(self, size: int, /) -> bytes:
        try:
            return self._file.read1(size) if self.kind != "zstd" else bytes(self._file.read(size))
        except FileError:
            raise
        except (EOFError, OSError, ValueError) as error:
            raise DataError(
                f"{self.raw.name}: the {self.kind} data are damaged or cut off ({error})", "make the file again"
            ) from None
        except Exception as error:  # zlib.error has no base class of its own kind
            if type(error).__name__ != "error":
                raise
            raise DataError(f"{self.raw.name}: the {self.kind} data are damaged ({error})", "make the file again") from None

    def ready(self) -> bool:
        return self.raw.ready()


class _Adapter(RawIOBase):
    """A ByteStream as the file object that decompressors ask for."""

    def __init__(self, raw: FileBytes) -> None:
        self.raw = raw

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        data = self.raw.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)


class Transcoded:
    """Text of another encoding as UTF-8, without its byte-order mark."""

    def __init__(self, raw: ByteStream, encoding: str, name: str) -> None:
        self.raw = raw
        self.name = name
        self.encoding = encoding
        self._decoder = codecs.getincrementaldecoder(encoding)()
        self._line = 1
        self._start = True

    def read(self, size: int, /) -> bytes:
        while True:
            data = self.raw.read(size)
            try:
                text = self._decoder.decode(data, final=not data)
            except UnicodeDecodeError as error:
                raise DataError(
                    f"{self.name}, about line {self._line}: not valid {self.encoding} ({error.reason})",
                    "name the encoding with --encoding",
                ) from None
            self._line += text.count("\n")
            if self._start and text:
                self._start = False
                text = text.removeprefix("\ufeff")
            if text or not data:
                return text.encode("utf-8", "surrogatepass")

    def ready(self) -> bool:
        return self.raw.ready()


class WithoutMark:
    """UTF-8 without its byte-order mark, which is no part of a name."""

    def __init__(self, raw: ByteStream) -> None:
        self.raw = raw
        self._head: bytes | None = b""

    def read(self, size: int, /) -> bytes:
        data = self.raw.read(size)
        if self._head is None:
            return data
        head = self._head + data
        while data and len(head) < 3 and codecs.BOM_UTF8.startswith(head):
            data = self.raw.read(size)
            head += data
        self._head = None
        return head.removeprefix(codecs.BOM_UTF8) or (self.raw.read(size) if data else b"")

    def ready(self) -> bool:
        return self.raw.ready()


@dataclass(frozen=True)
class Opened:
    """An input with its format found: text as a stream, Parquet as something that can seek."""

    input: Input
    format: str
    stream: ByteStream
    file: FileBytes  # the bytes as they lie there

    @property
    def name(self) -> str:
        return self.input.name


ZIP = b"PK\x03\x04"
MODEL = "model"
MAGICS = {b"\x1f\x8b": "gzip", b"BZh": "bzip2", b"\x28\xb5\x2f\xfd": "zstd"}
FOREIGN = {
    b"ARRO": "an Arrow file",
    b"SQLi": "an SQLite database",
    b"\x89HDF": "an HDF5 file",
    b"%PDF": "a PDF",
}


def open_input(source: Input, input_format: str | None, encoding: str) -> Opened:
    """Open an input and find its format: by content first, then by name."""
    file = FileBytes(_descriptor(source), source.name)
    parquet = READERS["parquet"].magic
    head = file.peek(MAGIC_BYTES, [*MAGICS, *FOREIGN, parquet, ZIP])
    if head == ZIP:
        return Opened(source, MODEL, file, file)
    stream: ByteStream = file
    for magic, kind in MAGICS.items():
        if head.startswith(magic):
            stream = Decompressed(file, kind)
            break
    found = "parquet" if head == parquet else None
    if stream is file and found is None and head in FOREIGN:
        raise DataError(f"{source.name} is {FOREIGN[head]}, not a table", "give CSV or Parquet")
    wanted = input_format or found or READERS.by_suffix(bare_name(source.path)) or "csv"
    if wanted == "parquet" and found is None and stream is file:
        if input_format == "parquet" or not head:
            raise DataError(f"{source.name} is not Parquet: it does not begin with PAR1", "check the file")
        wanted = "csv"  # a CSV named .parquet
    if found == "parquet" and wanted != "parquet":
        raise DataError(f"{source.name} is Parquet, not {wanted}", f"leave out --input-format {wanted}")
    if wanted != "parquet":
        stream = _as_utf8(stream, encoding, head, source.name)
    return Opened(source, wanted, stream, file)


def _descriptor(source: Input) -> int:
    if source.path == STDIN:
        try:
            os.fstat(0)
        except OSError:
            raise FileError("standard input is closed", "give a file, or a pipe") from None
        return 0
    try:
        descriptor = os.open(source.path, os.O_RDONLY)
    except OSError as error:
        raise FileError.from_os(source.path, "read", error) from None
    if stat.S_ISDIR(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise FileError(f"cannot read {show(source.path)}: it is a folder")
    return descriptor


def _as_utf8(stream: ByteStream, encoding: str, head: bytes, name: str) -> ByteStream:
    canonical = codecs.lookup(encoding).name
    if canonical in ("utf-8", "utf-8-sig", "ascii"):
        if head[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
            return Transcoded(stream, "utf-16", name)
        return WithoutMark(stream)
    return Transcoded(stream, canonical, name)


def spooled(opened: Opened) -> BinaryIO:
    """The whole input as a file that can seek: itself, or a nameless temporary copy of a pipe."""
    if opened.file.regular and opened.stream is opened.file:
        return os.fdopen(os.dup(opened.file.descriptor), "rb")
    try:
        copy = tempfile.TemporaryFile()
        while data := opened.stream.read(READ):
            copy.write(data)
        copy.seek(0)
    except OSError as error:
        raise FileError.from_os(tempfile.gettempdir(), "spool a pipe to", error) from None
    return cast(BinaryIO, copy)


def read_whole(file: FileBytes) -> bytes:
    """All bytes of an input, as they lie there."""
    pieces = []
    while data := file.read(READ):
        pieces.append(data)
    return b"".join(pieces)


def read_file(source: Input) -> bytes:
    """The same for an input not opened yet."""
    file = FileBytes(_descriptor(source), source.name)
    try:
        return read_whole(file)
    finally:
        file.close()

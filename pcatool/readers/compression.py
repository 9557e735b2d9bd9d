"""gzip, bzip2 and zstd, recognised by their first bytes."""

from __future__ import annotations

import bz2
import io
import zlib
from typing import Any

from pcatool.errors import DataError, check_memory
from pcatool.readers.streams import ByteStream, Readable

__all__ = ["MAGICS", "compression_of", "decompressed"]

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
    return (Zstd if kind == "zstd" else Members)(stream, kind, name)


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


class Zstd:
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

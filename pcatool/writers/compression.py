"""Compression of what is written, by the ending of its name; the same data give the same bytes."""

from __future__ import annotations

import bz2
import zlib
from collections.abc import Callable
from typing import Protocol

__all__ = ["Compressor", "Data", "Drain", "compression_of", "uncompressed_name"]

Data = bytes | bytearray | memoryview

# Encoders get pieces of one size, so that their output depends on the data and not on how it was cut into writes.
PIECE = 1 << 20


class Drain:
    """A file for Arrow to write into; what arrived is taken out between calls, so no exception of ours crosses C++."""

    closed = False

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._written = 0

    def write(self, data: Data) -> int:
        part = bytes(data)
        self._parts.append(part)
        self._written += len(part)
        return len(part)

    def tell(self) -> int:
        return self._written

    def flush(self) -> None:
        pass

    def close(self) -> None:
        pass

    def take(self) -> bytes:
        taken = b"".join(self._parts)
        self._parts.clear()
        return taken


class Encoder(Protocol):
    """What the objects of zlib and bz2 have in common."""

    def compress(self, data: bytes, /) -> bytes: ...

    def flush(self) -> bytes: ...


class Zstd:
    """Arrow's zstd stream in the shape of the others: one frame for the whole file, which every reader takes."""

    def __init__(self) -> None:
        import pyarrow as pa

        self._drain = Drain()
        self._stream = pa.CompressedOutputStream(self._drain, "zstd")

    def compress(self, data: bytes, /) -> bytes:
        self._stream.write(data)
        return self._drain.take()

    def flush(self) -> bytes:
        self._stream.close()
        return self._drain.take()


# Digits hardly compress: gzip's usual level 6 takes seven times as long as level 1 and saves a sixteenth. 31 asks zlib
# for a gzip header; its own has neither a file name nor a time in it.
ENCODERS: dict[str, Callable[[], Encoder]] = {
    ".gz": lambda: zlib.compressobj(1, zlib.DEFLATED, 31),
    ".bz2": bz2.BZ2Compressor,
    ".zst": Zstd,
}


def compression_of(name: str) -> str:
    """The ending that asks for compression, or nothing."""
    return next((ending for ending in ENCODERS if name.lower().endswith(ending)), "")


def uncompressed_name(name: str) -> str:
    """The name without the ending that asks for compression: what is left tells the format."""
    return name[: len(name) - len(compression_of(name))]


class Compressor:
    """An encoder that is fed in pieces of one size."""

    def __init__(self, ending: str) -> None:
        self._encoder = ENCODERS[ending]()
        self._pending = bytearray()

    def feed(self, data: Data) -> bytes:
        self._pending += data
        done = []
        while len(self._pending) >= PIECE:
            done.append(self._encoder.compress(bytes(self._pending[:PIECE])))
            del self._pending[:PIECE]
        return b"".join(done)

    def finish(self) -> bytes:
        return self._encoder.compress(bytes(self._pending)) + self._encoder.flush()

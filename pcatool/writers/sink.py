"""Sinks for bytes: standard output, devices, pipes, files, objects in a store; and compression.

A file is written under a temporary name in the same folder and renamed at the end, so it appears complete or not at
all, and a run that fails leaves the old file as it was. Devices and pipes are written directly: a rename would replace
them with a file. An object is collected in a temporary file and uploaded at the end.
"""

from __future__ import annotations

import bz2
import os
import select
import stat
import zlib
from collections.abc import Callable, Sequence
from contextlib import suppress
from types import TracebackType
from typing import Protocol

from pcatool.errors import FileError, UsageError
from pcatool.resources import cannot_spool
from pcatool.stores.uri import HTTP, is_remote, parse, shown
from pcatool.wording import show
from pcatool.writers.target import STDOUT, Target, exists, inspect_target, unwritable

__all__ = [
    "TEMPORARY",
    "AtomicFile",
    "ByteCollector",
    "Data",
    "Sink",
    "check_object",
    "check_target",
    "compression_of",
    "open_sink",
    "uncompressed_name",
    "write_whole",
]

Data = bytes | bytearray | memoryview

# Bytes given to an encoder at a time: a fixed size, so that the output depends only on the data and not on the writes.
ENCODER_BYTES = 1 << 20


class ByteCollector:
    """File object in memory into which Arrow writes; `take` removes and returns the bytes.

    Arrow never writes to the sink itself, so that exceptions of the sink do not pass through C++.
    """

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
        """Return the bytes written since the last call, and forget them."""
        taken = b"".join(self._parts)
        self._parts.clear()
        return taken


class Encoder(Protocol):
    """Protocol of a compressor, such as those of zlib and bz2."""

    def compress(self, data: bytes, /) -> bytes: ...

    def flush(self) -> bytes: ...


class ZstdWriter:
    """Arrow's zstd stream as an `Encoder`: one frame for the whole file, which every zstd reader accepts."""

    def __init__(self) -> None:
        import pyarrow as pa

        self._buffer = ByteCollector()
        self._stream = pa.CompressedOutputStream(self._buffer, "zstd")

    def compress(self, data: bytes, /) -> bytes:
        self._stream.write(data)
        return self._buffer.take()

    def flush(self) -> bytes:
        self._stream.close()
        return self._buffer.take()


# Level 1 for gzip: digits hardly compress, and the usual level 6 takes seven times as long to save a sixteenth. wbits
# 31 makes zlib write a gzip header, which has neither a file name nor a time in it.
ENCODERS: dict[str, Callable[[], Encoder]] = {
    ".gz": lambda: zlib.compressobj(1, zlib.DEFLATED, 31),
    ".bz2": bz2.BZ2Compressor,
    ".zst": ZstdWriter,
}


def compression_of(name: str) -> str:
    """Return the ending of the name, in lower case, if it asks for compression, such as ".gz"; else ""."""
    return next((ending for ending in ENCODERS if name.lower().endswith(ending)), "")


def uncompressed_name(name: str) -> str:
    """Return the name without an ending that asks for compression: `x.csv` for `x.csv.gz`; other names unchanged."""
    return name[: len(name) - len(compression_of(name))]


class Compressor:
    """Compressor that passes data to an `Encoder` in pieces of ENCODER_BYTES, whatever the size of the writes.

    The ending, such as ".gz", chooses the encoder.
    """

    def __init__(self, ending: str) -> None:
        self._encoder = ENCODERS[ending]()
        self._pending = bytearray()

    def feed(self, data: Data) -> bytes:
        """Add data to compress; return the compressed bytes that are ready, perhaps none."""
        self._pending += data
        ready = []
        while len(self._pending) >= ENCODER_BYTES:
            ready.append(self._encoder.compress(bytes(self._pending[:ENCODER_BYTES])))
            del self._pending[:ENCODER_BYTES]
        return b"".join(ready)

    def finish(self) -> bytes:
        """Return the last compressed bytes; no data may be added afterwards."""
        return self._encoder.compress(bytes(self._pending)) + self._encoder.flush()


# Ending of the temporary name of a file that is not complete yet.
TEMPORARY = ".pcatool-tmp"
# Bytes of the final name used in the temporary name: a file name has at most 255 bytes, and the temporary name adds 30.
LONGEST_STEM = 255 - 30


class Sink:
    """Output for bytes, written to an open file descriptor; used in a `with` block.

    The end of the block completes the output; an exception in the block abandons the output. Methods raise `FileError`
    for an error of the system, and `BrokenPipeError` if the reader of a pipe is gone.
    """

    _owned = False  # for `_close`, where `__init__` of a subclass fails before there is a descriptor

    def __init__(self, label: str, descriptor: int, compressor: Compressor | None, owned: bool) -> None:
        self.label = label
        self._descriptor = descriptor
        self._compressor = compressor
        self._owned = owned  # whether to close the descriptor at the end; standard output stays open

    def write(self, data: Data) -> None:
        """Write all of the data before returning, through the compressor if the sink has one."""
        self._send(self._compressor.feed(data) if self._compressor else data)

    def _send(self, data: Data) -> None:
        rest = memoryview(data).cast("B")
        try:
            while rest:
                rest = rest[self._write_some(rest) :]
        except BrokenPipeError:
            raise  # the reader stopped reading, which is not an error of this program
        except OSError as error:
            raise FileError.from_os(self.label, "write", error) from error

    def _write_some(self, data: memoryview) -> int:
        try:
            return os.write(self._descriptor, data)
        except BlockingIOError:  # another program that shares the pipe made it non-blocking
            select.select([], [self._descriptor], [])
            return 0

    def __enter__(self) -> Sink:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            self._abandon()
            return
        try:
            if self._compressor:
                self._send(self._compressor.finish())
            self._finish()
        except OSError as failure:
            self._abandon()
            if isinstance(failure, BrokenPipeError):
                raise
            raise FileError.from_os(self.label, "write", failure) from failure
        except BaseException:
            self._abandon()
            raise

    def _close(self) -> None:
        """Close the descriptor if this sink owns it; later calls do nothing, since another file may get the number."""
        if self._owned:
            self._owned = False
            os.close(self._descriptor)

    def _finish(self) -> None:
        self._close()

    def _abandon(self) -> None:
        with suppress(OSError):
            self._close()


class AtomicFile(Sink):
    """Sink for a file that appears under its name complete, in one step, or not at all."""

    def __init__(self, target: Target, compressor: Compressor | None, no_clobber: bool) -> None:
        self._target = target.path
        stem = os.fsdecode(os.fsencode(target.path.name)[:LONGEST_STEM])
        self._temporary = target.path.with_name(f".{stem}.{os.urandom(8).hex()}{TEMPORARY}")
        self._finished = False
        self._no_clobber = no_clobber
        # For a new file the umask reduces this mode. For a replaced file `_copy_attributes` widens it to the old mode,
        # so the file is never more accessible in between.
        mode = 0o600 if target.status else 0o666
        try:
            descriptor = os.open(self._temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
            super().__init__(target.label, descriptor, compressor, owned=True)
            if target.status:
                self._copy_attributes(target.status)
        except OSError as error:
            raise FileError.from_os(target.label, "write", error) from error
        except BaseException:  # from a signal, which may come between any two steps
            self._abandon()
            raise

    def _copy_attributes(self, old: os.stat_result) -> None:
        """Give the new file owner, mode and attributes (with access lists) of the replaced file, as far as allowed."""
        mode = stat.S_IMODE(old.st_mode) & 0o777
        attributes: tuple[str, ...] = ("user.", "system.")
        try:
            os.fchown(self._descriptor, -1, old.st_gid)
        except OSError:  # the file keeps another group, which gets no more rights than others have
            mode &= 0o707 | (mode & 0o007) << 3
            attributes = ("user.",)
        with suppress(OSError):
            os.fchown(self._descriptor, old.st_uid, -1)
        with suppress(OSError):
            os.fchmod(self._descriptor, mode)
        with suppress(OSError, AttributeError):  # some file systems and operating systems have no attributes
            for name in os.listxattr(self._target):
                if name.startswith(attributes):
                    os.setxattr(self._descriptor, name, os.getxattr(self._target, name))

    def _finish(self) -> None:
        os.fsync(self._descriptor)
        self._close()
        if self._no_clobber:
            self._link()
        else:
            self._temporary.replace(self._target)
        self._finished = True
        self._sync_folder()

    def _link(self) -> None:
        """Give the complete file its name; raise `FileError` if another file has got the name by now."""
        try:
            os.link(self._temporary, self._target)
        except FileExistsError:
            raise exists(self.label) from None
        except OSError:  # this file system has no hard links
            self._reserve()
            try:
                self._temporary.replace(self._target)
            except BaseException:
                self._target.unlink()  # the empty file made by `_reserve`
                raise
        else:
            self._temporary.unlink()

    def _reserve(self) -> None:
        """Create an empty file under the final name, for the rename to replace; raise `FileError` if one is there."""
        try:
            os.close(os.open(self._target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
        except FileExistsError:
            raise exists(self.label) from None

    def _sync_folder(self) -> None:
        """Write the folder to disk, so that the new name survives a power cut; errors are ignored."""
        with suppress(OSError):
            folder = os.open(self._target.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)

    def _abandon(self) -> None:
        super()._abandon()
        with suppress(OSError):
            self._temporary.unlink()
        self._finished = True

    def __del__(self) -> None:
        """Remove the temporary file if a signal came before the `with` block began."""
        if not self._finished:
            self._abandon()


def open_sink(output: str | None, *, no_clobber: bool, inputs: Sequence[str] = (), compress: bool = True) -> Sink:
    """Return the sink for an output name, or for standard output (None or `-`); wait for the reader of a named pipe.

    With `compress`, an ending such as ".gz" chooses a compression. Raise `UsageError` for an output that is also one of
    the `inputs`, `FileError` for an output that cannot be opened or, with `no_clobber`, exists.
    """
    target = inspect_target(output, no_clobber, inputs)
    ending = compression_of(target.label) if compress else ""
    compressor = Compressor(ending) if ending else None
    if target.remote:
        return RemoteSink(target.remote, compressor, no_clobber)
    if target.descriptor == STDOUT:
        return Sink(target.label, STDOUT, compressor, owned=False)
    if target.descriptor is None and not target.is_special:
        return AtomicFile(target, compressor, no_clobber)
    try:
        return Sink(target.label, open_stream(target), compressor, owned=True)
    except OSError as error:
        raise FileError.from_os(target.label, "write", error) from error


def open_stream(target: Target) -> int:
    """Return a new descriptor for a device, a pipe or an open stream; wait for the reader of a named pipe."""
    if target.descriptor is not None:
        return os.dup(target.descriptor)
    return os.open(target.path, os.O_WRONLY | os.O_NOCTTY | os.O_CLOEXEC)


def check_target(output: str | None, *, no_clobber: bool, inputs: Sequence[str] = ()) -> None:
    """Raise the error that `open_sink` would raise for an output, before hours of work; create nothing."""
    inspect_target(output, no_clobber, inputs)


def write_whole(output: str | None, data: Data, *, no_clobber: bool, inputs: Sequence[str] = ()) -> None:
    """Write data as the whole content of an output, never compressed: a model file has one format for all names."""
    with open_sink(output, no_clobber=no_clobber, inputs=inputs, compress=False) as sink:
        sink.write(data)


def check_object(output: str, no_clobber: bool, inputs: Sequence[str]) -> None:
    """Raise an error for an object in a store that cannot be written, as far as early and cheap checks show.

    Errors are `UsageError` for a web server or an object that is also an input, and `FileError` for a wrong name, a
    lacking bucket or right, or, with `no_clobber`, an object that exists.
    """
    from pcatool.stores.objects import place_of
    from pcatool.stores.providers import CanonicalName

    uri, label = parse(output), shown(output)
    if uri.kind == HTTP:
        raise UsageError(
            f"cannot write {show(label)}: pcatool can only read from web servers",
            "name a file, or an object in s3://, gs:// or abfs://",
        )
    canonical_name = CanonicalName()
    for name in inputs:
        if is_remote(name) and canonical_name(name) == canonical_name(output):
            raise UsageError(
                f"the output {show(label)} is the same object as the input {show(shown(name))}",
                "write to another object",
            )
    if not uri.key or uri.key.endswith("/"):
        raise unwritable(label, "it names a folder", "give the name of an object")
    if "" in uri.key.split("/"):  # pyarrow refuses empty parts
        raise unwritable(label, "the name has two slashes in a row", "write one slash")
    place = place_of(output)
    try:
        bucket = place.info(place.bucket).type.name
    except FileError as error:
        # Credentials may allow writing without reading; any other error would stop the write, too.
        if "access denied" not in error.message or no_clobber:
            raise unwritable(label, error.message.partition(": ")[2], error.remedy) from None
        return
    if bucket == "NotFound":
        raise unwritable(label, "there is no such bucket", "check the name of the bucket, or create the bucket first")
    if no_clobber and place.info().type.name == "File":
        raise exists(label)


class RemoteSink(Sink):
    """Sink for an object in a store: collects the bytes in an unnamed temporary file and uploads them at the end."""

    def __init__(self, output: str, compressor: Compressor | None, no_clobber: bool) -> None:
        from tempfile import TemporaryFile

        self._output = output
        self._no_clobber = no_clobber
        try:
            with TemporaryFile(buffering=0) as spool:
                super().__init__(shown(output), os.dup(spool.fileno()), compressor, owned=True)
        except OSError as error:
            raise cannot_spool(error, "the output") from None

    def _write_some(self, data: memoryview) -> int:
        try:
            return super()._write_some(data)
        except OSError as error:
            raise cannot_spool(error, "the output") from None

    def _finish(self) -> None:
        """Upload the object; with --no-clobber, raise `FileError` if the object exists just before the upload ends."""
        from pcatool.stores.objects import place_of, upload

        place = place_of(self._output)

        def check_clobber() -> None:
            if self._no_clobber and place.info().type.name == "File":
                raise exists(self.label)

        upload(place, self._descriptor, check_clobber)
        self._close()

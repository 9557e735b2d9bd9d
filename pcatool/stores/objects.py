"""Objects of a store or web server: find, open, read in parts, upload whole, delete.

An uploaded object appears complete or not at all. Arrow completes an upload when its stream is closed, and closes the
stream when Python deletes it, even after an error, so half a file would appear. Therefore the stream of an abandoned
upload is never deleted, and the store discards the parts that were sent.
"""

from __future__ import annotations

import os
import re
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from ctypes import py_object, pythonapi
from functools import cache, lru_cache
from typing import Any, NamedTuple, Protocol

from pcatool.errors import BlamelessError, FileError, LostError
from pcatool.stores import providers
from pcatool.stores.failures import ERRORS, plain_error
from pcatool.stores.interruptible_calls import interruptible
from pcatool.stores.uri import HTTP, Uri, parse, shown
from pcatool.wording import show

__all__ = ["ObjectPlace", "RemoteBytes", "changed_error", "open_object", "place_of", "remove", "state_of", "upload"]


class ObjectPlace(NamedTuple):
    """A place in a store, and the pyarrow file system that reaches it; made by `place_of`."""

    uri: Uri
    name: str  # for messages, without secrets
    files: Any  # the pyarrow file system
    path: str  # bucket/key

    @property
    def bucket(self) -> str:
        return self.path.partition("/")[0]

    def info(self, path: str | None = None) -> Any:
        """Return pyarrow's FileInfo of the place, or of another path (bucket/key); takes one or two requests.

        Raise FileError if the store refuses; a missing object has the type NotFound.
        """
        try:
            return interruptible(lambda: self.files.get_file_info(self.path if path is None else path))
        except ERRORS as error:
            raise self.error_for("read", error) from None

    def error_for(self, doing: str, error: Exception) -> FileError:
        """Return the error to raise for an exception of pyarrow; `doing` is the verb of its message, such as "read".

        If the object does not exist, ask the store whether its bucket exists, so that the message names the one that
        is missing.
        """
        if isinstance(error, FileNotFoundError):
            return self.missing_bucket(doing) or plain_error(self.name, doing, error)
        return plain_error(self.name, doing, error)

    def missing_bucket(self, doing: str = "read") -> FileError | None:
        """Return the error to raise if the bucket does not exist; None if it exists or the store refuses to answer."""
        try:
            info = interruptible(lambda: self.files.get_file_info(self.bucket))
        except ERRORS:  # credentials may allow reading objects without reading about the bucket
            return None
        if info.type.name != "NotFound":
            return None
        return FileError(f"cannot {doing} {show(self.name)}: there is no such bucket", "check the name of the bucket")


def place_of(path: str) -> ObjectPlace:
    """Return the place in a store that a path names; the path must not be a web address.

    The object may not exist: the store is asked only for the region of a bucket of S3.
    """
    uri = parse(path)
    assert uri.kind != HTTP, "a web page has no place: see http_client"
    name = shown(path)
    try:
        files, bucket = interruptible(lambda: FILE_SYSTEMS[uri.kind](uri))
    except (*ERRORS, ImportError) as error:  # pyarrow may be built without this file system
        raise plain_error(name, "reach", error) from None
    return ObjectPlace(uri, name, files, f"{bucket}/{uri.key}".rstrip("/") if not uri.key else f"{bucket}/{uri.key}")


def _find_s3(uri: Uri) -> tuple[Any, str]:
    """Return the pyarrow file system of S3, for the right region, and the name of the bucket."""
    settings = providers.settings_of(uri)
    if settings.region and not settings.endpoint and "region" not in uri.options:
        settings = settings._replace(region=_region_of(settings, uri.authority) or settings.region)
    return _cached_s3(settings), uri.authority


@cache
def _region_of(settings: providers.S3Settings, bucket: str) -> str:
    """Return the region of a bucket if it differs from that of the settings; otherwise, or if S3 does not tell, "".

    S3 names the right region only in its answer about a bucket, not about an object. Raise pyarrow's error for a lost
    connection.
    """
    try:
        _cached_s3(settings).get_file_info(bucket)
    except ERRORS as error:
        if match := re.search(r"located in '([a-z0-9-]+)'", str(error)):
            return match[1]
        if isinstance(plain_error(bucket, "reach", error), LostError):
            raise
    return ""


_cached_s3 = lru_cache(maxsize=None)(providers.make_s3)
FILE_SYSTEMS = {"s3": _find_s3, "gs": providers.find_gs, "abfs": providers.find_azure}


# Metadata that change with the contents of an object, as far as a store has them.
STATE_METADATA = ("etag", "generation", "last-modified", "content-length")


class RangeReader(Protocol):
    """Protocol of an open object that can be read at any position, by several threads at the same time."""

    size: int

    def part(self, offset: int, size: int) -> bytes:
        """Return `size` bytes from `offset`; raise BlamelessError if the object was deleted or has changed.

        Raise another FileError if the store refuses or fails.
        """
        ...

    def check_unchanged(self) -> None:
        """Raise BlamelessError if the object was deleted or has changed since it was opened."""
        ...

    def close(self) -> None: ...


class StoreObject:
    """An object of a store, open for reading; follows the protocol `RangeReader`."""

    def __init__(self, path: str) -> None:
        self._place = place_of(path)
        self._file, self._state = self._open()
        self.size = int(self._state["size"])

    @property
    def state(self) -> tuple[tuple[str, Any], ...]:
        """Size of the object when it was opened, and metadata that change with its contents, as (name, value)."""
        return tuple(self._state.items())

    def _open(self) -> tuple[Any, dict[str, Any]]:
        """Open the object; return a pyarrow file, and size and metadata that change with the contents."""

        def ask() -> tuple[Any, dict[str, Any]]:
            file = self._place.files.open_input_file(self._place.path)
            metadata = {str(key).lower(): value for key, value in (file.metadata() or {}).items()}
            return file, {key: metadata[key] for key in STATE_METADATA if key in metadata} | {"size": file.size()}

        try:
            return interruptible(ask)
        except ERRORS as error:
            raise self._place.error_for("read", error) from None

    def part(self, offset: int, size: int) -> bytes:
        try:
            data = interruptible(lambda: bytes(self._file.read_at(size, offset)))
        except ERRORS as error:
            failure = self._place.error_for("read", error)
            if not isinstance(failure, LostError):
                self.check_unchanged()
            raise failure from None
        if len(data) < min(size, self.size - offset):
            raise changed_error(self._place.name)
        return data

    def check_unchanged(self) -> None:
        try:
            file, state = self._open()
        except BlamelessError:
            raise
        except FileError:  # the object is gone
            raise changed_error(self._place.name) from None
        file.close()
        if state != self._state:
            raise changed_error(self._place.name)

    def close(self) -> None:
        self._file.close()


def state_of(path: str) -> tuple[tuple[str, Any], ...] | None:
    """Return the size of an object and metadata that change with its contents, as (name, value).

    Return None if the object cannot be opened.
    """
    try:
        return StoreObject(path).state
    except FileError:  # reading the object reports the error
        return None


def changed_error(name: str) -> FileError:
    """Return the error for an object that changed while it was read."""
    return BlamelessError(
        f"cannot read {show(name)}: the file changed while it was read", "run again when no program writes to the file"
    )


def open_object(path: str) -> RangeReader | int:
    """Open the object that a path names, in a store or on the web, and return a reader of its bytes.

    If a web server cannot serve ranges of bytes, return the descriptor of a temporary copy instead. Raise FileError if
    the object cannot be read.
    """
    if parse(path).kind != HTTP:
        return StoreObject(path)
    from pcatool.stores.http_client import open_page

    return open_page(path)


# Bytes of the first request: enough to recognise the format, and a Parquet reader needs no more from the beginning.
FIRST_REQUEST_BYTES = 1 << 16
# Bytes of each further request, and requests under way at once: a store serves each at the speed of a slow disk.
REQUEST_BYTES = 8 << 20
MAX_REQUESTS = 3


class RemoteBytes:
    """Bytes of a remote object, read in sequence ahead of demand, or at any position.

    Has the methods and attributes of `readers.streams.FileBytes`.
    """

    regular = True

    def __init__(self, ranges: RangeReader, name: str) -> None:
        self.name = name
        self.failure: FileError | None = None  # the last error: a library may replace it by one of its own
        self.bytes_read = 0  # bytes returned by `read`
        self._ranges = ranges
        self._pool = ThreadPoolExecutor(MAX_REQUESTS)
        self._pending: deque[Future[bytes]] = deque()
        self._requested = 0  # bytes requested for `read`, from the beginning
        self._unread = memoryview(b"")

    @property
    def size(self) -> int:
        return self._ranges.size

    def read(self, size: int, /) -> bytes:
        """Return the next bytes of the object, at most `size`, and move the position past them; empty at the end."""
        if not self._unread:
            self._unread = memoryview(self._next())
        data, self._unread = bytes(self._unread[:size]), self._unread[size:]
        self.bytes_read += len(data)
        return data

    def _next(self) -> bytes:
        """Request up to MAX_REQUESTS pieces ahead, wait for the first, and return its bytes; empty at the end."""
        is_first = self._requested == 0
        while self._requested < self.size and len(self._pending) < (1 if is_first else MAX_REQUESTS):
            length = min(FIRST_REQUEST_BYTES if is_first else REQUEST_BYTES, self.size - self._requested)
            self._pending.append(self._pool.submit(self._read_part, self._requested, length))
            self._requested += length
        return self._pending.popleft().result() if self._pending else b""

    def pread(self, size: int, offset: int) -> bytes:
        """Return `size` bytes from `offset`, fewer at the end; more than REQUEST_BYTES are read by parallel requests.

        The position of `read` does not change.
        """
        size = max(0, min(size, self.size - offset))
        if size <= REQUEST_BYTES:
            return self._read_part(offset, size) if size else b""
        starts = range(offset, offset + size, REQUEST_BYTES)
        pieces = self._pool.map(lambda start: self._read_part(start, min(REQUEST_BYTES, offset + size - start)), starts)
        return b"".join(pieces)

    def _read_part(self, offset: int, size: int) -> bytes:
        try:
            return self._ranges.part(offset, size)
        except FileError as error:
            self.failure = error
            raise

    def ready(self) -> bool:
        return True

    def check_unchanged(self) -> None:
        """Raise BlamelessError if the object has changed since it was opened; called after the last read."""
        self._ranges.check_unchanged()

    def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)
        self._ranges.close()


# Bytes per write, and writes between two flushes. A flush waits for the store, so at most their product is in memory.
UPLOAD_BYTES = 8 << 20
WRITES_PER_FLUSH = 4


class Upload:
    """The upload of an open file to `place`, which another thread can stop by setting `abandoned`.

    `before_end` is called just before the object appears; if it raises an exception, no object appears.
    """

    def __init__(self, place: ObjectPlace, descriptor: int, before_end: Callable[[], None]) -> None:
        self._place = place
        self._descriptor = descriptor
        self._before_end = before_end
        self.abandoned = False

    def run(self) -> None:
        """Send the file; the object appears only if nothing fails and the upload was not abandoned."""
        files, path = self._place.files, self._place.path
        # Azure shows an empty object from the beginning, so there the upload has a temporary name.
        temporary = f"{_hidden(path)}.{os.urandom(8).hex()}.pcatool-tmp" if self._place.uri.kind == "abfs" else ""
        stream = files.open_output_stream(temporary or path, compression=None)
        pythonapi.Py_IncRef(py_object(stream))  # never deleted, unless the upload succeeds: see the module docstring
        self._copy(stream)
        try:
            self._before_end()
        except BaseException:
            if temporary:
                files.delete_file(temporary)
            raise
        if not self.abandoned:
            stream.close()
            pythonapi.Py_DecRef(py_object(stream))
            if temporary:
                _rename(files, temporary, path)

    def _copy(self, stream: Any) -> None:
        offset, writes = 0, 0
        while not self.abandoned and (data := os.pread(self._descriptor, UPLOAD_BYTES, offset)):
            stream.write(data)
            offset, writes = offset + len(data), writes + 1
            if writes % WRITES_PER_FLUSH == 0:
                stream.flush()
        stream.flush()


def _hidden(path: str) -> str:
    folder, slash, name = path.rpartition("/")
    return f"{folder}{slash}.{name}"


def _rename(files: Any, path: str, to: str) -> None:
    """Rename an object in one step; in an account without hierarchical namespace, copy it in one step, then delete it.

    Paths are bucket/key; `files` is a pyarrow file system.
    """
    try:
        files.move(path, to)
    except NotImplementedError:
        files.copy_file(path, to)
        files.delete_file(path)


def upload(place: ObjectPlace, descriptor: int, before_end: Callable[[], None]) -> None:
    """Upload the file of an open descriptor, from its beginning, to `place`.

    `before_end` is called just before the object appears. No object appears after an exception of `before_end`, a
    failure, or a signal. Raise FileError if the store refuses or fails.
    """
    upload_run = Upload(place, descriptor, before_end)
    try:
        interruptible(upload_run.run)
    except ERRORS as error:
        raise place.error_for("write", error) from None
    except BaseException:
        upload_run.abandoned = True
        raise


def remove(path: str) -> None:
    """Delete an object, if it exists; raise FileError if the store refuses."""
    place = place_of(path)
    try:
        with suppress(FileNotFoundError):
            interruptible(lambda: place.files.delete_file(place.path))
    except ERRORS as error:
        raise place.error_for("remove", error) from None

"""Objects of a store or web server: find, open, read in parts, upload whole, delete.

A finished file to a store, where it appears whole or not at all.
Arrow completes an upload when its stream is closed, and closes it when the object goes, after an error, too: half a
file would appear. So the stream of an upload that is given up is never let go, and what was sent is no object.
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

from pcatool.errors import BlamelessError, FileError, LostError, show
from pcatool.stores import providers
from pcatool.stores.calls import ERRORS, in_words, patiently
from pcatool.stores.uri import HTTP, Uri, parse, shown

__all__ = ["ObjectPlace", "RemoteBytes", "changed", "open_object", "place_of", "remove", "state_of", "upload"]


class ObjectPlace(NamedTuple):
    """A name, and what pyarrow needs to look there."""

    uri: Uri
    name: str  # as it is shown
    files: Any
    path: str

    @property
    def bucket(self) -> str:
        return self.path.partition("/")[0]

    def info(self, path: str | None = None) -> Any:
        """What is there, asked by one request or two."""
        try:
            return patiently(lambda: self.files.get_file_info(self.path if path is None else path))
        except ERRORS as error:
            raise self.trouble("read", error) from None

    def trouble(self, doing: str, error: Exception) -> FileError:
        if isinstance(error, FileNotFoundError):
            return self.no_bucket(doing) or in_words(self.name, doing, error)
        return in_words(self.name, doing, error)

    def no_bucket(self, doing: str = "read") -> FileError | None:
        """The error where not even the bucket is there, which is asked when something in it is not."""
        try:
            about = patiently(lambda: self.files.get_file_info(self.bucket))
        except ERRORS:  # who may read what is in it need not be allowed to ask for it
            return None
        if about.type.name != "NotFound":
            return None
        return FileError(f"cannot {doing} {show(self.name)}: there is no such bucket", "check its name")


def place_of(path: str) -> ObjectPlace:
    """The place that a path in a store means; nothing is asked of the store, unless its region is to be found."""
    uri = parse(path)
    assert uri.kind != HTTP, "web servers have a way of their own"
    name = shown(path)
    try:
        files, bucket = patiently(lambda: FILE_SYSTEMS[uri.kind](uri))
    except (*ERRORS, ImportError) as error:  # pyarrow may be built without
        raise in_words(name, "reach", error) from None
    return ObjectPlace(uri, name, files, f"{bucket}/{uri.key}".rstrip("/") if not uri.key else f"{bucket}/{uri.key}")


def _s3(uri: Uri) -> tuple[Any, str]:
    settings = providers.settings_of(uri)
    if settings.region and not settings.endpoint and "region" not in uri.options:
        settings = settings._replace(region=_region_of(settings, uri.authority) or settings.region)
    return _made_s3(settings), uri.authority


@cache
def _region_of(settings: providers.S3Settings, bucket: str) -> str:
    """Where the bucket is, if that is not where the environment leads: S3 says so of a bucket, not of an object."""
    try:
        _made_s3(settings).get_file_info(bucket)
    except ERRORS as error:
        if found := re.search(r"located in '([a-z0-9-]+)'", str(error)):
            return found[1]
        if isinstance(in_words(bucket, "reach", error), LostError):
            raise
    return ""


_made_s3 = lru_cache(maxsize=None)(providers.make)
FILE_SYSTEMS = {"s3": _s3, "gs": providers.find_gs, "abfs": providers.find_azure}


# What tells one state of an object from another, where the store says it.
MARKS = ("etag", "generation", "last-modified", "content-length")


class Ranges(Protocol):
    """Bytes by their place; threads may ask at the same time."""

    size: int

    def part(self, offset: int, size: int) -> bytes: ...

    def check_unchanged(self) -> None:
        """Raise an error where the name does no longer mean what was opened."""
        ...

    def close(self) -> None: ...


class StoreObject:
    """An object of a store, open for reading."""

    def __init__(self, path: str) -> None:
        self._place = place_of(path)
        self._file, self._state = self._open()
        self.size = int(self._state["size"])

    @property
    def state(self) -> tuple[tuple[str, Any], ...]:
        return tuple(self._state.items())

    def _open(self) -> tuple[Any, dict[str, Any]]:
        """The object, and what tells its state."""

        def ask() -> tuple[Any, dict[str, Any]]:
            file = self._place.files.open_input_file(self._place.path)
            found = {str(key).lower(): value for key, value in (file.metadata() or {}).items()}
            return file, {key: found[key] for key in MARKS if key in found} | {"size": file.size()}

        try:
            return patiently(ask)
        except ERRORS as error:
            raise self._place.trouble("read", error) from None

    def part(self, offset: int, size: int) -> bytes:
        try:
            data = patiently(lambda: bytes(self._file.read_at(size, offset)))
        except ERRORS as error:
            trouble = self._place.trouble("read", error)
            if not isinstance(trouble, LostError):
                self.check_unchanged()
            raise trouble from None
        if len(data) < min(size, self.size - offset):
            raise changed(self._place.name)
        return data

    def check_unchanged(self) -> None:
        try:
            now, state = self._open()
        except BlamelessError:
            raise
        except FileError:  # it is there no more
            raise changed(self._place.name) from None
        now.close()
        if state != self._state:
            raise changed(self._place.name)

    def close(self) -> None:
        self._file.close()


def state_of(path: str) -> tuple[tuple[str, Any], ...] | None:
    """What tells an object from another of its name; None where there is none, or it cannot be told."""
    try:
        return StoreObject(path).state
    except FileError:  # reading it says why
        return None


def changed(name: str) -> FileError:
    return BlamelessError(f"cannot read {show(name)}: it changed while it was read", "run again when nobody writes it")


def open_object(path: str) -> Ranges | int:
    """The object that a path names; or the descriptor of a copy, where its parts cannot be asked for."""
    if parse(path).kind != HTTP:
        return StoreObject(path)
    from pcatool.stores.http_client import open_page

    return open_page(path)


# The first bytes tell the format, and of a Parquet file nothing else is wanted from there.
FIRST = 1 << 16
# What is asked for at once, and how many of them are under way: a store answers each at the rate of a slow disk.
PIECE = 8 << 20
UNDER_WAY = 3


class RemoteBytes:
    """The same as `FileBytes` of the readers, of an object in a store."""

    regular = True

    def __init__(self, ranges: Ranges, name: str) -> None:
        self.name = name
        self.failure: FileError | None = None  # which a library may have hidden behind an error of its own
        self.taken = 0  # bytes read one after the other
        self._ranges = ranges
        self._pool = ThreadPoolExecutor(UNDER_WAY)
        self._coming: deque[Future[bytes]] = deque()
        self._asked = 0  # bytes of the sequence that were asked for
        self._piece = memoryview(b"")

    @property
    def size(self) -> int:
        return self._ranges.size

    def read(self, size: int, /) -> bytes:
        if not self._piece:
            self._piece = memoryview(self._next())
        data, self._piece = bytes(self._piece[:size]), self._piece[size:]
        self.taken += len(data)
        return data

    def _next(self) -> bytes:
        first = self._asked == 0
        while self._asked < self.size and len(self._coming) < (1 if first else UNDER_WAY):
            length = min(FIRST if first else PIECE, self.size - self._asked)
            self._coming.append(self._pool.submit(self._part, self._asked, length))
            self._asked += length
        return self._coming.popleft().result() if self._coming else b""

    def pread(self, size: int, offset: int) -> bytes:
        """A part; a large one in pieces at the same time."""
        size = max(0, min(size, self.size - offset))
        if size <= PIECE:
            return self._part(offset, size) if size else b""
        starts = range(offset, offset + size, PIECE)
        pieces = self._pool.map(lambda start: self._part(start, min(PIECE, offset + size - start)), starts)
        return b"".join(pieces)

    def _part(self, offset: int, size: int) -> bytes:
        try:
            return self._ranges.part(offset, size)
        except FileError as error:
            self.failure = error
            raise

    def ready(self) -> bool:
        return True

    def check_unchanged(self) -> None:
        """All was read: it must have been of one and the same object."""
        self._ranges.check_unchanged()

    def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)
        self._ranges.close()


# What is handed to the store at once, and how often until it is waited for: so much is in memory.
UPLOAD_PIECE = 8 << 20
TOGETHER = 4


class Sending:
    """An upload that can be given up by another thread than the one that it runs in."""

    def __init__(self, place: ObjectPlace, descriptor: int, before_end: Callable[[], None]) -> None:
        self._place = place
        self._descriptor = descriptor
        self._before_end = before_end
        self.given_up = False

    def run(self) -> None:
        files, path = self._place.files, self._place.path
        # Azure shows an object, empty, from the beginning.
        beside = f"{_hidden(path)}.{os.urandom(8).hex()}.pcatool-tmp" if self._place.uri.kind == "abfs" else ""
        stream = files.open_output_stream(beside or path, compression=None)
        pythonapi.Py_IncRef(py_object(stream))  # for good, unless all goes well
        self._copy(stream)
        try:
            self._before_end()
        except BaseException:
            if beside:
                files.delete_file(beside)
            raise
        if not self.given_up:
            stream.close()
            pythonapi.Py_DecRef(py_object(stream))
            if beside:
                _rename(files, beside, path)

    def _copy(self, stream: Any) -> None:
        at, pieces = 0, 0
        while not self.given_up and (data := os.pread(self._descriptor, UPLOAD_PIECE, at)):
            stream.write(data)
            at, pieces = at + len(data), pieces + 1
            if pieces % TOGETHER == 0:
                stream.flush()
        stream.flush()


def _hidden(path: str) -> str:
    folder, slash, name = path.rpartition("/")
    return f"{folder}{slash}.{name}"


def _rename(files: Any, path: str, to: str) -> None:
    """In one step where the account has folders; else the store copies it, in one step, too."""
    try:
        files.move(path, to)
    except NotImplementedError:
        files.copy_file(path, to)
        files.delete_file(path)


def upload(place: ObjectPlace, descriptor: int, before_end: Callable[[], None]) -> None:
    """Send a file from its beginning. What `before_end` raises, and a signal, ends it without an object."""
    sending = Sending(place, descriptor, before_end)
    try:
        patiently(sending.run)
    except ERRORS as error:
        raise place.trouble("write", error) from None
    except BaseException:
        sending.given_up = True
        raise


def remove(path: str) -> None:
    """Remove it, if it is there."""
    place = place_of(path)
    try:
        with suppress(FileNotFoundError):
            patiently(lambda: place.files.delete_file(place.path))
    except ERRORS as error:
        raise place.trouble("remove", error) from None

"""Tasks that Spark executors run. This module is shipped whole, so that a task itself can say that pcatool is missing.

Results travel pickled, cut into pieces: Spark's Java holds a row several times on its way.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable, Iterable, Iterator
from functools import reduce
from itertools import groupby, islice
from operator import itemgetter
from typing import Any, NamedTuple

__all__ = ["SCHEMA", "Leaf", "MergeRows", "Row", "TaskResults", "listed", "together"]

SCHEMA = "number long, piece long, failed long, data binary"

PIECE = 1 << 20


class Row(NamedTuple):
    """One piece of a result, or of the error there is instead."""

    number: int
    piece: int
    failed: int
    data: Any


class TaskResults:
    """How what tasks tell comes together; a task that was done twice tells the same."""

    def zero(self, value: dict[int, bytes]) -> dict[int, bytes]:
        return {}

    def addInPlace(self, one: dict[int, bytes], other: dict[int, bytes]) -> dict[int, bytes]:
        return {**one, **other}


class Leaf(NamedTuple):
    """Some neighbouring items of each number: their results merged."""

    package: tuple[str, str]  # pcatool's name and version, which must be those here
    callables: bytes
    items: list[bytes]
    per: int
    told: Any  # an accumulator, of what each leaf came to

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                failed, data = self._outcome(number)
                self.told.add({number: data if failed else b""})
                yield from _rows(number, failed, data)

    def _outcome(self, number: int) -> tuple[bool, bytes]:
        other = _difference(*self.package)
        if other:
            return True, pickle.dumps(other)
        return _attempt(lambda: self._work(self.items[number * self.per : (number + 1) * self.per]))

    def _work(self, items: list[bytes]) -> Any:
        work, merge = pickle.loads(self.callables)
        return reduce(merge, (work(pickle.loads(item)) for item in items))


class MergeRows(NamedTuple):
    """Neighbours by the number they come together in: what they are merged into; the first that failed wins."""

    callables: bytes
    fan: int

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        _, merge = pickle.loads(self.callables)
        for number, results in groupby(_results(_unpacked(batches)), lambda result: result[0] // self.fan):
            yield from _rows(number, *_merged(merge, results))


def listed(work: Callable[[Any], Any], item: Any) -> list[Any]:
    """A result that is merged with others by putting them side by side."""
    return [work(item)]


def together(rows: Iterable[Row]) -> tuple[bool, Any]:
    """The one result there is, whether it is an error, from its pieces in their order."""
    (_, failed, value), *_ = _results(rows)
    return failed, value


def _merged(merge: Callable[[Any, Any], Any], results: Iterator[tuple[int, bool, Any]]) -> tuple[bool, bytes]:
    """One at a time: beside what they are merged into there is memory for one more."""
    try:
        return _attempt(lambda: reduce(merge, (_sound(failed, value) for _, failed, value in results)))
    except _FailedError as error:
        return True, pickle.dumps(error.value)


def _sound(failed: bool, value: Any) -> Any:
    if failed:
        raise _FailedError(value)
    return value


def _difference(package: str, version: str) -> tuple[str, ...]:
    """Of the pcatool here from the one that sent the work: the host and the other's version, or nothing."""
    from importlib import import_module
    from socket import gethostname

    try:
        here = str(import_module(package).__version__)
    except ImportError:
        here = ""
    return () if here == version else (gethostname(), here)


def _attempt(function: Callable[[], Any]) -> tuple[bool, bytes]:
    """The pickled result, or the pickled error: one that Spark saw it would try again, and print."""
    from pcatool.linalg.blas import threads

    try:
        with threads(1):  # an executor has a task for each of its cores
            return False, pickle.dumps(function(), pickle.HIGHEST_PROTOCOL)
    except Exception as error:
        return True, _pickled(error)


def _pickled(error: Exception) -> bytes:
    """Some errors can be pickled but not made again."""
    from traceback import format_exception

    error.add_note("".join(format_exception(error)))
    try:
        data = pickle.dumps(error)
        pickle.loads(data)
    except Exception:
        return pickle.dumps(RuntimeError(f"{type(error).__name__}: {error}"))
    return data


def _rows(number: int, failed: bool, data: bytes) -> Iterator[Any]:
    """Batches of one row each. Made of buffers: from lists Arrow would make them by way of pandas."""
    import struct

    import pyarrow as pa

    def whole(value: int) -> Any:
        return pa.Array.from_buffers(pa.int64(), 1, [None, pa.py_buffer(struct.pack("=q", value))])

    view = memoryview(data)
    for piece, start in enumerate(range(0, len(view), PIECE)):
        part = view[start : start + PIECE]
        ends = pa.py_buffer(struct.pack("=ii", 0, len(part)))
        binary = pa.Array.from_buffers(pa.binary(), 1, [None, ends, pa.py_buffer(part)])
        columns = [whole(number), whole(piece), whole(failed), binary]
        yield pa.RecordBatch.from_arrays(columns, ["number", "piece", "failed", "data"])


def _unpacked(batches: Iterable[Any]) -> Iterator[Row]:
    for batch in batches:
        numbers, pieces, failed = (batch.column(i).to_pylist() for i in range(3))
        for i, number in enumerate(numbers):
            yield Row(number, pieces[i], failed[i], batch.column(3)[i].as_buffer())


def _results(rows: Iterable[Row]) -> Iterator[tuple[int, bool, Any]]:
    """Number, whether it failed, and value of each result, made while its pieces come."""
    for (number, failed), pieces in groupby(rows, itemgetter(0, 2)):
        yield number, bool(failed), pickle.load(io.BufferedReader(_Pieces(pieces), PIECE))


class _FailedError(BaseException):
    """One of those to be merged is an error."""

    def __init__(self, value: Any) -> None:
        super().__init__(value)
        self.value = value


class _Pieces(io.RawIOBase):
    """The pieces of one result, read one after the other."""

    def __init__(self, rows: Iterator[Row]) -> None:
        self._rows = rows
        self._rest = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, target: Any) -> int:
        if not self._rest:
            for row in islice(self._rows, 1):
                self._rest = memoryview(row.data).cast("B")
        count = min(len(self._rest), len(target))
        target[:count] = self._rest[:count]
        self._rest = self._rest[count:]
        return count

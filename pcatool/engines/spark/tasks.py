"""Tasks that Spark executors run.

The module is sent to the executors by value, so that a task can report a missing pcatool; it imports pcatool only
inside functions. Results are sent pickled and cut into pieces, because the JVM holds several copies of each row.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable, Iterable, Iterator
from functools import reduce
from itertools import groupby, islice
from operator import itemgetter
from typing import Any, NamedTuple

__all__ = ["SCHEMA", "FirstStageTask", "MergeRows", "Row", "TaskResults", "join_pieces"]

SCHEMA = "number long, piece long, failed long, data binary"

# Bytes of a piece.
PIECE = 1 << 20


class Row(NamedTuple):
    """One piece of a pickled result or error; a row of SCHEMA."""

    number: int  # of the result, in the order of the items
    piece: int  # number of the piece within the result
    failed: int  # 1 for an error, 0 for a result
    data: Any  # up to PIECE bytes


class TaskResults:
    """Accumulator parameter of Spark that merges the outcomes of tasks: {number of the task: pickled error, or b""}.

    A task that ran twice reports the same outcome twice, which changes nothing.
    """

    def zero(self, value: dict[int, bytes]) -> dict[int, bytes]:
        return {}

    def addInPlace(self, one: dict[int, bytes], other: dict[int, bytes]) -> dict[int, bytes]:
        return {**one, **other}


class FirstStageTask(NamedTuple):
    """Task of the first stage: make the parts of `per` neighbouring items, and merge them."""

    package: tuple[str, str]  # name and version of pcatool, which the executor must have, too
    accumulator: bytes  # pickled
    items: list[bytes]  # all items, pickled
    per: int  # items of one task
    outcomes: Any  # accumulator of `TaskResults`, for the outcome of each task

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                failed, data = self._outcome(number)
                self.outcomes.add({number: data if failed else b""})
                yield from _rows(number, failed, data)

    def _outcome(self, number: int) -> tuple[bool, bytes]:
        """Return whether task `number` failed, and its pickled result or error."""
        other = _difference(*self.package)
        if other:
            return True, pickle.dumps(other)
        return _call_pickled(lambda: self._work(self.items[number * self.per : (number + 1) * self.per]))

    def _work(self, items: list[bytes]) -> Any:
        accumulator = pickle.loads(self.accumulator)
        return reduce(accumulator.merge, (accumulator.of_block(pickle.loads(item)) for item in items))


class MergeRows(NamedTuple):
    """Task of a later stage: merge `fan` neighbouring results into one; of several errors the first is the outcome."""

    accumulator: bytes  # pickled
    fan: int  # results merged into one

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        merge = pickle.loads(self.accumulator).merge
        for number, results in groupby(_results(_unpacked(batches)), lambda result: result[0] // self.fan):
            yield from _rows(number, *_merged(merge, results))


def join_pieces(rows: Iterable[Row]) -> tuple[bool, Any]:
    """Put the pieces of the final result together; return whether it is an error, and the error or the result.

    `rows` are in the order of the pieces; each holds one.
    """
    (_, failed, value), *_ = _results(rows)
    return failed, value


def _merged(merge: Callable[[Any, Any], Any], results: Iterator[tuple[int, bool, Any]]) -> tuple[bool, bytes]:
    """Merge results (number, failed, value); return whether one is an error or `merge` failed, and the pickled outcome.

    The outcome is the merged result, or the first error.
    """
    # Unpickled one at a time: in memory are the merged result and one more.
    try:
        return _call_pickled(lambda: reduce(merge, (_value_or_raise(failed, value) for _, failed, value in results)))
    except _FailedError as error:
        return True, pickle.dumps(error.value)


def _value_or_raise(failed: bool, value: Any) -> Any:
    """Return the value of a result; raise `_FailedError` where the value is an error."""
    if failed:
        raise _FailedError(value)
    return value


def _difference(package: str, version: str) -> tuple[str, ...]:
    """Return () if this executor has `version` of `package`; else the name of its host and the version there.

    The version is "" if the package is missing.
    """
    from importlib import import_module
    from socket import gethostname

    try:
        here = str(import_module(package).__version__)
    except ImportError:
        here = ""
    return () if here == version else (gethostname(), here)


def _call_pickled(function: Callable[[], Any]) -> tuple[bool, bytes]:
    """Call the function; return whether it failed, and the pickled result or error.

    The error is returned, not raised: Spark would run the task again and print the error.
    """
    from pcatool.linalg.blas import one_blas_thread

    try:
        with one_blas_thread():  # an executor runs a task on each of its cores
            return False, pickle.dumps(function(), pickle.HIGHEST_PROTOCOL)
    except Exception as error:
        return True, _pickled(error)


def _pickled(error: Exception) -> bytes:
    """Return the pickled error, with its traceback as a note; a RuntimeError if the error cannot be unpickled."""
    from traceback import format_exception

    error.add_note("".join(format_exception(error)))
    try:
        data = pickle.dumps(error)
        pickle.loads(data)
    except Exception:
        return pickle.dumps(RuntimeError(f"{type(error).__name__}: {error}"))
    return data


def _rows(number: int, failed: bool, data: bytes) -> Iterator[Any]:
    """Yield the pickled result or error `data` of task `number` in pieces, each an Arrow batch of one row."""
    # The arrays are made from buffers: to make them from lists, Arrow would import pandas.
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
    """Yield (number, failed, value) of each result, unpickled while its pieces arrive; a failed value is the error."""
    for (number, failed), pieces in groupby(rows, itemgetter(0, 2)):
        yield number, bool(failed), pickle.load(io.BufferedReader(_Pieces(pieces), PIECE))


class _FailedError(BaseException):
    """Raised by `_value_or_raise` for a result that is an error.

    It is no `Exception`, so that `_call_pickled` does not catch it.
    """

    def __init__(self, value: Any) -> None:
        super().__init__(value)
        self.value = value


class _Pieces(io.RawIOBase):
    """Binary stream that reads the pieces of one result as one file."""

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

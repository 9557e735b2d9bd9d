"""Run work on the cores of this machine: a pool of threads whose results come in order.

Threads are enough, because Arrow's parser and writer and NumPy's matrix products release the GIL.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from contextvars import copy_context
from types import TracebackType
from typing import TYPE_CHECKING, TypeVar

from pcatool.arrays import QUEUED_TASKS, Accumulator, fold, most_tasks
from pcatool.linalg.blas import one_blas_thread

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

__all__ = ["Threads", "usable_cores"]

Item = TypeVar("Item")
Part = TypeVar("Part")
Result = TypeVar("Result")


def usable_cores() -> int:
    """Return the number of cores that this process may use, which may be fewer than the machine has."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class Threads:
    """Pool of threads with BLAS limited to one thread each; used in a `with` block.

    With a count of one there is no pool: `map` runs in the thread of the caller.
    """

    def __init__(self, count: int | None = None) -> None:
        self.count = count or usable_cores()
        self._pool: ThreadPoolExecutor | None = None
        self._single = ExitStack()

    def __enter__(self) -> Threads:
        self._single.enter_context(one_blas_thread())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the threads; calls that have not begun are dropped."""
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
            self._pool = None
        self._single.close()

    def map(
        self,
        function: Callable[[Item], Result],
        items: Iterable[Item],
        *,
        ready: Callable[[], bool] | None = None,
        most: int | None = None,
    ) -> Iterator[Result]:
        """Yield `function(item)` for every item, in the order of the items.

        Items are taken as threads become free, with at most `most` calls under way; None: as many as the threads need.
        `ready` returns whether the next item can be taken without a long wait; if not, the results under way are
        yielded first.
        """
        if self.count == 1:
            return map(function, items)
        return self._ordered(function, items, ready, min(self.count + QUEUED_TASKS, most or self.count + QUEUED_TASKS))

    def reduce(self, items: Iterable[Item], accumulator: Accumulator[Item, Part]) -> Part:
        """Return the sums over all items, merged in their order in the calling thread; raise `NoRows` without items."""
        return fold(accumulator, self.map(accumulator.of_block, items, most=most_tasks(accumulator.part_bytes)))

    def _ordered(
        self,
        function: Callable[[Item], Result],
        items: Iterable[Item],
        ready: Callable[[], bool] | None,
        most: int,
    ) -> Iterator[Result]:
        """Yield the results in order, with at most `most` calls under way; if the caller stops, cancel waiting calls.

        `ready` is as in `map`, None if items never take long. An error comes after the results of the items before it.
        """
        source = iter(items)
        under_way: deque[Future[Result]] = deque()
        try:
            while True:
                while under_way and (len(under_way) >= most or (ready is not None and not ready())):
                    yield under_way.popleft().result()
                try:
                    item = next(source)
                except StopIteration:
                    break
                except Exception:  # earlier results come before the error; a signal (BaseException) is raised at once
                    while under_way:
                        yield under_way.popleft().result()
                    raise
                under_way.append(self._submit(function, item))
            while under_way:
                yield under_way.popleft().result()
        finally:
            for future in under_way:
                future.cancel()

    def _submit(self, function: Callable[[Item], Result], item: Item) -> Future[Result]:
        if self._pool is None:
            from concurrent.futures import ThreadPoolExecutor

            self._pool = ThreadPoolExecutor(self.count, "pcatool")
        # In the caller's context, which holds NumPy's error state (np.errstate).
        return self._pool.submit(copy_context().run, function, item)

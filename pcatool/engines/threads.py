"""Run work on the cores of this machine: a pool of threads whose results come in order.

Arrow's parser and writer, and numpy's products, let other threads run while they work.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from contextvars import copy_context
from types import TracebackType
from typing import TYPE_CHECKING, TypeVar

from pcatool.arrays import AHEAD
from pcatool.linalg.blas import threads

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

__all__ = ["Threads", "usable_cores"]

Item = TypeVar("Item")
Result = TypeVar("Result")


def usable_cores() -> int:
    """Cores this process may use, which may be fewer than there are."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class Threads:
    """A pool of threads, each with one thread of BLAS; with a pool of one, everything is done where it is asked for."""

    def __init__(self, count: int | None = None) -> None:
        self.count = count or usable_cores()
        self._pool: ThreadPoolExecutor | None = None
        self._single = ExitStack()

    def __enter__(self) -> Threads:
        self._single.enter_context(threads(1))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let the threads end; what none of them has begun is dropped."""
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
        """`function` of each item, in their order; items are drawn as there is room for more, at most `most` at once.

        Where the next item may be a long time in coming, `ready` tells so, and what is done is handed out first.
        """
        if self.count == 1:
            return map(function, items)
        return self._ordered(function, items, ready, min(self.count + AHEAD, most or self.count + AHEAD))

    def _ordered(
        self,
        function: Callable[[Item], Result],
        items: Iterable[Item],
        ready: Callable[[], bool] | None,
        most: int,
    ) -> Iterator[Result]:
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
                except Exception:  # what came before it comes before it; a signal waits for nothing
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
        # In the caller's context: how numpy treats overflow belongs to it.
        return self._pool.submit(copy_context().run, function, item)

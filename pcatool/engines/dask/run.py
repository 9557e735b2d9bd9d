"""One tree of tasks, from sending it to its result."""

from __future__ import annotations

from queue import Empty, SimpleQueue
from typing import Any, NoReturn
from warnings import catch_warnings, simplefilter

from pcatool.engines.base import Done
from pcatool.engines.dask.link import MOMENT, Link
from pcatool.engines.dask.tasks import Tree
from pcatool.errors import FileError, LostError

__all__ = ["Run"]


class Run:
    """The futures of the leaves and of the root; those of leaves are let go of when they are done."""

    def __init__(self, link: Link, tree: Tree, done: Done) -> None:
        self._link = link
        self._done = done
        self._finished: SimpleQueue[int] = SimpleQueue()
        with catch_warnings():
            simplefilter("ignore")  # of work that is large, which is sent but once
            *leaves, self._root = link.client.get(tree.tasks, [*tree.leaves, tree.root], sync=False)
        self._last = self._left = len(leaves)  # the number of the root; how many items are not told of as done
        self._leaves = dict(enumerate(leaves)) if len(leaves) > 1 else {}  # else it is the root
        for number in (*self._leaves, self._last):
            self._listen(number)

    def _listen(self, number: int) -> None:
        """Hear of this one when it is done, once."""
        self._future(number).add_done_callback(lambda _: self._finished.put(number))

    def _future(self, number: int) -> Any:
        return self._root if number == self._last else self._leaves[number]

    def result(self) -> Any:
        """What came to the root; or the error of the first item that has one."""
        while True:
            number = self._next()
            status = self._future(number).status
            if status == "error":
                self._fail(number)
            if status == "cancelled":
                raise self._link.lost()
            if number != self._last:
                self._tell(number)
            elif status == "finished":
                break
            else:  # it was done, and the worker that held it is gone: the scheduler has it done again
                self._listen(number)
        if self._left:  # the root may be told of before the last of them are
            self._done(self._left)
        self._drop_from(0)
        result = self._link.ask(lambda: self._link.client.gather(self._root))
        self._root.release()
        return result

    def _tell(self, number: int) -> None:
        """One more item is done, or was; what came of it stays with the workers while a task needs it."""
        self._leaves.pop(number).release()
        self._left -= 1
        self._done(1)

    def _next(self) -> int:
        """The number of the next that is done."""
        while True:
            self._link.check()
            try:
                return self._finished.get(timeout=MOMENT)
            except Empty:
                continue

    def _fail(self, number: int) -> NoReturn:
        """All before the first item with an error may have one, too: they are waited for, the others cancelled."""
        failed = [i for i, future in self._leaves.items() if future.status == "error"]
        first = min([*failed, number])
        error = self._error_of(first)
        self._root.release()
        self._drop_from(first)
        while self._leaves:
            number = self._next()
            future = self._leaves.get(number)
            if future is None:  # cancelled, or told of already
                continue
            if future.status == "error":
                error = self._error_of(number)
                self._drop_from(number)
            elif future.status == "cancelled":
                raise self._link.lost()
            else:
                self._tell(number)
        raise error

    def _drop_from(self, number: int) -> None:
        """Nobody waits for these any more, so the scheduler drops them. (Asked to cancel one that it has dropped
        already, as it has what needed one that failed, it would break the connection off.)"""
        for i in [i for i in self._leaves if i >= number]:
            self._leaves.pop(i).release()

    def _error_of(self, number: int) -> BaseException:
        future = self._future(number)
        error: BaseException = self._link.ask(lambda: future._exception())
        if type(error).__name__ == "KilledWorker":
            return LostError(
                "a part of the input was begun by several workers, and each of them was lost",
                "it may need more memory than a worker has: use workers with more, or smaller parts",
            )
        if isinstance(error, ImportError) and error.name:  # of a worker that came later
            return FileError(f"a worker has no {error.name}", "install the same packages where the workers run")
        return error

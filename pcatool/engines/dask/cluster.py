"""Dask engine: connect to a scheduler, check its workers, run a tree of tasks and wait for its result."""

from __future__ import annotations

import asyncio
import logging
import platform
import re
import socket
import time
import warnings
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, wait
from contextlib import ExitStack, contextmanager, suppress
from importlib import import_module
from queue import Empty, SimpleQueue
from threading import Thread
from types import TracebackType
from typing import Any, NoReturn, TypeVar
from warnings import catch_warnings, simplefilter

from pcatool.arrays import Accumulator, nothing_to_fit
from pcatool.engines.base import Done, Listing, unreported
from pcatool.engines.dask.local import LocalWorkers
from pcatool.engines.dask.tasks import Tree, build_tree, version
from pcatool.errors import FileError, LostError, UsageError, missing_package
from pcatool.stores.interruptible_calls import interruptible, uninterrupted
from pcatool.wording import show

__all__ = ["Dask", "DaskRun"]

# Packages whose loggers are silenced.
SILENCED = ("distributed", "tornado", "asyncio", "bokeh")


@contextmanager
def silence_loggers() -> Iterator[None]:
    """Silence the loggers of Dask in this process during the `with` block, whatever the configuration of Dask says."""
    names = [name for name in logging.root.manager.loggerDict if name.partition(".")[0] in SILENCED]
    loggers = [logging.getLogger(name) for name in {*SILENCED, *names}]
    before = [(logger, logger.level) for logger in loggers if logger.level or logger.name in SILENCED]
    for logger, _ in before:
        logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        for logger, level in before:
            logger.setLevel(level)


PROTOCOLS = ("tcp", "tls", "ucx", "ws", "wss")
ADDRESS = re.compile(rf"({'|'.join(PROTOCOLS)})://(\[[0-9a-fA-F:.%\w]+\]|[^\s/:@\[\]]+):([0-9]{{1,5}})/?", re.ASCII)
MOST_PORT = 65535

# Attempts to connect, and seconds between them: a scheduler that was just started may need a moment.
TRIES, PAUSE = 3, 0.7
CONNECT_SOCKET = 5  # seconds to wait for a connection


def check_address(address: str) -> None:
    """Raise `UsageError` for a text that is not the address of a scheduler."""
    found = ADDRESS.fullmatch(address)
    if found is None or not 0 < int(found[3]) <= MOST_PORT:
        raise UsageError(
            f"--scheduler {show(address)} is not the address of a Dask scheduler",
            "write the address as tcp://host:8786",
        )


def check_listening(address: str) -> None:
    """Raise `LostError`, with the reason, where no program listens at the address of the scheduler.

    This takes a few seconds, less than Dask's own timeout. Addresses of ucx://, which has no sockets, are not checked.
    """
    found = ADDRESS.fullmatch(address)
    if found is None or found[1] == "ucx":  # not a socket
        return
    place = (found[2].strip("[]"), int(found[3]))
    for left in reversed(range(TRIES)):
        try:
            interruptible(lambda: socket.create_connection(place, CONNECT_SOCKET)).close()
            return
        except TimeoutError:
            raise unreachable(address, f"no answer in {CONNECT_SOCKET} s") from None
        except (OSError, UnicodeError) as error:  # UnicodeError: a host name with a part that is empty or too long
            if left and isinstance(error, ConnectionRefusedError):
                time.sleep(PAUSE)
                continue
            raise unreachable(address, getattr(error, "strerror", None) or "no such host") from None


def unreachable(
    address: str, reason: str, remedy: str = "check the address, and that the scheduler is running"
) -> LostError:
    return LostError(f"cannot reach the Dask scheduler at {show(address)}: {reason}", remedy)


POLL = 0.1  # longest wait in seconds, so that signals are handled soon
HEARTBEAT = 2.0  # seconds between two requests to the scheduler for its workers
LOST_AFTER = 20.0  # seconds without an answer, or without a worker, after which the cluster counts as lost


class SchedulerClient:
    """A Dask client that notices a lost scheduler and a scheduler without workers.

    `name` is the scheduler in messages. `keep` is called before every check, to replace lost workers of this machine.
    """

    def __init__(self, client: Any, name: str, keep: Callable[[], None]) -> None:
        self.client = client
        self._name = name
        self._keep = keep
        self._question: Future[Any] | None = None
        self._answered_at = self._workers_at = self._checked_at = time.monotonic()
        self._asked_at = float("-inf")

    def ask(self, question: Callable[[], Awaitable[Any]], *, of_workers: bool = False) -> Any:
        """Run the coroutine function `question` in the event loop of Dask, and return its result.

        Raises `LostError` where the scheduler or the workers are lost; with `of_workers`, also if one worker does not
        answer within LOST_AFTER seconds.
        """

        async def awaited() -> Any:
            return await question()

        future = asyncio.run_coroutine_threadsafe(awaited(), self.client.loop.asyncio_loop)
        try:
            until = time.monotonic() + LOST_AFTER
            while not wait([future], POLL).done:
                self.check()
                if of_workers and time.monotonic() > until:
                    raise LostError(
                        f"a worker of {self._name} does not answer", "start the workers again, and run again"
                    )
            return future.result()
        finally:
            future.cancel()

    def check(self) -> None:
        """Raise `LostError` where the scheduler does not answer or has no workers; cheap, so it may be called often."""
        self._keep()
        now = time.monotonic()
        unwatched, self._checked_at = max(now - self._checked_at - HEARTBEAT, 0), now
        self._answered_at += unwatched  # time in which this program did other work or was suspended does not count
        self._workers_at += unwatched
        if self.client.status != "running":
            raise self.lost()
        if self._question is None:
            if now > self._asked_at + HEARTBEAT:
                self._asked_at = now
                self._question = asyncio.run_coroutine_threadsafe(self._workers(), self.client.loop.asyncio_loop)
        elif self._question.done():
            question, self._question = self._question, None
            if question.exception() is None:
                self._answered_at = now
                if question.result():
                    self._workers_at = now
        if now > self._answered_at + LOST_AFTER:
            raise LostError(
                f"{self._name} no longer answers", "check whether the scheduler is overloaded, and run again"
            )
        if now > self._workers_at + LOST_AFTER:
            raise LostError(
                f"{self._name} has no workers left",
                "find out why the workers ended, for example because memory ran out, and run again",
            )

    async def _workers(self) -> dict[str, int]:
        """Return the number of threads of each worker, by its address."""
        found: dict[str, int] = await self.client.scheduler.ncores()
        return found

    def wait_for_workers(self, seconds: float, remedy: str) -> int:
        """Wait until there is a worker, and return the number of workers; raise `LostError` after `seconds`."""
        until = time.monotonic() + seconds
        while not (workers := self.ask(self._workers)):
            self._keep()
            if time.monotonic() > until:
                raise LostError(f"{self._name} has no workers", remedy)
            time.sleep(POLL)
        self._workers_at = time.monotonic()
        return len(workers)

    def lost(self) -> LostError:
        """Return the error for a lost scheduler."""
        return LostError(f"{self._name} was lost", "check that the scheduler is still running, and run again")


def scheduler_name(address: str) -> str:
    return f"the Dask scheduler at {show(address)}"


# Evaluated in the workers for their versions: an expression, which needs no pcatool to be unpickled there.
VERSIONS = (
    "__import__('platform').python_version(), __import__('distributed').__version__, "
    "__import__('pcatool').__version__, __import__('numpy').__version__"
)
NAMES = ("Python", "Dask", "pcatool", "numpy")
EQUAL_NUMBERS = (2, 3, None, 2)  # leading numbers of each version that must be equal; None: all

# Evaluated in the workers to import the modules that the work needs, so that the first task does not wait for them.
IMPORTS = (
    "[__import__(name) for name in ('pyarrow.parquet', 'pcatool.readers.parquet.table', 'pcatool.linalg.moments')]"
)


def check_workers(link: SchedulerClient) -> int:
    """Return the number of workers; raise `FileError` for a worker that cannot do the work of this process.

    Such a worker lacks a package, or has other versions of Python, Dask, pcatool or numpy. Also lets each worker import
    the modules that the work needs. Workers lost meanwhile do not count.
    """
    import distributed

    here = (platform.python_version(), distributed.__version__, version(), import_module("numpy").__version__)
    answers: Mapping[str, Any] = link.ask(lambda: link.client.run(eval, VERSIONS, on_error="return"), of_workers=True)
    # A worker that was lost meanwhile is ignored.
    answers = {worker: there for worker, there in sorted(answers.items()) if not isinstance(there, OSError)}
    for worker, there in answers.items():
        if isinstance(there, ImportError):
            package = str(there.name).partition(".")[0]
            raise FileError(
                f"the worker {show(worker)} has no {package}", f"install pcatool {version()} where the workers run"
            )
        if isinstance(there, BaseException):
            raise FileError(
                f"the worker {show(worker)} does not report its versions: {type(there).__name__}: {there}",
                "read the log of this worker",
            )
        for name, mine, its, count in zip(NAMES, here, there, EQUAL_NUMBERS, strict=True):
            if mine.split(".")[:count] != its.split(".")[:count]:
                raise FileError(
                    f"the worker {show(worker)} has {name} {its}, but this process has {mine}",
                    "install the same versions on this machine and on the machines of the workers",
                )
    link.ask(lambda: link.client.run(eval, f"len({IMPORTS})", on_error="return"), of_workers=True)
    return len(answers)


class DaskRun:
    """One run of a tree of tasks, which starts at once; `done` is called with the number of items just done."""

    def __init__(self, link: SchedulerClient, tree: Tree, done: Done) -> None:
        self._link = link
        self._done = done
        self._finished: SimpleQueue[int] = SimpleQueue()
        with catch_warnings():
            simplefilter("ignore")  # Dask warns of a large graph, which is sent only once here
            *leaves, self._root = link.client.get(tree.tasks, [*tree.leaves, tree.root], sync=False)
        # `_last` is the number of the root, `_left` the count of items not yet reported as done.
        self._last = self._left = len(leaves)
        self._leaves = dict(enumerate(leaves)) if len(leaves) > 1 else {}  # a single leaf is the root itself
        for number in (*self._leaves, self._last):
            self._listen(number)

    def _listen(self, number: int) -> None:
        """Arrange that `number` is put into the queue of finished futures when the future of this number is done."""
        self._future(number).add_done_callback(lambda _: self._finished.put(number))

    def _future(self, number: int) -> Any:
        return self._root if number == self._last else self._leaves[number]

    def result(self) -> Any:
        """Wait for the merged result and return it; raise the error of the first item that has one."""
        while True:
            number = self._next()
            status = self._future(number).status
            if status == "error":
                self._fail(number)
            if status == "cancelled":
                raise self._link.lost()
            if number != self._last:
                self._report(number)
            elif status == "finished":
                break
            else:  # the worker that held the result is gone, and the scheduler has the task run again
                self._listen(number)
        if self._left:  # the root may be reported before the last items
            self._done(self._left)
        self._drop_from(0)
        result = self._link.ask(lambda: self._link.client.gather(self._root))
        self._root.release()
        return result

    def _report(self, number: int) -> None:
        """Report the item of this number as done and release its future; workers keep a result while tasks need it."""
        self._leaves.pop(number).release()
        self._left -= 1
        self._done(1)

    def _next(self) -> int:
        """Wait for the next future that is done, and return its number; `LostError` if the cluster is lost."""
        while True:
            self._link.check()
            try:
                return self._finished.get(timeout=POLL)
            except Empty:
                continue

    def _fail(self, number: int) -> NoReturn:
        """Raise the error of the first item that has one, once `number` has failed.

        Items before the failed one may fail, too, so they are waited for; later items are released.
        """
        failed = [i for i, future in self._leaves.items() if future.status == "error"]
        first = min([*failed, number])
        error = self._error_of(first)
        self._root.release()
        self._drop_from(first)
        while self._leaves:
            number = self._next()
            future = self._leaves.get(number)
            if future is None:  # released already
                continue
            if future.status == "error":
                error = self._error_of(number)
                self._drop_from(number)
            elif future.status == "cancelled":
                raise self._link.lost()
            else:
                self._report(number)
        raise error

    def _drop_from(self, number: int) -> None:
        """Release the futures from `number` on, so that the scheduler drops their tasks.

        They are not cancelled: the scheduler has already dropped tasks that needed a failed one, and closes the
        connection when asked to cancel a dropped task.
        """
        for i in [i for i in self._leaves if i >= number]:
            self._leaves.pop(i).release()

    def _error_of(self, number: int) -> BaseException:
        """Return the error of a failed task; errors of Dask itself become a `LostError` or `FileError`."""
        future = self._future(number)
        error: BaseException = self._link.ask(lambda: future._exception())
        if type(error).__name__ == "KilledWorker":
            return LostError(
                "several workers were lost while they worked on the same part of the input",
                "this part may need more memory than a worker has: start workers with more memory, or split the input "
                "into smaller files",
            )
        if isinstance(error, ImportError) and error.name:  # a worker that joined after the check of versions
            return FileError(f"a worker has no {error.name}", "install the same packages where the workers run")
        return error


Item = TypeVar("Item")
Part = TypeVar("Part")
Result = TypeVar("Result")

CONNECT = 8  # seconds to wait for a connection of the client
WORKERS = 8  # seconds to wait for the first worker of a given scheduler
START = 60  # seconds to wait for the first worker process on this machine
CLOSE = 2  # seconds for the client to disconnect
CONNECT_REMEDY = "check the address and the configuration of Dask, and that the scheduler has the same version of Dask"


class Dask:
    """Cluster of Dask workers: those of the scheduler at `address`, or, with None, processes on this machine.

    Follows the protocol `Cluster` of `engines.base`.
    """

    def __init__(self, address: str | None) -> None:
        if address is not None:
            check_address(address)
        self._address = address
        self._open = ExitStack()
        self._link: SchedulerClient | None = None

    def __enter__(self) -> Dask:
        try:
            import_module("distributed")
        except ImportError as error:
            raise missing_package(error, "--engine dask needs", "dask") from None
        try:
            self._open.enter_context(silence_loggers())
            self._link = self._start_workers() if self._address is None else self._connect(self._address)
            return self
        except BaseException:
            self._close()
            raise

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._close()

    def _close(self) -> None:
        """Release client, workers and loggers; signals that arrive meanwhile do not interrupt this."""
        self._link = None
        uninterrupted(self._open.close)

    def map(self, function: Callable[[Item], Result], items: Iterable[Item], done: Done = unreported) -> list[Result]:
        items = list(items)
        return self.reduce(items, Listing(function), done) if items else []

    def reduce(self, items: Iterable[Item], accumulator: Accumulator[Item, Part], done: Done = unreported) -> Part:
        import cloudpickle

        assert self._link is not None, "entered first"
        items = list(items)
        if not items:
            raise nothing_to_fit()
        part: Part = DaskRun(self._link, build_tree(accumulator, items, cloudpickle.dumps), done).result()
        return accumulator.finish(part)

    def _start_workers(self) -> SchedulerClient:
        """Start scheduler and workers on this machine, wait for the first worker, and return a client.

        Raise `LostError` if the scheduler or no worker starts.
        """
        local = LocalWorkers()
        self._open.callback(local.close)
        uninterrupted(local.start)
        client = _client(local.cluster)
        self._open.callback(_close, client)
        self._open.callback(local.end_workers)  # the last callback runs first: workers end without waiting for others
        link = SchedulerClient(client, "the Dask scheduler of this run", local.keep)
        link.wait_for_workers(START, "check whether the machine is overloaded, and run again")
        local.works = True
        return link

    def _connect(self, address: str) -> SchedulerClient:
        """Connect to the scheduler at `address`, wait for its first worker, check all workers, and return a client.

        Raise `LostError` if the scheduler cannot be reached or has no workers, `FileError` as `check_workers` does.
        """
        check_listening(address)
        try:
            client = _client(address)
        except OSError:
            raise unreachable(address, "no Dask scheduler answers") from None
        except Exception as error:  # from TLS, a protocol that is not installed, or a scheduler of another version
            raise unreachable(address, str(error), CONNECT_REMEDY) from None
        self._open.callback(_close, client)
        link = SchedulerClient(client, scheduler_name(address), lambda: None)
        while not link.wait_for_workers(WORKERS, f"start a worker: dask worker {address}") or not check_workers(link):
            time.sleep(POLL)  # all workers were lost during the check
        return link


def _client(where: Any) -> Any:
    """Return a Dask client of a scheduler, named by its address, or of a cluster on this machine.

    A thread of its own connects, because Dask waits without end for a silent server. Raises TimeoutError after CONNECT
    seconds; the thread is then left behind.
    """
    from distributed import Client

    future: Future[Any] = Future()

    def work() -> None:
        try:
            future.set_result(Client(where, timeout=CONNECT, set_as_default=False, direct_to_workers=False))
        except BaseException as error:  # raised by `future.result` in the calling thread
            future.set_exception(error)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Dask warns of other versions, which `check_workers` reports as an error
        Thread(target=work, daemon=True).start()
        return future.result(CONNECT + POLL)


def _close(client: Any) -> None:
    """Close the client, so that the scheduler drops its tasks."""
    with suppress(Exception):  # the connection may be lost already
        client.close(timeout=CLOSE)

"""The engine: tasks for the workers of a Dask scheduler."""

from __future__ import annotations

import operator
import time
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from importlib import import_module
from threading import Thread
from types import TracebackType
from typing import Any, Generic, TypeVar

from pcatool.engines.base import Done
from pcatool.engines.dask.address import check_address, check_listening, unreachable
from pcatool.engines.dask.checks import checked
from pcatool.engines.dask.link import MOMENT, Link, of_scheduler
from pcatool.engines.dask.local import Local
from pcatool.engines.dask.run import Run
from pcatool.engines.dask.silence import silence
from pcatool.engines.dask.tasks import plant
from pcatool.errors import FileError, check_memory
from pcatool.stores.calls import to_its_end

__all__ = ["Dask"]

Item = TypeVar("Item")
Result = TypeVar("Result")

CONNECT = 8  # seconds
WORKERS = 8  # seconds for which a scheduler may have no workers
START = 60  # seconds until the first of our own must be there
CLOSE = 2  # seconds for a client to say that it leaves
SAME = "check the address and the configuration of Dask, and that its version is the same here and there"


class Dask:
    """Workers of the scheduler at an address, or without one those that are started here."""

    def __init__(self, address: str | None) -> None:
        if address is not None:
            check_address(address)
        self._address = address
        self._open = ExitStack()
        self._link: Link | None = None

    def __enter__(self) -> Dask:
        try:
            import_module("distributed")
        except ImportError as error:
            check_memory(error)
            package = str(error.name).partition(".")[0]
            raise FileError(
                f"--engine dask needs the package {package}", "install it: pip install 'pcatool[dask]'"
            ) from None
        try:
            self._open.enter_context(silence())
            self._link = self._started() if self._address is None else self._connected(self._address)
            return self
        except BaseException:
            self._close()
            raise

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._close()

    def _close(self) -> None:
        """Let go of everything, whatever signals come meanwhile."""
        self._link = None
        to_its_end(self._open.close)

    def map(self, work: Callable[[Item], Result], items: Sequence[Item], done: Done) -> list[Result]:
        return self.gather(Listed(work), operator.add, items, done) if items else []

    def gather(
        self,
        work: Callable[[Item], Result],
        merge: Callable[[Result, Result], Result],
        items: Sequence[Item],
        done: Done,
    ) -> Result:
        import cloudpickle

        assert self._link is not None, "entered first"
        result: Result = Run(self._link, plant(work, merge, items, cloudpickle.dumps), done).result()
        return result

    def _started(self) -> Link:
        local = Local()
        self._open.callback(local.close)
        to_its_end(local.start)
        client = _client(local.cluster)
        self._open.callback(_close, client)
        self._open.callback(local.end_workers)  # first of all: that must not wait for anybody
        link = Link(client, "the Dask scheduler of this run", local.keep)
        link.wait_for_workers(START, "look whether the machine is overloaded, and run it again")
        local.works = True
        return link

    def _connected(self, address: str) -> Link:
        check_listening(address)
        try:
            client = _client(address)
        except OSError:
            raise unreachable(address, "no Dask scheduler answers") from None
        except Exception as error:  # of TLS, of a protocol that is not installed, of what another version says
            raise unreachable(address, str(error), SAME) from None
        self._open.callback(_close, client)
        link = Link(client, of_scheduler(address), lambda: None)
        while not link.wait_for_workers(WORKERS, f"start some: dask worker {address}") or not checked(link):
            time.sleep(MOMENT)  # all that were there are lost
        return link


@dataclass(frozen=True)
class Listed(Generic[Item, Result]):
    """Work whose results are not merged but listed."""

    work: Callable[[Item], Result]

    def __call__(self, item: Item) -> list[Result]:
        return [self.work(item)]


def _client(where: Any) -> Any:
    """A client of Dask. A silent server is waited for without an end, so it is made in a thread that is left to it."""
    from distributed import Client

    coming: Future[Any] = Future()

    def work() -> None:
        try:
            coming.set_result(Client(where, timeout=CONNECT, set_as_default=False, direct_to_workers=False))
        except BaseException as error:  # for the main thread to raise
            coming.set_exception(error)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of versions, which are told of in a sentence
        Thread(target=work, daemon=True).start()
        return coming.result(CONNECT + MOMENT)


def _close(client: Any) -> None:
    """Let go of all tasks of this client: the scheduler cancels those that nobody else waits for."""
    with suppress(Exception):  # of a connection that is lost already
        client.close(timeout=CLOSE)

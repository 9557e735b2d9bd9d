"""Control the number of BLAS threads of numpy and scipy, so that equal data give equal bits.

The bits of a factorisation depend on the number of threads, so this number must follow from the problem alone, not
from the machine. The module calls OpenBLAS through ctypes, because importing `threadpoolctl` takes longer than a small
fit.
"""

from __future__ import annotations

import ctypes
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

__all__ = ["factorise_both", "run_in_parallel", "thread_count", "threads"]

First = TypeVar("First")
Second = TypeVar("Second")

# Least number of columns for two threads. Below, a second thread gains little on an idle machine. On a busy machine it
# costs seconds, because OpenBLAS waits by spinning: eigh of 784 columns took 0.1 to 0.2 s on one thread, and 0.2 to 9 s
# on two threads with both cores busy.
TWO_THREADS_FROM = 2048

# Thread identifier -> stack of the BLAS thread counts that this thread has requested, the current one last.
_wishes: dict[int, list[int]] = {}
# Package -> its number of BLAS threads before the first request.
_before: dict[str, int] = {}
_lock = threading.Lock()

# Identifier of the thread that requested the count. Helper threads inherit this value with the context.
_owner: ContextVar[int | None] = ContextVar("owner", default=None)


def thread_count(d: int) -> int:
    """Return the number of BLAS threads for a factorisation of d columns; depends on d alone, not on the machine."""
    return 1 if d < TWO_THREADS_FROM else 2


@cache
def _openblas(package: str) -> tuple[Any, Any] | None:
    """Return the thread-count setter and getter of the OpenBLAS in a package's wheel; None for any other BLAS."""
    home = sys.modules[package].__file__ or ""
    for path in sorted((Path(home).parent.parent / f"{package}.libs").glob("*openblas*")):
        library = ctypes.CDLL(str(path))
        for suffix in ("64_", ""):
            try:
                setter = getattr(library, f"scipy_openblas_set_num_threads{suffix}")
                getter = getattr(library, f"scipy_openblas_get_num_threads{suffix}")
            except AttributeError:
                continue
            return setter, getter
    return None


@contextmanager
def threads(count: int) -> Iterator[None]:
    """Run the body with `count` BLAS threads in numpy and, if scipy.linalg is already loaded, in scipy.

    The setting is global to the process. A helper thread that runs in the context of another thread keeps the count
    of that thread. When several threads request a count at the same time, the smallest count applies until the last
    of the threads has left.
    """
    me = threading.get_ident()
    owner = _owner.get()
    if owner not in (None, me):
        yield
        return
    mine = _owner.set(me)
    _wish(me, count)
    try:
        yield
    finally:
        _wish(me, None)
        _owner.reset(mine)


def _set() -> None:
    """Set BLAS to the smallest requested count, or restore the original count when no request is left."""
    for package in ("numpy", "scipy") if "scipy.linalg" in sys.modules else ("numpy",):
        controls = _openblas(package)
        if controls is not None:
            setter, getter = controls
            before = _before.setdefault(package, getter())
            setter(min(wishes[-1] for wishes in _wishes.values()) if _wishes else before)
    if not _wishes:
        _before.clear()


def _after_fork() -> None:
    """Drop the requests of all other threads in a forked child, where only the forking thread still runs."""
    for owner in set(_wishes) - {threading.get_ident()}:
        del _wishes[owner]
    if _before:
        _set()
    _lock.release()


os.register_at_fork(before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_after_fork)


def _wish(owner: int, count: int | None) -> None:
    """Add a request of the thread `owner`, or remove its latest request when `count` is None."""
    with _lock:
        if count is not None:
            _wishes.setdefault(owner, []).append(count)
        elif len(_wishes[owner]) > 1:
            _wishes[owner].pop()
        else:
            del _wishes[owner]
        _set()


def factorise_both(d: int, first: Callable[[], First], second: Callable[[], Second]) -> tuple[First, Second]:
    """Return the results of two factorisations of d columns, run in parallel if each uses one BLAS thread.

    Larger factorisations use two BLAS threads each and run one after the other: four OpenBLAS threads on two cores
    would wait for each other, and both large matrices would be in memory at the same time.
    """
    count = thread_count(d)
    with threads(count):
        return run_in_parallel(first, second) if count == 1 else (first(), second())


def run_in_parallel(first: Callable[[], First], second: Callable[[], Second]) -> tuple[First, Second]:
    """Run two functions in two threads and return both results; an exception of either function is raised here.

    LAPACK calls release the GIL. The bits are equal to those of two calls in sequence.
    """
    found: list[First] = []
    failed: list[BaseException] = []

    def work() -> None:
        try:
            found.append(first())
        except BaseException as error:
            failed.append(error)

    helper = threading.Thread(target=copy_context().run, args=(work,))
    helper.start()
    try:
        other = second()
    finally:
        helper.join()
    if failed:
        raise failed[0]
    return found[0], other

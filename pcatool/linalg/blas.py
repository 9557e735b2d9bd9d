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

__all__ = ["factorise_both", "load_scipy_linalg", "run_in_parallel", "thread_count", "threads"]

First = TypeVar("First")
Second = TypeVar("Second")

# Least number of columns for two threads. Below, a second thread gains little on an idle machine. On a busy machine it
# costs seconds, because OpenBLAS waits by spinning: eigh of 784 columns took 0.1 to 0.2 s on one thread, and 0.2 to 9 s
# on two threads with both cores busy.
TWO_THREADS_FROM = 2048

# Thread identifier -> stack of the BLAS thread counts that this thread has requested, the current one last.
_requests: dict[int, list[int]] = {}
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
    """Return the functions that set and get the number of OpenBLAS threads of `package`; None for another BLAS.

    `package` is "numpy" or "scipy", imported already. OpenBLAS is searched in the libraries of its wheel.
    """
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

    The setting is global to the process. While several threads run such bodies, the smallest of their counts applies;
    when the last body ends, the count from before is restored. In a helper thread that runs in the context of another
    thread's body, the count of that body stays.
    """
    me = threading.get_ident()
    owner = _owner.get()
    if owner not in (None, me):
        yield
        return
    mine = _owner.set(me)
    _request(me, count)
    try:
        yield
    finally:
        _request(me, None)
        _owner.reset(mine)


def _apply_requests() -> None:
    """Set BLAS to the smallest count in `_requests`; without requests, restore the count from before them."""
    for package in ("numpy", "scipy") if "scipy.linalg" in sys.modules else ("numpy",):
        controls = _openblas(package)
        if controls is not None:
            setter, getter = controls
            before = _before.setdefault(package, getter())
            setter(min(counts[-1] for counts in _requests.values()) if _requests else before)
    if not _requests:
        _before.clear()


def load_scipy_linalg() -> Any:
    """Import scipy.linalg, if it is not loaded, and return it, with the number of threads that `threads` has set."""
    import scipy.linalg

    with _lock:
        if _requests:
            _apply_requests()
    return scipy.linalg


def _after_fork() -> None:
    """In a forked child, drop the requests of threads that the child does not have, and release the lock."""
    for owner in set(_requests) - {threading.get_ident()}:
        del _requests[owner]
    if _before:
        _apply_requests()
    _lock.release()


os.register_at_fork(before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_after_fork)


def _request(owner: int, count: int | None) -> None:
    """Add a request of the thread `owner`, or remove its latest request if `count` is None; then set BLAS."""
    with _lock:
        if count is not None:
            _requests.setdefault(owner, []).append(count)
        elif len(_requests[owner]) > 1:
            _requests[owner].pop()
        else:
            del _requests[owner]
        _apply_requests()


def factorise_both(
    d: int, first: Callable[[], First], second: Callable[[], Second], *, in_parallel: bool = True
) -> tuple[First, Second]:
    """Return the results of two factorisations of d columns, run in parallel if each uses one BLAS thread.

    Larger factorisations use two BLAS threads each and run one after the other: four OpenBLAS threads on two cores
    would wait for each other, and both large matrices would be in memory at the same time. `in_parallel` can forbid it
    for smaller ones, too, to save memory.
    """
    count = thread_count(d)
    with threads(count):
        return run_in_parallel(first, second) if count == 1 and in_parallel else (first(), second())


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

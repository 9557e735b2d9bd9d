"""Keep BLAS at one thread, so that equal data give equal bits, and run two factorisations at the same time.

The bits of a product or factorisation depend on the number of BLAS threads. OpenBLAS also waits by spinning, which
costs a multiple of the time where other processes need the cores. So BLAS always has one thread, and larger work is
split among our own threads, in a way that depends on the problem alone, not on the machine. The module calls OpenBLAS
through ctypes, because importing `threadpoolctl` takes longer than a small fit.
"""

from __future__ import annotations

import ctypes
import os
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import copy_context
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

__all__ = ["factorise_both", "load_scipy_linalg", "one_blas_thread", "run_in_parallel"]

First = TypeVar("First")
Second = TypeVar("Second")

# Thread identifier -> how many bodies of `one_blas_thread` this thread is in.
_bodies: Counter[int] = Counter()
# Package -> its number of BLAS threads before the first body.
_before: dict[str, int] = {}
_lock = threading.Lock()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Run the body with one BLAS thread in numpy and, if scipy.linalg is loaded, in scipy.

    The setting is global to the process. The former numbers of threads are restored when no thread of the process is in
    such a body any more.
    """
    me = threading.get_ident()
    with _lock:
        _bodies[me] += 1
        _set_blas_threads()
    try:
        yield
    finally:
        with _lock:
            _bodies[me] -= 1
            if not _bodies[me]:
                del _bodies[me]
            _set_blas_threads()


def load_scipy_linalg() -> Any:
    """Return scipy.linalg, imported on first use; in a body of `one_blas_thread`, its BLAS is set to one thread."""
    import scipy.linalg

    with _lock:
        _set_blas_threads()
    return scipy.linalg


def _set_blas_threads() -> None:
    """Set BLAS to one thread if any thread is in a body of `one_blas_thread`, else restore the former numbers."""
    if _bodies:
        for package in ("numpy", "scipy") if "scipy.linalg" in sys.modules else ("numpy",):
            controls = _openblas(package)
            if controls is not None and package not in _before:
                setter, getter = controls
                _before[package] = getter()
                setter(1)
        return
    for package, count in _before.items():
        controls = _openblas(package)
        if controls is not None:
            controls[0](count)
    _before.clear()


@cache
def _openblas(package: str) -> tuple[Any, Any] | None:
    """Return the functions that set and get the number of OpenBLAS threads of `package`; None for another BLAS.

    `package` is "numpy" or "scipy", imported already. OpenBLAS is searched among the libraries of the package's wheel.
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


def _after_fork() -> None:
    """In a forked child, forget bodies of `one_blas_thread` in threads that the child lacks, and release the lock."""
    for thread in set(_bodies) - {threading.get_ident()}:
        del _bodies[thread]
    _set_blas_threads()
    _lock.release()


os.register_at_fork(before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_after_fork)


def factorise_both(
    first: Callable[[], First], second: Callable[[], Second], *, in_parallel: bool
) -> tuple[First, Second]:
    """Return the results of two factorisations, each with one BLAS thread.

    The factorisations run in two threads if `in_parallel`, else one after the other, which takes less memory.
    """
    with one_blas_thread():
        return run_in_parallel(first, second) if in_parallel else (first(), second())


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

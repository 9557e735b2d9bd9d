"""Control the threads of the BLAS under numpy and scipy, so that equal data give equal bits.

A factorisation gives other bits with one thread than with two; the number must therefore follow from the problem alone.
Done by hand over ctypes because `threadpoolctl` costs more to import than a small fit takes.
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

__all__ = ["factorisation_threads", "factorised", "side_by_side", "threads"]

First = TypeVar("First")
Second = TypeVar("Second")

# Below this many columns a second thread gains little on an idle machine and, since OpenBLAS waits by spinning, costs
# seconds on a busy one: eigh of 784 columns took 0.1 to 0.2 s on one thread, 0.2 to 9 s on two with both cores taken.
TWO_THREADS_FROM = 2048

# Of each thread that has wishes, the number that it wants now last; and the number before anybody had one.
_wishes: dict[int, list[int]] = {}
_before: dict[str, int] = {}
_lock = threading.Lock()

# The thread that has set the number, for those that work for it.
_owner: ContextVar[int | None] = ContextVar("owner", default=None)


def factorisation_threads(d: int) -> int:
    """BLAS threads for a factorisation of d columns: from d alone, not from the machine."""
    return 1 if d < TWO_THREADS_FROM else 2


@cache
def _openblas(package: str) -> tuple[Any, Any] | None:
    """The setter and getter of the OpenBLAS that a package's wheels carry; None under another BLAS."""
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
    """Run the body with `count` BLAS threads, in numpy and, where it is loaded already, in scipy.

    The setting belongs to the process: the thread that enters speaks for all that work in its context, and of
    several that enter at the same time the smallest number counts, until the last has left.
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
    """Bring BLAS to the smallest number wished for, or to that from before there was a wish."""
    for package in ("numpy", "scipy") if "scipy.linalg" in sys.modules else ("numpy",):
        controls = _openblas(package)
        if controls is not None:
            setter, getter = controls
            before = _before.setdefault(package, getter())
            setter(min(wishes[-1] for wishes in _wishes.values()) if _wishes else before)
    if not _wishes:
        _before.clear()


def _after_fork() -> None:
    """In a child only the thread that forked lives on: the wishes of the others end here."""
    for owner in set(_wishes) - {threading.get_ident()}:
        del _wishes[owner]
    if _before:
        _set()
    _lock.release()


os.register_at_fork(before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_after_fork)


def _wish(owner: int, count: int | None) -> None:
    """One more wish of a thread, or an end to its last."""
    with _lock:
        if count is not None:
            _wishes.setdefault(owner, []).append(count)
        elif len(_wishes[owner]) > 1:
            _wishes[owner].pop()
        else:
            del _wishes[owner]
        _set()


def factorised(d: int, first: Callable[[], First], second: Callable[[], Second]) -> tuple[First, Second]:
    """Both of two factorisations of d columns: at the same time where each takes one thread, else in turn.

    Twice two threads of OpenBLAS on two cores would wait for each other, and large matrices lie beside each other.
    """
    count = factorisation_threads(d)
    with threads(count):
        return side_by_side(first, second) if count == 1 else (first(), second())


def side_by_side(first: Callable[[], First], second: Callable[[], Second]) -> tuple[First, Second]:
    """Both results, from two threads: LAPACK lets Python go on, and the bits are those of one after the other."""
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

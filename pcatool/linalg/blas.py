"""How many threads the BLAS under numpy and scipy uses, so that the same data give the same bits on every run.

A factorisation gives other bits with one thread than with two; the number must therefore follow from the problem alone.
Done by hand over ctypes because `threadpoolctl` costs more to import than a small fit takes.
"""

from __future__ import annotations

import ctypes
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

__all__ = ["factorisation_threads", "side_by_side", "threads"]

First = TypeVar("First")
Second = TypeVar("Second")

# Below this many columns a second thread gains little on an idle machine and, since OpenBLAS waits by spinning, costs
# seconds on a busy one: eigh of 784 columns took 0.1 to 0.2 s on one thread, 0.2 to 9 s on two with both cores taken.
TWO_THREADS_FROM = 2048

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

    The setting belongs to the process, so the thread that enters first speaks for all that work in its context.
    """
    me = threading.get_ident()
    owner = _owner.get()
    if owner not in (None, me):
        yield
        return
    mine = _owner.set(me)
    loaded = ["numpy", "scipy"] if "scipy.linalg" in sys.modules else ["numpy"]
    found = [controls for package in loaded if (controls := _openblas(package)) is not None]
    before = [getter() for _, getter in found]
    for setter, _ in found:
        setter(count)
    try:
        yield
    finally:
        _owner.reset(mine)
        for (setter, _), old in zip(found, before, strict=True):
            setter(old)


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

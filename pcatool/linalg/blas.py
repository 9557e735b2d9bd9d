"""How many threads the BLAS under numpy uses, so that the same data give the same bits on every run.

A factorisation gives other bits with one thread than with two; the number must therefore follow from the problem alone.
Done by hand over ctypes because `threadpoolctl` costs more to import than a small fit takes.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["factorisation_threads", "threads"]

# Below this many columns a second thread costs more than it gives, and one thread is always there to be had.
TWO_THREADS_FROM = 200


def factorisation_threads(d: int) -> int:
    """BLAS threads for a factorisation of d columns: from d alone, not from the machine."""
    return 1 if d < TWO_THREADS_FROM else 2


@cache
def _openblas() -> tuple[Any, Any] | None:
    """The setter and getter of the OpenBLAS that numpy's wheels carry; None under another BLAS."""
    for path in sorted((Path(np.__file__).parent.parent / "numpy.libs").glob("*openblas*")):
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
    """Run the body with `count` BLAS threads. The setting belongs to the process, so only the main thread enters here."""
    found = _openblas()
    if found is None:
        yield
        return
    setter, getter = found
    before = getter()
    setter(count)
    try:
        yield
    finally:
        setter(before)

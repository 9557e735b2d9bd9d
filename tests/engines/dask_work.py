"""Work that workers can import, for the tests of engines."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

from pcatool.errors import DataError
from pcatool.linalg import blas


def word(item: int) -> str:
    return str(item)


def slow_word(item: int) -> str:
    time.sleep(0.04)
    return str(item)


def pair(one: str, other: str) -> str:
    """Tells in which order, and what with what."""
    return f"({one} {other})"


def no_pair(one: str, other: str) -> str:
    raise ValueError(f"{one} {other}")


def refuse(item: int) -> str:
    """From 3 on all are refused, the first of them late."""
    if item == 3:
        time.sleep(0.5)
    if item >= 3:
        raise DataError(f"part {item} is bad", "leave it out")
    return str(item)


def exhaust(item: int) -> str:
    raise MemoryError


def import_nothing(item: int) -> None:
    import no_such_package  # noqa: F401


def die(item: int) -> str:
    """As when the system ends a process for its memory."""
    if item == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return str(item)


def threads_of_blas(item: int) -> int:
    import numpy  # noqa: F401

    controls = blas._openblas("numpy")
    return 1 if controls is None else int(controls[1]())


def computed_for(item: int) -> list[str]:
    from programs import computed_for

    return computed_for()


class Noted:
    """Leaves a file for each item that was begun, and takes its time."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __call__(self, item: int) -> str:
        (self.folder / str(item)).touch()
        time.sleep(0.2)
        return str(item)

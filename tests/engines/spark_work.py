"""Work for tests of Spark, where its workers can import it."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

from pcatool.errors import DataError, FileError


def computed_for(number: int) -> list[str]:
    from programs import computed_for

    return computed_for()


def letters(number: int) -> str:
    return f"{number}."


def double(number: int) -> int:
    return 2 * number


def inexact(number: int) -> float:
    """Sums of these depend on their order."""
    return 1 / (number + 3)


def plus(one: float, other: float) -> float:
    return one + other


def joined(one: str, other: str) -> str:
    return one + other


def failing(number: int) -> int:
    """Of three that fail, the first takes its time."""
    if number == 5:
        time.sleep(0.3)
        raise FileError("item 5", "look at it")
    if number in (6, 11):
        raise DataError(f"item {number}")
    return number


def dividing(number: int) -> float:
    return 1 / (number - 3)


def killed_once(place: str) -> str:
    """Ends its own process, the first time."""
    path = Path(place)
    if path.suffix == ".kill" and not path.exists():
        path.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return path.stem


def killed(_: int) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def large(number: int) -> bytes:
    """More than goes into one row."""
    return bytes([number]) * (9 << 20)


def sleeping(seconds: float) -> None:
    time.sleep(seconds)

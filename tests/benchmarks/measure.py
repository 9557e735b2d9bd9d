"""One cold process: its wall time, processor time and peak memory."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Timer

SECONDS = 900  # a contender that takes longer is stopped, and counts as failed
MB = 1e6 if sys.platform == "darwin" else 1e6 / 1024  # the system counts bytes there, else units of 1024 bytes
NOT_FOUND = 127  # as in a shell


@dataclass(frozen=True)
class Measurement:
    wall: float  # seconds
    cpu: float  # seconds, user and system, of all threads
    peak: float  # MB, resident
    code: int
    error: str = ""  # the last line of standard error when the code is not 0


def measure(command: Sequence[str], environment: Mapping[str, str], out: Path, err: Path) -> Measurement:
    """Runs a command with nothing on standard input and its outputs in two files.

    What the system reports as peak is never below what this process holds when it starts another; it holds so little
    (no library but the standard one is imported) that no contender comes near.
    """
    start = time.perf_counter()
    try:
        child = os.posix_spawnp(command[0], list(command), environment, file_actions=_streams(out, err))
    except OSError as error:
        return Measurement(0, 0, 0, NOT_FOUND, str(error))
    guard = Timer(SECONDS, os.kill, (child, signal.SIGKILL))
    guard.start()
    _, status, usage = os.wait4(child, 0)
    wall = time.perf_counter() - start
    guard.cancel()
    code = os.waitstatus_to_exitcode(status)
    cpu = usage.ru_utime + usage.ru_stime
    return Measurement(wall, cpu, usage.ru_maxrss / MB, code, _last_line(err, code) if code else "")


def _streams(out: Path, err: Path) -> list[tuple[int, int, str, int, int]]:
    fresh = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    return [
        (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
        (os.POSIX_SPAWN_OPEN, 1, str(out), fresh, 0o644),
        (os.POSIX_SPAWN_OPEN, 2, str(err), fresh, 0o644),
    ]


def _last_line(err: Path, code: int) -> str:
    lines = err.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    return lines[-1] if lines else f"ended with {code}, silently"


def warm(path: Path) -> None:
    """Reads a file once, so that it lies in the system's cache: what is measured is the program, not the disk."""
    with path.open("rb", buffering=0) as file:
        while file.read(1 << 20):
            pass

"""Memory that is free or asked for, and the temporary file for what does not fit into it."""

from __future__ import annotations

import os
import re
import resource
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from pcatool.errors import FileError, UsageError, show

__all__ = ["Spool", "cannot_spool", "free_bytes", "give_back", "keep_memory", "parse_size", "size_text"]

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD, M_ARENA_MAX = -1, -3, -8  # of the GNU C library

UNITS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}

# Where a container's own limit and use are told, by version of the control groups.
CGROUPS = (
    ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
    ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes"),
)


def parse_size(text: str) -> int:
    """Bytes of `2GB`, `500 MiB`, `1.5g` or a plain number; K, M, G, T are powers of 1024 or, with a bare B, of 1000."""
    found = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([kmgt]?)(i?)(b?)\s*", text, re.IGNORECASE | re.ASCII)
    if found is None or float(found.group(1)) <= 0:
        raise UsageError(f"--memory {show(text)} is not an amount of memory", "write 500MB, 2GB or a number of bytes")
    base = 1000 if found.group(4) and not found.group(3) else 1024
    return int(float(found.group(1)) * base ** UNITS[found.group(2).lower()])


def size_text(count: float) -> str:
    """An amount to be read."""
    for unit, factor in (("GB", 1e9), ("MB", 1e6)):
        if count >= factor:
            return f"{count / factor:.3g} {unit}"
    return f"{count / 1e3:.3g} kB"


def keep_memory() -> None:
    """Blocks of a few MB come and go all the time: the C library shall not give each back and fetch it anew.

    All threads share one heap. Of a heap of its own each would keep what it has freed, and nothing would give it back.
    """
    try:
        mallopt = _c_library().mallopt
    except AttributeError:  # not the GNU library
        return
    mallopt(M_MMAP_THRESHOLD, 32 << 20)
    mallopt(M_TRIM_THRESHOLD, 256 << 20)
    mallopt(M_ARENA_MAX, 1)


def give_back() -> None:
    """Return what is free to the system: a new stage takes memory in other pieces, and would take it on top."""
    with suppress(AttributeError):  # not the GNU library
        _c_library().malloc_trim(0)


@cache
def _c_library() -> Any:
    from ctypes import CDLL

    return CDLL(None)


def free_bytes() -> int:
    """What this process could still take: the machine's free memory, or what its container or `ulimit -v` leaves."""
    limits = [_machine(), *(_container(limit, used) for limit, used in CGROUPS), _address_space()]
    known = [limit for limit in limits if limit is not None]
    return min(known) if known else 1 << 62


def _machine() -> int | None:
    found = re.search(r"^MemAvailable:\s+([0-9]+) kB", _text("/proc/meminfo"), re.MULTILINE)
    return int(found.group(1)) * 1024 if found else None


def _container(limit: str, used: str) -> int | None:
    most, now = _text(limit).strip(), _text(used).strip()
    return max(int(most) - int(now), 0) if most.isdigit() and now.isdigit() else None


def _address_space() -> int | None:
    most = resource.getrlimit(resource.RLIMIT_AS)[0]
    if most == resource.RLIM_INFINITY:
        return None
    pages = _text("/proc/self/statm").split()
    return max(most - (int(pages[0]) * resource.getpagesize() if pages else 0), 0)


def _text(path: str) -> str:
    """A file of the system, empty where the system has none."""
    try:
        return Path(path).read_text(encoding="ascii")
    except OSError:
        return ""


class Spool:
    """Bytes by their place. Threads may write and read different places at the same time."""

    def __init__(self) -> None:
        from tempfile import TemporaryFile

        try:
            self._file = TemporaryFile(buffering=0)
        except OSError as error:
            raise cannot_spool(error) from None

    def put(self, pieces: Sequence[memoryview], place: int) -> None:
        """The pieces, no more than 1024 (IOV_MAX), one after the other."""
        try:
            done = os.pwritev(self._file.fileno(), pieces, place)
            # A disk that is full takes a part, and says so at the next.
            rest = memoryview(b"".join(pieces))[done:] if done < sum(piece.nbytes for piece in pieces) else None
            while rest:
                place += done
                done = os.pwrite(self._file.fileno(), rest, place)
                rest = rest[done:]
        except OSError as error:
            raise cannot_spool(error) from None

    def get(self, into: memoryview, place: int) -> None:
        """Fill `into` with what was put there."""
        while into:
            count = os.preadv(self._file.fileno(), [into], place)
            assert count > 0, "only what was put is asked for"
            into, place = into[count:], place + count

    def __del__(self) -> None:
        if hasattr(self, "_file"):
            self._file.close()


def cannot_spool(error: OSError, what: str = "rows") -> FileError:
    from tempfile import gettempdir

    try:
        folder = gettempdir()
    except OSError:  # there is none that can be written to
        folder = os.environ.get("TMPDIR", "/tmp")
    return FileError.from_os(folder, f"spool {what} to", error)

"""Free memory, sizes in bytes, settings of the C allocator, and a temporary file for data that exceed memory."""

from __future__ import annotations

import math
import os
import re
import resource
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from pcatool.errors import FileError, UsageError
from pcatool.wording import show

__all__ = [
    "Spool",
    "admitting",
    "cannot_spool",
    "free_bytes",
    "free_disk",
    "limit_text",
    "need_text",
    "or_admitting",
    "parse_size",
    "release_free_memory",
    "size_text",
    "temporary_folder",
    "tune_allocator",
]

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD, M_ARENA_MAX = -1, -3, -8  # parameters of mallopt in the GNU C library

# Heaps that all threads share. A heap per thread would keep what its thread has freed: 30 MB beyond the plan of a fit
# of 700 columns with missing cells. With one heap, threads wait for each other: a third more time on some machines.
HEAPS = 2

# Blocks of this size and more return to the system when they are freed. Blocks of a few MB are allocated and freed all
# the time; to return each and fetch it again is slow.
LARGE_BLOCK = 32 << 20

# Unit of a size -> exponent of 1000 or 1024.
UNIT_EXPONENTS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}

# Least number of bytes that --memory accepts without a unit: the program alone takes more bytes.
LEAST_PLAIN_NUMBER = 1_000_000

# Files with a container's memory limit and its use: control groups of version 2, then of version 1.
CGROUP_MEMORY_FILES = (
    ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
    ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes"),
)


def parse_size(text: str) -> int:
    """Return the bytes in a text such as `2GB`, `500 MiB`, `1.5g` or a plain number.

    `2GB` counts in powers of 1000, `2G` and `2GiB` in powers of 1024; upper and lower case are equal. Raise
    `UsageError` for any other text, for 0, and for a number without a unit below LEAST_PLAIN_NUMBER.
    """
    match = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([kmgt]?)(i?)(b?)\s*", text, re.IGNORECASE | re.ASCII)
    if match is None or float(match.group(1)) <= 0:
        raise UsageError(
            f"--memory {show(text)} is not an amount of memory", "write 500MB, 2GB or another amount above 0"
        )
    if not any(match.groups()[1:]) and float(match.group(1)) < LEAST_PLAIN_NUMBER:
        raise UsageError(
            f"--memory {show(text)} has no unit, and {text.strip()} bytes are too few",
            f"write --memory {text.strip()}{_probable_unit(float(match.group(1)))}",
        )
    base = 1000 if match.group(4) and not match.group(3) else 1024
    return int(float(match.group(1)) * base ** UNIT_EXPONENTS[match.group(2).lower()])


def _probable_unit(number: float) -> str:
    """Return the unit with which a number gives between 100 MB, below which no fit can run, and 100 GB."""
    return "GB" if number < 100 else "MB" if number < 100_000 else "kB"


def size_text(count: float) -> str:
    """Return a number of bytes as text such as `1.5 GB`: at most three significant digits, units in powers of 1000."""
    for unit, factor in (("kB", 1e3), ("MB", 1e6), ("GB", 1e9), ("TB", 1e12)):
        digits = f"{count / factor:.3g}"
        if float(digits) < 1000:  # 999.7 MB are 1 GB
            return f"{digits} {unit}"
    return f"{count / factor:.0f} {unit}"


def need_text(count: float) -> str:
    """Return a number of bytes as text, rounded up, so that a need over a limit never looks equal to the limit."""
    return size_text(_rounded(count, math.ceil))


def limit_text(limit: float) -> str:
    """Return a clause such as `the limit is 2 GB (set by --memory; ...)`, with the limit in bytes rounded down."""
    return (
        f"the limit is {size_text(_rounded(limit, math.floor))} (set by --memory; by default half of the free memory)"
    )


def _rounded(count: float, towards: Callable[[float], int]) -> float:
    """Round a number of bytes to three significant digits: up if `towards` is math.ceil, down if math.floor."""
    step: int = 10 ** max(len(str(int(count))) - 3, 0)
    return towards(count / step) * step


def admitting(need: int) -> str | None:
    """Return the text of the option with which a fit of `need` bytes may run, such as `--memory 108MB`.

    Return None if less than `need` bytes are free.
    """
    return f"--memory {need_text(need).replace(' ', '')}" if need <= free_bytes() else None


def or_admitting(remedy: str, need: int) -> str:
    """Return the remedy; if `need` bytes are free, followed by `, or give --memory SIZE`, which admits the fit."""
    admits = admitting(need)
    return f"{remedy}, or give {admits}" if admits else remedy


def tune_allocator() -> None:
    """Make the GNU C library keep freed blocks for reuse, in at most HEAPS heaps; do nothing with another C library.

    Blocks of LARGE_BLOCK bytes or more still go back to the system at once. Call before the first thread starts.
    """
    with suppress(AttributeError):  # not the GNU C library
        mallopt = _c_library().mallopt
        mallopt(M_MMAP_THRESHOLD, LARGE_BLOCK)
        mallopt(M_TRIM_THRESHOLD, 256 << 20)
        mallopt(M_ARENA_MAX, HEAPS)


def release_free_memory() -> None:
    """Return freed memory to the system; do nothing with another C library than the GNU one.

    The C library keeps freed memory. The next stage allocates blocks of other sizes, which may not fit into it.
    """
    with suppress(AttributeError):  # not the GNU C library
        _c_library().malloc_trim(0)


@cache
def _c_library() -> Any:
    from ctypes import CDLL

    return CDLL(None)


def free_bytes() -> int:
    """Return the bytes that this process can still allocate; 2**62 if no limit is known.

    This is the least of what is free on the machine, what a container's limit leaves, and what `ulimit -v` leaves.
    """
    limits = [
        _free_on_machine(),
        *(_free_in_container(limit_file, used_file) for limit_file, used_file in CGROUP_MEMORY_FILES),
        _free_address_space(),
    ]
    known = [limit for limit in limits if limit is not None]
    return min(known) if known else 1 << 62


def _free_on_machine() -> int | None:
    """Return the bytes of memory available on the machine; None if /proc/meminfo does not say."""
    match = re.search(r"^MemAvailable:\s+([0-9]+) kB", _read_system_file("/proc/meminfo"), re.MULTILINE)
    return int(match.group(1)) * 1024 if match else None


def _free_in_container(limit_file: str, used_file: str) -> int | None:
    """Return the bytes that a container's memory limit leaves, from its files of limit and use.

    Return None if there is no limit, or no such file.
    """
    limit, used = _read_system_file(limit_file).strip(), _read_system_file(used_file).strip()
    return max(int(limit) - int(used), 0) if limit.isdigit() and used.isdigit() else None


def _free_address_space() -> int | None:
    """Return the bytes of address space that `ulimit -v` leaves; None if there is no limit."""
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit == resource.RLIM_INFINITY:
        return None
    pages = _read_system_file("/proc/self/statm").split()
    return max(limit - (int(pages[0]) * resource.getpagesize() if pages else 0), 0)


def _read_system_file(path: str) -> str:
    """Return the text of a system file; "" if the file cannot be read."""
    try:
        return Path(path).read_text(encoding="ascii")
    except OSError:
        return ""


class Spool:
    """Temporary file, written and read at byte offsets, perhaps by several threads at once; deleted with the object.

    Raise `FileError` if the file cannot be created.
    """

    def __init__(self) -> None:
        from tempfile import TemporaryFile

        try:
            self._file = TemporaryFile(buffering=0)
        except OSError as error:
            raise cannot_spool(error) from None

    def put(self, pieces: Sequence[memoryview], offset: int) -> None:
        """Write at most 1024 pieces (IOV_MAX) in order from byte `offset`; raise `FileError` if that fails."""
        try:
            done = os.pwritev(self._file.fileno(), pieces, offset)
            # A full disk writes a part without an error, and fails on the next write.
            rest = memoryview(b"".join(pieces))[done:] if done < sum(piece.nbytes for piece in pieces) else None
            while rest:
                offset += done
                done = os.pwrite(self._file.fileno(), rest, offset)
                rest = rest[done:]
        except OSError as error:
            raise cannot_spool(error) from None

    def get(self, into: memoryview, offset: int) -> None:
        """Fill `into` with the bytes of the file from byte `offset` on; all of these must have been written."""
        while into:
            count = os.preadv(self._file.fileno(), [into], offset)
            assert count > 0, "bytes are read before they were written"
            into, offset = into[count:], offset + count

    def __del__(self) -> None:
        if hasattr(self, "_file"):
            self._file.close()


def temporary_folder() -> str:
    """Return the folder for temporary files: $TMPDIR, if that is writable, or another that the system names.

    If no such folder is writable, return $TMPDIR or /tmp all the same, for messages.
    """
    from tempfile import gettempdir

    try:
        return gettempdir()
    except OSError:  # no temporary folder is writable
        return os.environ.get("TMPDIR", "/tmp")


def free_disk(folder: str) -> int:
    """Return the bytes that the disk of a folder has free for this user; 2**62 if the system does not say."""
    from shutil import disk_usage

    try:
        return disk_usage(folder).free
    except OSError:  # the error of writing the file will say why
        return 1 << 62


def cannot_spool(error: OSError, content: str = "rows") -> FileError:
    """Return the error for a temporary file that could not be written, from the error `error` of the system.

    `content` names the data that were to be written, for the message.
    """
    failed = FileError.from_os(temporary_folder(), f"write {content} to a temporary file in", error)
    failed.add_remedy("set the variable TMPDIR to a writable folder with enough space")
    return failed

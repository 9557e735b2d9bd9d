"""Files and objects by their names, as outputs: whether they are there, since when, and how they go."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from pcatool.errors import FileError
from pcatool.stores.uri import HTTP, is_remote, parse

__all__ = ["is_there", "make_folders", "make_old", "remove", "state_of", "written_at", "written_by"]

SECOND = 10**9


def make_folders(output: str) -> None:
    """All above an output that are not there."""
    if is_remote(output):
        return  # a store has names only
    folder = Path(output).parent
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError.from_os(folder, "make the folder", error) from None


def is_there(name: str) -> bool:
    return written_at(name) is not None if is_remote(name) else Path(name).exists()


def written_at(name: str) -> int | None:
    """When a file was last written; None where there is none, or nothing tells."""
    if is_remote(name):
        from pcatool.stores.listing import written

        return written(name)
    try:
        there = Path(name).stat()
    except OSError:  # reading it says why
        return None
    return there.st_mtime_ns if stat.S_ISREG(there.st_mode) else None


def written_by(name: str) -> int | None:
    """When at the latest: a store tells whole seconds, in the rest of which an object may have been replaced."""
    at = written_at(name)
    return at + SECOND if at is not None and is_remote(name) else at


def state_of(name: str) -> tuple[object, ...] | None:
    """What tells a file from another of its name, and from itself when it was written to; not of a page."""
    if is_remote(name):
        from pcatool.stores.objects import state_of

        return None if parse(name).kind == HTTP else state_of(name)
    try:
        there = Path(name).stat()
    except OSError:
        return None
    regular = stat.S_ISREG(there.st_mode)
    return (there.st_dev, there.st_ino, there.st_size, there.st_mtime_ns) if regular else None


def make_old(name: str) -> bool:
    """Older than whatever it could have been made from: what a store has, which it dates itself, is removed."""
    if is_remote(name):
        remove(name)
        return True
    try:
        os.utime(name, ns=(0, 0))
    except OSError as error:
        raise FileError.from_os(name, "date", error) from None
    return True


def remove(name: str) -> None:
    """Of a file that somebody else has removed meanwhile there is nothing to say."""
    if is_remote(name):
        from pcatool.stores.objects import remove

        remove(name)
        return
    try:
        Path(name).unlink(missing_ok=True)
    except OSError as error:
        raise FileError.from_os(name, "remove", error) from None

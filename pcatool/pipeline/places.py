"""Files and objects by their names, as outputs: whether they are there, since when, and how they go."""

from __future__ import annotations

import stat
from pathlib import Path

from pcatool.errors import FileError
from pcatool.stores.uri import is_remote

__all__ = ["is_there", "make_folders", "remove", "written_at"]


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


def remove(name: str) -> None:
    """Of a file that somebody else has removed meanwhile there is nothing to say."""
    if is_remote(name):
        from pcatool.stores.removing import remove

        remove(name)
        return
    try:
        Path(name).unlink(missing_ok=True)
    except OSError as error:
        raise FileError.from_os(name, "remove", error) from None

"""Inspect an output before the work, and refuse early what cannot be written."""

from __future__ import annotations

import errno
import os
import re
import stat
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from pcatool.errors import FileError, UsageError, show
from pcatool.stores.uri import is_remote, shown

__all__ = ["STDOUT", "Target", "exists", "look_at"]

STDOUT = 1
STREAM = re.compile(r"(?:/dev/fd|/proc/self/fd)/([0-9]{1,6})", re.ASCII)
STREAMS = {"/dev/stdout": 1, "/dev/stderr": 2}


class Target(NamedTuple):
    """An output that was looked at: how it is written, and what is there now."""

    label: str
    path: Path = Path()
    descriptor: int | None = None  # already open, as standard output is
    there: os.stat_result | None = None
    remote: str = ""  # the whole name of an object in a store

    @property
    def straight(self) -> bool:
        return self.there is not None and not stat.S_ISREG(self.there.st_mode)


def look_at(output: str | None, no_clobber: bool, inputs: Sequence[str]) -> Target:
    """Every check that can be made before the work; nothing is created."""
    if output == "":
        raise UsageError("the name of the output is empty", "give a file name, or - for standard output")
    if output is not None and is_remote(output):
        from pcatool.writers.sink import look_at_object

        look_at_object(output, no_clobber, inputs)
        return Target(shown(output), remote=output)
    descriptor = descriptor_of(output)
    if output is None or output == "-":
        target = Target("standard output", descriptor=STDOUT, there=stat_of_stream("standard output", STDOUT))
    elif descriptor is not None:
        target = Target(output, descriptor=descriptor, there=stat_of_stream(output, descriptor))
    else:
        there = stat_of_path(output)
        folder = Path(output).parent
        if there is None and not folder.is_dir():  # as it is named: `no/../x` names nothing where there is no `no`
            raise unwritable(output, f"there is no folder {show(folder)}", "create it first")
        target = Target(output, Path(os.path.realpath(output)), there=there)
    refuse_input(target, inputs)
    if target.descriptor is None:
        check_place(target, no_clobber)
    return target


def descriptor_of(output: str | None) -> int | None:
    """The open descriptor this name stands for; opening it anew would lose the position `>>` gave it."""
    if output is None or output == "-":
        return STDOUT
    stream = STREAM.fullmatch(output)
    return int(stream[1]) if stream else STREAMS.get(output)


def stat_of_stream(label: str, descriptor: int) -> os.stat_result:
    # Python notes at its start that standard output is closed; by now a file just opened may have its number.
    if descriptor == STDOUT and sys.__stdout__ is None:
        raise unwritable(label, "it is closed", "give a file with -o")
    try:
        return os.fstat(descriptor)
    except OSError as error:
        raise FileError.from_os(label, "write", error) from error


def stat_of_path(output: str) -> os.stat_result | None:
    try:
        return Path(output).stat()
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        reason = error if isinstance(error, OSError) else OSError(errno.EINVAL, str(error))
        raise FileError.from_os(output, "write", reason) from error


def refuse_input(target: Target, inputs: Sequence[str]) -> None:
    """Refuse an output that is the same file as an input, under whatever name."""
    if target.there is None or not stat.S_ISREG(target.there.st_mode):
        return
    for name in inputs:
        with suppress(OSError, ValueError):
            given = os.fstat(0) if name == "-" else Path(name).stat()
            if os.path.samestat(given, target.there):
                what = "standard input" if name == "-" else f"the input {show(name)}"
                raise UsageError(
                    f"the output {show(target.label)} is the same file as {what}",
                    "write to another file",
                )


def check_place(target: Target, no_clobber: bool) -> None:
    """Refuse what could not be written, or not be put in place at the end."""
    label, folder = target.label, target.path.parent
    if label.endswith("/") or (target.there is not None and stat.S_ISDIR(target.there.st_mode)):
        raise unwritable(label, "it names a folder", "give the name of a file")
    if target.there is not None and not os.access(target.path, os.W_OK):
        raise unwritable(label, "it is write-protected", "give another name, or unprotect it")
    if target.straight:
        return
    if target.there is not None and no_clobber:
        raise exists(label)
    if not folder.is_dir():
        named = Path(label).parent  # in the words of the user, unless a link leads elsewhere
        raise unwritable(label, f"there is no folder {show(folder if named.is_dir() else named)}", "create it first")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise unwritable(label, "its folder takes no new files", "give a name in another folder")


def unwritable(label: str, why: str, remedy: str) -> FileError:
    return FileError(f"cannot write {show(label)}: {why}", remedy)


def exists(label: str) -> FileError:
    return FileError(f"{show(label)} exists, and --no-clobber was given", "give another name, or move the file away")

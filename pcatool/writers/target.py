"""Inspect an output before the work begins, and refuse early an output that cannot be written."""

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

from pcatool.errors import FileError, UsageError
from pcatool.stores.uri import is_remote, shown
from pcatool.wording import show

__all__ = ["STDOUT", "Target", "exists", "inspect_target"]

STDOUT = 1
STREAM_PATH = re.compile(r"(?:/dev/fd|/proc/self/fd)/([0-9]{1,6})", re.ASCII)
STREAM_NAMES = {"/dev/stdout": 1, "/dev/stderr": 2}


class Target(NamedTuple):
    """An inspected output: a path, an open descriptor or an object; made by `inspect_target`, used by `open_sink`."""

    label: str  # name for messages
    path: Path = Path()  # of a file, with links resolved
    descriptor: int | None = None  # of a stream that is already open, such as standard output
    status: os.stat_result | None = None  # status of the file or stream before the run; None for a new file
    remote: str = ""  # full name of an object in a store; empty for files and streams

    @property
    def is_special(self) -> bool:
        """Whether the output is a device, pipe or folder: not a regular file, so never replaced by a rename."""
        return self.status is not None and not stat.S_ISREG(self.status.st_mode)


def inspect_target(output: str | None, no_clobber: bool, inputs: Sequence[str]) -> Target:
    """Return an output as a `Target`, after every check that is possible before the work; create nothing.

    Raise `UsageError` for an empty name and for an output that is also an input, `FileError` for an output that
    cannot be written or, with `no_clobber`, exists.
    """
    if output == "":
        raise UsageError("the name of the output is empty", "give a file name, or - for standard output")
    if output is not None and "://" in output and is_remote(output):
        from pcatool.writers.sink import check_object

        check_object(output, no_clobber, inputs)
        return Target(shown(output), remote=output)
    descriptor = descriptor_of(output)
    if output is None or output == "-":
        target = Target("standard output", descriptor=STDOUT, status=stat_of_stream("standard output", STDOUT))
    elif descriptor is not None:
        target = Target(output, descriptor=descriptor, status=stat_of_stream(output, descriptor))
    else:
        status = stat_of_path(output)
        folder = Path(output).parent
        # Checked before links are resolved: `no/../x` is invalid where there is no folder `no`.
        if status is None and not folder.is_dir():
            raise unwritable(output, f"there is no folder {show(folder)}", "create it first")
        target = Target(output, Path(os.path.realpath(output)), status=status)
    refuse_input(target, inputs)
    if target.descriptor is None:
        check_path(target, no_clobber)
    return target


def descriptor_of(output: str | None) -> int | None:
    """Return the number of the open descriptor that a name such as /dev/stdout, /dev/fd/3 or `-` means, else None.

    To open a stream again by such a name would lose the file position that the shell's `>>` has set. No name (None)
    means standard output.
    """
    if output is None or output == "-":
        return STDOUT
    match = STREAM_PATH.fullmatch(output)
    return int(match[1]) if match else STREAM_NAMES.get(output)


def stat_of_stream(label: str, descriptor: int) -> os.stat_result:
    """Return the status of an open descriptor; raise `FileError` if the stream is closed."""
    # Python sets sys.__stdout__ to None if standard output is closed at its start; since then another file may have
    # got descriptor 1.
    if descriptor == STDOUT and sys.__stdout__ is None:
        raise unwritable(label, "it is closed", "give a file with -o")
    try:
        return os.fstat(descriptor)
    except OSError as error:
        raise FileError.from_os(label, "write", error) from error


def stat_of_path(output: str) -> os.stat_result | None:
    """Return the status of the file at a path, after following links; None if nothing exists there.

    Raise `FileError` for any other failure, such as no permission, an invalid name, or a file in place of a folder.
    """
    try:
        return Path(output).stat()
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        reason = error if isinstance(error, OSError) else OSError(errno.EINVAL, str(error))
        raise FileError.from_os(output, "write", reason) from error


def refuse_input(target: Target, inputs: Sequence[str]) -> None:
    """Raise `UsageError` for an output that is the same file as an input, also under another name."""
    if target.status is None or not stat.S_ISREG(target.status.st_mode):
        return
    for name in inputs:
        with suppress(OSError, ValueError):
            given = os.fstat(0) if name == "-" else Path(name).stat()
            if os.path.samestat(given, target.status):
                input_name = "standard input" if name == "-" else f"the input {show(name)}"
                raise UsageError(
                    f"the output {show(target.label)} is the same file as {input_name}",
                    "write to another file",
                )


def check_path(target: Target, no_clobber: bool) -> None:
    """Raise `FileError` for a path that cannot be written, or exists with `no_clobber`.

    The folder must permit new files, because the complete file is renamed into the folder.
    """
    label, folder = target.label, target.path.parent
    if label.endswith("/") or (target.status is not None and stat.S_ISDIR(target.status.st_mode)):
        raise unwritable(label, "it names a folder", "give the name of a file")
    if target.status is not None and not os.access(target.path, os.W_OK):
        raise unwritable(label, "it is write-protected", "give another name, or change the permissions of the file")
    if target.is_special:
        return
    if target.status is not None and no_clobber:
        raise exists(label)
    if not folder.is_dir():
        written_folder = Path(label).parent  # the folder as the user wrote it, unless a link leads elsewhere
        raise unwritable(
            label,
            f"there is no folder {show(folder if written_folder.is_dir() else written_folder)}",
            "create it first",
        )
    if not os.access(folder, os.W_OK | os.X_OK):
        raise unwritable(label, "you have no permission to create files in its folder", "give a name in another folder")


def unwritable(label: str, why: str, remedy: str) -> FileError:
    """Return the error for the output `label` that cannot be written, with the reason and the remedy."""
    return FileError(f"cannot write {show(label)}: {why}", remedy)


def exists(label: str) -> FileError:
    """Return the error for the output `label`, which exists and which --no-clobber forbids to replace."""
    return FileError(f"{show(label)} exists, and --no-clobber was given", "give another name, or move the file away")

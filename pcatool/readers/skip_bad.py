"""Leave out bad inputs under `--skip-bad`: when a file is at fault, and what is said of it."""

from __future__ import annotations

import errno
from collections.abc import Sequence
from typing import NamedTuple

from pcatool.errors import BlamelessError, DataError, FileError, PcatoolError, is_short
from pcatool.progress import Notices
from pcatool.readers.paths import Input

__all__ = ["Skip", "Skipping", "is_bad_file", "none_left", "reasons"]

# Left-out files named in the warning; more are counted.
FIRST_FILES = 10

# A full disk, or no more descriptors, says nothing about the file that was being read, nor does want of memory.
OURS = {errno.ENOSPC, errno.EDQUOT, errno.EMFILE, errno.ENFILE}


class Skip(NamedTuple):
    """An input that was left out, and why."""

    file: str
    reason: str


class Skipping:
    """Which inputs are left out, where that is `allowed`; elsewhere they are errors."""

    def __init__(self, inputs: Sequence[Input], *, allowed: bool) -> None:
        self._inputs = inputs
        self.allowed = allowed
        self.bad: dict[int, Skip] = {}  # by the number of the input

    @property
    def _skipped(self) -> list[Skip]:
        return list(self.bad.values())

    def may_skip(self, at: int, error: PcatoolError) -> bool:
        return self.allowed and is_bad_file(error) and not self._inputs[at].flows

    def left_out(self, at: int, skip: Skip) -> None:
        """By whoever read it."""
        self.bad[at] = skip

    def leave_out(self, at: int, error: PcatoolError) -> None:
        self.bad[at] = Skip(self._inputs[at].name, error.message)

    def named(self, at: int, error: PcatoolError) -> PcatoolError:
        """An error of an input, with the way out that there is for files where there are several inputs."""
        if is_bad_file(error) and not error.of_input:
            error.of_input = True
            if len(self._inputs) > 1 and not self.allowed and not self._inputs[at].flows:
                error.add_remedy("--skip-bad leaves such files out")
        return error

    def none_left(self) -> DataError:
        return none_left(self._skipped)

    def all_read(self, notices: Notices) -> None:
        """Tell how many were read; if there were none, that is an error."""
        count = len(self._inputs)
        notices.all_read(count - len(self.bad), self._skipped)
        if count and len(self.bad) == count:
            raise self.none_left()

    def warn(self, notices: Notices) -> None:
        if self.bad:
            notices.warn(f"left out {len(self.bad)} of {len(self._inputs)} files:", reasons(self._skipped))


def is_bad_file(error: PcatoolError) -> bool:
    """Of an error while an input was read: would another file do?"""
    if isinstance(error, BlamelessError) or is_short(error):
        return False
    return isinstance(error, (DataError, FileError)) and getattr(error.__context__, "errno", None) not in OURS


def reasons(skipped: Sequence[Skip]) -> list[str]:
    """What to say of files that were left out: the first of them by name."""
    more = [f"and {len(skipped) - FIRST_FILES} more"] if len(skipped) > FIRST_FILES else []
    named = (s.reason if s.file in s.reason else f"{s.file}: {s.reason}" for s in skipped[:FIRST_FILES])
    return [*named, *more]


def none_left(skipped: Sequence[Skip]) -> DataError:
    """Nothing could be used."""
    first = skipped[0].reason
    text = first if len(skipped) == 1 else f"none of the {len(skipped)} files can be used; the first: {first}"
    return DataError(text, "mend or replace what was given")

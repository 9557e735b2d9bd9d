"""Leave out bad inputs with `--skip-bad`: decide whether a file is at fault, and report the files left out."""

from __future__ import annotations

import errno
from collections.abc import Sequence
from typing import NamedTuple

from pcatool.errors import BlamelessError, DataError, FileError, PcatoolError, is_out_of_memory
from pcatool.progress import Reporter
from pcatool.readers.paths import Input

__all__ = ["Skip", "Skipping", "is_bad_file", "none_left", "reasons"]

# Left-out files named in the warning; further ones are only counted.
FIRST_FILES = 10

# Errors of this machine, not of the file: full disk or quota, too many open files. `is_out_of_memory` covers memory.
MACHINE_ERRORS = {errno.ENOSPC, errno.EDQUOT, errno.EMFILE, errno.ENFILE}


class Skip(NamedTuple):
    """An input that was left out, and why."""

    file: str
    reason: str


class Skipping:
    """The inputs left out of a run; unless `allowed` (--skip-bad), each bad input is an error instead."""

    def __init__(self, inputs: Sequence[Input], *, allowed: bool) -> None:
        self._inputs = inputs
        self.allowed = allowed
        self.bad: dict[int, Skip] = {}  # by position of the input

    @property
    def _skipped(self) -> list[Skip]:
        return list(self.bad.values())

    def may_skip(self, at: int, error: PcatoolError) -> bool:
        """Whether the input may be left out for this error; a pipe may not."""
        return self.allowed and is_bad_file(error) and not self._inputs[at].flows

    def left_out(self, at: int, skip: Skip) -> None:
        """Record an input that a worker left out."""
        self.bad[at] = skip

    def leave_out(self, at: int, error: PcatoolError) -> None:
        """Record an input as left out because of this error."""
        self.bad[at] = Skip(self._inputs[at].name, error.message)

    def named(self, at: int, error: PcatoolError) -> PcatoolError:
        """Return the error, marked as one of the input; with several inputs, --skip-bad is added as a remedy."""
        if is_bad_file(error) and not error.of_input:
            error.of_input = True
            if len(self._inputs) > 1 and not self.allowed and not self._inputs[at].flows:
                error.add_remedy("--skip-bad leaves such files out")
        return error

    def none_left(self) -> DataError:
        """Return the error for a run without any good input."""
        return none_left(self._skipped)

    def all_read(self, notices: Reporter) -> None:
        """Report how many inputs were read; raises DataError if all were left out."""
        count = len(self._inputs)
        notices.all_read(count - len(self.bad), self._skipped)
        if count and len(self.bad) == count:
            raise self.none_left()

    def warn(self, notices: Reporter) -> None:
        """Warn of the inputs left out, if any."""
        if self.bad:
            notices.warn(f"left out {len(self.bad)} of {len(self._inputs)} files:", reasons(self._skipped))


def is_bad_file(error: PcatoolError) -> bool:
    """Whether an error met while reading is the fault of the file, not of memory, disk, store or request."""
    if isinstance(error, BlamelessError) or is_out_of_memory(error):
        return False
    return isinstance(error, (DataError, FileError)) and getattr(error.__context__, "errno", None) not in MACHINE_ERRORS


def reasons(skipped: Sequence[Skip]) -> list[str]:
    """Return a line for each of the first files left out, and one that counts the others."""
    more = [f"and {len(skipped) - FIRST_FILES} more"] if len(skipped) > FIRST_FILES else []
    named = (s.reason if s.file in s.reason else f"{s.file}: {s.reason}" for s in skipped[:FIRST_FILES])
    return [*named, *more]


def none_left(skipped: Sequence[Skip]) -> DataError:
    """Return the error for inputs that were all left out."""
    first = skipped[0].reason
    text = first if len(skipped) == 1 else f"none of the {len(skipped)} files can be used; the first: {first}"
    return DataError(text, "mend or replace what was given")

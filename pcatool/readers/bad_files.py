"""Leave out bad inputs with `--skip-bad`: decide whether a file is at fault, and report the files left out."""

from __future__ import annotations

import errno
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from pcatool.errors import BlamelessError, DataError, FileError, PcatoolError, is_out_of_memory
from pcatool.progress import Reporter
from pcatool.readers.input_files import InputFiles
from pcatool.wording import counted, grouped

__all__ = ["SKIP_BAD_REMEDY", "BadFiles", "SkippedFile", "is_bad_file", "none_left", "reason_lines"]

# Left-out files named in the warning; further files are only counted.
FIRST_FILES = 10

# Remedy of the error about one of several files.
SKIP_BAD_REMEDY = "give --skip-bad to leave out bad files"

# Errors of this machine, not of the file: full disk or quota, too many open files. `is_out_of_memory` covers memory.
MACHINE_ERRORS = {errno.ENOSPC, errno.EDQUOT, errno.EMFILE, errno.ENFILE}


class SkippedFile(NamedTuple):
    """An input that was left out, and why."""

    file: str  # name of the input in messages
    reason: str  # message of the error


@dataclass
class BadFiles:
    """Files that cannot be read: left out and recorded if `allowed` (--skip-bad); otherwise their error is raised."""

    files: InputFiles
    allowed: bool
    left_out: dict[int, SkippedFile] = field(default_factory=dict)  # files left out, by position of the input
    # Errors that are not the fault of the file, by position of the input; they replace later errors of the input.
    _final_errors: dict[int, PcatoolError] = field(default_factory=dict)

    def skippable_error(self, position: int, error: PcatoolError) -> PcatoolError:
        """Return the cause of an error if the input at `position` may be left out; otherwise raise the cause.

        An input may be left out with --skip-bad if the file is at fault and is not a pipe. A cause that is raised
        although the file is at fault gets `of_input` (an error of one input), and its remedy names --skip-bad where
        that would help.
        """
        cause = self._cause(position, error)
        if not is_bad_file(cause):
            raise cause from None
        if self.allowed and not self.files.is_stream(position):
            return cause
        if not cause.of_input:
            cause.of_input = True
            if len(self.files) > 1 and not self.allowed and not self.files.is_stream(position):
                cause.add_remedy(SKIP_BAD_REMEDY)
        raise cause from None

    def _cause(self, position: int, error: PcatoolError) -> PcatoolError:
        """Return the cause of an error of an input: most often the error itself.

        If the file changed while it was read, the cause is the error that says so. After an error that is not the fault
        of the file, such as a full disk, that error is the cause of all later errors of the input.
        """
        try:
            if is_bad_file(error) and position == self.files.position:
                self.files.check_unchanged()
        except FileError as another:
            error = another
        if not is_bad_file(error):
            self._final_errors[position] = error  # a thread may report a bad row later
        return self._final_errors.get(position, error)

    def leave_out(self, position: int, error: PcatoolError) -> None:
        """Record an input as left out because of this error."""
        self.left_out[position] = SkippedFile(self.files.resolved.inputs[position].name, error.message)

    def add_left_out(self, position: int, skip: SkippedFile) -> None:
        """Record an input that a worker left out."""
        self.left_out[position] = skip

    def none_left(self) -> DataError:
        """Return the error for a run whose inputs were all left out."""
        return none_left(list(self.left_out.values()))

    def warn(self, reporter: Reporter) -> None:
        """Show a warning with the number of inputs left out, and the first FIRST_FILES of them with their reasons."""
        reporter.warn(
            f"left out {grouped(len(self.left_out))} of {grouped(len(self.files))} files:",
            reason_lines(list(self.left_out.values())),
        )


def is_bad_file(error: PcatoolError) -> bool:
    """Whether an error met while reading is the fault of the file, not of memory, disk, store or request."""
    if isinstance(error, BlamelessError) or is_out_of_memory(error):
        return False
    return isinstance(error, (DataError, FileError)) and getattr(error.__context__, "errno", None) not in MACHINE_ERRORS


def reason_lines(skipped: Sequence[SkippedFile]) -> list[str]:
    """Return a line for each of the first FIRST_FILES files left out, and a line that counts further files."""
    more = [f"and {counted(len(skipped) - FIRST_FILES, 'more file')}"] if len(skipped) > FIRST_FILES else []
    named = (s.reason if s.file in s.reason else f"{s.file}: {s.reason}" for s in skipped[:FIRST_FILES])
    return [*named, *more]


def none_left(skipped: Sequence[SkippedFile]) -> DataError:
    """Return the error for inputs that were all left out, with the reason of the first input."""
    first = skipped[0].reason
    if len(skipped) > 1:
        first = f"none of the {grouped(len(skipped))} files can be used; the first error is: {first}"
    return DataError(first, "correct or replace the files" if len(skipped) > 1 else "correct or replace the file")

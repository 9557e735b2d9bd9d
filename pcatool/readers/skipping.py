"""Inputs that cannot be used: when that is the fault of the file, and what is said of those that were left out."""

from __future__ import annotations

import errno
from collections.abc import Sequence
from typing import NamedTuple

from pcatool.errors import DataError, FileError, LostError, PcatoolError

__all__ = ["Skip", "is_bad_file", "none_left", "reasons"]

# Left-out files named in the warning; more are counted.
FIRST_FILES = 10

# A full disk, or no more descriptors or memory, says nothing about the file that was being read.
OURS = {errno.ENOSPC, errno.EDQUOT, errno.EMFILE, errno.ENFILE, errno.ENOMEM}


class Skip(NamedTuple):
    """An input that was left out, and why."""

    file: str
    reason: str


def is_bad_file(error: PcatoolError) -> bool:
    """Of an error while an input was read: would another file do?"""
    if isinstance(error, LostError):
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

"""Every way the tool refuses, each with its exit code; one base class, so one place can turn them into text."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any

__all__ = [
    "BadCell",
    "BlamelessError",
    "DataError",
    "FileError",
    "LostError",
    "MissingColumns",
    "ModelError",
    "PcatoolError",
    "PcatoolNote",
    "PcatoolWarning",
    "RefusedError",
    "UsageError",
    "check_memory",
    "is_short",
    "nearest",
    "printable",
    "show",
]

# A longer value in a message hides the message.
SHOWN = 60
# A slip changes a third of a word at most, and no more letters than these; what differs more is another word.
MOST_EDITS = 3
# Of the name of a file the end tells most.
LONGEST_PATH = 4096


def show(value: object, most: int = SHOWN) -> str:
    """A value from outside, made safe for a terminal: quoted, control characters escaped, cut when long."""
    text = str(value)
    if len(text) > most:
        text = text[: most - 3] + "..."
    return f"'{printable(text)}'"


def printable(text: str) -> str:
    """Text from outside with its control characters escaped: a name must not steer the terminal."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def listed(names: Iterable[str], most: int = 5) -> str:
    """Names joined for a sentence; past `most` only their count."""
    names = list(names)
    text = ", ".join(show(name) for name in names[:most])
    return text if len(names) <= most else f"{text} and {len(names) - most} more"


# What libraries say where they get no more memory, whatever the class of their error: Arrow of a Parquet page, zlib and
# zstd of a block, the C library and the loader of libraries in the words of errno, Python and C++ of a thread.
SHORT = re.compile(
    r"bad_alloc|bad_array_new|out of memory|not enough memory|(?:cannot|could not|unable to|failed to) allocate|"
    r"(?:malloc|calloc|realloc|mmap|allocation|posix_memalign)\b[^.;]*\b(?:failed|failure|error)|allocation error|"
    r"memory allocation|failed to map segment|MEM_ERROR|can't start new thread|thread constructor failed|"
    r"Resource temporarily unavailable",
    re.IGNORECASE,
)


def is_short(error: BaseException | None) -> bool:
    """Did an error come for want of memory, or another that was met before it and led to it?"""
    while error is not None:
        number = getattr(error, "errno", None)
        if isinstance(error, MemoryError) or number == errno.ENOMEM:
            return True
        # What this program says, or the system with a number, may hold names of files, in which may stand anything.
        if number is None and not isinstance(error, PcatoolError) and SHORT.search(str(error)):
            return True
        error = error.__cause__ or error.__context__
    return False


def check_memory(error: BaseException) -> None:
    """Raise a MemoryError where a library's error came for want of memory: it says nothing about what was read."""
    if isinstance(error, MemoryError):
        raise error
    if is_short(error):
        raise MemoryError(str(error)) from error


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that a slip of the hand makes this one, or whose words are among its; None where none is near.

    Letter case counts for nothing, nor do the marks between words.
    """
    stems = {one: _stem(one) for one in known}
    stem = _stem(name)
    if len(stem) > 2:
        begun = [one for one, its in stems.items() if its.startswith(stem)]
        if len(begun) == 1:
            return begun[0]
    edits = {one: edit_distance(stem, its) for one, its in stems.items()}
    near = [one for one, its in stems.items() if edits[one] <= _most_edits(stem, its)]
    if near:
        return min(near, key=lambda one: (edits[one], stems[one][:1] != stem[:1]))
    within = [one for one, its in stems.items() if _has_words(stem, its)]
    return within[0] if len(within) == 1 else None


def _stem(name: str) -> str:
    """The words of a name, as it is compared."""
    return re.sub(r"[-_. ]+", "-", name.lower()).strip("-")


def _most_edits(a: str, b: str) -> int:
    """How many edits may be a slip; of two letters one, if they begin alike."""
    return min(MOST_EDITS, max(len(a), len(b)) // 3 or int(a[:1] == b[:1]))


def _has_words(text: str, part: str) -> bool:
    """Does a text begin or end with these words? A word of a letter or two says nothing."""
    return len(part) > 2 and (text.startswith(f"{part}-") or text.endswith(f"-{part}"))


def edit_distance(a: str, b: str) -> int:
    """Letters put in, left out, changed or swapped with their neighbour that make one text of another."""
    before: list[int] = []
    last = list(range(len(b) + 1))
    for i, letter in enumerate(a, 1):
        row = [i]
        for j, other in enumerate(b, 1):
            cost = min(last[j] + 1, row[j - 1] + 1, last[j - 1] + (letter != other))
            if i > 1 and j > 1 and letter == b[j - 2] and a[i - 2] == other:
                cost = min(cost, before[j - 2] + 1)
            row.append(cost)
        before, last = last, row
    return last[-1]


def near_file(path: str) -> str:
    """Of a file that is not there the one beside its place that is most like it, and of its kind."""
    folder, name = os.path.split(path)
    with suppress(OSError, ValueError):
        stem, ending = os.path.splitext(name)  # noqa: PTH122
        parts = {one: os.path.splitext(one) for one in sorted(os.listdir(folder or "."))}  # noqa: PTH122, PTH208
        there = {
            own: one for one, (own, its) in parts.items() if its == ending or (own == stem and nearest(ending, [its]))
        }
        near = nearest(stem, there)
        return f"did you mean {show(os.path.join(folder, there[near]), LONGEST_PATH)}?" if near else ""  # noqa: PTH118
    return ""


def _aim_of(path: str) -> str:
    """Where a link leads; nothing of what is none."""
    with suppress(OSError, ValueError):
        return os.readlink(path)  # noqa: PTH115
    return ""


class PcatoolWarning(UserWarning):
    """What the Python API issues where the command line prints a warning.

    >>> import warnings, pcatool
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     model = pcatool.fit("sample_data/houses.csv", components=2)
    >>> caught[0].category.__name__
    'PcatoolWarning'
    """


class PcatoolNote(UserWarning):
    """What the Python API issues where the command line prints a note: columns that were left out, and the like.

    Each is issued once for a call. `warnings.simplefilter("ignore", pcatool.PcatoolNote)` silences them, as `-q` does.

    >>> import warnings, pandas as pd, pcatool
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     model = pcatool.fit(pd.DataFrame({"a": [1, 2, 4], "b": [True, False, True]}))
    >>> print(caught[0].category.__name__, "-", caught[0].message)
    PcatoolNote - used boolean column 'b' as 0 and 1; -x leaves it out
    """


class PcatoolError(Exception):
    """Base of all refusals. The message says what is wrong and where; the remedy says what to do.

    `exit_code` is that of the command line.

    >>> import pcatool
    >>> try:
    ...     pcatool.fit("sample_data/houses.csv", compnents=2)
    ... except pcatool.PcatoolError as error:
    ...     print(error.message, "->", error.remedy, error.exit_code)
    no setting called 'compnents' -> did you mean components? 2
    """

    exit_code = 3
    of_input = False  # met while an input was read: another input may do

    def __init__(self, message: str, remedy: str = "") -> None:
        super().__init__(f"{message}; {remedy}" if remedy else message)
        self.message = message
        self.remedy = remedy

    def __reduce__(self) -> tuple[Any, ...]:
        """Errors come back from other processes as what they are there."""
        return _again, (type(self), self.message, self.remedy, self.of_input)

    def add_remedy(self, another: str) -> None:
        """One more way out."""
        self.remedy = f"{self.remedy}; {another}" if self.remedy else another
        self.args = (f"{self.message}; {self.remedy}",)


def _again(kind: type[PcatoolError], message: str, remedy: str, of_input: bool) -> PcatoolError:
    error = kind.__new__(kind)
    PcatoolError.__init__(error, message, remedy)
    error.of_input = of_input
    return error


class UsageError(PcatoolError):
    """The call itself is wrong.

    >>> import pcatool
    >>> pcatool.fit("sample_data/houses.csv", standardise=True)
    Traceback (most recent call last):
    pcatool.errors.UsageError: no setting called 'standardise'; did you mean standardize?
    """

    exit_code = 2


class DataError(PcatoolError):
    """The data cannot give what was asked: constant columns, missing cells, columns that are not there.

    >>> import pcatool
    >>> pcatool.fit([[1.0, 2.0], [1.0, 2.0]])
    Traceback (most recent call last):
    pcatool.errors.DataError: ...
    """

    exit_code = 3


class ModelError(PcatoolError):
    """The file is not a usable model, or what should be one does not fit together.

    >>> import pcatool
    >>> pcatool.load_model("sample_data/houses.csv")
    Traceback (most recent call last):
    pcatool.errors.ModelError: 'sample_data/houses.csv' is not a usable model: ...
    """

    exit_code = 4


class FileError(PcatoolError):
    """Something could not be read or written.

    >>> import pcatool
    >>> pcatool.load_model("nowhere.npz")
    Traceback (most recent call last):
    pcatool.errors.FileError: cannot read 'nowhere.npz': No such file or directory...
    """

    exit_code = 5

    @classmethod
    def from_os(cls, path: object, doing: str, error: OSError) -> FileError:
        check_memory(error)
        reason = error.strerror or str(error) or type(error).__name__
        remedy = ""
        if doing == "read" and isinstance(error, FileNotFoundError):
            aim = _aim_of(str(path))
            reason = f"it is a link to {show(aim, LONGEST_PATH)}, and there is nothing" if aim else reason
            remedy = "mend or remove the link" if aim else near_file(str(path))
        return cls(f"cannot {doing} {show(path, LONGEST_PATH)}: {reason}", remedy)


class BlamelessError(FileError):
    """No fault of the file, nor of its name: whoever keeps it refuses or fails, or replaced it while it was read."""


class LostError(BlamelessError):
    """A store or server could not be reached."""


class RefusedError(PcatoolError):
    """Right in form, but would need more memory or accuracy than there is.

    >>> import pcatool
    >>> pcatool.fit("sample_data/digits.csv", memory="1KB")
    Traceback (most recent call last):
    pcatool.errors.RefusedError: ...
    """

    exit_code = 6


class BadCell(DataError):
    """One cell that cannot be used: where, which column, what it says, why, and the way out."""

    def __init__(self, place: str, column: str, value: str, why: str, remedy: str) -> None:
        super().__init__(f"{place}, column {show(column)}: {show(value)} {why}", remedy)


class MissingColumns(DataError):
    """Columns that are needed and not there, with the nearest name that is."""

    def __init__(self, names: Sequence[str], present: Sequence[str], where: str, remedy: str = "") -> None:
        noun = "column" if len(names) == 1 else "columns"
        message = f"{where}: no {noun} {listed(names)}"
        near = nearest(names[0], present)
        if near is not None:
            message += f" (nearest: {show(near)})"
        elif present:
            message += f" (there: {listed(present)})"
        super().__init__(message, remedy)

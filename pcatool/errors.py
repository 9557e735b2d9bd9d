"""Exceptions with their exit codes, and helpers for messages: quoting, counts, per cent, nearest names, memory errors.

Every refusal is a `PcatoolError`, so one place turns all of them into text and an exit code.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from shlex import quote
from typing import Any, NamedTuple

__all__ = [
    "EXIT_CODES",
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
    "counted",
    "exclusion",
    "grouped",
    "is_out_of_memory",
    "leave_out",
    "leave_out_all",
    "missing_package",
    "near_columns",
    "nearest",
    "null_option",
    "percent",
    "printable",
    "reword_for_model",
    "reword_for_only_feature",
    "show",
]


class ExitCode(NamedTuple):
    """Meaning of an exit code: in a few words for the help, as a sentence for the manual."""

    brief: str
    sentence: str


# The exit codes of the command line. A run that a signal stops ends with 128 + number of the signal.
EXIT_CODES = {
    0: ExitCode("done", "The run was successful, or the reader of a pipe stopped early."),
    2: ExitCode("wrong usage", "The call is wrong."),
    3: ExitCode("bad data", "The data are bad, or a column is missing."),
    4: ExitCode("not a usable model", "A file is not a usable model."),
    5: ExitCode("cannot read or write", "A file could not be read or written, or does not exist."),
    6: ExitCode(
        "too little memory or accuracy",
        "The run was refused, because there is too little memory, or the result would not be accurate.",
    ),
}

# Most characters of a value quoted in a message; a longer value would hide the message.
MAX_SHOWN = 60
# A typing error changes at most a third of a word, and at most this many letters; more edits make another word.
MOST_EDITS = 3
# Most characters of a path quoted in a message (PATH_MAX of Linux): a path is not cut, because its end says most.
MAX_PATH = 4096


def show(value: object, max_shown: int = MAX_SHOWN) -> str:
    """Return a value in quotes for a message, cut to `max_shown` characters, with control characters escaped."""
    text = str(value)
    if len(text) > max_shown:
        text = text[: max_shown - 3] + "..."
    return f"'{printable(text)}'"


def printable(text: str) -> str:
    """Return text from outside with control characters escaped, so that a name cannot control the terminal."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def counted(count: int, noun: str, ending: str = "s") -> str:
    """Return the count with its noun: `1 row`, `2,000 rows`; `ending` makes the plural."""
    return f"{count} {noun}" if count == 1 else f"{grouped(count)} {noun}{ending}"


def grouped(count: int) -> str:
    """Return a count with a comma between groups of three digits: `12,345`."""
    return f"{count:,}"


def percent(share: float) -> str:
    """Return a share in per cent with two decimals: `55.69%`.

    `0.00%` and `100.00%` are exact; shares that would only round to them are `<0.01%` and `>99.99%`.
    """
    text = f"{share:.2%}"
    if share > 0 and text == "0.00%":
        return "<0.01%"
    return ">99.99%" if share < 1 and text == "100.00%" else text


MOST_LISTED = 5  # names that a message lists


def listed(names: Iterable[str], max_shown: int = MOST_LISTED) -> str:
    """Return quoted names joined by commas; after the first `max_shown` names only `and 7 more`."""
    names = list(names)
    text = ", ".join(show(name) for name in names[:max_shown])
    return text if len(names) <= max_shown else f"{text} and {grouped(len(names) - max_shown)} more"


# Messages of libraries that ran out of memory; the classes of their errors do not say so. Among them are Arrow (for a
# Parquet page), zlib and zstd (for a block), the C library and the dynamic loader, and Python and C++ (for a thread).
OUT_OF_MEMORY = re.compile(
    r"bad_alloc|bad_array_new|out of memory|not enough memory|(?:cannot|could not|unable to|failed to) allocate|"
    r"(?:malloc|calloc|realloc|mmap|allocation|posix_memalign)\b[^.;]*\b(?:failed|failure|error)|allocation error|"
    r"memory allocation|failed to map segment|MEM_ERROR|can't start new thread|thread constructor failed|"
    r"Resource temporarily unavailable",
    re.IGNORECASE,
)


def is_out_of_memory(error: BaseException | None) -> bool:
    """Whether an error, or one of the errors that caused it, came from a lack of memory; False for None."""
    while error is not None:
        number = getattr(error, "errno", None)
        if isinstance(error, MemoryError) or number == errno.ENOMEM:
            return True
        # Messages of this program, and system errors with an errno, may quote file names, which may hold any words.
        if number is None and not isinstance(error, PcatoolError) and OUT_OF_MEMORY.search(str(error)):
            return True
        error = error.__cause__ or error.__context__
    return False


def check_memory(error: BaseException) -> None:
    """Raise `MemoryError` if a library's error came from a lack of memory; otherwise do nothing.

    Call this before an error of a library is reported as bad data.
    """
    if isinstance(error, MemoryError):
        raise error
    if is_out_of_memory(error):
        raise MemoryError(str(error)) from error


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that `name` most probably means; None if none is near.

    Tried in this order: the only known name that begins with `name`; the name with the fewest edits, if so few may be a
    typing error; the only known name that is at the beginning or end of `name`, as whole words. Letter case and the
    marks between words are ignored.
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
    """Return a name in the form in which names are compared: lower case, words joined by hyphens."""
    return re.sub(r"[-_. ]+", "-", name.lower()).strip("-")


def _most_edits(a: str, b: str) -> int:
    """Return how many edits between two words may be a typing error.

    A third of the letters of the longer word, at most MOST_EDITS. For words of one or two letters 1 if they begin with
    the same letter, else 0.
    """
    return min(MOST_EDITS, max(len(a), len(b)) // 3 or int(a[:1] == b[:1]))


def _has_words(text: str, part: str) -> bool:
    """Whether a text begins or ends with the words of `part`; a part of one or two letters never counts."""
    return len(part) > 2 and (text.startswith(f"{part}-") or text.endswith(f"-{part}"))


def edit_distance(a: str, b: str) -> int:
    """Return the smallest number of insertions, deletions, changes and swaps of adjacent letters from `a` to `b`."""
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


# Longest argument that a remedy spells out.
MOST_TYPED = 60


def leave_out(name: str, column: int | None = None) -> str:
    """Return the advice `leave the column out with -x NAME`; for `column` see `exclusion`."""
    return f"leave the column out with {exclusion(name, column)}"


def leave_out_all(names: Sequence[str]) -> str:
    """Return the advice to leave several columns out with -x; without names if these are long or cannot be typed."""
    if len(names) == 1:
        return leave_out(names[0])
    typed = ",".join(names)
    plain = len(typed) <= MOST_TYPED and typed.isprintable() and typed.count(",") == len(names) - 1
    return f"leave the columns out with -x{f' {quote(typed)}' if plain and not typed.startswith('-') else ''}"


def exclusion(name: str, column: int | None = None) -> str:
    """Return the option that leaves a column out: `-x NAME`, or `-x NUMBER` if the name cannot be typed.

    `column` is the index of the column, from 0 (NUMBER counts from 1). If None, `-x` alone replaces `-x NUMBER`.
    """
    if name.strip() and name.isprintable() and not name.startswith("-"):
        return f"-x {quote(name)}"
    return "-x" if column is None else f"-x {column + 1}"


def null_option(value: str) -> str:
    """Return the option that makes readers take a value as missing, `--null-value VALUE`; "" if it cannot be typed."""
    value = value.strip()
    if not value or not value.isprintable() or len(value) > MOST_TYPED:
        return ""
    return f"--null-value{'=' if value.startswith('-') else ' '}{quote(value)}"


# Advice to leave columns out of a fit, with the argument of -x as a shell reads it; -x among other options.
QUOTED = r"(?:'[^']*'|\"'\"|[^\s;,()'\"]|,(?=\S))+"
LEAVE_OUT = re.compile(rf"(leave (?:it|them|the columns?)) out with -x(?: ({QUOTED}))?")
OR_LEAVE_OUT = re.compile(rf", or {LEAVE_OUT.pattern}")
EXCLUDING = re.compile(rf"(?: -x {QUOTED})+(?= \(numbers in column )")


def reword_for_model(text: str, without: Callable[[str], str]) -> str:
    """Return a message of a reader, reworded for a command that applies a model and has no -x to leave columns out.

    `leave the column out with -x NAME` becomes `leave the column out of the model with CALL`. `without` returns CALL, a
    call that makes a model without the column, for the argument of -x; "" if -x has no argument in the message.
    """
    text = EXCLUDING.sub("", text)
    return LEAVE_OUT.sub(lambda found: f"{found[1]} out of the model with {without(found[2] or '')}", text)


def reword_for_only_feature(text: str) -> str:
    """Return a message of a reader without the advice to leave a column out, for a table with a single feature."""
    left = OR_LEAVE_OUT.sub("", text)
    return text if left == text else left.replace(", give ", ", or give ")


def nearest_file_hint(path: str) -> str:
    """Return `did you mean 'FILE'?` for a missing `path`; "" if no name in its folder is near.

    FILE has the same suffix and a near stem, or the same stem and a near suffix.
    """
    folder, name = os.path.split(path)
    with suppress(OSError, ValueError):
        stem, ending = os.path.splitext(name)  # noqa: PTH122
        parts = {one: os.path.splitext(one) for one in sorted(os.listdir(folder or "."))}  # noqa: PTH122, PTH208
        there = {
            own: one for one, (own, its) in parts.items() if its == ending or (own == stem and nearest(ending, [its]))
        }
        near = nearest(stem, there)
        return f"did you mean {show(os.path.join(folder, there[near]), MAX_PATH)}?" if near else ""  # noqa: PTH118
    return ""


def _link_target(path: str) -> str:
    """Return the target of a symbolic link; "" if `path` is no link or cannot be read."""
    with suppress(OSError, ValueError):
        return os.readlink(path)  # noqa: PTH115
    return ""


class PcatoolWarning(UserWarning):
    """Warning of the Python API, issued where the command line prints a warning.

    >>> import warnings, pcatool
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     model = pcatool.fit("sample_data/houses.csv", components=2)
    >>> caught[0].category.__name__
    'PcatoolWarning'
    """


class PcatoolNote(UserWarning):
    """Warning of the Python API, issued where the command line prints a note, such as columns left out.

    Each note is issued once per call. `warnings.simplefilter("ignore", pcatool.PcatoolNote)` silences
    all of them, as `-q` does.

    >>> import warnings, pandas as pd, pcatool
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     model = pcatool.fit(pd.DataFrame({"a": [1, 2, 4], "b": [True, False, True]}))
    >>> print(caught[0].category.__name__, "-", caught[0].message)
    PcatoolNote - used boolean column 'b' as 0 and 1; leave the column out with exclude="b" if it is not a feature
    """


class PcatoolError(Exception):
    """Base of all errors of pcatool. The message says what is wrong and where; the remedy says what to do.

    `exit_code` is the exit code of the command line.

    >>> import pcatool
    >>> try:
    ...     pcatool.fit("sample_data/houses.csv", compnents=2)
    ... except pcatool.PcatoolError as error:
    ...     print(error.message, "->", error.remedy, error.exit_code)
    there is no setting called 'compnents' -> did you mean components? 2
    """

    exit_code = 3
    of_input = False  # True: raised while one of the inputs was read, so --skip-bad may leave that input out

    def __init__(self, message: str, remedy: str = "") -> None:
        super().__init__(f"{message}; {remedy}" if remedy else message)
        self.message = message
        self.remedy = remedy

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle message, remedy and `of_input`, so that errors of worker processes keep their class and text."""
        return _unpickle, (type(self), self.message, self.remedy, self.of_input)

    def add_remedy(self, another: str) -> None:
        """Append another remedy after a semicolon."""
        self.remedy = f"{self.remedy}; {another}" if self.remedy else another
        self.args = (f"{self.message}; {self.remedy}",)

    def reword(self, change: Callable[[str], str]) -> None:
        """Replace message and remedy by the results of `change`."""
        self.message, self.remedy = change(self.message), change(self.remedy)
        self.args = (f"{self.message}; {self.remedy}" if self.remedy else self.message,)


def _unpickle(kind: type[PcatoolError], message: str, remedy: str, of_input: bool) -> PcatoolError:
    """Return an error of class `kind`, made without its own constructor, which may take other arguments."""
    error = kind.__new__(kind)
    PcatoolError.__init__(error, message, remedy)
    error.of_input = of_input
    return error


class UsageError(PcatoolError):
    """The call itself is wrong.

    >>> import pcatool
    >>> pcatool.fit("sample_data/houses.csv", standardise=True)
    Traceback (most recent call last):
    pcatool.errors.UsageError: there is no setting called 'standardise'; did you mean standardize?
    """

    exit_code = 2


class DataError(PcatoolError):
    """The data do not allow what was asked, for example because of missing cells, or of columns that are not there.

    >>> import pcatool
    >>> pcatool.fit([[1.0, 2.0], [1.0, 2.0]])
    Traceback (most recent call last):
    pcatool.errors.DataError: ...
    """

    exit_code = 3


class ModelError(PcatoolError):
    """The file is not a usable model, or the parts of a model do not fit together.

    >>> import pcatool
    >>> pcatool.load_model("sample_data/houses.csv")
    Traceback (most recent call last):
    pcatool.errors.ModelError: 'sample_data/houses.csv' is not a usable model: ...
    """

    exit_code = 4


class FileError(PcatoolError):
    """A file or stream could not be read or written.

    >>> import pcatool
    >>> pcatool.load_model("nowhere.npz")
    Traceback (most recent call last):
    pcatool.errors.FileError: cannot read 'nowhere.npz': No such file or directory...
    """

    exit_code = 5

    @classmethod
    def from_os(cls, path: object, doing: str, error: OSError) -> FileError:
        """Return the error for a failed system call on `path`; `doing` is the verb of the message, such as read.

        Raises `MemoryError` if the call failed for lack of memory.
        """
        check_memory(error)
        reason = error.strerror or str(error) or type(error).__name__
        remedy = ""
        if doing == "read" and isinstance(error, FileNotFoundError):
            target = _link_target(str(path))
            reason = f"it is a link to {show(target, MAX_PATH)}, which does not exist" if target else reason
            remedy = "repair or remove the link" if target else nearest_file_hint(str(path))
        return cls(f"cannot {doing} {show(path, MAX_PATH)}: {reason}", remedy)


class BlamelessError(FileError):
    """A file could not be read, but is not bad: its store or server failed, or the file was replaced meanwhile.

    `--skip-bad` does not leave such a file out.
    """


def missing_package(error: ImportError, needs: str, extra: str) -> FileError:
    """Return the error for the package whose import raised `error`; its remedy is to install pcatool[`extra`].

    `needs` begins the message, such as "--engine dask needs".
    Raises `MemoryError` if the import failed for lack of memory.
    """
    check_memory(error)
    package = str(error.name).partition(".")[0]
    return FileError(f"{needs} the package {package}", f"run pip install 'pcatool[{extra}]'")


class LostError(BlamelessError):
    """A store, server or cluster could not be reached."""


class RefusedError(PcatoolError):
    """The request is valid, but needs more memory or accuracy than there is.

    >>> import pcatool
    >>> pcatool.fit("sample_data/digits.csv", memory="1KB")
    Traceback (most recent call last):
    pcatool.errors.RefusedError: ...
    """

    exit_code = 6


class BadCell(DataError):
    """One cell that cannot be used; the message gives its place, column and value, the reason, and the remedy."""

    def __init__(self, place: str, column: str, value: str, why: str, remedy: str) -> None:
        super().__init__(f"{place}, column {show(column)}: {show(value)} {why}", remedy)


def near_columns(names: Sequence[str], present: Sequence[str], used: Collection[str] = ()) -> list[str]:
    """Return the distinct columns, in `present` and not in `used`, that the first MOST_LISTED `names` probably mean."""
    free = [name for name in present if name not in used]
    found = [nearest(name, free) for name in names[:MOST_LISTED]]
    return list(dict.fromkeys(name for name in found if name is not None))


class MissingColumns(DataError):
    """Columns that are needed but missing; the message lists the nearest columns, or else the present columns."""

    names: tuple[str, ...] = ()  # the missing columns; an error from another process lacks them

    def __init__(
        self, names: Sequence[str], present: Sequence[str], where: str, remedy: str = "", used: Collection[str] = ()
    ) -> None:
        """Make the error for missing columns `names` of `where`, an input whose columns are `present`.

        `used` are present columns that are needed themselves, so that `names` cannot mean one of these.
        """
        noun = "column" if len(names) == 1 else "columns"
        message = f"{where}: no {noun} {listed(names)}"
        near = near_columns(names, present, used)
        if near:
            message += f" (nearest: {listed(near)})"
        elif present:
            are = "columns are:" if len(present) > 1 else "only column is"
            message += f" (the {are} {listed(present)})"
        super().__init__(message, remedy)
        self.names = tuple(names)

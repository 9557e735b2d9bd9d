"""Exceptions with their exit codes, and the check for a lack of memory.

Every refusal is a `PcatoolError`, so one place turns all of them into text and an exit code.
"""

from __future__ import annotations

import errno
import re
from collections.abc import Callable, Collection, Sequence
from typing import Any, NamedTuple

from pcatool.wording import MAX_PATH, MOST_LISTED, link_target, listed, nearest, nearest_file_hint, show

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
    "is_out_of_memory",
    "missing_package",
    "near_columns",
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
            target = link_target(str(path))
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

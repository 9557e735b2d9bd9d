"""Find the inputs of a run: resolve paths, globs and folders to files, in order."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from glob import glob, has_magic
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from pcatool.errors import FileError, UsageError
from pcatool.registry import READERS
from pcatool.stores.uri import is_remote, plain_name, shown
from pcatool.wording import show

if TYPE_CHECKING:
    from pcatool.readers.streams import PipeCopy

__all__ = [
    "COMPRESSED",
    "MODEL_SUFFIX",
    "STDIN",
    "Input",
    "are_paths",
    "bare_name",
    "resolve",
    "resolve_models",
    "tables_in",
]

STDIN = "-"
# Other names of standard input.
STDIN_ALIASES = ("/dev/stdin", "/dev/fd/0", "/proc/self/fd/0")
MODEL_SUFFIX = ".npz"
ENDINGS = ", ".join(suffix for name in READERS for suffix in READERS[name].suffixes)
COMPRESSED = (".gz", ".bz2", ".zst", ".zstd")


class Input(NamedTuple):
    """One input by path, not yet opened."""

    path: str
    root: str = ""  # folder below which a folder or glob argument found the file; "" for a path given itself
    copy: PipeCopy | None = None  # keeps the bytes of an input that can be read only once, for a second reading
    base: str = ""  # folder that a relative path starts from; "" for the working directory
    groups: tuple[int, int] | None = None  # row groups of a Parquet file to read, as [first, end); None for all

    @property
    def remote(self) -> bool:
        """Whether the path names an object in a store."""
        return "://" in self.path and is_remote(self.path)

    @property
    def name(self) -> str:
        """Name for messages: "standard input", or the path, which shows no user, password or web query if remote."""
        if self.path == STDIN:
            return "standard input"
        return shown(self.path) if self.remote else self.path

    @property
    def local_path(self) -> str:
        """Path of a local file, in the folder `base` if the path is relative."""
        return os.path.join(self.base, self.path)  # noqa: PTH118

    @property
    def size(self) -> int | None:
        """Size of the file in bytes; None for a pipe or a device, or if unknown."""
        if self.remote:
            from pcatool.stores.listing import size_of

            return size_of(self.path)
        try:
            found = None if self.path == STDIN else Path(self.local_path).stat()
        except OSError:
            return None  # opening the file reports the error
        return found.st_size if found is not None and stat.S_ISREG(found.st_mode) else None

    @property
    def is_stream(self) -> bool:
        """Whether the input is standard input, a pipe or a device, which can be read only once."""
        if self.path == STDIN:
            return True
        if self.remote:
            return False
        try:
            return not stat.S_ISREG(Path(self.local_path).stat().st_mode)
        except (OSError, ValueError):
            return False  # no such file: opening it reports the error

    @property
    def format(self) -> str | None:
        """Name of the reader for the suffix of the path, without a compression suffix; None if unknown."""
        return READERS.by_suffix(bare_name(plain_name(self.path) if self.remote else self.path))


def bare_name(name: str) -> str:
    """Return the name without the suffix of its compression: `a.csv` for `a.csv.gz`; other names as they are."""
    for ending in COMPRESSED:
        if name.lower().endswith(ending):
            return name[: -len(ending)]
    return name


def are_paths(data: object) -> bool:
    """Whether the data of a run are a list of paths, and not a table in memory."""
    return isinstance(data, list) and all(isinstance(item, str) for item in data)


def resolve(paths: Sequence[str]) -> list[Input]:
    """Return the inputs of the paths, in order; the files of a glob or a folder are sorted by name.

    Of a folder, these are the data files, whose names have a known ending. No paths mean standard input. Raises
    FileError if a glob matches no file or a folder has no data file, UsageError for an empty path or standard input
    given twice.
    """
    paths = [STDIN if path in STDIN_ALIASES else path for path in paths]
    if paths.count(STDIN) > 1:
        raise UsageError("standard input is named twice", "name standard input once")
    return [found for path in paths or [STDIN] for found in _expand(path, _is_table)]


def resolve_models(paths: Sequence[str]) -> list[Input]:
    """Return the model files of the paths, in order; of a folder, the files whose names end in .npz, sorted by name.

    No paths give []. Raises FileError if a glob matches no file or a folder has no model, UsageError for an empty path.
    """
    return [found for path in paths for found in _expand(path, _is_model)]


def tables_in(folder: str) -> list[str]:
    """Return the paths, relative to the folder, of all data files below it, sorted; [] if there is no such folder."""
    if is_remote(folder):
        from pcatool.stores.listing import names_in

        return names_in(folder, _is_table)
    return (
        sorted(os.path.relpath(file, folder) for file in _files_in(folder, _is_table)) if Path(folder).is_dir() else []
    )


def _is_table(name: str) -> bool:
    return Input(name).format is not None


def _is_model(name: str) -> bool:
    return name.endswith(MODEL_SUFFIX)


def _expand(path: str, is_chosen: Callable[[str], bool]) -> list[Input]:
    """Return the inputs that one path names: the path itself, or the files of a glob or folder, sorted by name.

    Of a folder, these are the files whose names `is_chosen` accepts. Raises FileError if a glob or folder gives no
    file, UsageError for an empty path.
    """
    if path == STDIN:
        return [Input(path)]
    if path == "":
        raise UsageError("an input has an empty name", "give a path, or - for standard input")
    if Input(path).remote:
        from pcatool.stores.listing import expand

        found = expand(path, is_chosen)
        return [Input(object_, found.root) for object_ in found.paths]
    if Path(path).is_dir():
        files = _files_in(path, is_chosen)
        if not files:
            what, endings = ("data files", ENDINGS) if is_chosen is _is_table else ("models", MODEL_SUFFIX)
            raise FileError(
                f"there are no {what} in folder {show(path)}",
                f"give a folder with files whose names end in {endings}, or give the paths of the files",
            )
        return [Input(file, path) for file in sorted(files)]
    if not os.path.lexists(path) and has_magic(path):
        files = _matching(path, is_chosen)
        if not files:
            raise FileError(f"no file matches {show(path)}", "check the pattern")
        return [Input(file, _plain_part(path)) for file in sorted(files)]
    return [Input(path)]


def _matching(pattern: str, is_chosen: Callable[[str], bool]) -> list[str]:
    """Return the files that match a glob, whatever their names.

    If only folders match, such as partitions, these are the files in the folders whose names `is_chosen` accepts.
    """
    found = glob(pattern, recursive=True)
    files = [p for p in found if Path(p).is_file() or _is_broken_link(p, is_chosen)]
    files = files or [file for p in found if Path(p).is_dir() for file in _files_in(p, is_chosen)]
    return _each_once(files) if "**" in pattern else files


def _each_once(files: Iterable[str]) -> list[str]:
    """Return one path to each file, since `**` finds a file many times where links to folders form a cycle.

    The path with the fewest links to folders is returned. A link to a file counts as a file of its own.
    """
    within: dict[str, list[str]] = {}
    for file in files:
        within.setdefault(os.path.dirname(file), []).append(file)  # noqa: PTH120
    once: dict[tuple[str, str], str] = {}
    for folder in sorted(within, key=_by_links):
        real = os.path.realpath(folder)
        for file in within[folder]:
            once.setdefault((real, os.path.basename(file)), file)  # noqa: PTH119
    return list(once.values())


def _by_links(folder: str) -> tuple[int, list[tuple[tuple[str, ...], str]]]:
    """Return a sort key for a folder: the number of links to folders in its path, then each of these links.

    A link is given as the names of the folders since the link before it, and its own name.
    """
    parts, links, begun = Path(folder).parts, list[tuple[tuple[str, ...], str]](), 0
    for end in range(1, len(parts) + 1):
        if Path(*parts[:end]).is_symlink():
            links.append((parts[begun : end - 1], parts[end - 1]))
            begun = end
    return len(links), links


def _plain_part(pattern: str) -> str:
    """Return the path of the folders in a pattern that come before the first name with a wildcard."""
    parts = Path(pattern).parts
    return str(Path(*takewhile(lambda part: not has_magic(part), parts)))


def _files_in(folder: str, is_chosen: Callable[[str], bool]) -> list[str]:
    """Return the files below a folder whose names `is_chosen` accepts.

    Names that begin with . or _ are left out: hidden, or marked as not data (`_SUCCESS`). Links are followed, but no
    folder is read twice: neither where links form a cycle, nor where a link such as `latest` leads to a folder beside
    it. Raises FileError for a folder that cannot be read.
    """
    files: list[str] = []
    waiting, seen = [folder], set[tuple[int, int]]()
    while waiting:
        links = []
        for inner, folders, names in os.walk(Path(waiting.pop(0)), onerror=_unreadable):
            if _seen_before(inner, seen):
                folders.clear()
                continue
            folders[:] = sorted(name for name in folders if not name.startswith((".", "_")))
            links += [path for path in _within(inner, folders) if Path(path).is_symlink()]
            public = _within(inner, (name for name in names if not name.startswith((".", "_"))))
            files += [path for path in public if _is_data(path, is_chosen) or _is_broken_link(path, is_chosen)]
        waiting += links
    return [path.removeprefix("./") for path in files]


def _within(folder: str, names: Iterable[str]) -> Iterator[str]:
    return (os.path.join(folder, name) for name in names)  # noqa: PTH118


def _seen_before(folder: str, seen: set[tuple[int, int]]) -> bool:
    """Return whether the folder, as (device, inode), is in `seen`, and add it to `seen`."""
    status = Path(folder).stat()
    key = status.st_dev, status.st_ino
    before = key in seen
    seen.add(key)
    return before


def _is_data(path: str, is_chosen: Callable[[str], bool]) -> bool:
    return is_chosen(path) and os.path.isfile(path)  # noqa: PTH113


def _is_broken_link(path: str, is_chosen: Callable[[str], bool]) -> bool:
    """Whether the path is a broken link with the name of a data file or a partition; opening it reports the error."""
    named = is_chosen(path) or "=" in os.path.basename(path)  # noqa: PTH119
    return named and os.path.islink(path) and not os.path.exists(path)  # noqa: PTH110, PTH114


def _unreadable(error: OSError) -> None:
    raise FileError.from_os(error.filename, "read", error)

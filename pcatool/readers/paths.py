"""Find the inputs of a run: paths, patterns and folders become files in order."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from glob import glob, has_magic
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from pcatool.errors import FileError, UsageError, show
from pcatool.registry import READERS
from pcatool.stores.uri import is_remote, plain_name, shown

if TYPE_CHECKING:
    from pcatool.readers.streams import Copy

__all__ = ["MODEL_SUFFIX", "STDIN", "Input", "bare_name", "resolve", "resolve_models", "tables_in"]

STDIN = "-"
STDIN_TOO = ("/dev/stdin", "/dev/fd/0", "/proc/self/fd/0")
MODEL_SUFFIX = ".npz"
ENDINGS = ", ".join(suffix for name in READERS for suffix in READERS[name].suffixes)
COMPRESSED = (".gz", ".bz2", ".zst", ".zstd")


class Input(NamedTuple):
    """One input by name, not yet opened."""

    path: str
    root: str = ""  # the folder below which it was found, through a folder or a glob; nothing when named itself
    copy: Copy | None = None  # where what can be read only once is kept to be read again
    base: str = ""  # the folder that the path starts from, where that is not the one of this process
    groups: tuple[int, int] | None = None  # of Parquet the row groups from the one to before the other, else all

    @property
    def name(self) -> str:
        return "standard input" if self.path == STDIN else shown(self.path)

    @property
    def place(self) -> str:
        """Where a file is."""
        return os.path.join(self.base, self.path)  # noqa: PTH118

    @property
    def size(self) -> int | None:
        """Bytes of a file; None for what is read as it comes, a pipe or a device."""
        if is_remote(self.path):
            from pcatool.stores.listing import size_of

            return size_of(self.path)
        try:
            found = None if self.path == STDIN else Path(self.place).stat()
        except OSError:
            return None  # opening it says why
        return found.st_size if found is not None and stat.S_ISREG(found.st_mode) else None

    @property
    def flows(self) -> bool:
        """Is it read as it comes, and only once: a pipe, or a device?"""
        if self.path == STDIN:
            return True
        if is_remote(self.path):
            return False
        try:
            return not stat.S_ISREG(Path(self.place).stat().st_mode)
        except (OSError, ValueError):
            return False  # there is none: opening it says why

    @property
    def format(self) -> str | None:
        """The format that the name tells."""
        return READERS.by_suffix(bare_name(plain_name(self.path)))


def bare_name(name: str) -> str:
    """The name without a compression's ending."""
    for ending in COMPRESSED:
        if name.lower().endswith(ending):
            return name[: -len(ending)]
    return name


def resolve(paths: Sequence[str]) -> list[Input]:
    """Inputs in order; the files of a glob or a folder are sorted by name."""
    paths = [STDIN if path in STDIN_TOO else path for path in paths]
    if paths.count(STDIN) > 1:
        raise UsageError("standard input is named twice", "name it once")
    return [found for path in paths or [STDIN] for found in _expand(path, _is_table)]


def resolve_models(paths: Sequence[str]) -> list[Input]:
    """The same of models."""
    return [found for path in paths for found in _expand(path, _is_model)]


def tables_in(folder: str) -> list[str]:
    """Names, below the folder, of the files that reading it would take; none where there is no such folder."""
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


def _expand(path: str, wanted: Callable[[str], bool]) -> list[Input]:
    if path == STDIN:
        return [Input(path)]
    if path == "":
        raise UsageError("an input has an empty name", "give a path, or - for standard input")
    if is_remote(path):
        from pcatool.stores.listing import expand

        found = expand(path, wanted)
        return [Input(object_, found.root) for object_ in found.paths]
    if Path(path).is_dir():
        files = _files_in(path, wanted)
        if not files:
            what, endings = ("data files", ENDINGS) if wanted is _is_table else ("models", MODEL_SUFFIX)
            raise FileError(f"no {what} in folder {show(path)}", f"they are recognised by their ending: {endings}")
        return [Input(file, path) for file in sorted(files)]
    if not os.path.lexists(path) and has_magic(path):
        files = _matching(path, wanted)
        if not files:
            raise FileError(f"no file matches {show(path)}", "check the pattern")
        return [Input(file, _plain_part(path)) for file in sorted(files)]
    return [Input(path)]


def _matching(pattern: str, wanted: Callable[[str], bool]) -> list[str]:
    """The files that match; where only folders do, as those of partitions, the files in them."""
    found = glob(pattern, recursive=True)
    files = [p for p in found if Path(p).is_file() or _is_lost(p, wanted)]
    files = files or [file for p in found if Path(p).is_dir() for file in _files_in(p, wanted)]
    return _each_once(files) if "**" in pattern else files


def _each_once(files: Iterable[str]) -> list[str]:
    """Of what `**` finds, which follows links in a circle again and again, what a search of the folder would.

    A file in a real folder goes before the same by a link to the folder; a link to a file is a file of its own.
    """
    within: dict[str, list[str]] = {}
    for file in files:
        within.setdefault(os.path.dirname(file), []).append(file)  # noqa: PTH120
    once: dict[tuple[str, str], str] = {}
    for folder in sorted(within, key=_links_to):
        real = os.path.realpath(folder)
        for file in within[folder]:
            once.setdefault((real, os.path.basename(file)), file)  # noqa: PTH119
    return list(once.values())


def _links_to(folder: str) -> tuple[int, list[tuple[tuple[str, ...], str]]]:
    """By how many links a search comes to a folder, and by which: the folders to each, and its name."""
    parts, links, begun = Path(folder).parts, list[tuple[tuple[str, ...], str]](), 0
    for end in range(1, len(parts) + 1):
        if Path(*parts[:end]).is_symlink():
            links.append((parts[begun : end - 1], parts[end - 1]))
            begun = end
    return len(links), links


def _plain_part(pattern: str) -> str:
    """The folders of a pattern before the first that is none by name."""
    parts = Path(pattern).parts
    return str(Path(*takewhile(lambda part: not has_magic(part), parts)))


def _files_in(folder: str, wanted: Callable[[str], bool]) -> list[str]:
    """Files with a known ending that are not hidden or marked as not data (`_SUCCESS`).

    Links are followed, but no folder is read twice: not where links go round, nor where one, as `latest`, leads to
    what lies beside it.
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
            files += [path for path in public if _is_data(path, wanted) or _is_lost(path, wanted)]
        waiting += links
    return [path.removeprefix("./") for path in files]


def _within(folder: str, names: Iterable[str]) -> Iterator[str]:
    return (os.path.join(folder, name) for name in names)  # noqa: PTH118


def _seen_before(folder: str, seen: set[tuple[int, int]]) -> bool:
    there = Path(folder).stat()
    key = there.st_dev, there.st_ino
    before = key in seen
    seen.add(key)
    return before


def _is_data(path: str, wanted: Callable[[str], bool]) -> bool:
    return wanted(path) and os.path.isfile(path)  # noqa: PTH113


def _is_lost(path: str, wanted: Callable[[str], bool]) -> bool:
    """Is it data by its name, or a partition, but a link to nothing? Reading it says so."""
    named = wanted(path) or "=" in os.path.basename(path)  # noqa: PTH119
    return named and os.path.islink(path) and not os.path.exists(path)  # noqa: PTH110, PTH114


def _unreadable(error: OSError) -> None:
    raise FileError.from_os(error.filename, "read", error)

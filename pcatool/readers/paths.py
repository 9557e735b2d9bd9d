"""Which inputs a run reads: paths, globs and folders become files in order; nothing at all is standard input."""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from glob import glob, has_magic
from pathlib import Path
from typing import NamedTuple

from pcatool.errors import FileError, UsageError, show
from pcatool.registry import READERS

__all__ = ["STDIN", "Input", "bare_name", "resolve"]

STDIN = "-"
STDIN_TOO = ("/dev/stdin", "/dev/fd/0", "/proc/self/fd/0")
COMPRESSED = (".gz", ".bz2", ".zst", ".zstd")


class Input(NamedTuple):
    """One input by name, not yet opened."""

    path: str

    @property
    def name(self) -> str:
        return "standard input" if self.path == STDIN else self.path

    @property
    def size(self) -> int | None:
        """Bytes of a file; None for what is read as it comes, a pipe or a device."""
        try:
            found = None if self.path == STDIN else Path(self.path).stat()
        except OSError:
            return None  # opening it says why
        return found.st_size if found is not None and stat.S_ISREG(found.st_mode) else None

    @property
    def format(self) -> str | None:
        """The format that the name tells."""
        return READERS.by_suffix(bare_name(self.path))


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
    return [Input(found) for path in paths or [STDIN] for found in _expand(path)]


def _expand(path: str) -> list[str]:
    if path == STDIN:
        return [path]
    if path == "":
        raise UsageError("an input has an empty name", "give a path, or - for standard input")
    if Path(path).is_dir():
        files = sorted(str(p) for p in Path(path).rglob("*") if _is_data(p, Path(path)))
        if not files:
            raise FileError(f"no data files in folder {show(path)}", "files in a folder are recognised by their ending")
        return files
    if not os.path.lexists(path) and has_magic(path):
        files = sorted(p for p in glob(path, recursive=True) if Path(p).is_file())
        if not files:
            raise FileError(f"no file matches {show(path)}", "check the pattern")
        return files
    return [path]


def _is_data(path: Path, folder: Path) -> bool:
    """Files of a folder that are tables: a known ending, and not hidden or marked as not data (`_SUCCESS`)."""
    if any(part.startswith((".", "_")) for part in path.relative_to(folder).parts):
        return False
    return Input(path.name).format is not None and path.is_file()

"""Names and times of output files, and the folder that workers write, with one file for each split."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import takewhile
from pathlib import Path

from pcatool.errors import FileError, PcatoolError
from pcatool.progress import Reporter
from pcatool.readers.hive_partitions import partitions_of
from pcatool.readers.paths import COMPRESSED, Input, tables_in
from pcatool.registry import READERS, WRITERS
from pcatool.stores.uri import HTTP, is_remote, parse, plain_name, shown, with_options
from pcatool.wording import grouped, listed, show
from pcatool.writers.sink import TEMPORARY, check_target, write_whole
from pcatool.writers.target import exists

__all__ = [
    "PartsFolder",
    "canonical_name",
    "exists_in_folder",
    "is_folder",
    "is_inside",
    "join_name",
    "latest_modified",
    "make_folders",
    "make_old",
    "modified_at",
    "name_in_format",
    "output_exists",
    "relative_name",
    "remove",
    "state_of",
]

# Ending to write for a compression that has two.
WRITTEN = {".zstd": ".zst"}


def relative_name(item: Input) -> str:
    """Return the name of an input relative to the folder that was searched, or its file name if no search found it.

    Partition folders directly above the searched folder, or above the file, are part of the name: `year=2024/a.csv`.
    """
    path = plain_name(item.path)
    inner = os.path.relpath(path, item.root) if item.root else path.rpartition("/")[2]
    folders = (os.path.normpath(item.root) if item.root else path.rpartition("/")[0]).split("/")
    kept = [*reversed(list(takewhile(lambda folder: partitions_of(f"{folder}/"), reversed(folders)))), inner]
    return "/".join(kept)


def is_folder(name: str) -> bool:
    """Whether a name means a folder: it ends with /, or there is a folder of that name."""
    # Path("") is the current folder.
    return plain_name(name).endswith("/") or (name != "" and not is_remote(name) and Path(name).is_dir())


def join_name(folder: str, name: str) -> str:
    """Return the name of a file in a folder; options of a store in the name of the folder move to the end."""
    plain = plain_name(folder)
    return with_options(f"{plain.rstrip('/')}/{name}", folder[len(plain) :])


def is_inside(name: str, folder: str) -> bool:
    """Whether a file lies below the folder, at any depth, with links resolved."""
    return canonical_name(name).startswith(f"{canonical_name(folder).rstrip('/')}/")


def canonical_name(name: str) -> str:
    """Return the full path of a file or folder, with links resolved; for an object, its name without options."""
    return plain_name(name).rstrip("/") if is_remote(name) else os.path.realpath(name)


def name_in_format(name: str, form: str | None) -> str:
    """Return the name of a file with the ending of the format `form`; with its own ending if `form` is None.

    An ending such as .gz stays, except for Parquet, which compresses by itself.
    """
    packed = next((name[-len(ending) :] for ending in COMPRESSED if name.lower().endswith(ending)), "")
    stem = name.removesuffix(packed)
    written = WRITTEN.get(packed.lower(), packed)
    if form is None or WRITERS.by_suffix(stem) == form:
        return stem + written
    known = (ending for table in (READERS, WRITERS) for entry in table.entries.values() for ending in entry.suffixes)
    ending = next((stem[-len(e) :] for e in known if stem.lower().endswith(e)), "")
    return stem.removesuffix(ending) + WRITERS[form].suffixes[0] + ("" if form == "parquet" else written)


SECOND = 10**9  # nanoseconds


def make_folders(output: str) -> None:
    """Create the missing folders above the file `output`; a store needs none."""
    if is_remote(output):
        return  # a store has no folders
    folder = Path(output).parent
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError.from_os(folder, "make the folder", error) from None


def exists_in_folder(name: str) -> FileError:
    """Return the error for an output file `name` that exists in the output folder, for --no-clobber."""
    return FileError(exists(shown(name)).message, "name another folder, or move the file away")


def output_exists(name: str) -> bool:
    return modified_at(name) is not None if is_remote(name) else Path(name).exists()


def modified_at(name: str) -> int | None:
    """Return the time of the last write in nanoseconds; None if there is no regular file, or no time is known."""
    if is_remote(name):
        from pcatool.stores.listing import modified_ns

        return modified_ns(name)
    try:
        there = Path(name).stat()
    except OSError:  # the error is raised when the file is read
        return None
    return there.st_mtime_ns if stat.S_ISREG(there.st_mode) else None


def latest_modified(name: str) -> int | None:
    """Return the latest possible time of the last write in nanoseconds; None as for `modified_at`.

    A store gives whole seconds, and an object may have been replaced later in the same second.
    """
    at = modified_at(name)
    return at + SECOND if at is not None and is_remote(name) else at


def state_of(name: str) -> tuple[object, ...] | None:
    """Return a value that changes when the file or object is replaced or written to.

    None if there is no regular file, and for a web page.
    """
    if is_remote(name):
        from pcatool.stores.objects import state_of

        return None if parse(name).kind == HTTP else state_of(name)
    try:
        there = Path(name).stat()
    except OSError:
        return None
    regular = stat.S_ISREG(there.st_mode)
    return (there.st_dev, there.st_ino, there.st_size, there.st_mtime_ns) if regular else None


def make_old(name: str) -> None:
    """Give an output the date 1970, so that --resume finds it older than its input and writes it again.

    An object is removed instead, because the store sets its date.
    """
    if is_remote(name):
        remove(name)
        return
    try:
        os.utime(name, ns=(0, 0))
    except OSError as error:
        raise FileError.from_os(name, "set the time of", error) from None


def remove(name: str) -> None:
    """Remove a file or an object; do nothing if it does not exist."""
    if is_remote(name):
        from pcatool.stores.objects import remove

        remove(name)
        return
    try:
        Path(name).unlink(missing_ok=True)
    except OSError as error:
        raise FileError.from_os(name, "remove", error) from None


# Empty file that marks a folder as complete for Hadoop, Spark and others; readers of tables skip the file.
MARK = "_SUCCESS"
FEWEST_DIGITS = 5  # in the number of a part

# Prefix of the probe: a temporary file by which workers check that they see the same folder.
PROBE = ".sign-"

SEEN_BY_ALL = "name a folder that all workers can see, or a folder in an object store"


class PartsFolder:
    """Output folder with one file for each split of the inputs, all in one format; `_SUCCESS` marks a complete run."""

    def __init__(self, name: str, form: str) -> None:
        self.name = shown(name)
        self._named = name
        self._folder = name if is_remote(name) else os.path.join(os.getcwd(), name)  # noqa: PTH109, PTH118
        self._ending = WRITERS[form].suffixes[0]
        self._part = re.compile(rf"part-[0-9]{{{FEWEST_DIGITS},}}{re.escape(self._ending)}")

    def parts(self, count: int) -> list[str]:
        """Return `count` file names, such as part-00000.parquet, in alphabetical order."""
        digits = max(FEWEST_DIGITS, len(str(count - 1)))
        return [f"part-{number:0{digits}}{self._ending}" for number in range(count)]

    def is_part(self, name: str) -> bool:
        return self._part.fullmatch(name) is not None

    def full_path(self, name: str) -> str:
        """Return the full path of the file `name` in the folder, which does not depend on the current directory."""
        return join_name(self._folder, name)

    def named_by_user(self, name: str) -> str:
        """Return the path of the file `name` in the folder; the path begins with the folder as the user wrote it."""
        return join_name(self._named, name)

    def check(self, *, no_clobber: bool) -> None:
        """Raise `FileError` if the folder cannot take the parts, as far as known before the work; change nothing.

        Tables with names unlike part-00000.parquet are refused, since readers of the folder would read them as data;
        with `no_clobber` parts and `_SUCCESS` are refused, too.
        """
        if is_remote(self._folder):
            check_target(self.full_path(MARK), no_clobber=False)
        there = tables_in(self._folder)
        others = [name for name in there if not self.is_part(name)]
        if others:
            raise FileError(
                f"{show(self.name)} holds files that are not parts of this output: {listed(others)}; "
                "readers of the folder would read these files, too",
                "name another folder, or move the files away",
            )
        if no_clobber and (there or self._is_marked()):
            raise exists_in_folder(self.named_by_user(there[0] if there else MARK))

    @contextmanager
    def writing(self, reporter: Reporter) -> Iterator[str]:
        """Create the folder, remove `_SUCCESS`, and yield the path of a probe file, "" for a folder in a store.

        A worker that does not find the probe file sees another folder. An error in the `with` block adds a note that
        the folder is not complete.
        """
        make_folders(self.full_path(MARK))
        check_target(self.full_path(MARK), no_clobber=False)
        if self._is_marked():
            remove(self.full_path(MARK))
        try:
            with self._probe_file() as probe:
                yield probe
        except PcatoolError:
            reporter.note(f"{show(self.name)} has no file {MARK}, because not all parts were written")
            raise

    def _is_marked(self) -> bool:
        return output_exists(self.full_path(MARK))

    @contextmanager
    def _probe_file(self) -> Iterator[str]:
        """Yield the path of a new probe file, which is removed at the end; "" for a folder in a store."""
        if is_remote(self._folder):
            yield ""
            return
        probe = Path(self.full_path(f"{PROBE}{os.urandom(8).hex()}{TEMPORARY}"))
        try:
            probe.touch()
        except OSError as error:
            raise FileError.from_os(self.name, "write", error) from None
        try:
            yield str(probe)
        finally:
            with suppress(OSError):
                probe.unlink()

    def finish(self, written: Sequence[str]) -> None:
        """Raise `FileError` if a written part is missing; else remove parts of earlier runs, and write `_SUCCESS`."""
        there = set(tables_in(self._folder))
        lost = [name for name in written if name not in there]
        if lost:
            raise FileError(
                f"{grouped(len(lost))} of {grouped(len(written))} parts are not in {show(self.name)}, "
                f"though they were written: {listed(lost)}",
                SEEN_BY_ALL,
            )
        for name in sorted(there.difference(written)):
            if self.is_part(name):
                remove(self.full_path(name))
        self._remove_temporary_files()
        write_whole(self.full_path(MARK), b"", no_clobber=False)

    def _remove_temporary_files(self) -> None:
        """Remove temporary files of interrupted runs and lost workers.

        In a store there are none: an upload has no name before it ends.
        """
        if is_remote(self._folder):
            return
        for pattern in (f".part-*{self._ending}.*{TEMPORARY}", f"{PROBE}*{TEMPORARY}"):
            for begun in Path(self._folder).glob(pattern):
                remove(str(begun))

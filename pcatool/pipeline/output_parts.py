"""A folder of parts: a file for each part of the inputs, written by whoever read it, and a mark when all are there."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from pcatool.errors import FileError, PcatoolError, listed, show
from pcatool.pipeline.naming import within
from pcatool.pipeline.places import is_there, make_folders, remove
from pcatool.progress import Notices
from pcatool.readers.paths import tables_in
from pcatool.registry import WRITERS
from pcatool.stores.uri import is_remote, shown
from pcatool.writers.sink import TEMPORARY, check_target, write_whole
from pcatool.writers.target import exists

__all__ = ["MARK", "PartsFolder"]

# The name by which Hadoop, Spark and others know that a folder is whole; readers pass it over.
MARK = "_SUCCESS"
FEWEST_DIGITS = 5

# How the name of a file begins by which workers see that it is the same folder.
SIGN = ".sign-"

SEEN_BY_ALL = "name a folder that all workers see, or one in a store"


class PartsFolder:
    """The folder of that name, of parts in one output format."""

    def __init__(self, name: str, form: str) -> None:
        self.name = shown(name)
        self._named = name
        self._folder = name if is_remote(name) else os.path.join(os.getcwd(), name)  # noqa: PTH109, PTH118
        self._ending = WRITERS[form].suffixes[0]
        self._part = re.compile(rf"part-[0-9]{{{FEWEST_DIGITS},}}{re.escape(self._ending)}")

    def parts(self, count: int) -> list[str]:
        """Names for so many parts; sorted by name they are in this order."""
        digits = max(FEWEST_DIGITS, len(str(count - 1)))
        return [f"part-{number:0{digits}}{self._ending}" for number in range(count)]

    def is_part(self, name: str) -> bool:
        return self._part.fullmatch(name) is not None

    def place(self, name: str) -> str:
        """Where a file of the folder is, wherever one stands."""
        return within(self._folder, name)

    def called(self, name: str) -> str:
        """A file of the folder in the words of the user."""
        return within(self._named, name)

    def look_at(self, *, no_clobber: bool) -> None:
        """Every reason not to write here that can be known early; nothing is changed."""
        if is_remote(self._folder):
            check_target(self.place(MARK), no_clobber=False)
        there = tables_in(self._folder)
        others = [name for name in there if not self.is_part(name)]
        if others:
            raise FileError(
                f"{show(self.name)} holds files that are no parts of such a run: {listed(others)}; "
                "whoever reads the folder would read them, too",
                "name another folder, or move them away",
            )
        if no_clobber and (there or self._is_marked()):
            raise exists(shown(self.called(there[0] if there else MARK)))

    @contextmanager
    def writing(self, notices: Notices) -> Iterator[str]:
        """Within it the folder is there, and not whole. A file in it tells others that they see the same folder."""
        make_folders(self.place(MARK))
        check_target(self.place(MARK), no_clobber=False)
        if self._is_marked():
            remove(self.place(MARK))
        try:
            with self._signed() as sign:
                yield sign
        except PcatoolError:
            notices.note(f"{show(self.name)} has no {MARK}: its parts are not those of a whole run")
            raise

    def _is_marked(self) -> bool:
        return is_there(self.place(MARK))

    @contextmanager
    def _signed(self) -> Iterator[str]:
        """The name of such a file; none in a store, which all see."""
        if is_remote(self._folder):
            yield ""
            return
        sign = Path(self.place(f"{SIGN}{os.urandom(8).hex()}{TEMPORARY}"))
        try:
            sign.touch()
        except OSError as error:
            raise FileError.from_os(self.name, "write", error) from None
        try:
            yield str(sign)
        finally:
            with suppress(OSError):
                sign.unlink()

    def finish(self, written: Sequence[str]) -> None:
        """The folder holds these parts and nothing else, and says so."""
        there = set(tables_in(self._folder))
        lost = [name for name in written if name not in there]
        if lost:
            raise FileError(
                f"{len(lost)} of {len(written)} parts are not in {show(self.name)}, though they were written: "
                f"{listed(lost)}",
                SEEN_BY_ALL,
            )
        for name in sorted(there.difference(written)):
            if self.is_part(name):
                remove(self.place(name))
        self._tidy()
        write_whole(self.place(MARK), b"", no_clobber=False)

    def _tidy(self) -> None:
        """Remove what runs and workers that were lost left behind; what a store has no name for is not there."""
        if is_remote(self._folder):
            return
        for pattern in (f".part-*{self._ending}.*{TEMPORARY}", f"{SIGN}*{TEMPORARY}"):
            for begun in Path(self._folder).glob(pattern):
                remove(str(begun))

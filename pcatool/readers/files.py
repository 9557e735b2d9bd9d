"""The files and pipes of a run, opened one after the other."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, suppress

from pcatool.errors import DataError, PcatoolError
from pcatool.notices import Notices
from pcatool.options import TableOptions
from pcatool.readers.base import Table
from pcatool.readers.found import Found
from pcatool.readers.paths import Input
from pcatool.readers.source import MODEL, Opened
from pcatool.registry import READERS

__all__ = ["Files", "not_a_table"]

# Inputs looked at beforehand for what the first leaves open.
LOOK_AHEAD = 100


class Files:
    """One of them is open at a time, the one `at` this number."""

    def __init__(self, found: Found, options: TableOptions, notices: Notices) -> None:
        self.found = found
        self.at = 0
        self._options = options
        self._notices = notices
        self._opened: Opened | None = None

    def __len__(self) -> int:
        return len(self.found.inputs)

    @property
    def waiting(self) -> bool:
        """Are there more after this one?"""
        return self.at + 1 < len(self)

    @property
    def current(self) -> Input:
        return self.found.inputs[self.at]

    def open(self) -> Opened:
        self._notices.at_file(self.at + 1, len(self))
        self._opened = Opened(self.current, self._options.input_format, self._options.encoding, self._notices)
        self._opened.one_of_many = len(self) > 1
        return self._opened

    def table(self, opened: Opened) -> Table:
        """What was opened, read as its format asks, with the columns that its folders tell."""
        if opened.format == MODEL:
            raise not_a_table(opened.name)
        table: Table = READERS.load(opened.format)(opened, self._options, self._notices)
        partitions = self.found.partitions
        return table if partitions is None else partitions.of(table, opened.input.path)

    def alone(self, at: int) -> Found:
        return self.found.some([self.found.inputs[at]])

    def others(self) -> Iterator[Table]:
        """Those after this one, for a look ahead: files that can be opened. An error is met in its turn."""
        for at in range(self.at + 1, min(self.at + 1 + LOOK_AHEAD, len(self))):
            if self.found.inputs[at].flows:
                return
            with suppress(PcatoolError), closing(Files(self.alone(at), self._options, Notices())) as other:
                yield other.table(other.open())

    def expected_rows(self, first: int | None) -> int | None:
        """About how many rows all have: as many to the byte as the one that is open, where they are of its kind."""
        if not self.waiting or first is None or self._opened is None:
            return first
        sizes = [item.size for item in self.found.inputs[self.at + 1 :]]
        own = self._opened.input.size
        kinds = {item.format for item in self.found.inputs}
        if not own or None in sizes or len(kinds) > 1:
            return None
        return int(first * (1 + sum(size or 0 for size in sizes) / own))

    def check_unchanged(self) -> None:
        """All of it was read: raise an error where it was changed meanwhile."""
        if self._opened is not None and not self._opened.lent:
            self._opened.check_unchanged()

    def close(self) -> None:
        if self._opened is not None:
            if not self._opened.lent:
                self._opened.close()
            self._opened = None


def not_a_table(name: str) -> DataError:
    return DataError(f"{name} is a zip archive (a model? a spreadsheet?), not a table", "give CSV or Parquet")

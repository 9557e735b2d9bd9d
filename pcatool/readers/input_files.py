"""Open the files and pipes of a run one after the other, with a few ahead."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, suppress
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

from pcatool.arrays import Runner
from pcatool.errors import DataError, PcatoolError
from pcatool.options import TableOptions
from pcatool.progress import Notices
from pcatool.readers.base import Table
from pcatool.readers.csv_reader.dialect import Dialect
from pcatool.readers.opener import MODEL, Opened
from pcatool.readers.paths import MODEL_SUFFIX, Input, resolve
from pcatool.registry import READERS
from pcatool.stores.uri import is_remote

__all__ = ["Files", "Found", "Later", "not_a_table"]

if TYPE_CHECKING:
    from pcatool.readers.hive_partitions import Partitions


class Found(NamedTuple):
    """Inputs that were looked for already, and the columns that the folders of them all tell."""

    inputs: tuple[Input, ...]
    partitions: Partitions | None

    @classmethod
    def of(cls, paths: Sequence[str], options: TableOptions) -> Found:
        inputs = tuple(resolve(paths))
        if not any("=" in item.path for item in inputs):
            return cls(inputs, None)
        from pcatool.readers.hive_partitions import Partitions

        return cls(inputs, Partitions([item.path for item in inputs], Dialect.of(options, ",")))

    def some(self, inputs: Iterable[Input]) -> Found:
        return self._replace(inputs=tuple(inputs))


# Files that are opened before their turn take no more than this together.
AHEAD_BYTES = 32 << 20

# Inputs looked at beforehand for what the first leaves open.
LOOK_AHEAD = 100


class Later(NamedTuple):
    """A file that was opened before its turn, or could not be; with neither it is opened when its turn comes."""

    opened: Opened | None = None
    table: Table | None = None
    notes: tuple[str, ...] = ()
    error: PcatoolError | None = None


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
        self._opened = self._open(self.current, self._notices)
        return self._opened

    def _open(self, item: Input, notices: Notices) -> Opened:
        opened = Opened(item, self._options.input_format, self._options.encoding, notices)
        opened.one_of_many = len(self) > 1
        return opened

    def table(self, opened: Opened) -> Table:
        """What was opened, read as its format asks, with the columns that its folders tell."""
        return self._table(opened, self._notices)

    def _table(self, opened: Opened, notices: Notices) -> Table:
        if opened.format == MODEL:
            raise not_a_table(opened.name)
        table: Table = READERS.load(opened.format)(opened, self._options, notices)
        partitions = self.found.partitions
        return table if partitions is None else partitions.of(table, opened.input.path)

    def later(self, run: Runner, table: Table) -> Iterator[Later]:
        """Those after this one, the next of them opened already: of small wide files it takes as long as reading."""
        following, most = range(self.at + 1, len(self)), _opened_ahead(table)
        return run(self._before_its_turn, following, most=most) if most else (Later() for _ in following)

    def ahead_bytes(self, count: int, table: Table) -> int:
        """Memory of those that are opened before their turn by as many as `count`, where all are like `table`."""
        return min(count, _opened_ahead(table), len(self) - 1) * table.contents_bytes

    def _before_its_turn(self, at: int) -> Later:
        item, notices = self.found.inputs[at], Notices()
        if item.format != "parquet" or is_remote(item.path) or item.flows:
            return Later()
        opened: Opened | None = None
        try:
            opened = self._open(item, notices)
            return Later(opened, self._table(opened, notices), tuple(notices.notes))
        except PcatoolError as error:
            if opened is not None:
                opened.close()
            return Later(notes=tuple(notices.notes), error=error)

    def turn_of(self, later: Later) -> Table:
        """The table of the file that has become the current one."""
        if later.table is None and later.error is None:
            return self.table(self.open())
        self._notices.at_file(self.at + 1, len(self))
        for text in later.notes:
            self._notices.note(text)
        if later.table is None:
            assert later.error is not None
            raise later.error
        self._opened = later.opened
        return later.table

    def alone(self, at: int) -> Found:
        return self.found.some([self.found.inputs[at]])

    def others(self) -> Iterator[Table]:
        """Those after this one, for a look ahead: files that can be opened. An error is met in its turn."""
        for at in range(self.at + 1, min(self.at + 1 + LOOK_AHEAD, len(self))):
            if self.found.inputs[at].flows:
                return
            with suppress(PcatoolError), closing(Files(self.alone(at), self._options, Notices())) as other:
                yield other.table(other.open())

    def expected_rows(self, at: int, rows: int | None) -> int | None:
        """About how many rows all have, where number `at` has `rows`: as many to the byte, if they are of its kind."""
        if len(self) < 2 or rows is None:
            return rows
        sizes = [item.size for item in self.found.inputs]
        kinds = {item.format for item in self.found.inputs}
        if not sizes[at] or None in sizes or len(kinds) > 1:
            return None
        return int(rows * (sum(size or 0 for size in sizes) / (sizes[at] or 1)))

    @property
    def taken(self) -> int:
        """Bytes that were read of the one that is open."""
        opened = self._opened
        return 0 if opened is None else opened.taken

    def share(self, table: Table) -> float | None:
        """How much of all was read, by their sizes, where the table is the one that is open."""
        at, own = self.at, table.share()
        if own is None or len(self) == 1:
            return own
        before = self._before
        if before is None:
            return (at + own) / len(self)
        return (before[at] + own * (before[at + 1] - before[at])) / max(before[-1], 1)

    @cached_property
    def _before(self) -> list[int] | None:
        """Bytes of the files before each, and of all; None where a store would have to be asked."""
        if any(is_remote(item.path) for item in self.found.inputs):
            return None
        sizes = [item.size for item in self.found.inputs]
        return None if None in sizes else [0, *accumulate(size or 0 for size in sizes)]

    def check_unchanged(self) -> None:
        """All of it was read: raise an error where it was changed meanwhile."""
        opened = self._opened  # another thread may close it
        if opened is not None and not opened.lent:
            opened.check_unchanged()

    def close(self) -> None:
        if self._opened is not None:
            if not self._opened.lent:
                self._opened.close()
            self._opened = None


def _opened_ahead(table: Table) -> int:
    """How many files like this one are opened before their turn, at the most."""
    return AHEAD_BYTES // max(table.contents_bytes, 1)


def not_a_table(name: str) -> DataError:
    if name.endswith(MODEL_SUFFIX):
        return DataError(f"{name} is a model, not a table", "give CSV or Parquet")
    return DataError(f"{name} is a zip archive (a model? a spreadsheet?), not a table", "give CSV or Parquet")

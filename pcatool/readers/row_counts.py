"""Row counts of a run, and counts of missing cells by column, spelling and pattern."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pcatool.errors import DataError
from pcatool.linalg.sparse import SparseRows
from pcatool.missing.census import group_by_pattern
from pcatool.readers.base import Batch
from pcatool.wording import counted, grouped, leave_out_all, show

__all__ = ["IncompleteCells", "MissingRemedy", "RowCounts", "TripleCounts"]

# Places named in an error; further places are only counted.
FIRST_PLACES = 3

# Most patterns of missing columns that are counted separately. A pattern that more than about one incomplete row in a
# thousand has is always counted.
MOST_PATTERNS = 1 << 12


class IncompleteCells(NamedTuple):
    """The missing cells of one batch."""

    rows: NDArray[np.bool_]  # (n,) mask of rows with a missing cell
    cells: NDArray[np.int64]  # (d,) missing cells per column
    spellings: Mapping[str, int]  # missing cells per spelling
    patterns: Mapping[bytes, int]  # rows per set of missing columns (packed bits)

    @classmethod
    def of(cls, batch: Batch, *, report: bool) -> IncompleteCells:
        """Count the missing cells of a batch; spellings and patterns are empty unless `report` is set."""
        missing = np.isnan(batch.X)
        rows = np.asarray(missing.any(axis=1))
        spellings = batch.spellings() if report else {}
        return cls(rows, missing.sum(axis=0), spellings, _patterns(missing[rows]) if report else {})


def _patterns(missing: NDArray[np.bool_]) -> dict[bytes, int]:
    """Return the number of rows of each pattern, which is a set of columns that are missing together.

    Keys are the patterns: the distinct rows of the mask `missing` (n, d), as packed bits.
    """
    first, group = group_by_pattern(~missing)
    packed = np.packbits(missing[first], axis=1)
    return {bits.tobytes(): int(count) for bits, count in zip(packed, np.bincount(group), strict=True)}


class MissingRemedy(NamedTuple):
    """The options with which a fit can use a table with missing cells, for the remedy of an error."""

    use: bool  # --missing mean and em can use incomplete rows
    exclude: bool  # -x can leave out a feature

    def text(self, *, drop: bool = True, features: bool = True, empty: Sequence[str] = ()) -> str:
        """Return the remedy: all ways to use the table.

        `drop`: a row is complete. `features`: the missing cells are in features, not only in labels or weights. `empty`
        are the features without a value, with which no --missing is possible.
        """
        if empty and self.exclude and features:
            return leave_out_all(empty)
        ways = ["give --missing drop to leave out rows with missing cells"] if drop else []
        if self.use and features and not empty:
            ways.append(f"{'' if ways else 'give '}--missing mean or em to use these rows")
        if self.exclude and features:
            ways.append(f"{'' if ways else 'give '}-x to leave out {'a column' if drop else 'columns'}")
        if not features or not ways:
            ways.append("correct these cells")
        *others, last = ways
        return f"{', '.join(others)}, or {last}" if others else last


class TripleCounts(NamedTuple):
    """Size of the table that triples (user, item, value) make up."""

    users: int
    items: int
    cells: int
    cells_per_user: tuple[int, float, int]  # least, median, most
    cells_per_item: tuple[int, float, int]  # least, median, most

    @classmethod
    def of(cls, rows: SparseRows) -> TripleCounts:
        """Return the counts of a sparse table of users by items."""
        users, items = rows.counts, np.bincount(rows.columns, minlength=rows.d)
        return cls(rows.n, rows.d, len(rows.values), _spread(users), _spread(items))


@dataclass
class RowCounts:
    """Counts of the rows and missing cells read so far; `join` adds the counts of another worker."""

    rows: int = 0
    incomplete: int = 0  # rows with a missing cell
    left_empty: int = 0  # rows whose results are empty because of missing cells
    cells: Counter[str] = field(default_factory=Counter)  # missing cells by column
    spellings: Counter[str] = field(default_factory=Counter)  # missing cells by spelling
    patterns: Counter[bytes] = field(default_factory=Counter)  # rows by set of missing columns (packed bits)
    more_patterns: bool = False  # rare patterns were dropped
    places: list[str] = field(default_factory=list)  # file and row of the first incomplete rows
    names: Sequence[str] = ()  # names of the columns, features first
    features: int = 0  # number of features: the first of `names`
    table: TripleCounts | None = None  # for triples only

    def count(self, batch: Batch, missing: IncompleteCells, names: Sequence[str]) -> None:
        """Add the incomplete rows and missing cells of a batch; the field `rows` is left to the caller.

        `names` are the names of the columns of the batch's X.
        """
        self.names = names
        self.incomplete += int(missing.rows.sum())
        for j in np.flatnonzero(missing.cells).tolist():
            self.cells[names[j]] += int(missing.cells[j])
        self.spellings.update(missing.spellings)
        self.patterns.update(missing.patterns)
        self._make_room()
        for i in np.flatnonzero(missing.rows)[: max(FIRST_PLACES - len(self.places), 0)]:
            self.places.append(batch.place(int(i)))

    def join(self, other: RowCounts) -> None:
        """Add the counts `other` of a worker that read later rows, with the same columns."""
        self.rows += other.rows
        self.incomplete += other.incomplete
        self.left_empty += other.left_empty
        self.names, self.features = other.names or self.names, other.features or self.features
        self.cells.update(other.cells)
        self.spellings.update(other.spellings)
        self.patterns.update(other.patterns)
        self.more_patterns |= other.more_patterns
        self._make_room()
        self.places += other.places[: max(FIRST_PLACES - len(self.places), 0)]

    def _make_room(self) -> None:
        """Drop the rarer half of the patterns if there are more than MOST_PATTERNS, so that new ones can be counted."""
        if len(self.patterns) > MOST_PATTERNS:
            self.more_patterns = True
            self.patterns = Counter(dict(self.patterns.most_common(MOST_PATTERNS // 2)))

    @property
    def missing(self) -> int:
        """Number of missing cells in features, without labels and weights."""
        return sum(self.cells[name] for name in self.names[: self.features])

    def commonest_patterns(self, most: int) -> list[tuple[list[str], int]]:
        """Return up to `most` sets of columns missing together, each with its number of rows, most frequent first."""
        d = len(self.names)
        return [([self.names[j] for j in _ones(bits, d)], rows) for bits, rows in self.patterns.most_common(most)]

    def error(self, remedy: MissingRemedy, *, dropped: bool = False) -> DataError:
        """Return the error that refuses incomplete rows, with columns, counts and the first places.

        `dropped`: --missing drop was given, and leaves no row.
        """
        empty = [name for name in self.names if self.cells[name] == self.rows]
        labels = set(self.names[self.features :])
        advice = remedy.text(
            drop=self.incomplete < self.rows,
            features=self.missing > 0 and labels.isdisjoint(empty),
            empty=empty,
        )
        worst = _by_vector(self.cells.most_common())
        columns = ", ".join(f"{grouped(count)} in {_columns_text(names)}" for names, count in worst[:5])
        others = sum(len(names) for names, _ in worst[5:])
        more = f" and others in {counted(others, 'more column')}" if others else ""
        has = "has" if self.incomplete == 1 else "have"
        return DataError(
            f"{grouped(self.incomplete)} of {grouped(self.rows)} rows {has} missing cells: {columns}{more}; "
            f"the first incomplete {'row is' if len(self.places) == 1 else 'rows are'} in {_list_places(self.places)}",
            f"{'--missing drop leaves no row: ' if dropped else ''}{advice}",
        )


def _list_places(places: Sequence[str]) -> str:
    """Return places such as `x.csv, line 3` as a phrase, with each file named once: `x.csv, lines 3, 5 and 8`."""
    phrases = []
    for (name, unit), group in groupby(map(_split_place, places), key=lambda place: place[:2]):
        *others, last = (number for _, _, number in group)
        phrases.append(f"{name}, {unit}s {', '.join(others)} and {last}" if others else f"{name}, {unit} {last}")
    return ", and ".join(phrases)


def _split_place(place: str) -> tuple[str, str, str]:
    """Return the name of the table, the unit (line or row) and the number of a place such as `x.csv, line 3`."""
    name, _, where = place.rpartition(", ")
    unit, _, number = where.partition(" ")
    return name, unit, number


def _by_vector(cells: Sequence[tuple[str, int]]) -> list[tuple[list[str], int]]:
    """Return groups of columns, each with the number of missing cells that every column of the group has.

    `cells` holds names and numbers of missing cells. Successive elements of a vector with equal numbers form a group;
    any other column is a group by itself.
    """
    found: list[tuple[list[str], int]] = []
    expected = ""  # the next element of the same vector
    for name, count in cells:
        if found and name == expected and count == found[-1][1]:
            found[-1][0].append(name)
        else:
            found.append(([name], count))
        element = re.fullmatch(r"(.*\[)([0-9]+)\]", name, re.ASCII | re.DOTALL)
        expected = f"{element[1]}{int(element[2]) + 1}]" if element else ""
    return found


def _columns_text(names: Sequence[str]) -> str:
    """Return the words, such as "column 'a'", for one column or for the successive elements of a vector."""
    if len(names) == 1:
        return f"column {show(names[0])}"
    return f"each of {counted(len(names), 'column')} {show(names[0])} to {show(names[-1])}"


def _spread(counts: NDArray[np.int64]) -> tuple[int, float, int]:
    """Return the minimum, median and maximum of the counts."""
    return int(counts.min()), float(np.median(counts)), int(counts.max())


def _ones(bits: bytes, d: int) -> list[int]:
    """Return the columns, from 0, whose bits are set; `bits` packs one bit for each of d columns."""
    return [int(j) for j in np.flatnonzero(np.unpackbits(np.frombuffer(bits, np.uint8), count=d))]

"""Count rows and missing cells that were read, by column, spelling and pattern."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pcatool.errors import DataError, show
from pcatool.linalg.sparse import SparseRows
from pcatool.missing.census import same_holes
from pcatool.readers.base import Batch

__all__ = ["Holes", "Tally", "TripleCounts"]

# Places named in an error; more are counted.
FIRST_PLACES = 3

# Patterns of holes told apart, those that more than about one row in a thousand has among them.
MOST_PATTERNS = 1 << 12


class Holes(NamedTuple):
    """The missing cells of one batch."""

    rows: NDArray[np.bool_]  # (n,) those with a missing cell
    cells: NDArray[np.int64]  # (d,) missing in each column
    spellings: Mapping[str, int]
    patterns: Mapping[bytes, int]  # of missing columns, as packed bits, in how many rows

    @classmethod
    def of(cls, batch: Batch, *, report: bool) -> Holes:
        """With a report, spellings and patterns, too."""
        missing = np.isnan(batch.X)
        rows = np.asarray(missing.any(axis=1))
        spellings = batch.spellings() if report else {}
        return cls(rows, missing.sum(axis=0), spellings, _patterns(missing[rows]) if report else {})


def _patterns(missing: NDArray[np.bool_]) -> dict[bytes, int]:
    first, group = same_holes(~missing)
    packed = np.packbits(missing[first], axis=1)
    return {bits.tobytes(): int(count) for bits, count in zip(packed, np.bincount(group), strict=True)}


class TripleCounts(NamedTuple):
    """What lines of one cell each make up."""

    users: int
    items: int
    cells: int
    cells_per_user: tuple[int, float, int]  # least, median, most
    cells_per_item: tuple[int, float, int]

    @classmethod
    def of(cls, rows: SparseRows) -> TripleCounts:
        users, items = rows.counts, np.bincount(rows.columns, minlength=rows.d)
        return cls(rows.n, rows.d, len(rows.values), _spread(users), _spread(items))


@dataclass
class Tally:
    """What was read so far."""

    rows: int = 0
    incomplete: int = 0  # rows with a missing cell
    left_empty: int = 0  # rows that get no result for it
    cells: Counter[str] = field(default_factory=Counter)  # missing, by column
    spellings: Counter[str] = field(default_factory=Counter)  # missing, by what stands there
    patterns: Counter[bytes] = field(default_factory=Counter)  # rows that miss these columns, as packed bits
    more_patterns: bool = False  # than are told apart
    places: list[str] = field(default_factory=list)  # the first incomplete rows
    names: Sequence[str] = ()  # of the columns, features first
    features: int = 0
    table: TripleCounts | None = None

    def count(self, batch: Batch, holes: Holes, names: Sequence[str]) -> None:
        self.names = names
        self.incomplete += int(holes.rows.sum())
        for j in np.flatnonzero(holes.cells).tolist():
            self.cells[names[j]] += int(holes.cells[j])
        self.spellings.update(holes.spellings)
        self.patterns.update(holes.patterns)
        self._make_room()
        for i in np.flatnonzero(holes.rows)[: max(FIRST_PLACES - len(self.places), 0)]:
            self.places.append(batch.place(int(i)))

    def join(self, other: Tally) -> None:
        """Count what was read elsewhere of the rows after these, too; its names are these."""
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
        if len(self.patterns) > MOST_PATTERNS:  # the rare ones go, so that a common one is found however late
            self.more_patterns = True
            self.patterns = Counter(dict(self.patterns.most_common(MOST_PATTERNS // 2)))

    @property
    def missing(self) -> int:
        """Cells of features."""
        return sum(self.cells[name] for name in self.names[: self.features])

    def commonest(self, most: int) -> list[tuple[list[str], int]]:
        """Columns that are missing together, and in how many rows, the most frequent first."""
        d = len(self.names)
        return [([self.names[j] for j in _ones(bits, d)], rows) for bits, rows in self.patterns.most_common(most)]

    def error(self, remedy: str) -> DataError:
        """The refusal that names columns, counts and first rows."""
        worst = self.cells.most_common()
        columns = ", ".join(f"{show(name)} ({count})" for name, count in worst[:5])
        more = f" and {len(worst) - 5} more" if len(worst) > 5 else ""
        has = "has" if self.incomplete == 1 else "have"
        return DataError(
            f"{self.incomplete} of {self.rows} rows {has} missing cells, in column {columns}{more}; "
            f"first: {'; '.join(self.places)}",
            remedy,
        )


def _spread(counts: NDArray[np.int64]) -> tuple[int, float, int]:
    return int(counts.min()), float(np.median(counts)), int(counts.max())


def _ones(bits: bytes, d: int) -> list[int]:
    return [int(j) for j in np.flatnonzero(np.unpackbits(np.frombuffer(bits, np.uint8), count=d))]

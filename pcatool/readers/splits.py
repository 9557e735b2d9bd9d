"""Split the inputs into parts that any worker can read by itself."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import Any, NamedTuple

from pcatool.errors import PcatoolError, UsageError
from pcatool.options import TableOptions
from pcatool.progress import Notices
from pcatool.readers.input_files import Found
from pcatool.readers.opener import Opened
from pcatool.readers.paths import Input
from pcatool.registry import READERS

__all__ = ["Portion", "portions_of", "together"]

# A larger Parquet file is cut: a task should take seconds, and be small to do again. Past so many parts they grow
# instead: each costs the scheduler a millisecond or two and some KB.
LARGE = 64 << 20
MANY = 1 << 14

# Smaller files go together where there are so many that all workers have enough to do.
SMALL = 8 << 20
ENOUGH = 64


class Portion(NamedTuple):
    """A part of an input."""

    at: int  # the number of the input
    input: Input
    size: int = 0  # bytes, about


def portions_of(found: Found, options: TableOptions) -> list[Portion]:
    """All rows in order. Where bad files are left out, a file is one portion: the whole of it counts, or nothing."""
    if not found.inputs:
        raise UsageError("a table in memory cannot be read elsewhere", "write it to files that all workers see")
    folder = os.getcwd()  # noqa: PTH109
    portions: list[Portion] = []
    sizes = [item.size or 0 for item in found.inputs]
    large = max(LARGE, sum(sizes) // MANY)
    for at, (item, size) in enumerate(zip(found.inputs, sizes, strict=True)):
        if item.flows:
            raise UsageError(f"{item.name} cannot be read elsewhere", "give files that all workers see")
        item = item._replace(base=folder)
        cuts = [None] if options.skip_bad else _cuts(item, size, options, large)
        portions += [Portion(at, item._replace(groups=groups), size // len(cuts)) for groups in cuts]
    return portions


def together(portions: Sequence[Portion]) -> list[tuple[Portion, ...]]:
    """Neighbours that are small, so that a task takes longer than handing it out."""
    total = sum(portion.size for portion in portions)
    most = max(min(SMALL, total // ENOUGH), total // MANY)
    groups: list[tuple[Portion, ...]] = []
    waiting: list[Portion] = []
    for portion in portions:
        if waiting and sum(one.size for one in waiting) + portion.size > most:
            groups.append(tuple(waiting))
            waiting = []
        waiting.append(portion)
    return [*groups, tuple(waiting)] if waiting else groups


def _cuts(item: Input, size: int, options: TableOptions, large: int) -> list[tuple[int, int] | None]:
    """Row groups of about the same size together; None for all of them."""
    if size <= large:
        return [None]
    try:
        groups = _groups(item, options)
    except PcatoolError:
        return [None]  # whoever reads it says what is wrong
    return list(_joined(groups, size, large)) if len(groups) > 1 else [None]


def _groups(item: Input, options: TableOptions) -> list[int]:
    """Rows of each row group; none in text."""
    opened = Opened(item, options.input_format, options.encoding)
    with closing(opened):
        if opened.format != "parquet" or opened.size is None:
            return []
        table: Any = READERS.load("parquet")(opened, options, Notices())
        return list(table.group_rows)


def _joined(groups: list[int], size: int, large: int) -> Iterator[tuple[int, int]]:
    """Consecutive groups until they take about as many bytes as a portion should."""
    bytes_a_row = size / max(sum(groups), 1)
    first = rows = 0
    for at, more in enumerate(groups):
        if rows and (rows + more) * bytes_a_row > large:
            yield first, at
            first, rows = at, 0
        rows += more
    yield first, len(groups)

"""Cut the inputs into splits, each of which a worker of Dask or Spark can read by itself."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import Any, NamedTuple

from pcatool.errors import PcatoolError, UsageError
from pcatool.options import TableOptions
from pcatool.progress import Reporter
from pcatool.readers.input_files import ResolvedInputs
from pcatool.readers.opener import OpenedInput
from pcatool.readers.paths import Input
from pcatool.registry import READERS

__all__ = ["Split", "group_splits", "splits_of"]

# A Parquet file of more bytes than this is cut, so that a task takes seconds and little is lost when it is run again.
LARGE_FILE = 64 << 20
# About the most splits: with more data, splits grow instead, since each costs the scheduler a millisecond or two
# and some KB.
MOST_SPLITS = 1 << 14

# Files are grouped into tasks of up to SMALL_TASK bytes, as long as about ENOUGH_TASKS tasks remain, so that all
# workers have one.
SMALL_TASK = 8 << 20
ENOUGH_TASKS = 64


class Split(NamedTuple):
    """A piece of the inputs: a whole file, or some row groups of a Parquet file (`input.groups`)."""

    position: int  # position of the input
    input: Input
    size: int = 0  # approximate, in bytes


def splits_of(resolved: ResolvedInputs, options: TableOptions) -> list[Split]:
    """Return the splits of the inputs, which together hold all rows in order.

    With --skip-bad each file is one split, since it counts as a whole or not at all. Raises UsageError for a table in
    memory, a pipe or a device.
    """
    if not resolved.inputs:
        raise UsageError("workers cannot read a table in memory", "write the table to files that all workers can read")
    folder = os.getcwd()  # noqa: PTH109
    splits: list[Split] = []
    sizes = [item.size or 0 for item in resolved.inputs]
    large = max(LARGE_FILE, sum(sizes) // MOST_SPLITS)
    for at, (item, size) in enumerate(zip(resolved.inputs, sizes, strict=True)):
        if item.is_stream:
            raise UsageError(f"workers cannot read {item.name}", "give files that all workers can read")
        item = item._replace(base=folder)
        cuts = [None] if options.skip_bad else _cuts(item, size, options, large)
        splits += [Split(at, item._replace(groups=groups), size // len(cuts)) for groups in cuts]
    return splits


def group_splits(splits: Sequence[Split]) -> list[tuple[Split, ...]]:
    """Return all splits, in order, grouped into tasks: small neighbours share a task, which outlasts its scheduling."""
    total = sum(split.size for split in splits)
    most = max(min(SMALL_TASK, total // ENOUGH_TASKS), total // MOST_SPLITS)
    groups: list[tuple[Split, ...]] = []
    waiting: list[Split] = []
    for split in splits:
        if waiting and sum(one.size for one in waiting) + split.size > most:
            groups.append(tuple(waiting))
            waiting = []
        waiting.append(split)
    return [*groups, tuple(waiting)] if waiting else groups


def _cuts(item: Input, size: int, options: TableOptions, large: int) -> list[tuple[int, int] | None]:
    """Return ranges [first, end) of row groups of about `large` bytes, or [None] for a file that is not cut.

    `size` is that of the file in bytes; a file of up to `large` bytes is not cut.
    """
    if size <= large:
        return [None]
    try:
        groups = _groups(item, options)
    except PcatoolError:
        return [None]  # the worker that reads the file reports the error
    return list(_joined(groups, size, large)) if len(groups) > 1 else [None]


def _groups(item: Input, options: TableOptions) -> list[int]:
    """Return the number of rows of each row group of a file; [] if it is not Parquet or is compressed as a whole."""
    opened = OpenedInput(item, options.input_format, options.encoding)
    with closing(opened):
        if opened.format != "parquet" or opened.size is None:
            return []
        table: Any = READERS.load("parquet")(opened, options, Reporter())
        return list(table.group_rows)


def _joined(groups: list[int], size: int, large: int) -> Iterator[tuple[int, int]]:
    """Yield ranges [first, end) of consecutive row groups of up to `large` bytes, estimated from their rows.

    `groups` are the rows of each row group, `size` the bytes of the file. A larger row group is a range by itself.
    """
    bytes_a_row = size / max(sum(groups), 1)
    first = rows = 0
    for at, more in enumerate(groups):
        if rows and (rows + more) * bytes_a_row > large:
            yield first, at
            first, rows = at, 0
        rows += more
    yield first, len(groups)

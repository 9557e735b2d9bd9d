"""What the tests of the readers share: a table read in one call, a stream in pieces, and CSV as Python reads it."""

from __future__ import annotations

import csv
import io
import math
import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from pcatool.arrays import Array
from pcatool.errors import DataError
from pcatool.options import SelectOptions, TableOptions
from pcatool.progress import Reporter
from pcatool.readers.inputs import Inputs
from pcatool.readers.row_counts import RowCounts
from pcatool.readers.rows import checked_batches
from pcatool.readers.schema import ColumnChoice


@dataclass(frozen=True)
class Read:
    """A table as a fit sees it."""

    names: tuple[str, ...]
    X: Array
    kept: list[list[Any]]  # columns passed through
    notes: list[str]

    @property
    def rows(self) -> list[list[float]]:
        rows: list[list[float]] = self.X.tolist()
        return rows


def read(
    *paths: object,
    columns: Sequence[str] = (),
    exclude: Sequence[str] = (),
    keep: Sequence[str] = (),
    names: Sequence[str] | None = None,
    eager: bool = False,
    **options: Any,
) -> Read:
    """The features of a fit; or, with `names`, those columns, as a model asks for them."""
    reporter = Reporter()
    inputs = Inputs([str(path) for path in paths], TableOptions(**options), reporter)
    if names is None:
        wanted = inputs.columns.choose(SelectOptions(tuple(columns), tuple(exclude)))
    else:
        wanted = ColumnChoice(tuple(names))
    wanted = ColumnChoice(wanted.names, wanted.booleans, wanted.by_position, inputs.columns.keep(keep, False))
    batches = list(checked_batches(inputs, wanted, RowCounts(), eager=eager))
    X = np.concatenate([np.empty((0, len(wanted.names))), *(b.X for b in batches)])
    kept = [[cell for b in batches for cell in b.passthrough[i].to_pylist()] for i in range(len(wanted.passthrough))]
    return Read(wanted.names, X, kept, reporter.notes)


def write(folder: Path, data: str | bytes, name: str = "t.csv") -> Path:
    path = folder / name
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return path


class Pieces:
    """A stream that gives a few bytes at a time, and is never ready."""

    def __init__(self, data: bytes, sizes: Iterable[int]) -> None:
        self._data = io.BytesIO(data)
        self._sizes: Iterator[int] = iter(sizes)

    @property
    def given(self) -> int:
        return self._data.tell()

    def read(self, size: int, /) -> bytes:
        return self._data.read(min(size, next(self._sizes)))

    def ready(self) -> bool:
        return False


NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?", re.IGNORECASE | re.ASCII)
MISSING = {"", "na", "n/a", "nan", "-nan", "+nan", "null", "none", "."}


def number(cell: str) -> float | None:
    """A cell as `float` reads it: NaN when it is missing, None when it is no finite number."""
    text = cell.strip()
    if text.lower() in MISSING:
        return math.nan
    if NUMBER.fullmatch(text) and math.isfinite(float(text)):
        return float(text)
    return None


def records(text: str) -> list[list[str]]:
    """Rows as Python's csv module reads them, blank lines left out."""
    return [cells for cells in csv.reader(io.StringIO(text, newline="")) if cells]


def same_bits(a: Array, b: Array) -> bool:
    """Equal to the last bit and the sign of zero; one NaN is like another."""
    return a.shape == b.shape and bool(
        np.all((np.isnan(a) & np.isnan(b)) | ((a == b) & (np.signbit(a) == np.signbit(b))))
    )


def follow(error: DataError) -> dict[str, Any]:
    """The first way out that an error names, as settings of `read`; its flags are those of the option records."""
    known = {
        name: setting
        for record in (TableOptions, SelectOptions)
        for setting in fields(record)
        for flag in setting.metadata["flag"].names
        for name in flag.split("/")
    }
    for way in error.remedy.split(", or "):
        words = shlex.split(way)
        settings: dict[str, Any] = {}
        for word, following in zip(words, [*words[1:], ""], strict=True):
            if word in ("--header", "--no-header"):
                settings["header"] = word == "--header"
            elif word in known:
                setting = known[word]
                settings[setting.name] = (following,) if setting.default == () else following
        if settings:
            return settings
    raise AssertionError(error.remedy)

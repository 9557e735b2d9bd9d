"""One or many inputs as one table: the first names the columns, the others are matched to it by name."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from pcatool.errors import DataError
from pcatool.notices import Notices
from pcatool.options import SelectOptions, TableOptions
from pcatool.readers.base import Column, Feature, Table
from pcatool.readers.select import choose_features, find_columns, match_features
from pcatool.readers.source import MODEL, Input, Opened, open_input, resolve
from pcatool.registry import READERS

__all__ = ["Inputs", "Wanted"]


def is_paths(data: Any) -> bool:
    return isinstance(data, (list, tuple)) and all(isinstance(item, str) for item in data)


def _not_a_table(name: str) -> DataError:
    return DataError(f"{name} is a zip archive (a model? a spreadsheet?), not a table", "give CSV or Parquet")


@dataclass(frozen=True)
class Wanted:
    """What is taken from every input: features, and columns passed through."""

    names: tuple[str, ...]
    booleans: frozenset[str] = frozenset()
    by_position: bool = False
    kept: tuple[str, ...] = ()


class Inputs:
    """All inputs of a run, opened one after the other."""

    def __init__(self, data: Any, options: TableOptions, notices: Notices) -> None:
        self._options = options
        self._notices = notices
        self._waiting: list[Input] = []
        self._first_features: tuple[Feature, ...] | None = None
        self.paths: list[str] = []
        self.model: Opened | None = None
        self._opened: Opened | None = None
        if not is_paths(data):
            from pcatool.readers.memory import in_memory

            self._table: Table | None = in_memory(data)
            return
        self._waiting = resolve(data)
        self.paths = [item.path for item in self._waiting]
        opened = self._opened = self._open(self._waiting.pop(0))
        self.model = opened if opened.format == MODEL and not self._waiting else None
        self._table = None if self.model else self._read(opened)

    @property
    def first(self) -> Table:
        """The first input; a model is none."""
        if self._table is None:
            raise _not_a_table(self.paths[0])
        return self._table

    def _open(self, source: Input) -> Opened:
        return open_input(source, self._options.input_format, self._options.encoding)

    def _read(self, opened: Opened) -> Table:
        if opened.format == MODEL:
            raise _not_a_table(opened.name)
        table: Table = READERS.load(opened.format)(opened, self._options, self._notices)
        return table

    @property
    def columns(self) -> tuple[Column, ...]:
        return self.first.columns

    @property
    def headerless(self) -> bool:
        return self._options.header is False

    def choose(self, options: SelectOptions) -> Wanted:
        """The features of a fit, by the first input."""
        features = choose_features(self.first.profile(), options, self.first.name, self._notices)
        self._first_features = features
        booleans = frozenset(f.name for f in features if f.boolean)
        return Wanted(tuple(f.name for f in features), booleans)

    def keep(self, terms: Sequence[str], everything: bool) -> tuple[str, ...]:
        """Names of the columns passed through."""
        if everything:
            return tuple(c.name for c in self.columns)
        return tuple(self.columns[i].name for i in find_columns(terms, self.columns, self.first.name))

    def kept_types(self, kept: Sequence[str]) -> list[tuple[str, Any]]:
        names = [c.name for c in self.columns]
        return [(name, self.first.kept_type(names.index(name))) for name in kept]

    def tables(self, wanted: Wanted) -> Iterator[tuple[Table, tuple[Feature, ...], list[int]]]:
        """Each input with the features and kept columns found in it."""
        table: Table | None = self.first
        while table is not None:
            yield table, self._match(table, wanted), self._kept(table, wanted.kept)
            if self._opened is not None:
                self._opened.file.close()
                self._opened = None
            table = self._next()

    def _next(self) -> Table | None:
        if not self._waiting:
            return None
        self._opened = self._open(self._waiting.pop(0))
        return self._read(self._opened)

    def _match(self, table: Table, wanted: Wanted) -> tuple[Feature, ...]:
        if table is self._table and self._first_features is not None:
            return self._first_features
        if wanted.by_position:
            if len(table.columns) != len(wanted.names):
                raise DataError(
                    f"{table.name}: {len(table.columns)} columns without names, the model has {len(wanted.names)}",
                    "give exactly its columns in its order, or a header",
                )
            return tuple(Feature(name, i, boolean=name in wanted.booleans) for i, name in enumerate(wanted.names))
        remedy = ""
        if not self.headerless and all(name[:1] == "c" and name[1:].isdigit() for name in wanted.names):
            remedy = "were the names made by --no-header? then give it here too"
        return match_features(wanted.names, wanted.booleans, table.columns, table.name, remedy)

    @staticmethod
    def _kept(table: Table, kept: Sequence[str]) -> list[int]:
        by_name = {c.name: i for i, c in enumerate(table.columns)}
        found = match_features(kept, frozenset(), [Column(c.name) for c in table.columns], table.name)
        return [by_name[f.name] for f in found]

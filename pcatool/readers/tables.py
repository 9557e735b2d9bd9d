"""One or many inputs as one table: the first names the columns, the others are matched to it by name."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from pcatool.errors import DataError, show
from pcatool.notices import Notices
from pcatool.options import SelectOptions, TableOptions
from pcatool.readers.base import Column, Feature, Table
from pcatool.readers.classes import Classes
from pcatool.readers.match import match_columns, match_features
from pcatool.readers.paths import Input, resolve
from pcatool.readers.select import choose_features, find_labels, find_triples, find_weights
from pcatool.readers.source import MODEL, Opened
from pcatool.readers.terms import find_columns
from pcatool.registry import READERS

__all__ = ["Inputs", "Wanted"]


class Wanted(NamedTuple):
    """What is taken from every input: features, and columns passed through."""

    names: tuple[str, ...]
    booleans: frozenset[str] = frozenset()
    by_position: bool = False
    kept: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()  # those of the names, after the features, that supervise
    weighted: bool = False  # the last of the names is a weight
    classes: Classes | None = None  # makes one column of the labels, and of those among the kept columns

    @property
    def features(self) -> tuple[str, ...]:
        return self.names[: len(self.names) - len(self.labels) - self.weighted]

    @property
    def width(self) -> int:
        return len(self.names) if self.classes is None else len(self.features) + 1


class Inputs:
    """All inputs of a run, opened one after the other."""

    def __init__(self, data: Any, options: TableOptions, notices: Notices) -> None:
        self._data = data
        self._options = options
        self._notices = notices
        self._waiting: list[Input] = []
        self._first_features: tuple[Feature, ...] | None = None
        self.told_rounding = False
        self.paths: list[str] = []
        self._inputs: list[Input] = []
        self.model: Opened | None = None
        self._opened: Opened | None = None
        self._current: Table | None = None
        if not _is_paths(data):
            from pcatool.readers.memory import in_memory

            self._table: Table | None = in_memory(data)
            return
        self._waiting = resolve(data)
        self._inputs = list(self._waiting)
        self.paths = [item.path for item in self._waiting]
        opened = self._open()
        self.model = opened if opened.format == MODEL and not self._waiting else None
        self._table = None if self.model else self._read(opened)

    @property
    def first(self) -> Table:
        """The first input; a model is none."""
        if self._table is None:
            raise _not_a_table(self._inputs[0].name)
        return self._table

    def _open(self) -> Opened:
        o = self._options
        self._opened = Opened(self._waiting.pop(0), o.input_format, o.encoding, self._notices)
        return self._opened

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
        """Columns without names of their own are matched by position."""
        return self.first.nameless

    def choose(
        self,
        options: SelectOptions,
        weights: str | None = None,
        labels: Sequence[str] = (),
        label_kernel: str | None = None,
    ) -> Wanted:
        """The features of a fit, by the first input; labels and a column of weights come after and are none of them."""
        columns, where = self.first.profile(), self.first.name
        at = [] if weights is None else [find_weights(weights, columns, where)]
        found = find_labels(labels, label_kernel, columns, where)
        features = choose_features(columns, options, where, self._notices, without={*at, *found.numbers, *found.texts})
        booleans = frozenset(f.name for f in features if f.boolean)
        labelled = tuple(Feature(columns[i].name, i, boolean=columns[i].kind == "boolean") for i in found.numbers)
        booleans |= {f.name for f in labelled if f.boolean}
        self._first_features = (*features, *labelled, *(Feature(columns[i].name, i) for i in at))
        names = tuple(f.name for f in self._first_features)
        taken = Wanted(names, booleans, labels=tuple(f.name for f in labelled), weighted=bool(at))
        if not found.classes:
            return taken
        texts = tuple(columns[i].name for i in found.texts)
        classes = Classes(", ".join([*taken.labels, *texts]), self._options.null_value, len(labelled))
        return taken._replace(kept=texts, classes=classes)

    def choose_triples(self, terms: str) -> Wanted:
        """Users and items, kept as they are, and their values."""
        columns = self.first.profile()
        user, item, value = find_triples(terms, columns, self.first.name)
        feature = Feature(columns[value].name, value, boolean=columns[value].kind == "boolean")
        self._first_features = (feature,)
        booleans = frozenset({feature.name} if feature.boolean else ())
        return Wanted((feature.name,), booleans, kept=(columns[user].name, columns[item].name))

    @property
    def nulls(self) -> tuple[str, ...]:
        """Further spellings of a missing cell."""
        return self._options.null_value

    def tell_rounding(self, place: str, column: str, written: int) -> None:
        """Of the first whole number that no double holds."""
        if not self.told_rounding:
            self.told_rounding = True
            self._notices.note(
                f"{place}, column {show(column)}: {written} is taken as {int(float(written))}: whole numbers beyond "
                "2^53 are rounded; if they are ids, leave the column out with -x"
            )

    def expected_rows(self) -> int | None:
        """About how many rows all inputs have: as many to the byte as the first, where they are files of its kind."""
        first = self.first.expected_rows()
        if not self._waiting or first is None or self._opened is None:
            return first
        sizes = [item.size for item in self._waiting]
        own = self._opened.input.size
        kinds = {item.format for item in self._inputs}
        if not own or None in sizes or len(kinds) > 1:
            return None
        return int(first * (1 + sum(size or 0 for size in sizes) / own))

    def again(self) -> Inputs:
        """The same inputs, to be read from their beginning; what there is to say of them was said the first time."""
        return Inputs(self._data, self._options, Notices())

    def can_reread(self) -> bool:
        """Can everything be read once more: files, and what is in memory?"""
        return all(item.size is not None for item in self._inputs)

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
        table = self.first
        try:
            while True:
                self._current = table
                yield table, self._match(table, wanted), match_columns(wanted.kept, table.columns, table.name)
                self.close()
                if not self._waiting:
                    return
                table = self._read(self._open())
        finally:
            self.close()

    def ready(self) -> bool:
        """Can more rows be handed out at once? An input that is no file may keep us waiting when it is opened."""
        if self._current is None:
            return True
        if self._current.ended() and self._waiting:
            return self._waiting[0].size is not None
        return self._current.ready()

    def close(self) -> None:
        if self._opened is not None:
            self._opened.close()
            self._opened = None

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
        features = match_features(wanted.names, wanted.booleans, table.columns, table.name, remedy)
        if table is not self._table:
            self._check_widths(table, features)
        return features

    def _check_widths(self, table: Table, features: Sequence[Feature]) -> None:
        """A longer vector than in the first input would be cut off without a word."""
        widths = {c.name: c.width for c in self.columns if c.kind == "vector"}
        for i in dict.fromkeys(f.column for f in features if f.element is not None):
            column = table.columns[i]
            first = widths.get(column.name, column.width)
            if column.width and first and column.width != first:
                raise DataError(
                    f"{table.name}, column {show(column.name)}: vectors of {column.width} numbers, "
                    f"in {self.first.name} of {first}",
                    "vectors of one column must have the same length",
                )

    @staticmethod
    def as_first(kept: Sequence[Any], types: Sequence[tuple[str, Any]], name: str) -> list[Any]:
        """Columns passed through, in the types of the first input."""
        return [_cast(array, kind, column, name) for array, (column, kind) in zip(kept, types, strict=True)]


def _cast(array: Any, kind: Any, column: str, name: str) -> Any:
    if array.type == kind:
        return array
    try:
        return array.cast(kind)
    except (ValueError, NotImplementedError):  # bases of what Arrow raises
        raise DataError(
            f"{name}: column {show(column)} holds {array.type}, in the first input {kind}",
            "give the inputs one by one",
        ) from None


def _is_paths(data: Any) -> bool:
    return isinstance(data, list) and all(isinstance(item, str) for item in data)


def _not_a_table(name: str) -> DataError:
    return DataError(f"{name} is a zip archive (a model? a spreadsheet?), not a table", "give CSV or Parquet")

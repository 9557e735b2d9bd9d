"""One or many inputs as one table: the first names the columns, the others are matched to it by name."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from typing import Any, NamedTuple

from pcatool.blocks import Runner
from pcatool.errors import DataError, PcatoolError, UsageError, show
from pcatool.notices import Notices
from pcatool.options import SelectOptions, TableOptions
from pcatool.readers.base import Column, Feature, Part, Table
from pcatool.readers.classes import Classes
from pcatool.readers.found import Found
from pcatool.readers.further import Further
from pcatool.readers.match import match_columns, match_features
from pcatool.readers.select import LabelColumns, choose_features, find_labels, find_triples, find_weights
from pcatool.readers.skipping import Skip, is_bad_file, none_left, reasons
from pcatool.readers.source import MODEL, Opened
from pcatool.readers.terms import find_columns
from pcatool.readers.wanted import Wanted
from pcatool.registry import READERS

__all__ = ["Inputs", "Piece"]


# Inputs looked at beforehand for what the first leaves open.
LOOK_AHEAD = 100

# The Arrow type of a column of which nothing is known.
NOTHING = "null"


class Piece(NamedTuple):
    """Some rows of an input; with neither rows nor an error its end, which is told where it matters."""

    at: int  # the number of the input
    table: Table | None = None
    part: Part | None = None
    error: PcatoolError | None = None


class Inputs:
    """All inputs of a run, opened one after the other.

    `by_file`: an input counts only when the whole of it is good.
    """

    def __init__(self, data: Any, options: TableOptions, notices: Notices, *, by_file: bool = False) -> None:
        self._data = data
        self._options = options
        self._notices = notices
        self._first_features: tuple[Feature, ...] | None = None
        self._profile: tuple[Column, ...] | None = None
        self._further: Further | None = None
        self._opened: Opened | None = None
        self._current: Table | None = None
        self._settled = False
        self.told_rounding = False
        self.skips = options.skip_bad
        self.by_file = by_file or self.skips
        self.bad: dict[int, Skip] = {}  # by the number of the input
        self.model: Opened | None = None
        self.paths: list[str] = []
        self._found = Found((), None)
        self._at = 0  # the number of the input that is open
        if not _is_paths(data):
            from pcatool.readers.memory import in_memory

            if self.skips:
                raise UsageError("--skip-bad is for files, this is a table in memory", "leave it out")
            self._table: Table | None = in_memory(data)
            return
        self._found = data if isinstance(data, Found) else Found.of(data, options)
        self.paths = [item.path for item in self._found.inputs]
        self._table = self._first_table()

    @property
    def first(self) -> Table:
        """The first input; a model is none."""
        if self._table is None:
            raise _not_a_table(self._found.inputs[0].name)
        return self._table

    @property
    def files(self) -> int:
        """How many inputs there are, those left out among them."""
        return len(self._found.inputs)

    @property
    def skipped(self) -> list[Skip]:
        return list(self.bad.values())

    @property
    def _waiting(self) -> bool:
        return self._at + 1 < self.files

    def _first_table(self) -> Table | None:
        """The next input that can be opened; none when the only one is a model."""
        while True:
            try:
                opened = self._open()
                if opened.format == MODEL and self.files == 1:
                    self.model = opened
                    return None
                return self._read(opened)
            except PcatoolError as error:
                self._leave_out(error)

    def _leave_out(self, error: PcatoolError) -> None:
        """Go on with the next input, if that is allowed."""
        if not self.may_skip(self._at, error):
            raise self.named(error)
        self.bad[self._at] = Skip(self.name(self._at), error.message)
        self.close()
        if not self._waiting:
            raise none_left(self.skipped)
        self._at += 1

    def name(self, at: int) -> str:
        return self._found.inputs[at].name

    def flows(self, at: int) -> bool:
        """Is it a pipe, or a device, which cannot be read again?"""
        return self._found.inputs[at].flows

    def may_skip(self, at: int, error: PcatoolError) -> bool:
        return self.skips and is_bad_file(error) and not self.flows(at)

    def named(self, error: PcatoolError) -> PcatoolError:
        """An error of an input, with the way out that there is where there are several."""
        if is_bad_file(error) and not error.of_input:
            error.of_input = True
            if self.files > 1 and not self.skips:
                error.add_remedy("--skip-bad leaves such files out")
        return error

    def settle(self, trial: Callable[[Inputs], None]) -> None:
        """Where bad files are left out, see that the first is none before it names the columns for all others.

        The trial does with it alone what will be done with all.
        """
        while self.skips and not self._settled and not self.flows(self._at):
            try:
                trial(self.alone(self._at))
                self._settled = True
            except PcatoolError as error:
                self._leave_out(error)
                self._table = self._first_table()

    def alone(self, at: int) -> Inputs:
        """One of the inputs, to be read from its beginning; all that is wrong with it is an error."""
        data, options = self._found.some([self._found.inputs[at]]), replace(self._options, skip_bad=False)
        return Inputs(data, options, Notices(), by_file=True)

    def _open(self) -> Opened:
        o = self._options
        self._notices.at_file(self._at + 1, self.files)
        self._opened = Opened(self._found.inputs[self._at], o.input_format, o.encoding, self._notices)
        self._opened.one_of_many = self.files > 1
        return self._opened

    def _read(self, opened: Opened) -> Table:
        if opened.format == MODEL:
            raise _not_a_table(opened.name)
        table: Table = READERS.load(opened.format)(opened, self._options, self._notices)
        partitions = self._found.partitions
        return table if partitions is None else partitions.of(table, opened.input.path)

    @property
    def columns(self) -> tuple[Column, ...]:
        return self.first.columns

    @property
    def own_columns(self) -> tuple[Column, ...]:
        """Those that stand in the first input itself, not in its path."""
        return _own(self.first)

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
        columns, where = self._first_profile(), self.first.name
        if self._waiting and not options.columns:
            self._further = Further(self.first, options.exclude)
        at = [] if weights is None else [find_weights(weights, columns, where)]
        found = find_labels(labels, label_kernel, columns, where)
        features = choose_features(columns, options, where, self._notices, without={*at, *found.numbers, *found.texts})
        return self._taken(features, at, found)

    def choose_same(
        self,
        names: Sequence[str],
        booleans: frozenset[str],
        weights: str | None = None,
        labels: Sequence[str] = (),
        label_kernel: str | None = None,
    ) -> Wanted:
        """The features of a fit of which the names are known, with its labels and weights."""
        columns, where = self._first_profile(), self.first.name
        named = weights is not None or labels
        if self.headerless and not named and not {c.name for c in columns}.issuperset(names):
            return Wanted(tuple(names), booleans, by_position=True)
        features = match_features(names, booleans, columns, where)
        at = [] if weights is None else [find_weights(weights, columns, where)]
        return self._taken(features, at, find_labels(labels, label_kernel, columns, where))

    def _taken(self, features: tuple[Feature, ...], at: Sequence[int], found: LabelColumns) -> Wanted:
        """Features, labels and weights of the first input, by which those of the others are found."""
        columns = self._first_profile()
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

    def _first_profile(self) -> tuple[Column, ...]:
        """The columns of the first input; what one without rows leaves open is told by the next that has some."""
        if self._profile is None:
            self._profile = self.first.profile()
            if self.first.ended() and any(_is_open(column) for column in self._profile):
                self._profile = self._told_by_others(self._profile)
        return self._profile

    def _told_by_others(self, columns: tuple[Column, ...]) -> tuple[Column, ...]:
        for other in self._others():
            there = {column.name: column for column in other.profile()}
            if not other.ended():
                return tuple(there.get(c.name, c) if _is_open(c) else c for c in columns)
        return columns

    def _others(self) -> Iterator[Table]:
        """The inputs after the first, for a look ahead: files that can be opened. An error is met in its turn."""
        for at in range(self._at + 1, min(self._at + 1 + LOOK_AHEAD, self.files)):
            if self.flows(at):
                return
            with suppress(PcatoolError), closing(self.alone(at)) as other:
                yield other.first

    def choose_triples(self, terms: str) -> Wanted:
        """Users and items, kept as they are, and their values."""
        columns = self._first_profile()
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
        sizes = [item.size for item in self._found.inputs[self._at + 1 :]]
        own = self._opened.input.size
        kinds = {item.format for item in self._found.inputs}
        if not own or None in sizes or len(kinds) > 1:
            return None
        return int(first * (1 + sum(size or 0 for size in sizes) / own))

    def again(self) -> Inputs:
        """The same inputs, to be read from their beginning; what there is to say of them was said the first time."""
        return Inputs(self.good, replace(self._options, skip_bad=False), self._notices.silent(), by_file=self.by_file)

    @property
    def good(self) -> Any:
        """The data without the inputs that were left out."""
        if not self.bad:
            return self._found if self.files else self._data
        return self._found.some(item for at, item in enumerate(self._found.inputs) if at not in self.bad)

    def can_reread(self) -> bool:
        """Can everything be read once more: files, and what is in memory?"""
        return all(item.size is not None for at, item in enumerate(self._found.inputs) if at not in self.bad)

    def keep(self, terms: Sequence[str], everything: bool) -> tuple[str, ...]:
        """Names of the columns passed through."""
        if everything:
            return tuple(c.name for c in self.columns)
        return tuple(self.columns[i].name for i in find_columns(terms, self.columns, self.first.name))

    def kept_types(self, kept: Sequence[str]) -> list[tuple[str, Any]]:
        return [(name, self._kept_type(name)) for name in kept]

    def _kept_type(self, name: str) -> Any:
        """That of the first input; of a column in which nothing is, as in a part without rows, that of the next."""
        kind = _kept_type(self.first, name)
        if str(kind) != NOTHING:
            return kind
        others = (_kept_type(other, name) for other in self._others())
        return next((other for other in others if other is not None and str(other) != NOTHING), kind)

    def pieces(self, wanted: Wanted, *, eager: bool, run: Runner) -> Iterator[Piece]:
        """All rows in order. Where bad files are left out, an input ends with its error, or with its end."""
        try:
            while True:
                at = self._at
                try:
                    yield from self._pieces_of(at, wanted, eager, run)
                except PcatoolError as error:
                    if not self.may_skip(at, error):
                        raise self.named(error) from None
                    yield Piece(at, error=error)
                self.close()
                if not self._waiting:
                    return
                self._at += 1
        finally:
            self.close()

    def _pieces_of(self, at: int, wanted: Wanted, eager: bool, run: Runner) -> Iterator[Piece]:
        """One input, with the features and kept columns found in it."""
        table = self.first if self._current is None else self._read(self._open())
        self._current = table
        features, kept = self._match(table, wanted), match_columns(wanted.kept, table.columns, table.name)
        if self._further is not None and table is not self._table:
            self._further.look(at, table, self._found.inputs[at])
        for part in table.parts(features, kept, eager=eager, run=run):
            yield Piece(at, table, part)
            if at in self.bad:
                return
        if self._opened is not None and not self._opened.lent:
            self._opened.check_unchanged()
        if self.skips:
            yield Piece(at)

    def finish(self) -> None:
        """Say what is to be said when all was read."""
        self._notices.all_read(self.files - len(self.bad), self.skipped)
        if self.files and len(self.bad) == self.files:
            raise none_left(self.skipped)
        if self._further is not None and (text := self._further.warning(self.bad)):
            self._notices.warn(text)
        if self.bad:
            self._notices.warn(f"left out {len(self.bad)} of {self.files} files:", reasons(self.skipped))

    def at_rows(self, count: int) -> None:
        """So many more were read."""
        self._notices.at_rows(count)

    def ready(self) -> bool:
        """Can more rows be handed out at once? An input that is no file may keep us waiting when it is opened."""
        if self._current is None:
            return True
        if self._current.ended() and self._waiting:
            return not self.flows(self._at + 1)
        return self._current.ready()

    def close(self) -> None:
        if self._opened is not None:
            if not self._opened.lent:
                self._opened.close()
            self._opened = None

    def _match(self, table: Table, wanted: Wanted) -> tuple[Feature, ...]:
        if table is self._table and self._first_features is not None:
            return self._first_features
        if wanted.by_position:
            own = _own(table)
            if len(own) != len(wanted.names):
                raise DataError(
                    f"{table.name}: {len(own)} columns without names, the model has {len(wanted.names)}",
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
        widths = {c.name: c.width for c in self._profile or self.columns if c.kind == "vector"}
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


def _kept_type(table: Table, name: str) -> Any:
    return next((table.kept_type(i) for i, column in enumerate(table.columns) if column.name == name), None)


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
    return isinstance(data, Found) or (isinstance(data, list) and all(isinstance(item, str) for item in data))


def _own(table: Table) -> tuple[Column, ...]:
    return tuple(column for column in table.columns if not column.partition)


def _is_open(column: Column) -> bool:
    """Do only rows tell what it holds?"""
    return column.kind == "empty" or (column.kind == "vector" and column.width == 0)


def _not_a_table(name: str) -> DataError:
    return DataError(f"{name} is a zip archive (a model? a spreadsheet?), not a table", "give CSV or Parquet")

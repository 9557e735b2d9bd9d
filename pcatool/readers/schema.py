"""The schema of a run: features, labels, weights and passthrough, settled by the first table, matched by name later."""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import replace
from typing import Any, NamedTuple

from pcatool.errors import DataError, UsageError
from pcatool.options import FitOptions, SelectOptions
from pcatool.progress import Reporter
from pcatool.readers.base import Column, Feature, Table
from pcatool.readers.labels import NO_LABELS, Classes, LabelColumns, find_labels
from pcatool.readers.match_features import check_vectors, match_features
from pcatool.readers.select_columns import choose_features, find_columns, find_triples, find_weights
from pcatool.wording import counted, listed, show

__all__ = ["ColumnChoice", "FirstInput", "NewColumns", "Schema", "SchemaFacts"]


class ColumnChoice(NamedTuple):
    """The columns taken from every input, by name; made by the methods of `Schema` that begin with `choose`."""

    names: tuple[str, ...]  # columns of X: features, then labels that are numbers, then the weight
    booleans: frozenset[str] = frozenset()  # names read as booleans
    by_position: bool = False  # columns are matched by position, since they have no names
    passthrough: tuple[str, ...] = ()  # passthrough columns, or labels that are not numbers
    labels: tuple[str, ...] = ()  # labels that are numbers
    weighted: bool = False  # the last name is the weight
    classes: Classes | None = None  # numbers the classes, where labels are classes
    widths: Mapping[str, int] | None = None  # lengths of vector columns, where the names are those of a model

    @property
    def features(self) -> tuple[str, ...]:
        """Names of the features."""
        return self.names[: len(self.names) - len(self.labels) - self.weighted]

    def named(self, options: FitOptions) -> FitOptions:
        """Return the options with `weights` set to the name of the weight column; unchanged without a weight column.

        With the name, rather than a number or pattern as the user may have given, the column is found in other tables.
        """
        return replace(options, weights=self.names[-1]) if self.weighted else options

    def takes_as(self, other: ColumnChoice) -> bool:
        """Whether both choices give the same columns of X in every table."""
        return (
            self.names == other.names
            and self.booleans == other.booleans
            and self.by_position == other.by_position
            and self.widths == other.widths
        )

    @property
    def width(self) -> int:
        """Number of columns of X, after labels were replaced by a class."""
        return len(self.names) if self.classes is None else len(self.features) + 1


# Name of the Arrow type of a column without any value.
NULL_TYPE = "null"


class FirstInput:
    """The first input, whose columns settle the schema.

    Kinds and types that the first input leaves open, for example because it has no rows, come from later inputs.
    `others` yields the tables of later inputs.
    """

    def __init__(self, table: Table, others: Callable[[], Iterator[Table]]) -> None:
        self.table = table
        self._others = others
        self._profile: tuple[Column, ...] | None = None

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns, with their kinds if `profile` was called."""
        return self._profile or self.table.columns

    def profile(self) -> tuple[Column, ...]:
        """Return the columns with their kinds, completed by later inputs."""
        if self._profile is None:
            self._profile = self.table.profile()
            is_open = _is_open if self.table.ended() else _is_empty_vector
            if any(map(is_open, self._profile)):
                self._profile = self._completed_by_others(self._profile, is_open)
        return self._profile

    def _completed_by_others(
        self, columns: tuple[Column, ...], is_open: Callable[[Column], bool]
    ) -> tuple[Column, ...]:
        """Return the columns, with kinds that are open taken from the first later input that has rows.

        `is_open` tells whether the kind of a column is open. The length of vectors comes from the first later input
        with a vector in the column.
        """
        for other in self._others():
            there = {column.name: column for column in other.profile()}
            if not other.ended():
                columns = tuple(there.get(c.name, c)._replace(line=0) if is_open(c) else c for c in columns)
                is_open = _is_empty_vector
                if not any(map(is_open, columns)):
                    break
        return columns

    def passthrough_type(self, name: str) -> Any:
        """Return the Arrow type of a passthrough column; without values, the type in the next input with values."""
        kind = _passthrough_type(self.table, name)
        if str(kind) != NULL_TYPE:
            return kind
        others = (_passthrough_type(other, name) for other in self._others())
        return next((other for other in others if other is not None and str(other) != NULL_TYPE), kind)


def file_columns(table: Table) -> tuple[Column, ...]:
    """Return the columns of the file itself: neither partition columns nor the column of row names."""
    return tuple(column for column in table.columns if not (column.partition or column.row_name))


def _passthrough_type(table: Table, name: str) -> Any:
    """Return the Arrow type of a passthrough column in a table; None if the table has no column of this name."""
    return next((table.passthrough_type(i) for i, column in enumerate(table.columns) if column.name == name), None)


def _is_open(column: Column) -> bool:
    """Whether rows of another input are needed to know the kind of the column or the length of its vectors."""
    return column.kind == "empty" or _is_empty_vector(column)


def _is_empty_vector(column: Column) -> bool:
    """Whether the column has vectors of unknown length, since all its cells in this input are missing."""
    return column.kind == "vector" and column.width == 0


class NewColumns:
    """Columns of later inputs that the run leaves out because the first input lacks them; recorded for a warning.

    Without `keep_all`, these are columns of numbers that are absent or not numbers in the first input, and that no term
    of -x (`excluded`) matches. With `keep_all` (--keep-all), these are all columns that the first input lacks.
    """

    def __init__(self, first: Table, excluded: Sequence[str] = (), *, keep_all: bool = False) -> None:
        self._keep_all = keep_all
        self._first = first.name
        self._known = {column.name for column in first.columns}
        self._excluded = {term.strip() for text in excluded for term in (text, *text.split(","))}
        kinds = () if keep_all else first.profile()
        self._no_numbers = {c.name for c in kinds if c.kind == "text" or (c.kind == "boolean" and not c.boolean_type)}
        self._looked = False
        self._all_known: tuple[Column, ...] | None = None  # columns of an input with nothing new
        self._found: dict[int, tuple[str, list[str]]] = {}  # name and columns, by position of the input

    def __bool__(self) -> bool:
        """Whether a column was recorded."""
        return bool(self._found)

    def of(self, position: int) -> NewColumns:
        """Return a copy without recorded columns, for a worker that reads the input at this position."""
        other = copy(self)
        other._found, other._looked = {}, position > 1
        return other

    def add(self, position: int, other: NewColumns) -> None:
        """Add the columns recorded in `other`, by a worker that read only the input at this position."""
        for found in other._found.values():
            self._found[position] = found

    def look(self, position: int, table: Table, is_stream: Callable[[int], bool]) -> None:
        """Record the number columns that the input at this position has and the first input lacks.

        In the second input, also the number columns that are not numbers in the first. With `keep_all`, columns of all
        kinds are recorded if the first input lacks them. `is_stream` tells whether an input is a pipe: without
        `keep_all`, columns of a pipe are not recorded, because their kinds need its first rows.
        """
        if table.columns is self._all_known:
            return
        if self._keep_all:
            self._look_at_names(position, table)
            return
        names = [
            c.name for c in table.columns if not (c.partition or c.row_name) and c.name.strip() and self._is_new(c.name)
        ]
        # Columns that are not numbers in the first input are checked in the second only; in all it would cost time.
        if not self._looked:
            names += [c.name for c in table.columns if c.name in self._no_numbers]
        self._looked = True
        if not names:
            self._all_known = table.columns
        # The kinds of a pipe's columns need its first rows, which may take long to arrive.
        if names and not is_stream(position) and (numbers := _number_columns(table, names)):
            self._found[position] = (table.name, numbers)

    def _look_at_names(self, position: int, table: Table) -> None:
        """Record the columns, of any kind, whose names the first input lacks."""
        names = [column.name for column in table.columns if self._is_new(column.name)]
        if names:
            self._found[position] = (table.name, names)
        else:
            self._all_known = table.columns

    def _is_new(self, name: str) -> bool:
        """Whether the first input has no column of this name and -x does not exclude it."""
        return name not in self._known and not any(fnmatch.fnmatchcase(name, term) for term in self._excluded)

    def warning(self, without: Collection[int]) -> str | None:
        """Return the text of the warning, None without new columns; inputs at positions `without` do not count."""
        found = [more for position, more in sorted(self._found.items()) if position not in without]
        if not found:
            return None
        name, columns = found[0]
        noun = "column" if len(columns) == 1 else "columns"
        if len(found) > 1:
            others, nouns = f", and columns of {counted(len(found) - 1, 'more file')}", "columns"
        else:
            others, nouns = "", noun
        if self._keep_all:
            return (
                f"--keep-all left out {noun} {listed(columns)} of {name}{others}, because {self._first}, the first "
                f"file, has no such {nouns}; give all files the same columns, or name the columns to keep with --keep"
            )
        return (
            f"left out {noun} {listed(columns)} of {name}{others}, because {self._first} has no such {nouns} of "
            "numbers; give all files the same columns, or give -c with the columns to use"
        )


def _number_columns(table: Table, names: Sequence[str]) -> list[str]:
    """Return those of `names` whose columns in the table hold numbers, marked numbers or vectors."""
    kinds = {column.name: column.kind for column in table.profile()}
    return [name for name in names if kinds[name] in ("number", "vector", "marked number")]


class SchemaFacts(NamedTuple):
    """The facts from the first input that a worker needs to read another input without the first."""

    name: str  # of the first input
    widths: Mapping[str, int]  # lengths of its vector columns, by name
    types: tuple[tuple[str, Any], ...]  # name and Arrow type of each passthrough column
    new_columns: NewColumns | None  # records columns that only later inputs have; None if the run does not warn

    def of(self, position: int) -> SchemaFacts:
        """Return the facts for a worker that reads the input at this position."""
        return self._replace(new_columns=None if self.new_columns is None else self.new_columns.of(position))


class Schema:
    """The schema of a run: which columns are features, labels, weights or passthrough, in every input.

    `several`: more inputs follow the first. `nulls`: further spellings of a missing cell. `facts`: the facts from the
    real first input, where a worker reads only some of the inputs.
    """

    def __init__(
        self,
        first: FirstInput,
        nulls: tuple[str, ...],
        reporter: Reporter,
        *,
        several: bool,
        facts: SchemaFacts | None = None,
    ) -> None:
        self._first = first
        self._facts = facts
        self._nulls = nulls
        self._reporter = reporter
        self._several = several
        self._chosen: tuple[ColumnChoice, tuple[Feature, ...]] | None = None  # last choice, in the first table
        self.left_out: tuple[str, ...] = ()  # columns of the first input that a fit does not use
        self._new_columns = None if facts is None else facts.new_columns
        # Columns of the last table that was matched, the choice, and the features: most tables have the same columns.
        self._matched: tuple[tuple[Column, ...], ColumnChoice, tuple[Feature, ...]] | None = None

    @property
    def file_columns(self) -> tuple[Column, ...]:
        """Columns of the first file itself: neither partition columns nor the column of row names."""
        return file_columns(self._first.table)

    @property
    def nameless(self) -> bool:
        """Whether the columns have no names of their own, and are matched by position."""
        return self._first.table.nameless

    def choose(
        self,
        options: SelectOptions,
        weights: str | None = None,
        labels: Sequence[str] = (),
        label_kernel: str | None = None,
    ) -> ColumnChoice:
        """Choose the columns of a fit from the first input; in `names`, labels and the weight follow the features.

        Raises DataError or UsageError for columns that do not exist or hold no numbers.
        """
        columns, where = self._first.profile(), self._first.table.name
        if self._several and not options.columns and self._new_columns is None:  # --keep-all or `facts` set it
            self._new_columns = NewColumns(self._first.table, options.exclude)
        weight = [] if weights is None else [find_weights(weights, columns, where)]
        found = find_labels(labels, label_kernel, columns, where) if labels else NO_LABELS
        features = choose_features(
            columns, options, where, self._reporter, without={*weight, *found.numbers, *found.texts}
        )
        return self._taken(features, weight, found)

    def choose_same(
        self,
        same: ColumnChoice,
        weights: str | None = None,
        labels: Sequence[str] = (),
        label_kernel: str | None = None,
        label_numbers: Collection[str] | None = None,
    ) -> ColumnChoice:
        """Choose the columns of `same`, the choice of a model, for another fit, with these labels and this weight.

        `label_numbers`: names of the labels that are numbers in the model. Columns without names are matched by
        position, unless labels or a weight are named.
        """
        columns, where = self._first.profile(), self._first.table.name
        named = weights is not None or labels
        if self.nameless and not named and not {c.name for c in columns}.issuperset(same.names):
            return same._replace(by_position=True)
        check_vectors(where, columns, same.names, same.widths or {}, "the model")
        features = match_features(same.names, same.booleans, columns, where)
        weight = [] if weights is None else [find_weights(weights, columns, where)]
        known = label_numbers if label_kernel == "delta" else labels
        labelled = find_labels(labels, label_kernel, columns, where, known)
        return self._taken(features, weight, labelled, same.widths)

    def choose_triples(self, terms: str) -> ColumnChoice:
        """Choose the columns of triples: users and items as passthrough columns, values as the only feature."""
        columns = self._first.profile()
        user, item, value = find_triples(terms, columns, self._first.table.name)
        feature = Feature(columns[value].name, value, boolean=columns[value].kind == "boolean")
        booleans = frozenset({feature.name} if feature.boolean else ())
        taken = ColumnChoice((feature.name,), booleans, passthrough=(columns[user].name, columns[item].name))
        self._chosen = taken, (feature,)
        return taken

    def _taken(
        self,
        features: tuple[Feature, ...],
        weight: Sequence[int],
        labels: LabelColumns,
        widths: Mapping[str, int] | None = None,
    ) -> ColumnChoice:
        """Return the choice of these features, weight and labels; sets `left_out` and the features of the first table.

        `weight` is the number of the weight column; empty without weights.
        """
        columns = self._first.profile()
        booleans = frozenset(f.name for f in features if f.boolean)
        labelled = tuple(Feature(columns[i].name, i, boolean=columns[i].kind == "boolean") for i in labels.numbers)
        booleans |= {f.name for f in labelled if f.boolean}
        features = (*features, *labelled, *(Feature(columns[i].name, i) for i in weight))
        used = {*labels.texts, *(f.column for f in features)}
        self.left_out = tuple(column.name for i, column in enumerate(columns) if i not in used)
        names, numbers = tuple(f.name for f in features), tuple(f.name for f in labelled)
        taken = ColumnChoice(names, booleans, labels=numbers, weighted=bool(weight), widths=widths)
        self._chosen = taken, features
        if not labels.classes:
            return taken
        texts = tuple(columns[i].name for i in labels.texts)
        classes = Classes([columns[i].name for i in labels.order], taken.labels, self._nulls)
        return taken._replace(passthrough=texts, classes=classes)

    def keep(self, terms: Sequence[str], everything: bool) -> tuple[str, ...]:
        """Return the names of the passthrough columns that the terms name; with `everything`, of all columns."""
        columns = self._first.table.columns
        if everything:
            if self._several:
                self._new_columns = NewColumns(self._first.table, keep_all=True)
            return tuple(c.name for c in columns)
        return tuple(columns[i].name for i in find_columns(terms, columns, self._first.table.name))

    def single(self, term: str, flag: str) -> Column:
        """Return the only column that a term names, with its kind; raises UsageError if it names several columns."""
        columns, where = self._first.profile(), self._first.table.name
        found = find_columns((term,), columns, where)
        if len(found) != 1:
            raise UsageError(f"{where}: {flag} {show(term)} names {len(found)} columns", "name one column")
        return columns[found[0]]

    def facts_for_workers(self, passthrough: Sequence[str]) -> SchemaFacts:
        """Return the facts that workers need to read other inputs; `passthrough` are the passthrough columns."""
        return SchemaFacts(
            self._first.table.name, self._widths, tuple(self.passthrough_types(passthrough)), self._new_columns
        )

    @property
    def vector_widths(self) -> dict[str, int]:
        """Lengths of the vector columns that features come from, by name."""
        columns = self._first.columns
        features = () if self._chosen is None else self._chosen[1]
        used = dict.fromkeys(f.column for f in features if f.element is not None)
        return {columns[i].name: columns[i].width for i in used}

    @property
    def _widths(self) -> Mapping[str, int]:
        """Lengths of all vector columns of the first input, by name."""
        if self._facts is not None:
            return self._facts.widths
        return {c.name: c.width for c in self._first.columns if c.kind == "vector"}

    def passthrough_types(self, passthrough: Sequence[str]) -> list[tuple[str, Any]]:
        """Return the name and Arrow type of each passthrough column."""
        if self._facts is not None:
            return list(self._facts.types)
        return [(name, self._first.passthrough_type(name)) for name in passthrough]

    def match(self, table: Table, chosen: ColumnChoice) -> tuple[Feature, ...]:
        """Return the columns of X as features of one input; raises DataError for missing or unsuitable columns."""
        if table is self._first.table and self._chosen is not None and self._chosen[0].takes_as(chosen):
            return self._chosen[1]
        if chosen.by_position:
            return _by_position(table, chosen)
        if self._matched is not None:
            columns, choice, features = self._matched
            if columns is table.columns and choice.takes_as(chosen):
                return features
        remedy = ""
        if not self.nameless and all(name[:1] == "c" and name[1:].isdigit() for name in chosen.names):
            remedy = "if the names c1, c2, ... come from --no-header or an array, give --no-header or an array here too"
        check_vectors(table.name, table.columns, chosen.names, chosen.widths or {}, "the model")
        if table is not self._first.table or self._facts is not None:
            first = self._first.table.name if self._facts is None else self._facts.name
            check_vectors(table.name, table.columns, chosen.names, self._widths, first)
        features = match_features(chosen.names, chosen.booleans, table.columns, table.name, remedy)
        self._matched = table.columns, chosen, features
        return features

    def look_for_new_columns(self, position: int, table: Table, is_stream: Callable[[int], bool]) -> None:
        """Record the columns of a later input that the first input lacks, if the run warns of these.

        `is_stream` tells whether the input at a position is a pipe.
        """
        if self._new_columns is not None and (table is not self._first.table or self._facts is not None):
            self._new_columns.look(position, table, is_stream)

    @property
    def new_columns(self) -> NewColumns | None:
        """The columns recorded by `look_for_new_columns`; None without any."""
        return self._new_columns if self._new_columns else None

    def add_new_columns(self, position: int, more: NewColumns | None) -> None:
        """Add the columns `more` that a worker recorded by `look_for_new_columns` for the input at this position."""
        if self._new_columns is not None and more is not None:
            self._new_columns.add(position, more)

    def warn_of_new_columns(self, without: Collection[int]) -> None:
        """Warn of columns recorded by `look_for_new_columns`, except in the inputs at positions `without`."""
        if self._facts is None and self._new_columns is not None and (text := self._new_columns.warning(without)):
            self._reporter.warn(text)


def _by_position(table: Table, chosen: ColumnChoice) -> tuple[Feature, ...]:
    """Return the columns of X matched by position; raises DataError if the number of columns differs."""
    there = file_columns(table)
    if len(there) != len(chosen.names):
        raise DataError(
            f"{table.name} has {counted(len(there), 'column')} without names, but the model has "
            f"{counted(len(chosen.names), 'column')}",
            "give exactly the columns of the model, in the same order, or a table with a header",
        )
    places = (i for i, column in enumerate(table.columns) if column in there)
    return tuple(
        Feature(name, i, boolean=name in chosen.booleans) for name, i in zip(chosen.names, places, strict=True)
    )

"""Columns of a run: features, labels, weights and passthrough, settled by the first table, found by name in others."""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import replace
from typing import Any, NamedTuple

from pcatool.errors import DataError, UsageError, listed, show
from pcatool.options import FitOptions, SelectOptions
from pcatool.progress import Notices
from pcatool.readers.base import Column, Feature, Table
from pcatool.readers.labels import Classes
from pcatool.readers.paths import Input
from pcatool.readers.select_columns import (
    LabelColumns,
    choose_features,
    find_columns,
    find_labels,
    find_triples,
    find_weights,
    match_features,
)

__all__ = ["First", "Further", "Schema", "SchemaFacts", "Wanted"]


class Wanted(NamedTuple):
    """What is taken from every input: features, and columns passed through."""

    names: tuple[str, ...]
    booleans: frozenset[str] = frozenset()
    by_position: bool = False
    kept: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()  # those of the names, after the features, that supervise
    weighted: bool = False  # the last of the names is a weight
    classes: Classes | None = None  # makes one column of the labels, and of those among the kept columns
    widths: Mapping[str, int] | None = None  # of the vectors, where the names are those of a model

    @property
    def features(self) -> tuple[str, ...]:
        return self.names[: len(self.names) - len(self.labels) - self.weighted]

    def named(self, options: FitOptions) -> FitOptions:
        """The options with the column of weights by its name, so that it is found in other tables, too."""
        return replace(options, weights=self.names[-1]) if self.weighted else options

    @property
    def width(self) -> int:
        return len(self.names) if self.classes is None else len(self.features) + 1


# The Arrow type of a column of which nothing is known.
NOTHING = "null"


class First:
    """What the first input leaves open, as a part without rows does, is told by the next that has some.

    `others` opens the inputs after it, one after the other, to be looked at.
    """

    def __init__(self, table: Table, others: Callable[[], Iterator[Table]]) -> None:
        self.table = table
        self._others = others
        self._profile: tuple[Column, ...] | None = None

    @property
    def columns(self) -> tuple[Column, ...]:
        """With their kinds, if these were looked at."""
        return self._profile or self.table.columns

    def profile(self) -> tuple[Column, ...]:
        """The columns with their kinds."""
        if self._profile is None:
            self._profile = self.table.profile()
            is_open = _is_open if self.table.ended() else _is_empty_vector
            if any(map(is_open, self._profile)):
                self._profile = self._told_by_others(self._profile, is_open)
        return self._profile

    def _told_by_others(self, columns: tuple[Column, ...], is_open: Callable[[Column], bool]) -> tuple[Column, ...]:
        """By the first that has rows; how long vectors are, by the first that has one."""
        for other in self._others():
            there = {column.name: column for column in other.profile()}
            if not other.ended():
                columns = tuple(there.get(c.name, c) if is_open(c) else c for c in columns)
                is_open = _is_empty_vector
                if not any(map(is_open, columns)):
                    break
        return columns

    def kept_type(self, name: str) -> Any:
        """The type of a column passed through; of one in which nothing is, that of the next input."""
        kind = _kept_type(self.table, name)
        if str(kind) != NOTHING:
            return kind
        others = (_kept_type(other, name) for other in self._others())
        return next((other for other in others if other is not None and str(other) != NOTHING), kind)


def own(table: Table) -> tuple[Column, ...]:
    """Columns that stand in an input itself, not in its path, and name no rows."""
    return tuple(column for column in table.columns if not (column.partition or column.row_name))


def _kept_type(table: Table, name: str) -> Any:
    return next((table.kept_type(i) for i, column in enumerate(table.columns) if column.name == name), None)


def _is_open(column: Column) -> bool:
    """Do only rows tell what it holds?"""
    return column.kind == "empty" or _is_empty_vector(column)


def _is_empty_vector(column: Column) -> bool:
    """A column of vectors without one in the whole input, whose length another may tell."""
    return column.kind == "vector" and column.width == 0


class Further:
    """What the inputs after the first have more of: numbers, or with `kept` all that is not passed through."""

    def __init__(self, first: Table, excluded: Sequence[str] = (), *, kept: bool = False) -> None:
        self._kept = kept
        self._first = first.name
        self._known = {column.name for column in first.columns}
        self._excluded = {term.strip() for text in excluded for term in (text, *text.split(","))}
        kinds = () if kept else first.profile()
        self._no_numbers = {c.name for c in kinds if c.kind == "text" or (c.kind == "boolean" and not c.typed)}
        self._looked = False
        self._all_known: tuple[Column, ...] | None = None  # the columns of an input, which may be those of others, too
        self._found: dict[int, tuple[str, list[str]]] = {}  # by the number of the input

    def __bool__(self) -> bool:
        """Was anything found?"""
        return bool(self._found)

    def of(self, at: int) -> Further:
        """The same with nothing found yet, for the input of this number."""
        other = copy(self)
        other._found, other._looked = {}, at > 1
        return other

    def add(self, at: int, other: Further) -> None:
        """What was found in an input elsewhere, as the only one there."""
        for found in other._found.values():
            self._found[at] = found

    def look(self, at: int, table: Table, item: Input) -> None:
        if table.columns is self._all_known:
            return
        if self._kept:
            self._look_at_names(at, table)
            return
        names = [
            c.name for c in table.columns if not (c.partition or c.row_name) and c.name.strip() and self._is_new(c.name)
        ]
        if not self._looked:  # what is no number in the first should be none in the second: all would cost time
            names += [c.name for c in table.columns if c.name in self._no_numbers]
        self._looked = True
        if not names:
            self._all_known = table.columns
        # The first rows of a pipe may be a long time in coming.
        if names and not item.flows and (numbers := _numbers(table, names)):
            self._found[at] = (table.name, numbers)

    def _look_at_names(self, at: int, table: Table) -> None:
        names = [column.name for column in table.columns if self._is_new(column.name)]
        if names:
            self._found[at] = (table.name, names)
        else:
            self._all_known = table.columns

    def _is_new(self, name: str) -> bool:
        return name not in self._known and not any(fnmatch.fnmatchcase(name, term) for term in self._excluded)

    def warning(self, without: Collection[int]) -> str | None:
        """What to say when all was read, of the inputs that were not left out."""
        found = [more for at, more in sorted(self._found.items()) if at not in without]
        if not found:
            return None
        name, columns = found[0]
        noun = "a column" if len(columns) == 1 else "columns"
        others = f", and so have {len(found) - 1} more files" if len(found) > 2 else ""
        others = ", and so has one more file" if len(found) == 2 else others
        if self._kept:
            return (
                f"{name} has {noun} that {self._first} does not have, which --keep-all passes over: "
                f"{listed(columns)}{others}; give all files the same columns, or name those to keep with --keep"
            )
        return (
            f"{name} has {noun} of numbers that {self._first} does not have, or not as numbers, left out: "
            f"{listed(columns)}{others}; "
            "name the columns with -c, or give that file first"
        )


def _numbers(table: Table, names: Sequence[str]) -> list[str]:
    kinds = {column.name: column.kind for column in table.profile()}
    return [name for name in names if kinds[name] in ("number", "vector", "dressed")]


class SchemaFacts(NamedTuple):
    """What the first input tells of all others, for whoever reads one of them without it."""

    name: str
    widths: Mapping[str, int]  # of its vectors
    types: tuple[tuple[str, Any], ...]  # of the columns passed through
    further: Further | None

    def of(self, at: int) -> SchemaFacts:
        """For the input of this number."""
        return self._replace(further=None if self.further is None else self.further.of(at))


class Schema:
    """What is taken from the inputs.

    `several`: more inputs follow the first. `nulls`: further spellings of a missing cell. `told`: the first input is
    another one, and that is what it tells.
    """

    def __init__(
        self, first: First, nulls: tuple[str, ...], notices: Notices, *, several: bool, told: SchemaFacts | None = None
    ) -> None:
        self._first = first
        self._told = told
        self._nulls = nulls
        self._notices = notices
        self._several = several
        self._features: tuple[Feature, ...] | None = None
        self.left_out: tuple[str, ...] = ()  # of the first input by a fit: neither features nor labels nor weights
        self._further = None if told is None else told.further
        self._last: tuple[tuple[Column, ...], tuple[Feature, ...]] | None = None

    @property
    def own(self) -> tuple[Column, ...]:
        """Those that stand in the first input itself, not in its path."""
        return own(self._first.table)

    @property
    def nameless(self) -> bool:
        """Columns without names of their own are matched by position."""
        return self._first.table.nameless

    def choose(
        self,
        options: SelectOptions,
        weights: str | None = None,
        labels: Sequence[str] = (),
        label_kernel: str | None = None,
    ) -> Wanted:
        """The features of a fit, by the first input; labels and a column of weights come after and are none of them."""
        columns, where = self._first.profile(), self._first.table.name
        if self._several and not options.columns and self._further is None:  # else all is passed through, and told of
            self._further = Further(self._first.table, options.exclude)
        at = [] if weights is None else [find_weights(weights, columns, where)]
        found = find_labels(labels, label_kernel, columns, where)
        features = choose_features(columns, options, where, self._notices, without={*at, *found.numbers, *found.texts})
        return self._taken(features, at, found)

    def choose_same(
        self,
        same: Wanted,
        weights: str | None = None,
        labels: Sequence[str] = (),
        label_kernel: str | None = None,
        label_numbers: Collection[str] | None = None,
    ) -> Wanted:
        """The features of a fit that are those of a model, with its labels and weights."""
        columns, where = self._first.profile(), self._first.table.name
        named = weights is not None or labels
        if self.nameless and not named and not {c.name for c in columns}.issuperset(same.names):
            return same._replace(by_position=True)
        features = match_features(same.names, same.booleans, columns, where)
        _check_widths(where, columns, features, same.widths or {}, "the model")
        at = [] if weights is None else [find_weights(weights, columns, where)]
        taken = self._taken(features, at, find_labels(labels, label_kernel, columns, where, label_numbers))
        return taken._replace(widths=same.widths)

    def choose_triples(self, terms: str) -> Wanted:
        """Users and items, kept as they are, and their values."""
        columns = self._first.profile()
        user, item, value = find_triples(terms, columns, self._first.table.name)
        feature = Feature(columns[value].name, value, boolean=columns[value].kind == "boolean")
        self._features = (feature,)
        booleans = frozenset({feature.name} if feature.boolean else ())
        return Wanted((feature.name,), booleans, kept=(columns[user].name, columns[item].name))

    def _taken(self, features: tuple[Feature, ...], at: Sequence[int], found: LabelColumns) -> Wanted:
        """Features, labels and weights of the first input, by which those of the others are found."""
        columns = self._first.profile()
        booleans = frozenset(f.name for f in features if f.boolean)
        labelled = tuple(Feature(columns[i].name, i, boolean=columns[i].kind == "boolean") for i in found.numbers)
        booleans |= {f.name for f in labelled if f.boolean}
        self._features = (*features, *labelled, *(Feature(columns[i].name, i) for i in at))
        used = {*found.texts, *(f.column for f in self._features)}
        self.left_out = tuple(column.name for i, column in enumerate(columns) if i not in used)
        names = tuple(f.name for f in self._features)
        taken = Wanted(names, booleans, labels=tuple(f.name for f in labelled), weighted=bool(at))
        if not found.classes:
            return taken
        texts = tuple(columns[i].name for i in found.texts)
        classes = Classes([columns[i].name for i in found.order], taken.labels, self._nulls)
        return taken._replace(kept=texts, classes=classes)

    def keep(self, terms: Sequence[str], everything: bool) -> tuple[str, ...]:
        """Names of the columns passed through."""
        columns = self._first.table.columns
        if everything:
            if self._several:
                self._further = Further(self._first.table, kept=True)
            return tuple(c.name for c in columns)
        return tuple(columns[i].name for i in find_columns(terms, columns, self._first.table.name))

    def single(self, term: str, flag: str) -> Column:
        """The one column that a term names, with its kind."""
        columns, where = self._first.profile(), self._first.table.name
        found = find_columns((term,), columns, where)
        if len(found) != 1:
            raise UsageError(f"{where}: {flag} {show(term)} names {len(found)} columns", "name one")
        return columns[found[0]]

    def tell(self, kept: Sequence[str]) -> SchemaFacts:
        """What those must know who read other inputs without this one."""
        return SchemaFacts(self._first.table.name, self._widths, tuple(self.kept_types(kept)), self._further)

    @property
    def vector_widths(self) -> dict[str, int]:
        """How long the vectors are of which the first input has features, by name."""
        columns = self._first.columns
        used = dict.fromkeys(f.column for f in self._features or () if f.element is not None)
        return {columns[i].name: columns[i].width for i in used}

    @property
    def _widths(self) -> Mapping[str, int]:
        if self._told is not None:
            return self._told.widths
        return {c.name: c.width for c in self._first.columns if c.kind == "vector"}

    def kept_types(self, kept: Sequence[str]) -> list[tuple[str, Any]]:
        if self._told is not None:
            return list(self._told.types)
        return [(name, self._first.kept_type(name)) for name in kept]

    def match(self, table: Table, wanted: Wanted) -> tuple[Feature, ...]:
        """What is wanted as it stands in one of the inputs."""
        if table is self._first.table and self._features is not None:
            return self._features
        if wanted.by_position:
            return _by_position(table, wanted)
        remedy = ""
        if not self.nameless and all(name[:1] == "c" and name[1:].isdigit() for name in wanted.names):
            remedy = "were the names made by --no-header? then give it here too"
        if self._last is not None and self._last[0] is table.columns:  # parts of one table are all alike
            return self._last[1]
        features = match_features(wanted.names, wanted.booleans, table.columns, table.name, remedy)
        _check_widths(table.name, table.columns, features, wanted.widths or {}, "the model")
        if table is not self._first.table or self._told is not None:
            first = self._first.table.name if self._told is None else self._told.name
            _check_widths(table.name, table.columns, features, self._widths, first)
        self._last = (table.columns, features)
        return features

    def look_for_more(self, at: int, table: Table, item: Input) -> None:
        """Has an input after the first columns that this does not have?"""
        if self._further is not None:
            self._further.look(at, table, item)

    @property
    def more(self) -> Further | None:
        """What was found so, if anything was."""
        return self._further if self._further else None

    def found_more(self, at: int, more: Further | None) -> None:
        """What was found so in the input of this number by whoever read it."""
        if self._further is not None and more is not None:
            self._further.add(at, more)

    def warn_of_more(self, without: Collection[int]) -> None:
        """Of such columns, when all was read, save in the inputs that were left out."""
        if self._told is None and self._further is not None and (text := self._further.warning(without)):
            self._notices.warn(text)


def _check_widths(
    where: str, columns: Sequence[Column], features: Sequence[Feature], widths: Mapping[str, int], name: str
) -> None:
    """A longer vector than in the first input, or in the model, would be cut off without a word."""
    for i in dict.fromkeys(f.column for f in features if f.element is not None):
        column = columns[i]
        known = widths.get(column.name, column.width)
        if column.width and known and column.width != known:
            raise DataError(
                f"{where}, column {show(column.name)}: vectors of {column.width} numbers, in {name} of {known}",
                "vectors of one column must have the same length",
            )


def _by_position(table: Table, wanted: Wanted) -> tuple[Feature, ...]:
    there = own(table)
    if len(there) != len(wanted.names):
        raise DataError(
            f"{table.name}: {len(there)} columns without names, the model has {len(wanted.names)}",
            "give exactly its columns in its order, or a header",
        )
    places = (i for i, column in enumerate(table.columns) if column in there)
    return tuple(
        Feature(name, i, boolean=name in wanted.booleans) for name, i in zip(wanted.names, places, strict=True)
    )

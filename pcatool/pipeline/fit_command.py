"""Rebuild the `pcatool fit` command from the settings that a model keeps."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import fields
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np

from pcatool.errors import UsageError
from pcatool.methods.sums import options_of
from pcatool.model.model import SCIKIT_LEARN, Model
from pcatool.options import MAX_UPDATABLE_COLUMNS, FitOptions, parse_components
from pcatool.wording import grouped

__all__ = ["DATA", "TRIPLES", "as_shell_line", "fit_command"]

# Most characters for column names in a command. A longer command is unreadable, and some systems refuse it.
MOST_LETTERS = 4000

# Shortest run of numbered names, such as p0, p1, p2, p3, that is written as a range.
RUN = 4


def column_words(names: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the -c options that name the columns, as words of a command, and remarks about these options.

    If a name is empty, or the words would have more than MOST_LETTERS letters, there are no words, and a remark says
    that the command does not name the columns.
    """
    terms = list(_terms(names))
    together = [",".join(run) for _, run in groupby(terms, key=_group_key)]
    apart = [f" {term}" if term.startswith("-") else term for term in together]  # not to be read as an option
    found = [word for term in apart for word in ("-c", term)]
    if sum(map(len, found)) > MOST_LETTERS or "" in names:
        said = f"the command does not name the {grouped(len(names))} columns; "
        return [], [said + "without -c, the command uses all columns of numbers"]
    known = set(names)
    spans = [term for term in terms if term not in known and "-" in term]
    remarks = [
        f"the range {term} selects both columns that it names, and all columns between them in the table"
        for term in spans[:1]
    ]
    if not all(name.isprintable() for name in names):
        remarks.append("? stands for an unprintable character of a column name")
    return found, remarks


def _shown(name: str) -> str:
    """Return the name, or a glob with ? for each unprintable character, so that users can copy the text."""
    if name.isprintable():
        return name
    return "".join(c if c.isprintable() and c not in "*?[]," else "?" for c in name)


def _group_key(term: str) -> str:
    """Return a key: terms with equal keys share one -c option. A term with a comma has an option of its own."""
    return term if "," in term else ""


def _terms(names: Sequence[str]) -> Iterator[str]:
    """Yield terms of -c for the names: runs of numbered names become ranges, elements of a vector become its name."""
    known, start = set(names), 0
    while start < len(names):
        end = start + 1
        while end < len(names) and names[end] == _next(names[end - 1]):
            end += 1
        term = f"{names[start]}-{names[end - 1]}"
        first, last = (re.fullmatch(r"(.*)\[(\d+)\]", name, re.ASCII) for name in (names[start], names[end - 1]))
        if first and last and end - start > 1 and first[2] == "0" and first[1] not in known:
            yield first[1]  # the vector as one column
        elif end - start >= RUN and term not in known and "," not in term and term.isprintable() and not first:
            yield term
        else:
            yield from map(_shown, names[start:end])
        start = end


def _next(name: str) -> str | None:
    """Return the next name in a numbered run: p7 -> p8, p09 -> p10, v[3] -> v[4]; None for other names."""
    found = re.fullmatch(r"(.*?)(\d{1,15})(\]?)", name, re.ASCII | re.DOTALL)
    return f"{found[1]}{int(found[2]) + 1:0{len(found[2])}d}{found[3]}" if found else None


# Placeholders for files, since a model does not keep their names.
DATA, OLDER = "data.csv", "older.npz"
# Placeholder for the columns of a table of triples.
TRIPLES = "user,item,value"

# Beginnings of the reason in models that were made from sums; earlier versions wrote the second.
FROM_SUMS = ("from stored sums", "from the sums kept of")


class FitCommand(NamedTuple):
    """A `pcatool fit` command, and remarks for the user."""

    command: list[str] | None  # the words; None when no command makes the model
    remarks: list[str]


def fit_command(model: Model, output: str = "model.npz", components: int | str | None = None) -> FitCommand:
    """Return the command that fits this model to its rows, with remarks on names that the user must fill in.

    `output` is the file for the new model; `components` replaces the -k of the model.
    """
    meta = model.meta
    if meta.get("solver") == SCIKIT_LEARN:
        return FitCommand(None, ["the model was fitted by scikit-learn"])
    try:
        given = _settings(model)
    except UsageError as error:  # the file was edited, or written by another program
        return FitCommand(None, [f"the settings of the model are not valid for a fit: {error.message}"])
    if components is not None:
        given["components"] = components
    names, remarks = column_words(model.columns)
    if "absent" in meta:
        names = []
        remarks = [f"replace {TRIPLES} with your column names: the model does not hold these names"]
    if "aligned" in meta:
        given["align_to"] = OLDER
        remarks.append(
            f"replace {OLDER} with the file of the older model: the model does not hold the name of this file"
        )
    if str(meta.get("reason", "")).startswith(FROM_SUMS):
        remarks.append(
            "the model was made by update, merge, subtract or refit, from the sums that models keep: "
            "a fit of all its rows gives the same model, except for rounding"
        )
    options = FitOptions(**given)  # checks the settings as a fit does
    return FitCommand(["pcatool", "fit", DATA, *names, *_words(options, given), "-o", output], remarks)


def _words(options: FitOptions, given: dict[str, Any]) -> Iterator[str]:
    """Yield the settings that differ from the default, as words of a command; `given` are the settings to look at."""
    for field in fields(options):
        value = getattr(options, field.name)
        if field.name not in given or value == field.default or _is_usual(field.name, value):
            continue
        names = field.metadata["flag"].names
        if isinstance(value, bool):
            yes, _, no = names[-1].partition("/")
            yield names[0] if value and not no else yes if value else no
        else:
            for one in value if isinstance(value, tuple) else (value,):
                yield from _word(names[0], _text(one))


def _is_usual(name: str, value: Any) -> bool:
    """Whether the option `name` with this value is the default -k, as a number or as text."""
    return name == "components" and str(value) == str(FitOptions.components)


def _text(value: Any) -> str:
    """Return a value as text to type; a fraction below 1 has no exponent."""
    return np.format_float_positional(value) if isinstance(value, float) and 0 < value < 1 else str(value)


def _word(flag: str, value: str) -> list[str]:
    """Return the words [flag, value], or ["flag=value"] when the value begins with a dash."""
    return [f"{flag}={value}"] if value.startswith("-") else [flag, value]


def _settings(model: Model) -> dict[str, Any]:
    """Return the options of the fit by field name, as far as the model keeps them."""
    meta = model.meta
    more: dict[str, Any] = {"updatable": None}
    if meta.get("reason") == "asked for" and "em" not in meta:
        more["solver"] = meta.get("solver", "auto")
    if "absent" in meta:
        more["triples"] = TRIPLES
        if meta.get("missing") == "em":
            more["missing"] = "error"  # the default: with triples, a fit uses em unasked when cells are missing
    usual = options_of(model, **more)
    given = {field.name: getattr(usual, field.name) for field in fields(usual)}
    given["components"] = parse_components(usual.components)
    given["updatable"] = _updatable(model, usual)
    return given


def _updatable(model: Model, usual: FitOptions) -> bool | None:
    """Return `updatable` for a fit that keeps sums over rows if `model` does, else drops sums: True, False, or None.

    None is the default: if a fit does the right thing by itself, or if a fit with the options `usual`, or by the
    randomized solver, cannot keep sums.
    """
    if usual.why_not_updatable is not None or model.meta.get("solver") == "randomized":
        return None
    kept = model.statistic is not None
    return None if kept == (model.d <= MAX_UPDATABLE_COLUMNS) else kept


def as_shell_line(command: Sequence[str]) -> str:
    """Return a command as one line for a shell."""
    return shlex.join(command)

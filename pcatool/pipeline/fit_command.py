"""Rebuild the command that fits a model from what the model says of itself."""

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
from pcatool.model.from_sklearn import SCIKIT_LEARN
from pcatool.model.model import Model
from pcatool.options import MOST_KEPT, FitOptions, parse_components

__all__ = ["DATA", "TRIPLES", "fit_command", "spelled"]

# Letters that names of columns may take in a command; with more it could not be read, nor given to every system.
MOST_LETTERS = 4000

# So many names in a row, as p0, p1, p2, are written as a range.
RUN = 4


def column_words(names: Sequence[str]) -> tuple[list[str], list[str]]:
    """-c and the columns by name, as words of a command, and what to know of it."""
    terms = list(_terms(names))
    together = [",".join(run) for _, run in groupby(terms, key=_alone)]
    apart = [f" {term}" if term.startswith("-") else term for term in together]  # or it would be an option
    found = [word for term in apart for word in ("-c", term)]
    if sum(map(len, found)) > MOST_LETTERS or "" in names:
        said = (
            f"the {len(names)} columns are not named in it: it takes all that hold numbers, and -c chooses among them"
        )
        return [], [said]
    known = set(names)
    spans = [term for term in terms if term not in known and "-" in term]
    remarks = [
        f"the range {term} takes all columns from the one to the other, as they stand in the table"
        for term in spans[:1]
    ]
    if not all(name.isprintable() for name in names):
        remarks.append("in it ? stands for a character of a name that cannot be shown")
    return found, remarks


def _shown(name: str) -> str:
    """A name, or a glob for one with a line break or the like, which no page shows so that it could be copied."""
    if name.isprintable():
        return name
    return "".join(c if c.isprintable() and c not in "*?[]," else "?" for c in name)


def _alone(term: str) -> str:
    """What a term shares a -c with: one with a comma in it shares its own with nothing."""
    return term if "," in term else ""


def _terms(names: Sequence[str]) -> Iterator[str]:
    """Names, or ranges of them where they are numbered one after the other."""
    known, start = set(names), 0
    while start < len(names):
        end = start + 1
        while end < len(names) and names[end] == _next(names[end - 1]):
            end += 1
        term = f"{names[start]}-{names[end - 1]}"
        first, last = (re.fullmatch(r"(.*)\[(\d+)\]", name, re.ASCII) for name in (names[start], names[end - 1]))
        if first and last and end - start > 1 and first[2] == "0" and first[1] not in known:
            yield first[1]  # a vector, whole
        elif end - start >= RUN and term not in known and "," not in term and term.isprintable() and not first:
            yield term
        else:
            yield from map(_shown, names[start:end])
        start = end


def _next(name: str) -> str | None:
    """p7 -> p8, p09 -> p10, v[3] -> v[4]."""
    found = re.fullmatch(r"(.*?)(\d{1,15})(\]?)", name, re.ASCII | re.DOTALL)
    return f"{found[1]}{int(found[2]) + 1:0{len(found[2])}d}{found[3]}" if found else None


# What stands for files whose names a model does not keep.
DATA, OLDER = "data.csv", "older.npz"
# The same of the columns of a table of triples.
TRIPLES = "user,item,value"


class Made(NamedTuple):
    """A command as words, None where there is none, and what should be known of it."""

    command: list[str] | None
    remarks: list[str]


def fit_command(model: Model, output: str = "model.npz", components: int | str | None = None) -> Made:
    """What fits this model to its rows, or one of so many components; what the model cannot tell is remarked on."""
    meta = model.meta
    if meta.get("solver") == SCIKIT_LEARN:
        return Made(None, ["the model was fitted by scikit-learn, and taken from it"])
    try:
        given = _settings(model)
    except UsageError as error:  # of a file that was edited, or made elsewhere
        return Made(None, [f"its settings are none of a fit: {error.message}"])
    if components is not None:
        given["components"] = components
    names, remarks = column_words(model.columns)
    if "absent" in meta:
        given["triples"], names = TRIPLES, []
        remarks = ["the names of the columns of user, item and value are not in the model: put yours"]
    if "aligned" in meta:
        given["align_to"] = OLDER
        remarks.append("the older model that it was aligned to is not in it: put yours")
    if str(meta.get("reason", "")).startswith("from the sums kept of"):
        remarks.append(
            "the model was made from sums over rows that models keep, by update, merge, subtract or refit: "
            "a fit of all its rows gives the same but for rounding"
        )
    options = FitOptions(**given)  # as a fit would check it
    return Made(["pcatool", "fit", DATA, *names, *_words(options, given), "-o", output], remarks)


def _words(options: FitOptions, given: dict[str, Any]) -> Iterator[str]:
    """The settings that are not the usual ones, as words of a command."""
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
    return name == "components" and str(value) == str(FitOptions.components)


def _text(value: Any) -> str:
    return np.format_float_positional(value) if isinstance(value, float) and 0 < value < 1 else str(value)


def _word(flag: str, value: str) -> list[str]:
    """A value that begins like an option is tied to its own."""
    return [f"{flag}={value}"] if value.startswith("-") else [flag, value]


def _settings(model: Model) -> dict[str, Any]:
    """The options of the fit, as far as a model keeps them."""
    meta = model.meta
    kernel = dict(meta.get("kernel", {}))
    name = kernel.pop("name", None)
    absent = {"absent": meta["absent"], "triples": TRIPLES} if "absent" in meta else {}
    if absent and meta.get("missing") == "em":
        absent["missing"] = "error"  # the usual: with triples, whose cells are missing, em goes without saying
    more = {
        "updatable": None,
        "solver": meta.get("solver", "auto") if meta.get("reason") == "asked for" else "auto",
        "label_gamma": meta.get("label_gamma"),
        "landmarks": meta.get("landmarks"),
        "kernel": name,
        **kernel,
        **absent,
    }
    if "em" in meta:
        more["solver"] = "auto"
    usual = options_of(model, **more)
    given = {field.name: getattr(usual, field.name) for field in fields(usual)}
    given["components"] = parse_components(usual.components)
    given["updatable"] = _kept(model, usual)
    return given


def _kept(model: Model, usual: FitOptions) -> bool | None:
    """Whether sums were asked for, or declined; None where they are as they are unasked."""
    if usual.why_not_updatable is not None or model.meta.get("solver") == "randomized":
        return None
    kept = model.statistic is not None
    return None if kept == (model.d <= MOST_KEPT) else kept


def spelled(command: Sequence[str]) -> str:
    """A command as it is typed into a shell."""
    return shlex.join(command)

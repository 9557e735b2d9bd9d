"""Frozen option records: what a run was asked to do, each field with its flags and help beside it.

The command line builds its parser from these fields; the Python API takes them as keywords. A record checks what can be
checked without data when it is made, so nothing past this point meets a value it cannot use.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from pcatool.errors import UsageError, show
from pcatool.memory import parse_size
from pcatool.registry import METHODS, READERS, RULES, SOLVERS, WRITERS, Registry

__all__ = [
    "ApplyOptions",
    "FitOptions",
    "Flag",
    "GeneralOptions",
    "OutputOptions",
    "ReportOptions",
    "SelectOptions",
    "TableOptions",
    "parse_components",
    "parse_truncation",
]

# Spellings of "missing", in any letter case; those of csvkit, which users of CSV pipelines know.
NULLS = ("", "NA", "N/A", "NaN", "null", "none", ".")


@dataclass(frozen=True)
class Flag:
    """How a field is spelled and explained on the command line."""

    names: tuple[str, ...]
    help: str
    group: str
    metavar: str | None = None
    choices: Callable[[], tuple[str, ...]] | None = None
    shown_default: str | None = None


def option(default: Any, *names: str, group: str, help: str, **more: Any) -> Any:
    return field(default=default, metadata={"flag": Flag(names, help, group, **more)})


def names_of(registry: Registry, *first: str) -> Callable[[], tuple[str, ...]]:
    return lambda: (*first, *registry)


def require(choice: str, allowed: Callable[[], tuple[str, ...]], flag: str) -> None:
    if choice not in allowed():
        raise UsageError(f"{flag} {show(choice)} is none of {', '.join(allowed())}")


def parse_components(text: str | int | float) -> int | float | str:
    """`-k` of a fit: a whole number from 1, a share strictly between 0 and 1, or a rule, as `mle` or `ratio:0.1`.

    Whole numbers are plain digits: `1e3`, `+5` or `2.0` is more often a slip than a wish.
    """
    if isinstance(text, float) and 0 < text < 1:
        return float(text)
    word = str(text)
    if re.fullmatch(r"[0-9]{1,1000}", word, re.ASCII) and int(word) >= 1:  # int() refuses thousands of digits
        return int(word)
    if re.fullmatch(r"0?\.[0-9]+", word, re.ASCII) and 0 < float(word) < 1:
        return float(word)
    name, colon, number = word.partition(":")
    if re.fullmatch(r"[A-Za-z][A-Za-z0-9_-]*", name) and name.lower() not in ("nan", "inf", "infinity"):
        if RULES[name].default is not None and colon:
            _check_threshold(name, number)
        elif colon:
            raise UsageError(f"-k {show(word)}: {name} takes no number", f"give -k {name}")
        return word
    raise UsageError(
        f"-k {show(word)} is not a number of components",
        "give a whole number from 1, a share of the variance between 0 and 1 such as 0.99, "
        f"or a rule: {', '.join(RULES)}",
    )


SHARES = ("ratio",)  # rules whose number is a share of the variance


def _check_threshold(rule: str, text: str) -> None:
    value = float(text) if re.fullmatch(r"[0-9]*\.?[0-9]+([eE][-+]?[0-9]+)?", text, re.ASCII) else float("nan")
    if not 0 < value < (1 if rule in SHARES else float("inf")):
        bounds = "between 0 and 1" if rule in SHARES else "above 0"
        remedy = f"give a number {bounds}, such as {rule}:{RULES[rule].default:g}"
        raise UsageError(f"-k {show(f'{rule}:{text}')}: {show(text)} is not a threshold of {rule}", remedy)


def parse_truncation(text: str | int | None) -> int | None:
    """`-k` where a model is used: a whole number from 1, or nothing."""
    if text is None:
        return None
    word = str(text)
    if not re.fullmatch(r"[0-9]+", word, re.ASCII) or int(word) < 1:
        raise UsageError(f"-k {show(word)} is not a number of components", "give a whole number from 1")
    return int(word)


def parse_share(text: str | float, flag: str) -> float:
    try:
        share = float(text)
    except ValueError:
        share = float("nan")
    if not 0 < share < 1:
        raise UsageError(f"{flag} {show(text)} is not a share", "give a number between 0 and 1, such as 0.95")
    return share


DELIMITERS = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "pipe": "|", "space": " "}
BLANKS = "blanks"  # runs of blanks separate the fields, as in tables made to be read


@dataclass(frozen=True)
class TableOptions:
    """How tables are read."""

    input_format: str | None = option(
        None,
        "--input-format",
        group="input",
        help="Insist on a format instead of looking at the content.",
        choices=names_of(READERS),
    )
    delimiter: str | None = option(
        None,
        "-d",
        "--delimiter",
        group="input",
        metavar="CHAR",
        help="Field separator: one character, or tab, comma, semicolon, pipe, space, blanks (runs of blanks).",
        shown_default="tab for .tsv, else comma",
    )
    header: bool | None = option(
        None,
        "--header/--no-header",
        group="input",
        help="The first line holds names (insist), or data: then the columns are c1, c2, ...",
        shown_default="names, refused when it looks like data",
    )
    null_value: tuple[str, ...] = option(
        (),
        "--null-value",
        group="input",
        metavar="TEXT",
        help="A further spelling of a missing cell; repeatable. Always missing, in any letter case: "
        "an empty cell, NA, N/A, NaN, null, none and a lone dot.",
    )
    encoding: str = option("utf-8", "--encoding", group="input", metavar="NAME", help="Character encoding of text.")
    comment: str | None = option(
        None, "--comment", group="input", metavar="CHAR", help="Ignore what follows this character on a line."
    )
    decimal: str = option(".", "--decimal", group="input", metavar="CHAR", help="Decimal mark.")
    thousands: str | None = option(
        None, "--thousands", group="input", metavar="CHAR", help="Thousands mark inside numbers."
    )
    strip: str = option(
        "",
        "--strip",
        group="input",
        metavar="CHARS",
        help="Characters to take off numbers, such as '$' or '%'; the number itself is not rescaled.",
    )
    skip_lines: int = option(0, "--skip-lines", group="input", metavar="N", help="Lines to pass over at the start.")

    def __post_init__(self) -> None:
        if self.input_format is not None:
            require(self.input_format, names_of(READERS), "--input-format")
        if self.delimiter is not None:
            object.__setattr__(self, "delimiter", DELIMITERS.get(self.delimiter, self.delimiter))
            self._one_character("-d", self.delimiter, also=(BLANKS,))
        self._one_character("--comment", self.comment)
        self._one_character("--decimal", self.decimal)
        self._one_character("--thousands", self.thousands)
        if self.decimal == self.thousands:
            raise UsageError(f"--decimal and --thousands are both {show(self.decimal)}", "give two different marks")
        if self.decimal not in ".,":
            raise UsageError(f"--decimal {show(self.decimal)} is not a decimal mark", "give '.' or ','")
        if set(self.strip) & set("0123456789+-eE" + self.decimal):
            raise UsageError(
                f"--strip {show(self.strip)} would take numbers apart", "leave out digits, signs and marks"
            )
        if self.skip_lines < 0:
            raise UsageError(f"--skip-lines {self.skip_lines} is below 0", "give a whole number from 0")
        if self.comment is not None and self.comment == self.delimiter:
            raise UsageError(f"--comment and --delimiter are both {show(self.comment)}", "give two different marks")
        try:
            codecs.lookup(self.encoding)
        except LookupError:
            raise UsageError(f"no encoding called {show(self.encoding)}", "try latin-1, cp1252 or utf-16") from None

    @staticmethod
    def _one_character(flag: str, value: str | None, also: tuple[str, ...] = ()) -> None:
        if value is None or value in also:
            return
        if len(value) != 1 or value in '"\r\n' or ord(value) > 127:
            remedy = "use one ASCII character" + (", or tab, comma, semicolon, pipe, space, blanks" if also else "")
            raise UsageError(f"{flag} {show(value)} is not one usable character", remedy)


@dataclass(frozen=True)
class SelectOptions:
    """Which columns are features."""

    columns: tuple[str, ...] = option(
        (),
        "-c",
        "--columns",
        group="input",
        metavar="COLS",
        help="Use these columns only: names, 1-based numbers, ranges (a-c, 3-), globs, comma-separated; repeatable.",
        shown_default="all that hold numbers",
    )
    exclude: tuple[str, ...] = option(
        (), "-x", "--exclude", group="input", metavar="COLS", help="Leave these columns out; same terms; repeatable."
    )


@dataclass(frozen=True)
class FitOptions:
    """What is fitted, and how."""

    components: int | float | str = option(
        "0.99",
        "-k",
        "--components",
        group="model",
        metavar="K",
        help="How many components: a number, a share of the variance (the smallest k that keeps it), all, or a rule: "
        + ", ".join(name for name in RULES if name != "all")
        + ".",
    )
    standardize: bool = option(
        False, "-s", "--standardize", group="model", help="Divide each column by its standard deviation."
    )
    center: bool = option(True, "--center/--no-center", group="model", help="Subtract the column means, or do not.")
    ddof: int = option(
        0, "--ddof", group="model", metavar="0|1", help="Divide by n (0) or by n - 1 (1, as scikit-learn and R do)."
    )
    method: str = option("pca", "--method", group="model", help="What to fit.", choices=names_of(METHODS))
    solver: str = option(
        "auto",
        "--solver",
        group="model",
        help="How the eigenvalues are computed; -v says which was taken and why.",
        choices=names_of(SOLVERS, "auto"),
    )
    missing: str = option(
        "error",
        "--missing",
        group="model",
        help="A row with a missing cell: an error, or dropped.",
        choices=lambda: ("error", "drop"),
    )
    weights: str | None = option(
        None, "--weights", group="model", metavar="COL", help="Column with a weight for each row; it is no feature."
    )
    weights_kind: str = option(
        "frequency",
        "--weights-kind",
        group="model",
        help="What a weight says: how often the row occurs, or how reliable it is. With --ddof 1 the divisor is "
        "sum w - 1, or sum w - sum w^2 / sum w.",
        choices=lambda: ("frequency", "reliability"),
    )
    seed: int = option(0, "--seed", group="model", metavar="N", help="Start of everything random.")
    memory: str | None = option(
        None,
        "--memory",
        group="model",
        metavar="SIZE",
        help="Refuse a fit that would need more, such as 2GB; it never changes how the fit is done.",
        shown_default="half of what is free",
    )

    def __post_init__(self) -> None:
        parse_components(self.components)
        require(self.weights_kind, lambda: ("frequency", "reliability"), "--weights-kind")
        if self.memory is not None:
            parse_size(self.memory)
        if self.seed < 0:
            raise UsageError(f"--seed {self.seed} is below 0", "give a whole number from 0")
        require(self.method, names_of(METHODS), "--method")
        require(self.solver, names_of(SOLVERS, "auto"), "--solver")
        require(self.missing, lambda: ("error", "drop"), "--missing")
        if self.ddof not in (0, 1):
            raise UsageError(f"--ddof {self.ddof} is neither 0 nor 1", "0 divides by n, 1 by n - 1")


@dataclass(frozen=True)
class ApplyOptions:
    """How a model is applied to rows."""

    components: int | None = option(
        None,
        "-k",
        "--components",
        group="model",
        metavar="K",
        help="Use only the first K components.",
        shown_default="all in the model",
    )
    missing: str | None = option(
        None,
        "--missing",
        group="model",
        help="A row with a missing cell: an error, or kept with empty cells.",
        choices=lambda: ("error", "keep"),
        shown_default="error; keep when the model was fitted with --missing drop",
    )
    keep: tuple[str, ...] = option(
        (),
        "--keep",
        group="output",
        metavar="COLS",
        help="Pass these input columns through, ahead of the results; terms as in fit -c; repeatable.",
    )
    keep_all: bool = option(False, "--keep-all", group="output", help="Pass every input column through.")
    with_error: bool = option(
        False,
        "--with-error",
        group="output",
        help="Add a column squared_error: what the components leave out of the row, in the units of the fit.",
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "components", parse_truncation(self.components))
        if self.missing is not None:
            require(self.missing, lambda: ("error", "keep"), "--missing")


@dataclass(frozen=True)
class OutputOptions:
    """Where tables go, and in what form."""

    output: str | None = option(
        None,
        "-o",
        "--output",
        group="output",
        metavar="FILE",
        help="Write here, replacing the file in one step; - is standard output.",
    )
    output_format: str | None = option(
        None,
        "--output-format",
        group="output",
        help="Insist on a format instead of going by the name.",
        choices=names_of(WRITERS),
        shown_default="by the name of -o, else csv",
    )
    header: bool = option(
        True, "--output-header/--no-output-header", group="output", help="Write the line of names, or do not."
    )
    float_format: str | None = option(
        None,
        "--float-format",
        group="output",
        metavar="FORMAT",
        help="Format of numbers in text, such as .6g or %.3f.",
        shown_default="the shortest that reads back the same",
    )
    no_clobber: bool = option(False, "--no-clobber", group="output", help="Refuse to replace a file that exists.")

    def __post_init__(self) -> None:
        if self.output_format is not None:
            require(self.output_format, names_of(WRITERS), "--output-format")
        if self.float_format is not None:
            spec = "%" + self.float_format.removeprefix("%")
            if not re.fullmatch(r"%[-+ 0#]*[0-9]*(\.[0-9]+)?[eEfFgG]", spec, re.ASCII):
                raise UsageError(f"--float-format {show(self.float_format)} is not a number format", "try .6g or .3f")
            object.__setattr__(self, "float_format", spec)


@dataclass(frozen=True)
class ReportOptions:
    """How a report is printed."""

    format: str | None = option(
        None,
        "--format",
        group="output",
        help="Form of the report.",
        choices=lambda: ("table", "csv", "json", "markdown"),
        shown_default="table on a terminal, csv elsewhere",
    )
    threshold: float | None = option(
        None,
        "--threshold",
        group="output",
        metavar="SHARE",
        help="Print only how many components keep this share of the variance.",
    )

    def __post_init__(self) -> None:
        if self.format is not None:
            require(self.format, lambda: ("table", "csv", "json", "markdown"), "--format")
        if self.threshold is not None:
            object.__setattr__(self, "threshold", parse_share(self.threshold, "--threshold"))


@dataclass(frozen=True)
class GeneralOptions:
    """How much is said."""

    quiet: bool = option(False, "-q", "--quiet", group="general", help="No notes, no warnings; errors still appear.")
    verbose: bool = option(False, "-v", "--verbose", group="general", help="Say what was done, off a terminal too.")
    json: bool = option(
        False,
        "--json",
        group="general",
        help="Print what was done as one JSON object: on standard output when it is free, else on standard error.",
    )
    debug: bool = option(False, "--debug", group="general", help="Show the traceback of an error.")

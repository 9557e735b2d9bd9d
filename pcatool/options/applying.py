"""How a model is applied, and where the results go."""

from __future__ import annotations

import re
from dataclasses import dataclass

from pcatool.errors import UsageError, show
from pcatool.options.flags import names_of, option, require
from pcatool.registry import WRITERS

__all__ = ["ApplyOptions", "OutputOptions", "parse_truncation"]


def parse_truncation(text: str | int | None) -> int | None:
    """`-k` where a model is used: a whole number from 1, or nothing."""
    if text is None:
        return None
    word = str(text)
    if not re.fullmatch(r"[0-9]+", word, re.ASCII) or int(word) < 1:
        raise UsageError(f"-k {show(word)} is not a number of components", "give a whole number from 1")
    return int(word)


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

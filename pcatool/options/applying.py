"""How a model is applied, and where the results go."""

from __future__ import annotations

import re
from dataclasses import dataclass

from pcatool.errors import UsageError, show
from pcatool.options.flags import names_of, option, require
from pcatool.options.triples import TriplesOptions
from pcatool.options.wanted import ANY_FILE
from pcatool.registry import WRITERS

__all__ = ["APPLY_MISSING", "ApplyOptions", "OutputOptions", "parse_truncation"]

# What a row with missing cells gets where a model is applied.
APPLY_MISSING = ("error", "mean", "project", "em", "keep")


def parse_truncation(text: str | int | None) -> int | None:
    """`-k` where a model is used: a whole number from 1, or nothing."""
    if text is None:
        return None
    word = str(text)
    if not re.fullmatch(r"[0-9]+", word, re.ASCII) or int(word) < 1:
        raise UsageError(f"-k {show(word)} is not a number of components", "give a whole number from 1")
    return int(word)


@dataclass(frozen=True)
class ApplyOptions(TriplesOptions):
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
        metavar="HOW",
        help="A row with missing cells: an error; the column means stand in; its least-squares scores from the cells "
        "that are there; what the model expects of it, its noise allowed for; or kept with empty results.",
        choices=lambda: APPLY_MISSING,
        shown_default="as fitted: em as project (reconstruct: em), drop as keep",
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
    with_coverage: bool = option(
        False,
        "--with-coverage",
        group="output",
        help="Add a column coverage: the share of the components' variance in the cells of the row that are there.",
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "components", parse_truncation(self.components))
        if self.missing == "drop":
            raise UsageError("--missing drop is for fits: here every row read is a row written", "keep leaves it empty")
        if self.missing is not None:
            require(self.missing, lambda: APPLY_MISSING, "--missing")
        self.check_triples({"--keep": bool(self.keep), "--keep-all": self.keep_all})


@dataclass(frozen=True)
class OutputOptions:
    """Where tables go, and in what form."""

    output: str | None = option(
        None,
        "-o",
        "--output",
        group="output",
        metavar="FILE|DIR/",
        help="Write here, replacing the file in one step; - is standard output. A folder, or a name that ends with "
        "/, gets one output for each input, under the same name; with --engine dask or spark, parts in the order of "
        "the rows, and _SUCCESS when all of them are there.",
        wanted=ANY_FILE,
    )
    output_format: str | None = option(
        None,
        "--output-format",
        group="output",
        help="Insist on a format instead of going by the name.",
        choices=names_of(WRITERS),
        shown_default="by the name of -o, else csv; of parts, parquet",
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
    resume: bool = option(
        False,
        "--resume",
        group="output",
        help="With -o DIR/: pass over the inputs whose output is there, not older than the input and the model; it "
        "goes by names and times only, so give the same options.",
    )

    def __post_init__(self) -> None:
        if self.output_format is not None:
            require(self.output_format, names_of(WRITERS), "--output-format")
        if self.float_format is not None:
            spec = "%" + self.float_format.removeprefix("%")
            if not re.fullmatch(r"%[-+ 0#]*[0-9]*(\.[0-9]+)?[eEfFgG]", spec, re.ASCII):
                raise UsageError(f"--float-format {show(self.float_format)} is not a number format", "try .6g or .3f")
            object.__setattr__(self, "float_format", spec)

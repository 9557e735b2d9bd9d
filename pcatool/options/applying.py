"""Options of applying a model to rows, of its output, and of updating, merging and refitting models."""

from __future__ import annotations

import re
from dataclasses import dataclass, fields
from typing import Any

from pcatool.errors import UsageError
from pcatool.options.fields import ANY_FILE, check_choices, choices_from, convert_to_float, option, option_like
from pcatool.options.fitting import FitOptions, parse_components
from pcatool.options.reading import SelectOptions, TriplesOptions
from pcatool.registry import WRITERS
from pcatool.wording import show

__all__ = [
    "APPLY_MISSING_POLICIES",
    "AlignOptions",
    "ApplyOptions",
    "OutputOptions",
    "RefitOptions",
    "UpdateOptions",
    "parse_truncation",
]

# Default, as help shows it, of options whose default is the setting of the fitted model.
SHOWN_AS_FITTED = "as in the fit of the model"

# Values of --missing where a model is applied.
APPLY_MISSING_POLICIES = ("error", "mean", "project", "em", "keep")


def parse_truncation(text: str | int | None) -> int | None:
    """Return `-k` of a command that uses a model as an int; None stays None.

    Raise `UsageError` for anything but a whole number above 0.
    """
    if text is None:
        return None
    word = str(text)
    if not re.fullmatch(r"[0-9]{1,1000}", word, re.ASCII) or int(word) < 1:  # int() refuses thousands of digits
        raise UsageError(f"-k {show(word)} is not a number of components", "give a whole number above 0")
    return int(word)


@dataclass(frozen=True)
class ApplyOptions(TriplesOptions):
    """Options of applying a model to rows, for `transform`, `reconstruct` and `report`."""

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
        help="Treatment of rows with missing cells. error: end with an error; mean: fill the cells with the column "
        "means; project: least-squares scores of the observed cells; em: expected scores, given the observed cells; "
        "keep: leave the results of these rows empty.",
        choices=lambda: APPLY_MISSING_POLICIES,
        shown_default="depends on --missing of the fit. error: error; drop: keep; mean: mean; em: project, or em in "
        "reconstruct. reconstruct --fill: project instead of error and keep",
    )
    keep: tuple[str, ...] = option(
        (),
        "--keep",
        group="output",
        metavar="COLS",
        help="Copy these input columns to the output, before the results. COLS as in fit -c; repeatable.",
    )
    keep_all: bool = option(False, "--keep-all", group="output", help="Copy all input columns to the output.")
    with_error: bool = option(
        False,
        "--with-error",
        group="output",
        help="Add a column squared_error: the squared differences between the observed cells of the row and their "
        "reconstruction, added up. After fit --standardize, the differences are those of standardised cells.",
    )
    with_coverage: bool = option(
        False,
        "--with-coverage",
        group="output",
        help="Add a column coverage: the share of the components' variance that lies in the observed cells of the row. "
        "A row without missing cells has coverage 1.",
    )

    absent: str | None = option_like(
        TriplesOptions, "absent", None, shown_default="as in the fit if it had --triples, else missing"
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "components", parse_truncation(self.components))
        if self.missing == "drop":
            raise UsageError(
                "--missing drop is only for fits: here, the output has a row for every input row",
                "use --missing keep, which leaves the results empty for rows with missing cells",
            )
        check_choices(self)
        self.check_triples({"--keep": bool(self.keep), "--keep-all": self.keep_all})


@dataclass(frozen=True)
class OutputOptions:
    """Options of the output of `transform` and `reconstruct`: file or folder, format, and what is replaced."""

    output: str | None = option(
        None,
        "-o",
        "--output",
        group="output",
        metavar="FILE|DIR/",
        help="Output file. If the file exists, it is replaced only when the new file is complete. - is standard "
        "output. If FILE is a folder, or ends with /, each input gets an output of the same name in the folder. "
        "With --engine dask or spark, the folder gets several files in row order, and a file _SUCCESS when all are "
        "complete.",
        completion=ANY_FILE,
    )
    output_format: str | None = option(
        None,
        "--output-format",
        group="output",
        help="Format of the output.",
        choices=choices_from(WRITERS),
        shown_default="from the ending of the output's name, else csv; with --engine dask or spark: parquet",
    )
    header: bool = option(
        True,
        "--output-header/--no-output-header",
        group="output",
        help="Whether to write a header line with the column names.",
    )
    float_format: str | None = option(
        None,
        "--float-format",
        group="output",
        metavar="FORMAT",
        help="Format of numbers in text, such as .6g or %.3f.",
        shown_default="the shortest text that reads back as the same number",
    )
    no_clobber: bool = option(False, "--no-clobber", group="output", help="Refuse to replace a file that exists.")
    resume: bool = option(
        False,
        "--resume",
        group="output",
        help="With -o DIR/: skip inputs whose output exists and is not older than the input and the model. Only names "
        "and times are compared, so give the same options as before.",
    )

    def __post_init__(self) -> None:
        check_choices(self)
        if self.float_format is not None:
            spec = "%" + self.float_format.removeprefix("%")
            if not re.fullmatch(r"%[-+ 0#]*[0-9]*(\.[0-9]+)?[eEfFgG]", spec, re.ASCII):
                raise UsageError(f"--float-format {show(self.float_format)} is not a number format", "try .6g or .3f")
            object.__setattr__(self, "float_format", spec)


@dataclass(frozen=True)
class AlignOptions:
    """Option of aligning the components with those of an older model."""

    align_to: Any = option_like(  # noqa: RUF009  (as in FitOptions)
        FitOptions,
        "align_to",
        None,
        help="Older model. New components get the signs of the old components; components with nearly equal "
        "eigenvalues get the old order.",
    )


@dataclass(frozen=True)
class UpdateOptions(AlignOptions):
    """Options of `update` and `subtract`."""

    missing: str | None = option(
        None,
        "--missing",
        group="input",
        help="Treatment of rows with missing cells. error: end with an error; drop: leave these rows out, with a "
        "warning.",
        choices=lambda: ("error", "drop"),
        shown_default=SHOWN_AS_FITTED,
    )

    def __post_init__(self) -> None:
        check_choices(self)


@dataclass(frozen=True)
class RefitOptions(AlignOptions):
    """Options of `refit`: settings to change. Settings that are not given stay as they were fitted."""

    components: int | float | str | None = option_like(
        FitOptions,
        "components",
        None,
        help="Number of components: a whole number, a share of the variance, all, or a rule; as in fit.",
        shown_default=SHOWN_AS_FITTED,
    )
    standardize: bool | None = option_like(
        FitOptions,
        "standardize",
        None,
        names=("--standardize/--no-standardize", "-s"),
        help="Whether to divide each column by its standard deviation.",
        shown_default=SHOWN_AS_FITTED,
    )
    center: bool | None = option_like(FitOptions, "center", None, shown_default=SHOWN_AS_FITTED)
    ddof: int | None = option_like(
        FitOptions, "ddof", None, help="Divisor of variances. 0: n; 1: n - 1.", shown_default=SHOWN_AS_FITTED
    )
    whiten: str | None = option_like(FitOptions, "whiten", None, shown_default=SHOWN_AS_FITTED)
    epsilon: float | None = option_like(FitOptions, "epsilon", None, shown_default=SHOWN_AS_FITTED)
    columns: tuple[str, ...] = option_like(
        SelectOptions,
        "columns",
        (),
        group="model",
        help="Keep only these columns of the model. COLS as in fit -c, but column 1 is the first column of the model; "
        "repeatable.",
        shown_default="all in the model",
    )
    exclude: tuple[str, ...] = option_like(
        SelectOptions, "exclude", (), group="model", help="Leave out these columns. COLS as in -c; repeatable."
    )

    def __post_init__(self) -> None:
        """Raise `UsageError` for wrong values, and convert ddof and epsilon to numbers."""
        if self.components is not None:
            parse_components(self.components)
        if self.ddof is not None:
            word = str(self.ddof)
            if word not in ("0", "1"):
                raise UsageError(f"--ddof {word} is neither 0 nor 1", "give 0 to divide by n, or 1 to divide by n - 1")
            object.__setattr__(self, "ddof", int(word))
        check_choices(self)
        convert_to_float(self, "epsilon", "--epsilon")

    @property
    def changes(self) -> dict[str, Any]:
        """The settings of the fit that were given, name -> value, without --columns, --exclude and --align-to.

        With `whiten`, epsilon is in the dict as None (the default) if it was not given.
        """
        named = ("components", "standardize", "center", "ddof", "whiten", "epsilon")
        given = {name: getattr(self, name) for name in named if getattr(self, name) is not None}
        return {"epsilon": None, **given} if "whiten" in given else given

    @property
    def changes_nothing(self) -> bool:
        """Whether no option was given."""
        return all(getattr(self, f.name) == f.default for f in fields(self))

"""Options of a run: threads, engine, messages; and of the report of `explain-variance`."""

from __future__ import annotations

import re
from dataclasses import dataclass

from pcatool.errors import UsageError
from pcatool.options.fields import check_choices, choices_from, option, option_like, refuse_without
from pcatool.registry import ENGINES
from pcatool.wording import show

__all__ = [
    "FORMS",
    "DiffGeneralOptions",
    "EngineOptions",
    "GeneralOptions",
    "InspectGeneralOptions",
    "ReportOptions",
    "ThreadOptions",
]

# Values of --format of a report that is a table.
FORMS = ("table", "csv", "json", "markdown")

# More threads than any machine has cores; a larger number is a typing error.
MAX_THREADS = 1024


def parse_share(text: str | float, flag: str) -> float:
    """Return a share as a float strictly between 0 and 1; raise `UsageError`, with `flag`, for any other value."""
    try:
        share = float(text)
    except ValueError:
        share = float("nan")
    if not 0 < share < 1:
        raise UsageError(f"{flag} {show(text)} is not a share", "give a number between 0 and 1, such as 0.95")
    return share


@dataclass(frozen=True)
class ReportOptions:
    """Options of the report of `explain-variance`: its format, and a share of the variance."""

    format: str | None = option(
        None,
        "--format",
        group="output",
        help="Format of the report.",
        choices=lambda: FORMS,
        shown_default="table on a terminal, csv elsewhere",
    )
    threshold: float | None = option(
        None,
        "--threshold",
        group="output",
        metavar="SHARE",
        help="Print only the smallest number of components that keep this share of the variance.",
    )

    def __post_init__(self) -> None:
        check_choices(self)
        if self.threshold is not None:
            object.__setattr__(self, "threshold", parse_share(self.threshold, "--threshold"))


@dataclass(frozen=True)
class ThreadOptions:
    """Option of the number of threads."""

    threads: int | None = option(
        None,
        "--threads",
        group="general",
        metavar="N",
        help="Number of threads that read, compute and format; the results are the same for every N.",
        shown_default="the number of cores this process may use",
    )

    def __post_init__(self) -> None:
        if self.threads is None:
            return
        word = str(self.threads)
        if not re.fullmatch(r"[0-9]{1,4}", word, re.ASCII) or not 1 <= int(word) <= MAX_THREADS:
            raise UsageError(
                f"--threads {show(word)} is not a number of threads", f"give a whole number from 1 to {MAX_THREADS}"
            )
        object.__setattr__(self, "threads", int(word))


@dataclass(frozen=True)
class EngineOptions(ThreadOptions):
    """Options of the engine that does the work: threads of this machine, or a cluster."""

    engine: str = option(
        "threads",
        "--engine",
        group="general",
        help="Where the work runs. threads: on this machine; dask, spark: on a cluster. A task on a cluster is one "
        "file, several small files, or some row groups of a large Parquet file.",
        choices=choices_from(ENGINES),
    )
    scheduler: str | None = option(
        None,
        "--scheduler",
        group="general",
        metavar="ADDRESS",
        help="Address of the cluster. dask: the scheduler, such as tcp://host:8786; spark: the master, such as "
        "spark://host:7077 or local[4].",
        shown_default="dask: workers on this machine; spark: the master in the settings of Spark",
    )

    def __post_init__(self) -> None:
        check_choices(self)
        refuse_without("--scheduler", self.scheduler, self.in_other_processes, "--engine dask or spark")
        super().__post_init__()

    @property
    def in_other_processes(self) -> bool:
        """Whether the engine works in other processes, perhaps on other machines."""
        return ENGINES[self.engine].in_other_processes


@dataclass(frozen=True)
class GeneralOptions:
    """Options of the messages of a run."""

    quiet: bool = option(
        False, "-q", "--quiet", group="general", help="Hide notes and warnings; errors are still printed."
    )
    verbose: bool = option(
        False,
        "-v",
        "--verbose",
        group="general",
        help="Print a summary of the run, also if standard error is not a terminal.",
    )
    json: bool = option(
        False,
        "--json",
        group="general",
        help="Print the summary as one JSON object: on standard output if no results go there, else on standard error.",
    )
    debug: bool = option(False, "--debug", group="general", help="Show the traceback of an error.")


@dataclass(frozen=True)
class InspectGeneralOptions(GeneralOptions):
    """Options of the messages of `inspect`, where -v changes what is printed."""

    verbose: bool = option_like(GeneralOptions, "verbose", False, help="Print every column and every component.")


@dataclass(frozen=True)
class DiffGeneralOptions(GeneralOptions):
    """Options of the messages of `diff`, where -v changes what is printed."""

    verbose: bool = option_like(
        GeneralOptions, "verbose", False, help="Print all columns, also those that changed least."
    )

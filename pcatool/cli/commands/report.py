"""Command `pcatool report`."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from pcatool.cli.parameters import ModelPath, NoClobber, model_of, prints_usage
from pcatool.cli.reporter import ConsoleReporter
from pcatool.errors import UsageError
from pcatool.options import (
    ANY_FILE,
    DATA,
    ApplyOptions,
    EngineOptions,
    GeneralOptions,
    PageOptions,
    TableOptions,
    ThreadOptions,
)

NAME = "report"
USAGE = "MODEL [INPUT...] -o FILE [OPTIONS]"


def run(
    *,
    model: ModelPath,
    data: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="INPUT...",
            help="Rows to show beside the model: CSV or Parquet files, folders or globs; - is standard input.",
            show_default=False,
        ),
        DATA,
    ] = None,
    output: Annotated[
        str | None,
        typer.Option(
            "-o", "--output", metavar="FILE",
            help="File for the page. If the file exists, it is replaced only when the new page is complete. - is "
            "standard output.",
            rich_help_panel="Output", show_default=False,
        ),
        ANY_FILE,
    ] = None,
    no_clobber: NoClobber = False,
    asked: PageOptions,
    table: TableOptions,
    apply: ApplyOptions,
    threads: ThreadOptions,
    general: GeneralOptions,
) -> int:  # fmt: skip
    """Write an HTML page about a model and its rows.

    The page is one file that needs no network. It has a summary, a scree plot with a movable threshold, loadings
    that can be sorted, scores with details of each row (--keep adds columns to these details), images (--image),
    the certificate, and commands that make the model and use it. If there are more than 5,000 rows, the page shows
    a random sample of 5,000.

    Examples:
      pcatool report houses.npz sample_data/houses.csv -o houses.html
      pcatool report digits.npz sample_data/digits.csv --color digit --image 8x8 \\
          -o digits.html
    """
    if prints_usage([model, *(data or [])], NAME, USAGE):
        return 2
    import sys

    if output in (None, "-") and sys.stdout is not None and sys.stdout.isatty():
        raise UsageError(
            "the report is a page for a browser, and standard output is a terminal", "name a file, as in -o report.html"
        )
    from pcatool.pipeline.report_page import ReportRows, report_to
    from pcatool.render.summary import page_facts, page_lines

    reporter, fitted = ConsoleReporter(general), model_of(model, data or ["no data"])
    page = report_to(
        output,
        fitted,
        model,
        ReportRows(list(data) if data else None, table, apply, EngineOptions(threads.threads)),
        asked,
        reporter,
        no_clobber=no_clobber,
    )
    facts: dict[str, Any] = page_facts(page.model, model, output or "-", page.html, page.rows_read, page.rows_shown)
    reporter.close(facts, page_lines(facts), stdout_free=output not in (None, "-"))
    return 0

"""`pcatool scree`."""

from __future__ import annotations

import os
import shutil
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from pcatool.cli.outcome import Speaker, print_result
from pcatool.cli.shared import Subject, lacks_input, variance_report
from pcatool.errors import UsageError, show
from pcatool.options import FitOptions, GeneralOptions, SelectOptions, TableOptions

if TYPE_CHECKING:
    from pcatool.model import Model

NAME = "scree"
FORMS = ("chart", "table", "csv", "json", "markdown")


def run(
    *,
    subject: Subject = None,
    output: Annotated[
        str | None,
        typer.Option(
            "-o", "--output", metavar="PICTURE",
            help="Draw a picture instead: .png, .svg or .pdf (needs matplotlib, the extra 'plot').",
            rich_help_panel="Output", show_default=False,
        ),
    ] = None,
    no_clobber: Annotated[
        bool,
        typer.Option("--no-clobber", help="Refuse to replace a file that exists.", rich_help_panel="Output"),
    ] = False,
    form: Annotated[
        str,
        typer.Option("--format", metavar="|".join(FORMS), help="The drawing, or its numbers.", rich_help_panel="Output"),
    ] = "chart",
    table: TableOptions,
    select: SelectOptions,
    options: FitOptions,
    general: GeneralOptions,
) -> int:  # fmt: skip
    """Draw the eigenvalues: how fast they fall, what they add up to, where k lies.

    pcatool scree model.npz
    """
    if form not in FORMS:
        raise UsageError(f"--format {show(form)} is none of {', '.join(FORMS)}")
    if output is not None and form != "chart":
        raise UsageError("-o draws a picture, --format prints numbers", "use one of the two")
    if lacks_input(subject, NAME, "MODEL|DATA [-o PICTURE]"):
        return 2
    from pcatool import pipeline
    from pcatool.render import summary

    speaker = Speaker(general)
    if output is not None:
        model = pipeline.draw_scree(subject or [], table, select, options, output, no_clobber, speaker)
    else:
        model = pipeline.model_or_fit(subject or [], table, select, options, speaker).model
        print_result(_chart(model) if form == "chart" else variance_report(model, form))
    facts = {"command": NAME, "output": output or "-", **summary.model_facts(model)}
    speaker.close(facts, summary.report_lines(model), stdout_free=output is not None)
    return 0


def _chart(model: Model) -> str:
    """The chart as wide as the terminal, in its characters; colour only where it is seen and wanted."""
    from pcatool.render.chart import scree_chart

    encoding = (getattr(sys.stdout, "encoding", None) or "ascii").lower().replace("-", "")
    color = sys.stdout.isatty() and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"
    return scree_chart(
        model.variance,
        kept=model.k,
        width=shutil.get_terminal_size((80, 24)).columns,
        color=color,
        unicode=encoding.startswith("utf"),
        total_components=model.d,
    )

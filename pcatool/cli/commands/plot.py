"""Command `pcatool plot`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from pcatool.cli.parameters import NoClobber, prints_usage, remedies_for_model
from pcatool.cli.reporter import ConsoleReporter, print_result
from pcatool.options import (
    ANY_FILE,
    MODEL_OR_DATA,
    EngineOptions,
    FitOptions,
    GeneralOptions,
    PictureOptions,
    PlotOptions,
    SelectOptions,
    TableOptions,
    word_of,
)
from pcatool.options.fields import require_choice
from pcatool.registry import PLOTS
from pcatool.stores.uri import shown
from pcatool.terminal import Screen

if TYPE_CHECKING:
    from pcatool.pipeline.plot import PlotOutcome
    from pcatool.pipeline.plot_request import PlotRequest

NAME = "plot"
USAGE = "KIND MODEL|DATA... -o PICTURE [OPTIONS]"
FORMS = ("picture", "table", "csv", "json", "markdown")


def run(
    *,
    kind: Annotated[
        str,
        typer.Argument(
            metavar="KIND",
            help="What to draw: " + ", ".join(f"{name} ({PLOTS[name].summary})" for name in PLOTS) + ".",
            show_default=False,
        ),
        word_of(*PLOTS),
    ],
    subject: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="MODEL|DATA...",
            help="A model and the rows to draw, or data for a fit, or a table of scores; - or no argument "
            "means standard input.",
            show_default=False,
        ),
        MODEL_OR_DATA,
    ] = None,
    output: Annotated[
        str | None,
        typer.Option(
            "-o", "--output", metavar="PICTURE",
            help="File for the picture (.png, .svg or .pdf; needs matplotlib, the extra 'plot'), or for the table of "
            "--format.",
            rich_help_panel="Output", show_default=False,
        ),
        ANY_FILE,
    ] = None,
    no_clobber: NoClobber = False,
    form: Annotated[
        str,
        typer.Option(
            "--format", metavar="FORM",
            help="Draw the picture, or write its numbers as a table. For scores, only picture and csv are possible. "
            f"One of: {', '.join(FORMS)}.",
            rich_help_panel="Output",
        ),
        word_of(*FORMS),
    ] = "picture",
    plot: PlotOptions,
    picture: PictureOptions,
    select: SelectOptions,
    table: TableOptions,
    options: FitOptions,
    engine: EngineOptions,
    general: GeneralOptions,
) -> int:  # fmt: skip
    """Draw scores of rows, loadings of columns, or both.

    More than 20,000 rows are drawn as a density. Rows that have no scores, because cells are missing, are left out;
    a note gives their number. A biplot has arrows for the columns, and the table of a biplot lists the arrows. If
    the first argument is a model, -k must be a whole number K, and the command uses the first K components.

    Examples:
      pcatool plot scores sample_data/digits.csv -x digit --color digit -o map.png
      pcatool plot loadings digits.npz --axes 1,2 --format csv
      pcatool plot biplot sample_data/orders.csv -c items-days_to_deliver -s \\
          --missing drop -o biplot.pdf --size 7x6
    """
    require_choice(form, lambda: FORMS, "--format")
    from pcatool.pipeline.fit import Job
    from pcatool.pipeline.plot import draw
    from pcatool.pipeline.plot_request import PlotRequest
    from pcatool.readers.paths import MODEL_SUFFIX

    request = PlotRequest(kind, plot, picture, output, no_clobber, form)
    request.check(options)
    if prints_usage(_read(subject, request), f"{NAME} {kind}", USAGE.removeprefix("KIND ")):
        return 2
    reporter = ConsoleReporter(general)
    # With a model, -x is refused. Only the name is asked: `is_model` would read the beginning of a pipe.
    with remedies_for_model(subject[0] if subject and subject[0].endswith(MODEL_SUFFIX) else None):
        drawn = draw(Job(subject or [], table, select, options, engine, reporter), request)
    printed = output in (None, "-")
    if printed and not request.needs_rows:
        _print(drawn, request)
    facts = _facts(drawn, request)
    reporter.close(facts, _lines(facts, drawn), stdout_free=not printed)
    return 0


def _read(subject: list[str] | None, request: PlotRequest) -> list[str] | None:
    """Return the inputs to read: `subject`; None (standard input) if the plot needs rows and `subject` is one model."""
    from pcatool.pipeline.plot_request import is_model

    if subject is None or len(subject) != 1 or not request.needs_rows:
        return subject
    return None if subject[0] != "-" and is_model(subject[0]) else subject


def _print(drawn: PlotOutcome, request: PlotRequest) -> None:
    """Print the numbers of the plot on standard output, as a table in the format of `request`."""
    from pcatool.render.text import render_table

    screen = Screen.now()
    columns = request.plot_class().table(drawn.plot_data)
    print_result(
        render_table(
            columns,
            request.form,
            caption=drawn.plot_data.caption,
            width=screen.width,
            color=screen.color,
            unicode=screen.unicode,
        )
    )


def _facts(drawn: PlotOutcome, request: PlotRequest) -> dict[str, Any]:
    """Return the facts for `--json` and the summary: kind of plot, output and numbers of the components.

    Counts of rows and classes are added if rows were drawn in a picture, and `model_facts` if there is a model.
    """
    from pcatool.render.facts import model_facts

    facts: dict[str, Any] = {
        "command": NAME,
        "kind": request.kind,
        "output": shown(request.output or "-"),
        "axes": list(drawn.plot_data.axes),
    }
    cloud = drawn.plot_data.cloud
    if cloud is not None:
        facts |= {"rows_drawn": cloud.rows, "rows_left_out": cloud.left_out, "density": cloud.is_dense}
        if cloud.by_class:
            facts["classes"] = [{"name": group.name, "rows": group.rows} for group in cloud.groups()]
    return facts if drawn.model is None else {**facts, **model_facts(drawn.model)}


def _lines(facts: dict[str, Any], drawn: PlotOutcome) -> list[str]:
    """Return the lines of the closing summary: what was drawn, then the model."""
    from pcatool.render.facts import report_lines
    from pcatool.wording import counted

    axes = ", ".join(drawn.plot_data.names)
    lines = [f"{facts['kind']} of {axes}"]
    if "rows_drawn" in facts:
        how = "as a density" if facts["density"] else "each as a mark"
        lines = [f"{facts['kind']} of {axes}: {counted(facts['rows_drawn'], 'row')} drawn, {how}"]
    return lines if drawn.model is None else [*lines, *report_lines(drawn.model)]

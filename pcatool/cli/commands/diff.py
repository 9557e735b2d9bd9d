"""Command `pcatool diff`."""

from __future__ import annotations

from typing import Annotated

import typer

from pcatool.cli.parameters import prints_usage
from pcatool.cli.reporter import ConsoleReporter, print_result
from pcatool.options import MODEL, DiffGeneralOptions, DiffOptions
from pcatool.terminal import Screen

NAME = "diff"
USAGE = "A B [OPTIONS]"


def run(
    *,
    first: Annotated[str, typer.Argument(metavar="A", help="The older model; - is standard input."), MODEL],
    second: Annotated[str, typer.Argument(metavar="B", help="The newer model; - is standard input."), MODEL],
    asked: DiffOptions,
    general: DiffGeneralOptions,
) -> int:
    """Compare two models.

    The command prints the differences in settings and columns, the angles between the spaces that the components
    span, each component beside the most similar component of the other model, and the columns whose mean or standard
    deviation has changed most. With -v it prints all columns. The exit code is 0, whether the models differ or not.

    Examples:
      head -900 sample_data/digits.csv | pcatool fit -x digit -k 10 -o older.npz
      pcatool diff older.npz digits.npz
      pcatool diff older.npz digits.npz --format csv > changes.csv
    """
    if prints_usage([first, second], NAME, USAGE):
        return 2
    from pcatool.pipeline.describe import diff

    facts = diff(first, second)
    if general.json:
        ConsoleReporter(general).close({"command": NAME, **facts}, [], stdout_free=True)
        return 0
    from pcatool.render.comparison import comparison_table, comparison_text
    from pcatool.render.text import render_table

    if asked.format != "text":
        print_result(render_table(comparison_table(facts), asked.format))
        return 0
    screen = Screen.now()
    width = screen.width if screen.terminal else None
    print_result(
        comparison_text(facts, everything=general.verbose, width=width, color=screen.color, unicode=screen.unicode)
    )
    return 0

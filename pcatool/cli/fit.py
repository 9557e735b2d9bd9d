"""`pcatool fit`."""

from __future__ import annotations

from typing import Annotated

import typer

from pcatool.cli.outcome import Speaker
from pcatool.cli.shared import Inputs, lacks_input
from pcatool.options import FitOptions, GeneralOptions, SelectOptions, TableOptions

NAME = "fit"


def run(
    *,
    inputs: Inputs = None,
    output: Annotated[
        str,
        typer.Option(
            "-o", "--output", metavar="MODEL", help="Write the model here; - is standard output.",
            rich_help_panel="Output", show_default=False,
        ),
    ],
    no_clobber: Annotated[
        bool,
        typer.Option("--no-clobber", help="Refuse to replace a file that exists.", rich_help_panel="Output"),
    ] = False,
    table: TableOptions,
    select: SelectOptions,
    options: FitOptions,
    general: GeneralOptions,
) -> int:  # fmt: skip
    """Fit a model to the rows of a table and save it.

    cat train.csv | pcatool fit -o model.npz
    """
    if lacks_input(inputs, NAME, "[INPUT...] -o MODEL"):
        return 2
    from pcatool import pipeline
    from pcatool.render.summary import fit_facts, fit_lines

    speaker = Speaker(general)
    fitted = pipeline.fit_and_save(inputs or [], table, select, options, output, no_clobber, speaker)
    facts = fit_facts(fitted.model, fitted.tally, output)
    speaker.close(facts, fit_lines(facts), stdout_free=output != "-")
    return 0

"""`pcatool fit`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from pcatool.cli.outcome import Speaker, print_result
from pcatool.cli.shared import Inputs, NoClobber, lacks_input, refuse_binary
from pcatool.errors import UsageError
from pcatool.options import EngineOptions, FitOptions, GeneralOptions, SelectOptions, TableOptions

if TYPE_CHECKING:
    from pcatool.pipeline.fit import Job

NAME = "fit"
USAGE = "[INPUT...] -o MODEL [OPTIONS]"


def run(
    *,
    inputs: Inputs = None,
    output: Annotated[
        str | None,
        typer.Option(
            "-o", "--output", metavar="MODEL", help="Write the model here, replacing the file in one step; "
            "- is standard output.", rich_help_panel="Output", show_default=False,
        ),
    ] = None,
    no_clobber: NoClobber = False,
    plan: Annotated[
        bool,
        typer.Option(
            "--plan", help="Only say which solver would be used and why, its passes over the data and its memory.",
            rich_help_panel="Output",
        ),
    ] = False,
    select: SelectOptions,
    table: TableOptions,
    options: FitOptions,
    engine: EngineOptions,
    general: GeneralOptions,
) -> int:  # fmt: skip
    """Fit a model to the rows of a table and save it.

    Columns of numbers are used, columns of text are left out and named.

    Examples:
      pcatool fit sample_data/houses.csv -o houses.npz
      cat sample_data/digits.csv | pcatool fit -x digit -k 10 -o digits.npz
      pcatool fit sample_data/orders.csv -c items-days_to_deliver -s \\
          --missing drop -v -o orders.npz
      pcatool fit sample_data/digits.csv --method supervised --label digit \\
          --label-kernel delta -o labelled.npz
    """
    if lacks_input(inputs, NAME, USAGE):
        return 2
    if not plan and output is None:
        raise UsageError("fit needs -o MODEL, the file to write the model to", "-o - writes to standard output")
    from pcatool.pipeline import fit as fitting

    speaker = Speaker(general)
    job = fitting.Job(inputs or [], table, select, options, engine, speaker)
    if plan:
        return _plan(job, general)
    refuse_binary(output, "a model")
    from pcatool.render.summary import fit_facts, fit_lines

    fitted = fitting.fit_and_save(job, str(output), no_clobber=no_clobber)
    facts = fit_facts(fitted.model, fitted.tally, str(output))
    speaker.close(facts, fit_lines(facts), stdout_free=output != "-")
    return 0


def _plan(job: Job, general: GeneralOptions) -> int:
    """Print what would be done."""
    import json

    from pcatool.pipeline.fit import plan_fit
    from pcatool.render.summary import plan_facts, plan_lines

    facts = plan_facts(plan_fit(job))
    print_result(json.dumps(facts) if general.json else "\n".join(plan_lines(facts)))
    return 0

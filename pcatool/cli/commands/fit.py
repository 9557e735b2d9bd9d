"""Command `pcatool fit`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from pcatool.cli.parameters import Inputs, ModelOutput, NoClobber, prints_usage, refuse_binary
from pcatool.cli.reporter import ConsoleReporter, print_result
from pcatool.errors import UsageError
from pcatool.options import (
    EngineOptions,
    FitOptions,
    GeneralOptions,
    ScoreOptions,
    SelectOptions,
    TableOptions,
)

if TYPE_CHECKING:
    from pcatool.pipeline.fit import Job

NAME = "fit"
USAGE = "[INPUT...] -o MODEL [OPTIONS]"


def run(
    *,
    inputs: Inputs = None,
    output: ModelOutput = None,
    no_clobber: NoClobber = False,
    plan: Annotated[
        bool,
        typer.Option(
            "--plan", help="Do not fit, but print a plan: the solver and the reason for it, the number of passes over "
            "the rows, where the rows would be stored between passes, and the memory that the fit would need. With "
            "--scores, this memory includes the scoring.",
            rich_help_panel="Output",
        ),
    ] = False,
    scoring: ScoreOptions,
    select: SelectOptions,
    table: TableOptions,
    options: FitOptions,
    engine: EngineOptions,
    general: GeneralOptions,
) -> int:  # fmt: skip
    """Fit a model to the rows of a table and save it.

    The fit uses all columns of numbers, unless -c or -x selects columns. Other columns, such as text, are left
    out, and a note names them.

    Examples:
      pcatool fit sample_data/houses.csv -o houses.npz
      cat sample_data/digits.csv | pcatool fit -x digit -k 10 -o digits.npz \\
          --scores scores.parquet --keep digit
      pcatool fit sample_data/orders.csv -c items-days_to_deliver -s \\
          --missing drop -v -o orders.npz
      pcatool fit sample_data/digits.csv --method supervised --label digit \\
          --label-kernel delta -o labelled.npz
    """
    if prints_usage(inputs, NAME, USAGE):
        return 2
    if not plan and output is None:
        *_, last = inputs or [""]
        meant = f"write -o {last}" if last.endswith(".npz") else "add -o model.npz, or -o - for standard output"
        raise UsageError("fit needs -o MODEL, the file to write the model to", meant)
    from pcatool.pipeline import fit as fitting

    reporter = ConsoleReporter(general, rows_to=scoring.scores)
    job = fitting.Job(inputs or [], table, select, options, engine, reporter)
    if plan:
        return _plan(job._replace(scored=scoring.scores is not None), reporter)
    refuse_binary(output, "a model")
    if scoring.scores is not None:
        return _fit_and_score(job, str(output), scoring, no_clobber)
    fitted = fitting.fit_and_save(job, str(output), no_clobber=no_clobber)
    if reporter.summarizes:
        from pcatool.render.summary import fit_facts, fit_lines

        facts = fit_facts(fitted.model, fitted.row_counts, str(output))
        reporter.close(facts, fit_lines(facts), stdout_free=output != "-")
    return 0


def _fit_and_score(job: Job, output: str, scoring: ScoreOptions, no_clobber: bool) -> int:
    """Fit a model, write the model and the scores of its rows, and print the summary; return exit code 0."""
    from pcatool.pipeline.fit_and_score import fit_and_score
    from pcatool.render.summary import fit_and_scores_facts, fit_and_scores_lines

    fitted, results = fit_and_score(job, output, scoring, no_clobber=no_clobber)
    facts = fit_and_scores_facts(fitted.model, fitted.row_counts, output, results.row_counts, str(scoring.scores))
    reporter = job.reporter
    assert isinstance(reporter, ConsoleReporter)
    reporter.close(facts, fit_and_scores_lines(facts), stdout_free="-" not in (output, scoring.scores))
    return 0


def _plan(job: Job, reporter: ConsoleReporter) -> int:
    """Print the plan of the fit, with --json as JSON, and fit nothing; return exit code 0."""
    from pcatool.pipeline.fit import plan_fit
    from pcatool.render.summary import plan_facts, plan_lines

    facts = plan_facts(plan_fit(job))
    if reporter.general.json:
        reporter.close(facts, [], stdout_free=True)
    else:
        print_result("\n".join(plan_lines(facts)))
    return 0

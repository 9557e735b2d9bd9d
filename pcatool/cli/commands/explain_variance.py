"""Command `pcatool explain-variance`."""

from __future__ import annotations

from pcatool.cli.parameters import Subject, prints_usage, variance_report
from pcatool.cli.reporter import ConsoleReporter, print_result
from pcatool.options import EngineOptions, FitOptions, GeneralOptions, ReportOptions, SelectOptions, TableOptions
from pcatool.terminal import Screen

NAME = "explain-variance"
USAGE = "MODEL|DATA... [OPTIONS]"


def run(
    *,
    subject: Subject = None,
    report: ReportOptions,
    select: SelectOptions,
    table: TableOptions,
    options: FitOptions,
    engine: EngineOptions,
    general: GeneralOptions,
) -> int:
    """Print the share of the variance that the first 1, 2, 3, ... components keep.

    The output has one row for each component: its eigenvalue, its share of the variance, and how much of the
    variance is kept and lost if the components up to this one are kept. If the argument is a model, -k must be a
    whole number K, and the command shows the first K components.

    Examples:
      pcatool explain-variance houses.npz
      pcatool explain-variance sample_data/digits.csv -x digit --threshold 0.95
      cat sample_data/orders.csv | pcatool explain-variance -c items-shipping \\
          --missing drop -s --format markdown
    """
    if prints_usage(subject, NAME, USAGE):
        return 2
    from pcatool.pipeline import fit as fitting
    from pcatool.pipeline.scree import smallest_k
    from pcatool.render.facts import model_facts, report_lines

    reporter = ConsoleReporter(general)
    job = fitting.Job(subject or [], table, select, options, engine, reporter)
    fitted = fitting.model_or_fit(job)
    model, columns = fitted.model, fitted.shown_variance.columns()
    facts = {"command": NAME, **model_facts(model)}
    if report.threshold is not None:
        count = smallest_k(fitted, report.threshold)
        facts |= {"threshold": report.threshold, "needed": count}
        text: str | None = str(count)
    elif general.json and report.format is None:
        rows = zip(*(column.tolist() for column in columns.values()), strict=True)
        facts["variance"] = [dict(zip(columns, row, strict=True)) for row in rows]
        text = None
    else:
        form = report.format or ("table" if Screen.now().terminal else "csv")
        text = variance_report(fitted, form)
    if text is not None:
        print_result(text)
    reporter.close(facts, report_lines(model), stdout_free=text is None)
    return 0

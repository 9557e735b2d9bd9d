"""Command `pcatool scree`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from pcatool.cli.parameters import NoClobber, Subject, prints_usage, variance_report
from pcatool.cli.reporter import ConsoleReporter, print_result
from pcatool.errors import UsageError
from pcatool.options import (
    ANY_FILE,
    EngineOptions,
    FitOptions,
    GeneralOptions,
    PictureOptions,
    SelectOptions,
    TableOptions,
    parse_components,
    some_of,
    word_of,
)
from pcatool.options.fields import require_choice
from pcatool.registry import RULES
from pcatool.stores.uri import shown
from pcatool.terminal import Screen
from pcatool.wording import printable

if TYPE_CHECKING:
    from pcatool.pipeline.fit import Fitted

NAME = "scree"
USAGE = "MODEL|DATA... [-o PICTURE] [OPTIONS]"
FORMS = ("chart", "table", "csv", "json", "markdown")


def run(
    *,
    subject: Subject = None,
    output: Annotated[
        str | None,
        typer.Option(
            "-o", "--output", metavar="PICTURE",
            help="Write a picture to this file: .png, .svg or .pdf (needs matplotlib, the extra 'plot').",
            rich_help_panel="Output", show_default=False,
        ),
        ANY_FILE,
    ] = None,
    no_clobber: NoClobber = False,
    form: Annotated[
        str,
        typer.Option(
            "--format", metavar="FORM", help=f"Print the chart, or its numbers. One of: {', '.join(FORMS)}.",
            rich_help_panel="Output",
        ),
        word_of(*FORMS),
    ] = "chart",
    rules: Annotated[
        str | None,
        typer.Option(
            "--rules", metavar="all|NAMES",
            help="Print the number of components that each rule for -k chooses, and the number on which most rules "
            "agree; with -o, mark these numbers in the picture.",
            rich_help_panel="Output", show_default=False,
        ),
        some_of(*RULES),
    ] = None,
    log: Annotated[
        bool,
        typer.Option("--log", help="With -o: make the axis of the eigenvalues logarithmic.", rich_help_panel="Output"),
    ] = False,
    log_components: Annotated[
        bool,
        typer.Option(
            "--log-components",
            help="With -o: make the horizontal axis, the number of the component, logarithmic.",
            rich_help_panel="Output",
        ),
    ] = False,
    all_components: Annotated[
        bool,
        typer.Option(
            "--all-components", help="With -o: draw all components, not only the first 30.", rich_help_panel="Output"
        ),
    ] = False,
    picture: PictureOptions,
    select: SelectOptions,
    table: TableOptions,
    options: FitOptions,
    engine: EngineOptions,
    general: GeneralOptions,
) -> int:  # fmt: skip
    """Draw the eigenvalues and their cumulative shares.

    The chart has one bar for each component, with marks below the last component kept and at the largest drop. If
    the argument is a model, -k must be a whole number K, and the command shows the first K components.

    Examples:
      pcatool scree houses.npz
      pcatool scree sample_data/digits.csv -x digit -k 0.9
      pcatool scree digits.npz --log --rules kaiser,elbow,0.9 -o scree.svg
      pcatool scree sample_data/digits.csv -x digit --rules all
    """
    require_choice(form, lambda: FORMS, "--format")
    if output is not None and form != "chart":
        raise UsageError("-o draws a picture, but --format prints numbers", "leave out -o or --format")
    names = _rule_names(rules)
    scales = {"--log": log, "--log-components": log_components, "--all-components": all_components}
    for flag in (*(name for name, given in scales.items() if given), picture.given):
        if flag is not None and output is None:
            raise UsageError(f"{flag} has no effect without -o", "name a picture, such as -o scree.png")
    if prints_usage(subject, NAME, USAGE):
        return 2
    from pcatool.pipeline import fit as fitting
    from pcatool.pipeline import scree as report
    from pcatool.render.facts import model_facts, report_lines
    from pcatool.render.scree import ScreeLook, rules_report

    reporter = ConsoleReporter(general)
    job = fitting.Job(subject or [], table, select, options, engine, reporter)
    if output is not None:
        scree = ScreeLook(log, log_components, all_components)
        asked = report.ScreeRequest(scree, names if rules is not None else (), options.seed, picture)
        model = report.fit_and_draw(job, output, asked, no_clobber=no_clobber)
    elif rules is not None:
        fitted = fitting.model_or_fit(job)
        if fitted.shown_k is not None:
            raise UsageError("-k has no effect with --rules, because the rules use all components", "leave out -k")
        model = fitted.model
        screen = Screen.now()
        shape = form if form != "chart" else "table" if screen.terminal else "csv"
        verdicts = report.rule_choices(fitted, names, options.seed)
        print_result(rules_report(verdicts, shape, screen.width if shape == "table" else None))
    else:
        fitted = fitting.model_or_fit(job)
        model = fitted.model
        print_result(_chart(fitted) if form == "chart" else variance_report(fitted, form))
    facts = {"command": NAME, "output": shown(output or "-"), **model_facts(model)}
    reporter.close(facts, report_lines(model), stdout_free=output is not None)
    return 0


def _rule_names(rules: str | None) -> list[str] | None:
    """Return the names of the rules in `--rules`; None for `all`, and also without the option.

    Raises `UsageError` for an unknown rule.
    """
    if rules in (None, "all"):
        return None
    names = str(rules).split(",")
    for name in names:
        try:
            parse_components(name)
        except UsageError as error:
            raise UsageError(error.message.replace("-k", "--rules", 1), error.remedy) from error
    return names


def _chart(fitted: Fitted) -> str:
    """Return the scree chart of a model as text, as wide as the terminal and in characters that a terminal shows."""
    from pcatool.model.description import is_centered_pca, settings_text
    from pcatool.render.scree import scree_chart

    screen, model = Screen.now(), fitted.model
    chart = scree_chart(
        fitted.shown_variance,
        kept=model.k,
        width=screen.width,
        color=screen.color,
        unicode=screen.unicode,
        total_components=model.directions,
    )
    return chart if is_centered_pca(model) else chart + f"\n{printable(settings_text(model))}\n"

"""Command `pcatool components`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pcatool.cli.parameters import NoClobber, Subject, prints_usage
from pcatool.cli.reporter import ConsoleReporter, print_result
from pcatool.errors import UsageError
from pcatool.options import (
    ANY_FILE,
    ComponentsOptions,
    EngineOptions,
    FitOptions,
    GeneralOptions,
    PictureOptions,
    SelectOptions,
    TableOptions,
)
from pcatool.stores.uri import plain_name, shown
from pcatool.terminal import Screen
from pcatool.wording import grouped, show

if TYPE_CHECKING:
    from pcatool.model.model import Model

NAME = "components"
USAGE = "MODEL|DATA... [--image HxW] [-o FILE] [OPTIONS]"

# Suffix of the output -> form of the numbers; an output without a suffix is CSV.
ENDINGS = {".csv": "csv", ".json": "json", ".md": "markdown", ".txt": "table", "": "csv"}
PICTURES = (".png", ".svg", ".pdf")


def run(
    *,
    subject: Subject = None,
    output: Annotated[
        str | None,
        typer.Option(
            "-o", "--output", metavar="FILE",
            help="File for the numbers; with --image, file for the picture: .png, .svg or .pdf (needs matplotlib, the "
            "extra 'plot').",
            rich_help_panel="Output", show_default=False,
        ),
        ANY_FILE,
    ] = None,
    no_clobber: NoClobber = False,
    asked: ComponentsOptions,
    picture: PictureOptions,
    select: SelectOptions,
    table: TableOptions,
    options: FitOptions,
    engine: EngineOptions,
    general: GeneralOptions,
) -> int:  # fmt: skip
    """Print or draw the loadings of the components.

    The output has one row for each column of the data, and one column for each component. If --values names several
    values, the output has one row for each pair of a component and a column of the data, and one column for each
    value. If the argument is a model, -k must be a whole number K, and the command shows the first K components.

    Examples:
      pcatool components houses.npz
      pcatool components sample_data/orders.csv -c items-shipping --missing drop \\
          -s --values loadings,correlations,cos2 --format markdown
      pcatool components sample_data/digits.csv -x digit -k 16 --image 8x8 \\
          -o eigen.png
    """
    if picture.given is not None and asked.image is None:
        raise UsageError(
            f"{picture.given} has no effect without --image",
            "add the size of the images, such as --image 28x28",
        )
    form = _form(asked, output)
    if prints_usage(subject, NAME, USAGE):
        return 2
    from pcatool.pipeline import fit as fitting
    from pcatool.pipeline import loadings
    from pcatool.render.facts import model_facts, report_lines

    loadings.check_method(options, asked.values)
    reporter = ConsoleReporter(general)
    job = fitting.Job(subject or [], table, select, options, engine, reporter)
    facts: dict[str, Any] = {"command": NAME, "output": shown(output or "-"), "values": list(asked.values)}
    to_file = output not in (None, "-")
    as_facts = general.json and asked.format is None and not to_file
    if to_file:
        what: Callable[..., str | bytes] = partial(_picture, picture=picture) if asked.image else _numbers
        make = partial(what, asked=asked, form=form)
        model = loadings.fit_and_write(job, str(output), make, no_clobber=no_clobber)
    else:
        model = fitting.model_or_fit(job).shown_model
        if not as_facts:
            print_result(_numbers(model, asked=asked, form=form, screen=Screen.now()))
    count = loadings.images_shown if asked.image else loadings.components_shown
    facts["shown"] = count(model, asked.first)
    if asked.image is not None:
        facts["image"] = list(asked.image)
        _note_undrawn(facts["shown"], model.k - facts["shown"], asked, reporter)
    if as_facts:
        facts["entries"] = loadings.table_entries(model, asked.values, asked.first)
    facts |= model_facts(model)
    reporter.close(facts, report_lines(model), stdout_free=to_file or as_facts)
    return 0


def _form(asked: ComponentsOptions, output: str | None) -> str:
    """Return the format of the output: png, svg or pdf with --image, else csv, json, markdown or table.

    Raises `UsageError`, before anything is read, if the name of the output does not fit the options.
    """
    if asked.image is not None:
        if output is None:
            raise UsageError("--image draws a picture, which needs a file", "name the file, as in -o components.png")
        from pcatool.render.figures import picture_form, plain_matplotlib

        with plain_matplotlib():  # refuses a missing matplotlib before the work
            return picture_form(output)
    if asked.format is not None:
        return asked.format
    if output in (None, "-"):
        return "table" if Screen.now().terminal else "csv"
    from pcatool.writers.sink import uncompressed_name

    name = plain_name(str(output))
    ending = Path(uncompressed_name(name)).suffix.lower()
    if ending in PICTURES:
        raise UsageError(
            f"{show(shown(name))} is the name of a picture, but without --image the command writes numbers",
            "add the size of the images in pixels, such as --image 28x28, or give a name that ends in .csv",
        )
    if ending not in ENDINGS:
        raise UsageError(
            f"{show(shown(name))} does not end in .csv, .json, .md or .txt",
            "change the ending, or add the format, such as --format csv",
        )
    return ENDINGS[ending]


def _picture(model: Model, *, asked: ComponentsOptions, form: str, picture: PictureOptions) -> bytes:
    """Return the bytes of a picture of the mean and the components as images, in the format `form`."""
    from pcatool.pipeline.loadings import components_picture

    return components_picture(model, asked.image or (0, 0), form, asked.first, picture)


def _numbers(model: Model, *, asked: ComponentsOptions, form: str, screen: Screen | None = None) -> str:
    """Return the table of --values, such as loadings, as text in the format `form`; no line is wider than `screen`."""
    from pcatool.pipeline.loadings import component_table, table_caption
    from pcatool.render.text import render_table

    columns = component_table(model, asked.values, asked.first)
    caption = table_caption(model, asked.values, asked.first)
    if screen is None:
        return render_table(columns, form, caption=caption)
    return render_table(columns, form, caption=caption, width=screen.width, color=screen.color, unicode=screen.unicode)


def _note_undrawn(shown: int, left: int, asked: ComponentsOptions, reporter: ConsoleReporter) -> None:
    """Report a note that, beside `shown` components, `left` are not drawn; no note if `left` is 0 or with --first."""
    if left and asked.first is None:
        more = "1 more component is" if left == 1 else f"{grouped(left)} more components are"
        reporter.note(f"{more} not drawn; --first {shown + left} draws all components")

"""Command `pcatool reconstruct`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from pcatool.cli.parameters import Inputs, ModelPath, model_of, prints_usage, refuse_binary, write_rows
from pcatool.cli.reporter import ConsoleReporter
from pcatool.options import ApplyOptions, EngineOptions, GeneralOptions, OutputOptions, TableOptions, word_of
from pcatool.options.fields import require_choice

if TYPE_CHECKING:
    from pcatool.pipeline.results import Results
    from pcatool.progress import Reporter

NAME = "reconstruct"
USAGE = "MODEL [INPUT...] [-o OUT] [OPTIONS]"


def run(
    *,
    model: ModelPath,
    inputs: Inputs = None,
    source: Annotated[
        str | None,
        typer.Option(
            "--from", metavar="scores|rows", help="Content of the input.", rich_help_panel="Input",
            show_default="scores if the columns of the input are PC1, PC2, ..., else rows",
        ),
        word_of("scores", "rows"),
    ] = None,
    preimage: Annotated[
        bool,
        typer.Option(
            "--preimage", help="For a kernel model: approximate the rows from the scores, by a kernel ridge "
            "regression fitted to the training rows.",
            rich_help_panel="Model",
        ),
    ] = False,
    fill: Annotated[
        bool,
        typer.Option(
            "--fill", help="Write the original rows; replace only their missing cells.",
            rich_help_panel="Output",
        ),
    ] = False,
    table: TableOptions,
    apply: ApplyOptions,
    output: OutputOptions,
    engine: EngineOptions,
    general: GeneralOptions,
) -> int:  # fmt: skip
    """Turn scores back into rows in original units.

    The input may also be original rows: the output is then the part of each row that the components keep. With
    --fill the rows stay as they are, and only their missing cells are replaced.

    Examples:
      pcatool reconstruct houses.npz scores.csv > approx.csv
      pcatool reconstruct digits.npz sample_data/digits.csv -k 5 --keep digit
      pcatool transform houses.npz sample_data/houses.csv |
          pcatool reconstruct houses.npz
      pcatool reconstruct orders.npz sample_data/orders.csv --fill -o whole.csv
    """
    if source is not None:
        require_choice(source, lambda: ("scores", "rows"), "--from")
    if prints_usage(inputs, NAME, USAGE):
        return 2
    if output.output_format == "parquet":
        refuse_binary(output.output, "Parquet")
    from pcatool.pipeline import apply as applying

    fitted = model_of(model, inputs)
    request = applying.ReconstructRequest(source, preimage, fill)

    def results(data: Any, table: TableOptions, reporter: Reporter) -> Results:
        return applying.reconstruct(fitted, data, table, apply, engine, reporter, request)

    reporter = ConsoleReporter(general, rows_to=output.output or "-")
    return write_rows(
        NAME, fitted.truncated(apply.components), results, inputs or [], table, output, engine, model, reporter
    )

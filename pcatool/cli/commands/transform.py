"""Command `pcatool transform`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pcatool.cli.parameters import Inputs, ModelPath, model_of, prints_usage, refuse_binary, write_rows
from pcatool.cli.reporter import ConsoleReporter
from pcatool.options import ApplyOptions, EngineOptions, GeneralOptions, OutputOptions, TableOptions

if TYPE_CHECKING:
    from pcatool.pipeline.results import Results
    from pcatool.progress import Reporter

NAME = "transform"
USAGE = "MODEL [INPUT...] [-o OUT] [OPTIONS]"


def run(
    *,
    model: ModelPath,
    inputs: Inputs = None,
    table: TableOptions,
    apply: ApplyOptions,
    output: OutputOptions,
    engine: EngineOptions,
    general: GeneralOptions,
) -> int:
    """Compute the scores PC1, PC2, ... of rows.

    The command projects the rows onto the components of the model. The output has one row for each input row, in
    the same order. The columns of the model are found by name, in any order. Other columns are ignored; --keep copies
    such columns to the output.

    Examples:
      pcatool transform houses.npz sample_data/houses.csv -o scores.csv
      cat sample_data/digits.csv | pcatool transform digits.npz -k 2 --keep digit
      pcatool transform orders.npz sample_data/orders.csv --missing keep \\
          --with-error -o scores.parquet
    """
    if prints_usage(inputs, NAME, USAGE):
        return 2
    if output.output_format == "parquet":
        refuse_binary(output.output, "Parquet")
    from pcatool.pipeline import apply as applying

    fitted = model_of(model, inputs)

    def results(data: Any, table: TableOptions, reporter: Reporter) -> Results:
        return applying.transform(fitted, data, table, apply, engine, reporter)

    reporter = ConsoleReporter(general, rows_to=output.output or "-")
    return write_rows(
        NAME, fitted.truncated(apply.components), results, inputs or [], table, output, engine, model, reporter
    )

"""`pcatool transform`."""

from __future__ import annotations

from pcatool.cli.outcome import Speaker
from pcatool.cli.shared import Inputs, ModelPath, lacks_input, model_of, refuse_binary
from pcatool.options import ApplyOptions, EngineOptions, GeneralOptions, OutputOptions, TableOptions

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
    """Project rows onto a model: scores PC1, PC2, ...

    One row for each row read, in the same order. The model's columns are found by name, wherever they stand; other
    columns are ignored, or passed through with --keep.

    Examples:
      pcatool transform houses.npz sample_data/houses.csv -o scores.csv
      cat sample_data/digits.csv | pcatool transform digits.npz -k 2 --keep digit
      pcatool transform orders.npz sample_data/orders.csv --missing keep \\
          --with-error -o scores.parquet
    """
    if lacks_input(inputs, NAME, USAGE):
        return 2
    if output.output_format == "parquet":
        refuse_binary(output.output, "Parquet")
    from pcatool.pipeline import apply as applying
    from pcatool.render.summary import apply_facts, apply_lines

    speaker = Speaker(general)
    results = applying.transform(model_of(model, inputs), inputs or [], table, apply, engine, speaker)
    applying.write(results, output, model)
    facts = apply_facts(NAME, results.model, results.tally, results.errors.mean, output.output)
    speaker.close(facts, apply_lines(facts), stdout_free=output.output not in (None, "-"))
    return 0

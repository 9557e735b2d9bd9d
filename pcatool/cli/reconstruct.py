"""`pcatool reconstruct`."""

from __future__ import annotations

from typing import Annotated

import typer

from pcatool.cli.outcome import Speaker
from pcatool.cli.shared import Inputs, ModelPath, lacks_input
from pcatool.errors import UsageError, show
from pcatool.options import ApplyOptions, GeneralOptions, OutputOptions, TableOptions

NAME = "reconstruct"


def run(
    *,
    model: ModelPath,
    inputs: Inputs = None,
    source: Annotated[
        str | None,
        typer.Option(
            "--from", metavar="scores|rows", help="What the input holds.", rich_help_panel="Input",
            show_default="by its columns: PC1, ... or the model's own",
        ),
    ] = None,
    table: TableOptions,
    apply: ApplyOptions,
    output: OutputOptions,
    general: GeneralOptions,
) -> int:  # fmt: skip
    """Rows in original units, from scores, or from original rows with only what the components keep.

    pcatool reconstruct model.npz scores.csv > approx.csv
    """
    if source not in (None, "scores", "rows"):
        raise UsageError(f"--from {show(source)} is neither scores nor rows")
    if model != "-" and lacks_input(inputs, NAME, "MODEL [INPUT...] [-o OUT]"):
        return 2
    from pcatool import pipeline
    from pcatool.modelfile import load_model
    from pcatool.render.summary import apply_facts, apply_lines

    speaker = Speaker(general)
    results = pipeline.reconstruct(load_model(model), inputs or [], table, apply, source, speaker)
    pipeline.write(results, output, model)
    facts = apply_facts(NAME, results.model, results.tally, results.errors.mean, output.output)
    speaker.close(facts, apply_lines(facts), stdout_free=output.output not in (None, "-"))
    return 0

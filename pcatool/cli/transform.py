"""`pcatool transform`."""

from __future__ import annotations

from pcatool.cli.outcome import Speaker
from pcatool.cli.shared import Inputs, ModelPath, lacks_input
from pcatool.options import ApplyOptions, GeneralOptions, OutputOptions, TableOptions

NAME = "transform"


def run(
    *,
    model: ModelPath,
    inputs: Inputs = None,
    table: TableOptions,
    apply: ApplyOptions,
    output: OutputOptions,
    general: GeneralOptions,
) -> int:
    """Scores of new rows: columns PC1, PC2, ..., one row for each row read.

    cat new.csv | pcatool transform model.npz > scores.csv
    """
    if model != "-" and lacks_input(inputs, NAME, "MODEL [INPUT...] [-o OUT]"):
        return 2
    from pcatool import pipeline
    from pcatool.modelfile import load_model
    from pcatool.render.summary import apply_facts, apply_lines

    speaker = Speaker(general)
    results = pipeline.transform(load_model(model), inputs or [], table, apply, speaker)
    pipeline.write(results, output, model)
    facts = apply_facts(NAME, results.model, results.tally, results.errors.mean, output.output)
    speaker.close(facts, apply_lines(facts), stdout_free=output.output not in (None, "-"))
    return 0

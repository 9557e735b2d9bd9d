"""Write and report results: rows of transform and reconstruct, models of update, merge, subtract and refit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pcatool.cli.parameters import refuse_binary
from pcatool.cli.reporter import ConsoleReporter
from pcatool.errors import UsageError
from pcatool.options import ANY_FILE, EngineOptions, OutputOptions, TableOptions

__all__ = ["ModelOutput", "deliver", "produce"]

if TYPE_CHECKING:
    from pcatool.model.model import Model
    from pcatool.pipeline.combine import Combined
    from pcatool.pipeline.results import Results
    from pcatool.progress import Reporter


def deliver(
    name: str,
    fitted: Model,
    make: Callable[[Any, TableOptions, Reporter], Results],
    inputs: list[str],
    table: TableOptions,
    output: OutputOptions,
    engine: EngineOptions,
    model: str,
    speaker: ConsoleReporter,
) -> int:
    """Write the rows that `make` returns for the inputs, and print the summary; return the exit code.

    Rows go to one output, to one file per input in a folder, or to parts that a cluster writes. `name` is the
    command, `fitted` the model in use, `model` the path it was read from.
    """
    from pcatool.pipeline import output_folder
    from pcatool.pipeline.results import write

    if engine.far:
        from pcatool.pipeline.cluster import write_parts
        from pcatool.render.summary import apply_facts, apply_lines, parts_facts, parts_lines

        results, written = write_parts(make, inputs, table, output, model, engine, speaker)
        facts = apply_facts(name, results.model, results.tally, results.errors.mean, output.output)
        facts |= parts_facts(written)
        speaker.close(facts, [*apply_lines(facts), *parts_lines(facts)], stdout_free=True)
        return 0
    if output_folder.goes_to_folder(output):
        from pcatool.render.summary import apply_facts, apply_lines, folder_facts, folder_lines

        outputs = output_folder.write_each(make, inputs, table, output, model, speaker)
        facts = apply_facts(name, fitted, outputs.tally, outputs.errors.mean, output.output)
        facts |= folder_facts(outputs.written, outputs.skipped, outputs.resumed)
        speaker.close(facts, [*apply_lines(facts), *folder_lines(facts)], stdout_free=True)
        return 0
    results = make(inputs, table, speaker)
    write(results, output, model)
    if speaker.summarizes:
        from pcatool.render.summary import apply_facts, apply_lines

        facts = apply_facts(name, results.model, results.tally, results.errors.mean, output.output)
        speaker.close(facts, apply_lines(facts), stdout_free=output.output not in (None, "-"))
    return 0


ModelOutput = Annotated[
    str | None,
    typer.Option(
        "-o",
        "--output",
        metavar="MODEL",
        help="Write the model here, replacing the file in one step; - is standard output.",
        rich_help_panel="Output",
        show_default=False,
    ),
    ANY_FILE,
]


def produce(
    name: str,
    output: str | None,
    no_clobber: bool,
    inputs: Sequence[str],
    make: Callable[[], Combined],
    speaker: ConsoleReporter,
) -> int:
    """Write the model that `make` returns to `output`, and print the summary; return the exit code.

    An output that cannot be written, or that is one of the inputs, is refused before `make` is called.
    """
    if output is None:
        raise UsageError(f"{name} needs -o MODEL, the file to write the model to", "- writes to standard output")
    refuse_binary(output, "a model")
    from pcatool.model.npz import save_model
    from pcatool.render.summary import combined_facts, combined_lines
    from pcatool.writers.sink import check_target

    check_target(output, no_clobber=no_clobber, inputs=inputs)
    combined = make()
    save_model(combined.model, output, no_clobber=no_clobber, inputs=inputs)
    facts = combined_facts(name, combined.model, combined.before, combined.tally, output)
    speaker.close(facts, combined_lines(facts), stdout_free=output != "-")
    return 0

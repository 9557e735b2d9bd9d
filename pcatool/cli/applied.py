"""What transform and reconstruct have in common: results go to a stream, or to a folder, and a summary closes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from pcatool.cli.speaker import Speaker
from pcatool.options import EngineOptions, OutputOptions, TableOptions

if TYPE_CHECKING:
    from pcatool.model.model import Model
    from pcatool.pipeline.results import Results
    from pcatool.progress import Notices

__all__ = ["deliver"]


def deliver(
    name: str,
    fitted: Model,
    make: Callable[[Any, TableOptions, Notices], Results],
    inputs: list[str],
    table: TableOptions,
    output: OutputOptions,
    engine: EngineOptions,
    model: str,
    speaker: Speaker,
) -> int:
    """Write what becomes of the inputs, and say so."""
    from pcatool.pipeline import output_folder
    from pcatool.pipeline.results import write
    from pcatool.render.summary import apply_facts, apply_lines, folder_facts, folder_lines, parts_facts, parts_lines

    if engine.far:
        from pcatool.pipeline.cluster import write_parts

        results, written = write_parts(make, inputs, table, output, model, engine, speaker)
        facts = apply_facts(name, results.model, results.tally, results.errors.mean, output.output)
        facts |= parts_facts(written)
        speaker.close(facts, [*apply_lines(facts), *parts_lines(facts)], stdout_free=True)
        return 0
    if output_folder.goes_to_folder(output):
        outputs = output_folder.write_each(make, inputs, table, output, model, speaker)
        facts = apply_facts(name, fitted, outputs.tally, outputs.errors.mean, output.output)
        facts |= folder_facts(outputs.written, outputs.skipped, outputs.resumed)
        speaker.close(facts, [*apply_lines(facts), *folder_lines(facts)], stdout_free=True)
        return 0
    results = make(inputs, table, speaker)
    write(results, output, model)
    facts = apply_facts(name, results.model, results.tally, results.errors.mean, output.output)
    speaker.close(facts, apply_lines(facts), stdout_free=output.output not in (None, "-"))
    return 0

"""What update, merge, subtract and refit have in common: a model comes out, is written, and a summary closes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from pcatool.cli.parameters import refuse_binary
from pcatool.cli.speaker import Speaker
from pcatool.errors import UsageError
from pcatool.options import ANY_FILE

if TYPE_CHECKING:
    from pcatool.pipeline.combine import Combined

__all__ = ["ModelOutput", "produce"]

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
    speaker: Speaker,
) -> int:
    """Make a model and write it where none of the inputs is; a place that cannot be written is refused before."""
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

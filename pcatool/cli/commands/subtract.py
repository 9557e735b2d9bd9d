"""Command `pcatool subtract`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from pcatool.cli.parameters import Inputs, ModelOutput, ModelPath, NoClobber, model_of, prints_usage, write_model
from pcatool.cli.reporter import ConsoleReporter
from pcatool.options import MODEL_OR_DATA, EngineOptions, GeneralOptions, TableOptions, UpdateOptions
from pcatool.stores.uri import shown

if TYPE_CHECKING:
    from pcatool.pipeline.combine import Combined

NAME = "subtract"
USAGE = "MODEL [INPUT...] -o MODEL [OPTIONS]"


def run(
    *,
    model: ModelPath,
    inputs: Annotated[Inputs, MODEL_OR_DATA] = None,
    output: ModelOutput = None,
    no_clobber: NoClobber = False,
    table: TableOptions,
    options: UpdateOptions,
    engine: EngineOptions,
    general: GeneralOptions,
) -> int:
    """Remove rows from a model, as for a sliding window.

    The inputs are tables of rows that were fitted, or models that were fitted to such rows. The run ends with an
    error if the rows cannot have been in the fit. It also ends with an error if too few digits remain accurate: for
    example, if an eigenvalue had 8 accurate digits and would have fewer. -o may name the file of the old model: the
    new model then replaces this file.

    Examples:
      pcatool subtract twice.npz houses.npz -o once.npz -v
      head -900 sample_data/digits.csv | pcatool subtract digits.npz -o rest.npz
    """
    if prints_usage(inputs, NAME, USAGE):
        return 2
    from pcatool.pipeline import combine
    from pcatool.pipeline.combine import are_models, models_of, refuse_reading

    reporter, data = ConsoleReporter(general), inputs or []
    named = (shown(model), model_of(model, None if inputs and "-" not in inputs else inputs))

    def make() -> Combined:
        if are_models(data):
            refuse_reading(table, options, engine)
            return combine.subtract_models(named, models_of(data), options.align_to, reporter)
        return combine.subtract(named, data, table, options, engine, reporter)

    return write_model(NAME, output, no_clobber, data, make, reporter)

"""Command `pcatool update`."""

from __future__ import annotations

from pcatool.cli.parameters import Inputs, ModelOutput, ModelPath, NoClobber, model_of, prints_usage, write_model
from pcatool.cli.reporter import ConsoleReporter
from pcatool.options import EngineOptions, GeneralOptions, TableOptions, UpdateOptions
from pcatool.stores.uri import shown

NAME = "update"
USAGE = "MODEL [INPUT...] -o MODEL [OPTIONS]"


def run(
    *,
    model: ModelPath,
    inputs: Inputs = None,
    output: ModelOutput = None,
    no_clobber: NoClobber = False,
    table: TableOptions,
    options: UpdateOptions,
    engine: EngineOptions,
    general: GeneralOptions,
) -> int:
    """Add new rows to a model, without the old rows.

    The result equals a fit of all rows together, up to rounding, and has its own certificate of accuracy. -o may
    name the file of the old model: the new model then replaces this file.

    Examples:
      pcatool update houses.npz sample_data/houses.csv -o twice.npz -v
      cat sample_data/digits.csv | pcatool update digits.npz -o digits.npz
    """
    if prints_usage(inputs, NAME, USAGE):
        return 2
    from pcatool.pipeline import combine

    reporter, data = ConsoleReporter(general), inputs or []
    named = (shown(model), model_of(model, inputs))
    return write_model(
        NAME,
        output,
        no_clobber,
        data,
        lambda: combine.update(named, data, table, options, engine, reporter),
        reporter,
    )

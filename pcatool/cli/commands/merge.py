"""Command `pcatool merge`."""

from __future__ import annotations

from typing import Annotated

import typer

from pcatool.cli.parameters import ModelOutput, NoClobber, write_model
from pcatool.cli.reporter import ConsoleReporter
from pcatool.options import MODEL, AlignOptions, GeneralOptions

NAME = "merge"
USAGE = "MODEL... -o MODEL [OPTIONS]"


def run(
    *,
    models: Annotated[
        list[str],
        typer.Argument(
            metavar="MODEL...",
            help="Model files, as pcatool fit writes them; folders and globs are allowed.",
            show_default=False,
        ),
        MODEL,
    ],
    output: ModelOutput = None,
    no_clobber: NoClobber = False,
    options: AlignOptions,
    general: GeneralOptions,
) -> int:
    """Merge models into one model. The rows are not needed.

    The result equals a fit of all rows together, up to rounding, and has its own certificate of accuracy. The
    models must agree in columns, method, centring, scaling, divisor, whitening, weights and labels. The merged
    model uses the -k of the first model. If this -k is a share or a rule, it is applied to all rows together.

    Examples:
      head -900 sample_data/digits.csv | pcatool fit -x digit -k 10 -o first.npz
      sed 2,900d sample_data/digits.csv | pcatool fit -x digit -k 10 -o second.npz
      pcatool merge first.npz second.npz -o both.npz -v
    """
    from pcatool.pipeline import combine
    from pcatool.pipeline.combine import model_paths, models_of

    reporter, paths = ConsoleReporter(general), model_paths(models)
    return write_model(
        NAME,
        output,
        no_clobber,
        paths,
        lambda: combine.merge(models_of(paths), options.align_to, reporter),
        reporter,
    )

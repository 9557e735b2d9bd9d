"""Command `pcatool refit`."""

from __future__ import annotations

from pcatool.cli.parameters import ModelOutput, ModelPath, NoClobber, model_of, prints_usage, write_model
from pcatool.cli.reporter import ConsoleReporter
from pcatool.options import GeneralOptions, RefitOptions
from pcatool.stores.uri import shown

NAME = "refit"
USAGE = "MODEL -o MODEL [OPTIONS]"


def run(
    *,
    model: ModelPath,
    output: ModelOutput = None,
    no_clobber: NoClobber = False,
    options: RefitOptions,
    general: GeneralOptions,
) -> int:
    """Change the settings of a model, without the rows.

    The command can change the number of components or the rule that chooses the number, standardising, centring,
    the divisor of variances and whitening, and can leave out columns. The result equals a fit of the rows with the new
    settings, up to rounding. -o may name the file of the old model: the new model then replaces this file.

    Examples:
      pcatool refit digits.npz -k parallel -o fewer.npz
      pcatool refit digits.npz --standardize --ddof 1 -x p0-p7 -o correlations.npz
    """
    if prints_usage([model], NAME, USAGE):
        return 2
    from pcatool.pipeline.combine import Combined, refit

    reporter, fitted = ConsoleReporter(general), model_of(model, ["data"])

    def make() -> Combined:
        return Combined(refit((shown(model), fitted), options, reporter), fitted.n_samples)

    return write_model(NAME, output, no_clobber, (), make, reporter)

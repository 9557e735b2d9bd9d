"""Command `pcatool inspect`."""

from __future__ import annotations

from pcatool.cli.parameters import ModelPath, prints_usage
from pcatool.cli.reporter import ConsoleReporter, print_result
from pcatool.options import InspectGeneralOptions
from pcatool.terminal import Screen

NAME = "inspect"
USAGE = "MODEL [OPTIONS]"


def run(*, model: ModelPath, general: InspectGeneralOptions) -> int:
    """Describe a model file in plain words.

    The command prints the method and settings, the columns, the components and their accuracy, what the model can and
    cannot be used for, and the arrays in the file. With -v it prints every column and every component.

    Examples:
      pcatool inspect houses.npz
      pcatool inspect digits.npz --json > facts.json
      cat orders.npz | pcatool inspect - -v
    """
    if prints_usage([model], NAME, USAGE):
        return 2
    from pcatool.pipeline.describe import inspect
    from pcatool.render.inspection import inspection_text

    facts = inspect(model)
    if not general.json:
        screen = Screen.now()
        width = screen.width if screen.terminal else None
        text = inspection_text(
            facts, everything=general.verbose, width=width, color=screen.color, unicode=screen.unicode
        )
        print_result(text)
    else:
        ConsoleReporter(general).close({"command": NAME, **facts}, [], stdout_free=True)
    return 0

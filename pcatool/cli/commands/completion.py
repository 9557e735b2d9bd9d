"""Command `pcatool completion`."""

from __future__ import annotations

from typing import Annotated

import typer

from pcatool.cli.reporter import print_result
from pcatool.options import word_of
from pcatool.options.fields import either
from pcatool.registry import SHELLS

NAME = "completion"
USAGE = "SHELL"


def run(
    *,
    shell: Annotated[
        str,
        typer.Argument(metavar="SHELL", help=f"Your shell: {either(tuple(SHELLS))}.", show_default=False),
        word_of(*SHELLS),
    ],
) -> int:
    """Print a script for tab completion of pcatool in a shell.

    TAB then offers commands, options and their values, models where a command takes a model, and tables where it takes
    data. The script needs no run of pcatool when TAB is pressed.

    Examples:
      source <(pcatool completion bash)
      pcatool completion zsh > _pcatool
      pcatool completion fish > pcatool.fish

    Where to put the script, so that every new shell has it:
      bash        source <(pcatool completion bash), a line in ~/.bashrc; or,
                  with bash-completion,
                  as ~/.local/share/bash-completion/completions/pcatool
      zsh         as _pcatool into a folder that ~/.zshrc adds to fpath
                  before it calls compinit: fpath=(~/.zfunc $fpath)
      fish        as ~/.config/fish/completions/pcatool.fish,
                  or 'pcatool completion fish | source' into config.fish
      powershell  this line into the file that $PROFILE names:
                  pcatool completion powershell | Out-String | Invoke-Expression
    """
    from pcatool.cli.completion.scripts import script  # not at the top: the command tree imports this module

    print_result(script(shell).rstrip("\n"))
    return 0

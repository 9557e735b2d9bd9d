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
    data. The script does not start pcatool when TAB is pressed.

    Examples:
      source <(pcatool completion bash)
      pcatool completion zsh > _pcatool
      pcatool completion fish > pcatool.fish

    Where to put the script, so that every new shell has it:
      bash        Add this line to ~/.bashrc: source <(pcatool completion bash)
                  With bash-completion you can write the script to
                  ~/.local/share/bash-completion/completions/pcatool instead.
      zsh         Write the script to ~/.zfunc/_pcatool, and add this line to
                  ~/.zshrc, before compinit is called: fpath=(~/.zfunc $fpath)
      fish        Write the script to ~/.config/fish/completions/pcatool.fish
      powershell  Add this line to the file that $PROFILE names:
                  pcatool completion powershell | Out-String | Invoke-Expression
    """
    from pcatool.cli.completion.scripts import script  # not at the top: the command tree imports this module

    print_result(script(shell).rstrip("\n"))
    return 0

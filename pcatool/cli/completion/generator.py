"""The shells that have a completion script, and functions that make and write the scripts."""

from __future__ import annotations

from pathlib import Path

from pcatool.registry import Entry, Registry

__all__ = ["FILES", "SHELLS", "script", "write_all"]

SHELLS = Registry(
    "shell",
    {
        "bash": Entry(
            "pcatool.cli.completion.scripts:bash_script", "bash 4 and later, with bash-completion or without"
        ),
        "zsh": Entry("pcatool.cli.completion.scripts:zsh_script", "zsh 5 and later, by compinit"),
        "fish": Entry("pcatool.cli.completion.scripts:fish_script", "fish 3.2 and later"),
        "powershell": Entry(
            "pcatool.cli.completion.scripts:powershell_script", "PowerShell 5 and later, on every system"
        ),
    },
)

# Shell -> file name of its script.
FILES = {"bash": "pcatool.bash", "zsh": "_pcatool", "fish": "pcatool.fish", "powershell": "pcatool.ps1"}


def script(shell: str) -> str:
    """Return the completion script of a shell."""
    from pcatool.cli.completion.table import table

    text: str = SHELLS.load(shell)(table())
    return text


def write_all(folder: Path) -> None:
    """Write the scripts of all shells to a folder."""
    for shell, name in FILES.items():
        (folder / name).write_text(script(shell), encoding="utf-8")

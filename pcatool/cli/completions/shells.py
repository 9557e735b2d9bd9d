"""The shells there are scripts for, and what each of them calls the file."""

from __future__ import annotations

from pathlib import Path

from pcatool.registry import Entry, Registry

__all__ = ["FILES", "SHELLS", "script", "write_all"]

SHELLS = Registry(
    "shell",
    {
        "bash": Entry("pcatool.cli.completions.bash:script", "bash 4 and later, with bash-completion or without"),
        "zsh": Entry("pcatool.cli.completions.zsh:script", "zsh 5 and later, by compinit"),
        "fish": Entry("pcatool.cli.completions.fish:script", "fish 3.2 and later"),
        "powershell": Entry("pcatool.cli.completions.powershell:script", "PowerShell 5 and later, on every system"),
    },
)

FILES = {"bash": "pcatool.bash", "zsh": "_pcatool", "fish": "pcatool.fish", "powershell": "pcatool.ps1"}


def script(shell: str) -> str:
    from pcatool.cli.completions.table import table

    text: str = SHELLS.load(shell)(table())
    return text


def write_all(folder: Path) -> None:
    for shell, name in FILES.items():
        (folder / name).write_text(script(shell), encoding="utf-8")

"""Shells with nothing of the caller's in them, and pcatool's completion loaded."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from cli.completion.terminal import PROMPT, Terminal

SCRIPTS = Path(__file__).resolve().parents[3] / "completions"

# What stands for the program: it prints what it was given.
SAYING = "pcatool() { printf '{%s}' \"$@\"; echo .; }"
SET_UP = {
    "bash": f"source {SCRIPTS / 'pcatool.bash'}\n{SAYING}\nPS1='{PROMPT}'\n",
    "zsh": f"autoload -U compinit; compinit -u -D\nsource {SCRIPTS / '_pcatool'}\n{SAYING}\nPS1='{PROMPT}'\n",
    "fish": f"source {SCRIPTS / 'pcatool.fish'}\n"
    "function pcatool; printf '{%s}' $argv; echo .; end\n"
    f"function fish_prompt; echo -n '{PROMPT}'; end\nfunction fish_greeting; end\n",
}
BARE = {
    "bash": ["bash", "--noprofile", "--rcfile", "set_up", "-i"],
    "zsh": ["zsh", "-f", "-i"],
    "fish": ["fish", "--no-config", "--init-command", "source set_up", "-i"],
}


def need(shell: str) -> str:
    """Where it is not, it cannot be tried; the check on a server installs it."""
    if shutil.which(shell) is None:
        pytest.skip(f"no {shell} here (Debian: apt-get install {shell})")
    return shell


def at_prompt(shell: str, folder: Path, environment: dict[str, str]) -> Terminal:
    (folder / "set_up").write_text(SET_UP[need(shell)])
    terminal = Terminal(BARE[shell], folder, {**environment, "HOME": str(folder)})
    if shell == "zsh":
        terminal.press(". ./set_up\r")
    terminal.wait_for(PROMPT)
    return terminal

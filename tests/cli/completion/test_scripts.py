"""The scripts that are checked in, printed and installed are one."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from cli.completion.shells import SCRIPTS
from pcatool.cli.completion.scripts import FILES, script, write_all
from pcatool.cli.completion.table import table
from pcatool.registry import SHELLS

REFRESH = "python -m pcatool.cli.completion completions"


def test_each_shell_has_its_file() -> None:
    assert list(SHELLS) == list(FILES)
    assert {path.name for path in SCRIPTS.iterdir()} == set(FILES.values())


@pytest.mark.parametrize("shell", FILES)
def test_scripts_are_fresh(shell: str) -> None:
    fresh = script(shell) == (SCRIPTS / FILES[shell]).read_text(encoding="utf-8")
    assert fresh, f"options have changed; write the scripts anew: {REFRESH}"


def test_all_are_written_by_one_command(tmp_path: Path) -> None:
    command = REFRESH.split()[1:-1]
    subprocess.run([sys.executable, *command, str(tmp_path)], check=True)
    write_all(tmp_path / ".")
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {
        path.name: path.read_bytes() for path in SCRIPTS.iterdir()
    }


@pytest.mark.parametrize("shell", FILES)
def test_the_program_prints_them(shell: str, tmp_path: Path, plain_environment: dict[str, str]) -> None:
    done = subprocess.run(
        ["pcatool", "completion", shell], cwd=tmp_path, env=plain_environment, capture_output=True, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout == (SCRIPTS / FILES[shell]).read_bytes()


# --- PowerShell, which is not to be had here: what can be told of its script by reading it ---


def bare(text: str) -> str:
    """The script without its strings and comments."""
    return re.sub(r"'(?:[^']|'')*'|\"(?:[^\"`]|`.)*\"|#[^\n]*", "", text)


def test_powershell_is_in_balance() -> None:
    text = script("powershell")
    assert text.isascii(), "PowerShell 5 reads a file without a mark in the encoding of the system"
    open_ones: list[str] = []
    for letter in bare(text):
        if letter in "({[":
            open_ones.append(")}]"["({[".index(letter)])
        elif letter in ")}]":
            assert open_ones.pop() == letter
    assert open_ones == []
    assert not re.search(r"['\"]", bare(text))


def test_powershell_knows_all() -> None:
    text = script("powershell")
    assert "Register-ArgumentCompleter -Native -CommandName 'pcatool'" in text
    for entry in table().subcommands:
        own = text.partition(f"        '{entry.name}' = @{{\n")[2].partition("\n        }")[0]
        for option in entry.options:
            (line,) = [
                line for line in own.splitlines() if re.search(rf"'\*?{re.escape('|'.join(option.names))}['=]", line)
            ]
            assert all(word in line for word in option.value.words)
            assert ("=" in line.partition("; About")[0].partition("'")[2]) == (option.metavar is not None)

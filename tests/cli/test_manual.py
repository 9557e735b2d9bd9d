"""Manual pages: made from the command tree, without a word for a formatter to warn of, and nothing lost in them."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from documents import ROOT, TOPICS
from pcatool import errors
from pcatool.cli.app import program
from pcatool.cli.completion.generator import FILES, script
from pcatool.cli.manual.page import EXIT_STATUS, PAGES, escaped, prose, write_all, written
from programs import need

REFRESH = "python -m pcatool.cli.manual"
TREE = program()
NAMES = list(TREE.commands)
WRITTEN = dict(written())
SCRIPT = {shell: script(shell) for shell in FILES}

# Where the part of a script begins that is about a subcommand.
BEGINS = {
    "bash": r"^        (\S+)\)$",
    "zsh": r"^    (\S+)\)$",
    "fish": r"^        case (.+)$",
    "powershell": r"^        '(.*)' = @\{$",
}


def test_pages_are_fresh(tmp_path: Path) -> None:
    """In an installation they lie elsewhere, so they are found in the checkout."""
    write_all(tmp_path)
    checked_in = {path.name: path.read_bytes() for path in (ROOT / "pcatool/cli/manual/pages").iterdir()}
    fresh = {path.name: path.read_bytes() for path in tmp_path.iterdir()} == checked_in
    assert fresh, f"options have changed; write the pages anew: {REFRESH}"
    assert PAGES.name == "pages"


def flags(command: Any) -> Iterator[str]:
    """As the parser itself has them."""
    for param in command.get_params(command.context_class(command, info_name="x")):
        if param.param_type_name == "option":
            yield from (*param.opts, *param.secondary_opts)


def section(shell: str, name: str) -> str:
    """Of a script, what is about one subcommand."""
    text = SCRIPT[shell]
    begins = list(re.finditer(BEGINS[shell], text, re.MULTILINE))
    (number,) = [n for n, found in enumerate(begins) if found[1] == name]
    ends = [found.start() for found in begins[number + 1 :]] or [len(text)]
    return text[begins[number].end() : ends[0]]


@pytest.mark.parametrize("name", NAMES)
def test_every_flag_is_in_help_in_completion_and_in_the_page(name: str) -> None:
    command = TREE.commands[name]
    page = re.sub(r"\\f[BIR]", " ", WRITTEN[f"pcatool-{name}.1"]).replace(r"\-", "-")
    places = {"help": command.get_help(command.context_class(command, info_name=name))}
    places |= {shell: section(shell, name) for shell in FILES}
    places["page"] = "".join(re.findall(r"^\.TP\n.*\n", page, re.MULTILINE))
    wanted = list(flags(command))
    assert "--help" in wanted
    for place, text in places.items():
        missing = [flag for flag in wanted if not re.search(rf"(?<![\w-]){re.escape(flag)}(?![\w-])", text)]
        assert missing == [], place


def test_the_programs_own_flags_are_in_its_page() -> None:
    page = WRITTEN["pcatool.1"]
    assert all(rf"\fB{escaped(flag)}\fR" in page for flag in flags(TREE))
    assert all(rf"\fBpcatool\-{escaped(name)}\fR(1)" in page for name in NAMES)


@pytest.mark.parametrize(
    "command", [("mandoc", "-Tlint"), ("groff", "-man", "-Tutf8", "-ww", "-z")], ids=lambda words: words[0]
)
def test_no_formatter_warns(command: Sequence[str], tmp_path: Path) -> None:
    """Of a missing date mandoc does: there is none, so that a page changes only with what it says."""
    need(command[0])
    write_all(tmp_path)
    done = subprocess.run([*command, *sorted(tmp_path.iterdir())], capture_output=True, text=True)
    said = [line for line in (done.stdout + done.stderr).splitlines() if "missing date" not in line]
    assert said == []


@pytest.mark.parametrize("command", [("mandoc", "-Tutf8"), ("groff", "-man", "-Tutf8", "-P-cbou")], ids=lambda w: w[0])
def test_what_is_read_can_be_typed(command: Sequence[str]) -> None:
    """Examples come out letter by letter, with the hyphens and quotes that a shell takes."""
    need(command[0])
    for name in NAMES:
        page = WRITTEN[f"pcatool-{name}.1"]
        shown = subprocess.run(command, input=page, capture_output=True, text=True, check=True)
        plain = re.sub(r".\x08", "", shown.stdout)
        examples = TREE.commands[name].help.partition("Examples:\n")[2].partition("\n\n")[0].splitlines()
        assert examples
        for line in examples:
            assert re.search(rf"^ +{re.escape(line.strip())}$", plain, re.MULTILINE), line
        assert all(flag in plain for flag in flags(TREE.commands[name]))


def test_marks_of_roff_are_plain_letters() -> None:
    assert escaped(r"a\b 'c' -d .e") == r"a\eb \(aqc\(aq \-d .e"
    assert escaped(".TH") == r"\&.TH"
    assert escaped("'x") == r"\(aqx"
    assert escaped("größe") == r"gr\[u00F6]\[u00DF]e"
    assert [line[:2] for line in prose("word " * 20 + ".PP " * 30)].count(".P") == 0


def test_exit_codes_are_those_of_the_errors() -> None:
    used = {getattr(errors, name).exit_code for name in errors.__all__ if name.endswith("Error")}
    assert {str(code) for code in used} <= set(EXIT_STATUS)
    assert list(EXIT_STATUS) == [code for code, _ in TOPICS["unattended"].table("code | meaning |")]

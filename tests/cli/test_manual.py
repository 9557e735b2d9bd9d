"""Manual pages: made from the command tree and the help topics, so that no formatter warns, and nothing is lost."""

from __future__ import annotations

import re
import subprocess
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from documents import ROOT, TOPICS
from pcatool import errors
from pcatool.cli.app import program
from pcatool.cli.completion.scripts import FILES, script
from pcatool.cli.manual.page import EXIT_STATUS, PAGES, escaped, markdown_to_roff, pages, prose, write_all
from pcatool.cli.topics import LINK
from programs import need

REFRESH = "python -m pcatool.cli.manual"
TREE = program()
NAMES = list(TREE.commands)
WRITTEN = dict(pages())
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
    folder = ROOT / "pcatool/cli/manual/pages"
    checked_in = {path.relative_to(folder): path.read_bytes() for path in folder.glob("*/*")}
    fresh = {path.relative_to(tmp_path): path.read_bytes() for path in tmp_path.glob("*/*")} == checked_in
    assert fresh, f"options or topics have changed; write the pages anew: {REFRESH}"
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
    page = re.sub(r"\\f[BIR]", " ", WRITTEN[f"man1/pcatool-{name}.1"]).replace(r"\-", "-")
    places = {"help": command.get_help(command.context_class(command, info_name=name))}
    places |= {shell: section(shell, name) for shell in FILES}
    places["page"] = "".join(re.findall(r"^\.TP\n.*\n", page, re.MULTILINE))
    wanted = list(flags(command))
    assert "--help" in wanted
    for place, text in places.items():
        missing = [flag for flag in wanted if not re.search(rf"(?<![\w-]){re.escape(flag)}(?![\w-])", text)]
        assert missing == [], place


def test_the_programs_own_flags_are_in_its_page() -> None:
    page = WRITTEN["man1/pcatool.1"]
    assert all(rf"\fB{escaped(flag)}\fR" in page for flag in flags(TREE))
    assert all(rf"\fBpcatool\-{escaped(name)}\fR(1)" in page for name in NAMES)


@pytest.mark.parametrize(
    "command", [("mandoc", "-Tlint"), ("groff", "-t", "-man", "-Tutf8", "-ww", "-z")], ids=lambda words: words[0]
)
def test_no_formatter_warns(command: Sequence[str], tmp_path: Path) -> None:
    """But for two things: there is no date, so that a page changes only with its text, and `man` has no page breaks."""
    need(command[0])
    write_all(tmp_path)
    done = subprocess.run([*command, *sorted(tmp_path.glob("*/*"))], capture_output=True, text=True)
    said = [
        line
        for line in (done.stdout + done.stderr).splitlines()
        if "missing date" not in line and "will not fit on one page" not in line
    ]
    assert said == []


@pytest.mark.parametrize("command", [("mandoc", "-Tutf8"), ("groff", "-man", "-Tutf8", "-P-cbou")], ids=lambda w: w[0])
def test_what_is_read_can_be_typed(command: Sequence[str]) -> None:
    """Examples come out letter by letter, with the hyphens and quotes that a shell takes."""
    need(command[0])
    for name in NAMES:
        page = WRITTEN[f"man1/pcatool-{name}.1"]
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


# --- pages of topics ---


def read(page: str) -> str:
    """What mandoc shows, on lines so long that none is broken."""
    need("mandoc")
    command = ["mandoc", "-Tutf8", "-Owidth=900"]
    shown = subprocess.run(command, input=page, capture_output=True, text=True, check=True).stdout
    return re.sub(r".\x08", "", shown)


def letters(text: str) -> Counter[str]:
    return Counter(re.sub(r"[\W_]", "", text))


@pytest.mark.parametrize("topic", TOPICS)
def test_a_page_has_all_of_its_topic(topic: str) -> None:
    """Each letter and digit once, and the lines of code as they are."""
    text = LINK.sub(r"pcatool-\1(7)", TOPICS[topic].text)
    text = re.sub(r"^```\w*$", "", text.partition("\n")[2], flags=re.MULTILINE)
    shown = read(WRITTEN[f"man7/pcatool-{topic}.7"])
    body = shown.partition("\nDESCRIPTION\n")[2].partition("\nSEE ALSO\n")[0]
    assert letters(body) == letters(text)
    lines = [line.strip() for line in body.splitlines()]
    code = [line for block in TOPICS[topic].blocks for line in (block.code + block.shown).splitlines()]
    assert [line for line in code if line.strip() not in lines] == []
    assert not re.search(r"\*\*|\]\(|^#", re.sub(r"^ {8,}.*$", "", body, flags=re.MULTILINE), re.MULTILINE)


MARKDOWN = {
    "plain words": [".PP", "plain words"],
    "## A heading\n\nwords": ['.SH "A heading"', "words"],
    "### Smaller": [".SS Smaller"],
    "`-k 3`, **bold**": [".PP", r"\fB\-k 3\fR, \fBbold\fR"],
    "**`code`**": [".PP", r"\fBcode\fR"],
    "see [models](models.md).": [".PP", r"see \fBpcatool\-models\fR(7)\&."],
    "[words](https://a.b/c)": [".PP", "words (https://a.b/c)"],
    "- one\n  more\n- two": [r".IP \(bu 2", "one more", r".IP \(bu 2", "two"],
    "```sh\na -b\n\n.c\n```": [".PP", ".RS 4", ".EX", r"a \-b", "", r"\&.c", ".EE", ".RE"],
    "| a | b |\n|---|---|\n| `x` | y\\|z |": [
        ".PP", ".TS", "l l", "l lx.", "\\fBa\\fR\t\\fBb\\fR", "_", "\\fBx\\fR\tT{\ny|z\nT}", ".TE",
    ],
}  # fmt: skip


@pytest.mark.parametrize("text", MARKDOWN)
def test_markdown_as_roff(text: str) -> None:
    before = [] if text.startswith("#") else ["## X", ""]
    lines = list(markdown_to_roff("\n".join([*before, "first", "", text])))
    assert lines[-len(MARKDOWN[text]) :] == MARKDOWN[text]


@pytest.mark.parametrize(
    "text",
    ["#### Deep", "> quoted", "1. first", "* item", "- a\n  - b", "<!-- no -->", "![a](b.png)", "---",
     "an *accent*", "a `b", "[a]", "    code"],
)  # fmt: skip
def test_other_markdown_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="cannot turn this Markdown into roff"):
        list(markdown_to_roff(f"first\n\n{text}\n"))


def test_pages_name_each_other() -> None:
    """A topic names the commands that it describes, and those name the topic; the program names all topics."""
    also = {
        name.partition("/")[2]: set(re.findall(r"\\fB(\S+)\\fR\((\d)\)", page.replace(r"\-", "-").rpartition(".SH")[2]))
        for name, page in WRITTEN.items()
    }
    topics = {(f"pcatool-{topic}", "7") for topic in TOPICS}
    assert topics <= also["pcatool.1"]
    for name, _ in topics:
        assert ("pcatool", "1") in also[f"{name}.7"]
    for name in NAMES:
        near = {topic for topic, section in also[f"pcatool-{name}.1"] if section == "7"}
        assert near == {topic for topic, _ in topics if (f"pcatool-{name}", "1") in also[f"{topic}.7"]}
    assert ("pcatool-models", "7") in also["pcatool-update.1"]

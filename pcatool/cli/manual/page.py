"""Make manual pages in roff, one for the program and one for each subcommand."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from pcatool import __version__
from pcatool.cli.completion.table import CommandTable, Option, Subcommand, table
from pcatool.cli.help_page import PANELS
from pcatool.errors import EXIT_CODES

__all__ = ["EXIT_STATUS", "PAGES", "escaped", "prose", "write_all", "written"]

EXIT_STATUS = {
    **{str(code): ending.sentence for code, ending in EXIT_CODES.items()},
    "129, 130, 143": "Stopped by SIGHUP, SIGINT or SIGTERM.",
}

ENVIRONMENT = {
    "NO_COLOR": "Set to anything, it takes the colours from what is drawn on a terminal.",
    "TERM": "If it is dumb there are no colours, and no line that says how far a run is.",
    "COLUMNS": "How wide help, tables and drawings are, instead of as wide as the terminal.",
    "OPENBLAS_CORETYPE": (
        "The processor that BLAS computes for, instead of the one that is there. With Haswell, all x86-64 processors "
        "that have AVX2 give the same bytes."
    ),
    "TMPDIR": "Where temporary files go, which are gone when the program ends.",
    "AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN, AWS_PROFILE, AWS_REGION, AWS_ENDPOINT_URL": (
        "For paths that begin with s3://, as for Amazon's own tools."
    ),
    "GOOGLE_APPLICATION_CREDENTIALS": "For gs://, as for Google's own tools.",
    "AZURE_STORAGE_ACCOUNT_KEY, AZURE_STORAGE_SAS_TOKEN": "For abfs://, beside what Azure's library finds.",
}

FILES = {
    "*.npz": (
        "Models: arrays of numbers and text without Python objects, which numpy.load reads. The help topic models "
        "describes them."
    ),
    ".NAME.*.pcatool-tmp": (
        "Beside an output that is being written; it takes the output's name in one step when all of it is there. After "
        "a power cut one may be left, and can be removed."
    ),
}


WIDTH = 80  # columns of a stored page; `man` fills the lines anew

# roff turns most of these characters into typographic hyphens and quotes, with which an option cannot be typed.
MARKS = {
    "\\": r"\e", "-": r"\-", "'": r"\(aq", "`": r"\(ga", "^": r"\(ha", "~": r"\(ti", '"': r"\(dq",
}  # fmt: skip


def escaped(text: str) -> str:
    """Escape a line of text, or a word, for roff; a leading dot does not become a command."""
    line = "".join(MARKS.get(letter, letter if letter.isascii() else f"\\[u{ord(letter):04X}]") for letter in text)
    return rf"\&{line}" if line.startswith(".") else line


def bold(text: str) -> str:
    return rf"\fB{escaped(text)}\fR"


def italic(text: str) -> str:
    return rf"\fI{escaped(text)}\fR"


def prose(text: str) -> list[str]:
    """Return a text as lines of roff of at most WIDTH columns."""
    marked = " ".join(map(escaped, text.split()))  # word by word: any word may begin a line
    return textwrap.wrap(marked, WIDTH, break_long_words=False, break_on_hyphens=False)


def heading(name: str, level: str = "SH") -> str:
    """Return a heading of a section (SH) or subsection (SS)."""
    return f'.{level} "{escaped(name)}"' if re.search(r"\s", name) else f".{level} {escaped(name)}"


def entry(words: str, meaning: str) -> list[str]:
    """Return the lines of a term, given in roff, and of its meaning below."""
    return [".TP", words, *prose(meaning)]


def example(lines: Iterable[str]) -> list[str]:
    """Return lines that `man` does not fill."""
    return [".RS 4", ".EX", *map(escaped, lines), ".EE", ".RE"]


def page(one: Subcommand, tree: CommandTable) -> str:
    """Return the manual page of a subcommand, or of the program.

    The page has no date, so that the same options give the same bytes.
    """
    whole = one is tree.program
    name = name_of(one, tree)
    lines = [
        r'.\" Made from the command tree by python -m pcatool.cli.manual',
        f'.TH {escaped(name.upper())} 1 "" "pcatool {__version__}" "pcatool manual"',
        ".nh",  # no hyphenation: names of commands and options stay whole
        heading("NAME"), *prose(f"{name} - {one.about[:1].lower()}{one.about[1:]}"),
        heading("SYNOPSIS"), bold(one.usage.split()[0]) + escaped(one.usage.removeprefix("pcatool")),
        heading("DESCRIPTION"), *description(one.text),
        *(commands(tree) if whole else ()),
        *options(one, whole),
        heading("EXAMPLES"), *examples(one.text),
        *listed("EXIT STATUS", EXIT_STATUS), *listed("ENVIRONMENT", ENVIRONMENT), *listed("FILES", FILES),
        heading("SEE ALSO"), *see_also(one, tree),
    ]  # fmt: skip
    return "\n".join(lines) + "\n"


def name_of(one: Subcommand, tree: CommandTable) -> str:
    return "pcatool" if one is tree.program else f"pcatool-{one.name}"


def paragraphs(text: str) -> list[str]:
    return [part for part in text.strip().split("\n\n") if part]


def description(text: str) -> Iterator[str]:
    """Yield the help text without its examples; indented lines are not filled."""
    begun = True
    for part in paragraphs(text):
        first, *rest = part.split("\n")
        if first.strip() == "Examples:":
            continue
        if not begun:
            yield ".PP"
        begun = False
        if rest and rest[0].startswith("  "):
            yield from prose(first)
            yield ".PP"
            yield from example(line.removeprefix("  ") for line in rest)
        else:
            yield from prose(part)


def examples(text: str) -> Iterator[str]:
    """Yield the examples in the help text."""
    for part in paragraphs(text):
        first, *rest = part.split("\n")
        if first.strip() == "Examples:":
            yield from example(line.removeprefix("  ") for line in rest)


def commands(tree: CommandTable) -> Iterator[str]:
    """Yield the list of subcommands."""
    yield heading("COMMANDS")
    for command in tree.subcommands:
        yield from entry(rf"{bold(f'pcatool-{command.name}')}(1)", command.text.partition("\n")[0])


def options(one: Subcommand, whole: bool) -> Iterator[str]:
    """Yield the positional arguments, then the groups of options in the order of the help page."""
    if one.arguments:
        yield heading("ARGUMENTS")
        for argument in one.arguments:
            dots = "..." if argument.repeatable else ""
            yield from entry(italic(f"{argument.metavar}{dots}"), argument.meaning)
    yield heading("OPTIONS")
    groups = dict.fromkeys([*PANELS, *(option.group for option in one.options)])
    for group in groups:
        members = [option for option in one.options if option.group == group]
        if members and not whole:
            yield heading(f"{group} options", "SS")
        for option in members:
            yield from entry(spelled(option), option.meaning)


def spelled(option: Option) -> str:
    names = ", ".join(map(bold, option.names))
    return names if option.metavar is None else f"{names} {italic(option.metavar)}"


def listed(name: str, entries: Mapping[str, str]) -> Iterator[str]:
    """Yield a section of terms in bold and their meanings."""
    yield heading(name)
    for words, meaning in entries.items():
        yield from entry(bold(words), meaning)


def see_also(one: Subcommand, tree: CommandTable) -> Iterator[str]:
    """Yield the names of all other pages."""
    others = (other for other in (tree.program, *tree.subcommands) if other is not one)
    named = [rf"{bold(name_of(other, tree))}(1)" for other in others]
    yield from (f"{name}," for name in named[:-1])
    yield named[-1]


PAGES = Path(__file__).parent / "pages"


def written() -> Iterator[tuple[str, str]]:
    """Yield the file name and the text of each page."""
    tree = table()
    yield "pcatool.1", page(tree.program, tree)
    for entry in tree.subcommands:
        yield f"pcatool-{entry.name}.1", page(entry, tree)


def write_all(folder: Path) -> None:
    """Write all pages to a folder, which is created if needed."""
    folder.mkdir(exist_ok=True)
    for name, text in written():
        (folder / name).write_text(text, encoding="ascii")

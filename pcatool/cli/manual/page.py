"""Make manual pages: in section 1 the program and each subcommand, in section 7 each help topic."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from pcatool import __version__
from pcatool.cli.completion.table import CommandTable, Option, Subcommand, table
from pcatool.cli.help_page import GROUPS
from pcatool.cli.manual.roff import bold, entry, escaped, example, heading, italic, markdown_to_roff, prose
from pcatool.cli.topics import LINK, summary, text_of, topics
from pcatool.errors import EXIT_CODES

__all__ = ["EXIT_STATUS", "PAGES", "pages", "write_all"]

EXIT_STATUS = {
    **{str(code): ending.sentence for code, ending in EXIT_CODES.items()},
    "129, 130, 143": "Stopped by SIGHUP, SIGINT or SIGTERM.",
}

ENVIRONMENT = {
    "NO_COLOR": "If set to anything, output on a terminal has no colours.",
    "TERM": "If dumb, output has no colours, and no progress line is shown.",
    "COLUMNS": "Width of help, tables and charts, instead of the width of the terminal.",
    "OPENBLAS_CORETYPE": (
        "Processor type that BLAS computes for, instead of the actual one. With Haswell, all x86-64 processors with "
        "AVX2 give the same bytes."
    ),
    "TMPDIR": "Folder for temporary files, which are deleted when the program ends.",
    "AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN, AWS_PROFILE, AWS_REGION, AWS_ENDPOINT_URL": (
        "Credentials and settings for s3:// paths, as in Amazon's own tools."
    ),
    "GOOGLE_APPLICATION_CREDENTIALS": "Credentials for gs:// paths, as in Google's own tools.",
    "AZURE_STORAGE_ACCOUNT_KEY, AZURE_STORAGE_SAS_TOKEN": "Credentials for abfs:// paths, in addition to those that "
    "Azure's library finds.",
}

FILES = {
    "*.npz": (
        "Models: arrays of numbers and text, without Python objects; numpy.load reads them. The help topic models "
        "describes the arrays."
    ),
    ".NAME.*.pcatool-tmp": (
        "Unfinished output, in the folder of the output, renamed in one step when complete. After a power cut such a "
        "file may remain; it can be deleted."
    ),
}


def page(one: Subcommand, tree: CommandTable) -> str:
    """Return the manual page of a subcommand, or of the program.

    The page has no date, so that the same options give the same bytes.
    """
    is_program = one is tree.program
    name = name_of(one, tree)
    lines = [
        r'.\" Made from the command tree by python -m pcatool.cli.manual',
        f'.TH {escaped(name.upper())} 1 "" "pcatool {__version__}" "pcatool manual"',
        ".nh",  # no hyphenation: names of commands and options stay whole
        heading("NAME"), *prose(f"{name} - {one.about[:1].lower()}{one.about[1:]}"),
        heading("SYNOPSIS"), bold(one.usage.split()[0]) + escaped(one.usage.removeprefix("pcatool")),
        heading("DESCRIPTION"), *description(one.text),
        *(commands_and_topics(tree) if is_program else ()),
        *options(one, is_program),
        heading("EXAMPLES"), *examples(one.text),
        *term_section("EXIT STATUS", EXIT_STATUS),
        *term_section("ENVIRONMENT", ENVIRONMENT),
        *term_section("FILES", FILES),
        heading("SEE ALSO"), *see_also(one, tree),
    ]  # fmt: skip
    return "\n".join(lines) + "\n"


def name_of(one: Subcommand, tree: CommandTable) -> str:
    return "pcatool" if one is tree.program else f"pcatool-{one.name}"


def paragraphs(text: str) -> list[str]:
    return [part for part in text.strip().split("\n\n") if part]


def description(text: str) -> Iterator[str]:
    """Yield the help text without its examples; indented lines are not filled."""
    at_start = True
    for part in paragraphs(text):
        first, *rest = part.split("\n")
        if first.strip() == "Examples:":
            continue
        if not at_start:
            yield ".PP"
        at_start = False
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


def commands_and_topics(tree: CommandTable) -> Iterator[str]:
    """Yield the lists of subcommands and of help topics."""
    yield heading("COMMANDS")
    for command in tree.subcommands:
        yield from entry(rf"{bold(f'pcatool-{command.name}')}(1)", command.text.partition("\n")[0])
    yield heading("TOPICS")
    for topic in topics():
        yield from entry(rf"{bold(f'pcatool-{topic}')}(7)", f"{summary(topic)}.")


def options(one: Subcommand, is_program: bool) -> Iterator[str]:
    """Yield the positional arguments, then the groups of options in the order of the help page."""
    if one.arguments:
        yield heading("ARGUMENTS")
        for argument in one.arguments:
            dots = "..." if argument.repeatable else ""
            yield from entry(italic(f"{argument.metavar}{dots}"), argument.meaning)
    yield heading("OPTIONS")
    groups = dict.fromkeys([*GROUPS, *(option.group for option in one.options)])
    for group in groups:
        members = [option for option in one.options if option.group == group]
        if members and not is_program:
            yield heading(f"{group} options", "SS")
        for option in members:
            yield from entry(option_term(option), option.meaning)


def option_term(option: Option) -> str:
    names = ", ".join(map(bold, option.names))
    return names if option.metavar is None else f"{names} {italic(option.metavar)}"


def term_section(name: str, entries: Mapping[str, str]) -> Iterator[str]:
    """Yield a section of terms in bold and their meanings."""
    yield heading(name)
    for words, meaning in entries.items():
        yield from entry(bold(words), meaning)


def see_also(one: Subcommand, tree: CommandTable) -> Iterator[str]:
    """Yield the names of all other pages of section 1, and of the topics that describe the command."""
    others = [name_of(other, tree) for other in (tree.program, *tree.subcommands) if other is not one]
    near = topics() if one is tree.program else [topic for topic in topics() if describes(topic, one.name)]
    yield from page_names({1: others, 7: [f"pcatool-{topic}" for topic in near]})


def describes(topic: str, command: str) -> bool:
    """Whether a topic names a command in code, as in `fit` or `pcatool fit`."""
    return bool(re.search(rf"`{command}\b|\bpcatool {command}\b", text_of(topic)))


def page_names(sections: Mapping[int, list[str]]) -> Iterator[str]:
    """Yield the names of pages, with commas between."""
    named = [f"{bold(name)}({section})" for section, names in sections.items() for name in names]
    yield from (f"{name}," for name in named[:-1])
    yield named[-1]


def topic_page(topic: str, tree: CommandTable) -> str:
    """Return the manual page of a help topic."""
    name, text = f"pcatool-{topic}", text_of(topic)
    described = [command.name for command in tree.subcommands if describes(topic, command.name)]
    linked = sorted({found[1] for found in LINK.finditer(text)})
    lines = [
        "'\\\" t",  # the page has tables for tbl
        rf'.\" Made from pcatool/help/{topic}.md by python -m pcatool.cli.manual',
        f'.TH {escaped(name.upper())} 7 "" "pcatool {__version__}" "pcatool manual"',
        ".nh", ".ad l",  # cells of tables are too narrow to be stretched
        heading("NAME"), *prose(f"{name} - {summary(topic)}"),
        heading("DESCRIPTION"), *markdown_to_roff(text.partition("\n")[2]),
        heading("SEE ALSO"),
        *page_names({
            1: ["pcatool", *(f"pcatool-{command}" for command in described)],
            7: [f"pcatool-{other}" for other in linked],
        }),
    ]  # fmt: skip
    return "\n".join(lines) + "\n"


PAGES = Path(__file__).parent / "pages"


def pages() -> Iterator[tuple[str, str]]:
    """Yield the path below the folder of pages and the text of each page."""
    tree = table()
    yield "man1/pcatool.1", page(tree.program, tree)
    for command in tree.subcommands:
        yield f"man1/pcatool-{command.name}.1", page(command, tree)
    for topic in topics():
        yield f"man7/pcatool-{topic}.7", topic_page(topic, tree)


def write_all(folder: Path) -> None:
    """Write all pages to a folder, which is created if needed."""
    for name, text in pages():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="ascii")

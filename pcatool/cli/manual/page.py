"""Make manual pages: in section 1 the program and each subcommand, in section 7 each help topic."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from pcatool import __version__
from pcatool.cli.completion.table import CommandTable, Option, Subcommand, table
from pcatool.cli.help_page import GROUPS
from pcatool.cli.topics import LINK, summary, text_of, topics
from pcatool.errors import EXIT_CODES

__all__ = ["EXIT_STATUS", "PAGES", "escaped", "markdown_to_roff", "pages", "prose", "write_all"]

EXIT_STATUS = {
    **{str(code): ending.sentence for code, ending in EXIT_CODES.items()},
    "129, 130, 143": "The run was stopped by SIGHUP, SIGINT or SIGTERM.",
}

ENVIRONMENT = {
    "NO_COLOR": "If the value is not empty, output on a terminal has no colours.",
    "TERM": "If the value is 'dumb', output has no colours, and there is no progress line.",
    "COLUMNS": "Width of help, tables and charts, instead of the width of the terminal.",
    "OPENBLAS_CORETYPE": (
        "Type of processor whose instructions the BLAS library uses, instead of the type of this processor. If the "
        "value is Haswell, all x86-64 processors with AVX2 give the same output, byte for byte."
    ),
    "TMPDIR": "Folder for temporary files, which are deleted when the program ends.",
    "AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN, AWS_PROFILE, AWS_REGION, AWS_ENDPOINT_URL": (
        "Credentials and settings for s3:// paths, as in Amazon's own tools."
    ),
    "GOOGLE_APPLICATION_CREDENTIALS": "Credentials for gs:// paths, as in Google's own tools.",
    "AZURE_STORAGE_ACCOUNT_KEY, AZURE_STORAGE_SAS_TOKEN": "Credentials for abfs:// paths. Without these variables, "
    "Azure's library looks for credentials in its usual places.",
}

FILES = {
    "*.npz": (
        "A model. The file contains arrays of numbers and text, and no Python objects. numpy.load can read the file. "
        "'pcatool help models' describes the arrays."
    ),
    ".NAME.*.pcatool-tmp": (
        "Unfinished output, in the folder of the output. The file is renamed in one step when it is complete. If a "
        "power cut leaves the file behind, delete it."
    ),
}


def page(command: Subcommand, tree: CommandTable) -> str:
    """Return the manual page of a subcommand or of the program in `tree`, as roff.

    The page has no date, so that the same options give the same bytes.
    """
    is_program = command is tree.program
    name = name_of(command, tree)
    lines = [
        r'.\" Made from the command tree by python -m pcatool.cli.manual',
        f'.TH {escaped(name.upper())} 1 "" "pcatool {__version__}" "pcatool manual"',
        ".nh",  # no hyphenation: names of commands and options stay whole
        heading("NAME"), *prose(f"{name} - {command.about[:1].lower()}{command.about[1:]}"),
        heading("SYNOPSIS"), bold(command.usage.split()[0]) + escaped(command.usage.removeprefix("pcatool")),
        heading("DESCRIPTION"), *description(command.text),
        *(commands_and_topics(tree) if is_program else ()),
        *options(command, is_program),
        heading("EXAMPLES"), *examples(command.text),
        *term_section("EXIT STATUS", EXIT_STATUS),
        *term_section("ENVIRONMENT", ENVIRONMENT),
        *term_section("FILES", FILES),
        heading("SEE ALSO"), *see_also(command, tree),
    ]  # fmt: skip
    return "\n".join(lines) + "\n"


def name_of(command: Subcommand, tree: CommandTable) -> str:
    return "pcatool" if command is tree.program else f"pcatool-{command.name}"


def paragraphs(text: str) -> list[str]:
    return [part for part in text.strip().split("\n\n") if part]


def description(text: str) -> Iterator[str]:
    """Yield the roff lines of a help text without its examples; `man` fills prose, but not indented lines."""
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
    """Yield the roff lines of the examples in a help text."""
    for part in paragraphs(text):
        first, *rest = part.split("\n")
        if first.strip() == "Examples:":
            yield from example(line.removeprefix("  ") for line in rest)


def commands_and_topics(tree: CommandTable) -> Iterator[str]:
    """Yield the roff lines of the sections COMMANDS and TOPICS."""
    yield heading("COMMANDS")
    for command in tree.subcommands:
        yield from entry(rf"{bold(f'pcatool-{command.name}')}(1)", command.text.partition("\n")[0])
    yield heading("TOPICS")
    for topic in topics():
        yield from entry(rf"{bold(f'pcatool-{topic}')}(7)", f"{summary(topic)}.")


def options(command: Subcommand, is_program: bool) -> Iterator[str]:
    """Yield the roff lines of the sections ARGUMENTS and OPTIONS; options are grouped as in the help page.

    The groups have headings, except on the page of the program (`is_program`).
    """
    if command.arguments:
        yield heading("ARGUMENTS")
        for argument in command.arguments:
            dots = "..." if argument.repeatable else ""
            yield from entry(italic(f"{argument.metavar}{dots}"), argument.meaning)
    yield heading("OPTIONS")
    groups = dict.fromkeys([*GROUPS, *(option.group for option in command.options)])
    for group in groups:
        members = [option for option in command.options if option.group == group]
        if members and not is_program:
            yield heading(f"{group} options", "SS")
        for option in members:
            yield from entry(option_term(option), option.meaning)


def option_term(option: Option) -> str:
    names = ", ".join(map(bold, option.names))
    return names if option.metavar is None else f"{names} {italic(option.metavar)}"


def term_section(name: str, entries: Mapping[str, str]) -> Iterator[str]:
    """Yield the roff lines of section `name`: each term of `entries` in bold, then its meaning."""
    yield heading(name)
    for words, meaning in entries.items():
        yield from entry(bold(words), meaning)


def see_also(command: Subcommand, tree: CommandTable) -> Iterator[str]:
    """Yield the roff lines that name all other pages of section 1, and the topics that name the command.

    The page of the program names all topics.
    """
    others = [name_of(other, tree) for other in (tree.program, *tree.subcommands) if other is not command]
    near = topics() if command is tree.program else [topic for topic in topics() if describes(topic, command.name)]
    yield from page_names({1: others, 7: [f"pcatool-{topic}" for topic in near]})


def describes(topic: str, command: str) -> bool:
    """Whether the text of a topic names a command, as `fit` in backquotes or as pcatool fit."""
    return bool(re.search(rf"`{command}\b|\bpcatool {command}\b", text_of(topic)))


def page_names(sections: Mapping[int, list[str]]) -> Iterator[str]:
    """Yield roff lines with names of pages, separated by commas; `sections` maps a section number to names."""
    named = [f"{bold(name)}({section})" for section, names in sections.items() for name in names]
    yield from (f"{name}," for name in named[:-1])
    yield named[-1]


def topic_page(topic: str, tree: CommandTable) -> str:
    """Return the manual page of a help topic, as roff."""
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
    """Yield (path below the folder of pages, text) of each manual page."""
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


# --- Markdown to roff ---

WIDTH = 80  # columns of a stored page; `man` fills the lines anew

# roff turns most of these characters into typographic hyphens and quotes, with which an option cannot be typed.
MARKS = {
    "\\": r"\e", "-": r"\-", "'": r"\(aq", "`": r"\(ga", "^": r"\(ha", "~": r"\(ti", '"': r"\(dq",
}  # fmt: skip


def escaped(text: str) -> str:
    """Return a line of text, or a word, escaped for roff, so that a leading dot does not begin a request."""
    line = "".join(MARKS.get(letter, letter if letter.isascii() else f"\\[u{ord(letter):04X}]") for letter in text)
    return rf"\&{line}" if line.startswith(".") else line


def bold(text: str) -> str:
    return rf"\fB{escaped(text)}\fR"


def italic(text: str) -> str:
    return rf"\fI{escaped(text)}\fR"


def filled(marked: str) -> list[str]:
    """Return roff text as lines of at most WIDTH columns, broken at spaces only."""
    return textwrap.wrap(marked, WIDTH, break_long_words=False, break_on_hyphens=False)


def prose(text: str) -> list[str]:
    """Return plain text, escaped, as lines of roff of at most WIDTH columns."""
    return filled(" ".join(map(escaped, text.split())))  # word by word: any word may begin a line


def heading(name: str, level: str = "SH") -> str:
    """Return the roff line for the heading of a section (`level` SH) or subsection (SS)."""
    return f'.{level} "{escaped(name)}"' if re.search(r"\s", name) else f".{level} {escaped(name)}"


def entry(words: str, meaning: str) -> list[str]:
    """Return the roff lines of a term and its meaning; `words` is roff, `meaning` plain text."""
    return [".TP", words, *prose(meaning)]


def example(lines: Iterable[str]) -> list[str]:
    """Return plain lines as roff lines that `man` indents and does not fill."""
    return [".RS 4", ".EX", *map(escaped, lines), ".EE", ".RE"]


# --- Markdown ---

# Groups: code; bold text; topic of a link to a topic; words and address of another link; any other mark of Markdown.
INLINE = re.compile(
    r"`([^`]+)`|\*\*(.+?)\*\*|\[[^\]]*\]\(([a-z-]+)\.md\)|\[([^\]]*)\]\(([^)]*)\)|([`\[]|\*(?=\S)|<!--)"
)

# First characters of a block that is not rendered: deeper headings, quotations, numbered lists, rules, HTML, images.
UNKNOWN = re.compile(r"####|>|[0-9]+\. |[*+] |---|<|!|\s")


def markdown_to_roff(text: str) -> Iterator[str]:
    """Yield the lines of roff for headings, paragraphs, flat lists, fenced code and tables in Markdown.

    Raises `ValueError` for any other Markdown, so that no text is lost.
    """
    after_heading = True  # the caller begins with the heading of a section
    for block in _blocks(text):
        first = block[0]
        if not after_heading and not first.startswith(("#", "- ")):
            yield ".PP"
        if first.startswith("```"):
            yield from map(_unbroken, example(block[1:-1]))
        elif first.startswith("|"):
            yield from _table(block)
        elif first.startswith(("## ", "### ")):
            marks, _, name = " ".join(block).partition(" ")
            yield heading(re.sub("`", "", name), "SH" if marks == "##" else "SS")
        elif first.startswith("- "):
            yield from _list(block)
        elif UNKNOWN.match(first):
            raise ValueError(f"cannot turn this Markdown into roff: {first}")
        else:
            yield from filled(_inline(" ".join(block)))
        after_heading = first.startswith("#")


def _blocks(text: str) -> Iterator[list[str]]:
    """Yield each block of Markdown as a list of lines; fenced code may have empty lines, a heading is one line."""
    block: list[str] = []
    for line in text.split("\n"):
        fenced = bool(block) and block[0].startswith("```")
        if not fenced and (not line.strip() or line.startswith("#")):
            if block:
                yield block
            block = []
        if fenced or line.strip():
            block.append(line)
        if (line.startswith("#") and not fenced) or (fenced and line == "```"):
            yield block
            block = []
    if block:
        yield block


def _inline(text: str) -> str:
    """Return a line of Markdown as roff: code, bold text and the names of pages are bold."""
    parts, end = [], 0
    for found in INLINE.finditer(text):
        code, strong, topic, words, address, unknown = found.groups()
        if unknown:
            raise ValueError(f"cannot turn this Markdown into roff: {text[found.start() :]}")
        parts.append(_plain(text[end : found.start()]))
        if code:
            parts.append(bold(code))
        elif strong:
            parts.append(_inline(strong) if "`" in strong else bold(strong))
        elif topic:
            parts.append(rf"{bold(f'pcatool-{topic}')}(7)")
        else:
            parts.append(f"{_plain(words)} ({escaped(address)})")
        end = found.end()
    return "".join([*parts, _plain(text[end:])])


def _plain(text: str) -> str:
    """Return text without Markdown as roff; its spaces are kept."""
    return "".join(map(escaped, re.split(r"(\s+)", text)))  # word by word: any word may begin a line


def _list(block: list[str]) -> Iterator[str]:
    """Yield the roff lines of a flat list; raise `ValueError` for a nested list."""
    for item in re.split(r"\n(?=\S)", "\n".join(block)):
        if not item.startswith("- ") or re.search(r"^ +[-*] ", item, re.MULTILINE):
            raise ValueError(f"cannot turn this Markdown into roff: {item}")
        yield from [r".IP \(bu 2", *filled(_inline(" ".join(item[2:].split())))]


def _table(block: list[str]) -> Iterator[str]:
    """Yield the roff lines of a Markdown table, for the preprocessor tbl.

    tbl fills long cells, and gives the last column the remaining width of the line. Raises `ValueError` if a row has
    more or fewer cells than the header.
    """
    # "\|" is a bar inside a cell
    head, _, *rows = [
        [cell.strip().replace(r"\|", "|") for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in block
    ]
    if any(len(row) != len(head) for row in rows):
        raise ValueError(f"a row of this table has more or fewer cells than the header: {block[0]}")
    columns = list(zip(*rows, strict=True))
    most = [max(60 // len(head), *(len(word) for cell in column for word in cell.split())) for column in columns]
    wide = [max(map(len, column)) > limit for column, limit in zip(columns, most, strict=True)]
    kinds = [f"lw({limit})" if long else "l" for long, limit in zip(wide, most, strict=True)]
    yield from [".TS", " ".join("l" * len(head)), f"{' '.join([*kinds[:-1], 'lx'])}."]
    yield "\t".join(bold(cell.replace("`", "")) if cell else "" for cell in head)
    yield "_"
    for row in rows:
        yield "\t".join(map(_cell, row, [*wide[:-1], True]))
    yield ".TE"


def _cell(text: str, long: bool) -> str:
    """Return a cell as roff; if `long`, as a block of text that tbl fills."""
    marked = _inline(text)
    return "\n".join(["T{", *filled(marked), "T}"]) if text and long else marked


def _unbroken(line: str) -> str:
    """Return a line of roff, broken by backslashes at line ends, which `man` joins again; linters refuse long lines."""
    return (
        "\\\n".join(
            textwrap.wrap(
                line,
                WIDTH - 1,
                break_long_words=False,
                break_on_hyphens=False,
                drop_whitespace=False,
                expand_tabs=False,
            )
        )
        or line
    )

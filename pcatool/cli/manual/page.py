"""One page: what `man` shows of the program or of a subcommand."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pcatool import __version__
from pcatool.cli.completion.table import Option, Subcommand, Table
from pcatool.cli.manual.facts import ENVIRONMENT, EXIT_STATUS, FILES
from pcatool.cli.manual.roff import bold, entry, escaped, example, heading, italic, prose
from pcatool.cli.subcommand import PANELS

__all__ = ["page"]


def page(one: Subcommand, tree: Table) -> str:
    """There is no date on it, so that the same options give the same bytes."""
    whole = one is tree.program
    name = name_of(one, tree)
    lines = [
        r'.\" Made from the command tree by python -m pcatool.cli.manual',
        f'.TH {escaped(name.upper())} 1 "" "pcatool {__version__}" "pcatool manual"',
        ".nh",  # names of commands and options are never broken
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


def name_of(one: Subcommand, tree: Table) -> str:
    return "pcatool" if one is tree.program else f"pcatool-{one.name}"


def paragraphs(text: str) -> list[str]:
    return [part for part in text.strip().split("\n\n") if part]


def description(text: str) -> Iterator[str]:
    """All of the help's text but its examples; what is indented stays as it is."""
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
    for part in paragraphs(text):
        first, *rest = part.split("\n")
        if first.strip() == "Examples:":
            yield from example(line.removeprefix("  ") for line in rest)


def commands(tree: Table) -> Iterator[str]:
    yield heading("COMMANDS")
    for command in tree.subcommands:
        yield from entry(rf"{bold(f'pcatool-{command.name}')}(1)", command.text.partition("\n")[0])


def options(one: Subcommand, whole: bool) -> Iterator[str]:
    """What stands by its place, then the groups of the help page, in its order."""
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
    yield heading(name)
    for words, meaning in entries.items():
        yield from entry(bold(words), meaning)


def see_also(one: Subcommand, tree: Table) -> Iterator[str]:
    others = (other for other in (tree.program, *tree.subcommands) if other is not one)
    named = [rf"{bold(name_of(other, tree))}(1)" for other in others]
    yield from (f"{name}," for name in named[:-1])
    yield named[-1]

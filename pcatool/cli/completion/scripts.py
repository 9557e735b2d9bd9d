"""Make the completion scripts of bash, zsh, fish and PowerShell from the table of the command tree."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from pcatool.cli.completion.table import (
    MODEL_ENDING,
    TABLE_ENDINGS,
    Argument,
    CommandTable,
    Option,
    Subcommand,
    Value,
    argument_text,
    fill_template,
    option_text,
    quoted,
    spelled_in_any_case,
    table,
)
from pcatool.readers.paths import COMPRESSED
from pcatool.registry import SHELLS

__all__ = ["FILES", "bash_script", "fish_script", "powershell_script", "script", "write_all", "zsh_script"]

# Shell -> file name of its script.
FILES = {"bash": "pcatool.bash", "zsh": "_pcatool", "fish": "pcatool.fish", "powershell": "pcatool.ps1"}


def script(shell: str) -> str:
    """Return the completion script of `shell`, a key of `FILES`."""
    text: str = SHELLS.load(shell)(table())
    return text


def write_all(folder: Path) -> None:
    """Write the scripts of all shells to an existing folder, under the names in `FILES`."""
    for shell, name in FILES.items():
        (folder / name).write_text(script(shell), encoding="utf-8")


def bash_script(table: CommandTable) -> str:
    """Return the completion script of bash."""
    names = " ".join(subcommand.name for subcommand in table.subcommands)
    branches = [
        bash_branch("''", table.program, [names]),
        *(bash_branch(entry.name, entry, list(map(argument_text, entry.arguments))) for entry in table.subcommands),
    ]
    return fill_template(
        "walk.bash", TABLE="\n".join(branches), TABLES=bash_pattern(TABLE_ENDINGS), PACKED=bash_pattern(COMPRESSED)
    )


def bash_pattern(endings: tuple[str, ...]) -> str:
    return " | ".join(f"*{spelled_in_any_case(ending)}" for ending in endings)


def bash_branch(pattern: str, entry: Subcommand, arguments: list[str]) -> str:
    """Return the branch of `case` for a subcommand, which sets the arrays `options` and `arguments`.

    `pattern` is the pattern of the branch, `arguments` the positional arguments as short texts.
    """
    lines = [f"        {pattern})", "            options=("]
    lines += [f"                {quoted(option_text(option))}" for option in entry.options]
    lines += ["            )", f"            arguments=({' '.join(map(quoted, arguments))})", "            ;;"]
    return "\n".join(lines)


# Kinds of files -> action of zsh that completes their names.
FILE_ACTIONS = {
    (): " ",  # shows the metavar, and offers nothing
    ("any",): "_files",
    ("data",): "_pcatool_data",
    ("model",): "_pcatool_model",
    ("model", "data"): "_pcatool_model_or_data",
}


def zsh_script(table: CommandTable) -> str:
    """Return the completion script of zsh."""
    commands = (f"{entry.name}:{escaped(entry.about, ':')}" for entry in table.subcommands)
    return fill_template(
        "walk.zsh",
        COMMANDS=quoted_lines(commands, "    ", ""),
        PROGRAM=quoted_lines(argument_specs(table.program), "    ", " \\"),
        TABLE="\n".join(map(zsh_branch, table.subcommands)),
        MODEL=f"*{MODEL_ENDING}",
        DATA=f"(#i)*({'|'.join(TABLE_ENDINGS)})(|{'|'.join(COMPRESSED)})",
    )


def zsh_branch(entry: Subcommand) -> str:
    """Return the branch of `case` for a subcommand, which calls `_arguments` of zsh."""
    body = quoted_lines(argument_specs(entry), "        ", " \\")
    return f"    {entry.name})\n      _arguments -s -S : \\\n{body}\n        && ret=0\n      ;;"


def quoted_lines(items: Iterator[str], indent: str, end: str) -> str:
    """Return each item as a quoted shell word on a line of its own, between `indent` and `end`."""
    return "\n".join(f"{indent}{quoted(item)}{end}" for item in items)


def argument_specs(entry: Subcommand) -> Iterator[str]:
    """Yield the specs for `_arguments` of zsh: one for each name of an option, one for each positional argument."""
    for option in entry.options:
        yield from (option_spec(option, name) for name in option.names)
    for number, argument in enumerate(entry.arguments, start=1):
        yield f"{'*' if argument.repeatable else number}:{value_spec(argument)}"


def option_spec(option: Option, name: str) -> str:
    """Return the spec of `name`, one of the names of an option.

    Once `name` is typed, zsh offers no name of the option again, unless the option is repeatable.
    """
    others = f"({' '.join(option.names)})" if len(option.names) > 1 else ""
    before = "*" if option.repeatable else others
    about = f"[{escaped(option.about, '[]')}]"
    if option.metavar is None:
        return f"{before}{name}{about}"
    return f"{before}{name}{'=' if name.startswith('--') else '+'}{about}:{value_spec(option)}"


def value_spec(parameter: Option | Argument) -> str:
    """Return the end of a spec of `_arguments`: the metavar, and the action that completes the value."""
    return f"{escaped(parameter.metavar or '', ':')}:{value_action(parameter.value)}"


def value_action(value: Value) -> str:
    """Return the action of zsh that completes a value: a list of words, or a function that offers files."""
    words = " ".join(value.words)
    if value.listed:
        return f" _values -s , word {words}"
    return f"({words})" if words else FILE_ACTIONS[value.files]


def escaped(text: str, marks: str) -> str:
    """Return a text with a backslash before each character in `marks`, and before each backslash."""
    return "".join(f"\\{letter}" if letter in marks + "\\" else letter for letter in text)


def fish_script(table: CommandTable) -> str:
    """Return the completion script of fish."""
    commands = (f"            {fish_pair(entry.name, entry.about)}" for entry in table.subcommands)
    return fill_template(
        "walk.fish",
        COMMANDS=" \\\n".join(commands),
        TABLE="\n".join([fish_branch("''", table.program), *(fish_branch(one.name, one) for one in table.subcommands)]),
        MODEL=fish_pattern(MODEL_ENDING),
        TABLES=fish_pattern(*TABLE_ENDINGS),
        PACKED=fish_pattern(*COMPRESSED),
    )


def fish_branch(pattern: str, entry: Subcommand) -> str:
    """Return the branch of `switch` for a subcommand, which sets the lists `options` and `arguments`."""
    options = [fish_pair(option_text(option), option.about) for option in entry.options]
    places = "".join(f" {fish_word(argument_text(argument))}" for argument in entry.arguments)
    listed = " \\\n                ".join(["set options", *options])
    return f"        case {pattern}\n            {listed}\n            set arguments{places}"


def fish_pair(name: str, about: str) -> str:
    return f"{fish_word(name)}\\t{fish_word(about)}"


def fish_pattern(*endings: str) -> str:
    return "|".join(endings).replace(".", r"\.")


def fish_word(text: str) -> str:
    return quoted(text.replace("\\", r"\\"), r"\'")


def powershell_script(table: CommandTable) -> str:
    """Return the completion script of PowerShell."""
    commands = (f"        {powershell_pair(entry.name, entry.about)}" for entry in table.subcommands)
    branches = (
        powershell_branch("", table.program),
        *(powershell_branch(entry.name, entry) for entry in table.subcommands),
    )
    return fill_template(
        "walk.ps1",
        COMMANDS=",\n".join(commands),
        TABLE="\n".join(branches),
        MODEL=powershell_pattern(MODEL_ENDING),
        TABLES=powershell_pattern(*TABLE_ENDINGS),
        PACKED=powershell_pattern(*COMPRESSED),
    )


def powershell_branch(name: str, entry: Subcommand) -> str:
    """Return the entry of a subcommand in the hash table of the PowerShell script; `name` is "" for the program."""
    options = ",\n".join(
        f"                {powershell_pair(option_text(option), option.about)}" for option in entry.options
    )
    places = ", ".join(powershell_word(argument_text(argument)) for argument in entry.arguments)
    return (
        f"        {powershell_word(name)} = @{{\n            Options = @(\n{options}\n            )\n"
        f"            Arguments = @({places})\n        }}"
    )


def powershell_pair(name: str, about: str) -> str:
    """Return a word and its description as a hash table of PowerShell.

    An array of two texts does not work: PowerShell unrolls an array that is the only item of another array.
    """
    return f"@{{ Word = {powershell_word(name)}; About = {powershell_word(about)} }}"


def powershell_word(text: str) -> str:
    return quoted(text, "''")


def powershell_pattern(*endings: str) -> str:
    return "|".join(endings).replace(".", r"\.")

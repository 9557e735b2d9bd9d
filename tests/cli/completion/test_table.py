"""Every subcommand, every option and every choice: as the command tree has them, so the shells offer them."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from cli.completion.shells import SCRIPTS, need
from pcatool.cli.completion.table import Argument, Option, Subcommand, table
from pcatool.cli.topics import topics

pytestmark = pytest.mark.long

TABLE = table()
OPTIONS = [(entry.name, option) for entry in TABLE.subcommands for option in entry.options]
Offered = Callable[[Sequence[str]], list[list[str]]]

# What bash does at TAB, less the terminal: the word at the cursor begins after a blank, = or :.
BASH = """
source "$1"
while IFS= read -r COMP_LINE; do
    COMP_POINT=${#COMP_LINE}
    _pcatool pcatool "${COMP_LINE##*[ =:]}" ''
    (IFS=$'\\t'; printf '%s\\n' "${COMPREPLY[*]}")
done
"""
FISH = """
source $argv[1]
while read -l line
    echo (complete -C $line | string replace -r '\\t.*' '' | string join \\t)
end
"""


def by_bash(lines: Sequence[str], folder: Path, environment: dict[str, str]) -> list[list[str]]:
    script = SCRIPTS / "pcatool.bash"
    return asked(["bash", "--norc", "-c", BASH, "bash", str(script)], lines, folder, environment)


def by_fish(lines: Sequence[str], folder: Path, environment: dict[str, str]) -> list[list[str]]:
    script = SCRIPTS / "pcatool.fish"
    return asked([need("fish"), "--no-config", "-c", FISH, str(script)], lines, folder, environment)


def asked(command: Sequence[str], lines: Sequence[str], folder: Path, environment: dict[str, str]) -> list[list[str]]:
    given = "".join(f"{line}\n" for line in lines)
    done = subprocess.run(
        command, input=given, cwd=folder, env={**environment, "HOME": str(folder)}, capture_output=True, text=True,
        timeout=60,
    )  # fmt: skip
    assert done.stderr == ""
    return [[word for word in line.split("\t") if word] for line in done.stdout.splitlines()]


@pytest.fixture(params=["bash", "fish"])
def offered(request: pytest.FixtureRequest, tmp_path: Path, plain_environment: dict[str, str]) -> Offered:
    ask = {"bash": by_bash, "fish": by_fish}[request.param]
    for name in ("m.npz", "d.csv", "t.TSV", "n.md", "p.parquet.zst", "w.txt.bz2"):
        (tmp_path / name).touch()
    (tmp_path / "folder").mkdir()
    return lambda lines: [[word.rstrip("/") for word in words] for words in ask(lines, tmp_path, plain_environment)]


KINDS = {"model": {"m.npz"}, "data": {"d.csv", "t.TSV", "p.parquet.zst", "w.txt.bz2"}}
HIDDEN = {"."}  # a lone dot is to fish the name of a hidden file, which it offers when it is asked for
KINDS["any"] = {"n.md", *KINDS["model"], *KINDS["data"]}


def right(one: Option | Argument) -> set[str]:
    """What is to be offered for a value."""
    files = {name for kind in one.value.files for name in KINDS[kind]}
    return {"folder", *files} if files else set(one.value.words)


def test_subcommands(offered: Offered) -> None:
    names = [entry.name for entry in TABLE.subcommands]
    found, helped, none = offered(["pcatool ", "pcatool help ", "pcatool nonsense "])
    assert (set(found), set(helped), none) == (set(names), {*topics(), *names}, [])
    begun = offered([f"pcatool {name[:-1]}" for name in names])
    assert all(name in words for name, words in zip(names, begun, strict=True))


def test_options_of_each_subcommand(offered: Offered) -> None:
    entries = [TABLE.program, *TABLE.subcommands]
    lines = ["pcatool -", *(f"pcatool {entry.name} -" for entry in TABLE.subcommands)]
    for entry, words in zip(entries, offered(lines), strict=True):
        assert set(words) == {name for option in entry.options for name in option.names}, entry.name


def test_what_was_given_is_not_offered_again(offered: Offered) -> None:
    lines = [
        f"pcatool {command} {option.names[-1]} {'' if option.metavar is None else 'x '}-" for command, option in OPTIONS
    ]
    for (command, option), words in zip(OPTIONS, offered(lines), strict=True):
        assert (set(option.names) <= set(words)) == option.repeatable, (command, option.names)
        assert option.repeatable or not set(option.names) & set(words), (command, option.names)


def test_values_of_each_option(offered: Offered) -> None:
    valued = [(command, option) for command, option in OPTIONS if option.metavar is not None]
    lines = [f"pcatool {command} {name} " for command, option in valued for name in option.names]
    answers = iter(offered(lines))
    for command, option in valued:
        for name in option.names:
            assert set(next(answers)) | HIDDEN == right(option) | HIDDEN, (command, name)


def test_values_behind_the_sign_of_equality(offered: Offered) -> None:
    valued = [(command, option) for command, option in OPTIONS if option.metavar is not None]
    lines = [f"pcatool {command} {option.names[-1]}=" for command, option in valued]
    for (command, option), words in zip(valued, offered(lines), strict=True):
        bare = {word.removeprefix(f"{option.names[-1]}=") for word in words}  # of bash it stands on the line already
        assert bare == right(option), (command, option.names)


def places(entry: Subcommand) -> Iterator[tuple[str, set[str]]]:
    """Lines before each argument, and one more."""
    for number, argument in enumerate(entry.arguments):
        yield f"pcatool {entry.name} {'x ' * number}", right(argument)
        yield f"pcatool {entry.name} {'x ' * number}-- ", right(argument)
        yield f"pcatool {entry.name} -- {'x ' * number}", right(argument)
    last = entry.arguments[-1]
    yield f"pcatool {entry.name} {'x ' * len(entry.arguments)}", right(last) if last.repeatable else set()


def test_arguments_of_each_subcommand(offered: Offered) -> None:
    wanted = [line for entry in TABLE.subcommands for line in places(entry)]
    for (line, names), words in zip(wanted, offered([line for line, _ in wanted]), strict=True):
        assert set(words) == names, line


def test_letters_in_one_word(offered: Offered) -> None:
    assert [set(words) for words in offered(["pcatool fit -sd ", "pcatool fit -k5 -x a -vqo m "])] == [
        {"tab", "comma", "semicolon", "pipe", "space", "blanks"},
        KINDS["data"] | {"folder"},
    ]
    (left,) = offered(["pcatool fit -sv --"])
    assert "--plan" in left
    assert not {"--standardize", "--verbose"} & set(left)


def test_several_words_with_commas(offered: Offered) -> None:
    first, second = offered(["pcatool components --values ", "pcatool components --values cos2,l"])
    assert set(first) == {"loadings", "correlations", "contributions", "cos2"}
    assert "cos2,loadings" in second
    assert "cos2,cos2" not in second


# --- what the table itself must say ---

FILES = {"INPUT", "MODEL", "MODEL|DATA", "A", "B", "OLD", "FILE", "FILE|DIR/", "OUT", "PICTURE"}


def test_every_file_is_known_as_one() -> None:
    """An option that is new says what it takes where it is defined, or its value would not be completed."""
    for entry in TABLE.subcommands:
        for one in (*entry.options, *entry.arguments):
            if one.metavar is not None:
                assert bool(one.value.files) == (one.metavar in FILES), (entry.name, one)


def test_choices_that_stand_in_help_are_offered() -> None:
    for command, option in OPTIONS:
        words = (option.metavar or "").split("|")
        if len(words) > 1 and option.metavar == option.metavar.lower():  # type: ignore[union-attr]
            assert option.value.words == tuple(words), (command, option.names)


def test_each_is_told_in_a_sentence() -> None:
    for entry in (TABLE.program, *TABLE.subcommands):
        assert entry.about
        assert all(option.about and "One of:" not in option.about for option in entry.options)

"""Help topics: the Markdown files of `pcatool/help`, and how they are shown.

In a pipe a topic is Markdown. On a terminal rich lays it out, and a text longer than the screen goes through a pager.
rich is imported only then, because the import takes longer than everything else here. The pager of Typer is not used,
because it shows short texts too, and treats an empty PAGER as unset.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any

from pcatool.terminal import Screen

if TYPE_CHECKING:
    from collections.abc import Iterator
    from importlib.resources.abc import Traversable

__all__ = ["LINK", "rendered", "show_in_pager", "summary", "text_of", "topics", "topics_with"]

# A link to another topic.
LINK = re.compile(r"\[[^\]]*\]\(([a-z-]+)\.md\)")


def _folder() -> Traversable:
    """Return the folder of the topics."""
    from importlib.resources import files

    return files("pcatool") / "help"


def topics() -> tuple[str, ...]:
    """Return the names of all topics, sorted."""
    return tuple(sorted(file.name.removesuffix(".md") for file in _folder().iterdir()))


def text_of(topic: str) -> str:
    """Return the Markdown of a topic as it is stored."""
    return (_folder() / f"{topic}.md").read_text(encoding="utf-8")


def topics_with(word: str) -> list[str]:
    """Return the topics that have words which begin with `word`, in any letter case; most of them first."""
    pattern = re.compile(rf"\b{re.escape(word)}", re.IGNORECASE)
    counts = {topic: len(pattern.findall(text_of(topic))) for topic in topics()}
    return sorted((topic for topic, count in counts.items() if count), key=lambda topic: -counts[topic])


def summary(topic: str) -> str:
    """Return the first heading of a topic as a summary, without the name of the topic before it."""
    heading = text_of(topic).partition("\n")[0].removeprefix("# ")
    name, colon, rest = heading.partition(": ")
    words = rest if colon and name.lower() == topic else heading
    return words if words.startswith("pcatool") else words[:1].upper() + words[1:]


def rendered(topic: str, screen: Screen) -> str:
    """Return a topic for standard output: laid out by rich on a terminal with Unicode, else as Markdown.

    A link to another topic becomes the command `pcatool help TOPIC`.
    """
    text = LINK.sub(r"`pcatool help \1`", text_of(topic))
    return _rendered_by_rich(text, screen) if screen.terminal and screen.unicode else text


def _rendered_by_rich(text: str, screen: Screen) -> str:
    """Return Markdown as rich lays it out, with styles if the screen has colours."""
    from io import StringIO

    from rich.console import Console, ConsoleOptions
    from rich.markdown import CodeBlock, Markdown, TableElement
    from rich.segment import Segment
    from rich.theme import Theme

    from pcatool.cli.help_page import MAX_WIDTH

    class Verbatim(CodeBlock):
        """Block of code whose lines are not folded, so that a user can copy a long line."""

        def __rich_console__(self, console: Console, options: ConsoleOptions) -> list[Segment]:
            style = console.get_style("markdown.code_block" if screen.color else "none")
            return [Segment(f"    {line}\n", style) for line in str(self.text).rstrip().split("\n")]

    class Folded(TableElement):
        """Table that breaks a word longer than its column, where rich would cut it off."""

        def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Any]:
            for table in super().__rich_console__(console, options):
                for column in table.columns:  # type: ignore[union-attr]
                    column.overflow = "fold"
                yield table

    class Topic(Markdown):
        elements = {**Markdown.elements, "fence": Verbatim, "table_open": Folded}  # noqa: RUF012

    if not screen.color:
        text = _with_visible_marks(text)
    console = Console(
        file=StringIO(),
        width=min(screen.width, MAX_WIDTH),
        force_terminal=screen.color,
        color_system="standard" if screen.color else None,
        legacy_windows=False,
        theme=Theme({"markdown.code": "cyan", "markdown.code_block": "cyan"}),  # those of rich have a black ground
    )
    with console.capture() as captured:
        console.print(Topic(text, hyperlinks=False), crop=False)
    return "\n".join(line.rstrip() for line in captured.get().split("\n"))


def _with_visible_marks(text: str) -> str:
    """Return Markdown in which # and ` are escaped, so that rich shows them; for a screen without styles."""
    parts = re.split(r"(^```.*?^```$)", text, flags=re.MULTILINE | re.DOTALL)
    for number in range(0, len(parts), 2):  # between fenced blocks
        parts[number] = re.sub(r"^#", r"\\#", re.sub(r"`[^`]+`", r"`` \g<0> ``", parts[number]), flags=re.MULTILINE)
    return "".join(parts)


def show_in_pager(text: str) -> bool:
    """Show a text in the pager that PAGER names, by default less or more, and return whether the text was shown.

    The text is not shown if it fits the screen, the terminal is dumb, PAGER is empty, or there is no pager.
    """
    from shutil import get_terminal_size, which

    found = next((program for program in ("less", "more") if which(program)), "")
    command = os.environ.get("PAGER", found)
    if not command.strip() or os.environ.get("TERM", "dumb") == "dumb" or text.count("\n") < get_terminal_size().lines:
        return False
    import signal
    from subprocess import PIPE, Popen

    # F: leave at once if the text fits after all; R: styles are shown; X: the text stays on the screen afterwards.
    process = Popen(command, shell=True, stdin=PIPE, env={"LESS": "FRX", **os.environ})
    interrupt = signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the pager, which must not outlive us
    try:
        process.communicate(text.encode())
    finally:
        signal.signal(signal.SIGINT, interrupt)
    return process.returncode != 127  # 127: the shell did not find the pager

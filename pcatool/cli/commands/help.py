"""Command `pcatool help TOPIC`; `cli.app.run` turns `pcatool help COMMAND` into `pcatool COMMAND --help`."""

from __future__ import annotations

from typing import Annotated

import typer

from pcatool.cli.reporter import print_result
from pcatool.cli.topics import rendered, show_in_pager, summary, topics
from pcatool.options import Completion
from pcatool.terminal import Screen

NAME = "help"
USAGE = "[TOPIC|COMMAND]"


def _commands() -> tuple[str, ...]:
    from pcatool.cli.app import COMMANDS  # not at the top: that module imports this one

    return tuple(module.NAME for module in COMMANDS)


def run(
    *,
    topic: Annotated[
        str | None,
        typer.Argument(
            metavar="TOPIC|COMMAND",
            help="A topic or a command. Without an argument, the list of topics is shown.",
            show_default=False,
        ),
        Completion(words=lambda: (*topics(), *_commands())),
    ] = None,
) -> int:
    """Show a help topic, or list the topics.

    In a pipe, a topic is printed as Markdown. On a terminal, a topic is formatted. A topic that is longer than the
    screen is shown by a pager: the program that the variable PAGER names, or less. If PAGER is set but empty, the
    topic is printed.

    Examples:
      pcatool help
      pcatool help tables
      pcatool help fit
    """
    screen = Screen.now()
    if topic is None:
        text = _listed(screen)
    elif topic in topics():
        text = rendered(topic, screen)
    else:
        from pcatool.cli.usage_errors import no_topic

        raise no_topic(topic, _commands())
    if not (screen.terminal and show_in_pager(text)):
        print_result(text)
    return 0


def _listed(screen: Screen) -> str:
    """Return the help topics with their summaries, laid out as a help page for `screen`."""
    from pcatool.cli.help_page import layout, with_headings

    text = layout(
        f"Usage: pcatool {NAME} {USAGE}",
        "Show a help topic, or the help of a command.",
        {"Topics": [(topic, summary(topic)) for topic in topics()]},
        "'pcatool help TOPIC' shows a topic. 'pcatool --help' lists the commands. 'pcatool help COMMAND' shows all "
        "options of a command.",
    )
    return with_headings(text) if screen.color else text

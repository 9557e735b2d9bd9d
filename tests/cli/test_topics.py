"""Help topics: listed, shown in a pipe and on terminals, and offered when a name is misspelt."""

from __future__ import annotations

import os
import pty
import re
import signal
import stat
import subprocess
import sys
from collections import Counter
from io import StringIO
from pathlib import Path

import pytest

from documents import TOPICS
from pcatool.cli import app, topics
from pcatool.errors import UsageError
from pcatool.terminal import Screen

WIDTHS = (60, 80, 120)
CODE = re.compile(r"^```\w+\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def shown(topic: str, width: int, *, color: bool = False, unicode: bool = True) -> str:
    return topics.rendered(topic, Screen(True, width, color, unicode))


def letters_of(text: str) -> Counter[str]:
    """How often each letter and digit occurs in Markdown or in a laid out text, where a table may break a word."""
    plain = re.sub(r"^```\w*$", "", topics.LINK.sub(r"pcatool help \1", text), flags=re.MULTILINE)
    return Counter(re.findall(r"\w", re.sub(r"\x1b\[[0-9;]*m", "", plain)))


def test_all_files_are_topics() -> None:
    assert topics.topics() == tuple(TOPICS)
    assert all(topics.text_of(topic) == TOPICS[topic].text for topic in TOPICS)


def test_topics_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert app.run(["help"]) == 0
    listed = capsys.readouterr().out
    for topic in TOPICS:
        assert f"\n  {topic} " in listed
        assert topics.summary(topic) in re.sub(r"\s+", " ", listed)
    assert "'pcatool help COMMAND'" in listed


def test_a_summary_does_not_repeat_the_name() -> None:
    assert topics.summary("tables") == "What pcatool reads and writes"
    assert all(not topics.summary(topic).lower().startswith(f"{topic}:") for topic in TOPICS)


@pytest.mark.parametrize("topic", TOPICS)
def test_no_topic_is_called_like_a_command_or_a_page_of_section_1(topic: str) -> None:
    names = app.program().commands
    assert topic not in names
    assert f"pcatool-{topic}" not in {"pcatool", *(f"pcatool-{name}" for name in names)}


@pytest.mark.parametrize("topic", TOPICS)
def test_a_pipe_gets_markdown_with_links_as_commands(topic: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert app.run(["help", topic]) == 0
    text = capsys.readouterr().out
    assert text == re.sub(r"\[[a-z-]+\]\(([a-z-]+)\.md\)", r"`pcatool help \1`", TOPICS[topic].text)
    assert ".md)" not in text
    assert set(re.findall(r"`pcatool help ([a-z-]+)`", text)) <= {*TOPICS, "topic"}


@pytest.mark.parametrize(
    ("word", "near"),
    [
        ("tabels", "tables"),
        ("unatended", "unattended"),
        ("comingfrom", "coming-from"),
        ("fitt", "fit"),
        ("learn", "fit"),
    ],
)
def test_the_nearest_name_is_suggested(word: str, near: str) -> None:
    with pytest.raises(UsageError, match=f"there is no help topic or command '{word}'; did you mean {near}?"):
        app.run(["help", word])


@pytest.mark.parametrize(
    ("word", "found"),
    [
        ("nightly", "'nightly' occurs in the topics recipes and unattended$"),
        ("Postgres", "'Postgres' occurs in the topics recipes and unattended$"),
        ("cos2", "'cos2' occurs in the topics? .*pictures"),
        ("embeddings", "'embeddings' occurs in the topics [a-z-]+, [a-z-]+, [a-z-]+ and others$"),
    ],
)
def test_a_word_in_the_text_of_topics_gives_these(word: str, found: str) -> None:
    with pytest.raises(UsageError, match=f"there is no help topic or command '{word}'; {found}"):
        app.run(["help", word])


def test_an_unknown_word_gives_all_topics() -> None:
    with pytest.raises(UsageError, match=", ".join(TOPICS)) as raised:
        app.run(["help", "xyzxyz"])
    assert raised.value.exit_code == 2


def test_a_topic_that_is_typed_as_a_command() -> None:
    with pytest.raises(UsageError, match="'tables' is a help topic, not a command; write pcatool help tables"):
        app.run(["tables"])


def test_a_pipe_that_is_closed_early(environment: dict[str, str]) -> None:
    script = "set -o pipefail; pcatool help recipes | head -3"
    done = subprocess.run(["bash", "-c", script], env=environment, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("# Recipes")


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("topic", TOPICS)
def test_a_topic_is_laid_out(topic: str, width: int) -> None:
    """Nothing is lost, lines fit, and lines of code are not broken."""
    text = shown(topic, width)
    assert "\x1b" not in text
    code = [line for block in CODE.findall(TOPICS[topic].text) for line in block.splitlines()]
    lines = text.splitlines()
    assert [line for line in code if line.strip() and f"    {line}".rstrip() not in lines] == []
    verbatim = {f"    {line}".rstrip() for line in code}
    assert [line for line in lines if len(line) > min(width, 100) and line not in verbatim] == []
    assert letters_of(text) == letters_of(TOPICS[topic].text)


@pytest.mark.parametrize("topic", TOPICS)
def test_colours_change_no_word(topic: str) -> None:
    styled = shown(topic, 80, color=True)
    assert "\x1b[36m" in styled
    assert letters_of(styled) == letters_of(shown(topic, 80))


def test_without_styles_headings_and_code_keep_their_marks() -> None:
    text = shown("tables", 80)
    assert re.search(r"^## \w", text, re.MULTILINE)
    assert "`--missing`" in text
    assert "##" not in re.sub(r"^    .*$", "", shown("tables", 80, color=True), flags=re.MULTILINE)


def test_a_terminal_without_unicode_gets_markdown() -> None:
    assert shown("tables", 80, unicode=False) == topics.rendered("tables", Screen(False, 80, False, True))


# --- on a terminal ---


def on_terminal(code: str, environment: dict[str, str], width: int = 80, height: int = 24) -> str:
    """What a Python program writes on a terminal of this size."""
    main, other = pty.openpty()
    subprocess.run(["stty", "cols", str(width), "rows", str(height)], stdin=other, check=True)
    plain = {name: value for name, value in environment.items() if name not in ("COLUMNS", "LINES", "NO_COLOR")}
    with subprocess.Popen(
        [sys.executable, "-c", code], env=plain, stdin=other, stdout=other, stderr=subprocess.PIPE
    ) as process:
        os.close(other)
        pieces = []
        try:
            while piece := os.read(main, 1 << 16):
                pieces.append(piece)
        except OSError:  # Linux: the other end is closed
            pass
        assert process.stderr is not None
        assert process.stderr.read() == b""
    os.close(main)
    assert process.returncode == 0
    return b"".join(pieces).decode().replace("\r\n", "\n")


def program(*names: str) -> str:
    return f"from pcatool.cli.app import run\nfor name in {names}: assert run(['help', name]) == 0"


@pytest.mark.parametrize("width", WIDTHS)
def test_every_topic_on_a_dumb_terminal(width: int, plain_environment: dict[str, str]) -> None:
    said = on_terminal(program(*TOPICS), {**plain_environment, "TERM": "dumb", "PAGER": "false"}, width)
    assert said == "".join(shown(topic, width) for topic in TOPICS)


def test_no_color_on_a_terminal(plain_environment: dict[str, str]) -> None:
    there = {**plain_environment, "TERM": "xterm", "PAGER": "cat"}
    assert "\x1b[" in on_terminal(program("limits"), there)
    code = f"import os\nos.environ['NO_COLOR'] = '1'\n{program('limits')}"
    assert on_terminal(code, there) == shown("limits", 80)


@pytest.mark.parametrize(
    ("pager", "height", "numbered"),
    [("nl", 24, True), ("nl", 500, False), ("", 24, False), ("no-such-program 2> /dev/null", 24, False)],
)
def test_the_pager(pager: str, height: int, numbered: bool, plain_environment: dict[str, str]) -> None:
    """PAGER shows a text that is longer than the screen; an empty one, and one that is not there, print it."""
    there = {**plain_environment, "TERM": "xterm", "PAGER": pager}
    said = on_terminal(program("limits"), there, height=height)
    assert bool(re.match(r" +1\t", said)) == numbered
    assert "Limits" in said


def test_the_usual_pager_is_less(tmp_path: Path, plain_environment: dict[str, str]) -> None:
    less = tmp_path / "less"
    less.write_text('#!/bin/sh\necho "less with $LESS"\ncat > /dev/null\n')
    less.chmod(less.stat().st_mode | stat.S_IXUSR)
    there = {name: value for name, value in plain_environment.items() if name not in ("PAGER", "LESS")}
    there |= {"TERM": "xterm", "PATH": f"{tmp_path}:{there['PATH']}"}
    assert on_terminal(program("limits"), there) == "less with FRX\n"


# --- the pager, in this process ---


class Terminal(StringIO):
    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("settings", "paged"),
    [
        ({"PAGER": "cat > shown; exit 1"}, True),
        ({"PAGER": "no-such-program 2> /dev/null"}, False),
        ({"PAGER": " "}, False),
        ({"PAGER": "cat > shown", "TERM": "dumb"}, False),
        ({"PAGER": "cat > shown", "LINES": "500"}, False),
        ({"PATH": "."}, True),  # where `less` is found
    ],
)
def test_a_topic_longer_than_the_screen_goes_to_the_pager(
    settings: dict[str, str], paged: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All of it, laid out; else it is printed. Afterwards Ctrl-C stops the program as before."""
    monkeypatch.chdir(tmp_path)
    less = tmp_path / "less"
    less.write_text("#!/bin/sh\n/bin/cat > shown\necho $LESS > less_with\n")
    less.chmod(0o755)
    for name in ("PAGER", "LESS", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
    for name, value in {"TERM": "xterm", "COLUMNS": "80", "LINES": "24", **settings}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "stdout", Terminal())
    interrupt = signal.getsignal(signal.SIGINT)
    assert app.run(["help", "limits"]) == 0
    assert signal.getsignal(signal.SIGINT) == interrupt
    whole = shown("limits", 80, color=settings.get("TERM") != "dumb")
    pager = Path("shown").read_text() if paged else None
    assert (pager, sys.stdout.getvalue()) == ((whole, "") if paged else (None, whole))
    assert ("PATH" in settings) == Path("less_with").exists()
    if "PATH" in settings:
        assert Path("less_with").read_text() == "FRX\n"

"""A terminal as its user sees it: what a program writes there, as the characters on the screen and the cursor."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from unicodedata import east_asian_width

__all__ = ["Screen", "Window"]

PATIENCE = 30.0  # seconds; a machine may be busy

PIECE = re.compile(r"\x1b\[([?0-9;]*)([A-Za-z])|(.)", re.DOTALL)


class Screen:
    """Knows what pcatool writes: letters that wrap at the edge, carriage return, newline, erase, colours."""

    def __init__(self, width: int = 80) -> None:
        self.width = width
        self.rows: list[list[str]] = [[]]
        self.row = self.column = 0
        self.escapes: list[str] = []

    def feed(self, text: str) -> None:
        for numbers, command, letter in PIECE.findall(text):
            if letter:
                self._letter(letter)
                continue
            self.escapes.append(numbers + command)
            if command == "J":
                self.rows = self.rows[: self.row + 1]
                del self.rows[self.row][self.column :]
            elif command == "K":
                del self.rows[self.row][self.column :]
            else:
                assert command == "m", f"an escape that this screen does not know: {numbers}{command}"

    def _letter(self, letter: str) -> None:
        if letter == "\r":
            self.column = 0
        elif letter == "\n":
            self._down()
        else:
            wide = 2 if east_asian_width(letter) in "WF" else 1
            if self.column + wide > self.width:
                self._down()
                self.column = 0
            row = self.rows[self.row]
            row += [" "] * (self.column + wide - len(row))
            row[self.column : self.column + wide] = [letter, *[""] * (wide - 1)]
            self.column += wide

    def _down(self) -> None:
        self.row += 1
        if self.row == len(self.rows):
            self.rows.append([])

    @property
    def lines(self) -> list[str]:
        return ["".join(row).rstrip() for row in self.rows]


class Window:
    """A program whose standard error is a terminal, and more of its streams if asked for."""

    def __init__(
        self,
        command: Sequence[str],
        environment: Mapping[str, str],
        *,
        cwd: Path,
        width: int = 80,
        stdin: int = subprocess.DEVNULL,
        stdout: int | None = subprocess.DEVNULL,
    ) -> None:
        """`stdout` None: the terminal, too."""
        self.screen = Screen(width)
        self.outer, inner = pty.openpty()
        self.resize(width)
        self.program = subprocess.Popen(
            command, cwd=cwd, env={"TERM": "xterm", **environment}, stdin=stdin,
            stdout=inner if stdout is None else stdout, stderr=inner, start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(2, termios.TIOCSCTTY, 0),
        )  # fmt: skip
        os.close(inner)

    def __enter__(self) -> Window:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self.program.poll() is None:
            self.program.send_signal(signal.SIGKILL)
        if self.program.stdin is not None:
            self.program.stdin.close()
        self.program.wait()
        os.close(self.outer)

    def resize(self, width: int) -> None:
        fcntl.ioctl(self.outer, termios.TIOCSWINSZ, struct.pack("HHHH", 24, width, 0, 0))

    def press(self, keys: str) -> None:
        os.write(self.outer, keys.encode())

    def wait_until(self, seen: Callable[[Screen], bool]) -> Screen:
        end = time.monotonic() + PATIENCE
        while not seen(self.screen):
            assert self._read(max(0.0, end - time.monotonic())), f"not seen on {self.screen.lines}"
        return self.screen

    def ended(self) -> int:
        """What is written until the end, and the exit code."""
        while self._read(PATIENCE):
            pass
        return self.program.wait()

    def _read(self, seconds: float) -> bool:
        ready, _, _ = select.select([self.outer], [], [], seconds)
        try:
            data = os.read(self.outer, 1 << 16) if ready else b""
        except OSError:  # the other end is closed
            return False
        self.screen.feed(data.decode(errors="replace"))
        return bool(data)

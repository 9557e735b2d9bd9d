"""A shell in a terminal of its own, at whose prompt keys are pressed."""

from __future__ import annotations

import os
import pty
import re
import select
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

__all__ = ["Terminal"]

PROMPT = "READY>"
PATIENCE = 20.0  # seconds; a machine may be busy


class Terminal:
    """In the shell `pcatool` is a function that prints what it was given, as `{fit}{my data.csv}.`"""

    def __init__(self, command: Sequence[str], folder: Path, environment: dict[str, str]) -> None:
        self.outer, inner = pty.openpty()
        self.shell = subprocess.Popen(
            command, cwd=folder, env={**environment, "TERM": "dumb"}, close_fds=True,
            preexec_fn=lambda: os.login_tty(inner), pass_fds=[inner],
        )  # fmt: skip
        os.close(inner)
        self.seen = ""

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.shell.kill()
        self.shell.wait()
        os.close(self.outer)

    def press(self, keys: str) -> None:
        os.write(self.outer, keys.encode())

    def wait_for(self, pattern: str) -> re.Match[str]:
        """Reads until it appears; what was read up to its end is forgotten."""
        end = time.monotonic() + PATIENCE
        while (found := re.search(pattern, self.seen, re.DOTALL)) is None:
            ready, _, _ = select.select([self.outer], [], [], max(0.0, end - time.monotonic()))
            assert ready, f"no {pattern!r} in {self.seen!r}"
            self.seen += os.read(self.outer, 1 << 16).decode(errors="replace")
        self.seen = self.seen[found.end() :]
        return found

    def given(self, keys: str) -> list[str]:
        """The arguments of the call that these keys, and Return, make."""
        self.press(f"{keys}\r")
        said = self.wait_for(r"\{([^\r\n]*)\}\.\r?\n.*" + PROMPT)
        return said[1].split("}{")

"""How a run ends: the one map from what happened to an exit code, and the only place that writes to standard error."""

from __future__ import annotations

import json
import os
import signal
import sys
import traceback
from collections.abc import Callable, Mapping
from types import FrameType
from typing import Any

from pcatool.errors import PcatoolError
from pcatool.notices import Notices
from pcatool.options import GeneralOptions

__all__ = ["Speaker", "guarded", "print_result", "say"]

SIGNALS = ("SIGHUP", "SIGINT", "SIGTERM")


class Stopped(BaseException):
    """A signal asked the run to end; everything half-done is cleaned up on the way out."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


def _stop(number: int, frame: FrameType | None) -> None:
    raise Stopped(number)


def guarded(run: Callable[[], int], *, debug: bool) -> int:
    """Run, and turn whatever happens into an exit code of the table in the help."""
    for name in SIGNALS:
        number = getattr(signal, name, None)
        # A signal that was set to be ignored, as nohup does, stays so.
        if number is not None and signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, _stop)
    try:
        code = run()
        _flush()
        return code
    except PcatoolError as error:
        if debug:
            traceback.print_exc()
        say(f"pcatool: error: {error}")
        return error.exit_code
    except BrokenPipeError:
        # Whoever read the output has what they wanted.
        _let_go_of_stdout()
        return 0
    except Stopped as stopped:
        return 128 + stopped.number
    except KeyboardInterrupt:
        return 130
    except MemoryError:
        say("pcatool: error: out of memory; use fewer columns, or a machine with more")
        return 6
    except OSError as error:
        if debug:
            traceback.print_exc()
        say(f"pcatool: error: {error.strerror or error}" + (f": {error.filename!r}" if error.filename else ""))
        return 5
    except Exception as error:
        if debug:
            traceback.print_exc()
        say(f"pcatool: error: unexpected {type(error).__name__}: {error}; --debug shows where, please report it")
        return 6


def _flush() -> None:
    if sys.stdout is not None and not sys.stdout.closed:
        sys.stdout.flush()


def _let_go_of_stdout() -> None:
    """Python flushes standard output when it exits; with nobody there that would be an error message."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.close(null)


def say(text: str) -> None:
    """A line on standard error, if there is one."""
    try:
        sys.stderr.write(text.rstrip("\n") + "\n")
        sys.stderr.flush()
    except (OSError, ValueError, AttributeError):
        return  # closed: there is nobody to tell


def print_result(text: str) -> None:
    """A result on standard output, written through at once so that a full disk is noticed here."""
    if sys.stdout is None:
        raise OSError(9, "standard output is closed")
    sys.stdout.write(text if text.endswith("\n") else text + "\n")
    sys.stdout.flush()


class Speaker(Notices):
    """Prints notices as they come, and the closing summary where it is wanted."""

    def __init__(self, general: GeneralOptions) -> None:
        super().__init__()
        self.general = general

    def show(self, kind: str, text: str) -> None:
        if not self.general.quiet:
            say(f"pcatool: {kind}: {text}")

    def close(self, facts: Mapping[str, Any], lines: list[str], *, stdout_free: bool) -> None:
        """The closing summary: an object with `--json`, lines on a terminal or with `-v`."""
        if self.general.json:
            text = json.dumps({**facts, "notes": self.notes, "warnings": self.warnings}, allow_nan=False)
            if stdout_free:
                print_result(text)
            else:
                say(text)
        on_terminal = sys.stderr is not None and sys.stderr.isatty()
        if not self.general.quiet and (self.general.verbose or (on_terminal and not self.general.json)):
            for line in lines:
                say(f"pcatool: {line}")

"""How a run ends: the one map from what happened to an exit code, and what writes to both streams."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from pcatool.cli.line import LINE
from pcatool.cli.signals import SHORT, is_limited, occupy, stop_in
from pcatool.errors import FileError, PcatoolError, is_short, printable, show

__all__ = ["guarded", "is_screen", "print_result", "say", "tell"]


def guarded(run: Callable[[], int], *, debug: bool) -> int:
    """Run, and turn whatever happens into an exit code of the table in the help."""
    try:
        return run()
    except BaseException as error:
        LINE.close()
        return _code_of(error, debug)
    finally:
        LINE.close()


def _code_of(error: BaseException, debug: bool) -> int:
    """What is said of an error, and its exit code."""
    stopped = stop_in(error)
    if stopped is not None:
        raise stopped
    if debug and isinstance(error, Exception):
        from traceback import print_exception

        print_exception(error)
    match error:
        case BrokenPipeError():
            _let_go_of_stdout()  # whoever read the output has what they wanted
            return 0
        case KeyboardInterrupt():
            return 130
        case Exception() if is_short(error):
            return _failed(SHORT, 6)
        case PcatoolError():
            return _failed(str(error), error.exit_code)
        case OSError():
            what = show(error.filename) if error.filename else "what is needed"
            return _failed(f"cannot read or write {what}: {error.strerror or error}", 5)
        case Exception() if is_limited():
            return _failed(SHORT, 6)  # which libraries, and the loader of libraries, tell in many ways
        case Exception():
            return _failed(f"unexpected {type(error).__name__}: {error}; --debug shows where, please report it", 6)
    raise error


def _failed(text: str, code: int) -> int:
    _let_go_of_stdout()
    tell(f"error: {text}")
    return code


def _let_go_of_stdout() -> None:
    """Python flushes standard output when it exits; where that cannot work it would be an error message."""
    if sys.stdout is None:
        return
    try:
        sys.stdout.flush()
    except (OSError, ValueError):
        occupy(1, os.O_WRONLY)


def tell(text: str) -> None:
    """One line about the run, which may hold names of files and columns."""
    say(f"pcatool: {printable(text)}")


def say(text: str) -> None:
    """Text on standard error, if there is one."""
    with LINE.lock:
        LINE.erase()
        try:
            sys.stderr.write(text.rstrip("\n") + "\n")
            sys.stderr.flush()
        except (ValueError, AttributeError):
            return  # closed: there is nobody to tell
        except OSError:
            occupy(2, os.O_WRONLY)  # or Python would try again when it exits, and call that a failure


def print_result(text: str) -> None:
    """A result on standard output, written through at once so that a full disk is noticed here."""
    if sys.stdout is None:
        raise FileError("cannot write 'standard output': it is closed")
    text = text if text.endswith("\n") else text + "\n"
    LINE.close()
    try:
        try:
            sys.stdout.write(text)
        except UnicodeEncodeError:  # a locale without the letters of a name: in UTF-8, as all tables are written
            sys.stdout.buffer.write(text.encode())
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise FileError.from_os("standard output", "write", error) from error


def is_screen(output: str) -> bool:
    """Is this place a terminal, by whatever name?"""
    if output == "-":
        return sys.stdout is not None and sys.stdout.isatty()
    with suppress(OSError, ValueError):
        if stat.S_ISCHR(Path(output).stat().st_mode):
            return output == "/dev/tty" or Path(output).stat().st_rdev == os.fstat(2).st_rdev
    return False

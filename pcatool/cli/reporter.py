"""Report a run: notes, warnings, progress, results and errors, and its exit code."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from time import monotonic
from typing import Any

from pcatool.cli.signals import SHORT, is_limited, occupy, stop_in
from pcatool.cli.status_line import LINE, Progress, clock
from pcatool.errors import FileError, PcatoolError, is_short, printable, show
from pcatool.options import GeneralOptions
from pcatool.progress import Gauge, Notices, listen

__all__ = ["Speaker", "guarded", "is_screen", "print_result", "say", "tell"]


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


STARTED = monotonic()  # this module is among the first that are loaded


class Speaker(Notices):
    """Prints notices as they come, and the closing summary where it is wanted."""

    def __init__(self, general: GeneralOptions, *, rows_to: str | None = None) -> None:
        """`rows_to`: where rows are written as they come; where that is the terminal, they tell enough."""
        super().__init__()
        self.general = general
        self._progress = Progress(wanted=not general.quiet and not (rows_to is not None and is_screen(rows_to)))
        listen(self._progress.at_stage)

    def at_file(self, number: int, of: int) -> None:
        self._progress.at_file(number, of)

    def at_part(self, done: int, of: int) -> None:
        self._progress.at_part(done, of)

    def at_reading(self, gauge: Gauge, *, further: bool = False) -> None:
        self._progress.at_reading(gauge, further)

    def at_rows(self, count: int) -> None:
        self._progress.at_rows(count)

    def at_end(self) -> None:
        self._progress.at_end()

    def show(self, kind: str, text: str, items: Sequence[str] = ()) -> None:
        if not self.general.quiet:
            tell(f"{kind}: {text}")
            for item in items:
                tell(f"  {item}")

    def close(self, facts: Mapping[str, Any], lines: list[str], *, stdout_free: bool) -> None:
        """The closing summary: an object with `--json`, lines on a terminal or with `-v`."""
        LINE.close()
        seconds = monotonic() - STARTED
        lines = [*lines[:1], *self._not_taken(facts), *lines[1:]]
        if self.general.json:
            import json

            more = {name: fact for name, fact in self._taken().items() if name not in facts}
            facts = {**facts, **more, **self._files(), "seconds": round(seconds, 3)}
            text = json.dumps({**facts, "notes": self.notes, "warnings": self.warnings}, allow_nan=False)
            if stdout_free:
                print_result(text)
            else:
                say(text)
        on_terminal = sys.stderr is not None and sys.stderr.isatty()
        if not self.general.quiet and (self.general.verbose or (on_terminal and not self.general.json)):
            for line in lines:
                tell(line)
            if "files_written" not in facts and (self.files_read > 1 or self.skipped):
                tell(f"{self.files_read} files read" + (f", {len(self.skipped)} left out" if self.skipped else ""))
            if self.spread is not None:
                engine, parts = self.spread
                tell(f"engine {engine}: {parts} part" + ("s" if parts != 1 else ""))
            tell(f"took {seconds:.2g} s" if seconds < 100 else f"took {clock(seconds)}")

    def _taken(self) -> dict[str, Any]:
        """Of a fit what it took of its inputs."""
        if self.taken is None:
            return {}
        from pcatool.render.summary import taken_facts

        return taken_facts(self.taken)

    def _not_taken(self, facts: Mapping[str, Any]) -> list[str]:
        if self.taken is None:
            return []
        from pcatool.render.summary import taken_lines

        return taken_lines(self.taken, facts["command"])

    def _files(self) -> dict[str, Any]:
        """Of several inputs, how many were read, and which were left out; and who read them elsewhere."""
        spread = {} if self.spread is None else dict(zip(("engine", "parts"), self.spread, strict=True))
        if self.files_read < 2 and not self.skipped:
            return spread
        return spread | {
            "files_read": self.files_read,
            "skipped": [{"file": file, "reason": reason} for file, reason in self.skipped],
        }

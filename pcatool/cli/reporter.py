"""Print notes, warnings, progress, results and errors of a run, and turn errors into exit codes."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

from pcatool.cli.signals import OUT_OF_MEMORY, is_memory_limited, open_devnull_on, stop_requested
from pcatool.errors import FileError, PcatoolError, RefusedError, is_out_of_memory
from pcatool.options import GeneralOptions
from pcatool.progress import ProgressOnly, Reporter, report_to
from pcatool.wording import counted, printable, show

if TYPE_CHECKING:
    from pcatool.cli.status_line import StatusLine

__all__ = ["ConsoleReporter", "is_terminal", "print_message", "print_on_stderr", "print_result", "run_and_report"]

_line: StatusLine | None = None  # the status line, once a run has one


def _without_line() -> AbstractContextManager[object]:
    """Return a context in which the status line is erased, so that other text can be printed."""
    return nullcontext() if _line is None else _line.erased()


def _close_line() -> None:
    """Erase the status line, if there is one, and stop drawing it."""
    if _line is not None:
        _line.close()


def run_and_report(run: Callable[[], int], *, debug: bool) -> int:
    """Call `run` and return its exit code; if `run` raises an error, print the error and return its exit code.

    With `debug`, the traceback is printed too. Raises `Stopped` if a signal ended the run.
    """
    try:
        return run()
    except BaseException as error:
        _close_line()
        return _code_of(error, debug)
    finally:
        _close_line()


def _code_of(error: BaseException, debug: bool) -> int:
    """Print an error and return its exit code; no message for a closed pipe (0) and `KeyboardInterrupt` (130).

    With `debug`, the traceback is printed first. Raises `Stopped` if a signal asked the run to end, and the error
    itself if it is another `BaseException` but no `Exception`.
    """
    stopped = stop_requested()
    if stopped is not None:
        raise stopped
    if debug and isinstance(error, Exception):
        from traceback import print_exception

        print_exception(error)
    match error:
        case BrokenPipeError():
            _flush_stdout()  # the reader of the output closed it on purpose
            return 0
        case KeyboardInterrupt():
            return 130
        case Exception() if is_out_of_memory(error):
            return _print_error(OUT_OF_MEMORY, RefusedError.exit_code)
        case PcatoolError():
            return _print_error(str(error), error.exit_code)
        case OSError():
            what = show(error.filename) if error.filename else "a file"
            return _print_error(f"cannot read or write {what}: {error.strerror or error}", FileError.exit_code)
        case Exception() if is_memory_limited():
            # Libraries and the dynamic loader report a lack of memory in many ways.
            return _print_error(OUT_OF_MEMORY, RefusedError.exit_code)
        case Exception():
            unexpected = f"unexpected {type(error).__name__}: {error}"
            return _print_error(
                f"{unexpected}; run again with --debug to see where the error happened, and please report it",
                RefusedError.exit_code,
            )
    raise error


def _print_error(text: str, code: int) -> int:
    """Flush standard output, print an error message, and return `code`."""
    _flush_stdout()
    print_message(f"error: {text}")
    return code


def _flush_stdout() -> None:
    """Flush standard output; if that fails, point it to /dev/null.

    Python flushes standard output again when it exits, and would print an error message of its own.
    """
    if sys.stdout is None:
        return
    try:
        sys.stdout.flush()
    except (OSError, ValueError):
        open_devnull_on(1, os.O_WRONLY)


def print_message(text: str) -> None:
    """Print `pcatool: ` and a message on standard error, as one line; control characters in it are escaped."""
    print_on_stderr(f"pcatool: {printable(text)}")


def print_on_stderr(text: str) -> None:
    """Print text on standard error, if there is one, in place of the status line.

    `typer.echo` would raise an error if standard error is full or closed. Also, this module is loaded before Typer, so
    that errors of Typer's import are printed.
    """
    with _without_line():
        try:
            sys.stderr.write(text.rstrip("\n") + "\n")
            sys.stderr.flush()
        except (ValueError, AttributeError):
            return  # standard error is closed
        except OSError:
            open_devnull_on(2, os.O_WRONLY)  # otherwise Python flushes again when it exits, and fails


def print_result(text: str) -> None:
    """Close the status line, print a result on standard output, and flush standard output.

    Raises `FileError` if standard output is closed or the disk is full, and `BrokenPipeError` for a closed pipe.
    """
    if sys.stdout is None:
        raise FileError("cannot write 'standard output': it is closed")
    text = text if text.endswith("\n") else text + "\n"
    _close_line()
    try:
        try:
            sys.stdout.write(text)
        except UnicodeEncodeError:  # the locale lacks a letter: write UTF-8, as for all tables
            sys.stdout.buffer.write(text.encode())
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise FileError.from_os("standard output", "write", error) from error


def is_terminal(output: str) -> bool:
    """Whether an output, such as - or /dev/tty, is the terminal."""
    if output == "-":
        return sys.stdout is not None and sys.stdout.isatty()
    with suppress(OSError, ValueError):
        if stat.S_ISCHR(Path(output).stat().st_mode):
            return output == "/dev/tty" or Path(output).stat().st_rdev == os.fstat(2).st_rdev
    return False


STARTED_AT = monotonic()  # when the run began: this module is among the first that are loaded


def _status_line() -> StatusLine:
    """Start the status line of the run, in place of an earlier one, and return it."""
    global _line
    _close_line()
    from pcatool.cli.status_line import StatusLine

    _line = StatusLine()
    _line.open()
    return _line


def can_redraw() -> bool:
    """Whether standard error is a terminal on which a line can be overwritten."""
    return sys.stderr is not None and sys.stderr.isatty() and os.environ.get("TERM", "dumb") != "dumb"


class ConsoleReporter(ProgressOnly):
    """Reporter of the command line: prints notices as they come, and the closing summary.

    Progress goes to a status line, on a terminal only.
    """

    def __init__(self, general: GeneralOptions, *, rows_to: str | None = None) -> None:
        """Make this the current reporter, to which `progress.doing` announces stages, and open the status line.

        `rows_to` is the output for rows, None if no rows are written. There is no status line with -q, nor if rows go
        to the terminal, where they show the progress.
        """
        shown = can_redraw() and not general.quiet and not (rows_to is not None and is_terminal(rows_to))
        super().__init__(_status_line() if shown else Reporter())
        self.general = general
        report_to(self)

    def show(self, kind: str, text: str, items: Sequence[str] = ()) -> None:
        if not self.general.quiet:
            print_message(f"{kind}: {text}")
            for item in items:
                print_message(f"  {item}")

    @property
    def _shows_lines(self) -> bool:
        """Whether the closing summary is printed as lines."""
        on_terminal = sys.stderr is not None and sys.stderr.isatty()
        return not self.general.quiet and (self.general.verbose or (on_terminal and not self.general.json))

    @property
    def summarizes(self) -> bool:
        """Whether `close` prints a summary, as lines or as JSON; if not, the caller need not collect facts for it."""
        return bool(self.general.json) or self._shows_lines

    def close(self, facts: Mapping[str, Any], lines: list[str], *, stdout_free: bool) -> None:
        """Print the closing summary: `facts` as a JSON object with `--json`; `lines` on a terminal or with `-v`.

        The JSON goes to standard output if `stdout_free`, that is if no results go there, else to standard error. Lines
        go to standard error; there are none with -q, or with --json and without -v. Counts of rows and files and the
        time are added to both, notes and warnings to the JSON alone.
        """
        _close_line()
        seconds = monotonic() - STARTED_AT
        lines = [*lines[:1], *self._row_counts_lines(facts), *lines[1:]]
        if self.general.json:
            import json

            more = {name: fact for name, fact in self._row_counts_facts().items() if name not in facts}
            facts = {**facts, **more, **self._input_facts(), "seconds": round(seconds, 3)}
            text = json.dumps({**facts, "notes": self.notes, "warnings": self.warnings}, allow_nan=False)
            if stdout_free:
                print_result(text)
            else:
                print_on_stderr(text)
        if self._shows_lines:
            for line in lines:
                print_message(line)
            if "files_written" not in facts and (self.files_read > 1 or self.skipped):
                left_out = f"; {counted(len(self.skipped), 'file')} left out" if self.skipped else ""
                print_message(f"{counted(self.files_read, 'file')} read{left_out}")
            if self.cluster_parts is not None:
                engine, parts = self.cluster_parts
                print_message(f"engine {engine} processed {counted(parts, 'part')} of the input")
            if seconds < 100:
                print_message(f"took {seconds:.2g} s")
            else:
                from pcatool.cli.status_line import clock

                print_message(f"took {clock(seconds)}")

    def _row_counts_facts(self) -> dict[str, Any]:
        """Return the row counts and the left-out columns of the fit of this run, for `--json`; empty without a fit."""
        if self.fit_counts is None:
            return {}
        from pcatool.render.summary import row_counts_facts

        return row_counts_facts(self.fit_counts, self.kept_rows)

    def _row_counts_lines(self, facts: Mapping[str, Any]) -> list[str]:
        """Return summary lines on rows and columns that a fit left out, and on rows it kept; empty without a fit."""
        if self.fit_counts is None:
            return []
        from pcatool.render.summary import row_counts_lines

        return row_counts_lines(self.fit_counts, self.kept_rows, facts["command"])

    def _input_facts(self) -> dict[str, Any]:
        """Return facts for `--json` about the inputs.

        With a cluster: its engine, and the number of parts of the input. With several inputs, or if an input was
        skipped: the number of files that were read, and a list of the skipped files with the reason of each.
        """
        spread = {} if self.cluster_parts is None else dict(zip(("engine", "parts"), self.cluster_parts, strict=True))
        if self.files_read < 2 and not self.skipped:
            return spread
        return spread | {
            "files_read": self.files_read,
            "skipped": [{"file": file, "reason": reason} for file, reason in self.skipped],
        }

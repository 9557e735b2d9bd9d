"""The command line: a command parses, builds option records, calls one function of the pipeline, and reports.

Begin with `app` (the command tree) and `commands/fit`; `reporter` prints notes, results and errors, and sets the exit
code; `topics` shows the help topics.
"""

from __future__ import annotations

__all__ = ["main"]


def main() -> None:
    """Run the `pcatool` program: set up signals and streams, run the command, end the process with its exit code."""
    import _signal as signals  # type: ignore[import-not-found]

    if signals.getsignal(signals.SIGINT) is signals.default_int_handler:
        signals.signal(signals.SIGINT, signals.SIG_DFL)  # until our handlers are set, an interrupt ends the process
    import gc
    import sys
    import warnings

    from pcatool.cli.signals import (
        Stopped,
        exit_now,
        fork_if_memory_limited,
        hold_standard_streams,
        set_environment,
        stoppable,
    )

    # Objects made by imports stay alive: searching them for garbage takes a tenth of the start.
    gc.set_threshold(100_000)
    set_environment()
    hold_standard_streams()
    fork_if_memory_limited()
    if not sys.warnoptions:
        warnings.simplefilter("ignore")  # warnings of libraries name paths and lines; ours go through the reporter
    try:
        with stoppable():  # before the imports that take time
            from pcatool.cli.reporter import run_and_report

            code = run_and_report(run, debug="--debug" in sys.argv)
    except SystemExit as stopped:
        code = int(stopped.code or 0)
    except Stopped as stopped:  # a signal between `stoppable` and `run_and_report`
        code = stopped.code
    exit_now(code)  # after a signal, too: a normal exit waits for threads that wait for a store


def run() -> int:
    """Run the command line with the arguments of the process; return the exit code."""
    import sys

    from pcatool.cli.app import run

    return run(sys.argv[1:])

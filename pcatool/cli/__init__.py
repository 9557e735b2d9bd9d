"""The command line: it parses, builds option records, calls one function of the pipeline, and reports.

Begin with `app` (the command tree) and `commands/fit`; `reporter` says what came of a run.
"""

from __future__ import annotations

__all__ = ["main"]


def main() -> None:
    """Entry point of the `pcatool` program."""
    import _signal as signals  # type: ignore[import-not-found]

    if signals.getsignal(signals.SIGINT) is signals.default_int_handler:
        signals.signal(signals.SIGINT, signals.SIG_DFL)  # until ours answer, an interrupt just ends the process
    import gc
    import sys
    import warnings

    from pcatool.cli.signals import Stopped, hold_standard_streams, leave, stand_by, stoppable, tune

    gc.set_threshold(100_000)  # what imports make stays: looking for garbage in it takes a tenth of the start
    tune()
    hold_standard_streams()
    stand_by()
    if not sys.warnoptions:
        warnings.simplefilter("ignore")  # those of libraries name paths and lines; ours are notices, not Python's
    try:
        with stoppable():  # before anything that takes time is imported
            from pcatool.cli.reporter import guarded

            code = guarded(run, debug="--debug" in sys.argv)
    except SystemExit as stopped:
        code = int(stopped.code or 0)
    except Stopped as stopped:  # a signal that came between the two
        code = stopped.code
    leave(code)  # after a signal, too: at a usual end threads that wait for a store would be waited for


def run() -> int:
    import sys

    from pcatool.cli.app import run

    return run(sys.argv[1:])

"""Signals and the exit codes they lead to, and the standard streams of the process."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import NoReturn
from weakref import ref

from pcatool.errors import EXIT_CODES, RefusedError

__all__ = [
    "OUT_OF_MEMORY",
    "Stopped",
    "exit_now",
    "fork_if_memory_limited",
    "hold_standard_streams",
    "is_memory_limited",
    "open_devnull_on",
    "set_environment",
    "stop_requested",
    "stoppable",
]

SIGNAL_NAMES = ("SIGHUP", "SIGINT", "SIGTERM", "SIGXCPU")  # SIGXCPU: a limit on CPU time was reached
SIGNALS = [getattr(signal, name) for name in SIGNAL_NAMES if hasattr(signal, name)]

PR_SET_PDEATHSIG = 1  # option of prctl on Linux

OUT_OF_MEMORY = "out of memory; use fewer columns or threads, or a machine with more memory"
# Signals with exit code 128 + number; any other counts as SIGTERM.
SIGNALS_WITH_CODES = (signal.SIGHUP, signal.SIGINT, signal.SIGTERM)

RESEND_SECONDS = 0.05  # seconds until a signal that the main thread did not handle is sent to it again
SWITCH_SECONDS = 1e-4  # seconds that a thread waits before it asks another for the interpreter
SAME_SIGNAL_SECONDS = 1.0  # seconds within which another signal counts as the same
CLEAN_UP_SECONDS = 10.0  # seconds that a run may take to clean up before the signal is sent again

_requested_by: int | None = None  # the signal that asked the run to end


class Stopped(BaseException):
    """Raised in the main thread when a signal asks the run to end; `code` is the exit code."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.code = _exit_code(number)


def _exit_code(number: int) -> int:
    """Return the exit code for a signal: 128 + its number; for SIGXCPU the code of SIGTERM."""
    return 128 + (number if number in SIGNALS_WITH_CODES else signal.SIGTERM)


def set_environment() -> None:
    """Set environment variables of OpenBLAS and Arrow that the user has not set; tune thread switches and malloc."""
    # Waiting BLAS threads would spin beside our own threads; a factorisation that needs several asks for them.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # Arrow's own allocator keeps a fifth more memory, and is no faster for our few large pieces.
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
    # A thread that returns from Arrow needs the interpreter for less time than the default interval makes it wait.
    sys.setswitchinterval(SWITCH_SECONDS)
    from pcatool.resources import tune_allocator

    tune_allocator()


def is_memory_limited() -> bool:
    """Whether the memory of this process is limited, as by `ulimit -v`."""
    from resource import RLIM_INFINITY, RLIMIT_AS, RLIMIT_DATA, getrlimit

    return any(getrlimit(limit)[0] != RLIM_INFINITY for limit in (RLIMIT_AS, RLIMIT_DATA))


def fork_if_memory_limited() -> None:
    """If memory is limited, fork: the child returns and does the run, the parent waits and exits with the child's code.

    A library that gets no more memory may end the process at once, each in its own way. The parent then prints the
    message that the child could not print.
    """
    if not is_memory_limited():
        return
    parent, child = os.getpid(), os.fork()
    if child == 0:
        # Short of memory, Python may fail to raise an error properly, so that no handler of the run sees it.
        sys.excepthook = lambda *error: os._exit(1)
        _end_with_parent(parent)
        return
    for number in SIGNALS:
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, lambda number, frame: os.kill(child, number))
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if -code in SIGNALS:
        signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    has_exit_code = code in EXIT_CODES or code - 128 in SIGNALS_WITH_CODES
    if not has_exit_code:
        with suppress(OSError):
            os.write(2, f"pcatool: error: {OUT_OF_MEMORY}\n".encode())
    os._exit(code if has_exit_code else RefusedError.exit_code)


def _end_with_parent(parent: int) -> None:
    """Make this process, a child, end when process `parent` ends, even if the parent is killed."""
    from ctypes import CDLL

    with suppress(AttributeError, OSError):  # only Linux has prctl
        CDLL(None).prctl(PR_SET_PDEATHSIG, int(signal.SIGKILL))
    if os.getppid() != parent:
        os._exit(128 + signal.SIGTERM)


def stop_requested() -> Stopped | None:
    """Return a `Stopped` for the signal that asked this run to end; None if there was none.

    Once a signal has come, it is what ended the run, whatever error the run ends with: Python wraps an exception that
    is raised while a class is created, and numpy raises an ImportError in place of one that interrupts its import.
    """
    return None if _requested_by is None else Stopped(_requested_by)


@contextmanager
def stoppable() -> Iterator[None]:
    """Context in which SIGHUP, SIGINT, SIGTERM and SIGXCPU unwind the run, so that unfinished work is cleaned up.

    After a signal it raises `SystemExit` with the exit code of the signal.
    """
    # A signal that is ignored, for example under nohup, stays ignored.
    handled = [number for number in SIGNALS if signal.getsignal(number) != signal.SIG_IGN]
    handler = StopOnSignal()
    try:
        try:
            sys.unraisablehook = _report_unraisable
            for number in handled:
                signal.signal(number, handler)
            yield
        finally:
            handler.ended = True
    except BaseException as error:  # a signal may come as late as the last line
        handler.ended = True
        stopped = stop_requested()
        if stopped is None or isinstance(error, GeneratorExit):  # a signal came while contextlib called this generator
            raise
        raise SystemExit(stopped.code) from None


def _report_unraisable(unraisable: sys.UnraisableHookArgs) -> None:
    """Hook for an exception that Python cannot raise: print it, except `Stopped`, whose signal is sent again."""
    if not isinstance(unraisable.exc_value, Stopped):
        sys.__unraisablehook__(unraisable)


class StopOnSignal:
    """Signal handler that stops the run by raising `Stopped`.

    While the run unwinds, another signal within a second is ignored, so that it does not interrupt the clean-up. Once
    the run has ended (`ended`), a signal ends the process at once, because the process may be waiting for a reader of
    its output.
    """

    def __init__(self) -> None:
        self.raised_at = float("-inf")
        self.ended = False
        self._raised: Callable[[], Stopped | None] = lambda: None
        read_end, write_end = os.pipe()
        os.set_blocking(write_end, False)
        signal.set_wakeup_fd(write_end, warn_on_full_buffer=False)
        with suppress(RuntimeError):  # no memory for a thread: signals are not sent again
            threading.Thread(target=self._send_again, args=(read_end, threading.get_ident()), daemon=True).start()

    def __call__(self, number: int, frame: FrameType | None) -> None:
        """Handle signal `number`: raise `Stopped`, ignore the signal, or end the process; the class says when."""
        if self.ended:
            os._exit(_exit_code(number))
        if self._is_lost() or time.monotonic() > self.raised_at + SAME_SIGNAL_SECONDS:
            global _requested_by
            _requested_by = number
            self.raised_at = time.monotonic()
            raise self._new_stopped(number)

    def _new_stopped(self, number: int) -> Stopped:
        """Return a new `Stopped`, and remember a weak reference to it.

        The reference is dead once the exception no longer unwinds the run.
        """
        stopped = Stopped(number)
        self._raised = ref(stopped)
        return stopped

    def _is_lost(self) -> bool:
        """Whether no `Stopped` is unwinding the run: none was raised, or Python dropped it."""
        return self._raised() is None

    def _send_again(self, read_end: int, main: int) -> None:
        """Send a signal to the main thread again and again until the run has ended; the body of a thread.

        `read_end` is a pipe with the numbers of arrived signals, `main` the main thread. A single signal may fail: of
        two signals at a time one may reach a thread of BLAS, and Python ignores an exception that is raised inside a
        callback, such as that of an import lock. During a clean-up no signal is sent for CLEAN_UP_SECONDS.
        """
        while numbers := os.read(read_end, 1):
            time.sleep(RESEND_SECONDS)
            while not self.ended:
                if self._is_lost() or time.monotonic() > self.raised_at + CLEAN_UP_SECONDS:
                    signal.pthread_kill(main, numbers[0])
                time.sleep(RESEND_SECONDS)


def exit_now(code: int) -> NoReturn:
    """Flush the streams and end the process at once.

    A normal exit unloads numpy and Arrow, which takes as long as a small fit.
    """
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, AttributeError):  # closed or absent: there is nothing to flush
            stream.flush()
    os._exit(code)


def hold_standard_streams() -> None:
    """Occupy the standard descriptors that are closed, so that a file opened later does not get one of them.

    Standard input is opened for writing and standard output for reading, so that using them still fails.
    """
    for descriptor, stream, unusable in ((0, sys.stdin, os.O_WRONLY), (1, sys.stdout, os.O_RDONLY)):
        if stream is None:
            open_devnull_on(descriptor, unusable)
    if sys.stderr is None:
        open_devnull_on(2, os.O_WRONLY)


def open_devnull_on(descriptor: int, mode: int) -> None:
    """Make file descriptor `descriptor` refer to /dev/null; `mode` is a flag of os.open, such as os.O_WRONLY."""
    null = os.open(os.devnull, mode)
    if null != descriptor:
        os.dup2(null, descriptor)
        os.close(null)

"""The process among others: signals, exit codes, closed standard streams."""

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

__all__ = [
    "SHORT",
    "Stopped",
    "hold_standard_streams",
    "is_limited",
    "leave",
    "occupy",
    "stand_by",
    "stop_in",
    "stoppable",
    "tune",
]

NAMES = ("SIGHUP", "SIGINT", "SIGTERM", "SIGXCPU")  # the last of a limit on time, which ends a run like SIGTERM
NUMBERS = [getattr(signal, name) for name in NAMES if hasattr(signal, name)]

PR_SET_PDEATHSIG = 1  # of Linux

SHORT = "out of memory; use fewer columns or threads, or a machine with more"
CODES = (signal.SIGHUP, signal.SIGINT, signal.SIGTERM)
ENDINGS = {0, 2, 3, 4, 5, 6, *(128 + number for number in CODES)}

PATIENCE = 0.05  # seconds until a signal that the main thread did not notice is sent to it again
SWITCH = 1e-4  # seconds
SAME = 1.0  # seconds within which another signal is the same wish
CLEAN = 10.0  # seconds that a run may take to clean up before it is told again


class Stopped(BaseException):
    """A signal asked the run to end."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.code = _code(number)


def _code(number: int) -> int:
    return 128 + (number if number in CODES else signal.SIGTERM)


def tune() -> None:
    """Settle what libraries read when they are loaded; what the user has set stays."""
    # Threads of BLAS beside our own would spin while they wait; a factorisation that needs more asks for them.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # Arrow's own allocator keeps a fifth more memory, and is no faster at the few large pieces we take.
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
    # A thread that comes out of Arrow wants the interpreter for less time than it would wait for it.
    sys.setswitchinterval(SWITCH)
    from pcatool.resources import keep_memory

    keep_memory()


def is_limited() -> bool:
    """Is there a limit on the memory of this process, as `ulimit -v` sets it?"""
    from resource import RLIM_INFINITY, RLIMIT_AS, RLIMIT_DATA, getrlimit

    return any(getrlimit(limit)[0] != RLIM_INFINITY for limit in (RLIMIT_AS, RLIMIT_DATA))


def stand_by() -> None:
    """Where a limit on memory is set, leave the run to a child, and say what it cannot: a library that gets no more
    memory may end the process at once, each in its own way."""
    if not is_limited():
        return
    parent, child = os.getpid(), os.fork()
    if child == 0:
        _end_with(parent)
        return
    for number in NUMBERS:
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, lambda number, frame: os.kill(child, number))
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if -code in NUMBERS:
        signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    if code not in ENDINGS:
        with suppress(OSError):
            os.write(2, f"pcatool: error: {SHORT}\n".encode())
    os._exit(code if code in ENDINGS else 6)


def _end_with(parent: int) -> None:
    """The child must not outlive its parent, even if that is killed."""
    from ctypes import CDLL

    with suppress(AttributeError, OSError):  # Linux alone has it
        CDLL(None).prctl(PR_SET_PDEATHSIG, int(signal.SIGKILL))
    if os.getppid() != parent:
        os._exit(128 + signal.SIGTERM)


def stop_in(error: BaseException | None) -> Stopped | None:
    """The wish to stop that an error is, or that it came of: Python wraps what is raised while a class is made."""
    waiting, seen = [error], set()
    while waiting:
        error = waiting.pop()
        if isinstance(error, Stopped):
            return error
        if error is not None and id(error) not in seen:  # an error may be the cause of its own cause
            seen.add(id(error))
            waiting += [error.__context__, error.__cause__]
    return None


@contextmanager
def stoppable() -> Iterator[None]:
    """Within it SIGHUP, SIGINT and SIGTERM unwind the run, so that all half-done is cleaned up, to its exit code."""
    # A signal that was set to be ignored, as nohup does, stays so.
    heeded = [number for number in NUMBERS if signal.getsignal(number) != signal.SIG_IGN]
    wish = Wish()
    try:
        try:
            sys.unraisablehook = _unless_stopped
            for number in heeded:
                signal.signal(number, wish)
            yield
        finally:
            wish.granted = True
    except BaseException as error:  # a signal may come on the last line, too
        wish.granted = True
        stopped = stop_in(error)
        if stopped is None:
            raise
        raise SystemExit(stopped.code) from None


def _unless_stopped(unraisable: sys.UnraisableHookArgs) -> None:
    """A wish to stop that came at a bad moment is made again, and nothing to tell of."""
    if not isinstance(unraisable.exc_value, Stopped):
        sys.__unraisablehook__(unraisable)


class Wish:
    """The answer to a signal: stop the run. Another within a second is the same wish, and must not break the clean-up
    off. Once the run has ended, a signal ends the process at once: it may be waiting for a reader of its output."""

    def __init__(self) -> None:
        self.since = float("-inf")
        self.granted = False
        self._raised: Callable[[], Stopped | None] = lambda: None
        noticed, wakeup = os.pipe()
        os.set_blocking(wakeup, False)
        signal.set_wakeup_fd(wakeup, warn_on_full_buffer=False)
        with suppress(RuntimeError):  # no memory for a thread: one signal has to do
            threading.Thread(target=self._nudge, args=(noticed, threading.get_ident()), daemon=True).start()

    def __call__(self, number: int, frame: FrameType | None) -> None:
        if self.granted:
            os._exit(_code(number))
        if self._is_lost() or time.monotonic() > self.since + SAME:
            self.since = time.monotonic()
            raise self._made(number)

    def _made(self, number: int) -> Stopped:
        """A wish that is known to live while it unwinds the run: nothing here holds it."""
        stopped = Stopped(number)
        self._raised = ref(stopped)
        return stopped

    def _is_lost(self) -> bool:
        return self._raised() is None

    def _nudge(self, noticed: int, main: int) -> None:
        """Until the run has ended, the main thread is told again, which one signal may fail to do.

        Of two at a time one may reach a thread of BLAS; and what is raised while Python is inside a callback, as of an
        import's lock, is ignored there. A clean-up that is under way is left alone.
        """
        while numbers := os.read(noticed, 1):
            time.sleep(PATIENCE)
            while not self.granted:
                if self._is_lost() or time.monotonic() > self.since + CLEAN:
                    signal.pthread_kill(main, numbers[0])
                time.sleep(PATIENCE)


def leave(code: int) -> NoReturn:
    """End the process at once: taking numpy and Arrow down piece by piece takes as long as a small fit."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, AttributeError):  # closed, or not there: nothing of ours is left in it
            stream.flush()
    os._exit(code)


def hold_standard_streams() -> None:
    """Occupy the standard descriptors that are closed: a file opened later must not be taken for one of them.

    Each is held so that using it still fails, as it would when closed.
    """
    for descriptor, stream, useless in ((0, sys.stdin, os.O_WRONLY), (1, sys.stdout, os.O_RDONLY)):
        if stream is None:
            occupy(descriptor, useless)
    if sys.stderr is None:
        occupy(2, os.O_WRONLY)


def occupy(descriptor: int, mode: int) -> None:
    null = os.open(os.devnull, mode)
    if null != descriptor:
        os.dup2(null, descriptor)
        os.close(null)

"""Signals at bad moments: between any two instructions of what answers them, in a clean-up, and more than once."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import pytest

from pcatool.cli.signals import Stopped
from pcatool.stores.interruptible_calls import uninterrupted

SECONDS = 60

# A child for each instruction that FILES run: before that one a signal comes. Tells how each child ended.
MOMENTS = """
import contextlib, os, signal, sys, threading, time
from pcatool.cli import signals as process
from pcatool.stores import interruptible_calls as waiting

def at(moment, files, call):
    left = moment

    def trace(frame, event, arg):
        nonlocal left
        if frame.f_code.co_filename not in files:
            return None
        frame.f_trace_opcodes = True
        if event == "opcode":
            left -= 1
            if left == 0:
                sys.settrace(None)
                os.kill(os.getpid(), signal.SIGTERM)
        return trace

    sys.settrace(trace)
    call()

def ended(moment, files, call):
    child = os.fork()
    if not child:
        try:
            at(moment, files, call)
        finally:  # as Python would tell of it
            sys.settrace(None)
            sys.excepthook(*sys.exc_info())
            sys.stderr.flush()
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
"""

RUN = """
def run():
    try:
        with process.stoppable():
            code = 0
    except SystemExit as stopped:
        code = stopped.code
    except process.Stopped as stopped:
        code = stopped.code
    sys.settrace(None)
    os._exit(code)

for moment in range(1, 2000):
    print(found := ended(moment, {process.__file__, contextlib.__file__}, run))
    if found == 0:
        break
"""

# The numbers of children that ended before the call was made, after it was made once, and otherwise.
CALL = """
def run():
    made = []
    def call():
        time.sleep(0.005)
        made.append(1)
    signal.signal(signal.SIGTERM, stop)
    try:
        waiting.uninterrupted(call)
        signalled = 0
    except process.Stopped:
        signalled = 3
    sys.settrace(None)
    time.sleep(0.01)
    os._exit(10 * len(made) + signalled)

def stop(number, frame):
    raise process.Stopped(number)

for moment in range(1, 2000):
    print(found := ended(moment, {waiting.__file__, threading.__file__}, run))
    if found == 10:
        break
"""


class Told(NamedTuple):
    code: int
    out: list[str]
    err: str


def python(program: str) -> Told:
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=SECONDS)
    return Told(done.returncode, done.stdout.splitlines(), done.stderr)


def test_at_every_moment_of_a_run_a_signal_ends_it_without_a_traceback() -> None:
    told = python(MOMENTS + RUN)
    assert (told.code, told.err) == (0, "")
    before = told.out.count("-15")  # ours does not answer yet
    assert 0 < before < len(told.out) - 20
    assert told.out == ["-15"] * before + ["143"] * (len(told.out) - before - 1) + ["0"]


def test_at_every_moment_a_clean_up_is_done_once_and_the_signal_told_afterwards() -> None:
    told = python(MOMENTS + CALL)
    assert (told.code, told.err) == (0, "")
    before = told.out.count("3")  # nothing is begun yet
    assert before < len(told.out) - 100
    assert told.out == ["3"] * before + ["13"] * (len(told.out) - before - 1) + ["10"]


HANGS = """
import os, signal, threading, time
from pcatool.cli.signals import exit_now, stoppable
from pcatool.stores.interruptible_calls import uninterrupted
began = time.monotonic()
threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    with stoppable():
        uninterrupted(lambda: time.sleep(60), 0.2)
except SystemExit as stopped:
    print(0.5 <= time.monotonic() - began < 30)
    exit_now(stopped.code)
"""


def test_a_start_that_hangs_is_given_up_after_a_signal() -> None:
    assert python(HANGS) == (130, ["True"], "")


def test_the_error_of_a_call_is_raised_and_another_thread_makes_it_itself() -> None:
    threads: list[threading.Thread] = []

    def call() -> None:
        threads.append(threading.current_thread())
        raise ValueError("bad")

    with pytest.raises(ValueError, match="bad"):
        uninterrupted(call)
    with ThreadPoolExecutor(1) as pool, pytest.raises(ValueError, match="bad"):
        pool.submit(uninterrupted, call).result()
    assert len({*threads, threading.main_thread()}) == 3


SLOW = """
import os, signal, time
from pcatool.cli.signals import stoppable
with stoppable():
    try:
        os.kill(os.getpid(), signal.SIGHUP)
        time.sleep(30)
    finally:
        time.sleep(2.2)
        print("cleaned up")
"""


def test_a_slow_clean_up_is_not_broken_off() -> None:
    assert python(SLOW) == (129, ["cleaned up"], "")


LOST = """
import gc, os, signal, time
from pcatool.cli.signals import stoppable

class Ignoring:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGTERM)

with stoppable():
    thing = Ignoring()
    del thing
    began = time.monotonic()
    try:
        time.sleep(30)
    finally:
        print(time.monotonic() - began < 1)
"""


def test_a_signal_that_python_ignores_in_a_callback_comes_again_soon() -> None:
    assert python(LOST) == (143, ["True"], "")


AFTER = """
import os, signal, time
from pcatool.cli.signals import exit_now, stoppable
with stoppable():
    pass
os.kill(os.getpid(), signal.SIGTERM)
time.sleep(30)
"""


def test_after_a_run_a_signal_ends_the_process_with_the_same_code() -> None:
    assert python(AFTER) == (143, [], "")


# numpy's compiled code raises an ImportError of its own, without a cause, in place of what its imports raised.
REPLACED = """
import os, signal, sys
from pcatool.cli import signals
from pcatool.cli.reporter import run_and_report

def run():
    try:
        os.kill(os.getpid(), signal.SIGHUP)
    except signals.Stopped:
        pass
    raise ImportError("numpy._core.multiarray failed to import")

with signals.stoppable():
    sys.exit(run_and_report(run, debug=False))
"""


def test_a_library_may_replace_a_stop_by_an_error_of_its_own() -> None:
    assert python(REPLACED) == (129, [], "")


# A signal at each of 40 moments of the imports of numpy and Arrow, counted in processor time.
IMPORTS = """
import os, signal, time, warnings
from pcatool.cli import signals
from pcatool.cli.reporter import run_and_report

MOMENTS = 40

def run():
    signal.setitimer(signal.ITIMER_VIRTUAL, duration * moment / MOMENTS)
    import numpy, pyarrow
    while True:
        pass

warnings.simplefilter("ignore")  # as `main` does: an import that is interrupted may warn
signals.SIGNALS.append(signal.SIGVTALRM)
read_end, write_end = os.pipe()
if not os.fork():
    import numpy, pyarrow
    os.write(write_end, str(time.process_time()).encode())
    os._exit(0)
duration = float(os.read(read_end, 100))
for moment in range(1, MOMENTS + 1):
    if child := os.fork():
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        continue
    code = 0
    try:
        with signals.stoppable():
            code = run_and_report(run, debug=False)
    except SystemExit as stopped:
        code = stopped.code
    os._exit(code)
"""


def test_a_signal_at_any_moment_of_the_imports_ends_silently() -> None:
    code, out, err = python(IMPORTS)
    assert (code, set(out), err) == (0, {"143"}, "")


@pytest.mark.parametrize(("number", "code"), [("SIGHUP", 129), ("SIGINT", 130), ("SIGTERM", 143), ("SIGXCPU", 143)])
def test_the_code_of_a_signal(number: str, code: int) -> None:
    assert Stopped(getattr(signal, number)).code == code

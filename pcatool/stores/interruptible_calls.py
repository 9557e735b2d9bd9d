"""Slow calls that signals can interrupt, and short calls that signals must not interrupt: for stores and Dask."""

from __future__ import annotations

import time
from collections.abc import Callable, Sized
from concurrent.futures import Future
from threading import Thread, current_thread, main_thread
from typing import TypeVar

__all__ = ["interruptible", "uninterrupted"]

Answer = TypeVar("Answer")

POLL_SECONDS = 0.005  # seconds between two checks whether a call has ended
GRACE_SECONDS = 5.0  # seconds that a call in `uninterrupted` may still take after a signal


def interruptible(call: Callable[[], Answer]) -> Answer:
    """Make a call that may wait for the network, and return its result; a signal can interrupt the wait.

    Python handles signals only in the main thread, and not while a library waits. So the main thread starts another
    thread for the call, and waits for the result. After a signal, that thread is left running.
    """
    if current_thread() is not main_thread():
        return call()
    result: Future[Answer] = Future()

    def run_call() -> None:
        try:
            result.set_result(call())
        except BaseException as error:  # raised again in the main thread, below
            result.set_exception(error)

    try:
        Thread(target=run_call, daemon=True).start()
    except RuntimeError:  # no memory for a thread
        return call()
    return result.result()


def uninterrupted(call: Callable[[], object], seconds: float = GRACE_SECONDS) -> None:
    """Make a call that no signal interrupts, and raise its exception, if any.

    The exception of a signal is raised when the call has ended, at the latest `seconds` after the signal. Python
    handles signals only in the main thread, so another thread makes the call.
    """
    if current_thread() is not main_thread():
        call()
        return
    # The thread that takes the only ticket from the iterator makes the call, so the call is made once. A signal could
    # leave a lock locked, so there is no lock.
    tickets, outcomes = iter((call,)), list[BaseException | None]()

    def make_call() -> None:
        for make_it in tickets:
            try:
                make_it()
                outcomes.append(None)
            except BaseException as error:  # raised below, in the main thread
                outcomes.append(error)

    try:
        try:
            Thread(target=make_call, daemon=True).start()
        except RuntimeError:  # no memory for a thread
            make_call()
        while not outcomes:
            time.sleep(POLL_SECONDS)
    except BaseException:  # from a signal, maybe before the thread was started
        make_call()
        _wait(outcomes, time.monotonic() + seconds)
        raise
    for error in outcomes:
        if error is not None:
            raise error


def _wait(outcomes: Sized, deadline: float) -> None:
    """Wait until `outcomes` has an element, or until `deadline` on the monotonic clock in seconds.

    Signals do not end the wait; the exception of the last signal is raised afterwards.
    """
    try:
        while not outcomes and time.monotonic() < deadline:
            time.sleep(POLL_SECONDS)
    except BaseException:
        _wait(outcomes, deadline)
        raise

"""Calls that wait for others, and signals: heard meanwhile, or held back until a start or an end is complete."""

from __future__ import annotations

import time
from collections.abc import Callable, Sized
from concurrent.futures import Future
from threading import Thread, current_thread, main_thread
from typing import TypeVar

__all__ = ["patiently", "to_its_end"]

Answer = TypeVar("Answer")

POLL = 0.005  # seconds
GRACE = 5.0  # seconds that a start or an end may still take when a signal has come


def patiently(call: Callable[[], Answer]) -> Answer:
    """What a call gives that may wait for the network. A library that waits hears no signal, and only the main thread
    is told of one: there the call is left to a thread of its own, and to itself when a signal comes."""
    if current_thread() is not main_thread():
        return call()
    coming: Future[Answer] = Future()

    def work() -> None:
        try:
            coming.set_result(call())
        except BaseException as error:  # for the main thread to raise
            coming.set_exception(error)

    try:
        Thread(target=work, daemon=True).start()
    except RuntimeError:  # no memory for a thread
        return call()
    return coming.result()


def to_its_end(call: Callable[[], object], seconds: float = GRACE) -> None:
    """Make a call that no signal breaks off; what a signal raises comes when it is done, or so many seconds later.

    Only the main thread is told of signals, so another thread makes the call.
    """
    if current_thread() is not main_thread():
        call()
        return
    # The first to take the only ticket makes the call; no lock is needed, which a signal could leave locked.
    tickets, ended = iter((call,)), list[BaseException | None]()

    def work() -> None:
        for only in tickets:
            try:
                only()
                ended.append(None)
            except BaseException as error:  # for the main thread to raise
                ended.append(error)

    try:
        try:
            Thread(target=work, daemon=True).start()
        except RuntimeError:  # no memory for a thread
            work()
        while not ended:
            time.sleep(POLL)
    except BaseException:  # of a signal, maybe before the thread was begun
        work()
        _wait(ended, time.monotonic() + seconds)
        raise
    for error in ended:
        if error is not None:
            raise error


def _wait(ended: Sized, until: float) -> None:
    """Wait until there is something, or until that time, whatever signals come."""
    try:
        while not ended and time.monotonic() < until:
            time.sleep(POLL)
    except BaseException:
        _wait(ended, until)
        raise

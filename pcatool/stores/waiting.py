"""Waiting for a store such that signals are heard meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from threading import Thread, current_thread, main_thread
from typing import TypeVar

__all__ = ["patiently"]

Answer = TypeVar("Answer")


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

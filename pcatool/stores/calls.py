"""Calls to a store: interruptible by signals, and their failures in plain words.

`patiently` and `to_its_end` serve other slow calls, too, such as those to a Dask cluster.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sized
from concurrent.futures import Future
from threading import Thread, current_thread, main_thread
from typing import TypeVar

from pyarrow import ArrowException

from pcatool.errors import BlamelessError, FileError, LostError, check_memory, show

__all__ = ["ERRORS", "in_words", "patiently", "to_its_end"]

# What the libraries raise.
ERRORS = (ArrowException, OSError, ValueError)

CREDENTIALS = "check the credentials, and what they allow"
LATER = "try again later"
# What the libraries' words mean, and what to do; the first that is found. Of a name that leads nowhere another may do;
# what else a store answers says nothing of the object.
NOT_THERE = (
    (r"NO_SUCH_BUCKET|NoSuchBucket|ContainerNotFound", "there is no such bucket", "check its name"),
    (
        r"NO_SUCH_KEY|HTTP status 404|Path does not exist|NOT_FOUND|BlobNotFound",
        "there is no such object",
        "check its name",
    ),
)
REFUSED = (
    (r"(?P<what>SLOW_DOWN|SERVICE_UNAVAILABLE|THROTTLING|RESOURCE_EXHAUSTED|ServerBusy|HTTP status (?:429|503))",
     "the store is busy ({what})", LATER),
    (r"(?P<what>INTERNAL_FAILURE|REQUEST_TIMEOUT|UNAVAILABLE|OperationTimedOut|InternalError|HTTP status 5\d\d)",
     "the store fails ({what})", LATER),
    (r"ACCESS_DENIED|FORBIDDEN|\(HTTP status 403\)|PERMISSION_DENIED|AuthorizationFailure",
     "access denied", CREDENTIALS),
    (r"INVALID_ACCESS_KEY_ID|SIGNATURE_DOES_NOT_MATCH|INVALID_CLIENT_TOKEN_ID|EXPIRED_TOKEN|ExpiredToken|"
     r"\(HTTP status 401\)|UNAUTHENTICATED|AuthenticationFailed|AuthenticationException|OAuth2 access token|"
     r"[Cc]redential",
     "the store does not accept the credentials", CREDENTIALS),
    (r"located in '(?P<what>[a-z0-9-]+)'", "its bucket is in the region {what}", "add ?region={what} to the name"),
    (r"Unable to parse ExceptionName: (?P<what>\w+)", "the store answers {what}", ""),
    (r"(?P<what>HTTP status \d+)", "the store answers {what}", ""),
)  # fmt: skip
CUT_OFF = "NETWORK_CONNECTION|curlCode|Could not resolve host|Fail to get a new connection|CURL error|DEADLINE_EXCEEDED"
MEANINGS = (*((FileError, *one) for one in NOT_THERE), *((BlamelessError, *one) for one in REFUSED))
ANSWER = "AWS Error "
NOISE = re.compile(r"\(Request ID: [^)]*\)|\s*Detail: .*", re.DOTALL)


def in_words(name: str, doing: str, error: Exception) -> FileError:
    """The error for what a library raised while an object was read or written."""
    check_memory(error)
    text = _answer(str(error))
    if re.search(CUT_OFF, text):
        detail = re.search(r"Details: ([^\n;]*)", text)
        reason = f" ({detail[1].strip().rstrip('.')})" if detail else ""
        return LostError(f"cannot {doing} {show(name)}: no connection{reason}", "check the network and the endpoint")
    for kind, pattern, meaning, remedy in MEANINGS:
        if found := re.search(pattern, text):
            what = {key: value.strip().rstrip(".") for key, value in found.groupdict().items()}
            return kind(f"cannot {doing} {show(name)}: {meaning.format(**what)}", remedy.format(**what))
    whole = NOISE.sub("", text).split("\n", 1)[0].strip().rstrip(".")
    reason = whole.rpartition(" operation: ")[2] or whole.rpartition(": ")[2] or type(error).__name__
    of_store = BlamelessError if text.startswith(ANSWER) else FileError
    return of_store(f"cannot {doing} {show(name)}: {reason.rstrip(':')}")


def _answer(text: str) -> str:
    """What the store says, without the name that was asked for, in which may stand anything."""
    return text[max(text.rfind(ANSWER), 0) :]


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

"""Calls to a store that signals can interrupt, and error messages for failed calls.

`interruptible` and `uninterrupted` also serve other slow calls, such as those to a Dask cluster.
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

__all__ = ["ERRORS", "in_words", "interruptible", "uninterrupted"]

# Errors that pyarrow's file systems raise.
ERRORS = (ArrowException, OSError, ValueError)

CREDENTIALS = "check the credentials, and what they allow"
LATER = "try again later"
# Patterns in the texts of the libraries, with message and remedy; the first match counts. NOT_THERE: the name is wrong,
# a `FileError`. REFUSED: the store refuses or fails, which is no fault of the object, a `BlamelessError`.
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
    """Return the error, with a plain message, for an exception of a library.

    `doing` is a verb such as "read". A lost connection gives a `LostError`. Raise MemoryError for a lack of memory.
    """
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
    """Return the answer of the store without the text before it: the name there might match a pattern by chance."""
    return text[max(text.rfind(ANSWER), 0) :]


Answer = TypeVar("Answer")

POLL = 0.005  # seconds between two checks whether a call has ended
GRACE = 5.0  # seconds that a call in `uninterrupted` may still take after a signal


def interruptible(call: Callable[[], Answer]) -> Answer:
    """Return the result of a call that may wait for the network, so that a signal can interrupt the wait.

    Python handles signals only in the main thread, and not while a library waits. So the main thread runs the call in a
    thread of its own; after a signal that thread is left running.
    """
    if current_thread() is not main_thread():
        return call()
    coming: Future[Answer] = Future()

    def work() -> None:
        try:
            coming.set_result(call())
        except BaseException as error:  # raised by `coming.result` in the main thread
            coming.set_exception(error)

    try:
        Thread(target=work, daemon=True).start()
    except RuntimeError:  # no memory for a thread
        return call()
    return coming.result()


def uninterrupted(call: Callable[[], object], seconds: float = GRACE) -> None:
    """Make a call that no signal interrupts.

    The exception of a signal is raised when the call has ended, or `seconds` after the signal. Python handles signals
    only in the main thread, so another thread makes the call.
    """
    if current_thread() is not main_thread():
        call()
        return
    # The thread that takes the only ticket makes the call. A signal could leave a lock locked, so there is no lock.
    tickets, ended = iter((call,)), list[BaseException | None]()

    def work() -> None:
        for only in tickets:
            try:
                only()
                ended.append(None)
            except BaseException as error:  # raised below, in the main thread
                ended.append(error)

    try:
        try:
            Thread(target=work, daemon=True).start()
        except RuntimeError:  # no memory for a thread
            work()
        while not ended:
            time.sleep(POLL)
    except BaseException:  # from a signal, maybe before the thread was started
        work()
        _wait(ended, time.monotonic() + seconds)
        raise
    for error in ended:
        if error is not None:
            raise error


def _wait(ended: Sized, until: float) -> None:
    """Wait until `ended` has an element or `until` is over, also while signals come; then raise the last exception."""
    try:
        while not ended and time.monotonic() < until:
            time.sleep(POLL)
    except BaseException:
        _wait(ended, until)
        raise

"""Plain error messages for failed calls of pyarrow's file systems."""

from __future__ import annotations

import re

from pyarrow import ArrowException

from pcatool.errors import BlamelessError, FileError, LostError, check_memory
from pcatool.wording import show

__all__ = ["ERRORS", "plain_error"]

# Errors that pyarrow's file systems raise.
ERRORS = (ArrowException, OSError, ValueError)

CHECK_CREDENTIALS = "check the credentials and their permissions; pcatool help files lists where credentials come from"
TRY_LATER = "try again later"
# Patterns in the texts of the libraries, with message and remedy; the first match counts. NOT_THERE: the name is wrong,
# which raises `FileError`. REFUSED: the store refuses or fails, and the object is not at fault: `BlamelessError`.
NOT_THERE = (
    (r"NO_SUCH_BUCKET|NoSuchBucket|ContainerNotFound", "there is no such bucket", "check the name of the bucket"),
    (
        r"NO_SUCH_KEY|HTTP status 404|Path does not exist|NOT_FOUND|BlobNotFound",
        "there is no such object",
        "check the name of the object",
    ),
)
REFUSED = (
    (r"(?P<what>SLOW_DOWN|SERVICE_UNAVAILABLE|THROTTLING|RESOURCE_EXHAUSTED|ServerBusy|HTTP status (?:429|503))",
     "the store is busy ({what})", TRY_LATER),
    (r"(?P<what>INTERNAL_FAILURE|REQUEST_TIMEOUT|UNAVAILABLE|OperationTimedOut|InternalError|HTTP status 5\d\d)",
     "the store fails ({what})", TRY_LATER),
    (r"ACCESS_DENIED|FORBIDDEN|\(HTTP status 403\)|PERMISSION_DENIED|AuthorizationFailure",
     "access denied", CHECK_CREDENTIALS),
    (r"INVALID_ACCESS_KEY_ID|SIGNATURE_DOES_NOT_MATCH|INVALID_CLIENT_TOKEN_ID|EXPIRED_TOKEN|ExpiredToken|"
     r"\(HTTP status 401\)|UNAUTHENTICATED|AuthenticationFailed|AuthenticationException|OAuth2 access token|"
     r"[Cc]redential",
     "the store does not accept the credentials", CHECK_CREDENTIALS),
    (r"located in '(?P<what>[a-z0-9-]+)'", "the bucket is in the region {what}", "add ?region={what} to the name"),
    (r"Unable to parse ExceptionName: (?P<what>\w+)", "the store answers {what}", ""),
    (r"(?P<what>HTTP status \d+)", "the store answers {what}", ""),
)  # fmt: skip
NO_CONNECTION = (
    "NETWORK_CONNECTION|curlCode|Could not resolve host|Fail to get a new connection|CURL error|DEADLINE_EXCEEDED"
)
ERROR_PATTERNS = (*((FileError, *row) for row in NOT_THERE), *((BlamelessError, *row) for row in REFUSED))
ANSWER_MARK = "AWS Error "
REQUEST_DETAILS = re.compile(r"\(Request ID: [^)]*\)|\s*Detail: .*", re.DOTALL)


def plain_error(name: str, doing: str, error: Exception) -> FileError:
    """Return the error to raise, with message and remedy, for an exception of pyarrow about the object `name`.

    `doing` is the verb of the message, such as "read". The error is a `LostError` for a lost connection, a
    `BlamelessError` if the store refuses or fails, otherwise a plain `FileError`. Raise MemoryError if the exception
    reports a lack of memory.
    """
    check_memory(error)
    text = _answer_of_store(str(error))
    if re.search(NO_CONNECTION, text):
        detail = re.search(r"Details: ([^\n;]*)", text)
        reason = f" ({detail[1].strip().rstrip('.')})" if detail else ""
        return LostError(f"cannot {doing} {show(name)}: no connection{reason}", "check the network and the endpoint")
    for kind, pattern, meaning, remedy in ERROR_PATTERNS:
        if match := re.search(pattern, text):
            groups = {key: value.strip().rstrip(".") for key, value in match.groupdict().items()}
            return kind(f"cannot {doing} {show(name)}: {meaning.format(**groups)}", remedy.format(**groups))
    first_line = REQUEST_DETAILS.sub("", text).split("\n", 1)[0].strip().rstrip(".")
    reason = first_line.rpartition(" operation: ")[2] or first_line.rpartition(": ")[2] or type(error).__name__
    kind = BlamelessError if text.startswith(ANSWER_MARK) else FileError
    return kind(f"cannot {doing} {show(name)}: {reason.rstrip(':')}")


def _answer_of_store(text: str) -> str:
    """Return the part of an error text from its last "AWS Error " (ANSWER_MARK) on, or all of a text without a mark.

    The text before the mark has the name of the object, which might match a pattern by chance.
    """
    return text[max(text.rfind(ANSWER_MARK), 0) :]

"""What went wrong at a store, in a sentence: the libraries' own words are for those who wrote them."""

from __future__ import annotations

import re

from pcatool.errors import FileError, show

__all__ = ["in_words"]

CREDENTIALS = "check the credentials, and what they allow"
# What the libraries' words mean, and what to do; the first that is found.
MEANINGS = (
    (r"NO_SUCH_BUCKET|NoSuchBucket|ContainerNotFound", "there is no such bucket", "check its name"),
    (r"NO_SUCH_KEY|Path does not exist|NOT_FOUND|BlobNotFound", "there is no such object", "check its name"),
    (r"ACCESS_DENIED|FORBIDDEN|\(HTTP status 403\)|PERMISSION_DENIED|AuthorizationFailure",
     "access denied", CREDENTIALS),
    (r"INVALID_ACCESS_KEY_ID|SIGNATURE_DOES_NOT_MATCH|INVALID_CLIENT_TOKEN_ID|EXPIRED_TOKEN|\(HTTP status 401\)|"
     r"UNAUTHENTICATED|AuthenticationFailed|[Cc]redential", "the store does not accept the credentials", CREDENTIALS),
    (r"located in '(?P<what>[a-z0-9-]+)'", "its bucket is in the region {what}", "add ?region={what} to the name"),
    (r"Details: (?P<what>[^\n;]*)", "no connection ({what})", "check the network and the endpoint"),
    (r"NETWORK_CONNECTION|UNAVAILABLE|DEADLINE_EXCEEDED|[Cc]onnect|host name", "no connection",
     "check the network and the endpoint"),
)  # fmt: skip
NOISE = re.compile(r"\(Request ID: [^)]*\)|\s*Detail: .*", re.DOTALL)


def in_words(name: str, doing: str, error: BaseException) -> FileError:
    """The error for what a library raised while an object was read or written."""
    text = str(error)
    for pattern, meaning, remedy in MEANINGS:
        if found := re.search(pattern, text):
            what = {key: value.strip().rstrip(".") for key, value in found.groupdict().items()}
            return FileError(f"cannot {doing} {show(name)}: {meaning.format(**what)}", remedy.format(**what))
    reason = NOISE.sub("", text).split("\n", 1)[0].rpartition(" operation: ")[2].strip().rstrip(".")
    return FileError(f"cannot {doing} {show(name)}: {reason or type(error).__name__}")

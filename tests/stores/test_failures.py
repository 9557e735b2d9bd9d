"""What libraries say of a store that refuses or fails, in the words of the tool, and whose fault it is."""

from __future__ import annotations

import pytest

from pcatool.errors import BlamelessError, FileError, LostError
from pcatool.readers.bad_files import is_bad_file
from pcatool.stores.failures import plain_error

CREDENTIALS = "; check the credentials and their permissions; pcatool help files lists where credentials come from"
WHEN = "When reading information for key 'NOT_FOUND credentials.csv' in bucket 'b': "
SAID: dict[str, tuple[type[FileError], str]] = {
    f"{WHEN}AWS Error UNKNOWN (HTTP status 503) during HeadObject operation: No response body.": (
        BlamelessError, "the store is busy (HTTP status 503); try again later"
    ),
    "AWS Error SLOW_DOWN during GetObject operation:  (Request ID: x)": (
        BlamelessError, "the store is busy (SLOW_DOWN); try again later"
    ),
    "AWS Error UNKNOWN (HTTP status 429) during ListObjectsV2 operation: Unable to parse ExceptionName: TooMany": (
        BlamelessError, "the store is busy (HTTP status 429); try again later"
    ),
    "AWS Error INTERNAL_FAILURE during GetObject operation: Failed to flush response stream (eof: 0, bad: 1)": (
        BlamelessError, "the store fails (INTERNAL_FAILURE); try again later"
    ),
    f"{WHEN}AWS Error UNKNOWN (HTTP status 502) during HeadObject operation: No response body.": (
        BlamelessError, "the store fails (HTTP status 502); try again later"
    ),
    "AWS Error ACCESS_DENIED during GetObject operation: Access Denied": (
        BlamelessError, f"access denied{CREDENTIALS}"
    ),
    "AWS Error UNKNOWN (HTTP status 400) during ListObjectsV2 operation: Unable to parse ExceptionName: ExpiredToken": (
        BlamelessError, f"the store does not accept the credentials{CREDENTIALS}"
    ),
    "AWS Error UNKNOWN (HTTP status 409) during X operation: Unable to parse ExceptionName: OperationAborted Text:": (
        BlamelessError, "the store answers OperationAborted"
    ),
    "AWS Error UNKNOWN (HTTP status 400) during HeadObject operation: No response body.": (
        BlamelessError, "the store answers HTTP status 400"
    ),
    "AWS Error [code 136] during GetObject operation: It is archived.": (BlamelessError, "It is archived"),
    "AWS Error [code 136] during GetObject operation:  (Request ID: x)": (
        BlamelessError, "AWS Error [code 136] during GetObject operation"
    ),
    f"{WHEN}AWS Error NETWORK_CONNECTION during HeadObject operation: curlCode: 7, Couldn't connect": (
        LostError, "no connection; check the network and the endpoint"
    ),
    "[Errno 2] Path does not exist 'b/k'": (FileError, "there is no such object; check the name of the object"),
    "AWS Error NO_SUCH_KEY during GetObject operation: The specified key does not exist.": (
        FileError, "there is no such object; check the name of the object"
    ),
    "AWS Error NO_SUCH_BUCKET during ListObjectsV2 operation: The specified bucket does not exist": (
        FileError, "there is no such bucket; check the name of the bucket"
    ),
    "Empty path component in path b//k": (FileError, "Empty path component in path b//k"),
}  # fmt: skip


@pytest.mark.parametrize("text", SAID)
def test_what_went_wrong_and_whose_fault_it_is(text: str) -> None:
    error = plain_error("s3://b/k", "read", OSError(text))
    kind, said = SAID[text]
    assert (type(error), str(error)) == (kind, f"cannot read 's3://b/k': {said}")
    assert is_bad_file(error) == (kind is FileError)

"""The file system of Google Cloud Storage. Credentials it finds as all of Google's tools do."""

from __future__ import annotations

import os
from datetime import timedelta
from functools import cache
from typing import Any

from pcatool.stores.uri import Uri

__all__ = ["endpoint_of", "find"]

# Google's library tries again for 15 minutes.
PATIENCE = timedelta(seconds=10)


def find(uri: Uri) -> tuple[Any, str]:
    """The file system and the bucket."""
    scheme, endpoint = endpoint_of(uri)
    asked = uri.options.get("anonymous", "").lower() in ("1", "true", "yes")
    anonymous = asked or uri.user == "anonymous" or bool(os.environ.get("STORAGE_EMULATOR_HOST"))
    return _made(endpoint, scheme, anonymous), uri.authority


def endpoint_of(uri: Uri) -> tuple[str, str]:
    """The scheme and the server; none is Google's own."""
    emulator = os.environ.get("STORAGE_EMULATOR_HOST", "")  # as Google's own tools are led to a server for tests
    scheme, mark, host = emulator.partition("://")
    if not mark:
        scheme, host = "http", emulator
    return uri.options.get("scheme", scheme if host else "https"), uri.options.get(
        "endpoint_override", host.rstrip("/")
    )


@cache
def _made(endpoint: str, scheme: str, anonymous: bool) -> Any:
    from pyarrow import fs

    return fs.GcsFileSystem(
        anonymous=anonymous, endpoint_override=endpoint or None, scheme=scheme, retry_time_limit=PATIENCE
    )

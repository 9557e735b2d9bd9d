"""Names of remote objects: parse names and their options, and show names without secrets."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple
from urllib.parse import parse_qsl, unquote

from pcatool.errors import UsageError
from pcatool.wording import show

__all__ = ["HTTP", "Uri", "is_remote", "parse", "plain_name", "shown", "with_options"]

SCHEME_PREFIX = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://", re.ASCII)
HTTP = "http"
KINDS = {"s3": "s3", "gs": "gs", "gcs": "gs", "abfs": "abfs", "abfss": "abfs", "http": HTTP, "https": HTTP}
# Options allowed after a question mark, for each store. A question mark may also be part of a key or of a pattern.
OPTIONS = {
    "s3": ("anonymous", "endpoint_override", "region", "scheme"),
    "gs": ("anonymous", "endpoint_override", "scheme"),
    "abfs": ("account_name", "blob_storage_authority", "dfs_storage_authority", "scheme"),
}
NO_OPTION = "?scheme="  # an option without effect, valid in every store
WORD = re.compile(r"\w+", re.ASCII)
LEAST_SIMILARITY = 0.75  # similarity (difflib, 0 to 1) from which an unknown option is a misspelled one
LEAST_LETTERS = 4  # letters of a first word that says which option was meant


class Uri(NamedTuple):
    """The parts of the name of an object, folder or pattern: `scheme://user:password@authority/key?options`."""

    scheme: str  # as written, in lower case
    kind: str  # s3, gs, abfs or http; gcs:// has the kind gs, abfss:// abfs, https:// http
    user: str
    password: str
    authority: str  # a bucket, or the name of a server
    key: str  # name of the object within the bucket, not unquoted
    options: Mapping[str, str]
    query: str  # the options as the user wrote them, with the question mark

    @property
    def stem(self) -> str:
        """Everything before the key, without user and password: `scheme://authority/`."""
        return f"{self.scheme}://{self.authority}/"


def is_remote(path: str) -> bool:
    """Return whether the path begins with a scheme such as s3:// and there is no local file of this name."""
    return SCHEME_PREFIX.match(path) is not None and not os.path.lexists(path)


@lru_cache(maxsize=1 << 16)
def parse(path: str) -> Uri:
    """Return the parts of a remote name; user and password are unquoted, the key is not.

    Raise `UsageError` for an unknown scheme or option, a name without bucket or server, and a folder named . or .. in a
    store.
    """
    match = SCHEME_PREFIX.match(path)
    scheme = match[1].lower() if match else ""
    if match is None or scheme not in KINDS:
        raise UsageError(
            f"{show(shown(path))}: no store is called {scheme}://",
            f"write one of {', '.join(f'{name}://' for name in KINDS)}",
        )
    kind = KINDS[scheme]
    rest, query = _split_query(path[match.end() :], kind)
    place, _, key = rest.partition("/")
    login, at, authority = place.rpartition("@")
    user, _, password = login.partition(":")
    if kind == "abfs" and at and not password:  # container@account, not user@server
        user, authority = "", place
    if not authority:
        what = "server" if kind == HTTP else "bucket"
        raise UsageError(f"{show(shown(path))} names no {what}", f"write {scheme}://{what}/name")
    if kind != HTTP and {".", ".."} & set(key.split("/")):  # libraries remove such parts and reach another object
        raise UsageError(
            f"{show(shown(path))}: a name in a store cannot have . or .. as a folder", "write the name without . and .."
        )
    options = {} if kind == HTTP else _options(path, query, kind)
    return Uri(scheme, kind, unquote(user), unquote(password), authority, key, options, query)


def _split_query(rest: str, kind: str) -> tuple[str, str]:
    """Return path and query (with its question mark) of a name without its scheme.

    A web address is split at the first question mark. Other names are split at the last, and only if options follow.
    """
    if kind == HTTP:
        name, mark, query = rest.partition("?")
        return name, mark + query
    name, mark, query = rest.rpartition("?")
    return (name, mark + query) if "=" in query and _are_options(query, kind) else (rest, "")


def _are_options(query: str, kind: str) -> bool:
    """Return whether a query, without its question mark, holds options of this kind of store.

    This is so if the name of its first option is known, or if all names are words and one is nearly a known name.
    """
    names = [option.partition("=")[0] for option in query.split("&")]
    if names[0] in OPTIONS[kind]:
        return True
    return all(WORD.fullmatch(name) for name in names) and any(_nearest_option(name, kind) for name in names)


def _nearest_option(name: str, kind: str) -> str:
    """Return the option of this kind of store that is nearest to a name; "" if no option is near.

    The nearest option is the most similar one, or else one that begins with the first word of the name: `endpoint_url`
    means `endpoint_override`, and `anon` means `anonymous`.
    """
    from difflib import get_close_matches

    word = name.lower().partition("_")[0]
    begun = [option for option in OPTIONS[kind] if len(word) >= LEAST_LETTERS and option.startswith(word)]
    return next(iter([*get_close_matches(name.lower(), OPTIONS[kind], 1, LEAST_SIMILARITY), *begun]), "")


def _options(path: str, query: str, kind: str) -> dict[str, str]:
    """Return the options of a query, by name, without those of an empty value; `query` has its question mark.

    Raise `UsageError`, whose message names `path`, for an option that this kind of store does not have.
    """
    given = dict(parse_qsl(query[1:], keep_blank_values=True))
    for name in given:
        if name not in OPTIONS[kind]:
            nearest = _nearest_option(name, kind)
            raise UsageError(
                f"{show(shown(path))}: {kind}:// has no option {show(name)}",
                f"{f'did you mean {nearest}? ' if nearest else ''}the options are {', '.join(OPTIONS[kind])}",
            )
    return {name: value for name, value in given.items() if value}


def with_options(name: str, query: str) -> str:
    """Return a name with `query`, its options with the question mark, appended.

    If `query` is empty, but the end of the name looks like options, `NO_OPTION` is appended, which has no effect.
    """
    return name + (query or (NO_OPTION if plain_name(name) != name else ""))


def plain_name(path: str) -> str:
    """Return a remote name without its query, so that its suffix is that of the file format; a local path unchanged."""
    if not is_remote(path):
        return path
    match = SCHEME_PREFIX.match(path)
    assert match is not None
    return match[0] + _split_query(path[match.end() :], KINDS.get(match[1].lower(), HTTP))[0]


def shown(path: str) -> str:
    """Return the name for messages: without user and password; the query of a web address becomes `?...`.

    Such a query may contain a signature. A local path is unchanged.
    """
    match = SCHEME_PREFIX.match(path)
    if match is None or os.path.lexists(path):
        return path
    kind = KINDS.get(match[1].lower(), HTTP)
    rest, query = _split_query(path[match.end() :], kind)
    place, slash, key = rest.partition("/")
    if kind != "abfs" or ":" in place.rpartition("@")[0]:
        place = place.rpartition("@")[2]
    return f"{match[0]}{place}{slash}{key}{'?...' if query and kind == HTTP else ''}"

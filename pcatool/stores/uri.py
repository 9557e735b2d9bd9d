"""Names of remote objects: parse them, compare them, show them without their secrets."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple
from urllib.parse import parse_qsl, unquote

from pcatool.errors import UsageError, show

__all__ = ["HTTP", "Uri", "is_remote", "parse", "plain_name", "shown", "with_options"]

BEGINNING = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://", re.ASCII)
HTTP = "http"
KINDS = {"s3": "s3", "gs": "gs", "gcs": "gs", "abfs": "abfs", "abfss": "abfs", "http": HTTP, "https": HTTP}
# What may stand behind the question mark, which in the name of an object is a letter like any other, or a pattern.
OPTIONS = {
    "s3": ("anonymous", "endpoint_override", "region", "scheme"),
    "gs": ("anonymous", "endpoint_override", "scheme"),
    "abfs": ("account_name", "blob_storage_authority", "dfs_storage_authority", "scheme"),
}
NOTHING = "?scheme="  # options that say nothing, in every store
WORD = re.compile(r"\w+", re.ASCII)
ALIKE = 0.75  # two names of options, of which one may be meant by the other


class Uri(NamedTuple):
    """One object, folder or pattern: `scheme://user:password@authority/key?options`."""

    scheme: str
    kind: str  # s3, gs, abfs or http
    user: str
    password: str
    authority: str  # a bucket, or the name of a server
    key: str
    options: Mapping[str, str]
    query: str  # the options as they were written, with their question mark

    @property
    def stem(self) -> str:
        """All before the key, as it was written but for secrets."""
        return f"{self.scheme}://{self.authority}/"


def is_remote(path: str) -> bool:
    """Does the path name an object, not a file? Something local of that name goes first."""
    return BEGINNING.match(path) is not None and not os.path.lexists(path)


@lru_cache(maxsize=1 << 16)
def parse(path: str) -> Uri:
    """The parts of a name. Keys are taken as they are: nothing in them is unquoted."""
    found = BEGINNING.match(path)
    scheme = found[1].lower() if found else ""
    if found is None or scheme not in KINDS:
        raise UsageError(f"{show(shown(path))}: no store is called {scheme}://", f"there are: {', '.join(KINDS)}")
    kind = KINDS[scheme]
    rest, query = _cut(path[found.end() :], kind)
    place, _, key = rest.partition("/")
    before, at, authority = place.rpartition("@")
    user, _, password = before.partition(":")
    if kind == "abfs" and at and not password:  # container@account is no user
        user, authority = "", place
    if not authority:
        what = "server" if kind == HTTP else "bucket"
        raise UsageError(f"{show(shown(path))} names no {what}", f"write {scheme}://{what}/name")
    if kind != HTTP and {".", ".."} & set(key.split("/")):  # dropped on the way: another object would be meant
        raise UsageError(
            f"{show(shown(path))}: in a store . and .. are no folders, and no part of a name", "write it without them"
        )
    options = {} if kind == HTTP else _options(path, query, kind)
    return Uri(scheme, kind, unquote(user), unquote(password), authority, key, options, query)


def _cut(rest: str, kind: str) -> tuple[str, str]:
    """The query apart: on the web all from the first question mark, elsewhere what is an option there."""
    if kind == HTTP:
        name, mark, query = rest.partition("?")
        return name, mark + query
    name, mark, query = rest.rpartition("?")
    return (name, mark + query) if "=" in query and _are_options(query, kind) else (rest, "")


def _are_options(query: str, kind: str) -> bool:
    """Is the first one known, or are all words, and one known or almost?"""
    names = [option.partition("=")[0] for option in query.split("&")]
    if names[0] in OPTIONS[kind]:
        return True
    return all(WORD.fullmatch(name) for name in names) and any(_nearest(name, kind) for name in names)


def _nearest(name: str, kind: str) -> str:
    """The known option that a name may be meant for; nothing where it is like none."""
    from difflib import get_close_matches

    return next(iter(get_close_matches(name.lower(), OPTIONS[kind], 1, ALIKE)), "")


def _options(path: str, query: str, kind: str) -> dict[str, str]:
    given = dict(parse_qsl(query[1:], keep_blank_values=True))
    for name in given:
        if name not in OPTIONS[kind]:
            nearest = _nearest(name, kind)
            raise UsageError(
                f"{show(shown(path))}: {kind}:// has no option {show(name)}",
                f"{f'did you mean {nearest}? ' if nearest else ''}there are: {', '.join(OPTIONS[kind])}",
            )
    return {name: value for name, value in given.items() if value}


def with_options(name: str, query: str) -> str:
    """A name with options behind it; with ones that say nothing, where its own end would be taken for some."""
    return name + (query or (NOTHING if plain_name(name) != name else ""))


def plain_name(path: str) -> str:
    """The name without options: what its ending tells by."""
    if not is_remote(path):
        return path
    found = BEGINNING.match(path)
    assert found is not None
    return found[0] + _cut(path[found.end() :], KINDS.get(found[1].lower(), HTTP))[0]


def shown(path: str) -> str:
    """The name as messages show it: a user, a password, a signature in the query are nobody's business."""
    found = BEGINNING.match(path)
    if found is None or os.path.lexists(path):
        return path
    kind = KINDS.get(found[1].lower(), HTTP)
    rest, query = _cut(path[found.end() :], kind)
    place, slash, key = rest.partition("/")
    if kind != "abfs" or ":" in place.rpartition("@")[0]:
        place = place.rpartition("@")[2]
    return f"{found[0]}{place}{slash}{key}{'?...' if query and kind == HTTP else ''}"

"""Read from web servers by fsspec: ranges of bytes if the server serves these, otherwise a temporary copy."""

from __future__ import annotations

import os
import re
from collections.abc import Awaitable, Callable
from functools import lru_cache
from typing import Any, NamedTuple, TypeVar

from pcatool.errors import BlamelessError, FileError, LostError, check_memory, missing_package
from pcatool.resources import cannot_spool
from pcatool.stores.objects import changed_error
from pcatool.stores.uri import shown
from pcatool.wording import show

__all__ = ["WebPage", "open_page", "size_of_page"]

Answer = TypeVar("Answer")

# Seconds to wait for a connection, and for the next piece of an answer. The whole answer has no limit: pages are large.
CONNECT_SECONDS, SILENCE_SECONDS = 10, 20
# Bytes copied at a time into a temporary file.
COPY_BYTES = 1 << 20
# An address that is quoted already. It is sent unchanged, because a signature may depend on every character.
QUOTED_ADDRESS = re.compile(r"[!#-;=?-Z\[\]_a-z~]*", re.ASCII)
PARTIAL, NO_SUCH_RANGE = 206, 416
TOO_MANY_REQUESTS, SERVER_ERROR, UNAVAILABLE = 429, 500, 503
TRY_LATER = "try again later"
NOT_THERE = {
    404: ("there is no such page (404)", "check the address"),
    410: ("there is no such page any more (410)", "check the address"),
}
REFUSED = {
    401: (
        "the server needs valid credentials (401)",
        "write the user name and the password as in https://user:password@server/name, and check both",
    ),
    403: (
        "access denied (403)",
        "check the address; if the address is signed, check that the signature has not expired",
    ),
}
BUSY = {status: (f"the server is busy ({status})", TRY_LATER) for status in (TOO_MANY_REQUESTS, UNAVAILABLE)}


class PageInfo(NamedTuple):
    """Size, version and range support of a page, from the headers of an answer."""

    size: int | None  # bytes; None if the headers have no size
    state: tuple[str, ...]  # ETag and Last-Modified, which change with the page
    in_parts: bool  # whether the server serves ranges of bytes of the page


class WebPage:
    """A web page whose server serves ranges of bytes; follows the protocol `RangeReader` of `objects`."""

    def __init__(self, path: str, info: PageInfo) -> None:
        self._path = path
        self._info = info
        self.size = info.size or 0

    def part(self, offset: int, size: int) -> bytes:
        async def ask(session: Any) -> bytes | None:
            async with _get(session, self._path, f"bytes={offset}-{offset + size - 1}") as answer:
                same = _page_info(answer) == self._info  # else the page changed, or the server made an error
                return bytes(await answer.read()) if same else None

        try:
            data = _run_request(self._path, ask)
        except BlamelessError:
            raise
        except FileError:  # the page is gone
            data = None
        if data is None or len(data) != size:
            raise changed_error(shown(self._path))
        return data

    def check_unchanged(self) -> None:
        """Do nothing: `part` checks every answer."""

    def close(self) -> None:
        """Do nothing: all pages share one session."""


def open_page(path: str) -> WebPage | int:
    """Open a page for reading; if its server does not serve ranges of bytes, return the descriptor of a temporary copy.

    Raise FileError if the page cannot be read. The request is a GET for the first byte, because an address signed for
    reading allows no HEAD.
    """

    async def ask(session: Any) -> WebPage | int:
        async with _get(session, path, "bytes=0-0") as answer:
            info = _page_info(answer)
            return WebPage(path, info) if info.in_parts else await _fetch_to_file(answer)

    return _run_request(path, ask)


def size_of_page(path: str) -> int | None:
    """Return the size of a page in bytes; None if the answer has no size. Raise FileError if the request fails."""

    async def ask(session: Any) -> int | None:
        async with _get(session, path, "bytes=0-0") as answer:
            return _page_info(answer).size

    return _run_request(path, ask)


def _get(session: Any, path: str, byte_range: str) -> Any:
    """Return a GET request for a range such as `bytes=0-99` of a page; `async with` sends it and gives the answer.

    The server is asked not to compress the answer.
    """
    from yarl import URL

    headers = {"Accept-Encoding": "identity", "Range": byte_range}
    return session.get(URL(path, encoded=QUOTED_ADDRESS.fullmatch(path) is not None), headers=headers)


def _page_info(answer: Any) -> PageInfo:
    """Return the size, version and range support of a page, from aiohttp's answer to a request for a range of it.

    Raise aiohttp's error for an answer that reports a failure.
    """
    if answer.status != NO_SUCH_RANGE:  # the answer for an empty page
        answer.raise_for_status()
    headers = answer.headers
    state = tuple(headers.get(name, "") for name in ("ETag", "Last-Modified"))
    total = headers.get("Content-Range", "").rpartition("/")[2]
    if answer.status == PARTIAL and total.isdigit() and "Content-Encoding" not in headers:
        return PageInfo(int(total), state, True)
    length = headers.get("Content-Length", "")
    return PageInfo(int(length) if length.isdigit() and answer.status != NO_SUCH_RANGE else None, state, False)


async def _fetch_to_file(answer: Any) -> int:
    """Copy the body of an answer into an unnamed temporary file; return the descriptor of the file, at position 0.

    Raise FileError if the file cannot be written.
    """
    from tempfile import TemporaryFile

    try:
        copy = TemporaryFile(buffering=0)
    except OSError as error:
        raise cannot_spool(error, "a page") from None
    with copy:
        async for data in answer.content.iter_chunked(COPY_BYTES):
            try:
                if answer.status != NO_SUCH_RANGE:  # that answer is an error text for an empty page
                    copy.write(data)
            except OSError as error:
                raise cannot_spool(error, "a page") from None
        descriptor = os.dup(copy.fileno())
        os.lseek(descriptor, 0, os.SEEK_SET)
        return descriptor


def _run_request(path: str, ask: Callable[[Any], Awaitable[Answer]]) -> Answer:
    """Return the result of the coroutine function `ask`, called with the session of aiohttp.

    Raise FileError for a failed request; its message names `path`, without query and password.
    """
    web, sync = _http_file_system()

    async def work() -> Answer:
        return await ask(await web.set_session())

    try:
        answer: Answer = sync(web.loop, work)
        return answer
    except FileError:
        raise
    except Exception as error:  # from aiohttp, asyncio or ssl, which have no base class in common
        check_memory(error)
        raise _request_error(show(shown(path)), error) from None


def _request_error(name: str, error: Exception) -> FileError:
    """Return the error to raise, with message and remedy, for an exception of a request; `name` is for the message.

    An HTTP status gives the error of `_status_error`; no answer or a lost connection gives `LostError`.
    """
    status = getattr(error, "status", None)
    if isinstance(status, int) and status:
        return _status_error(name, status, str(getattr(error, "message", "")))
    if isinstance(error, TimeoutError):
        return LostError(f"cannot read {name}: the server does not answer", "try again, and check the network")
    if type(error).__name__ == "ClientPayloadError":
        return LostError(f"cannot read {name}: the connection was lost", "try again")
    inner = getattr(error, "os_error", error)
    number = getattr(inner, "errno", None) or 0
    # asyncio replaces the reason of a refused connection by "Connect call failed" and the address.
    reason = os.strerror(number) if number > 0 else getattr(inner, "strerror", None) or type(error).__name__
    return LostError(f"cannot read {name}: no connection ({reason})", "check the address and the network")


def _status_error(name: str, status: int, phrase: str) -> FileError:
    """Return the error for an HTTP status: `FileError` if there is no such page (404, 410), else `BlamelessError`.

    `phrase` is the text that the server sent with the status.
    """
    if status in NOT_THERE:
        meaning, remedy = NOT_THERE[status]
        return FileError(f"cannot read {name}: {meaning}", remedy)
    answer = f"the server answers {status} {phrase}".strip(), TRY_LATER if status >= SERVER_ERROR else ""
    meaning, remedy = (BUSY | REFUSED).get(status, answer)
    return BlamelessError(f"cannot read {name}: {meaning}", remedy)


@lru_cache(maxsize=1)
def _http_file_system() -> tuple[Any, Any]:
    """Return fsspec's HTTP file system, and fsspec's function that runs a coroutine on its event loop and waits.

    The file system has timeouts, and uses the proxies of the environment. Raise FileError if a package is missing.
    """
    try:
        import aiohttp
        from fsspec.asyn import sync
        from fsspec.implementations.http import HTTPFileSystem
    except ImportError as error:
        raise missing_package(error, "http:// and https:// need", "http") from None
    limits = aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_SECONDS, sock_read=SILENCE_SECONDS)
    return HTTPFileSystem(client_kwargs={"timeout": limits, "trust_env": True}), sync

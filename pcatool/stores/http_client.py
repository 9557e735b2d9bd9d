"""Read from web servers by fsspec: in parts where the server gives parts, else into a temporary file."""

from __future__ import annotations

import os
import re
from collections.abc import Awaitable, Callable
from functools import lru_cache
from typing import Any, NamedTuple, TypeVar

from pcatool.errors import BlamelessError, FileError, LostError, check_memory, show
from pcatool.resources import cannot_spool
from pcatool.stores.objects import changed
from pcatool.stores.uri import shown

__all__ = ["WebPage", "open_page", "size_of_page"]

Answer = TypeVar("Answer")

# Seconds to a connection, and between two pieces of an answer; a large page may take as long as it needs.
CONNECT, SILENCE = 10, 20
READ = 1 << 20
# An address that is written as addresses are; it may be signed, letter by letter.
QUOTED = re.compile(r"[!#-;=?-Z\[\]_a-z~]*", re.ASCII)
PARTIAL, NO_SUCH_RANGE = 206, 416
TOO_MANY, FAILS, UNAVAILABLE = 429, 500, 503
LATER = "try again later"
NOT_THERE = {
    404: ("there is no such page (404)", "check the address"),
    410: ("there is no such page any more (410)", "check the address"),
}
REFUSED = {
    401: ("the server wants credentials (401)", "write them as https://user:password@server/name"),
    403: ("access denied (403)", "check the address, and whether its signature has run out"),
}
BUSY = {status: (f"the server is busy ({status})", LATER) for status in (TOO_MANY, UNAVAILABLE)}


class About(NamedTuple):
    """What a server says of a page."""

    size: int | None
    state: tuple[str, ...]  # changes with the page
    in_parts: bool


class WebPage:
    """A page whose server gives parts of it."""

    def __init__(self, path: str, about: About) -> None:
        self._path = path
        self._about = about
        self.size = about.size or 0

    def part(self, offset: int, size: int) -> bytes:
        async def ask(session: Any) -> bytes | None:
            async with _get(session, self._path, f"bytes={offset}-{offset + size - 1}") as answer:
                same = _about(answer) == self._about  # else an error of the server, or another page
                return bytes(await answer.read()) if same else None

        try:
            data = _asked(self._path, ask)
        except BlamelessError:
            raise
        except FileError:  # it is there no more
            data = None
        if data is None or len(data) != size:
            raise changed(shown(self._path))
        return data

    def check_unchanged(self) -> None:
        """Each part was checked."""

    def close(self) -> None:
        """There is no connection of its own."""


def open_page(path: str) -> WebPage | int:
    """The page, or the descriptor of a nameless temporary file that it was fetched into.

    Asked for is the first byte: an address that is signed for reading allows no other question.
    """

    async def ask(session: Any) -> WebPage | int:
        async with _get(session, path, "bytes=0-0") as answer:
            about = _about(answer)
            return WebPage(path, about) if about.in_parts else await _fetched(answer)

    return _asked(path, ask)


def size_of_page(path: str) -> int:
    """Bytes of it; where the server does not tell, any number says that it can be read again."""

    async def ask(session: Any) -> int:
        async with _get(session, path, "bytes=0-0") as answer:
            return _about(answer).size or 1

    return _asked(path, ask)


def _get(session: Any, path: str, part: str) -> Any:
    from yarl import URL

    headers = {"Accept-Encoding": "identity", "Range": part}
    return session.get(URL(path, encoded=QUOTED.fullmatch(path) is not None), headers=headers)


def _about(answer: Any) -> About:
    if answer.status != NO_SUCH_RANGE:  # of an empty page
        answer.raise_for_status()
    headers = answer.headers
    state = tuple(headers.get(name, "") for name in ("ETag", "Last-Modified"))
    total = headers.get("Content-Range", "").rpartition("/")[2]
    if answer.status == PARTIAL and total.isdigit() and "Content-Encoding" not in headers:
        return About(int(total), state, True)
    length = headers.get("Content-Length", "")
    return About(int(length) if length.isdigit() and answer.status != NO_SUCH_RANGE else None, state, False)


async def _fetched(answer: Any) -> int:
    from tempfile import TemporaryFile

    try:
        copy = TemporaryFile(buffering=0)
    except OSError as error:
        raise cannot_spool(error, "a page") from None
    with copy:
        async for data in answer.content.iter_chunked(READ):
            try:
                if answer.status != NO_SUCH_RANGE:  # else it is not the page, which is empty
                    copy.write(data)
            except OSError as error:
                raise cannot_spool(error, "a page") from None
        descriptor = os.dup(copy.fileno())
        os.lseek(descriptor, 0, os.SEEK_SET)
        return descriptor


def _asked(path: str, ask: Callable[[Any], Awaitable[Answer]]) -> Answer:
    """What the server answers; what goes wrong in a sentence, without the address, which may hold a secret."""
    web, sync = _web()

    async def work() -> Answer:
        return await ask(await web.set_session())

    try:
        answer: Answer = sync(web.loop, work)
        return answer
    except FileError:
        raise
    except Exception as error:  # of aiohttp, of asyncio, of ssl: each has a base of its own
        check_memory(error)
        raise _in_words(show(shown(path)), error) from None


def _in_words(name: str, error: Exception) -> FileError:
    status = getattr(error, "status", None)
    if isinstance(status, int) and status:
        return _of_status(name, status, str(getattr(error, "message", "")))
    if isinstance(error, TimeoutError):
        return LostError(f"cannot read {name}: the server does not answer", "try again, and check the network")
    if type(error).__name__ == "ClientPayloadError":
        return LostError(f"cannot read {name}: the connection was lost", "try again")
    inner = getattr(error, "os_error", error)
    reason = inner.strerror if isinstance(inner, OSError) and inner.strerror else type(error).__name__
    return LostError(f"cannot read {name}: no connection ({reason})", "check the address and the network")


def _of_status(name: str, status: int, said: str) -> FileError:
    """Of a page that is not there another may do; what else a server answers says nothing of the page."""
    if status in NOT_THERE:
        what, remedy = NOT_THERE[status]
        return FileError(f"cannot read {name}: {what}", remedy)
    answer = f"the server answers {status} {said}".strip(), LATER if status >= FAILS else ""
    what, remedy = (BUSY | REFUSED).get(status, answer)
    return BlamelessError(f"cannot read {name}: {what}", remedy)


@lru_cache(maxsize=1)
def _web() -> tuple[Any, Any]:
    """fsspec's way to the web, as its own settings have it, and how to wait for it."""
    try:
        import aiohttp
        from fsspec.asyn import sync
        from fsspec.implementations.http import HTTPFileSystem
    except ImportError as error:
        check_memory(error)
        package = str(error.name).partition(".")[0]
        raise FileError(
            f"http:// and https:// need the package {package}", "install it: pip install 'pcatool[http]'"
        ) from None
    limits = aiohttp.ClientTimeout(total=None, sock_connect=CONNECT, sock_read=SILENCE)
    return HTTPFileSystem(client_kwargs={"timeout": limits, "trust_env": True}), sync

"""Text of any encoding as UTF-8; a byte-order mark, which is no part of a name, decides which it is."""

from __future__ import annotations

import codecs

from pcatool.errors import DataError, UsageError, show
from pcatool.readers.streams import ByteStream

__all__ = ["MARKS", "as_utf8"]

# The mark of UTF-16 LE begins that of UTF-32 LE.
MARKS = {
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
NEWLINE = "\n"
SAME_BYTES = ("utf-8", "utf-8-sig", "ascii")


def as_utf8(stream: ByteStream, encoding: str, head: bytes, name: str) -> ByteStream:
    """The text of a stream that begins with `head`; a mark there counts for more than the encoding named."""
    mark = next((mark for mark in MARKS if head.startswith(mark)), None)
    if mark == codecs.BOM_UTF8:
        stream.read(len(mark))
        return stream
    codec = codecs.lookup(MARKS[mark] if mark else encoding)
    if codec.name in SAME_BYTES:
        return stream
    if not codec._is_text_encoding:
        raise UsageError(f"{show(encoding)} is no encoding of text", "try latin-1, cp1252 or utf-16")
    return Transcoded(stream, codec, name)


class Transcoded:
    """A stream of another encoding as UTF-8."""

    def __init__(self, stream: ByteStream, codec: codecs.CodecInfo, name: str) -> None:
        self._stream = stream
        self._codec = codec
        self._name = name
        self._decoder = codecs.getincrementaldecoder(codec.name)()
        self._line = 1

    def read(self, size: int, /) -> bytes:
        while True:
            data = self._stream.read(size)
            try:
                text = self._decoder.decode(data, final=not data)
            except UnicodeDecodeError as error:
                good, _ = self._codec.decode(error.object[: error.start], "replace")
                place = f"{self._name}, line {self._line + good.count(NEWLINE)}"
                raise DataError(
                    f"{place}: not valid {self._codec.name} ({error.reason})", "name another encoding with --encoding"
                ) from None
            self._line += text.count(NEWLINE)
            if text or not data:
                return text.encode("utf-8", "surrogatepass")

    def ready(self) -> bool:
        return self._stream.ready()

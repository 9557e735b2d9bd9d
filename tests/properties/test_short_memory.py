"""Want of memory is told as that, whatever library meets it and however that words it."""

from __future__ import annotations

import bz2
import errno
import gzip
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import pcatool
from pcatool.cli.reporter import run_and_report
from pcatool.errors import DataError, FileError, UsageError, check_memory, is_out_of_memory
from pcatool.readers import opener as compression

WORDS = (
    "Error -4 while decompressing data: out of memory",
    "std::bad_alloc",
    "malloc of size 64 failed",
    "realloc of size 1048576 failed",
    "Unable to allocate 1.5 GiB for an array with shape (20000, 10000)",
    "libblas.so: failed to map segment from shared object",
    "libarrow.so: cannot allocate memory in static TLS block",
    "can't start new thread",
    "Resource temporarily unavailable",
    "Allocation error : not enough memory",
)


@pytest.mark.parametrize("words", WORDS)
@pytest.mark.parametrize("kind", [OSError, RuntimeError, ValueError, ImportError, pa.ArrowInvalid, zlib.error])
def test_it_is_known_by_its_words(words: str, kind: type[Exception]) -> None:
    assert is_out_of_memory(kind(words))
    with pytest.raises(MemoryError):
        check_memory(kind(words))


@pytest.mark.parametrize("error", [MemoryError(), OSError(errno.ENOMEM, "?"), pa.lib.ArrowMemoryError("?")])
def test_it_is_known_by_its_kind(error: Exception) -> None:
    assert is_out_of_memory(error)
    wrapped = RuntimeError("?")
    wrapped.__cause__ = error
    assert is_out_of_memory(wrapped)


@pytest.mark.parametrize(
    "error",
    [
        None,
        OSError(errno.ENOENT, "No such file or directory", "out of memory.csv"),
        OSError(errno.EAGAIN, "Resource temporarily unavailable", "locked.csv"),
        FileError("cannot read 'out of memory.csv'"),
        DataError("malloc of size 5 failed.csv, line 3, column 'std::bad_alloc': 'x' is not a number"),
        OSError(errno.ENOSPC, "No space left on device"),
        OSError("Corrupt snappy compressed data."),
        zlib.error("Error -3 while decompressing data: invalid distance too far back"),
        ValueError("could not convert string to float: 'x'"),
        KeyboardInterrupt(),
    ],
)
def test_other_errors_are_not_taken_for_it(error: BaseException | None) -> None:
    assert not is_out_of_memory(error)


def test_errors_of_the_system_are_told_apart() -> None:
    with pytest.raises(MemoryError):
        raise FileError.from_os("a.csv", "read", OSError(errno.ENOMEM, "Cannot allocate memory"))
    assert FileError.from_os("a.csv", "read", OSError(errno.EIO, "I/O error")).exit_code == 5


@pytest.mark.parametrize("raised", [DataError, FileError, UsageError, RuntimeError, OSError, ValueError])
def test_what_came_of_it_ends_with_6(raised: type[Exception], capsys: pytest.CaptureFixture[str]) -> None:
    def run() -> int:
        try:
            raise OSError("Couldn't deserialize thrift: std::bad_alloc")
        except OSError:
            raise raised("the data are damaged") from None

    assert run_and_report(run, debug=False) == 6
    assert capsys.readouterr().err.startswith("pcatool: error: out of memory; use fewer columns or threads")


class Failing:
    """A decompressor without memory."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    def decompress(self, data: bytes) -> bytes:
        raise self._error

    def read(self, size: int) -> bytes:
        raise self._error


@pytest.mark.parametrize("kind", ["gz", "bz2", "zst"])
@pytest.mark.parametrize(
    "error",
    [MemoryError(), OSError(errno.ENOMEM, "?"), zlib.error(WORDS[0]), pa.lib.ArrowMemoryError("?"), OSError(WORDS[-1])],
)
def test_a_compressed_table_is_not_blamed(
    kind: str, error: Exception, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "a,b\n" + "".join(f"{a},{b}\n" for a, b in np.random.default_rng(1).normal(size=(50, 2)))
    packed: dict[str, Any] = {
        "gz": gzip.compress(text.encode()),
        "bz2": bz2.compress(text.encode()),
        "zst": pa.compress(text.encode(), "zstd", asbytes=True),
    }
    files = [tmp_path / f"{i}.csv.{kind}" for i in range(3)]
    for file in files:
        file.write_bytes(packed[kind])
    assert pcatool.fit(files, skip_bad=True).n_samples == 150
    failing = Failing(error)
    monkeypatch.setattr(compression.zlib, "decompressobj", lambda *_: failing)
    monkeypatch.setattr(compression.bz2, "BZ2Decompressor", lambda *_: failing)
    monkeypatch.setattr(pa, "CompressedInputStream", lambda *_: failing)
    if kind == "zst" and isinstance(error, zlib.error):
        pytest.skip("it is of zlib")
    for more in ({}, {"skip_bad": True}):
        with pytest.raises(MemoryError):
            pcatool.fit(files, **more)

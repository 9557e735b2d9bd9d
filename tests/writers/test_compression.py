"""Compression by name: readable by everyone, the same bytes for the same data."""

from __future__ import annotations

import bz2
import gzip
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from pcatool.writers.sink import compression_of, open_sink, uncompressed_name

DATA = "".join(f"{x!r}\n" for x in np.random.default_rng(0).normal(size=200_000).tolist()).encode()  # 4 MB

DECOMPRESS: dict[str, Callable[[bytes], bytes]] = {
    ".gz": gzip.decompress,
    ".bz2": bz2.decompress,
    ".zst": lambda data: bytes(pa.CompressedInputStream(pa.BufferReader(data), "zstd").read()),
}
PROGRAMS = {".gz": "gzip", ".bz2": "bzip2", ".zst": "zstd"}


def compressed(folder: Path, name: str, data: bytes, step: int) -> bytes:
    with open_sink(str(folder / name), no_clobber=False) as sink:
        for start in range(0, len(data), step):
            sink.write(memoryview(data)[start : start + step])
    return (folder / name).read_bytes()


@pytest.mark.parametrize("ending", DECOMPRESS)
@pytest.mark.parametrize("size", [0, 10, 1 << 20, len(DATA)])
def test_reads_back(tmp_path: Path, ending: str, size: int) -> None:
    packed = compressed(tmp_path, f"x.csv{ending}", DATA[:size], 100_000)
    assert DECOMPRESS[ending](packed) == DATA[:size]
    assert size < 1000 or len(packed) < 0.6 * size


@pytest.mark.parametrize("ending", PROGRAMS)
def test_the_usual_program_reads_it(tmp_path: Path, ending: str) -> None:
    if shutil.which(PROGRAMS[ending]) is None:
        pytest.skip(f"no {PROGRAMS[ending]} here")
    compressed(tmp_path, f"x.csv{ending}", DATA, 1 << 16)
    command = [PROGRAMS[ending], "-dc", str(tmp_path / f"x.csv{ending}")]
    assert subprocess.run(command, capture_output=True, check=True, timeout=60).stdout == DATA


@pytest.mark.parametrize("ending", DECOMPRESS)
def test_same_data_same_bytes_for_any_cuts_and_name(tmp_path: Path, ending: str) -> None:
    expected = compressed(tmp_path, f"x.csv{ending}", DATA, len(DATA))
    assert compressed(tmp_path, f"another name{ending}", DATA, 77_777) == expected
    assert compressed(tmp_path, f"x.csv{ending}", DATA[:50_000], 7) == compressed(
        tmp_path, f"x.csv{ending}", DATA[:50_000], 50_000
    )


def test_gzip_header_has_no_time_and_no_name(tmp_path: Path) -> None:
    packed = compressed(tmp_path, "x.csv.gz", b"x", 1)
    assert packed[:2] == b"\x1f\x8b"
    assert packed[3] == 0  # no name, no comment
    assert packed[4:8] == bytes(4)  # no time


@pytest.mark.parametrize("ending", DECOMPRESS)
def test_failure_leaves_nothing(tmp_path: Path, ending: str) -> None:
    with pytest.raises(ValueError), open_sink(str(tmp_path / f"x{ending}"), no_clobber=False) as sink:
        sink.write(DATA)
        raise ValueError
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "ending", "rest"),
    [
        ("x.csv", "", "x.csv"),
        ("x.csv.gz", ".gz", "x.csv"),
        ("X.CSV.GZ", ".gz", "X.CSV"),
        ("x.zst", ".zst", "x"),
        ("x.gz.bz2", ".bz2", "x.gz"),
        ("gz", "", "gz"),
        ("", "", ""),
    ],
)
def test_names(name: str, ending: str, rest: str) -> None:
    assert compression_of(name) == ending
    assert uncompressed_name(name) == rest

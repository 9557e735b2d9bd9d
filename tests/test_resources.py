"""Sizes in messages; the temporary file: what is put is got, a full disk is told, and nothing is left behind."""

from __future__ import annotations

import errno
import gc
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from pcatool import resources
from pcatool.errors import FileError, UsageError
from pcatool.resources import Spool, admitting, limit_text, need_text, parse_size, size_text
from programs import kernels

# --- sizes ---


@pytest.mark.parametrize(("text", "unit"), [("50", "GB"), ("0.5", "GB"), ("999999", "kB"), (" 727 ", "MB")])
def test_a_small_number_without_a_unit_has_lost_its_unit(text: str, unit: str) -> None:
    with pytest.raises(UsageError) as refusal:
        parse_size(text)
    assert refusal.value.remedy == f"write --memory {text.strip()}{unit}"


def test_a_large_number_without_a_unit_is_one_of_bytes() -> None:
    assert parse_size("1000000") == 1_000_000
    assert parse_size("50B") == 50
    assert parse_size("50k") == 50 << 10


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 kB"),
        (512, "0.512 kB"),
        (12_345, "12.3 kB"),
        (999_499, "999 kB"),
        (999_500, "1 MB"),
        (691_000_000, "691 MB"),
        (999_700_000, "1 GB"),
        (1_000_000_000, "1 GB"),
        (20.6e9, "20.6 GB"),
        (999.4e9, "999 GB"),
        (1500e9, "1.5 TB"),
        (999.7e12, "1000 TB"),
        (8e15, "8000 TB"),
    ],
)
def test_a_size_has_three_digits_and_no_exponent(count: float, text: str) -> None:
    assert size_text(count) == text


@pytest.mark.parametrize(("need", "limit"), [(727_400_001, 727_400_000), (1001, 1000), (108_000_001, 108_000_000)])
def test_a_need_never_reads_like_a_limit_below_it(need: int, limit: int) -> None:
    assert need_text(need) not in limit_text(limit)


@pytest.mark.parametrize(
    "need",
    [100_000_001, 107_400_000, 999_900_001, 1_234_567_890, 95 << 20, 2_000_000_000, 1_500_000_000_001, 8 * 10**15],
)
def test_the_limit_that_a_message_names_admits(need: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resources, "free_bytes", lambda: 2 * need)
    option = admitting(need)
    assert option is not None
    assert need <= parse_size(option.removeprefix("--memory ")) <= 1.01 * need
    monkeypatch.setattr(resources, "free_bytes", lambda: need - 1)
    assert admitting(need) is None


# --- the temporary file ---


def got(spool: Spool, size: int, place: int) -> bytes:
    into = bytearray(size)
    spool.get(memoryview(into), place)
    return bytes(into)


def bytes_of(seed: int, size: int) -> bytes:
    return np.random.default_rng(seed).bytes(size)


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for temporary files, and for nothing else."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_what_is_put_is_got_at_any_place() -> None:
    """In any order, over what was there, past the end, and in other portions than it was put."""
    spool, expected = Spool(), bytearray(300_000)
    rng = np.random.default_rng(0)
    for seed in range(50):
        data, place = bytes_of(seed, int(rng.integers(1, 20_000))), int(rng.integers(0, 280_000))
        spool.put([memoryview(data)], place)
        expected[place : place + len(data)] = data
    spool.put([memoryview(bytes_of(99, 7))], len(expected) - 7)
    expected[-7:] = bytes_of(99, 7)
    assert got(spool, len(expected), 0) == expected
    for start in range(0, len(expected), 40_000):
        assert got(spool, 12_345, start) == expected[start : start + 12_345]


def test_pieces_lie_one_after_the_other() -> None:
    sizes = [0, 1, 8, 3, 0, *[5] * 1019]  # as many as there may be
    pieces = [bytes_of(i, size) for i, size in enumerate(sizes)]
    spool = Spool()
    spool.put([memoryview(piece) for piece in pieces], 11)
    assert got(spool, sum(sizes), 11) == b"".join(pieces)


def test_pieces_may_be_numbers_that_are_read_only() -> None:
    columns = np.arange(12.0).reshape(3, 4)
    columns.setflags(write=False)
    spool = Spool()
    spool.put([column.data for column in columns], 16)
    assert np.frombuffer(got(spool, 96, 16)).tolist() == list(range(12))


def test_nothing_is_put_and_nothing_got() -> None:
    spool = Spool()
    spool.put([], 5)
    spool.put([memoryview(b"")], 5)
    assert got(spool, 0, 3) == b""


def test_threads_write_and_read_at_the_same_time() -> None:
    """Each its own places, which lie between those of the others."""
    spool, size, threads = Spool(), 1000, 8

    def work(number: int) -> bool:
        places = [(turn * threads + number) * size for turn in range(60)]
        for place in places:
            spool.put([memoryview(bytes_of(place, size))], place)
        return all(got(spool, size, place) == bytes_of(place, size) for place in places)

    with ThreadPoolExecutor(threads) as pool:
        assert all(pool.map(work, range(threads)))
    assert got(spool, 2 * size, 7 * size) == bytes_of(7 * size, size) + bytes_of(8 * size, size)


@pytest.mark.parametrize("step", [1, 7, 8, 20, 1000])
def test_a_partial_write_is_continued(step: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Within a piece and between two; so is a partial read."""
    write, read = os.pwrite, os.preadv

    def some_of_several(descriptor: int, pieces: Sequence[memoryview], place: int) -> int:
        return write(descriptor, b"".join(pieces)[:step], place)

    def some(descriptor: int, data: memoryview, place: int) -> int:
        return write(descriptor, data[:step], place)

    def some_read(descriptor: int, into: Sequence[memoryview], place: int) -> int:
        return read(descriptor, [into[0][:step]], place)

    monkeypatch.setattr(os, "pwritev", some_of_several)
    monkeypatch.setattr(os, "pwrite", some)
    monkeypatch.setattr(os, "preadv", some_read)
    spool = Spool()
    spool.put([memoryview(np.arange(3.0)), memoryview(b"more"), memoryview(np.arange(5.0))], 3)
    assert got(spool, 68, 3) == np.arange(3.0).tobytes() + b"more" + np.arange(5.0).tobytes()


@pytest.mark.parametrize("taken", [None, 0, 5])
def test_a_disk_that_fills_up(taken: int | None, temporary: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It takes nothing, or a part and then nothing more."""
    full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def first(descriptor: int, pieces: Sequence[memoryview], place: int) -> int:
        if taken is None:
            raise full
        return taken

    def then(descriptor: int, data: memoryview, place: int) -> int:
        assert place == 100 + (taken or 0)
        raise full

    monkeypatch.setattr(os, "pwritev", first)
    monkeypatch.setattr(os, "pwrite", then)
    said = r"^cannot write rows to a temporary file in .*: No space left on device; set the variable TMPDIR to a "
    with pytest.raises(FileError, match=said) as error:
        Spool().put([memoryview(b"0123456789")], 100)
    assert f"'{temporary}'" in str(error.value)
    assert error.value.exit_code == 5
    assert error.value.__cause__ is None


def test_a_temporary_file_that_cannot_be_made(temporary: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(temporary / "gone"))
    with pytest.raises(FileError, match=r"^cannot write rows to a temporary file in .*: No such file or directory;"):
        Spool()


# A real limit; the system then ends a write in the middle of a piece.
LIMITED = """
import resource
import numpy as np
from pcatool import resources
from pcatool.errors import FileError, UsageError
from pcatool.resources import Spool, admitting, limit_text, need_text, parse_size
spool = Spool()
resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))
data = np.arange(1000.0)
spool.put([data.data.cast("B")], 0)
back = np.empty(1000)
try:
    spool.put([data.data, data.data], 8000)
except FileError as error:
    print(error)
spool.get(back.data.cast("B"), 0)
print(np.array_equal(back, data))
"""


def test_a_limit_of_the_system(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", LIMITED],
        env={**kernels(), "TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    remedy = "set the variable TMPDIR to a writable folder with enough space"
    said = f"cannot write rows to a temporary file in '{tmp_path}': File too large; {remedy}"
    assert done.stdout.splitlines() == [said, "True"], done.stderr
    assert list(tmp_path.iterdir()) == []


def test_the_file_has_no_name_and_is_closed_with_the_object(temporary: Path) -> None:
    spool = Spool()
    spool.put([memoryview(b"x" * 100_000)], 0)
    descriptor = spool._file.fileno()
    assert list(temporary.iterdir()) == []
    assert os.fstat(descriptor).st_size == 100_000
    assert not os.get_inheritable(descriptor)
    del spool
    gc.collect()
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(descriptor)


def test_no_folder_for_temporary_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setattr(tempfile, "_candidate_tempdir_list", lambda: ["/nonexistent"])
    monkeypatch.setenv("TMPDIR", "/nonexistent")
    with pytest.raises(FileError, match="cannot write rows to a temporary file in '/nonexistent'"):
        Spool()

"""Where bytes come from, how they are packed, and what they are: told by content, whatever the name."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import subprocess
import sys
import threading
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import feather, parquet

from pcatool.errors import DataError, FileError, UsageError
from pcatool.options import TableOptions
from pcatool.progress import Reporter
from pcatool.readers.inputs import Inputs
from pcatool.readers.opener import read_file
from pcatool.readers.paths import Input, resolve
from pcatool.readers.streams import FileBytes, Peekable, Seekable, read_whole
from readers.reading import Pieces, read, write

TEXT = "a,b\n" + "".join(f"{i},{i * i}\n" for i in range(5000))
ROWS = [[i, i * i] for i in range(5000)]


def zstd(data: bytes) -> bytes:
    return bytes(pa.compress(data, "zstd", asbytes=True))


PACKERS: dict[str, Callable[[bytes], bytes]] = {"gzip": gzip.compress, "bz2": bz2.compress, "zstd": zstd}


def paths_of(*given: str) -> list[str]:
    return [item.path for item in resolve(given)]


def test_names_to_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("d/b.csv", "d/a.csv.gz", "d/sub/c.PARQUET", "d/x.npz", "d/.hidden.csv", "d/_SUCCESS", "d/_tmp/y.tsv"):
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).touch()
    Path("odd[1].csv").touch()
    assert paths_of() == ["-"]
    assert paths_of("d") == ["d/a.csv.gz", "d/b.csv", "d/sub/c.PARQUET"]
    assert paths_of("d/*.csv") == ["d/b.csv"]
    assert paths_of("d/**/[bc].*", "-", "d/b.csv") == ["d/b.csv", "d/sub/c.PARQUET", "-", "d/b.csv"]
    assert paths_of("odd[1].csv") == ["odd[1].csv"]
    assert paths_of("not there.csv") == ["not there.csv"]


def test_names_that_lead_nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("empty").mkdir()
    for given, error, message in (
        (("-", "-"), UsageError, "standard input is named twice"),
        (("",), UsageError, "an input has an empty name"),
        (("empty",), FileError, "no data files in folder 'empty'"),
        (("*.csv",), FileError, r"no file matches '\*.csv'"),
    ):
        with pytest.raises(error, match=message):
            resolve(given)
    with pytest.raises(FileError, match=r"cannot read 'none.csv': No such file"):
        read("none.csv")


@pytest.mark.parametrize("kind", PACKERS)
@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "t.csv.zst", "t", "t.parquet"])
def test_packed_text_is_told_by_content(kind: str, name: str, tmp_path: Path) -> None:
    assert read(write(tmp_path, PACKERS[kind](TEXT.encode()), name)).rows == ROWS


@pytest.mark.parametrize("kind", PACKERS)
def test_packed_in_members(kind: str, tmp_path: Path) -> None:
    pack = PACKERS[kind]
    data = TEXT.encode()
    assert read(write(tmp_path, pack(data[:7]) + pack(b"") + pack(data[7:]))).rows == ROWS


@pytest.mark.parametrize("kind", PACKERS)
def test_packed_data_cut_off_are_never_a_short_table(kind: str, tmp_path: Path) -> None:
    pack = PACKERS[kind]
    whole = pack(TEXT.encode())
    second = pack(TEXT[4:].encode())
    cuts = [*range(4, len(whole), len(whole) // 10), len(whole) - 1]
    damaged = bytearray(whole)
    damaged[len(whole) // 2] ^= 0x55
    for data in (*(whole[:cut] for cut in cuts), whole + second[:-1], whole + b"more", bytes(damaged)):
        if kind == "bz2" and len(data) < 10:
            continue  # nothing tells it from text
        with pytest.raises(DataError):
            read(write(tmp_path, data))


@pytest.mark.parametrize("kind", PACKERS)
def test_packed_data_cut_off_lack_the_end(kind: str, tmp_path: Path) -> None:
    whole = PACKERS[kind](TEXT.encode())
    with pytest.raises(DataError, match=rf"the {kind} data are damaged or cut off \(the end is missing\)"):
        read(write(tmp_path, whole[:-1]))


@pytest.mark.parametrize("kind", PACKERS)
def test_packed_in_another_encoding_or_another_format(kind: str, tmp_path: Path) -> None:
    assert read(write(tmp_path, PACKERS[kind](TEXT.encode("utf-16")))).rows == ROWS
    parquet.write_table(pa.table({"a": [1.0, 2.0], "b": [3, 4]}), tmp_path / "t.parquet")
    packed = PACKERS[kind]((tmp_path / "t.parquet").read_bytes())
    for name in ("t.parquet.gz", "t"):
        assert read(write(tmp_path, packed, name)).rows == [[1, 3], [2, 4]]


@pytest.mark.parametrize(
    "header", ["PAR1,PAR2", "PAR1", "PAR1\tx", "BZh,BZi", "BZh91AY", "(x,y", "ARROW1,b", "SQLite format,x"]
)
def test_names_that_begin_like_another_format(header: str, tmp_path: Path) -> None:
    rows = ",".join("1" for _ in header.split(","))
    table = read(write(tmp_path, f"{header}\n{rows}\n"), delimiter=",")
    assert table.names == tuple(header.split(","))


def test_text_with_the_name_of_parquet_and_the_reverse(tmp_path: Path) -> None:
    assert read(write(tmp_path, TEXT, "t.parquet")).rows == ROWS
    parquet.write_table(pa.table({"a": [1.0, 2.0]}), tmp_path / "x.csv")
    assert read(tmp_path / "x.csv").rows == [[1], [2]]
    with pytest.raises(DataError, match=r"x.csv is Parquet, not csv; leave out --input-format csv"):
        read(tmp_path / "x.csv", input_format="csv")
    with pytest.raises(DataError, match=r"t.parquet is not Parquet: it does not begin with PAR1"):
        read(tmp_path / "t.parquet", input_format="parquet")


def test_other_formats_are_refused_by_name(tmp_path: Path) -> None:
    feather.write_feather(pa.table({"a": [1]}), str(tmp_path / "t.arrow"))
    with pytest.raises(DataError, match="is an Arrow file, not a table; give a CSV or Parquet file"):
        read(tmp_path / "t.arrow")
    np.save(tmp_path / "t.npy", np.ones((2, 2)))
    with pytest.raises(DataError, match=r"t\.csv\.xz is an xz-compressed file, not a table; decompress the file"):
        read(write(tmp_path, lzma.compress(TEXT.encode()), "t.csv.xz"))
    with pytest.raises(DataError, match="is a numpy file"):
        read(tmp_path / "t.npy")
    with zipfile.ZipFile(tmp_path / "t.xlsx", "w") as archive:
        archive.writestr("x", "y")
    with pytest.raises(DataError, match="is a zip archive"):
        read(tmp_path / "t.xlsx")
    with pytest.raises(DataError, match="is a zip archive"):
        read(write(tmp_path, TEXT), tmp_path / "t.xlsx")
    assert Inputs([str(tmp_path / "t.xlsx")], TableOptions(), Reporter()).model is not None


def test_an_empty_file(tmp_path: Path) -> None:
    for name in ("t.csv", "t.parquet", "t.csv.gz"):
        with pytest.raises(DataError, match=f"{name} is empty"):
            read(write(tmp_path, b"", name))
    with pytest.raises(DataError, match=r"t.csv is empty"):
        read(write(tmp_path, gzip.compress(b"")))
    with pytest.raises(DataError, match="/dev/null is empty"):
        read("/dev/null")


def test_a_folder_or_a_secret_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="it is a folder"):
        read_file(Input(str(tmp_path)), b"PK")
    if os.geteuid() != 0:
        file = write(tmp_path, TEXT)
        file.chmod(0)
        with pytest.raises(FileError, match="Permission denied"):
            read(file)


def feed(path: Path, data: bytes) -> threading.Thread:
    thread = threading.Thread(target=path.write_bytes, args=(data,))
    thread.start()
    return thread


@pytest.mark.parametrize("kind", ["text", "gzip", "parquet"])
def test_a_named_pipe(kind: str, tmp_path: Path) -> None:
    parquet.write_table(pa.table({"a": [row[0] for row in ROWS], "b": [row[1] for row in ROWS]}), tmp_path / "x")
    data = {"text": TEXT.encode(), "gzip": gzip.compress(TEXT.encode()), "parquet": (tmp_path / "x").read_bytes()}
    os.mkfifo(tmp_path / "pipe")
    writer = feed(tmp_path / "pipe", data[kind])
    assert read(tmp_path / "pipe").rows == ROWS
    writer.join()


PROGRAM = (
    "import sys\nfrom readers.reading import read\n"
    "rows = read(*sys.argv[1:]).rows\nsys.stdout.write(f'{len(rows)} {rows[-1]}\\n')"
)


def in_shell(script: str, folder: Path) -> str:
    environment = {**os.environ, "PYTHONPATH": ":".join(p for p in sys.path if p)}
    (folder / "program.py").write_text(PROGRAM)
    script = script.replace("READ", f"'{sys.executable}' '{folder / 'program.py'}'")
    done = subprocess.run(
        ["bash", "-c", script], cwd=folder, env=environment, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_standard_input_of_every_sort(tmp_path: Path) -> None:
    write(tmp_path, TEXT)
    parquet.write_table(pa.table({"a": [1, 2], "b": [3.5, 4.5]}), tmp_path / "t.parquet")
    script = """
        READ < t.csv &
        cat t.csv | READ - &
        cat t.csv | READ /dev/stdin &
        READ <(cat t.csv) <(gzip -c t.csv) &
        wait
        READ < t.parquet &
        cat t.parquet | READ &
        { head -c 0; READ; } < t.parquet &
        READ <(cat t.parquet) &
        wait
    """
    if os.path.exists("/dev/fd"):  # noqa: PTH110
        out = in_shell(script, tmp_path).splitlines()
        assert sorted(out[:4]) == ["10000 [4999.0, 24990001.0]", *["5000 [4999.0, 24990001.0]"] * 3]
        assert out[4:] == ["2 [2.0, 4.5]"] * 4


def test_standard_input_that_is_closed(tmp_path: Path) -> None:
    out = in_shell(
        f"'{sys.executable}' -c 'from readers.reading import read\ntry: read()\nexcept Exception as e: print(e)' <&-",
        tmp_path,
    )
    assert "standard input is closed; give a file, or a pipe" in out
    write(tmp_path, TEXT)
    assert in_shell("READ t.csv <&-", tmp_path) == "5000 [4999.0, 24990001.0]\n"


def test_a_pipe_that_answers_at_once_is_waited_for() -> None:
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    stream = FileBytes(reading, "pipe")
    assert not stream.ready()
    timer = threading.Timer(0.05, lambda: (os.write(writing, b"x"), os.close(writing)))
    timer.start()
    assert read_whole(stream) == b"x"
    stream.close()


def test_a_look_ahead_takes_nothing_away() -> None:
    for piece in range(1, 8):
        stream = Peekable(Pieces(b"PAR1,x\n", iter([piece] * 20)))
        head = stream.peek(5, lambda head: len(head) < 5)
        assert head == b"PAR1,"
        assert stream.ready()
        assert read_whole(stream) == b"PAR1,x\n"


def test_a_second_look_ahead_takes_nothing_away() -> None:
    stream = Peekable(Pieces(b"PAR1,x\n", iter([3] * 20)))
    assert stream.peek(2, lambda head: len(head) < 2) == b"PA"
    assert stream.peek(5, lambda head: len(head) < 5) == b"PAR1,"
    assert stream.peek(1, lambda head: True) == b"P"
    assert read_whole(stream) == b"PAR1,x\n"


def test_the_size_of_a_file_is_asked_for_only_if_it_matters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Arrow goes to a place before each of thousands of reads."""
    (tmp_path / "t").write_bytes(b"0123456789")
    file = FileBytes(os.open(tmp_path / "t", os.O_RDONLY), "t")
    seekable = Seekable(file)
    assert (seekable.seek(-3, os.SEEK_END), seekable.read()) == (7, b"789")
    monkeypatch.setattr(FileBytes, "size", None)
    assert (seekable.seek(2), seekable.read(3), seekable.tell()) == (2, b"234", 5)
    assert (seekable.seek(1, os.SEEK_CUR), seekable.read(1)) == (6, b"6")


def test_descriptors_are_closed(tmp_path: Path) -> None:
    def opened() -> int:
        return len(os.listdir("/proc/self/fd"))  # noqa: PTH208

    if not Path("/proc/self/fd").exists():
        pytest.skip("no /proc here")
    good, bad = write(tmp_path, TEXT, "good.csv"), write(tmp_path, "a,b\n1,2\n3,x\n", "bad.csv")
    parquet.write_table(pa.table({"a": [1, 2], "b": [3.5, 4.5]}), tmp_path / "t.parquet")
    packed = write(tmp_path, gzip.compress((tmp_path / "t.parquet").read_bytes()), "p")
    before = opened()
    for _ in range(3):
        read(good, tmp_path / "t.parquet", packed, good)
        for files in ((bad,), (good, bad), (packed, bad), (good, "none.csv")):
            with pytest.raises((DataError, FileError)):
                read(*files)
        Inputs([str(packed)], TableOptions(), Reporter())
    assert opened() == before


def test_thousands_of_small_files(tmp_path: Path) -> None:
    for i in range(1500):
        (tmp_path / f"{i:04}.csv").write_text(f"b,a\n{i},1\n" if i % 2 else f"a,b\n1,{i}\n")
    table = read(tmp_path)
    assert table.names == ("a", "b")
    assert table.rows == [[1, i] for i in range(1500)]

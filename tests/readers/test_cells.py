"""A cell is what `float` makes of it, to the last bit, by every way a chunk is read; what is no number is refused."""

from __future__ import annotations

import math
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pcatool.errors import BadCell, DataError
from pcatool.model import Array
from pcatool.readers.arrow_csv import ArrowCsv
from pcatool.readers.base import Feature
from pcatool.readers.chunks import ChunkParser, Parsed
from pcatool.readers.cutter import Chunk
from pcatool.readers.dialect import Dialect
from readers.reading import number, read, same_bits, write

READ = [
    "+1.5", ".5", "5.", "1e5", "1E5", "1e+05", "-0", "-0.0", "00012", "5.e3", " 1.5 ", "\t2\t", "\u00a03", "\x0b4",
    "9007199254740993", "9223372036854775807", "18446744073709551617", "1" * 400 + "e-390", "0." + "0" * 340 + "1e340",
    "4.9e-324", "2.4e-324", "2.5e-324", "2.2250738585072011e-308", "1.7976931348623157e308", "1e-400",
    "0.1", "0.30000000000000004", "7.2057594037927933e16", "8.41e21", "9.109e-31",
]  # fmt: skip
HOLES = ["", " ", "NA", "na", " NA ", "N/A", "n/A", "NaN", "nan", "-nan", "+NaN", "NULL", "null", "None", ".", " . "]
REFUSED = [
    "0x10", "1_000", "1d5", "1f", "\u2212" + "1", "\u0661", "\uff11", "\u00bd", "1,5", "1 2", "1e", "e5", "+", "--1",
    "+-1", "1.2.3", "..", "nan(1)", "nan0", "infinit", "1\x00", "true", "text", "- 1", "1e5.",
]  # fmt: skip
INFINITE = ["1e400", "-1e400", "inf", "Inf", "-inf", "+INF", "Infinity", "-infinity", "1.8e308"]


def quoted(cell: str) -> str:
    return '"' + cell.replace('"', '""') + '"'


def ways(cells: list[str], kept: tuple[int, ...] = ()) -> dict[str, Parsed | None]:
    """One column of cells as each way reads it; None where a way hands it on to the next."""
    chunk = Chunk("".join(quoted(cell) + "\n" for cell in cells).encode(), len(cells), 2)
    parser = ChunkParser("t.csv", Dialect(), 1, (Feature("a", 0),), kept, True)
    assert parser._as_numbers is not None
    return {
        "numbers": parser._by_arrow(chunk, parser._as_numbers),
        "text": parser._by_arrow(chunk, parser._as_text),
        "exact": parser._exactly(chunk),
        "any": parser(chunk),
    }


def expected(cells: list[str]) -> Array:
    numbers = [number(cell) for cell in cells]
    assert None not in numbers
    return np.array(numbers, dtype=np.float64)


def check(cells: list[str], needed: tuple[str, ...] = ("exact", "any")) -> None:
    want = expected(cells)
    for way, parsed in ways(cells, kept=(0,)).items():
        assert parsed is not None or way not in needed, way
        if parsed is not None:
            assert same_bits(parsed.X[:, 0], want), way
            assert parsed.finite == (not np.isnan(want).any())
            assert parsed.kept[0].to_pylist() == cells


@pytest.mark.parametrize("cell", [*READ, *HOLES])
def test_what_is_read(cell: str) -> None:
    check([cell])
    check(["1", cell, "2.5"])


@pytest.mark.parametrize("cell", [*REFUSED, *INFINITE])
def test_what_is_refused(cell: str, tmp_path: Path) -> None:
    assert number(cell) is None
    file = write(tmp_path, f'a,b\n1,"2\n"\n3,{quoted(cell)}\n5,6\n')
    why = "is not finite" if cell in INFINITE else "is not a number"
    with pytest.raises(BadCell, match=f"t.csv, line 4, column 'b': .* {why}"):
        read(file)


BITS = st.integers(0, 2**64 - 1).map(lambda bits: float(struct.unpack("d", struct.pack("Q", bits))[0]))
DOUBLES = BITS.filter(math.isfinite)
TEXTS = st.one_of(
    DOUBLES.map(repr),
    st.builds("{:.{}e}".format, DOUBLES, st.integers(0, 25)),
    st.integers().map(str),
    st.from_regex(r"[+-]?([0-9]{1,40}\.?[0-9]{0,40}|\.[0-9]{1,40})([eE][+-]?[0-9]{1,3})?", fullmatch=True),
    st.sampled_from(HOLES),
)
PADDED = st.builds("{}{}{}".format, st.text(" \t", max_size=2), TEXTS, st.text(" \t\u00a0\u2003", max_size=2))


@settings(max_examples=250, deadline=None)
@given(st.lists(st.one_of(TEXTS, PADDED).filter(lambda cell: number(cell) is not None), min_size=1, max_size=8))
def test_every_double_is_the_nearest(cells: list[str]) -> None:
    check(cells)


@settings(max_examples=300, deadline=None)
@given(st.text(st.sampled_from("0123456789+-.eEinfaINF_,x \t\u0661\u00a0"), max_size=8))
@example("iNf")
def test_what_is_a_number_is_what_the_csv_says(cell: str) -> None:
    if number(cell) is None:
        with pytest.raises(BadCell):
            ways([cell])
    else:
        check([cell])


def test_padding_and_odd_holes_do_not_need_the_slow_way() -> None:
    check(["1", "  NA  ", " 2 ", "nA", "-nan", " "], needed=("text",))
    check(["1", " 2", "NA", "", "None"], needed=("numbers",))


def test_a_byte_order_mark_within_the_text_is_no_blank() -> None:
    """Wherever a chunk happens to begin."""
    with pytest.raises(BadCell, match="line 2"):
        ways(["\ufeff1"])
    assert ArrowCsv(Dialect(), 1, {0: pa.string()}).read(Chunk("\ufeff1\n".encode(), 1, 1)) is None


def test_invalid_utf8_is_refused_in_columns_left_out_too(tmp_path: Path) -> None:
    rows = b"".join(b"%d,x\n" % i for i in range(20_000))
    for data in (b"a,b\n1,\xe9\n", b"a,b\n" + rows + b"1,\xe9\n"):
        line = data.count(b"\n")
        with pytest.raises(
            DataError, match=f"line {line}: not valid UTF-8; name the encoding, such as --encoding latin-1"
        ):
            read(write(tmp_path, data))
        assert read(write(tmp_path, data), encoding="latin-1").names == ("a",)


def test_a_number_that_means_missing_is_told_by_its_spelling(tmp_path: Path) -> None:
    file = write(tmp_path, "a,b\n1,-999\n2, -999\n3,-999  \n4,   -999\n5,-999.0\n6,1E5\n7,1e5\n8,100000\n")
    b = read(file, null_value=["-999", "1e5"]).X[:, 1]
    assert same_bits(b, np.array([math.nan] * 4 + [-999, math.nan, math.nan, 100000]))


def test_spellings_of_missing_are_added_to_the_usual(tmp_path: Path) -> None:
    file = write(tmp_path, "a,b\n1,Missing\n2,N/A\n3, MISSING \n4,?\n")
    assert read(file, null_value=["missing", "?"]).names == ("a", "b")
    assert np.isnan(read(file, null_value=["missing", "?"]).X[:, 1]).all()


def test_kept_cells_stay_as_they_are(tmp_path: Path) -> None:
    text = 'id,b,t\n0012,1.50,"x, y"\n 7 , 2 ,\n+3,NA,"""q"""\n'
    for extra in ("", "4,inf(,x\n"):  # read by Arrow; refused in the end
        table = read(write(tmp_path, text), keep=["id", "b", "t"], columns=["id", "b"])
        assert table.kept == [["0012", " 7 ", "+3"], ["1.50", " 2 ", "NA"], ["x, y", "", '"q"']]
        assert same_bits(table.X, np.array([[12, 1.5], [7, 2], [3, math.nan]]))
        if extra:
            with pytest.raises(BadCell):
                read(write(tmp_path, text + extra), keep=["t"], columns=["id", "b"])


def test_a_clean_file_is_read_without_pandas(tmp_path: Path) -> None:
    clean = "a,b,name\n" + "".join(f"{i},{i * i},x{i}\n" for i in range(100))
    holes = clean + "NA, NA ,\n"
    program = (
        "import sys\nfrom readers.reading import read\n"
        "for path in sys.argv[1:]: read(path, keep=['name', 'a'])\n"
        "sys.exit('pandas' in sys.modules)"
    )
    files = [str(write(tmp_path, text, name)) for name, text in (("clean.csv", clean), ("holes.csv", holes))]
    done = subprocess.run(
        [sys.executable, "-c", program, *files], env={"PYTHONPATH": ":".join(p for p in sys.path if p)}
    )
    assert done.returncode == 0

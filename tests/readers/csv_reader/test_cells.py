"""A cell is what `float` makes of it, to the last bit, by every way a chunk is read; what is no number is refused."""

from __future__ import annotations

import math
import random
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from often import often
from pcatool.arrays import Array
from pcatool.errors import BadCell, DataError
from pcatool.readers.base import Feature
from pcatool.readers.csv_reader import split as cutter
from pcatool.readers.csv_reader.chunk_parser import ArrowCsv, ChunkParser, Parsed
from pcatool.readers.csv_reader.dialect import Dialect
from pcatool.readers.csv_reader.split import Chunk
from programs import kernels
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
        "numbers": parser._parse_by_arrow(chunk, parser._as_numbers),
        "text": parser._parse_by_arrow(chunk, parser._as_text),
        "exact": parser._parse_exactly(chunk),
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
            assert parsed.passthrough[0].to_pylist() == cells


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


@settings(max_examples=often(100), deadline=None)
@given(st.lists(st.one_of(TEXTS, PADDED).filter(lambda cell: number(cell) is not None), min_size=1, max_size=8))
def test_every_double_is_the_nearest(cells: list[str]) -> None:
    check(cells)


@settings(max_examples=often(150), deadline=None)
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


@pytest.mark.parametrize(
    ("cell", "number"),
    [("9007199254740993", 2**53 + 1), (" -0012 ", -12), ("5.0", 5), ("5.5", None), ("1e3", None), ("text", None)],
)
def test_whole_numbers_are_read_exactly(cell: str, number: int | None) -> None:
    assert Dialect().whole_number(cell) == number


def test_invalid_utf8_is_refused_in_columns_left_out_too(tmp_path: Path) -> None:
    rows = b"".join(b"%d,x\n" % i for i in range(20_000))
    for data in (b"a,b\n1,\xe9\n", b"a,b\n" + rows + b"1,\xe9\n"):
        line = data.count(b"\n")
        with pytest.raises(
            DataError, match=f"line {line}: the text is not valid UTF-8; name the encoding, such as --encoding latin-1"
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
        [sys.executable, "-c", program, *files], env={**kernels(), "PYTHONPATH": ":".join(p for p in sys.path if p)}
    )
    assert done.returncode == 0


# --- a chunk that is clean is read in one step ---

ODD = [
    "", "NA", "nan", "NaN", "-nan", "nan(1)", "null", ".", "inf", "-inf", "infinity", "1e400", "-1e999", "1e-400",
    "+5", ".5", "5.", " 5", "5 ", "\t5\t", "\u00a05", "5\u2009", "\v5", "-0", "00012", "1E+5", "1e", "1d5", "5f", "--5",
    "0x10", "1_000", "\u0661", "\u22125", "\ufeff5", "5\x00", "1.5.2", "true", "$5", "x", '"5"', '""', '" 5 "', '"5\n"',
    '"5\r\n\n"', '5"', '"5', "5,6", "1;5",
]  # fmt: skip
EIGHT = 8  # rows of a chunk


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many chunks of few rows, read in many small pieces."""
    monkeypatch.setattr("pcatool.arrays.MOST_ROWS", EIGHT)
    monkeypatch.setattr("pcatool.readers.csv_reader.chunk_parser.rows_at_once", lambda d: EIGHT)
    monkeypatch.setattr(cutter, "READ_BYTES", 100)


def outcome(file: Path, options: dict[str, Any]) -> tuple[Any, ...]:
    """Names, shape, bits and notes; or the error. Every NaN is written the same."""
    try:
        table = read(file, **options)
    except DataError as error:
        return type(error), str(error)
    X = np.where(np.isnan(table.X), np.nan, table.X)
    return table.names, X.shape, X.tobytes(), table.notes


def with_and_without(file: Path, monkeypatch: pytest.MonkeyPatch, **options: Any) -> tuple[Any, ...]:
    """What a file says, which is the same without the quick way."""
    quick = outcome(file, options)
    with monkeypatch.context() as patch:
        patch.setattr(ChunkParser, "_parse_clean", lambda self, chunk: None)
        assert outcome(file, options) == quick
    return quick


@pytest.mark.usefixtures("tiny")
@pytest.mark.parametrize("cell", ODD, ids=repr)
def test_an_odd_cell_in_a_later_chunk(cell: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Alone in the last of many clean ones; with more after it; and in a column left out."""
    end = "\r\n" if ODD.index(cell) % 2 else "\n"
    rows = ["a,b", *(f"{i},{i * i}" for i in range(25)), f"7,{cell}", ""]
    file = write(tmp_path, end.join(rows))
    with_and_without(file, monkeypatch)
    with_and_without(file, monkeypatch, columns=["a"])
    with_and_without(write(tmp_path, end.join([*rows[:-1], *["-1.5,2"] * 10])), monkeypatch)


LINES = {
    "blank lines": "\n\n1,2\n\n",
    "a blank line with a blank": " \n1,2\n",
    "CRLF": "1,2\r\n3,4\r\n\r\n",
    "CR": "1,2\r3,4\r\r",
    "all line ends": "1,2\r\n3,4\r5,6\n\r",
    "a field too few": "1\n",
    "a field too many": "1,2,3\n",
    "too many, then too few": "1,2,3\n4\n",
    "quoted": '"1","2"\n',
    "a quoted line end in a column left out": '1,"2\n"\n',
    "a quote that never closes": '1,"2\n',
    "no line end": "1,2",
    "a comment": "1,2 # x\n# y\n",
    "invalid": b"1,\xff\n",
}


@pytest.mark.usefixtures("tiny")
@pytest.mark.parametrize("lines", LINES)
@pytest.mark.parametrize("rows", [1, 23])
def test_odd_lines_in_a_later_chunk(lines: str, rows: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    odd = LINES[lines]
    data = b"a,b\n" + b"0.5,1.5\n" * rows + (odd if isinstance(odd, bytes) else odd.encode())
    for options in ({}, {"columns": ["a"]}, {"comment": "#"}):
        with_and_without(write(tmp_path, data), monkeypatch, **options)
    with_and_without(write(tmp_path, data + b"8,9\n" * 10), monkeypatch)


def table_of(rng: random.Random) -> str:
    """Numbers, with a few things that are odd here and there."""
    width, height = rng.choice([1, 2, 3, 5]), rng.choice([3, 9, 20, 30])
    rows = [[repr(rng.choice([rng.gauss(0, 1), rng.randint(-99, 99)])) for _ in range(width)] for _ in range(height)]
    for _ in range(rng.choice([0, 1, 1, 2, 4])):
        rows[rng.choice([height - 1, rng.randrange(height)])][rng.randrange(width)] = rng.choice(ODD)
    if rng.random() < 0.1:
        rows[rng.randrange(height)].append("1")
    lines = [",".join(row) for row in rows]
    for _ in range(rng.choice([0, 0, 1, 3])):
        lines.insert(rng.randrange(len(lines) + 1), "")
    ends = rng.choice([["\n"], ["\r\n"], ["\r"], ["\n", "\r\n", "\r"]])
    return "".join(line + rng.choice(ends) for line in [",".join("abcde"[:width]), *lines])


SETTINGS: list[dict[str, Any]] = [
    {}, {}, {}, {"null_value": ["5"]}, {"strip": "$"}, {"comment": "#"}, {"decimal": ","}, {"header": False},
    {"columns": ["1"]}, {"columns": ["2-", "1"]}, {"delimiter": "tab"}, {"delimiter": "blanks"},
]  # fmt: skip


@pytest.mark.usefixtures("tiny")
def test_many_tables_with_and_without(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read_well = 0
    for seed in range(120):
        rng = random.Random(seed)
        text, options = table_of(rng), rng.choice(SETTINGS)
        if options.get("delimiter"):
            text = text.replace(",", rng.choice(["\t", " ", "  "]))
        try:
            found = with_and_without(write(tmp_path, text), monkeypatch, **options)
        except AssertionError as error:
            raise AssertionError(seed, options, text) from error
        read_well += len(found) == 4
    assert 30 < read_well < 90  # both tables and errors are there to compare


@pytest.mark.usefixtures("tiny")
def test_the_quick_way_is_taken_until_it_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ways: list[str] = []

    def watched(name: str) -> Any:
        way = getattr(ChunkParser, name)

        def watch(self: ChunkParser, *given: Any) -> Any:
            ways.append(name)
            return way(self, *given)

        return watch

    for name in ("_parse_clean", "_parse_by_arrow", "_parse_exactly"):
        monkeypatch.setattr(ChunkParser, name, watched(name))
    clean = ["a,b", *["1,2"] * (5 * EIGHT)]
    read(write(tmp_path, "\n".join(clean)))
    assert ways == ["_parse_clean"] * 5
    ways.clear()
    clean[2 * EIGHT + 1] = "1,NA"  # in the third
    table = read(write(tmp_path, "\n".join(clean)))
    assert ways == ["_parse_clean"] * 3 + ["_parse_by_arrow"] * 3
    assert np.isnan(table.X[:, 1]).nonzero()[0].tolist() == [2 * EIGHT]


def test_a_clean_chunk_is_a_block_in_the_order_of_the_features() -> None:
    data = b"1,x,2,3\n4,y,5,6\n7,z,8,9\n"
    features = (Feature("d", 3), Feature("a", 0))
    parser = ChunkParser("t.csv", Dialect(), 4, features, (), True)
    parsed = parser._parse_clean(Chunk(data, 3, 2))
    assert parsed is not None
    assert parsed.X.tolist() == [[3, 1], [6, 4], [9, 7]]
    assert parsed.X.flags.f_contiguous  # or it would be copied when rows are re-cut
    assert parsed.X.dtype == np.float64
    assert (parsed.finite, parser.unclean_lines) == (True, [])
    assert parser._parse_clean(Chunk(b"1,x,2,3\n4,y,5,nan\n", 2, 17)) is None
    assert parser.unclean_lines == [17]
    for kept, boolean in (((1,), False), ((), True)):
        features = (Feature("a", 0, boolean=boolean),)
        assert ChunkParser("t.csv", Dialect(), 4, features, kept, True)._parse_clean(Chunk(data, 3, 2)) is None

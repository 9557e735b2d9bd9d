"""Numbers in their printed dress: the error names the options that read them, and with those they are read."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import numpy as np
import pytest

from pcatool.errors import BadCell, DataError
from pcatool.options import TableOptions
from pcatool.readers.csv_reader.dialect import Dialect
from pcatool.readers.csv_reader.hints import remedy_for_column
from readers.reading import follow, read, write

# Cells, what they are, and what reads them.
DRESSED = [
    (["1,234", "12,345,678", "-1,000.5"], [1234, 12345678, -1000.5], "--thousands ','"),
    (["1,23,456", "12,34,567"], [123456, 1234567], "--thousands ','"),
    (["3,14", "-2,7", "1,5e3"], [3.14, -2.7, 1500], "--decimal ','"),
    (["1,234", "3,1"], [1.234, 3.1], "--decimal ','"),
    (["0,125", "0,250"], [0.125, 0.25], "--decimal ','"),
    (["1.234,56", "-12.345.678,9"], [1234.56, -12345678.9], "--decimal ',' --thousands '.'"),
    (["1.234.567", "12.345.678"], [1234567, 12345678], "--decimal ',' --thousands '.'"),
    (["$5", "-$5", "$-5", "- $ 5", "$ 1.5"], [5, -5, -5, -5, 1.5], "--strip '$'"),
    (["€ 1.234,50", "-€7,00"], [1234.5, -7], "--strip '€' --decimal ',' --thousands '.'"),
    (["7 %", "7.5%", "-1 %"], [7, 7.5, -1], "--strip '%'"),
    (["5 €", "$6", "7%"], [5, 6, 7], "--strip '$%€'"),
    (["1 234", "1 234 567.5"], [1234, 1234567.5], "--thousands ' '"),
    (["1\u00a0234,5", "12\u202f345", "1\u2009000"], [1234.5, 12345, 1000], "--decimal ',' --thousands ' '"),
    (["1'234", "1'234.5"], [1234, 1234.5], '--thousands "\'"'),
    (["1\u2019234.50", "-2\u2019000"], [1234.5, -2000], '--thousands "\'"'),
    (["1_000", "2_500_000"], [1000, 2500000], "--thousands '_'"),
    (["¥1,234", "+¥2,000"], [1234, 2000], "--strip '¥' --thousands ','"),
]


def table(folder: Path, cells: list[str], before: str = "") -> Path:
    text = io.StringIO()
    csv.writer(text).writerows([["a", "b"], *([[1, before]] if before else []), *([i, c] for i, c in enumerate(cells))])
    return write(folder, text.getvalue())


@pytest.mark.parametrize(("cells", "numbers", "options"), DRESSED, ids=[" ".join(d[0]) for d in DRESSED])
def test_the_error_names_what_reads_them(cells: list[str], numbers: list[float], options: str, tmp_path: Path) -> None:
    file = table(tmp_path, cells)
    with pytest.raises(DataError, match=r"column 'b'.*is not a plain number") as caught:
        read(file)
    assert f"read the table with {options}, or leave the column out with -x b" in str(caught.value)
    assert read(file, **follow(caught.value)).X[:, 1].tolist() == numbers
    assert read(file, exclude=["2"]).names == ("a",)


@pytest.mark.parametrize(("cells", "numbers", "options"), DRESSED, ids=[" ".join(d[0]) for d in DRESSED])
def test_the_exact_parser_agrees_with_the_fast_one(
    cells: list[str], numbers: list[float], options: str, tmp_path: Path
) -> None:
    with pytest.raises(DataError) as caught:
        read(table(tmp_path, cells))
    dialect = Dialect.of(TableOptions(**follow(caught.value)), ",")
    assert [dialect.number(cell) for cell in cells] == numbers


def test_the_error_names_the_line_of_the_cell(tmp_path: Path) -> None:
    file = write(tmp_path, 'a,b\n\n1,\n2,"1,234"\n')
    with pytest.raises(DataError, match=r"t.csv, line 4, column 'b': '1,234' is not a plain number"):
        read(file)
    with pytest.raises(DataError, match=r"x.csv, column 'b': '1,234' is not a plain number"):
        read(write(tmp_path, "a,b\n", "x.csv"), file)  # the line is not one of the first file


@pytest.mark.parametrize(("separator", "option"), [(";", "-d ';'"), ("\t", "-d tab"), ("|", r"-d '\|'")])
def test_a_row_of_another_width_names_the_likely_separator(separator: str, option: str, tmp_path: Path) -> None:
    rows = ["town, land|warm|wet", "A, DE|6,0|1,5", "B|7,1|2,5"]
    with pytest.raises(DataError, match=f"correct the row, or read the table with {option}$"):
        read(write(tmp_path, "\n".join(rows).replace("|", separator)))
    with pytest.raises(DataError, match=r"correct the row, or give another separator with -d$"):
        read(write(tmp_path, "a,b\n1;2\n3,3\n"))


def test_no_other_separator_is_advised_if_the_first_row_fits(tmp_path: Path) -> None:
    for row in ("3", "3,4,5", "1,2,3,4"):
        with pytest.raises(DataError, match=r"line 3: the row has . fields?, but the header has 2; correct the row$"):
            read(write(tmp_path, f"a,b\n1,2\n{row}\n"))
    with pytest.raises(DataError, match=r"line 2: the row has 1 field, but the first row has 2; correct the row$"):
        read(write(tmp_path, "1,2\n3\n"), header=False)


def test_numbers_that_decimal_commas_cut_in_two(tmp_path: Path) -> None:
    advice = "if the numbers have decimal commas, write the table with another separator, such as ';', and give -d ';'"
    with pytest.raises(DataError, match=f"the row has 7 fields, but the header has 4; {advice} --decimal ','$"):
        read(write(tmp_path, "id,a,b,c\n1,2,5,3,5,4,5\n2,2,6,3,5,4,5\n"))
    for row in ("p,q,r,s", "1,2,3,4,5,6"):
        with pytest.raises(DataError, match=r"correct the row, or give another separator with -d$"):
            read(write(tmp_path, f"a,b\n{row}\n1,2\n"))


def test_a_last_line_that_is_cut_off(tmp_path: Path) -> None:
    cut_off = "this is the last line, and it has no line end: the file may be cut off$"
    with pytest.raises(DataError, match=f"line 3: the row has 1 field, but the header has 2; {cut_off}"):
        read(write(tmp_path, "a,b\n1,2\n3"))
    for rows in ("1,2\n3\n", "1,2\n3\n4,5", "1,2\n3,4,5"):
        with pytest.raises(DataError, match=r"correct the row$"):
            read(write(tmp_path, f"a,b\n{rows}"))


def test_a_dressed_cell_among_numbers_is_named_by_its_line(tmp_path: Path) -> None:
    file = table(tmp_path, ["1,234"], before="5")
    with pytest.raises(
        BadCell, match="line 3, column 'b': '1,234' is not a number; read the table with --thousands ','"
    ) as caught:
        read(file)
    assert read(file, **follow(caught.value)).X[:, 1].tolist() == [5, 1234]


def test_an_option_given_before_is_in_the_remedy(tmp_path: Path) -> None:
    """Given twice, the last one counts."""
    file = table(tmp_path, ["$5", "7 %"])
    with pytest.raises(DataError, match=r"--strip '\$%'") as caught:
        read(file, strip="$", columns=["2"])
    assert read(file, columns=["2"], **follow(caught.value)).X[:, 0].tolist() == [5, 7]


TEXTS = [
    ["2024-01-05", "2024-02-06"],
    ["12:30", "1:15"],
    ["192.168.100.200", "10.0.100.101"],
    ["12,345 Berlin", "A-5"],
    ["5 kg", "6 kg"],
    ["n/k", "5%", "x"],
    ["+", "-", "$"],
    ["1,2,3", "4,5,6"],
]


@pytest.mark.parametrize("cells", TEXTS, ids=[" ".join(cells) for cells in TEXTS])
def test_text_is_text(cells: list[str], tmp_path: Path) -> None:
    assert remedy_for_column(cells, Dialect()) is None
    found = read(table(tmp_path, cells))
    assert found.names == ("a",)
    assert found.notes == [f"left out text column 'b' (first value '{cells[0]}')"]


MALFORMED = ["1,23", "12,34", "1,2345", "1234,567", "0,123", ",123", "1,234,56", "1,,234", "1.5,000", "1, 234"]


@pytest.mark.parametrize("cell", MALFORMED)
def test_thousands_stand_where_they_belong(cell: str, tmp_path: Path) -> None:
    with pytest.raises(BadCell, match="is not a number"):
        read(table(tmp_path, [cell], before="5"), thousands=",")


@pytest.mark.parametrize("cell", ["1.5", "1.234", "1,2,3", "1,5,"])
def test_with_a_decimal_comma_a_point_is_no_mark(cell: str, tmp_path: Path) -> None:
    with pytest.raises(BadCell, match="is not a number"):
        read(table(tmp_path, [cell], before="5,5"), decimal=",")


def test_what_is_stripped_may_be_missing_too(tmp_path: Path) -> None:
    b = read(table(tmp_path, ["$1.5", "NA", "", " $ 2 ", "3$", "$+4", "+$ 5"]), strip="$").X[:, 1]
    assert np.array_equal(b, [1.5, np.nan, np.nan, 2, 3, 4, 5], equal_nan=True)

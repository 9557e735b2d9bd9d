"""Remedies for dressed numbers, typed as they are printed: what is read then is what whoever wrote the table meant."""

from __future__ import annotations

import csv
import io
import re
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from often import often
from pcatool.errors import DataError, UsageError
from pcatool.options import TableOptions
from readers.reading import follow, read, write

# Decimal and thousands marks of one writer, and a separator of fields in use with them.
WRITERS = [
    (".", ",", ","),
    (".", ",", ";"),
    (",", ".", ";"),
    (",", ".", ","),
    (",", ".", "\t"),
    (",", " ", ";"),
    (".", " ", ","),
    (".", "'", ","),
    (",", "'", ";"),
    (".", "_", ","),
]
# How many digits a column has before and after its decimal mark.
COLUMNS = [(1, 0), (4, 0), (4, 3), (7, 0), (2, 1), (1, 3), (5, 2), (1, 2), (2, 3)]
SIGNS = ["", "", "", "$", "€", " %", " €"]

LEFT_OUT = "leave the column out with -x a"


def written(value: int, places: int, decimal: str, thousands: str, sign: str) -> str:
    """A whole number of the last place as a person writes it."""
    whole, part = divmod(abs(value), 10**places)
    text = f"{whole:,}".replace(",", thousands) + (f"{decimal}{part:0{places}d}" if places else "")
    text = text + sign if sign.startswith(" ") else sign + text
    return "-" + text if value < 0 else text


def columns_of(rng: np.random.Generator, decimal: str, thousands: str) -> tuple[list[list[str]], list[list[float]]]:
    """Some columns, as they are written, and as they are meant."""
    texts, numbers = [], []
    for _ in range(int(rng.integers(1, 5))):
        digits, places = COLUMNS[int(rng.integers(len(COLUMNS)))]
        sign = SIGNS[int(rng.integers(len(SIGNS)))]
        values = rng.integers(1, 10 ** (digits + places), size=6) * np.where(rng.random(6) < 0.2, -1, 1)
        texts.append([written(int(value), places, decimal, thousands, sign) for value in values])
        numbers.append([float(f"{value}e-{places}") for value in values])
    return texts, numbers


def ways(error: DataError) -> list[tuple[dict[str, Any], str]]:
    """Each way out that reads the cells, and the number that one of them has by it, where several are named."""
    found = [(part, re.search(r" if '(.*)' means (\S+)$", part)) for part in error.remedy.split(", or ")]
    if not any(means for _, means in found):
        return [(follow(error), "")]
    return [
        (follow(DataError("", part.replace(means[0], ""))), f"{means[1]} {means[2]}") for part, means in found if means
    ]


def followed(file: Path, meant: dict[str, float], **given: Any) -> tuple[list[list[float]], int]:
    """The columns that are read when each remedy is typed until there is none, and how many were."""
    for typed in range(8):
        try:
            return read(file, **given).X.T.tolist(), typed
        except DataError as error:
            assert "--" in error.remedy, error
            named = ways(error)
            if len(named) > 1:
                told = [way for way, number in named if _is_meant(number, meant)]
                assert len(told) == 1, (error, meant)
                given |= told[0]
            else:
                given |= named[0][0]
    raise AssertionError(f"{given}: no end")


def _is_meant(told: str, meant: dict[str, float]) -> bool:
    cell, _, number = told.rpartition(" ")
    return meant[cell] == float(number)


@pytest.mark.parametrize("seed", range(often(300)))
def test_a_remedy_reads_what_was_meant(seed: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(seed)
    decimal, thousands, separator = WRITERS[int(rng.integers(len(WRITERS)))]
    texts, numbers = columns_of(rng, decimal, thousands)
    out = io.StringIO()
    csv.writer(out, delimiter=separator).writerows([[f"n{i}" for i in range(len(texts))], *zip(*texts, strict=True)])
    file = write(tmp_path, out.getvalue())
    given: dict[str, Any] = {"delimiter": separator}
    if rng.random() < 0.4:
        given["decimal"] = decimal
    if rng.random() < 0.2 and thousands != given.get("decimal", "."):
        given["thousands"] = thousands
    meant = {cell: number for column in zip(texts, numbers, strict=True) for cell, number in zip(*column, strict=True)}
    read_so, typed = followed(file, meant, **given)
    # What is read as it stands, 1.234 as a little more than one, is no matter of remedies; nor are the signs alone.
    plain = all(re.fullmatch(r"[-$€ %0-9]*|[-$€ %]*[0-9]{1,3}\.[0-9]{3}[-$€ %]*", cell) for cell in meant)
    if typed and not (plain and decimal == "," and thousands == "."):
        assert read_so == numbers, (texts, given)


@pytest.mark.parametrize(
    ("cells", "given", "remedy"),
    [
        (
            ["3.750", "1.250"],
            {"decimal": ","},
            "read the table with --thousands '.' if '3.750' means 3750, "
            "or with --decimal '.' if '3.750' means 3.75, or",
        ),
        (["3.75", "1.25"], {"decimal": ","}, "read the table with --decimal '.', or leave the column out with -x a"),
        (["3,750.5"], {"decimal": ","}, f"read the table with --decimal '.' --thousands ',', or {LEFT_OUT}"),
        (["1.234,5"], {"thousands": ","}, f"read the table with --decimal ',' --thousands '.', or {LEFT_OUT}"),
        (["1 234,5"], {"decimal": ","}, "read the table with --thousands ' ', or leave the column out with -x a"),
        (
            ["1,234"],
            {},
            "read the table with --thousands ',' if '1,234' means 1234, "
            "or with --decimal ',' if '1,234' means 1.234, or",
        ),
        (
            ["$3.750"],
            {},
            "read the table with --strip '$' if '$3.750' means 3.75, "
            "or with --strip '$' --decimal ',' --thousands '.' if",
        ),
    ],
    ids=lambda given: str(given),
)
def test_what_was_asked_for_comes_first(cells: list[str], given: dict[str, Any], remedy: str, tmp_path: Path) -> None:
    file = write(tmp_path, "\n".join(["a;b", *(f"{cell};1" for cell in cells)]) + "\n")
    with pytest.raises(DataError) as caught:
        read(file, delimiter=";", **given)
    assert caught.value.remedy.startswith(remedy)


def test_other_columns_tell_what_a_mark_is(tmp_path: Path) -> None:
    for other, remedy in (("2.5", "--thousands ','"), ("2,5", "--decimal ','")):
        file = write(tmp_path, f"a;b\n1,234;{other}\n")
        with pytest.raises(
            DataError, match=f"read the table with {re.escape(remedy)}, or leave the column out with -x"
        ):
            read(file, delimiter=";")


def test_columns_of_different_marks_cannot_be_read_together(tmp_path: Path) -> None:
    file = write(tmp_path, "a;b\n12,5;2.5\n3,5;1.5\n")
    with pytest.raises(
        DataError,
        match=r"read the table with --decimal ',' -x b \(numbers in column 'b' are written differently",
    ) as caught:
        read(file, delimiter=";")
    assert read(file, delimiter=";", **follow(caught.value)).X.T.tolist() == [[12.5, 3.5]]


def test_a_column_of_different_marks_is_told_so(tmp_path: Path) -> None:
    file = write(tmp_path, "a;b\n12,5;1\n2.5;2\n")
    with pytest.raises(
        DataError, match=r"'2\.5' in the same column is written differently: write all cells in the same way"
    ):
        read(file, delimiter=";")


MIXED = [
    (["abc", "1", "2"], "abc", "1"),
    (["1", "abc", "2", "def"], "abc", "1"),
    (["", "abc", "1"], "abc", "1"),
    (["NA", "1", "abc", "x"], "abc", "1"),
    (["x", "y", "3"], "x", "3"),
]


@pytest.mark.parametrize(("cells", "text", "number"), MIXED)
def test_a_column_of_text_and_numbers_is_told_as_that(cells: list[str], text: str, number: str, tmp_path: Path) -> None:
    file = write(tmp_path, "\n".join(["a b,c", *(f"{cell},{i}" for i, cell in enumerate(cells))]) + "\n")
    for columns in ([], ["a b", "c"]):
        with pytest.raises(
            DataError, match=rf"column 'a b': '{text}' is not a number; the column mixes text and numbers"
        ) as c:
            read(file, columns=columns)
        assert f"such as '{number}': correct the cells, give --null-value " in c.value.remedy
        assert re.search(r"for (a )?missing cells?, or leave the column out with -x 'a b'$", c.value.remedy)
        assert read(file, columns=columns, **follow(DataError("", "-x 'a b'"))).names == ("c",)


def test_a_text_among_numbers_is_a_cell_to_mend(tmp_path: Path) -> None:
    with pytest.raises(DataError) as caught:
        read(write(tmp_path, "a,b\n1,2\nabc,3\n2,4\n"))
    assert str(caught.value).endswith(
        "'abc' is not a number; correct the cell, give --null-value abc if the value stands for a missing cell, "
        f"or {LEFT_OUT}"
    )


@pytest.mark.parametrize("text", ["n.v.", "n v", "?", "'", "-", "--", "n,v"])
def test_a_null_marker_is_shown_ready_to_type(text: str, tmp_path: Path) -> None:
    file = write(tmp_path, f'a,b\n1,2\n"{text}",3\n"{text}",5\n2,4\n')
    with pytest.raises(DataError) as caught:
        read(file)
    option = re.search(r"give (--null-value\S* ?.*) if the text stands for a missing cell", caught.value.remedy)
    assert option is not None, caught.value.remedy
    assert shlex.split(option[1].replace("=", " ")) == ["--null-value", text]
    assert np.isnan(read(file, null_value=[text]).X[1:3, 0]).all()


def test_few_null_markers_are_shown_and_many_are_not(tmp_path: Path) -> None:
    for texts, option in (
        (["x", "y"], "--null-value x --null-value y if the texts stand for missing cells"),
        (["v", "w", "x", "y"], "--null-value with each text if the texts stand for missing cells"),
    ):
        with pytest.raises(DataError) as caught:
            read(write(tmp_path, "a,b\n1,2\n" + "".join(f"{text},3\n" for text in texts)))
        assert f"give {option}, or leave the column out with -x a" in caught.value.remedy


SENSELESS = {
    (",", "t.csv"): "--comment ',' is also the field separator",
    ("\t", "t.tsv"): "--comment is a blank",
    (" ", "t.csv"): "--comment is a blank",
    (".", "t.csv"): "--comment and --decimal are both '.'",
    ("5", "t.csv"): "--comment '5' also occurs in numbers",
    ("-", "t.csv"): "--comment '-' also occurs in numbers",
    ("e", "t.csv"): "--comment 'e' also occurs in numbers",
    ("a", "t.csv"): "--comment 'a' is a letter, and letters also occur in names and cells",
    ('"', "t.csv"): "--comment '\"' is not a usable character",
}


@pytest.mark.parametrize(("mark", "name"), SENSELESS)
def test_a_comment_that_would_cut_rows_is_refused(mark: str, name: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        read(write(tmp_path, "a,b\n1,2\n3,5\n", name), comment=mark)
    assert caught.value.message == SENSELESS[mark, name]
    assert caught.value.exit_code == 2


@pytest.mark.parametrize(("mark", "spelled"), [(";", "';'"), ("|", "'|'")])
def test_a_comment_that_is_the_separator_of_the_table_cuts_off_no_columns(
    mark: str, spelled: str, tmp_path: Path
) -> None:
    file = write(tmp_path, f"a{mark}b\n1{mark}2\n3{mark}5\n")
    with pytest.raises(
        DataError, match=f"line 1: --comment {re.escape(spelled)} cuts off everything after 'a'; "
    ) as caught:
        read(file, comment=mark)
    assert f"give -d {spelled} instead of --comment" in caught.value.remedy
    assert read(file, delimiter=mark).rows == [[1, 2], [3, 5]]
    remarked = write(tmp_path, f"{mark} by hand\na {mark} metres\n1 {mark} first\n3\n")
    assert read(remarked, comment=mark, delimiter=",").rows == [[1], [3]]
    assert read(write(tmp_path, f"a,b {mark} metres\n1,2{mark}x\n"), comment=mark).rows == [[1, 2]]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"comment": ";", "delimiter": ";"}, "--comment and --delimiter are both ';'"),
        ({"comment": ",", "delimiter": ";", "decimal": ","}, "--comment and --decimal are both ','"),
        ({"comment": "'", "thousands": "'"}, '--comment and --thousands are both "\'"'),
        ({"comment": "$", "strip": "%$"}, "--comment and --strip are both '$'"),
        ({"comment": "#", "delimiter": "#"}, "--comment and --delimiter are both '#'"),
        ({"delimiter": "3"}, "-d '3' also occurs in numbers"),
        ({"thousands": "0"}, "--thousands '0' also occurs in numbers"),
        ({"thousands": "."}, "--decimal and --thousands are both '.'"),
    ],
    ids=str,
)
def test_marks_that_cannot_be_told_apart(given: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError) as caught:
        TableOptions(**given)
    assert caught.value.message.replace("'''", '"\'"') == said


def test_the_thousands_mark_of_those_who_write_a_decimal_comma(tmp_path: Path) -> None:
    with pytest.raises(
        UsageError, match=r"give --decimal ',' if '\.' is the thousands mark; else leave out --thousands"
    ) as caught:
        TableOptions(thousands=".")
    given = follow(DataError("", caught.value.remedy.partition("; else")[0]))
    assert read(write(tmp_path, "a;b\n1.234;1,5\n"), delimiter=";", thousands=".", **given).rows == [[1234, 1.5]]


def test_a_comment_may_begin_otherwise(tmp_path: Path) -> None:
    for mark, separator in (("#", ","), (",", ";"), (";", ","), ("%", ","), ("/", "\t")):
        text = f"a{separator}b\n1{separator}2 {mark} one\n3{separator}5\n"
        assert read(write(tmp_path, text), comment=mark, delimiter=separator).rows == [[1, 2], [3, 5]]

"""Columns as text: nothing lost in CSV and JSON, nothing cut in a table."""

import csv
import io
import json

import numpy as np
import pytest
from rich.cells import cell_len

from pcatool.errors import UsageError
from pcatool.model.model import VarianceTable
from pcatool.render.text import FORMS, fold, format_numbers, render_table
from pcatool.wording import printable

HOUSES = VarianceTable.of(np.array([21.6, 0.0]), 21.6)
CAPTION = "centred, not standardised, divisor n (ddof 0); k = 2 kept"


def spectra():
    rng = np.random.default_rng(7)
    yield HOUSES
    yield VarianceTable.of(np.array([3e-300]), 3e-300)
    yield VarianceTable.of(np.array([1e300, 1.0, 1e-300, 0.0]), 1e300)
    for m in (4, 30, 784):
        eigenvalues = np.sort(rng.exponential(size=m) ** 8)[::-1]
        yield VarianceTable.of(eigenvalues, float(eigenvalues.sum()) * 1.25)


def loadings():
    rng = np.random.default_rng(3)
    names = [
        "sepal length in centimetres as it was measured by hand",
        "a_name_without_a_blank_in_it_that_is_longer_than_most_windows_are_wide",
        "花びらの長さ花びらの長さ花びらの長さ花びらの長さ花びらの長さ",
        "a\x1b[31m|b\nc",
    ]
    numbers = {f"PC{j}": rng.normal(size=4) for j in range(1, 15)}
    return {"feature": np.array(names), "rows": np.array([1, 22, 333, 4444]), **numbers}


TABLES = [*(table.columns() for table in spectra()), loadings()]


@pytest.mark.parametrize("columns", TABLES)
def test_csv_reads_back_to_the_same_columns(columns):
    names, *lines = csv.reader(io.StringIO(render_table(columns, "csv", caption=CAPTION), newline=""))
    assert names == list(columns)
    for values, texts in zip(columns.values(), zip(*lines, strict=True), strict=True):
        np.testing.assert_array_equal(np.array(texts).astype(values.dtype), values)


@pytest.mark.parametrize("columns", TABLES)
def test_json_holds_the_same_columns(columns):
    entries = json.loads(render_table(columns, "json", caption=CAPTION))
    assert [list(entry) for entry in entries] == [list(columns)] * len(entries)
    for name, values in columns.items():
        assert [entry[name] for entry in entries] == values.tolist()


def test_csv_of_the_houses():
    assert render_table(HOUSES.columns(), "csv") == (
        "component,eigenvalue,share,cumulative,captured,lost,lost_share\n"
        "1,21.6,1.0,1.0,21.6,0.0,0.0\n"
        "2,0.0,0.0,1.0,21.6,0.0,0.0\n"
    )


def test_csv_quotes_what_would_read_back_as_something_else():
    values = ["plain", "", "a,b", 'say "x"', "a\rb", "a\nb", "é花"]
    text = render_table({"n": np.array(values)}, "csv")
    assert [row[0] for row in csv.reader(io.StringIO(text, newline=""))] == ["n", *values]
    assert text.startswith("n\nplain\n")


def test_json_has_one_object_to_a_line_and_only_numbers_json_knows():
    text = render_table({"a": np.array([1.5, np.nan, np.inf]), "n": np.array([1, 2, 3])}, "json")
    assert text == '[\n  {"a": 1.5, "n": 1},\n  {"a": null, "n": 2},\n  {"a": null, "n": 3}\n]\n'


def test_markdown_of_the_houses():
    assert render_table(HOUSES.columns(), "markdown", caption=CAPTION) == (
        "| component | eigenvalue | share | cumulative | captured | lost | lost_share |\n"
        "| --------: | ---------: | ----: | ---------: | -------: | ---: | ---------: |\n"
        "|         1 |       21.6 |     1 |          1 |     21.6 |    0 |          0 |\n"
        "|         2 |          0 |     0 |          1 |     21.6 |    0 |          0 |\n"
        "\n"
        "centred, not standardised, divisor n (ddof 0); k = 2 kept\n"
    )


def test_markdown_lines_up_whatever_the_names_hold():
    lines = render_table(loadings(), "markdown").splitlines()
    assert len({cell_len(line) for line in lines}) == 1
    assert len({line.replace(r"\|", "").count("|") for line in lines}) == 1


def test_table_of_the_houses():
    assert render_table(HOUSES.columns(), "table", caption=CAPTION, width=80) == (
        "component  eigenvalue  share  cumulative  captured  lost  lost_share\n"
        "─────────  ──────────  ─────  ──────────  ────────  ────  ──────────\n"
        "        1        21.6      1           1      21.6     0           0\n"
        "        2           0      0           1      21.6     0           0\n"
        "\n"
        "centred, not standardised, divisor n (ddof 0); k = 2 kept\n"
    )


def test_a_table_too_wide_goes_on_below():
    table = VarianceTable.of(np.array([4.228, 0.243, 0.078, 0.024]), 4.573)
    assert render_table(table.columns(), "table", caption=CAPTION, width=60, unicode=False) == (
        "component  eigenvalue     share  cumulative  captured   lost\n"
        "---------  ----------  --------  ----------  --------  -----\n"
        "        1       4.228  0.924557    0.924557     4.228  0.345\n"
        "        2       0.243  0.053138    0.977695     4.471  0.102\n"
        "        3       0.078  0.017057    0.994752     4.549  0.024\n"
        "        4       0.024  0.005248    1.000000     4.573      0\n"
        "\n"
        "component  lost_share\n"
        "---------  ----------\n"
        "        1    0.075443\n"
        "        2    0.022305\n"
        "        3    0.005248\n"
        "        4           0\n"
        "\n"
        "centred, not standardised, divisor n (ddof 0); k = 2 kept\n"
    )


@pytest.mark.parametrize("columns", TABLES)
@pytest.mark.parametrize("width", [*range(40, 201, 8), 61, 79])
def test_no_line_of_a_table_is_wider_than_the_window(columns, width):
    text = render_table(columns, "table", caption=CAPTION, width=width)
    assert max(cell_len(line) for line in text.splitlines()) <= width


@pytest.mark.parametrize("columns", TABLES)
@pytest.mark.parametrize("width", [3, 40, 60, 80])
def test_a_narrow_table_holds_every_number_of_the_wide_one_whole(columns, width):
    wide = render_table(columns, "table").split()
    narrow = render_table(columns, "table", width=width).split()
    numbers = [word for word in wide if word[-1].isdigit() and word.lstrip("-")[0].isdigit()]
    assert len(numbers) >= len(columns) - 1
    assert set(numbers) <= set(narrow)


def test_a_narrow_table_names_every_column():
    text = render_table(loadings(), "table", width=60)
    assert [word for word in text.split() if word.startswith("PC")] == [f"PC{j}" for j in range(1, 15)]


def test_headings_and_text_are_folded_and_numbers_never():
    columns = {
        "feature": np.array(["alpha beta gamma"]),
        "the loading of the first": np.array([-1.234567e-300]),
        "n": np.array([1234567890123456]),
    }
    assert render_table(columns, "table", width=27) == (
        "                the loading\n"
        "feature        of the first\n"
        "────────────  ─────────────\n"
        "alpha beta    -1.23457e-300\n"
        "gamma\n"
        "\n"
        "feature                           n\n"
        "────────────  ─────────────────────\n"
        "alpha beta    1,234,567,890,123,456\n"
        "gamma\n"
    )


def test_a_window_too_narrow_for_two_columns_still_shows_two():
    text = render_table({"a": np.array([1.25]), "b": np.array([2.5]), "c": np.array([3.75])}, "table", width=3)
    assert [line.split() for line in text.splitlines() if line and "─" not in line] == [
        ["a", "b"],
        ["1.25", "2.5"],
        ["a", "c"],
        ["1.25", "3.75"],
    ]


def test_columns_of_long_text_stand_beside_each_other():
    columns = {name: np.array([f"{name} long words " * 9]) for name in ("first", "second")}
    for width in range(40, 201):
        lines = render_table(columns, "table", width=width).splitlines()
        assert "" not in lines
        assert max(map(cell_len, lines)) <= width


def test_every_row_is_printed():
    table = VarianceTable.of(np.full(784, 2.0), 1568.0)
    lines = render_table(table.columns(), "table", width=80).splitlines()
    assert [line.split()[0] for line in lines[2:]] == [str(j) for j in range(1, 785)]


def test_folded_text_takes_the_room_there_is():
    columns = {"rule": np.array(["kaiser"]), "k": np.array([1]), "why": np.array(["word " * 30 + "end"])}
    lines = render_table(columns, "table", width=80).splitlines()
    assert cell_len(lines[1]) == 80
    assert " ".join(line[11:] for line in lines[2:]).split() == ["word"] * 30 + ["end"]


def test_color_only_adds():
    plain = render_table(HOUSES.columns(), "table", caption=CAPTION, width=60)
    colored = render_table(HOUSES.columns(), "table", caption=CAPTION, width=60, color=True)
    assert colored != plain
    for code in ("\x1b[0m", "\x1b[1m", "\x1b[2m"):
        colored = colored.replace(code, "")
    assert colored == plain


@pytest.mark.parametrize("form", ["table", "markdown"])
def test_a_name_cannot_steer_the_terminal(form):
    text = render_table({"a\x1b]0;x\x07": np.array([1.0]), "n": np.array(["b\r\x1b[2J"])}, form, caption="c\x1b[1m")
    assert all(c.isprintable() for c in text.replace("\n", ""))
    assert r"b\r\x1b[2J" in text


@pytest.mark.parametrize("form", FORMS)
def test_no_rows(form):
    text = render_table({"a": np.array([], dtype=float), "b": np.array([], dtype=str)}, form, width=40)
    assert text.endswith("\n")
    if form == "json":
        assert json.loads(text) == []
    else:
        assert "a" in text.splitlines()[0]


def test_columns_of_unequal_length_are_a_mistake():
    for form in FORMS:
        with pytest.raises(ValueError, match="shorter"):
            render_table({"a": np.array([1.0, 2.0]), "b": np.array([1.0])}, form)


def test_an_unknown_form_is_refused():
    with pytest.raises(UsageError, match="unknown report format 'xml'; choose table, csv, json, markdown"):
        render_table(HOUSES.columns(), "xml")


@pytest.mark.parametrize(
    ("values", "texts"),
    [
        ([21.6, 0.0], ["21.6", "0"]),
        ([21.599999999999998, 1.0], ["21.6", "1.0"]),
        ([4.22824171, 0.24267075, 0.0782095], ["4.22824", "0.24267", "0.07821"]),
        ([0.92461872, 1e-4, 1e-9], ["0.924619", "0.000100", "1e-09"]),  # shares, tiny ones told from 0
        ([1.0, 0.5, 0.25], ["1.00", "0.50", "0.25"]),
        ([1234567.891, 0.4, 0.02], ["1234567.89", "0.40", "2e-02"]),
        ([1e300, 2.5, 0.0], ["1.0e+300", "2.5e+00", "0"]),
        ([1e-300, 5e-324], ["1.00000e-300", "4.94066e-324"]),
        ([-0.70710678, 0.70710678, -0.0], ["-0.707107", "0.707107", "0"]),
        ([0.99999951, 1.5], ["1.0", "1.5"]),
        ([np.nan, -np.inf, 2.0], ["nan", "-inf", "2"]),
        ([], []),
    ],
)
def test_numbers_to_be_read(values, texts):
    assert format_numbers(np.array(values, dtype=float)) == texts


def test_rounded_numbers_stay_near_and_only_zero_looks_like_zero():
    rng = np.random.default_rng(1)
    for scale in 10.0 ** np.arange(-300, 301, 25):
        values = scale * rng.normal(size=50) ** 9
        read = np.array([float(text) for text in format_numbers(values)])
        assert np.all(read != 0)
        np.testing.assert_allclose(read, values, rtol=0.05)
        top = np.argmax(np.abs(values))
        np.testing.assert_allclose(read[top], values[top], rtol=5e-6)


def test_fold_keeps_every_character_but_the_blanks_between_lines():
    for text in ("a few words to fold", "x" * 50, "花" * 9 + " b", "é" * 30 + " and more"):
        for width in (2, 5, 12, 40):
            lines = fold(text, width)
            assert "".join(lines).replace(" ", "") == text.replace(" ", "")
            assert max(map(cell_len, lines)) <= width


def test_printable_leaves_letters_of_any_language_alone():
    assert printable("Größe 花 m²") == "Größe 花 m²"
    assert printable("a\tb\x00\u202e") == r"a\tb\x00\u202e"

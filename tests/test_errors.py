"""Numbers in texts for people are written in one way; remedies of readers, as runs say them that apply a model."""

from __future__ import annotations

import shlex

import pytest

from pcatool.wording import counted, grouped, percent, reword_for_model


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (0.0, "0.00%"),
        (1e-300, "<0.01%"),
        (0.00004, "<0.01%"),
        (0.0001, "0.01%"),
        (0.97769, "97.77%"),
        (0.99994, "99.99%"),
        (0.99999, ">99.99%"),
        (1.0, "100.00%"),
        (1.0000000000000002, "100.00%"),
    ],
)
def test_a_share_looks_like_nothing_or_all_only_if_it_is(share: float, text: str) -> None:
    assert percent(share) == text


def test_counts_have_a_comma_between_groups_of_three_digits() -> None:
    texts = [grouped(count) for count in (0, 999, 1000, 12345, 5_000_000)]
    assert texts == ["0", "999", "1,000", "12,345", "5,000,000"]
    assert [counted(count, "row") for count in (0, 1, 1797)] == ["0 rows", "1 row", "1,797 rows"]


MENDED = {
    "correct it, or leave the column out with -x b": "correct it, or leave the column out of the model with DO b",
    "add them, or leave them out with -x a,b; --skip-bad": (
        "add them, or leave them out of the model with DO a,b; --skip-bad"
    ),
    "leave the column out with -x 'a, b', or not": "leave the column out of the model with DO 'a, b', or not",
    "no value; leave the columns out with -x": "no value; leave the columns out of the model with DO ",
    "leave it out with " + f"-x {shlex.quote(chr(39))}": f"leave it out of the model with DO {shlex.quote(chr(39))}",
    "read the table with --decimal ',' -x c -x 'd e' (numbers in column 'c' are written differently, such as '2.5')": (
        "read the table with --decimal ',' (numbers in column 'c' are written differently, such as '2.5')"
    ),
    "column 'a': 'x' is not a number": "column 'a': 'x' is not a number",
}


@pytest.mark.parametrize("text", MENDED)
def test_columns_are_left_out_of_a_model_by_a_call_of_its_own(text: str) -> None:
    assert reword_for_model(text, lambda columns: f"DO {columns}") == MENDED[text]

"""Numbers in texts for people are written in one way."""

import pytest

from pcatool.errors import counted, grouped, percent


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

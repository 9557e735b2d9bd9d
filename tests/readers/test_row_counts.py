"""The error for missing cells names only ways that work."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import pcatool

# Every row of HOLED has a missing cell; every row of EMPTY, because column b has no value.
HOLED, EMPTY = "a,b,c\n1,,3\n,2,1\n3,5,\n4,,2\n,5,7\n", "a,b,c\n1,,3\n2,,1\n,,7\n"
LABELLED = "a,b,y\n1,2,p\n3,2,\n3,4,p\n5,7,q\n"


def refused(text: str, tmp_path: Path, **settings: Any) -> str:
    (tmp_path / "t.csv").write_text(text)
    with pytest.raises(pcatool.DataError, match="missing cells") as caught:
        pcatool.fit(tmp_path / "t.csv", **settings)
    return caught.value.remedy


def test_drop_is_not_offered_if_no_row_is_complete(tmp_path: Path) -> None:
    ways = 'give missing="mean" or em to use these rows, or exclude to leave out columns'
    assert refused(HOLED, tmp_path) == ways
    assert refused(HOLED, tmp_path, missing="drop") == f'missing="drop" leaves no row: {ways}'
    assert pcatool.fit(tmp_path / "t.csv", missing="mean", components=1).k == 1
    assert 'missing="mean"' not in refused(HOLED, tmp_path, missing="drop", method="kernel")


def test_a_feature_without_a_value_is_left_out(tmp_path: Path) -> None:
    assert refused(EMPTY, tmp_path) == 'leave the column out with exclude="b"'
    assert refused("a\n\n\n", tmp_path) == "correct these cells"


def test_leaving_out_a_feature_does_not_complete_a_label(tmp_path: Path) -> None:
    asked = {"method": "supervised", "label": "y"}
    remedy = 'give missing="drop" to leave out rows with missing cells, or correct these cells'
    assert refused(LABELLED, tmp_path, **asked) == remedy
    assert refused("a,b,y\n1,,\n2,3,\n", tmp_path, **asked) == "correct these cells"

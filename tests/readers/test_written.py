"""What a writer writes the reader of the same name reads: one test for every format of which there are both."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import pcatool
from pcatool.errors import PcatoolError
from pcatool.model.npz import dumps
from pcatool.registry import READERS, WRITERS

BOTH = [name for name in READERS if name in WRITERS]


def test_there_are_some() -> None:
    assert {"csv", "tsv", "parquet"} <= set(BOTH)


@pytest.fixture(params=BOTH)
def table(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[pd.DataFrame, Path]:
    """Scores of rows some of which have holes, with text and whole numbers beside them, and the file they went to."""
    rng = np.random.default_rng(7)
    frame = pd.DataFrame(rng.normal(size=(700, 3)) * 10.0 ** np.array([-9, 0, 7]), columns=["a", "b", "größe"])
    frame.insert(0, "id", [f'row "{i}", or so' for i in range(len(frame))])
    frame.insert(1, "count", rng.integers(0, 2**53, len(frame)))
    model = pcatool.fit(frame, columns="a-größe", components=3)
    frame.loc[::7, "b"] = np.nan
    path = tmp_path / f"t{READERS[request.param].suffixes[0]}"
    pcatool.transform(model, frame, output=path, keep=["id", "count"], missing="keep")
    return pcatool.transform(model, frame, keep=["id", "count"], missing="keep"), path


def test_the_same_rows(table: tuple[pd.DataFrame, Path]) -> None:
    frame, path = table
    with pytest.warns(pcatool.PcatoolWarning, match="dropped 100 of 700 rows"):
        of_frame = pcatool.fit(frame, columns="count-PC3", missing="drop", standardize=True)
        of_file = pcatool.fit(path, columns="count-PC3", missing="drop", standardize=True)
    assert dumps(of_file) == dumps(of_frame)
    passed = pcatool.transform(of_file, path, keep="id", missing="keep", components=1)
    assert passed["id"].tolist() == frame["id"].tolist()


def test_what_is_cut_short_is_refused(table: tuple[pd.DataFrame, Path]) -> None:
    _, path = table
    whole = path.read_bytes()
    path.write_bytes(whole[: whole.rindex(b"or so")])
    with pytest.raises(PcatoolError, match=path.name):
        pcatool.fit(path, columns="count-PC3", missing="drop")

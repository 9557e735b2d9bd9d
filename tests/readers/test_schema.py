"""The schema of a run: choices of columns, matched to the tables of all inputs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import pcatool
from pcatool.errors import DataError
from pcatool.options import SelectOptions, TableOptions
from pcatool.progress import Reporter
from pcatool.readers.inputs import Inputs
from pcatool.readers.memory_tables import in_memory
from pcatool.readers.schema import ColumnChoice
from readers.reading import write


def test_choices_that_are_matched_in_turn_do_not_get_each_others_columns(tmp_path: Path) -> None:
    schema = Inputs([str(write(tmp_path, "a,b,c\n1,2,3\n"))], TableOptions(), Reporter()).columns
    later = in_memory(pa.table({"c": [1.0], "b": [2.0], "a": [3.0]}))
    one, other = ColumnChoice(("a", "b")), ColumnChoice(("c",))
    for choice in (one, other, one):
        assert tuple(feature.name for feature in schema.match(later, choice)) == choice.names


def test_the_first_table_gives_each_choice_its_own_columns(tmp_path: Path) -> None:
    inputs = Inputs([str(write(tmp_path, "a,b,c\n1,2,3\n"))], TableOptions(), Reporter())
    one = inputs.columns.choose(SelectOptions(("a", "b")))
    other = inputs.columns.choose(SelectOptions(("c",)))
    for choice in (one, other, one):
        assert tuple(feature.name for feature in inputs.columns.match(inputs.first, choice)) == choice.names


@pytest.mark.parametrize("length", [2, 4])
def test_vectors_of_another_length_are_refused_by_their_length(length: int, tmp_path: Path) -> None:
    def table(width: int) -> pa.Table:
        return pa.table({"v": np.random.default_rng(width).normal(size=(9, width)).tolist()})

    parquet.write_table(table(3), tmp_path / "first.parquet")
    parquet.write_table(table(length), tmp_path / "other.parquet")
    model = pcatool.fit(tmp_path / "first.parquet")
    for use in (pcatool.transform, pcatool.update):
        with pytest.raises(
            DataError, match=f"'v': the vectors have length {length}, but the vectors in the model have"
        ):
            use(model, tmp_path / "other.parquet")
    with pytest.raises(
        DataError,
        match=rf"length {length}, but the vectors in .*first\.parquet have length 3; give vectors of length 3",
    ):
        pcatool.fit([str(tmp_path / f"{name}.parquet") for name in ("first", "other")])

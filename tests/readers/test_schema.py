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


VECTORS = np.random.default_rng(0).normal(size=(9, 3)).tolist()
NOT_VECTORS = [
    (
        {"v": [str(vector) for vector in VECTORS]},
        "column 'v' has the type string, not vectors of numbers, as in the model",
    ),
    ({"v": [b"x"] * 9}, "column 'v' has the type binary, not vectors of numbers"),
    ({"v": [1.0] * 9}, "column 'v' does not hold vectors of numbers, as in the model; store a list of numbers"),
    ({"w": VECTORS}, r"no column 'v' .*; the column needs vectors of length 3: rename 'w' to 'v'$"),
    ({"w": VECTORS, "z": VECTORS}, "the column needs vectors of length 3: add the column, or rename a column$"),
    ({"w": [[1.0, 2.0]] * 9}, "the column needs vectors of length 3: add the column, or rename a column$"),
    ({"v[0]": [1.0], "v[1]": [2.0], "other": [3.0]}, r"no column 'v\[2\]' .*; add column 'v"),
]


@pytest.mark.parametrize(("columns", "message"), NOT_VECTORS)
def test_a_table_without_the_vectors_of_the_model(columns: dict[str, list[object]], message: str) -> None:
    model = pcatool.fit(pa.table({"v": VECTORS}), components=1)
    with pytest.raises(DataError, match=message):
        pcatool.transform(model, pa.table(columns))


def test_elements_may_be_columns_by_themselves() -> None:
    model = pcatool.fit(pa.table({"v": VECTORS}), components=1)
    columns = {f"v[{j}]": [vector[j] for vector in VECTORS] for j in range(3)}
    scores = pcatool.transform(model, pa.table({"v": VECTORS}))
    assert pcatool.transform(model, pa.table({**columns, "v": ["text"] * 9})) == scores

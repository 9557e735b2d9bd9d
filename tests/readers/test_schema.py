"""The schema of a run: choices of columns, matched to the tables of all inputs."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

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

"""Short runs of the installed program and over Parquet files; `run.py` has longer ones."""

from __future__ import annotations

import random

from fuzz import parquet, program


def test_the_program_over_damaged_inputs() -> None:
    assert program.runs(random.Random(4), 10) == 10


def test_changed_parquet_files() -> None:
    assert parquet.files(random.Random(5), 100) == 100

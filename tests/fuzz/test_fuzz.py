"""A little of every kind of fuzzing; `run.py` does more of it."""

from __future__ import annotations

import pytest

from fuzz.run import KINDS, run

CASES = {"csv": 250, "models": 250, "contents": 120, "settings": 8, "parquet": 60, "program": 10, "kills": 10}


def test_no_kind_is_left_out() -> None:
    assert CASES.keys() == KINDS.keys()


@pytest.mark.parametrize("kind", KINDS)
def test_a_few_cases(kind: str) -> None:
    run(kind, 0, CASES[kind])

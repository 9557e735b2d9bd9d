"""A little of every kind of fuzzing; `run.py` does more of it."""

from __future__ import annotations

import pytest

from fuzz.run import KINDS, run

pytestmark = pytest.mark.long

CASES = {"csv": 150, "models": 150, "contents": 80, "settings": 5, "parquet": 40, "program": 6, "kills": 6}


def test_no_kind_is_left_out() -> None:
    assert CASES.keys() == KINDS.keys()


@pytest.mark.parametrize("kind", KINDS)
def test_a_few_cases(kind: str) -> None:
    run(kind, 0, CASES[kind])

"""A little of every kind of fuzzing; `run.py` does more of it."""

from __future__ import annotations

import pytest

from fuzz.run import KINDS, run

CASES = {"csv": 600}


@pytest.mark.parametrize("kind", KINDS)
def test_a_few_cases(kind: str) -> None:
    run(kind, 0, CASES.get(kind, 100))

"""A short run of ended runs; `run.py` has longer ones."""

from __future__ import annotations

import random

from fuzz import kills


def test_runs_that_are_killed() -> None:
    assert kills.killed(random.Random(3), 10).total() >= 20

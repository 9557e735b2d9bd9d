"""A short run over model files; `run.py` has longer ones."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from fuzz import models


@pytest.mark.parametrize(("kind", "count"), [(models.files, 400), (models.contents, 200), (models.settings, 15)])
def test_changed_models(kind: Callable[[random.Random, int], int], count: int) -> None:
    assert kind(random.Random(1), count) == count

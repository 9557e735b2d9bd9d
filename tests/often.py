"""How many examples a test tries: few in a run of every day, more when asked.

`PCATOOL_TIMES=20 pytest tests/readers/csv_reader/test_split.py` tries twenty times as many.
"""

from __future__ import annotations

import os

TIMES = int(os.environ.get("PCATOOL_TIMES", "1"))


def often(examples: int) -> int:
    return examples * TIMES

"""Many hostile inputs, in process: `python tests/fuzz/run.py csv --cases 100000`.

Each case has a seed of its own, so that one that fails can be run alone. The tests run a few of every kind.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

# Name -> function(rng, count), which makes and checks so many cases and raises at the first that fails.
KINDS = {
    "csv": "fuzz.csv_tables:check",
    "models": "fuzz.models:files",
    "contents": "fuzz.models:contents",
    "settings": "fuzz.models:settings",
    "parquet": "fuzz.parquet:files",
    "program": "fuzz.program:runs",
    "kills": "fuzz.kills:runs",
}

EVERY = 5.0  # seconds between two signs of life


def load(kind: str) -> Callable[[random.Random, int], None]:
    module, _, name = KINDS[kind].partition(":")
    function: Callable[[random.Random, int], None] = getattr(import_module(module), name)
    return function


def run(kind: str, first: int, cases: int) -> None:
    """The cases of seeds `first`, `first` + 1, and so on."""
    check = load(kind)
    said = time.monotonic()
    for seed in range(first, first + cases):
        try:
            check(random.Random(seed), 1)
        except BaseException as error:
            error.add_note(f"again: python tests/fuzz/run.py {kind} --seed {seed} --cases 1")
            raise
        if time.monotonic() - said > EVERY:
            said = time.monotonic()
            print(f"{kind}: {seed - first + 1} of {cases}", file=sys.stderr, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("--cases", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0, help="of the first case; the others follow")
    asked = parser.parse_args()
    run(asked.kind, asked.seed, asked.cases)
    print(f"{asked.kind}: {asked.cases} cases, none failed")


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
    main()

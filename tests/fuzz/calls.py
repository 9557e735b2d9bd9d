"""Calls of the program inside this process, held against what every run must keep to."""

from __future__ import annotations

import io
import os
import signal
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType
from typing import NamedTuple

from pcatool.cli.app import run
from pcatool.cli.reporter import run_and_report

CODES = frozenset({0, 2, 3, 4, 5, 6})
SECONDS = 30


class Outcome(NamedTuple):
    """What a call gave."""

    code: int
    out: str
    said: str


class TooLong(BaseException):
    """No Exception, which the program would turn into an exit code."""


def called(*words: object) -> Outcome:
    """One call, alone with its output; it must end in time."""
    arguments = [str(word) for word in words]
    out, said = io.StringIO(), io.StringIO()
    with warnings.catch_warnings(), redirect_stdout(out), redirect_stderr(said), within(SECONDS):
        warnings.simplefilter("ignore")  # as the program has it
        code = run_and_report(partial(run, arguments), debug=False)
    return Outcome(code, out.getvalue(), said.getvalue())


def kept_to(outcome: Outcome, codes: Sequence[int] | frozenset[int] = CODES) -> None:
    """An exit code of the table, and nothing that a person could not read."""
    assert outcome.code in codes, outcome
    assert "Traceback" not in outcome.said, outcome
    assert "error: unexpected" not in outcome.said, outcome
    assert all(c.isprintable() or c == "\n" for c in outcome.said), outcome
    assert not outcome.code or outcome.said.startswith("pcatool: "), outcome


@contextmanager
def within(seconds: float) -> Iterator[None]:
    before = signal.signal(signal.SIGALRM, _too_long)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _too_long(number: int, frame: FrameType | None) -> None:
    raise TooLong


@contextmanager
def reproducible(what: str, **files: bytes) -> Iterator[None]:
    """A failure tells how it came about, and leaves the files that it came from."""
    try:
        yield
    except (Exception, TooLong) as error:
        home = Path(os.environ.get("FUZZ_KEEP", ".")).resolve()
        kept = []
        for name, data in files.items():
            path = home / f"fuzz_{name}_{os.getpid()}"
            path.write_bytes(data)
            kept.append(str(path))
        raise AssertionError(f"{what}: {type(error).__name__}: {error}; kept: {', '.join(kept)}") from error


@contextmanager
def workplace() -> Iterator[Path]:
    with TemporaryDirectory(prefix="pcatool-fuzz-") as folder:
        yield Path(folder)


if __name__ == "__main__":
    print(called(*sys.argv[1:]))

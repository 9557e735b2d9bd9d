"""Runs ended at a random moment: what they were to replace is the old file or the whole new one, and loads.

SIGINT and SIGTERM leave nothing else. SIGKILL may leave a temporary file, whose name says what it is; it is hidden,
ends in `.pcatool-tmp`, is never read as part of a folder or a glob, and may be removed when no run is under way. Until
the program's own first line Python answers SIGINT by itself, with a traceback.
"""

from __future__ import annotations

import random
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np

from pcatool.model.npz import loads

PROGRAM = Path(sys.executable).parent / "pcatool"
LITTER = re.compile(r"\.out\.(npz|csv)\.[0-9a-f]{16}\.pcatool-tmp")
SIGNALS = {signal.SIGKILL: {-9}, signal.SIGTERM: {143, -15}, signal.SIGINT: {130, -2}}

# What is run, and the name of what it writes.
JOBS = {
    "fit table.csv -k 2 -o out.npz": "out.npz",
    "fit table.csv -k all -s --no-clobber -o out.npz": "out.npz",
    "transform model.npz table.csv -o out.csv": "out.csv",
    "reconstruct model.npz table.csv -o out.csv": "out.csv",
}


class Job(NamedTuple):
    """A command, the file it writes, what is in it when done, and how long that takes."""

    words: list[str]
    output: str
    whole: bytes
    seconds: float

    @property
    def clobbers(self) -> bool:
        return "--no-clobber" not in self.words


def runs(rng: random.Random, count: int) -> int:
    """So many runs, each ended by one of the signals."""
    found = killed(rng, count)
    print(", ".join(f"{number} {what}" for what, number in sorted(found.items())))
    return count


def killed(rng: random.Random, count: int) -> Counter[str]:
    """What came of the runs: how they ended, what was there afterwards, and what was left."""
    found: Counter[str] = Counter()
    home, jobs = _prepared()
    for _ in range(count):
        job, number = rng.choice(jobs), rng.choice(list(SIGNALS))
        found.update(_killed(job, number, rng.uniform(0, 1.2 * job.seconds), Path(home.name)))
    return found


@cache
def _prepared() -> tuple[TemporaryDirectory[str], list[Job]]:
    """A folder that lasts as long as this process, and the jobs to be run in it."""
    home = TemporaryDirectory(prefix="pcatool-fuzz-", ignore_cleanup_errors=True)
    folder = Path(home.name)
    rows = np.random.default_rng(7).normal(size=(20_000, 6))
    np.savetxt(folder / "table.csv", rows, "%.5f", ",", header="a,b,c,d,e,f", comments="")
    _run(["fit", "table.csv", "-k", "3", "-o", "model.npz"], folder)
    return home, [_timed(command.split(), output, folder) for command, output in JOBS.items()]


def _timed(words: list[str], output: str, folder: Path) -> Job:
    before = time.monotonic()
    _run(words, folder)
    seconds = time.monotonic() - before
    whole = (folder / output).read_bytes()
    if output.endswith(".npz"):
        loads(whole)
    (folder / output).unlink()
    return Job(words, output, whole, seconds)


def _run(words: list[str], folder: Path) -> None:
    subprocess.run([PROGRAM, *words], cwd=folder, check=True, timeout=60, stdin=subprocess.DEVNULL)


def _killed(job: Job, number: int, delay: float, folder: Path) -> list[str]:
    output, old = folder / job.output, b"old"
    output.unlink(missing_ok=True)
    if job.clobbers:
        output.write_bytes(old)
    before = {path.name for path in folder.iterdir()}
    with subprocess.Popen(
        [PROGRAM, *job.words], cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    ) as process:
        time.sleep(delay)
        process.send_signal(number)
        _, said = process.communicate(timeout=60)
    what = f"signal {number} after {delay:.4f} s to {' '.join(job.words)}: exit {process.returncode}, {said!r}"
    starting = number == signal.SIGINT and said.rstrip().endswith(b"KeyboardInterrupt")
    assert starting or process.returncode in SIGNALS[signal.Signals(number)] | {0}, what
    assert starting or b"Traceback" not in said, what
    new = output.exists() and output.read_bytes() == job.whole
    assert new or (output.read_bytes() == old if job.clobbers else not output.exists()), what
    assert new or process.returncode, f"{what}: done, and not written"
    litter = {path.name for path in folder.iterdir()} - before - {job.output}
    assert all(LITTER.fullmatch(name) for name in litter), f"{what}: left {litter}"
    assert number == signal.SIGKILL or not litter, f"{what}: left {litter}"
    for name in litter:
        (folder / name).unlink()
    ended = "ended by itself" if process.returncode == 0 else f"ended by {signal.Signals(number).name}"
    ended += " while Python started" * starting
    return [ended, "new file" if new else "old file", *["litter"] * len(litter)]

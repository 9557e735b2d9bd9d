"""Runs a job: all contenders in turn, round after round, so that a machine that slows down slows down for all."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

from benchmarks.agreement import scores_differ_by, variances_differ_by, variances_of_model
from benchmarks.environment import Programs, Unusable, say
from benchmarks.jobs import OURS, PEERS, Contender, Job, Table
from benchmarks.measure import Measurement, measure, warm
from benchmarks.results import Agreement, JobResult

SLOW = 20.0  # seconds; who takes longer is measured once, since more rounds would tell little and cost much

# What limits threads would limit some contenders and not others.
ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.endswith("_NUM_THREADS")}


@dataclass(frozen=True)
class Entry:
    """What one row of the table is about: a contender on a table."""

    label: str
    contender: Contender
    table: Table
    out: Path  # without suffix; what is printed goes beside it

    def printed(self) -> Path:
        return self.out.with_name(f"{self.out.name}.stdout")


class Bench:
    """Where everything is: the programs, and the folders for data and for what the contenders write."""

    def __init__(self, programs: Programs, work: Path) -> None:
        self._programs = programs
        self._data = work / "data"
        self._out = work / "out"
        for folder in (self._data, self._out):
            folder.mkdir(parents=True, exist_ok=True)

    def make(self, table: Table) -> Path:
        """The file of a table, made when it is not there."""
        path = self._data / table.file
        if not path.exists():
            say(f"making {path}")
            script = Path(__file__).with_name("make_data.py")
            words = [self._programs.python, script, table.kind, table.rows, table.columns, path]
            done = subprocess.run(list(map(str, words)), stdin=subprocess.DEVNULL, capture_output=True, text=True)
            if done.returncode:
                raise Unusable(f"{path} cannot be made:\n{done.stderr}")
        return path

    def run(self, job: Job, rounds: int) -> JobResult:
        result = JobResult(job.name, _title(job), job.sizes(), self._programs.machine(), self._absent(job))
        entries = self._entries(job, [c for c in job.contenders if c.name not in result.absent])
        for stale in self._out.glob(f"{job.name}-*"):
            stale.unlink()
        self._prepare(job)
        for number in range(rounds):
            shift = number % len(entries)
            for entry in entries[shift:] + entries[:shift]:
                earlier = result.rounds.setdefault(entry.label, [])
                if not any(m.code or m.wall > SLOW for m in earlier):
                    earlier.append(self._measure(entry, job))
                    say(f"{job.name}, round {number + 1}: {entry.label}: {_said(earlier[-1])}")
            if number == 0:
                result.agreements = self._agreements(job, entries, result)
        return result

    def _absent(self, job: Job) -> dict[str, str]:
        """Why contenders cannot take part: the first reason of each."""
        absent = self._programs.absent
        lacking = {c.name: [need for need in c.needs if need in absent] for c in job.contenders}
        return {name: absent[needs[0]] for name, needs in lacking.items() if needs}

    def _entries(self, job: Job, contenders: Sequence[Contender]) -> list[Entry]:
        return [
            Entry(str(table) if job.grows else c.name, c, table, self._out / f"{job.name}-{number}")
            for number, (c, table) in enumerate(product(contenders, job.tables))
        ]

    def _prepare(self, job: Job) -> None:
        """The data, and the models to load; who lacks the model then fails by itself."""
        for table in job.tables:
            self.make(table)
        for number, contender in enumerate(job.prepare):
            if not any(need in self._programs.absent for need in contender.needs):
                entry = Entry(contender.name, contender, job.tables[0], self._out / f"{job.name}-prepare-{number}")
                done = self._measure(entry, job)
                if done.code:
                    say(f"{job.name}, preparing {contender.name}: {_said(done)}")

    def _measure(self, entry: Entry, job: Job) -> Measurement:
        warm(self._data / entry.table.file)
        command = self._command(entry, job)
        return measure(command, ENVIRONMENT, entry.printed(), entry.out.with_name(f"{entry.out.name}.stderr"))

    def _command(self, entry: Entry, job: Job) -> list[str]:
        values = {
            "python": self._programs.python,
            "rscript": self._programs.rscript,
            "peers": PEERS,
            "data": self._data / entry.table.file,
            "out": entry.out,
            "model": self._out / f"{job.name}-model",
        }
        words = entry.contender.command.split()
        parts = [self._programs.pcatool if word == "{pcatool}" else [word.format(**values)] for word in words]
        return [word for part in parts for word in part]

    def _agreements(self, job: Job, entries: Sequence[Entry], result: JobResult) -> list[Agreement]:
        """Nobody shall be fast by being wrong: each contender's numbers beside pcatool's."""
        by_name = {entry.label: entry for entry in entries if result.good(entry.label)}
        ours = by_name.pop(OURS, None)
        if ours is None or not job.compare:
            return []
        if job.compare == "scores":
            found = {label: scores_differ_by(_scores(ours), _scores(entry)) for label, entry in by_name.items()}
        else:
            variances = variances_of_model(self._programs.pcatool, ours.out.with_suffix(".npz"), ours.table.rows)
            texts = {label: entry.printed().read_text() for label, entry in by_name.items()}
            # Who only reads prints nothing.
            found = {label: variances_differ_by(variances, text) for label, text in texts.items() if text.strip()}
        return [Agreement(label, found[label], by_name[label].contender.exact) for label in found]


def _scores(entry: Entry) -> Path:
    return entry.out.with_suffix(".csv")


def _title(job: Job) -> str:
    return job.title if job.grows else f"{job.title}, {job.tables[0]}"


def _said(m: Measurement) -> str:
    return f"failed: {m.error}" if m.code else f"{m.wall:.3f} s, {m.cpu:.2f} s of processors, {m.peak:.0f} MB"

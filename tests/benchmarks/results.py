"""What was measured, as JSON lines: one file a job, from which a table can be made again."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median

from benchmarks.measure import Measurement


@dataclass(frozen=True)
class Agreement:
    """How far the numbers of a contender are from pcatool's, relatively; one that is not exact may be far."""

    contender: str
    difference: float
    exact: bool


@dataclass
class JobResult:
    """One job. `sizes` are those of the tables of a job that grows, else there is one. `rounds` holds what was
    measured, by contender; of a job that grows, by table."""

    name: str
    title: str
    sizes: list[int]
    machine: dict[str, str]
    absent: dict[str, str] = field(default_factory=dict)
    rounds: dict[str, list[Measurement]] = field(default_factory=dict)
    agreements: list[Agreement] = field(default_factory=list)

    def good(self, label: str) -> list[Measurement]:
        """The rounds of a contender, if all went well; else nothing."""
        found = self.rounds.get(label, [])
        return [] if any(m.code for m in found) else found

    def failed(self, label: str) -> str:
        """Why a contender failed, or nothing."""
        return next((m.error for m in self.rounds.get(label, []) if m.code), "")

    def best(self, label: str) -> float:
        return min(m.wall for m in self.good(label))

    def median(self, label: str) -> float:
        return median(m.wall for m in self.good(label))

    def peak(self, label: str) -> float:
        """The highest of the rounds: memory is what must be there."""
        return max(m.peak for m in self.good(label))

    def disagreeing(self, tolerance: float) -> list[Agreement]:
        """Those that should have given pcatool's numbers, and did not. A difference that is no number counts, too."""
        return [a for a in self.agreements if a.exact and not a.difference <= tolerance]

    def failures(self) -> Iterator[str]:
        for label in self.rounds:
            if self.failed(label):
                yield f"{self.name}, {label}: {self.failed(label)}"


def save(result: JobResult, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    head = {key: getattr(result, key) for key in ("name", "title", "sizes", "machine", "absent")}
    lines: list[dict[str, object]] = [{"job": head}]
    for label, measurements in result.rounds.items():
        lines += [{"label": label, "round": i + 1, **asdict(m)} for i, m in enumerate(measurements)]
    lines += [{"agreement": asdict(agreement)} for agreement in result.agreements]
    text = "".join(f"{json.dumps(line)}\n" for line in lines)
    (folder / f"{result.name}.jsonl").write_text(text, encoding="utf-8")


def load(folder: Path, names: Sequence[str]) -> list[JobResult]:
    """Those of the named jobs that have been measured."""
    paths = [folder / f"{name}.jsonl" for name in names]
    return [_read(path) for path in paths if path.exists()]


def _read(path: Path) -> JobResult:
    head, *lines = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    result = JobResult(**head["job"])
    for line in lines:
        if "agreement" in line:
            result.agreements.append(Agreement(**line["agreement"]))
        else:
            label = line.pop("label")
            del line["round"]
            result.rounds.setdefault(label, []).append(Measurement(**line))
    return result

"""The figures as Markdown, and held against the bounds."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.agreement import TOLERANCE
from benchmarks.environment import Unusable
from benchmarks.jobs import OURS, Bound, GrowthBound
from benchmarks.results import JobResult

HEAD = (
    "| job | with | rounds | best s | median s | pcatool / it, best | median | CPU s | peak MB | pcatool / it |",
    "|---|---|---:|---:|---:|---:|---:|---:|---:|---:|",
)
GROWTH_HEAD = ("| growth | size | rounds | best s | median s | peak MB |", "|---|---|---:|---:|---:|---:|")
LEGEND = (
    "Cold processes, in turn, each after its file was read once into the system's cache; all with the threads they "
    "take by themselves. pcatool / it: less than 1 means that pcatool needs less. MB: the highest of the rounds. Who "
    "took more than 20 s was not repeated."
)
MARKS = ("<!-- benchmark-table -->", "<!-- /benchmark-table -->")


# --- the tables ---


def markdown(results: Sequence[JobResult]) -> str:
    """All that is to say, ending in a newline."""
    plain = [result for result in results if len(result.sizes) == 1]
    growing = [result for result in results if len(result.sizes) > 1]
    blocks = [_table(HEAD, plain, _rows), _table(GROWTH_HEAD, growing, _growth_rows)]
    blocks += ["\n".join(f"- {_growth_line(result)}" for result in growing if growth(result))]
    blocks += [LEGEND, "\n".join(f"- {line}" for result in plain for line in _agreement_lines(result))]
    blocks += [_machine_line(facts) for facts in machines(results)]
    return "\n\n".join(filter(None, blocks)) + "\n"


def _table(head: Sequence[str], results: Sequence[JobResult], rows: Callable[[JobResult], Iterator[str]]) -> str:
    return "\n".join([*head, *(row for result in results for row in rows(result))]) if results else ""


def _rows(result: JobResult) -> Iterator[str]:
    """One for each contender; pcatool comes first, the absent come last."""
    title = result.title
    for label in result.rounds:
        yield f"| {title} | {label} | {' | '.join(_figures(result, label))} |"
        title = ""
    for label, reason in result.absent.items():
        yield f"| {title} | {label} | absent: {_cell(reason)} | | | | | | | |"
        title = ""


def _figures(result: JobResult, label: str) -> list[str]:
    good = result.good(label)
    if not good:
        return [f"failed: {_cell(result.failed(label))}", *[""] * 7]
    wall, middle, peak = _ratios(result, label)
    return [
        str(len(good)),
        f"{result.best(label):.2f}",
        f"{result.median(label):.2f}",
        wall,
        middle,
        f"{min(m.cpu for m in good):.2f}",
        f"{result.peak(label):.0f}",
        peak,
    ]


def _ratios(result: JobResult, label: str) -> tuple[str, str, str]:
    """pcatool's share of a contender's best time, median time and memory."""
    if label == OURS or not result.good(OURS):
        return "", "", ""
    shares = (measure(OURS) / measure(label) for measure in (result.best, result.median, result.peak))
    wall, middle, peak = (f"{share:.2f}" for share in shares)
    return wall, middle, peak


def _growth_rows(result: JobResult) -> Iterator[str]:
    title = result.title
    for label in result.rounds:
        rounds, best, middle, *_, peak, _ = _figures(result, label)
        yield f"| {title} | {label} | {rounds} | {best} | {middle} | {peak} |"
        title = ""


def _growth_line(result: JobResult) -> str:
    found = growth(result)
    assert found is not None
    return (
        f"{result.title}, x{found.factor:g}: time grows with the power {found.exponent:.2f} of the size, "
        f"{found.last:.2f} between the last two; memory by {found.memory:+.1%}."
    )


def _agreement_lines(result: JobResult) -> Iterator[str]:
    if result.agreements:
        told = ", ".join(
            f"{a.contender} {a.difference:.0e}{'' if a.exact else ' (not exact by design)'}" for a in result.agreements
        )
        yield f"{result.title}: largest relative difference to pcatool's numbers: {told}."
    for wrong in result.disagreeing(TOLERANCE):
        yield f"**{result.title}: {wrong.contender} DISAGREES with pcatool: {wrong.difference:.1e}.**"


def machines(results: Sequence[JobResult]) -> list[dict[str, str]]:
    """Facts about the machine, once if no two jobs contradict each other: each job tells of its own peers only."""
    found: list[dict[str, str]] = []
    for facts in (result.machine for result in results):
        fitting = next((m for m in found if all(m.get(key, facts[key]) == facts[key] for key in facts)), None)
        if fitting is None:
            found.append(dict(facts))
        else:
            fitting.update(facts)
    return found


def _machine_line(facts: dict[str, str]) -> str:
    machine = ("processor", "memory", "system")
    versions = (f"{name} {version}" for name, version in facts.items() if name not in machine)
    return f"{', '.join(facts[key] for key in machine)}; {', '.join(versions)}."


def _cell(text: str) -> str:
    """Text that does not end a cell of a table."""
    return text.replace("|", "/").replace("\n", " ")


# --- growth ---


@dataclass(frozen=True)
class Growth:
    """How time and memory follow the size. The start-up, the same at every size, hides some of it from `exponent`."""

    factor: float  # largest size over smallest
    exponent: float  # least squares of log time on log size
    last: float  # the same between the last two sizes
    memory: float  # of the largest over the smallest, less 1


def growth(result: JobResult) -> Growth | None:
    """None when a size failed."""
    labels = list(result.rounds)
    if not labels or not all(result.good(label) for label in labels):
        return None
    # The labels stand in the order of the first round, which is that of the sizes.
    times = [result.best(label) for label in labels]
    return Growth(
        result.sizes[-1] / result.sizes[0],
        exponent(result.sizes, times),
        exponent(result.sizes[-2:], times[-2:]),
        result.peak(labels[-1]) / result.peak(labels[0]) - 1,
    )


def exponent(sizes: Sequence[float], times: Sequence[float]) -> float:
    """The power p in time = c size^p: least squares of log time on log size."""
    x, y = [math.log(size) for size in sizes], [math.log(time) for time in times]
    mean_x, mean_y = sum(x) / len(x), sum(y) / len(y)
    spread = sum((a - mean_x) ** 2 for a in x)
    if spread == 0:
        return math.nan
    return sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y, strict=True)) / spread


# --- bounds ---


@dataclass(frozen=True)
class Verdict:
    held: bool | None  # None: not measured
    text: str

    def __str__(self) -> str:
        return f"{ {True: 'held', False: 'MISSED', None: 'not measured'}[self.held] }: {self.text}"


def judge(bound: Bound, results: Sequence[JobResult]) -> Verdict:
    """Best of the rounds against the fastest of those the bound names."""
    result = next((r for r in results if r.name == bound.job), None)
    measured = [label for label in bound.against if result and result.good(label)]
    if result is None or not measured or OURS not in result.rounds:
        return Verdict(None, f"{bound.job} against {', '.join(bound.against)}")
    if not result.good(OURS):
        return Verdict(False, f"{bound.job}: pcatool failed: {result.failed(OURS)}")
    fastest = min(measured, key=result.best)
    wall, memory = result.best(OURS) / result.best(fastest), result.peak(OURS) / result.peak(fastest)
    text = f"{result.title}, against {fastest}: time {wall:.2f} (at most {bound.wall:g})"
    held = wall <= bound.wall
    if bound.memory is not None:
        text += f", memory {memory:.2f} (at most {bound.memory:g})"
        held = held and memory <= bound.memory
    return Verdict(held, text)


def judge_growth(bound: GrowthBound, results: Sequence[JobResult]) -> Verdict:
    result = next((r for r in results if r.name == bound.job), None)
    if result is None:
        return Verdict(None, bound.job)
    found = growth(result)
    if found is None:
        return Verdict(False, f"{bound.job}: pcatool failed")
    held = found.exponent <= bound.exponent and found.memory <= bound.memory
    text = (
        f"{result.title}, x{found.factor:g}: exponent {found.exponent:.2f} (at most {bound.exponent:g}), "
        f"memory {found.memory:+.1%} (at most {bound.memory:+.0%})"
    )
    return Verdict(held, text)


# --- into BENCHMARKS.md ---


def insert(table: str, text: str) -> str:
    """A text with the table between its marks."""
    start, end = map(re.escape, MARKS)
    parts = re.split(f"(?<={start})\n.*?(?={end})", text, flags=re.DOTALL)
    if len(parts) != 2:
        raise Unusable(f"there must be one place between {MARKS[0]} and {MARKS[1]}, each on a line of its own")
    return f"{parts[0]}\n{table}{parts[1]}"


def write_into(page: Path, table: str) -> None:
    page.write_text(insert(table, page.read_text(encoding="utf-8")), encoding="utf-8")

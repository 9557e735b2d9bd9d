"""The command line of the benchmarks."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks import jobs
from benchmarks.agreement import TOLERANCE
from benchmarks.environment import ROOT, Unusable, find, say
from benchmarks.report import judge, judge_growth, markdown, write_into
from benchmarks.results import JobResult, load, save
from benchmarks.rounds import Bench


def main(arguments: Sequence[str]) -> int:
    """0: all went well and every bound asked for was held; 1: not so; 2: nothing could be measured."""
    options = _parser().parse_args(arguments)
    try:
        chosen = _chosen(options)
        if options.list:
            _list(chosen)
            return 0
        if not options.table_only:
            _run(chosen, options)
        return _tell(load(options.work / "results", [job.name for job in chosen]), options)
    except Unusable as error:
        say(f"benchmarks: {error}")
        return 2


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "run.py", description="Measures pcatool beside its peers; prints a Markdown table."
    )
    add = parser.add_argument
    add("--work", type=Path, default=ROOT / ".benchmarks", help="folder for environments, data (3 GB) and results")
    add("--pcatool", metavar="COMMAND", help="measure this program instead of an installation of this tree")
    add("--peers", metavar="PYTHON", help="Python that has the peers, instead of an environment made for them")
    add("--fresh", action="store_true", help="make the environments anew")
    add("--jobs", metavar="NAME,...", help="only these jobs")
    add("--contenders", metavar="NAME,...", help="only these contenders, and pcatool")
    add("--rounds", type=_at_least_one, default=5, help="how often each is measured [5]")
    add("--scale", type=float, default=1.0, help="multiplies the numbers of rows, for a trial [1]")
    add("--table-only", action="store_true", help="measure nothing: the table of what was measured before")
    add("--write", action="store_true", help="put the table into .github/BENCHMARKS.md, too")
    add("--check", action="store_true", help="hold the figures against the bounds: exit code 1 when one is missed")
    add("--list", action="store_true", help="list the jobs and their contenders, and do nothing")
    return parser


def _at_least_one(text: str) -> int:
    if int(text) < 1:
        raise argparse.ArgumentTypeError("at least one")
    return int(text)


def _chosen(options: argparse.Namespace) -> list[jobs.Job]:
    known = {job.name: job for job in jobs.ALL}
    chosen = [known[name] for name in _names(options.jobs, list(known), "job")]
    everyone = list(dict.fromkeys(c.name for job in jobs.ALL for c in job.contenders))
    contenders = _names(options.contenders, everyone, "contender")
    return [job.scaled(options.scale).only(contenders) for job in chosen]


def _names(given: str | None, known: Sequence[str], what: str) -> Sequence[str]:
    names = given.split(",") if given else known
    unknown = [name for name in names if name not in known]
    if unknown:
        raise Unusable(f"no {what} {', '.join(unknown)}; there are: {', '.join(known)}")
    return names


def _list(chosen: Sequence[jobs.Job]) -> None:
    for job in chosen:
        print(f"{job.name}: {job.title}, {'; '.join(map(str, job.tables))}")
        for contender in job.contenders:
            print(f"    {contender.name}")


def _run(chosen: Sequence[jobs.Job], options: argparse.Namespace) -> None:
    """Saves after each job: what was measured stays, whatever comes later."""
    work = options.work.resolve()
    programs = find(work, options.pcatool, options.peers, options.fresh)
    needs = (need for job in chosen for c in (*job.contenders, *job.prepare) for need in c.needs)
    programs.look_for(dict.fromkeys(needs))
    for need, reason in programs.absent.items():
        say(f"absent: {need}: {reason}")
    bench = Bench(programs, work)
    for job in chosen:
        save(bench.run(job, options.rounds), work / "results")


def _tell(results: Sequence[JobResult], options: argparse.Namespace) -> int:
    if not results:
        raise Unusable("nothing has been measured yet")
    table = markdown(results)
    print(table, end="")
    if options.write:
        write_into(ROOT / ".github" / "BENCHMARKS.md", table)
    troubles = [failure for result in results for failure in result.failures()]
    troubles += [f"{r.name}, {a.contender}: disagrees" for r in results for a in r.disagreeing(TOLERANCE)]
    for trouble in troubles:
        say(f"benchmarks: {trouble}")
    return int(bool(troubles) | (_check(results) if options.check else False))


def _check(results: Sequence[JobResult]) -> bool:
    """Prints each bound; True when one was missed."""
    verdicts = [judge(bound, results) for bound in jobs.BOUNDS]
    verdicts += [judge_growth(bound, results) for bound in jobs.GROWTH_BOUNDS]
    print()
    for verdict in verdicts:
        print(f"- {verdict}")
    sys.stdout.flush()
    return any(verdict.held is False for verdict in verdicts)

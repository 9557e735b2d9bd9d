"""The benchmarks run, at a scale at which their figures mean nothing, and judge made-up figures rightly."""

from __future__ import annotations

import math
import os
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks import jobs, report, results
from benchmarks.agreement import scores_differ_by, variances_differ_by
from benchmarks.environment import Unusable
from benchmarks.measure import Measurement

pytestmark = pytest.mark.long(first=True)

TESTS = Path(__file__).resolve().parents[1]
RUNNER = TESTS / "benchmarks" / "run.py"


def runner(*words: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(RUNNER), *map(str, words)]
    return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=100)


# --- the runner, for real ---


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory, plain_environment: dict[str, str]) -> Path:
    """Three jobs, one round each, with one peer that the tests have and one that may be absent."""
    program = shutil.which("pcatool", path=plain_environment["PATH"])
    if program is None:
        pytest.skip("pcatool is not installed")
    folder = tmp_path_factory.mktemp("benchmarks")
    done = runner(
        "--work", folder, "--pcatool", program, "--peers", sys.executable, "--rounds", "1", "--scale", "0.002",
        "--jobs", "fit-small,transform-tall,growth-rows", "--contenders", "pandas+sklearn,mlpack",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    (folder / "table.md").write_text(done.stdout)
    return folder


def rows(table: str) -> dict[str, list[str]]:
    """Cells by "job: contender"; the job stands in the first of its rows only."""
    found, job = {}, ""
    for line in table.splitlines():
        if line.startswith("|") and not line.startswith(("| job", "| growth |", "|---")):
            title, label, *cells = (cell.strip() for cell in line.strip("|").split("|"))
            job = title or job
            found[f"{job}: {label}"] = cells
    return found


def test_the_table_has_a_row_for_each(work: Path) -> None:
    found = rows((work / "table.md").read_text())
    small, tall = "fit, CSV, 40 x 20", "transform, CSV to CSV, 1,000 x 50"
    growing = [f"growth in rows: {125 * 2**i:,} x 20" for i in range(6)]
    absent_or_not = f"{small}: mlpack"
    assert set(found) - {absent_or_not} == {
        *(f"{job}: {label}" for job in (small, tall) for label in ("pcatool", "pandas+sklearn")),
        *growing,
    }
    for job in (small, tall):
        rounds, *figures = found[f"{job}: pandas+sklearn"]
        assert rounds == "1"
        assert len(figures) == 7
        assert all(float(figure) > 0 for figure in figures)
    assert all(float(figure) > 0 for size in growing for figure in found[size])


def test_an_absent_peer_is_named_with_the_reason(work: Path) -> None:
    (cell, *_) = rows((work / "table.md").read_text())["fit, CSV, 40 x 20: mlpack"]
    assert cell == "1" or cell == "absent: ModuleNotFoundError: No module named 'mlpack'"


def test_the_peers_agree_and_the_table_says_so(work: Path) -> None:
    table = (work / "table.md").read_text()
    for title in ("fit, CSV, 40 x 20", "transform, CSV to CSV, 1,000 x 50"):
        told = re.search(rf"^- {title}: largest relative difference .* pandas\+sklearn (\S+?)[.,]", table, re.MULTILINE)
        assert told is not None, table
        assert float(told.group(1)) < 1e-6
    assert "DISAGREES" not in table


def test_the_table_can_be_made_again(work: Path) -> None:
    done = runner("--work", work, "--table-only")
    assert done.returncode == 0, done.stderr
    assert rows(done.stdout) == rows((work / "table.md").read_text())


def test_check_judges_every_bound(work: Path) -> None:
    done = runner("--work", work, "--table-only", "--check")
    verdicts = re.findall(r"^- (held|MISSED|not measured): ", done.stdout, re.MULTILINE)
    assert len(verdicts) == len(jobs.BOUNDS) + len(jobs.GROWTH_BOUNDS)
    assert done.returncode == int("MISSED" in verdicts)


def test_a_failing_program_is_told_not_dropped(tmp_path: Path) -> None:
    broken = f"{sys.executable} -c 'raise SystemExit(\"no, thanks\")'"
    done = runner(
        "--work", tmp_path, "--pcatool", broken, "--peers", sys.executable,
        "--rounds", "2", "--scale", "0.002", "--jobs", "fit-small", "--contenders", "pcatool",
    )  # fmt: skip
    assert done.returncode == 1
    assert rows(done.stdout)["fit, CSV, 40 x 20: pcatool"][0] == "failed: no, thanks"


def test_what_is_not_there_is_named(tmp_path: Path) -> None:
    for words, told in (
        (["--jobs", "fit-nothing"], "no job fit-nothing; there are: fit-tall, "),
        (["--contenders", "abacus"], "no contender abacus; there are: pcatool, "),
        (["--table-only"], "nothing has been measured yet"),
        (["--pcatool", "abacus", "--peers", sys.executable], "abacus: no such program"),
    ):
        done = runner("--work", tmp_path, *words)
        assert done.returncode == 2
        assert told in done.stderr


def test_a_process_is_charged_for_itself_only() -> None:
    """Its peak is not that of a runner grown large, and its time is its own."""
    script = (
        "from pathlib import Path; import os\n"
        "from benchmarks.measure import measure\n"
        "from benchmarks import command\n"
        "null = Path(os.devnull)\n"
        "m = measure(['sleep', '0.2'], os.environ, null, null)\n"
        "assert m.code == 0 and 0.2 <= m.wall < 10 and m.cpu < 0.2 and m.peak < 50, m\n"
        "assert measure(['false'], os.environ, null, null).code == 1\n"
        "assert measure(['/no/such/program'], os.environ, null, null).code == 127\n"
    )
    subprocess.run([sys.executable, "-c", script], cwd=TESTS, check=True, timeout=60)


# --- the jobs ---


def test_every_command_finds_its_script() -> None:
    commands = [c.command for job in jobs.ALL for c in (*job.contenders, *job.prepare)]
    used = {match for command in commands for match in re.findall(r"\{peers\}/(\S+)", command)}
    assert used == {path.name for path in jobs.PEERS.iterdir() if path.is_file()}


def test_every_bound_is_about_a_job_and_its_contenders() -> None:
    contenders = {job.name: {c.name for c in job.contenders} for job in jobs.ALL}
    for bound in jobs.BOUNDS:
        assert set(bound.against) <= contenders[bound.job]
    assert {bound.job for bound in jobs.GROWTH_BOUNDS} <= {job.name for job in jobs.ALL if job.grows}


def test_pcatool_takes_part_in_every_job() -> None:
    assert all(job.contenders[0].name == jobs.OURS for job in jobs.ALL)


# --- the pure pieces, on made-up figures ---


def result(rounds: dict[str, list[float]], sizes: list[int] | None = None, name: str = "fit-tall") -> results.JobResult:
    """A job of given wall times; memory is 100 MB for each second of the first round."""
    measured = {label: [Measurement(t, t, 100 * walls[0], 0) for t in walls] for label, walls in rounds.items()}
    machine = {"processor": "2 x abacus", "memory": "1 GB", "system": "Wood", "Python": "3.11"}
    return results.JobResult(name, "a job", sizes or [10], machine, rounds=measured)


@pytest.mark.parametrize("power", [0.0, 1.0, 1.7])
def test_exponent_of_a_power(power: float) -> None:
    sizes = [100, 200, 400, 800]
    assert report.exponent(sizes, [3 * size**power for size in sizes]) == pytest.approx(power, abs=1e-12)


def test_exponent_of_one_size_is_none() -> None:
    assert math.isnan(report.exponent([5, 5], [1, 2]))


def test_growth_over_all_and_over_the_last_two() -> None:
    found = report.growth(result({"1": [1.0, 2.0], "2": [1.5, 1.0], "4": [3.0, 2.0]}, [1, 2, 4]))
    assert found is not None
    assert (found.factor, found.exponent, found.last, found.memory) == pytest.approx((4, 0.5, 1, 2))


@pytest.mark.parametrize(
    ("wall", "memory", "held"), [(0.5, 0.5, True), (0.49, 0.5, False), (0.5, 0.49, False), (0.5, None, True)]
)
def test_a_bound_holds_time_and_memory(wall: float, memory: float | None, held: bool) -> None:
    """Against the fastest of those named, and the best of the rounds."""
    found = result({"pcatool": [2, 1], "a": [8, 9], "b": [4, 2], "c": [1, 1]})
    verdict = report.judge(jobs.Bound("fit-tall", ("a", "b"), wall, memory), [found])
    assert verdict.held is held
    assert "against b: time 0.50" in verdict.text


def test_a_bound_without_figures_is_neither_held_nor_missed() -> None:
    bound = jobs.Bound("fit-tall", ("a",), 1)
    assert report.judge(bound, []).held is None
    assert report.judge(bound, [result({"pcatool": [1]})]).held is None


def test_a_bound_is_missed_when_pcatool_fails() -> None:
    found = result({"pcatool": [1], "a": [1]})
    found.rounds["pcatool"][0] = replace(found.rounds["pcatool"][0], code=3, error="bad data")
    verdict = report.judge(jobs.Bound("fit-tall", ("a",), 1), [found])
    assert verdict.held is False
    assert "bad data" in verdict.text


@pytest.mark.parametrize(("last", "held"), [(1.04, True), (1.2, False)])
def test_a_growth_bound_holds_memory_too(last: float, held: bool) -> None:
    """100 MB a second: the same times make the memory grow by 4 % or 20 %."""
    found = result({"1": [1.0], "2": [last]}, [1, 2], "growth-rows")
    assert report.judge_growth(jobs.GrowthBound("growth-rows", 1.02, 0.1), [found]).held is held


def test_a_row_gives_shares_of_pcatool() -> None:
    table = report.markdown([result({"pcatool": [1, 3], "a": [4, 4]})])
    assert rows(table)["a job: a"] == ["2", "4.00", "4.00", "0.25", "0.50", "4.00", "400", "0.25"]


def test_what_was_measured_comes_back_from_its_file(tmp_path: Path) -> None:
    found = result({"pcatool": [1, 3], "a": [4]})
    found.agreements.append(results.Agreement("a", math.inf, exact=True))
    found.absent["b"] = "no such | module"
    results.save(found, tmp_path)
    assert results.load(tmp_path, ["fit-wide", "fit-tall"]) == [found]
    assert "absent: no such / module" in report.markdown([found])
    assert "a DISAGREES" in report.markdown([found])


def test_jobs_measured_apart_tell_of_one_machine_once() -> None:
    one, two, other = result({}), result({}), result({})
    two.machine["numpy"] = "2.4"
    other.machine["Python"] = "3.14"
    assert report.machines([one, two, other]) == [two.machine, other.machine]


def test_the_table_goes_between_its_marks() -> None:
    start, end = report.MARKS
    text = f"before\n{start}\nold\n{end}\nafter\n"
    assert report.insert("| new \\1 |\n", text) == f"before\n{start}\n| new \\1 |\n{end}\nafter\n"
    assert report.insert("| new |\n", f"{start}\n{end}\n") == f"{start}\n| new |\n{end}\n"
    with pytest.raises(Unusable, match="one place"):
        report.insert("", "nothing here")


def test_variances_are_compared_as_far_as_they_are_given() -> None:
    assert variances_differ_by([4.0, 2.0, 1.0], "4 2.5\n") == 0.25
    assert variances_differ_by([4.0], "4 2") == math.inf
    assert variances_differ_by([4.0], "done") == math.inf
    assert variances_differ_by([], "4") == math.inf


def test_scores_are_compared_but_for_their_signs(tmp_path: Path) -> None:
    ours, theirs = tmp_path / "ours.csv", tmp_path / "theirs.csv"
    ours.write_text("PC1,PC2\n4,-1\n2,0\n")
    theirs.write_text("a,b\n-4,1.5\n2,0\n")
    assert scores_differ_by(ours, theirs) == 0.125
    theirs.write_text("a,b\n-4,1.5\n")
    assert scores_differ_by(ours, theirs) == math.inf
    theirs.write_text("a\n4\n2\n")
    assert not scores_differ_by(ours, theirs) <= 1e-6
    assert scores_differ_by(ours, tmp_path / "none.csv") == math.inf


def test_no_file_names_a_machine_or_a_package_index() -> None:
    files = [path for path in (TESTS / "benchmarks").rglob("*") if path.suffix in {".py", ".R"}]
    texts = [path.read_text() for path in files if path != Path(__file__)]
    assert not any(f"{os.sep}{folder}{os.sep}" in text for text in texts for folder in ("tmp", "home", "root", "work"))
    assert not any("://" in text for text in texts)

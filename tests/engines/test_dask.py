"""The engine that sends tasks to a Dask cluster: real processes, over TCP."""

from __future__ import annotations

import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from functools import reduce
from pathlib import Path

import psutil
import pytest

from engines import dask_work as jobs
from engines.accumulators import Sums
from engines.dask_processes import TESTS, Processes, until
from often import often
from pcatool.engines.base import FAN
from pcatool.engines.dask import Dask, cluster
from pcatool.engines.dask import cluster as link
from pcatool.errors import DataError, FileError, LostError
from programs import computed_for, need_avx2

pytestmark = pytest.mark.long(first=True)


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Processes]:
    """A scheduler and two workers."""
    with Processes(tmp_path_factory.mktemp("dask"), 2) as processes:
        yield processes


@pytest.fixture(scope="module")
def engine(pair: Processes) -> Iterator[Dask]:
    with Dask(pair.address) as engine:
        until(lambda: len(workers_of(engine)) == 2)
        yield engine


def workers_of(engine: Dask) -> dict[str, int]:
    assert engine._link is not None
    return dict(engine._link.client.nthreads())


def tasks_left(engine: Dask) -> int:
    assert engine._link is not None
    return int(engine._link.client.run_on_scheduler(lambda dask_scheduler: len(dask_scheduler.tasks)))


def merged(count: int) -> str:
    """What a tree of neighbours gives."""
    row = [str(i) for i in range(count)]
    while len(row) > 1:
        row = [reduce(jobs.pair, row[i : i + FAN]) for i in range(0, len(row), FAN)]
    return row[0]


# --- results ---


@pytest.mark.parametrize("count", [1, 2, FAN, FAN + 1, FAN * FAN + 1, 300])
def test_neighbours_are_merged_in_their_order(engine: Dask, count: int) -> None:
    told: list[tuple[int, threading.Thread]] = []
    result = engine.reduce(
        range(count), Sums(jobs.word, jobs.pair), lambda n: told.append((n, threading.current_thread()))
    )
    assert result == merged(count)
    assert sum(n for n, _ in told) == count
    assert {thread for _, thread in told} == {threading.main_thread()}


def test_a_list_comes_in_the_order_of_the_items(engine: Dask) -> None:
    factor = 3
    assert engine.map(lambda item: item * factor, range(100)) == list(range(0, 300, 3))
    assert engine.map(jobs.word, []) == []


def test_a_worker_that_is_killed_costs_a_retry(pair: Processes, engine: Dask) -> None:
    told: list[int] = []

    def done(count: int) -> None:
        told.append(count)
        if len(told) == 15:
            pair.workers[0].kill()

    assert engine.reduce(range(50), Sums(jobs.slow_word, jobs.pair), done) == merged(50)
    assert sum(told) == 50
    assert len(workers_of(engine)) == 1
    assert engine.reduce(range(50), Sums(jobs.word, jobs.pair)) == merged(50)  # as of two workers
    pair.add_worker()


# --- errors of the work ---


def test_of_several_errors_that_of_the_first_item_is_raised(engine: Dask) -> None:
    told: list[int] = []
    with pytest.raises(DataError, match="part 3 is bad; leave it out"):
        engine.reduce(range(200), Sums(jobs.refuse, jobs.pair), told.append)
    assert sum(told) == 3
    until(lambda: tasks_left(engine) == 0)


def test_other_errors_come_as_what_they_are(engine: Dask) -> None:
    with pytest.raises(MemoryError):
        engine.map(jobs.exhaust, range(3))
    with pytest.raises(ValueError, match=r"^0 1$"):
        engine.reduce(range(2), Sums(jobs.word, jobs.no_pair))
    until(lambda: tasks_left(engine) == 0)


# --- addresses, schedulers, workers ---


def test_what_the_program_says_of_it(folder: Path, plain_environment: Mapping[str, str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        place = f"tcp://127.0.0.1:{free.getsockname()[1]}"
    run = subprocess.run(
        ["pcatool", "fit", "sample_data/houses.csv", "--engine", "dask", "--scheduler", place, "-o", "m.npz"],
        cwd=folder, env=plain_environment, capture_output=True, text=True,
    )  # fmt: skip
    assert run.stderr == (
        f"pcatool: error: cannot reach the Dask scheduler at '{place}': Connection refused; "
        "check the address, and that the scheduler is running\n"
    )
    assert (run.returncode, run.stdout) == (5, "")
    assert not (folder / "m.npz").exists()


def test_workers_that_are_others_and_a_scheduler_that_dies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "WORKERS", 0.2)
    with Processes(tmp_path, 0) as processes:
        with pytest.raises(LostError, match="has no workers; start a worker: dask worker tcp://"):
            Dask(processes.address).__enter__()
        monkeypatch.setattr(cluster, "WORKERS", 20)
        shim = tmp_path / "shim"
        shim.mkdir()
        (shim / "sitecustomize.py").write_text("import pcatool; pcatool.__version__ = '0.0.9'\n")
        processes.add_worker(PYTHONPATH=str(shim))
        with pytest.raises(FileError, match=r"the worker 'tcp://.*' has pcatool 0\.0\.9, but this process has "):
            Dask(processes.address).__enter__()
        processes.workers[0].kill()
        (shim / "sitecustomize.py").write_text("import sys; sys.modules['pcatool'] = None\n")
        processes.add_worker(PYTHONPATH=str(shim))
        with pytest.raises(FileError, match=r"the worker 'tcp://.*' has no pcatool; install pcatool .* where"):
            Dask(processes.address).__enter__()
        processes.workers[1].kill()
        processes.add_worker()
        lost = r"the Dask scheduler at 'tcp://.*' was lost; check that"
        with Dask(processes.address) as engine, pytest.raises(LostError, match=lost):
            engine.reduce(range(100), Sums(jobs.slow_word, jobs.pair), lambda _: processes.scheduler.kill())


def test_a_scheduler_that_hangs_and_workers_that_do_not_come_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(link, "LOST_AFTER", 1.0)
    monkeypatch.setattr(link, "HEARTBEAT", 0.1)
    with Processes(tmp_path, 1) as processes, Dask(processes.address) as engine:
        time.sleep(1.5)  # nobody looks meanwhile, which is nothing that is held against the scheduler
        with pytest.raises(
            LostError, match=r"the Dask scheduler at 'tcp://.*' has no workers left; find out why the workers ended"
        ):
            engine.reduce(range(100), Sums(jobs.slow_word, jobs.pair), lambda _: processes.workers[0].kill())
        processes.add_worker()
        with Dask(processes.address) as another:
            assert another.map(jobs.word, range(3)) == ["0", "1", "2"]
            processes.scheduler.send_signal(signal.SIGSTOP)
            with pytest.raises(LostError, match=r"the Dask scheduler at 'tcp://.*' no longer answers; check whether"):
                another.map(jobs.word, range(3))


def test_a_package_that_a_worker_has_not(engine: Dask) -> None:
    with pytest.raises(FileError, match="a worker has no no_such_package; install the same packages where"):
        engine.map(jobs.import_nothing, range(2))


# --- workers of our own ---


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder for temporary files, of which none is left; no process is, either."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", str(TESTS))
    before = {child.pid for child in psutil.Process().children()}
    yield tmp_path
    assert {child.pid for child in psutil.Process().children()} <= before
    assert list(tmp_path.iterdir()) == []


def test_workers_of_our_own(own: Path) -> None:
    with Dask(None) as engine:
        assert engine.reduce(range(70), Sums(jobs.word, jobs.pair)) == merged(70)
        assert engine.map(jobs.threads_of_blas, range(4)) == [1] * 4
        assert list(own.iterdir()) != []


def test_workers_of_our_own_compute_for_the_processor_that_is_named(own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    need_avx2()
    libraries = len(computed_for())
    for processor in ("Haswell", "Sandybridge"):
        monkeypatch.setenv("OPENBLAS_CORETYPE", processor)
        with Dask(None) as engine:
            assert engine.map(jobs.computed_for, range(2)) == [[processor] * libraries] * 2


STARTS = {
    "scheduler": "cannot start a Dask scheduler on this machine: Cluster failed to start: No module named 'no_such'",
    "worker": "cannot start a Dask worker on this machine: the last worker ended with exit code 1",
}


@pytest.mark.parametrize("what", STARTS)
def test_what_cannot_be_started(what: str, folder: Path, plain_environment: Mapping[str, str]) -> None:
    broken = {f"DASK_DISTRIBUTED__{what.upper()}__PRELOAD": "['no_such']"}
    run = subprocess.run(
        ["pcatool", "fit", "sample_data/houses.csv", "--engine", "dask", "-o", "m.npz"],
        cwd=folder, env={**plain_environment, **broken}, capture_output=True, text=True,
    )  # fmt: skip
    said = f"pcatool: error: {STARTS[what]}; check the configuration of Dask, or name a scheduler with --scheduler\n"
    assert (run.returncode, run.stdout, run.stderr) == (5, "", said)


def test_a_part_that_costs_every_worker_its_life(own: Path) -> None:
    with Dask(None) as engine, pytest.raises(LostError, match="several workers were lost while they worked"):
        engine.reduce(range(4), Sums(jobs.die, jobs.pair))


PROGRAM = """
import sys
from pathlib import Path
from pcatool.cli.signals import exit_now, stoppable
from pcatool.engines.dask import Dask
from engines.accumulators import Sums
from engines.dask_work import Noted, pair
try:
    with stoppable(), Dask(sys.argv[2] or None) as engine:
        print("begun", flush=True)
        engine.reduce(range(1000), Sums(Noted(Path(sys.argv[1])), pair))
except SystemExit as stopped:
    exit_now(stopped.code)
"""


ENDINGS = {"interrupted": (signal.SIGINT, 130), "ended": (signal.SIGTERM, 143), "killed": (signal.SIGKILL, -9)}


@pytest.mark.parametrize(("ending", "where"), [("interrupted", "own"), ("ended", "there"), ("killed", "own")])
def test_a_signal_ends_the_run_and_its_tasks(
    ending: str, where: str, pair: Processes, engine: Dask, tmp_path: Path
) -> None:
    number, code = ENDINGS[ending]
    notes, temporary = tmp_path / "notes", tmp_path / "temporary"
    notes.mkdir()
    temporary.mkdir()
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(notes), pair.address if where == "there" else ""],
        env={**os.environ, "PYTHONPATH": str(TESTS), "TMPDIR": str(temporary)},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    until(lambda: len(list(notes.iterdir())) > 2)
    children = psutil.Process(process.pid).children()
    began = time.monotonic()
    process.send_signal(number)
    said = process.communicate(timeout=20)
    assert time.monotonic() - began < 5  # at once, but on a machine that does much else
    assert said == (b"begun\n", b"")
    assert process.returncode == code
    until(lambda: not any(child.is_running() for child in children) and not list(temporary.iterdir()))
    until(lambda: tasks_left(engine) == 0)
    assert (where == "own") == bool(children)
    count = len(list(notes.iterdir()))
    time.sleep(0.3)
    assert len(list(notes.iterdir())) == count


CODES = {signal.SIGHUP: 129, signal.SIGINT: 130, signal.SIGTERM: 143}


@pytest.mark.parametrize("busy", [False, True], ids=["idle", "busy"])
def test_a_signal_at_any_moment_leaves_nothing(busy: bool, folder: Path, plain_environment: Mapping[str, str]) -> None:
    """Of the program itself, from its start to its end; also where it has to share its core with others."""
    temporary = folder / "temporary"
    temporary.mkdir()
    environment = {**plain_environment, "TMPDIR": str(temporary)}
    command = ["nice", "pcatool", "fit", *["sample_data/houses.csv"] * 20, "--engine", "dask", "-o", "m.npz"]
    began = time.monotonic()
    subprocess.run(command, cwd=folder, env=environment, check=True)
    span = time.monotonic() - began
    whole = (folder / "m.npz").read_bytes()
    rng = random.Random(busy)
    others = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(2 * busy)]
    try:
        for _ in range(often(12)):
            number, delay = rng.choice(list(CODES)), rng.uniform(0, (1 + busy) * span)
            interrupted(number, delay, command, folder, environment)
            assert list(temporary.iterdir()) == []
            left = folder / "m.npz"
            assert not left.exists() or left.read_bytes() == whole
            left.unlink(missing_ok=True)
    finally:
        for other in others:
            other.kill()
            other.wait()


def interrupted(number: int, delay: float, command: list[str], folder: Path, environment: Mapping[str, str]) -> None:
    """Run it and send it the signal; it ends soon, in silence, with the code of the signal or done, and leaves no
    process."""
    what = f"signal {number} after {delay:.3f} s"
    (folder / "m.npz").unlink(missing_ok=True)
    with subprocess.Popen(command, cwd=folder, env=environment, stderr=subprocess.PIPE) as process:
        time.sleep(delay)
        children = psutil.Process(process.pid).children(recursive=True) if process.poll() is None else []
        process.send_signal(number)
        _, said = process.communicate(timeout=20)
    # Until the program's first line the signal itself ends the process, SIGINT with a traceback; and with code 1 where
    # Python has not come so far that it could run any program.
    too_early = said.startswith(b"Fatal Python error: init_") and number == signal.SIGINT
    of_python = said.endswith(b"KeyboardInterrupt\n") and (too_early or process.returncode == -signal.SIGINT)
    assert said == b"" or of_python, what
    assert process.returncode in (CODES[signal.Signals(number)], -number, too_early, 0), what
    assert (folder / "m.npz").exists() == (process.returncode == 0), what
    until(lambda: not any(alive(child) for child in children))


def alive(process: psutil.Process) -> bool:
    try:
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False

"""The engine that sends tasks to a Dask cluster, with scheduler and workers in threads of this process, over TCP."""

from __future__ import annotations

import logging
import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import pcatool
from engines import dask_work as jobs
from engines.accumulators import Sums
from engines.dask.in_this_process import workers
from pcatool.arrays import NoRows
from pcatool.engines.base import FAN
from pcatool.engines.dask import Dask, cluster
from pcatool.errors import DataError, FileError, LostError, UsageError


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with workers(2) as there:
        yield there.scheduler_address


@pytest.fixture(scope="module")
def engine(address: str) -> Iterator[Dask]:
    with Dask(address) as engine:
        yield engine


# --- results ---


@pytest.mark.parametrize("count", [1, 2, FAN + 1, FAN * FAN + 1])
def test_neighbours_are_merged_in_their_order(engine: Dask, count: int) -> None:
    done: list[int] = []
    merged = engine.reduce(range(count), Sums(jobs.word, lambda one, other: f"{one} {other}"), done.append)
    assert merged == " ".join(map(str, range(count)))
    assert sum(done) == count


def test_a_fit_gives_the_model_of_threads(address: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    Path("in").mkdir()
    rng = np.random.default_rng(1)
    for number in range(FAN + 1):
        rows = "".join(f"{a!r},{b!r},{c!r}\n" for a, b, c in rng.standard_normal((20, 3)).tolist())
        Path(f"in/{number}.csv").write_text(f"a,b,c\n{rows}")
    there = pcatool.fit("in", components=2, engine="dask", scheduler=address)
    here = pcatool.fit("in", components=2)
    assert (there.n_samples, there.columns) == (here.n_samples, here.columns) == (20 * (FAN + 1), ("a", "b", "c"))
    np.testing.assert_allclose(there.eigenvalues, here.eigenvalues, rtol=1e-13)
    np.testing.assert_allclose(there.basis, here.basis, rtol=0, atol=1e-12)


def test_loggers_of_dask_are_silent_meanwhile_and_as_before_afterwards(address: str) -> None:
    logger = logging.getLogger("distributed")
    before = logger.level
    with Dask(address):
        assert not logger.isEnabledFor(logging.CRITICAL)
    assert logger.level == before


# --- errors of the work ---


def test_nothing_to_work_on(engine: Dask) -> None:
    assert engine.map(jobs.word, []) == []
    with pytest.raises(NoRows):
        engine.reduce([], Sums(jobs.word, jobs.pair))


def refuse(item: int) -> str:
    if item >= 3:
        raise DataError(f"part {item} is bad", "leave it out")
    return str(item)


def test_of_several_errors_that_of_the_first_item_is_raised(engine: Dask) -> None:
    done: list[int] = []
    with pytest.raises(DataError, match="part 3 is bad; leave it out"):
        engine.reduce(range(40), Sums(refuse, jobs.pair), done.append)
    assert sum(done) == 3


def test_other_errors_come_as_what_they_are(engine: Dask) -> None:
    with pytest.raises(MemoryError):
        engine.map(jobs.exhaust, range(3))
    with pytest.raises(ValueError, match=r"^0 1$"):
        engine.reduce(range(2), Sums(jobs.word, jobs.no_pair))


def test_a_package_that_a_worker_has_not(engine: Dask) -> None:
    with pytest.raises(FileError, match="a worker has no no_such_package; install the same packages where"):
        engine.map(jobs.import_nothing, range(2))


# --- schedulers and workers that do not do ---


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (
            "'0.0.9'",
            r"the worker 'tcp://.*' has pcatool 0\.0\.9, but this process has .*; "
            "install the same versions on this machine",
        ),
        ("__import__('no_pcatool')", r"the worker 'tcp://.*' has no no_pcatool; install pcatool .* where the workers"),
        (
            "str(1 / 0)",
            r"the worker 'tcp://.*' does not report its versions: ZeroDivisionError: division by zero; read the",
        ),
    ],
)
def test_a_worker_with_another_pcatool(
    answer: str, sentence: str, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    versions = cluster.VERSIONS.replace("__import__('pcatool').__version__", answer)
    assert versions != cluster.VERSIONS
    monkeypatch.setattr(cluster, "VERSIONS", versions)
    with pytest.raises(FileError, match=sentence):
        Dask(address).__enter__()


def test_a_scheduler_without_workers_and_one_that_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "WORKERS", 0.05)
    with workers(0) as there:
        with pytest.raises(LostError, match="has no workers; start a worker: dask worker tcp://"):
            Dask(there.scheduler_address).__enter__()
        there.scale(1)
        monkeypatch.setattr(cluster, "WORKERS", 10)
        lost = r"the Dask scheduler at 'tcp://.*' was lost; check that the scheduler is still running, and run again"
        with Dask(there.scheduler_address) as engine, pytest.raises(LostError, match=lost):
            engine.reduce(range(100), Sums(jobs.slow_word, jobs.pair), lambda _: there.close())


@pytest.mark.parametrize(
    "wrong",
    ["", "host", "host:8786", "http://host:8786", "tcp://host", "tcp://:8786", "tcp://host:0", "tcp://host:99999",
     "tcp://host:8786/x", "inproc://1/2/3", "tcp://a b:1"],
)  # fmt: skip
def test_what_is_no_address_is_refused(wrong: str) -> None:
    with pytest.raises(
        UsageError, match=r"is not the address of a Dask scheduler; write the address as tcp://host:8786"
    ):
        Dask(wrong)


@pytest.mark.parametrize("right", ["tcp://host:8786", "tls://10.0.0.1:1", "tcp://[::1]:8786", "ucx://h-1.x:65535"])
def test_what_is_an_address_is_taken(right: str) -> None:
    Dask(right)


def test_a_scheduler_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "PAUSE", 0.01)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with pytest.raises(LostError, match=rf"'tcp://127.0.0.1:{port}': Connection refused; check the address"):
        Dask(f"tcp://127.0.0.1:{port}").__enter__()
    with pytest.raises(LostError, match=r"cannot reach the Dask scheduler at 'tcp://a\.\.b:1': no such host"):
        Dask("tcp://a..b:1").__enter__()


def test_a_server_that_is_no_scheduler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "CONNECT", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        with pytest.raises(LostError, match=rf"'tcp://127.0.0.1:{port}': no Dask scheduler answers"):
            Dask(f"tcp://127.0.0.1:{port}").__enter__()


def test_without_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(FileError, match=r"needs the package distributed; run pip install 'pcatool\[dask\]'"):
        Dask(None).__enter__()

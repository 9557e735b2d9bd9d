"""A Dask scheduler and workers that pcatool starts itself, with other programs in place of the workers."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import dask
import psutil
import pytest
from distributed import Client

from engines.dask.in_this_process import workers
from engines.dask_processes import until
from pcatool.engines.dask import Dask
from pcatool.engines.dask.local import LocalWorkers, _serve
from pcatool.errors import LostError


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder for temporary files, of which none is left; no process is, either."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    before = {child.pid for child in psutil.Process().children()}
    yield folder
    assert {child.pid for child in psutil.Process().children()} <= before
    assert list(folder.iterdir()) == []


def worker_that_does(commands: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = folder / "python"
    program.write_text(f"#!/bin/sh\n{commands}\n")
    program.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(program))


def test_workers_that_end_at_once(temporary: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    worker_that_does("exit 7", tmp_path, monkeypatch)
    with pytest.raises(LostError) as caught:
        Dask(None).__enter__()
    assert str(caught.value) == (
        "cannot start a Dask worker on this machine: the last worker ended with exit code 7; "
        "check the configuration of Dask, or name a scheduler with --scheduler"
    )


def test_a_scheduler_that_cannot_be_started(temporary: Path) -> None:
    with dask.config.set({"distributed.scheduler.preload": ["no_such"]}), pytest.raises(LostError) as caught:
        Dask(None).__enter__()
    assert str(caught.value) == (
        "cannot start a Dask scheduler on this machine: Cluster failed to start: No module named 'no_such'; "
        "check the configuration of Dask, or name a scheduler with --scheduler"
    )


def test_a_worker_that_is_killed_is_replaced(temporary: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    worker_that_does("exec sleep 60", tmp_path, monkeypatch)
    before = {child.pid for child in psutil.Process().children()}

    def running() -> set[int]:
        return {child.pid for child in psutil.Process().children()} - before

    local = LocalWorkers()
    local.start()
    try:
        first = running()
        assert len(list(temporary.iterdir())) == 1
        for pid in first:
            psutil.Process(pid).kill()
        until(lambda: not first & running())
        until(lambda: local.keep() or len(running()) == len(first))
    finally:
        local.close()
    assert running() == set()


def test_a_worker_has_one_thread_and_ends_with_its_scheduler(tmp_path: Path) -> None:
    with workers(0) as there:
        address = there.scheduler_address
        worker = threading.Thread(target=lambda: asyncio.run(_serve(address, str(tmp_path))))
        worker.start()
        with Client(address, set_as_default=False) as client:
            client.wait_for_workers(1, timeout=10)
            assert list(client.nthreads().values()) == [1]
            assert client.submit(sum, [1, 2]).result(timeout=10) == 3
            assert list(tmp_path.iterdir()) != []
    worker.join(10)
    assert not worker.is_alive()

"""A Dask scheduler and workers that pcatool starts itself, with other programs in place of the workers."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import dask
import psutil
import pytest

from engines.dask_processes import until
from pcatool.engines.dask import Dask
from pcatool.engines.dask.local import Local
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
        "no Dask worker can be started here: the last ended with exit code 7; "
        "check the configuration of Dask, or name a --scheduler"
    )


def test_a_scheduler_that_cannot_be_started(temporary: Path) -> None:
    with dask.config.set({"distributed.scheduler.preload": ["no_such"]}), pytest.raises(LostError) as caught:
        Dask(None).__enter__()
    assert str(caught.value) == (
        "cannot start a Dask scheduler here: Cluster failed to start: No module named 'no_such'; "
        "check the configuration of Dask, or name a --scheduler"
    )


def test_a_worker_that_is_killed_is_replaced(temporary: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    worker_that_does("exec sleep 60", tmp_path, monkeypatch)
    before = {child.pid for child in psutil.Process().children()}

    def running() -> set[int]:
        return {child.pid for child in psutil.Process().children()} - before

    local = Local()
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

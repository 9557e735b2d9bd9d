"""A Dask cluster of real processes, over TCP."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType

TESTS = Path(__file__).resolve().parents[1]


class Processes:
    """A scheduler and its workers, each a process of its own with one thread."""

    def __init__(self, folder: Path, workers: int) -> None:
        self.folder = folder
        self.workers: list[subprocess.Popen[bytes]] = []
        about = folder / "scheduler.json"
        options = ["--host", "127.0.0.1", "--port", "0", "--dashboard-address", "127.0.0.1:0", "--no-dashboard"]
        self.scheduler = self._start("scheduler", [*options, "--scheduler-file", str(about)])
        until(lambda: about.exists() and about.read_text().endswith("}"))
        self.address: str = json.loads(about.read_text())["address"]
        for _ in range(workers):
            self.add_worker()

    def add_worker(self, **environment: str) -> None:
        options = ["--nthreads", "1", "--no-nanny", "--no-dashboard", "--local-directory", str(self.folder)]
        self.workers.append(self._start("worker", [self.address, *options], environment))

    def _start(
        self, what: str, options: list[str], environment: Mapping[str, str] | None = None
    ) -> subprocess.Popen[bytes]:
        # In a group of its own: a test stops the scheduler, and where a group that nobody waits for has one that is
        # stopped, the end of any other in it hangs up them all.
        with (self.folder / f"{what}.log").open("ab") as log:
            return subprocess.Popen(
                [sys.executable, "-m", f"distributed.cli.dask_{what}", *options],
                env={**os.environ, "PYTHONPATH": str(TESTS), **(environment or {})}, stdout=log, stderr=log,
                process_group=0,
            )  # fmt: skip

    def __enter__(self) -> Processes:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for process in (*self.workers, self.scheduler):
            process.kill()
            process.wait()


def until(true: Callable[[], bool], seconds: float = 20) -> None:
    """Wait for it."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)

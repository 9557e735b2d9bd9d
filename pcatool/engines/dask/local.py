"""A Dask scheduler in this process with worker processes on this machine, when no cluster is named."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from tempfile import mkdtemp
from threading import Thread
from typing import Any

from pcatool.engines.threads import usable_cores
from pcatool.errors import LostError
from pcatool.stores.calls import to_its_end

__all__ = ["Local"]

# As the modules are found here, whatever folder is the current one; no script of the caller's is run again.
START = "import sys; sys.path[:] = sys.argv[3:]; from pcatool.engines.dask.worker import main; main(*sys.argv[1:3])"
# Of Dask: no profiler beside the work.
ENVIRONMENT = {"DASK_DISTRIBUTED__WORKER__PROFILE__ENABLED": "False"}
# What the user has set stays. A core for each worker; and Arrow's memory is taken as by the program itself.
DEFAULTS = {
    **dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1"),
    "ARROW_DEFAULT_MEMORY_POOL": "system",
}

HOST = "127.0.0.1"
CLOSE = 3  # seconds
FALSE_STARTS = 3
REMEDY = "check the configuration of Dask, or name a --scheduler"


class Local:
    """A worker with one thread for each core; one that is lost is replaced.

    Processes are started and waited for by other threads than the main one: a signal that came between the start of a
    worker and the note of it would leave it behind, and one inside `Popen.poll` a lock that nobody opens.
    """

    def __init__(self) -> None:
        self._folder = ""
        self._workers: list[subprocess.Popen[bytes]] = []
        self._lost = 0
        self.works = False  # has one of the workers come so far that it can work?
        self.cluster: Any = None

    def start(self) -> None:
        from distributed import Scheduler, SpecCluster

        self._folder = mkdtemp(prefix="pcatool-")
        options = {
            "protocol": "tcp://", "host": HOST, "port": 0, "dashboard": False, "dashboard_address": f"{HOST}:0",
            "local_directory": self._folder,
        }  # fmt: skip
        try:
            self.cluster = SpecCluster(scheduler={"cls": Scheduler, "options": options}, workers={}, silence_logs=False)
        except Exception as error:  # of sockets, of a configuration that cannot be
            raise LostError(f"cannot start a Dask scheduler here: {error}", REMEDY) from None
        for _ in range(usable_cores()):
            self._workers.append(self._worker())

    def _worker(self) -> subprocess.Popen[bytes]:
        worker = subprocess.Popen(
            [sys.executable, "-c", START, self.cluster.scheduler_address, self._folder, *sys.path],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**DEFAULTS, **os.environ, **ENVIRONMENT},
            start_new_session=True,  # an interrupt from the terminal is for this process alone
        )
        Thread(target=worker.wait, daemon=True).start()  # which notes its end
        return worker

    def keep(self) -> None:
        """Replace workers that are lost."""
        if any(worker.returncode is not None for worker in self._workers):
            to_its_end(self._replace)

    def _replace(self) -> None:
        for number, worker in enumerate(self._workers):
            if worker.returncode is not None:
                self._lost += 1
                if not self.works and self._lost > FALSE_STARTS:
                    raise LostError(
                        f"no Dask worker can be started here: the last ended with exit code {worker.returncode}", REMEDY
                    )
                _let_go(worker)
                self._workers[number] = self._worker()

    def end_workers(self) -> None:
        """They hold nothing that is wanted; then nobody writes into their folder."""
        for worker in self._workers:
            worker.kill()
        for worker in self._workers:
            _let_go(worker)
        self._workers = []
        self._remove_folder()

    def close(self) -> None:
        self.end_workers()
        if self.cluster is not None:
            with suppress(Exception):  # what it had left to do is of no use
                self.cluster.close(timeout=CLOSE)
        self._remove_folder()

    def _remove_folder(self) -> None:
        if self._folder:
            shutil.rmtree(Path(self._folder), ignore_errors=True)


def _let_go(worker: subprocess.Popen[bytes]) -> None:
    worker.wait()
    if worker.stdin is not None:
        worker.stdin.close()

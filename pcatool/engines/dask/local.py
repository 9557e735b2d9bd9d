"""Dask scheduler in this process with worker processes on this machine, for runs without --scheduler."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from tempfile import mkdtemp
from threading import Thread
from typing import Any

from pcatool.engines.threads import usable_cores
from pcatool.errors import LostError
from pcatool.stores.interruptible_calls import uninterrupted

__all__ = ["LocalWorkers"]

# Program of a worker process. It uses the module path of this process, and does not run the caller's script again.
START = "import sys; sys.path[:] = sys.argv[3:]; from pcatool.engines.dask.local import work; work(*sys.argv[1:3])"
# Always set: no Dask profiler, which takes time from the work.
ENVIRONMENT = {"DASK_DISTRIBUTED__WORKER__PROFILE__ENABLED": "False"}
# Set unless the user has set them: one core for each worker, and the memory pool of Arrow that pcatool itself uses.
DEFAULTS = {
    **dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1"),
    "ARROW_DEFAULT_MEMORY_POOL": "system",
}

HOST = "127.0.0.1"
CLOSE = 3  # seconds for the scheduler to close
FALSE_STARTS = 3  # workers that may be lost before any worker has connected
REMEDY = "check the configuration of Dask, or name a scheduler with --scheduler"


class LocalWorkers:
    """Scheduler and worker processes on this machine, one worker with one thread for each core; used by `Dask`.

    Lost workers are replaced. Processes are started and waited for outside the main thread, where Python handles
    signals: a signal right after the start of a worker would leave the worker without an owner, and a signal inside
    `Popen.poll` would leave a lock locked.
    """

    def __init__(self) -> None:
        self._folder = ""
        self._workers: list[subprocess.Popen[bytes]] = []
        self._lost = 0
        self.works = False  # whether some worker has connected; set by `Dask`
        self.cluster: Any = None

    def start(self) -> None:
        """Start the scheduler and the workers; raise `LostError` where the scheduler cannot start."""
        from distributed import Scheduler, SpecCluster

        self._folder = mkdtemp(prefix="pcatool-")
        options = {
            "protocol": "tcp://", "host": HOST, "port": 0, "dashboard": False, "dashboard_address": f"{HOST}:0",
            "local_directory": self._folder,
        }  # fmt: skip
        try:
            self.cluster = SpecCluster(scheduler={"cls": Scheduler, "options": options}, workers={}, silence_logs=False)
        except Exception as error:  # from sockets, or from an invalid configuration of Dask
            raise LostError(f"cannot start a Dask scheduler on this machine: {error}", REMEDY) from None
        for _ in range(usable_cores()):
            self._workers.append(self._worker())

    def _worker(self) -> subprocess.Popen[bytes]:
        worker = subprocess.Popen(
            [sys.executable, "-c", START, self.cluster.scheduler_address, self._folder, *sys.path],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**DEFAULTS, **os.environ, **ENVIRONMENT},
            start_new_session=True,  # Ctrl-C in the terminal shall reach only the parent process
        )
        Thread(target=worker.wait, daemon=True).start()  # sets `returncode` when the worker ends
        return worker

    def keep(self) -> None:
        """Replace lost workers; raise `LostError` if more than FALSE_STARTS were lost before any worker connected."""
        if any(worker.returncode is not None for worker in self._workers):
            uninterrupted(self._replace)

    def _replace(self) -> None:
        for number, worker in enumerate(self._workers):
            if worker.returncode is not None:
                self._lost += 1
                if not self.works and self._lost > FALSE_STARTS:
                    raise LostError(
                        "cannot start a Dask worker on this machine: "
                        f"the last worker ended with exit code {worker.returncode}",
                        REMEDY,
                    )
                _reap(worker)
                self._workers[number] = self._worker()

    def end_workers(self) -> None:
        """Kill the workers, whose results are no longer needed, then remove their folder."""
        for worker in self._workers:
            worker.kill()
        for worker in self._workers:
            _reap(worker)
        self._workers = []
        self._remove_folder()

    def close(self) -> None:
        """End the workers and the scheduler."""
        self.end_workers()
        if self.cluster is not None:
            with suppress(Exception):  # its remaining work is no longer needed
                self.cluster.close(timeout=CLOSE)
        self._remove_folder()

    def _remove_folder(self) -> None:
        if self._folder:
            shutil.rmtree(Path(self._folder), ignore_errors=True)


def _reap(worker: subprocess.Popen[bytes]) -> None:
    worker.wait()
    if worker.stdin is not None:
        worker.stdin.close()


# --- the program of a worker ---

ROUNDS = 20  # attempts to remove the folder: another thread or worker may still be creating files in it


def work(address: str, folder: str) -> None:
    """Run a worker of the scheduler at `address` until the process that started this one is gone."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    Thread(target=_end_with_parent, args=(folder,), daemon=True).start()
    asyncio.run(_serve(address, folder))
    os._exit(0)


def _end_with_parent(folder: str) -> None:
    """Wait for the end of the parent process, remove the folder, and exit.

    Standard input is a pipe from the parent, which the system closes however the parent ends.
    """
    os.read(0, 1)
    for _ in range(ROUNDS):
        shutil.rmtree(folder, ignore_errors=True)
        if not Path(folder).exists():
            break
    os._exit(0)


async def _serve(address: str, folder: str) -> None:
    from distributed import Worker

    async with Worker(
        address, host="127.0.0.1", nthreads=1, memory_limit=0, local_directory=folder, dashboard=False, death_timeout=60
    ) as worker:
        await worker.finished()

"""Main program of a Dask worker process that pcatool starts itself."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import sys
import threading
from pathlib import Path

__all__ = ["main"]

ROUNDS = 20  # attempts to remove the folder: another thread or worker may still be creating files in it


def main(address: str, folder: str) -> None:
    """Run a worker of the scheduler at `address` until the process that started this one is gone."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    threading.Thread(target=_end_with_parent, args=(folder,), daemon=True).start()
    asyncio.run(_work(address, folder))
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


async def _work(address: str, folder: str) -> None:
    from distributed import Worker

    async with Worker(
        address, host="127.0.0.1", nthreads=1, memory_limit=0, local_directory=folder, dashboard=False, death_timeout=60
    ) as worker:
        await worker.finished()


if __name__ == "__main__":
    main(*sys.argv[1:3])

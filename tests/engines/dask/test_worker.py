"""The worker process that pcatool starts, its work in a thread of this process."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

from distributed import Client

from engines.dask.in_this_process import workers
from pcatool.engines.dask.worker import _work


def test_a_worker_has_one_thread_and_ends_with_its_scheduler(tmp_path: Path) -> None:
    with workers(0) as there:
        address = there.scheduler_address
        worker = threading.Thread(target=lambda: asyncio.run(_work(address, str(tmp_path))))
        worker.start()
        with Client(address, set_as_default=False) as client:
            client.wait_for_workers(1, timeout=10)
            assert list(client.nthreads().values()) == [1]
            assert client.submit(sum, [1, 2]).result(timeout=10) == 3
            assert list(tmp_path.iterdir()) != []
    worker.join(10)
    assert not worker.is_alive()

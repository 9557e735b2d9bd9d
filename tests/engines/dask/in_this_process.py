"""A Dask scheduler and workers in threads of this process, over TCP."""

from __future__ import annotations

from distributed import Scheduler, SpecCluster, Worker

HOST = "127.0.0.1"


def workers(count: int) -> SpecCluster:
    """A scheduler and so many workers, of one thread each, in a `with` block."""
    common = {"protocol": "tcp://", "host": HOST, "dashboard": False, "dashboard_address": f"{HOST}:0"}
    worker = {"cls": Worker, "options": {**common, "nthreads": 1, "memory_limit": 0}}
    return SpecCluster(
        workers=dict.fromkeys(range(count), worker),
        worker=worker,
        scheduler={"cls": Scheduler, "options": {**common, "port": 0}},
        silence_logs=False,
    )

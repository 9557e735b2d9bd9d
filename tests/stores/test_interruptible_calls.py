"""Stores that do not answer: a signal ends the run meanwhile."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from pcatool.stores.interruptible_calls import interruptible
from stores.server import ENVIRONMENT, Cable, Store

AZURE = "blob_storage_authority=SERVER&dfs_storage_authority=SERVER"
RUNS = {
    "look": (["fit", "s3://b/x.csv", "-o", "m.npz"], signal.SIGINT, 130),
    "model": (["inspect", "s3://b/m.npz"], signal.SIGTERM, 143),
    "list": (["fit", "s3://b/*.csv", "-o", "m.npz"], signal.SIGTERM, 143),
    "output": (["fit", "x.csv", "-o", "s3://b/m.npz"], signal.SIGINT, 130),
    "gs": (["fit", "gs://b/x.csv", "-o", "m.npz"], signal.SIGINT, 130),
    "azure": (
        ["fit", f"abfs://b/x.csv?account_name=a&{AZURE}&scheme=http", "-o", "m.npz"],
        signal.SIGINT,
        130,
    ),
    "web": (["fit", "http://SERVER/x.csv", "-o", "m.npz"], signal.SIGTERM, 143),
}


@pytest.mark.parametrize("run", RUNS)
def test_a_signal_ends_the_first_question(run: str, tmp_path: Path, plain_environment: Mapping[str, str]) -> None:
    (tmp_path / "x.csv").write_text("a,b\n1,2\n3,4\n5,7\n")
    words, number, code = RUNS[run]
    with socket.create_server(("127.0.0.1", 0)) as silent:
        silent.settimeout(30)
        server = f"127.0.0.1:{silent.getsockname()[1]}"
        environment = {
            **plain_environment, "AWS_ENDPOINT_URL": f"http://{server}", "AWS_ACCESS_KEY_ID": "somebody",
            "AWS_SECRET_ACCESS_KEY": "secret", "AWS_EC2_METADATA_DISABLED": "true", "AWS_CONFIG_FILE": os.devnull,
            "STORAGE_EMULATOR_HOST": f"http://{server}", "AZURE_STORAGE_ACCOUNT_KEY": "c2VjcmV0",
        }  # fmt: skip
        process = subprocess.Popen(
            [sys.executable, "-m", "pcatool", *(word.replace("SERVER", server) for word in words)],
            cwd=tmp_path, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        client = silent.accept()[0]  # it asks, and is not answered
        with client:
            began = time.monotonic()
            process.send_signal(number)
            said = process.communicate(timeout=30)
            took = time.monotonic() - began
    assert (process.returncode, said) == (code, (b"", b""))
    assert took < 2  # at once, but on a machine that does much else
    assert sorted(path.name for path in tmp_path.iterdir()) == ["x.csv"]


def test_a_signal_ends_the_reading_of_parquet(
    store: Store, tmp_path: Path, plain_environment: Mapping[str, str]
) -> None:
    X = np.random.default_rng(1).normal(size=(100_000, 4))
    parquet.write_table(pa.table({f"x{j}": X[:, j] for j in range(4)}), tmp_path / "t.parquet")
    data = store.put("t.parquet", (tmp_path / "t.parquet").read_bytes())
    with Cable(store.port, down=1_000_000, then="stop") as cable:
        environment = {**plain_environment, **ENVIRONMENT, "AWS_ENDPOINT_URL": cable.endpoint}
        words = [sys.executable, "-m", "pcatool", "fit", data, "-o", str(tmp_path / "m.npz")]
        process = subprocess.Popen(words, env=environment, stderr=subprocess.PIPE)
        assert cable.reached.wait(30)
        began = time.monotonic()
        process.send_signal(signal.SIGINT)
        said = process.communicate(timeout=60)[1]
        took = time.monotonic() - began
    assert (process.returncode, said) == (130, b"")
    assert took < 2


def test_what_a_call_gives() -> None:
    where: list[object] = []

    def call(number: int) -> float:
        where.append(threading.current_thread())
        return 1 / number

    assert interruptible(lambda: call(4)) == 0.25
    with pytest.raises(ZeroDivisionError):
        interruptible(lambda: call(0))
    inner = threading.Thread(target=lambda: interruptible(lambda: call(1)))
    inner.start()
    inner.join()
    assert threading.main_thread() not in where
    assert where[2] is inner


def test_without_memory_for_a_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(thread: threading.Thread, *_: Callable[[], object]) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", full)
    assert interruptible(lambda: threading.current_thread()) is threading.main_thread()

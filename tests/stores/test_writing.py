"""Objects of S3 as outputs: the bytes of a file, whole or not at all, whatever ends the run."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from pcatool.cli import app
from pcatool.cli.outcome import guarded
from pcatool.stores import s3
from stores.server import Cable, Store


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table in a file, and its model."""
    folder = tmp_path_factory.mktemp("local")
    X = np.random.default_rng(1).normal(size=(60_000, 12))
    parquet.write_table(pa.table({f"x{j}": X[:, j] for j in range(12)}), folder / "t.parquet")
    assert app.run(["fit", str(folder / "t.parquet"), "-k", "all", "-o", str(folder / "m.npz")]) == 0
    return folder


def refused(words: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    code = guarded(lambda: app.run(words), debug=False)
    return code, capsys.readouterr().err.rpartition("pcatool: error: ")[2].strip()


@pytest.mark.parametrize("name", ["s.csv", "s.csv.gz", "s.parquet", "s.jsonl.zst", "a b/s%20=.csv"])
def test_tables_have_the_bytes_of_files(name: str, store: Store, local: Path, tmp_path: Path) -> None:
    near = tmp_path / Path(name).name
    for output in (str(near), store.uri(name)):
        words = ["transform", str(local / "m.npz"), str(local / "t.parquet"), "-k", "2", "-o", output]
        assert app.run(words) == 0
    assert store.names() == [name]
    assert store.get(name) == near.read_bytes()


def test_reports_and_pictures(store: Store, local: Path, tmp_path: Path) -> None:
    model = str(local / "m.npz")
    for words, name in ((["scree"], "s.svg"), (["components"], "c.csv")):
        output = f"{store.uri(name)}?endpoint_override={store.endpoint}&region=eu-west-1"
        assert app.run([*words, model, "-o", output]) == 0
        assert app.run([*words, model, "-o", str(tmp_path / name)]) == 0
        assert store.get(name) == (tmp_path / name).read_bytes()


REFUSED = {
    "s3://no-such-bucket/m.npz": (
        5, "cannot write 's3://no-such-bucket/m.npz': there is no such bucket; check its name, or create it first"
    ),
    "s3://BUCKET/": (5, "cannot write 's3://BUCKET/': it names a folder; give the name of an object"),
    "s3://BUCKET": (5, "cannot write 's3://BUCKET': it names a folder; give the name of an object"),
    "s3://BUCKET/t.csv": (
        2,
        "the output 's3://BUCKET/t.csv' is the same object as the input 's3://BUCKET/t.csv'; write to another one",
    ),
    "s3://BUCKET/there.npz": (
        5, "'s3://BUCKET/there.npz' exists, and --no-clobber was given; give another name, or move the file away"
    ),
    "https://me:secret@host/m.npz?key=secret": (
        2, "'https://host/m.npz?...': a web server is only read from; give a file, s3://, gs:// or abfs://"
    ),
    "ftp://me:secret@host/m.npz": (
        2, "'ftp://host/m.npz': no store is called ftp://; there are: s3, gs, gcs, abfs, abfss, http, https"
    ),
}  # fmt: skip


@pytest.mark.parametrize("output", REFUSED)
def test_outputs_that_are_refused_before_the_work(
    output: str, store: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    data = store.put("t.csv", b"a,b\n1,2\n3,x\n")  # the work would fail
    store.put("there.npz", b"old")
    code, said = REFUSED[output]
    words = ["fit", data, "--no-clobber", "-o", output.replace("BUCKET", store.bucket)]
    assert refused(words, capsys) == (code, said.replace("BUCKET", store.bucket))
    assert store.get("there.npz") == b"old"


def test_a_run_that_fails_leaves_what_was_there(store: Store, capsys: pytest.CaptureFixture[str]) -> None:
    data = store.put("t.csv", b"a,b\n" + b"1,2\n" * 3 + b"3,x\n")
    store.put("m.npz", b"old")
    assert refused(["fit", data, "-o", store.uri("m.npz")], capsys)[0] == 3
    assert store.names() == ["m.npz", "t.csv"]
    assert store.get("m.npz") == b"old"


def test_what_appears_meanwhile_is_not_replaced(
    store: Store, local: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with Cable(store.port, up=5_000_000, then="go on", meanwhile=lambda: store.put("s.csv", b"theirs")) as cable:
        monkeypatch.setenv("AWS_ENDPOINT_URL", cable.endpoint)
        words = ["transform", str(local / "m.npz"), str(local / "t.parquet"), "--no-clobber", "-o"]
        code, said = refused([*words, store.uri("s.csv")], capsys)
        assert cable.reached.is_set()
    assert (code, store.get("s.csv")) == (5, b"theirs")
    assert "exists, and --no-clobber was given" in said


# Bytes after which the way to the server ends: in an output of one request, in the first piece, in the last.
PLACES = {"small": ("s.csv", 100_000), "begun": ("l.csv", 2_000_000), "nearly": ("l.csv", 12_500_000)}


def scores(store: Store, local: Path, name: str) -> list[str]:
    some = ["-k", "1"] if name == "s.csv" else []
    return ["transform", str(local / "m.npz"), str(local / "t.parquet"), *some, "-o", store.uri(name)]


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("before", [b"", b"old"])
def test_a_write_that_fails_half_way_leaves_no_object(
    place: str, before: bytes, store: Store, local: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.setattr(s3, "ATTEMPTS", 1)
    name, up = PLACES[place]
    if before:
        store.put(name, before)
    with Cable(store.port, up=up) as cable:
        monkeypatch.setenv("AWS_ENDPOINT_URL", cable.endpoint)
        code, said = refused(scores(store, local, name), capsys)
        assert cable.reached.is_set()
    assert code == 5
    assert said.startswith(f"cannot write '{store.uri(name)}': no connection")
    assert store.names() == ([name] if before else [])
    assert not before or store.get(name) == before


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130), (signal.SIGHUP, 129)])
@pytest.mark.parametrize("place", ["small", "nearly"])
def test_a_signal_ends_the_run_at_once_and_leaves_no_object(
    place: str, number: int, code: int, store: Store, local: Path, plain_environment: Mapping[str, str]
) -> None:
    name, up = PLACES[place]
    store.put(name, b"old")
    with Cable(store.port, up=up, then="stop") as cable:
        environment = {**plain_environment, **own(os.environ), "AWS_ENDPOINT_URL": cable.endpoint}
        process = subprocess.Popen(
            [sys.executable, "-m", "pcatool", *scores(store, local, name)], env=environment, stderr=subprocess.PIPE
        )
        assert cable.reached.wait(30)
        began = time.monotonic()
        process.send_signal(number)
        said = process.communicate(timeout=30)[1]
        took = time.monotonic() - began
    assert (process.returncode, said) == (code, b"")
    assert took < 3
    assert store.names() == [name]
    assert store.get(name) == b"old"


def own(environment: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in environment.items() if name.startswith("AWS_")}

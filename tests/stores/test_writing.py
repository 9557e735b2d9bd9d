"""Objects of S3 as outputs: the bytes of a file, whole or not at all, whatever ends the run."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from pcatool.cli import app
from pcatool.cli.reporter import run_and_report
from pcatool.stores import providers as s3
from pcatool.writers import sink
from stores.server import Cable, Store, refusing


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table in a file, and its model."""
    folder = tmp_path_factory.mktemp("local")
    X = np.random.default_rng(1).normal(size=(60_000, 12))
    parquet.write_table(pa.table({f"x{j}": X[:, j] for j in range(12)}), folder / "t.parquet")
    assert app.run(["fit", str(folder / "t.parquet"), "-k", "all", "-o", str(folder / "m.npz")]) == 0
    return folder


def refused(words: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    code = run_and_report(lambda: app.run(words), debug=False)
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
        5, "cannot write 's3://no-such-bucket/m.npz': there is no such bucket; "
        "check the name of the bucket, or create the bucket first"
    ),
    "s3://BUCKET/": (5, "cannot write 's3://BUCKET/': it names a folder; give the name of an object"),
    "s3://BUCKET": (5, "cannot write 's3://BUCKET': it names a folder; give the name of an object"),
    "s3://BUCKET/a//m.npz": (
        5, "cannot write 's3://BUCKET/a//m.npz': the name has two slashes in a row; write one slash"
    ),
    "s3://BUCKET/t.csv": (
        2,
        "the output 's3://BUCKET/t.csv' is the same object as the input 's3://BUCKET/t.csv'; write to another object",
    ),
    "s3://BUCKET/t.csv?endpoint_override=ENDPOINT": (
        2,
        "the output 's3://BUCKET/t.csv' is the same object as the input 's3://BUCKET/t.csv'; write to another object",
    ),
    "s3://BUCKET/c/../t.csv": (
        2,
        "'s3://BUCKET/c/../t.csv': a name in a store cannot have . or .. as a folder; "
        "write the name without . and ..",
    ),
    "s3://BUCKET/there.npz": (
        5, "'s3://BUCKET/there.npz' exists, and --no-clobber was given; give another name, or move the file away"
    ),
    "https://me:secret@host/m.npz?key=secret": (
        2,
        "cannot write 'https://host/m.npz?...': pcatool can only read from web servers; "
        "name a file, or an object in s3://, gs:// or abfs://",
    ),
    "ftp://me:secret@host/m.npz": (
        2,
        "'ftp://host/m.npz': no store is called ftp://; "
        "write one of s3://, gs://, gcs://, abfs://, abfss://, http://, https://"
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
    words[-1] = words[-1].replace("ENDPOINT", store.endpoint)
    assert refused(words, capsys) == (code, said.replace("BUCKET", store.bucket))
    assert store.get("there.npz") == b"old"


def test_a_model_and_scores_of_one_name_are_refused(store: Store, capsys: pytest.CaptureFixture[str]) -> None:
    data, output = store.put("t.csv", b"a,b\n1,2\n3,4\n4,6\n"), store.uri("x.csv")
    words = ["fit", data, "-o", output, "--scores", f"{output}?endpoint_override={store.endpoint}"]
    code, said = refused(words, capsys)
    assert (code, said.startswith("-o and --scores both name"), store.names()) == (2, True, ["t.csv"])


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
    monkeypatch.setattr(s3, "MAX_ATTEMPTS", 1)
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


def place_of_model(where: str, store: Store, folder: Path) -> tuple[str, Callable[[], bytes | None]]:
    """Its name, and what is there."""
    if where == "near":
        return str(folder / "m.npz"), lambda: (folder / "m.npz").read_bytes() if (folder / "m.npz").exists() else None
    return store.uri("m.npz"), lambda: store.get("m.npz") if "m.npz" in store.names() else None


@pytest.mark.parametrize("where", ["near", "far"])
@pytest.mark.parametrize("old", [b"", b"old"])
@pytest.mark.parametrize("columns", ["1", "all"])  # in one request, and in parts
def test_scores_that_cannot_be_uploaded_leave_the_old_model(
    columns: str, old: bytes, where: str, store: Store, local: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    output, there = place_of_model(where, store, tmp_path)
    if old:
        store.put("s.csv", old)
        store.put("m.npz", old)
        (tmp_path / "m.npz").write_bytes(old)
    with refusing(store, r"(PUT|POST) .*/s\.csv(?!\?partNumber)(?!\?uploads)", 403, "AccessDenied") as endpoint:
        monkeypatch.setenv("AWS_ENDPOINT_URL", endpoint)
        words = ["fit", str(local / "t.parquet"), "-k", columns, "-o", output, "--scores", store.uri("s.csv")]
        code, said = refused(words, capsys)
    assert (code, "access denied" in said) == (5, True)
    assert (there() or b"") == old
    assert ("s.csv" in store.names(), not old or store.get("s.csv") == old) == (bool(old), True)


@pytest.mark.parametrize("where", ["near", "far"])
@pytest.mark.parametrize("old", [b"", b"old"])
def test_a_model_that_cannot_be_put_in_place_takes_its_scores_back(
    old: bytes, where: str, store: Store, local: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    def fails(self: sink.AtomicFile) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(sink.AtomicFile, "_finish", fails)
    output, there = place_of_model(where, store, tmp_path)
    if old:
        store.put("s.csv", old)
        store.put("m.npz", old)
        (tmp_path / "m.npz").write_bytes(old)
    with refusing(store, r"(PUT|POST) .*/m\.npz", 403, "AccessDenied") as endpoint:
        monkeypatch.setenv("AWS_ENDPOINT_URL", endpoint)
        words = ["fit", str(local / "t.parquet"), "-k", "1", "-o", output, "--scores", store.uri("s.csv")]
        code, said = refused(words, capsys)
    assert (code, ("No space" if where == "near" else "access denied") in said) == (5, True)
    assert (there() or b"") == old
    assert "s.csv" not in store.names()


def test_scores_that_cannot_be_taken_back_are_named(
    store: Store, local: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with refusing(store, r"(PUT|POST) .*/m\.npz|DELETE", 403, "AccessDenied") as endpoint:
        monkeypatch.setenv("AWS_ENDPOINT_URL", endpoint)
        words = ["fit", str(local / "t.parquet"), "-o", store.uri("m.npz"), "--scores", store.uri("s.csv")]
        code, said = refused(words, capsys)
    assert code == 5
    assert said.endswith(f"; and remove '{store.uri('s.csv')}': the model of these scores was not saved")


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

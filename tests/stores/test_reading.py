"""Objects of S3 as inputs and as models: the same bytes as from files, by few requests, and errors that say why."""

from __future__ import annotations

import gzip
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import fs, parquet

from pcatool.cli import app
from pcatool.cli.reporter import run_and_report
from pcatool.stores import providers as s3
from stores.server import Cable, Store, refusing

ROWS = 4000
COLUMNS = 12


@pytest.fixture(scope="module")
def table() -> pa.Table:
    X = np.random.default_rng(0).normal(size=(ROWS, COLUMNS)) * np.arange(1, COLUMNS + 1)
    return pa.table({f"x{j}": X[:, j] for j in range(COLUMNS)})


@pytest.fixture(scope="module")
def text(table: pa.Table) -> bytes:
    lines = [",".join(table.column_names), *(",".join(map(repr, row.values())) for row in table.to_pylist())]
    return "\n".join(lines).encode() + b"\n"


def as_parquet(table: pa.Table, group: int = 1000) -> bytes:
    sink = pa.BufferOutputStream()
    parquet.write_table(table, sink, row_group_size=group)
    return sink.getvalue().to_pybytes()


@pytest.fixture(scope="module")
def model(table: pa.Table, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """What comes of the table in a file."""
    folder = tmp_path_factory.mktemp("local")
    parquet.write_table(table, folder / "t.parquet")
    assert app.run(["fit", str(folder / "t.parquet"), "-k", "3", "-o", str(folder / "m.npz")]) == 0
    return (folder / "m.npz").read_bytes()


def pieces(table: pa.Table) -> dict[str, bytes]:
    """The table in the files of a folder, and what else lies there."""
    parts = {f"f/part-{i}.parquet": as_parquet(table.slice(i * 1000, 1000)) for i in range(4)}
    return {**parts, "f/_SUCCESS": b"", "f/.hidden.csv": b"x", "f/_old/part.csv": b"x", "f/notes": b"x"}


FORMS: dict[str, Callable[[pa.Table, bytes], dict[str, bytes]]] = {
    "t.csv": lambda table, text: {"t.csv": text},
    "t.csv.gz": lambda table, text: {"t.csv.gz": gzip.compress(text, 1)},
    "a b/t%20=?.parquet": lambda table, text: {"a b/t%20=?.parquet": as_parquet(table)},
    "no ending": lambda table, text: {"no ending": as_parquet(table, 333)},
    "f/": lambda table, text: pieces(table),
    "f": lambda table, text: pieces(table),
    "f/part-?.parquet": lambda table, text: pieces(table),
    "**/part-[0-3]*": lambda table, text: pieces(table),
    "?": lambda table, text: pieces(table),
}


@pytest.mark.parametrize("name", FORMS)
def test_a_fit_gives_the_bytes_of_a_local_one(
    name: str, store: Store, table: pa.Table, text: bytes, model: bytes, tmp_path: Path
) -> None:
    for key, data in FORMS[name](table, text).items():
        store.put(key, data)
    for output in (str(tmp_path / "m.npz"), store.uri("m.npz")):
        assert app.run(["fit", store.uri(name), "-k", "3", "-o", output]) == 0
    assert (tmp_path / "m.npz").read_bytes() == store.get("m.npz") == model


def test_models_are_read_wherever_one_is_taken(
    store: Store, text: bytes, model: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = b"".join(text.splitlines(keepends=True)[:9])
    data, far = store.put("t.csv", text), store.put("m.npz", model)
    (tmp_path / "m.npz").write_bytes(model)
    (tmp_path / "t.csv").write_bytes(text)
    near = str(tmp_path / "m.npz")

    def printed(*words: str) -> str:
        assert app.run(list(words)) == 0
        return capsys.readouterr().out

    for command in ("explain-variance", "scree", "components"):
        assert printed(command, far, "--format", "csv") == printed(command, near, "--format", "csv")
    assert printed("inspect", far) == printed("inspect", near).replace(near, far)
    assert printed("reconstruct", far, data) == printed("reconstruct", near, str(tmp_path / "t.csv"))
    for words, code, said in (
        (["transform", data, far], 2, "; name the model first, then the data"),
        (["scree", store.put("t.npz", text)], 4, "; give a model file written by pcatool fit -o"),
        (["fit", data, "--align-to", store.uri("none.npz"), "-o", near], 5, "; leave out --align-to"),
    ):
        got = code_and_text(words, capsys)
        assert got[0] == code
        assert said.removeprefix("; ") in got[1]


def test_small_objects_take_few_requests(store: Store, text: bytes, model: bytes) -> None:
    small = b"".join(text.splitlines(keepends=True)[:100])
    store.put("m.npz", model)
    for i in range(5):
        store.put(f"f/{i}.csv", small)
    with store.requests() as asked:
        assert app.run(["fit", store.uri("f/"), "-o", store.uri("m2.npz")]) == 0
    # Of the first the sizes of all are known; each is looked at, read, and looked at again.
    of_one = [request for request in asked if request.endswith("/3.csv")]
    assert [request.split()[0] for request in of_one] == ["HEAD", "GET", "HEAD"]
    assert sum("list-type" in request for request in asked) <= 2
    if "allow_delayed_open" in (fs.S3FileSystem.__doc__ or ""):  # of newer pyarrow
        assert [request.split()[0] for request in asked if "/m2.npz" in request] == ["PUT"]


def test_of_parquet_only_what_is_needed_is_fetched(store: Store, table: pa.Table, tmp_path: Path) -> None:
    wide = pa.table({f"c{j}": np.random.default_rng(j).normal(size=40_000) for j in range(30)})
    data = as_parquet(wide, 5000)
    store.put("w.parquet", data)
    with Cable(store.port) as cable, store.requests() as asked:
        source = f"{store.uri('w.parquet')}?endpoint_override={cable.endpoint}"
        assert app.run(["fit", source, "-c", "c3,c4,c20", "-o", str(tmp_path / "m.npz")]) == 0
    assert len(asked) <= 4 + 8 * 2 + 2, asked  # two stretches of each of 8 row groups
    assert cable.carried["down"] < len(data) / 5


def test_columns_of_a_large_row_group_that_is_transposed_are_fetched_together(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each portion of columns is one request, where every column alone would be several."""
    monkeypatch.setattr("pcatool.readers.parquet.file.MOST_FETCHED", 1)
    wide = pa.table({f"c{j}": np.random.default_rng(j).normal(size=40_000) for j in range(30)})
    data = as_parquet(wide, 40_000)
    (tmp_path / "w.parquet").write_bytes(data)
    source = store.put("w.parquet", data)
    with store.requests() as asked:
        assert app.run(["fit", source, "-k", "3", "-o", str(tmp_path / "m.npz")]) == 0
    assert len(asked) <= 6 + 6, asked  # five portions of six columns
    assert app.run(["fit", str(tmp_path / "w.parquet"), "-k", "3", "-o", str(tmp_path / "local.npz")]) == 0
    assert (tmp_path / "m.npz").read_bytes() == (tmp_path / "local.npz").read_bytes()


def code_and_text(words: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    code = run_and_report(lambda: app.run(words), debug=False)
    return code, capsys.readouterr().err.rpartition("pcatool: error: ")[2].strip()


WRONG = {
    "s3://BUCKET/x.csv": (5, "cannot read 's3://BUCKET/x.csv': there is no such object; check the name of the object"),
    "s3://BUCKET/f/": (
        5,
        "cannot read 's3://BUCKET/f/': there is no such object or folder"
        "; check the name of the object or folder"
    ),
    "s3://BUCKET/*.csv": (5, "no object matches 's3://BUCKET/*.csv'; check the pattern"),
    "s3://BUCKET/": (
        5,
        "no data files in folder 's3://BUCKET/'; name a data file, or a folder of files such as x.csv or x.parquet",
    ),
    "s3://no-such-bucket/x.csv": (
        5, "cannot read 's3://no-such-bucket/x.csv': there is no such bucket; check the name of the bucket"
    ),
    "s3://no-such-bucket/d/": (
        5,
        "cannot read 's3://no-such-bucket/d/': there is no such bucket"
        "; check the name of the bucket"
    ),
    "s3://no-such-bucket/d/*.csv": (
        5, "cannot read 's3://no-such-bucket/d/*.csv': there is no such bucket; check the name of the bucket"
    ),
    "s3://no-such-bucket/": (
        5,
        "cannot read 's3://no-such-bucket/': there is no such bucket"
        "; check the name of the bucket"
    ),
    "s3://no-such-bucket/*": (
        5,
        "cannot read 's3://no-such-bucket/*': there is no such bucket"
        "; check the name of the bucket"
    ),
    "s3:///x.csv": (2, "'s3:///x.csv' names no bucket; write s3://bucket/name"),
    "ftp://host/x.csv": (
        2,
        "'ftp://host/x.csv': no store is called ftp://; "
        "write one of s3://, gs://, gcs://, abfs://, abfss://, http://, https://"
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_names_that_lead_nowhere(name: str, store: Store, capsys: pytest.CaptureFixture[str]) -> None:
    store.put("other", b"x")
    code, said = WRONG[name]
    words = ["fit", name.replace("BUCKET", store.bucket), "-o", "/dev/null"]
    assert code_and_text(words, capsys) == (code, said.replace("BUCKET", store.bucket))


def test_a_bucket_that_may_not_be_asked_for_is_taken_to_be_there(
    store: Store, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with refusing(store, f"HEAD /{store.bucket}/? *$", 403, "AccessDenied") as endpoint:
        monkeypatch.setenv("AWS_ENDPOINT_URL", endpoint)
        got = code_and_text(["fit", store.uri("x.csv"), "-o", "/dev/null"], capsys)
    assert got == (5, f"cannot read '{store.uri('x.csv')}': there is no such object; check the name of the object")


def test_without_leave_nothing_is_read_or_written(
    store: Store, text: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = store.put("t.csv", text)
    (tmp_path / "t.csv").write_bytes(text)
    with store.watched_by_its_keeper():
        reading = code_and_text(["fit", data, "-o", str(tmp_path / "m.npz")], capsys)
        writing = code_and_text(["fit", str(tmp_path / "t.csv"), "-o", store.uri("m.npz")], capsys)
    remedy = "check the credentials and their permissions; pcatool help files lists where credentials come from"
    assert reading == (5, f"cannot read '{data}': access denied; {remedy}")
    assert writing == (5, f"cannot write '{store.uri('m.npz')}': the store does not accept the credentials; {remedy}")
    assert store.names() == ["t.csv"]


@pytest.mark.parametrize("form", ["csv", "gz", "parquet", "model"])
def test_a_lost_connection_is_no_damaged_file(
    form: str, store: Store, table: pa.Table, text: bytes, monkeypatch: pytest.MonkeyPatch, tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.setattr(s3, "MAX_ATTEMPTS", 1)
    monkeypatch.setattr("pcatool.stores.objects.REQUEST_BYTES", 1 << 17)
    data = {"csv": text, "gz": gzip.compress(text), "parquet": as_parquet(table), "model": b"PK\x03\x04" + text}[form]
    name = store.put("t", data)
    with Cable(store.port, down=200_000) as cable:
        monkeypatch.setenv("AWS_ENDPOINT_URL", cable.endpoint)
        words = ["scree", name] if form == "model" else ["fit", name, "-o", str(tmp_path / "m.npz")]
        code, said = code_and_text(words, capsys)
    assert code == 5
    assert said.startswith(f"cannot read '{name}': no connection")
    assert said.endswith("; check the network and the endpoint")
    assert not (tmp_path / "m.npz").exists()


def test_a_lost_connection_is_no_bad_file(store: Store, text: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(s3, "MAX_ATTEMPTS", 1)
    monkeypatch.setattr("pcatool.stores.objects.REQUEST_BYTES", 1 << 17)
    for name in ("f/a.csv", "f/b.csv"):
        store.put(name, text)
    with Cable(store.port, down=len(text) + 200_000) as cable:
        monkeypatch.setenv("AWS_ENDPOINT_URL", cable.endpoint)
        words = ["fit", store.uri("f/"), "--skip-bad", "-o", "/dev/null"]
        assert run_and_report(lambda: app.run(words), debug=False) == 5


@pytest.mark.parametrize("form", ["csv", "parquet"])
@pytest.mark.parametrize("then", ["longer", "shorter", "other", "good", "gone"])
@pytest.mark.parametrize("command", ["fit", "transform"])
def test_an_object_that_changes_while_it_is_read_is_no_bad_file(
    command: str, form: str, then: str, store: Store, table: pa.Table, text: bytes, model: bytes,
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.setattr("pcatool.stores.objects.REQUEST_BYTES", 1 << 17)
    (tmp_path / "m.npz").write_bytes(model)
    data = {"csv": text, "parquet": as_parquet(table)}[form]
    for name in ("a", "b", "c"):
        store.put(f"f/{name}.{form}", data if name == "b" else as_parquet(table.slice(0, 9)))
    later = {"longer": data + data, "shorter": data[: len(data) // 2], "other": data[::-1], "good": data}

    def change() -> None:
        if then == "gone":
            store.files.delete_file(f"{store.bucket}/f/b.{form}")
        else:
            time.sleep(1.1)  # by then it is of another second, all that tells it from the same bytes before
            store.put(f"f/b.{form}", later[then])

    with Cable(store.port, down=200_000, then="go on", meanwhile=change) as cable:
        monkeypatch.setenv("AWS_ENDPOINT_URL", cable.endpoint)
        words = {"fit": ["fit"], "transform": ["transform", str(tmp_path / "m.npz")]}[command]
        output = {"fit": str(tmp_path / "n.npz"), "transform": f"{tmp_path}/scores/"}[command]
        code, said = code_and_text([*words, store.uri("f"), "--skip-bad", "-o", output], capsys)
        assert cable.reached.is_set()
    remedy = "the file changed while it was read; run again when no program writes to the file"
    assert (code, said) == (5, f"cannot read '{store.uri(f'f/b.{form}')}': {remedy}")
    assert not (tmp_path / "n.npz").exists()


@pytest.mark.parametrize("request_", [r"GET .*/f/b\.csv", r"GET .*/f/b\.csv.*bytes=[1-9]", r"HEAD .*/f/b\.csv"])
@pytest.mark.parametrize(
    ("status", "code", "said"),
    [(503, "SlowDown", "the store is busy ("), (500, "InternalError", "the store fails ("),
     (429, "TooMany", "the store is busy ("), (403, "AccessDenied", "access denied; check the credentials")],
)  # fmt: skip
def test_a_store_that_refuses_has_no_bad_files(
    request_: str, status: int, code: str, said: str, store: Store, text: bytes, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.setattr(s3, "MAX_ATTEMPTS", 1)
    for name in ("f/a.csv", "f/b.csv", "f/c.csv"):
        store.put(name, text)
    with refusing(store, request_, status, code) as endpoint:
        monkeypatch.setenv("AWS_ENDPOINT_URL", endpoint)
        got = code_and_text(["fit", store.uri("f/"), "--skip-bad", "-o", "/dev/null"], capsys)
    assert got[0] == 5
    assert got[1].startswith(f"cannot read '{store.uri('f/b.csv')}': {said}")


@pytest.mark.parametrize("form", ["csv", "parquet"])
@pytest.mark.parametrize("then", ["longer", "shorter", "other"])
def test_an_object_that_changes_while_it_is_read_gives_no_numbers(
    form: str, then: str, store: Store, table: pa.Table, text: bytes, monkeypatch: pytest.MonkeyPatch, tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.setattr("pcatool.stores.objects.REQUEST_BYTES", 1 << 17)
    data = {"csv": text, "parquet": as_parquet(table)}[form]
    name = store.put("t", data)
    later = {"longer": data + data, "shorter": data[: len(data) // 2], "other": data[::-1]}[then]
    with Cable(store.port, down=150_000, then="go on", meanwhile=lambda: store.put("t", later)) as cable:
        monkeypatch.setenv("AWS_ENDPOINT_URL", cable.endpoint)
        code, said = code_and_text(["fit", name, "-o", str(tmp_path / "m.npz")], capsys)
    assert code in (3, 5), said  # what is there now may be no table at all
    assert not (tmp_path / "m.npz").exists()
    assert code == 3 or said.startswith(f"cannot read '{name}': the file changed while it was read")

"""Folders of S3, in and out: partitions, bad files, one output for each input, and going on."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import pcatool
from pcatool.errors import FileError, PcatoolWarning, UsageError
from pcatool.model.npz import dumps
from pcatool.stores import objects as upload
from stores.server import Store


def text(seed: int) -> bytes:
    X = np.random.default_rng(seed).normal(size=(20, 3))
    return b"a,b,c\n" + "".join(f"{a!r},{b!r},{c!r}\n" for a, b, c in X.tolist()).encode()


@pytest.fixture
def near(store: Store, tmp_path: Path) -> Path:
    """The same parts in a folder here and in the store."""
    for name in ("year=1/a.csv", "year=2/a.csv", "year=2/b.csv"):
        data = text(len(name) + int(name[5]))
        (tmp_path / "in" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "in" / name).write_bytes(data)
        store.put(f"in/{name}", data)
    pcatool.save_model(pcatool.fit(tmp_path / "in", components=2), tmp_path / "m.npz")
    return tmp_path


def test_one_output_for_each(store: Store, near: Path) -> None:
    model = str(near / "m.npz")
    pcatool.transform(model, near / "in", output=f"{near}/out/", keep="year")
    pcatool.transform(model, store.uri("in"), output=store.uri("out/"), keep="year")
    outputs = ["out/year=1/a.csv", "out/year=2/a.csv", "out/year=2/b.csv"]
    assert store.names() == [*(name.replace("out", "in", 1) for name in outputs), *outputs]
    assert [store.get(name) for name in outputs] == [(near / name).read_bytes() for name in outputs]
    pcatool.transform(model, store.uri("in/*/b.csv"), output=f"{near}/glob/", keep="year")
    assert (near / "glob/year=2/b.csv").read_bytes() == store.get("out/year=2/b.csv")
    options = f"?endpoint_override={store.endpoint}"
    pcatool.transform(model, f"{store.uri('in/year=2/b.csv')}{options}", output=f"{store.uri('one/')}{options}")
    assert "one/year=2/b.csv" in store.names()


def test_names_that_are_found_have_no_options(store: Store, near: Path) -> None:
    for folder in ("q/", "w/d?region=1/"):
        store.put(f"{folder}q?region=x.csv", text(1))
    model = str(near / "m.npz")
    assert dumps(pcatool.fit(store.uri("q"))) == dumps(pcatool.fit(f"{store.uri('q')}?region=us-east-1"))
    pcatool.transform(model, store.uri("q"), output=store.uri("out/"))
    pcatool.transform(model, store.uri("w/*/*.csv"), output=store.uri("out/"), keep="d?region")
    found = [name for name in store.names() if name.startswith("out/")]
    assert found == ["out/d?region=1/q?region=x.csv", "out/q?region=x.csv"]


def test_going_on(store: Store, near: Path) -> None:
    model, output = str(near / "m.npz"), store.uri("in/out/")
    os.utime(model, (0, 0))  # a store tells seconds, so that what it wrote may seem older than it is
    next_second()
    pcatool.transform(model, store.uri("in"), output=output, resume=True)
    store.files.delete_file(f"{store.bucket}/in/out/year=2/a.csv")
    with store.requests() as asked:
        pcatool.transform(model, store.uri("in"), output=output, resume=True)
    put = [request.partition("?")[0] for request in asked if request.startswith("PUT")]
    assert put == [f"PUT /{store.bucket}/in/out/year=2/a.csv"]
    with pytest.raises(FileError, match=r"in/out/year=1/a.csv' exists, and no_clobber=True was given"):
        pcatool.transform(model, store.uri("in"), output=output, no_clobber=True)
    with pytest.raises(UsageError, match="is the same file as the input"):
        pcatool.transform(model, store.uri("in"), output=store.uri("in/"))
    with pytest.raises(UsageError, match="is the same file as the input"):
        pcatool.transform(model, store.uri("in"), output=f"{store.uri('in/')}?endpoint_override={store.endpoint}")


def test_an_input_below_is_never_taken_for_a_result(store: Store, near: Path) -> None:
    store.put("in/a.csv", text(3))
    before = store.get("in/year=2/a.csv")
    with pytest.raises(UsageError, match=r"would replace .*in/year=2/a.csv', which is an input too"):
        pcatool.transform(str(near / "m.npz"), store.uri("in"), output=store.uri("in/year=2/"))
    assert store.get("in/year=2/a.csv") == before


def next_second() -> None:
    """When what is written is later for the store than what was written before."""
    time.sleep(1.01 - time.time() % 1)


def test_what_was_replaced_within_a_second_is_made_again(store: Store, near: Path) -> None:
    model = str(near / "m.npz")
    os.utime(model, (0, 0))
    for output in (store.uri("out/"), f"{near}/out/"):
        next_second()
        store.put("one/a.csv", text(5))
        pcatool.transform(model, store.uri("one"), output=output, resume=True)
        store.put("one/a.csv", text(6))
        pcatool.transform(model, store.uri("one"), output=output, resume=True)
        pcatool.transform(model, store.uri("one"), output=f"{near}/new/")
        made = store.get("out/a.csv") if output.startswith("s3") else (near / "out/a.csv").read_bytes()
        assert made == (near / "new/a.csv").read_bytes()


def test_what_was_replaced_while_it_was_read_is_made_again(
    store: Store, near: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, sent = str(near / "m.npz"), upload.upload
    os.utime(model, (0, 0))
    store.put("one/a.csv", text(5))

    def late(*given: Any) -> None:
        """All was read by now; the output comes after the new input."""
        store.put("one/a.csv", text(6))
        next_second()
        sent(*given)

    said = (
        "one/a.csv changed while it was read: the output .*/out/a.csv' was removed; resume=True writes the output again"
    )
    with monkeypatch.context() as patch, pytest.warns(PcatoolWarning, match=said):
        patch.setattr(upload, "upload", late)
        pcatool.transform(model, store.uri("one"), output=store.uri("out/"))
    assert "out/a.csv" not in store.names()
    pcatool.transform(model, store.uri("one"), output=store.uri("out/"), resume=True)
    pcatool.transform(model, store.uri("one"), output=f"{near}/new/")
    assert store.get("out/a.csv") == (near / "new/a.csv").read_bytes()


def test_parquet_in_parts(store: Store, tmp_path: Path) -> None:
    for i in range(3):
        X = np.random.default_rng(i).normal(size=(500, 6))
        parquet.write_table(pa.table({f"x{j}": X[:, j] for j in range(6)}), tmp_path / f"{i}.parquet")
        store.put(f"in/{i}.parquet", (tmp_path / f"{i}.parquet").read_bytes())
    for columns in ((), ("x0", "x1")):
        near = pcatool.fit([tmp_path / f"{i}.parquet" for i in range(3)], columns=columns)
        assert dumps(pcatool.fit(store.uri("in"), columns=columns)) == dumps(near)


def test_bad_objects_are_left_out(store: Store, near: Path) -> None:
    good = pcatool.fit(store.uri("in"), columns="a,b,c,year", components="all")
    store.put("in/year=2/c.csv", b"a,b,c\n1,2,x\n")
    with pytest.warns(PcatoolWarning, match=r"left out 2 of 5 files:\n  .*year=9.csv"):
        some = pcatool.fit(
            [store.uri("in/year=9.csv"), store.uri("in")], skip_bad=True, columns="a,b,c,year", components="all"
        )
    assert np.array_equal(some.basis, good.basis)
    with pytest.warns(PcatoolWarning, match="left out 1 of 4 files"):
        pcatool.transform(str(near / "m.npz"), store.uri("in"), output=store.uri("out/"), skip_bad=True)
    assert "out/year=2/c.csv" not in store.names()

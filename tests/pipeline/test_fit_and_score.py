"""fit --scores: a model and the scores of its rows in one run, those that transform would have written, by any way."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import pcatool
from fuzz.calls import called
from pcatool.readers import streams as copies
from pcatool.writers import sink

ROOT = Path(__file__).resolve().parents[2]

Feed = Callable[[Path], Path]


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("tables")
    rng = np.random.default_rng(8)
    X = pd.DataFrame((rng.normal(size=(700, 4)) @ rng.normal(size=(4, 4))).round(3), columns=list("abcd"))
    X["w"] = rng.integers(1, 4, 700)
    X["kind"] = np.where(X["a"] > 0, "up", "down")
    X.to_csv(home / "rows.csv", index=False)
    X.to_csv(home / "rows.tsv", index=False, sep="\t")
    X.to_parquet(home / "rows.parquet", row_group_size=100)
    X.drop(columns=["w", "kind"]).to_csv(home / "bare.csv", index=False, header=False)
    X.mask(rng.random(X.shape) < 0.05).to_csv(home / "holes.csv", index=False)
    (home / "rows.csv.gz").write_bytes(gzip.compress((home / "rows.csv").read_bytes()))
    cells = [(f"u{i}", f"i{j}", i % 5 + j) for i in range(40) for j in range(6) if (i * j + i) % 3]
    pd.DataFrame(cells, columns=["user", "item", "value"]).to_csv(home / "cells.csv", index=False)
    return home


@pytest.fixture
def through_a_pipe(tmp_path: Path) -> Feed:
    """A named pipe with the ending of a file, and somebody who writes the file into it, once."""

    def feed(path: Path) -> Path:
        pipe = tmp_path / f"pipe.{path.name}"
        os.mkfifo(pipe)
        threading.Thread(target=lambda: pipe.write_bytes(path.read_bytes()), daemon=True).start()
        return pipe

    return feed


# Of each kind of fit: its table, its flags, and those that its transform needs as well.
FITS: dict[str, tuple[str, Sequence[str], Sequence[str]]] = {
    "plain": ("rows.csv", ("-k", "2", "-x", "w"), ()),
    "columns kept": ("rows.csv", ("-k", "2", "-c", "a-d"), ("--keep", "kind,a")),
    "all kept": ("rows.csv", ("-k", "2", "-c", "a-d"), ("--keep-all",)),
    "whitened": ("rows.csv", ("-x", "w", "--whiten", "zca", "-s"), ()),
    "weighted": ("rows.csv", ("-k", "2", "--weights", "w"), ()),
    "rows centred": ("rows.csv", ("-k", "2", "-c", "a-d", "--center-rows"), ()),
    "kernel": ("rows.csv", ("-k", "2", "-c", "a-d", "--method", "kernel", "--landmarks", "40"), ()),
    "supervised": ("rows.csv", ("-k", "1", "-c", "a-d", "--method", "supervised", "--label", "kind"), ()),
    "randomized": ("rows.csv", ("-k", "2", "-c", "a-d", "--solver", "randomized"), ()),
    "dropped": ("holes.csv", ("-k", "2", "-c", "a-d", "--missing", "drop"), ()),
    "means": ("holes.csv", ("-k", "2", "-c", "a-d", "--missing", "mean"), ()),
    "em": ("holes.csv", ("-k", "2", "-c", "a-d", "--missing", "em"), ("--keep", "kind")),
    "no header": ("bare.csv", ("-k", "2", "--no-header"), ("--no-header",)),
    "tsv": ("rows.tsv", ("-k", "2", "-c", "a-d"), ("--keep", "kind")),
    "gzip": ("rows.csv.gz", ("-k", "2", "-c", "a-d"), ("--keep", "kind")),
    "parquet": ("rows.parquet", ("-k", "2", "-c", "a-d"), ("--keep", "kind")),
    "triples": ("cells.csv", ("-k", "2", "--triples", "user,item,value"), ("--triples", "user,item,value")),
    "triples of counts": (
        "cells.csv",
        ("-k", "2", "--triples", "user,item,value", "--absent", "zero"),
        ("--triples", "user,item,value"),
    ),
}


@pytest.mark.parametrize("kind", FITS)
def test_scores_and_model_are_those_of_two_runs(kind: str, tables: Path, tmp_path: Path, through_a_pipe: Feed) -> None:
    name, flags, of_both = FITS[kind]
    table = tables / name
    kept = [word for word in of_both if word.startswith("--keep")] and of_both
    given = [*flags, *kept]
    model, scores = tmp_path / "m.npz", tmp_path / "s.csv"
    assert called("fit", table, *flags, "-o", model).code == 0
    done = called("transform", model, table, *of_both, "-o", scores)
    assert done.code == 0, done.said
    for route, source in (("file", table), ("pipe", through_a_pipe(table))):
        again, beside = tmp_path / f"{route}.npz", tmp_path / f"{route}.csv"
        done = called("fit", source, *given, "-o", again, "--scores", beside)
        assert done.code == 0, done.said
        assert beside.read_bytes() == scores.read_bytes(), route
        assert again.read_bytes() == model.read_bytes(), route


def test_several_inputs_and_a_pipe_among_them(tables: Path, tmp_path: Path, through_a_pipe: Feed) -> None:
    files = [tables / name for name in ("rows.csv", "rows.parquet", "rows.csv.gz")]
    flags = ("-c", "a-d", "-k", "3")
    assert called("fit", *files, *flags, "-o", tmp_path / "m.npz").code == 0
    assert called("transform", tmp_path / "m.npz", *files, "-o", tmp_path / "s.jsonl").code == 0
    pipes = [files[0], through_a_pipe(files[1]), through_a_pipe(files[2])]
    done = called("fit", *pipes, *flags, "-o", tmp_path / "m2.npz", "--scores", tmp_path / "s2.jsonl")
    assert done.code == 0, done.said
    assert (tmp_path / "s2.jsonl").read_bytes() == (tmp_path / "s.jsonl").read_bytes()
    assert (tmp_path / "m2.npz").read_bytes() == (tmp_path / "m.npz").read_bytes()


def test_from_python(tables: Path, tmp_path: Path) -> None:
    frame = pd.read_csv(tables / "rows.csv")
    model = pcatool.fit(frame, columns="a-d", components=2, scores=tmp_path / "s.csv", keep="kind")
    pcatool.transform(model, frame, keep="kind", output=tmp_path / "t.csv")
    assert (tmp_path / "s.csv").read_bytes() == (tmp_path / "t.csv").read_bytes()
    path = tables / "rows.csv"
    model = pcatool.fit(path, columns="a-d", components=2, scores=str(tmp_path / "s.csv"), keep_all=True)
    pcatool.transform(model, path, keep_all=True, output=tmp_path / "t.csv")
    assert (tmp_path / "s.csv").read_bytes() == (tmp_path / "t.csv").read_bytes()
    with pytest.raises(pcatool.UsageError, match="keep has no effect without scores"):
        pcatool.fit(frame, keep="kind")


# --- both, or neither ---


def left(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_scores_that_cannot_be_made_leave_the_old_model(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,b\n" + "1,0\n-1,0\n0,1\n0,-1\n" * 3)
    (tmp_path / "m.npz").write_text("old")
    before = left(tmp_path)
    finite = pcatool.model.model.Model.project

    def overflows(self: pcatool.Model, X: np.ndarray) -> np.ndarray:
        return finite(self, X) * 1e308 * 1e308

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pcatool.model.model.Model, "project", overflows)
        done = called("fit", tmp_path / "t.csv", "-o", tmp_path / "m.npz", "--scores", tmp_path / "s.csv")
    assert (done.code, "the result overflows a double" in done.said) == (6, True)
    assert left(tmp_path) == before
    assert (tmp_path / "m.npz").read_text() == "old"


def test_a_model_that_cannot_be_saved_leaves_no_scores(
    tables: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    finish = sink.AtomicFile._finish

    def fails(self: sink.AtomicFile) -> None:
        if self.label.endswith(".npz"):
            raise OSError(28, "No space left on device")
        finish(self)

    monkeypatch.setattr(sink.AtomicFile, "_finish", fails)
    done = called("fit", tables / "rows.csv", "-o", tmp_path / "m.npz", "--scores", tmp_path / "s.csv")
    assert (done.code, "No space left" in done.said) == (5, True)
    assert left(tmp_path) == []


def test_two_columns_of_one_name_leave_neither(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("PC1,b\n1,2\n2,1\n4,4\n")
    done = called("fit", tmp_path / "t.csv", "-o", tmp_path / "m.npz", "--scores", tmp_path / "s.csv", "--keep-all")
    assert done.code == 2
    assert "two output columns have the name 'PC1'" in done.said
    assert left(tmp_path) == ["t.csv"]


@pytest.mark.parametrize("settings", [(), ("--skip-bad",)])
def test_a_kept_value_of_another_type_leaves_neither(settings: Sequence[str], tmp_path: Path) -> None:
    """The rows of its file are in the model by then, so that leaving it out of the scores is no way out."""
    pd.DataFrame({"a": [1.0, 2, 4], "b": [3.0, 5, 1], "k": [1, 2, 3]}).to_parquet(tmp_path / "1.parquet")
    (tmp_path / "2.csv").write_text("a,b,k\n1,2,k7\n3,1,5\n")
    files = tmp_path / "1.parquet", tmp_path / "2.csv"
    words = ["-c", "a,b", "-k", "1", *settings, "-o", tmp_path / "m.npz", "--scores", tmp_path / "s.csv", "--keep", "k"]
    done = called("fit", *files, *words)
    assert done.code == 3
    assert (
        "2.csv: column 'k' has type string, but in the first input the column has type int64; run again without "
        "this file, or with other columns in --keep; --skip-bad cannot leave the file out, since the fit used its rows"
        in done.said
    )
    assert left(tmp_path) == ["1.parquet", "2.csv"]


def test_no_room_for_the_copy_of_a_pipe(
    tables: Path, tmp_path: Path, through_a_pipe: Feed, monkeypatch: pytest.MonkeyPatch
) -> None:
    full = os.open("/dev/full", os.O_WRONLY)
    monkeypatch.setattr(copies, "_unnamed_file", lambda name: copies.FileBytes(full, name))
    pipe = through_a_pipe(tables / "rows.csv")
    done = called("fit", pipe, "-o", tmp_path / "m.npz", "--scores", tmp_path / "s.csv")
    assert done.code == 5
    assert "write input from a pipe to a temporary file in" in done.said
    assert "No space left on device" in done.said
    assert not (tmp_path / "m.npz").exists()
    assert not (tmp_path / "s.csv").exists()


def test_without_a_folder_for_the_copy(
    tables: Path, tmp_path: Path, through_a_pipe: Feed, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(**_: object) -> object:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr("tempfile.TemporaryFile", refused)
    done = called("fit", through_a_pipe(tables / "rows.csv"), "-o", tmp_path / "m.npz", "--scores", tmp_path / "s.csv")
    assert (done.code, "write input from a pipe to a temporary file in" in done.said) == (5, True)


def test_the_plan_counts_the_rows_that_are_scored_at_a_time(tmp_path: Path) -> None:
    """Wide text is read a few rows at a time: 100 x 20,000 was planned 306 MB on two threads, and took 170."""
    d = 12_000
    rows = np.random.default_rng(1).integers(0, 10, (40, d))
    text = "\n".join(",".join(map(str, row)) for row in [[f"c{j}" for j in range(d)], *rows.tolist()])
    (tmp_path / "t.csv").write_text(text + "\n")

    def planned(*words: object) -> int:
        done = called("fit", tmp_path / "t.csv", "-k", "3", "--threads", "2", "--plan", "--json", *words)
        return int(json.loads(done.out)["peak_bytes"])

    block = 8 * d * 64
    assert 0 < planned("--scores", tmp_path / "s.csv") - planned() < 6 * 1.05 * block


def test_a_reader_that_has_enough_of_the_scores_leaves_the_model(
    tables: Path, tmp_path: Path, plain_environment: dict[str, str]
) -> None:
    script = f"cat {tables}/rows.csv {tables}/bare.csv {tables}/bare.csv | cut -d, -f1-4 > t.csv; "
    script += "pcatool fit t.csv -o m.npz --scores - --threads 1 | head -1; echo ${PIPESTATUS[0]}"
    done = subprocess.run(["bash", "-c", script], cwd=tmp_path, env=plain_environment, capture_output=True, text=True)
    assert (done.stdout.splitlines()[1:], done.stderr) == (["0"], "")
    assert pcatool.load_model(tmp_path / "m.npz").n_samples == 2100

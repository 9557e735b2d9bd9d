"""transform and reconstruct of many files into a folder: one output for each, whole or absent."""

from __future__ import annotations

import gzip
import json
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import pcatool
from pcatool.errors import DataError, FileError, MissingColumns, PcatoolError, PcatoolWarning, UsageError
from pcatool.pipeline import output_folder as folder
from pcatool.pipeline.output_parts import name_in_format, relative_name
from pcatool.readers.paths import Input

HEADER = "a,b,c\n"


def text(seed: int, rows: int = 5) -> str:
    X = np.random.default_rng(seed).normal(size=(rows, 3))
    return HEADER + "".join(f"{a!r},{b!r},{c!r}\n" for a, b, c in X.tolist())


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A model and a folder of parts in three forms, some of them in folders of partitions."""
    monkeypatch.chdir(tmp_path)
    for year in (1, 2):
        folder = Path(f"data/year={year}")
        folder.mkdir(parents=True)
        (folder / "a.csv").write_text(text(year))
        (folder / "b.csv.gz").write_bytes(gzip.compress(text(10 + year).encode(), mtime=0))
    X = np.random.default_rng(5).normal(size=(5, 3))
    parquet.write_table(pa.table({name: X[:, j] for j, name in enumerate("cab")}), "data/c.parquet")
    Path("data/d.tsv").write_text(text(6).replace(",", "\t"))
    pcatool.save_model(pcatool.fit("data/year=1/a.csv", components=2), "m.npz")
    return tmp_path


def tree(folder: str | Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in Path(folder).rglob("*") if path.is_file())


def contents(folder: str | Path) -> dict[str, bytes]:
    return {name: (Path(folder) / name).read_bytes() for name in tree(folder)}


NAMES = ["c.parquet", "d.tsv", *(f"year={y}/{name}" for y in (1, 2) for name in ("a.csv", "b.csv.gz"))]


def test_each_output_is_what_its_input_alone_gives(here: Path) -> None:
    pcatool.transform("m.npz", "data", output="out/", keep=["c"], with_error=True)
    assert tree("out") == NAMES
    for name in NAMES:
        alone = f"alone{''.join(Path(name).suffixes)}"
        pcatool.transform("m.npz", f"data/{name}", output=alone, keep=["c"], with_error=True)
        assert (here / "out" / name).read_bytes() == (here / alone).read_bytes(), name
    pcatool.reconstruct("m.npz", "out", output="back")  # there is none, and no slash: a file
    assert (here / "back").is_file()
    pcatool.reconstruct("m.npz", "out", output="rows/")
    assert tree("rows") == NAMES


@pytest.mark.parametrize(
    ("path", "root", "name"),
    [
        ("x/a.csv", "", "a.csv"),
        ("/x/y=1/z=2/a.csv", "", "y=1/z=2/a.csv"),
        ("y=1/x/a.csv", "", "a.csv"),
        ("data/x/a.csv", "data", "x/a.csv"),
        ("data/x/a.csv", "data/", "x/a.csv"),
        ("data/y=1/x/a.csv", "data/y=1", "y=1/x/a.csv"),
        ("a.csv", ".", "a.csv"),
        ("../d/a.csv", "../d", "a.csv"),
        ("s3://bucket/in/y=1/a.csv", "s3://bucket/in/", "y=1/a.csv"),
        ("s3://bucket/in/y=1/a.csv", "", "y=1/a.csv"),
    ],
)
def test_names_below_what_was_given(path: str, root: str, name: str) -> None:
    assert relative_name(Input(path, root)) == name


@pytest.mark.parametrize(
    ("name", "form", "expected"),
    [
        ("a.csv", None, "a.csv"),
        ("a.CSV.GZ", None, "a.CSV.GZ"),
        ("a.csv.zstd", None, "a.csv.zst"),
        ("a.csv.gz", "parquet", "a.parquet"),
        ("a.pq", "parquet", "a.pq"),
        ("a.parquet", "csv", "a.csv"),
        ("a.csv.gz", "tsv", "a.tsv.gz"),
        ("a.txt", "csv", "a.txt"),
        ("x/a.b.csv", "jsonl", "x/a.b.jsonl"),
        ("a", "parquet", "a.parquet"),
        ("a", None, "a"),
    ],
)
def test_endings(name: str, form: str | None, expected: str) -> None:
    assert name_in_format(name, form) == expected


def test_globs_files_and_another_format(here: Path) -> None:
    pcatool.transform("m.npz", "data/*/a.csv", output="one/", output_format="parquet")
    assert tree("one") == ["year=1/a.parquet", "year=2/a.parquet"]
    pcatool.transform("m.npz", ["data/d.tsv", "data/year=2/a.csv"], output="two/")
    assert tree("two") == ["d.tsv", "year=2/a.csv"]
    (here / "three").mkdir()
    pcatool.transform("m.npz", ["data/d.tsv"], output="three")
    assert tree("three") == ["d.tsv"]


def test_results_in_a_folder_that_is_searched_are_no_inputs(here: Path) -> None:
    for _ in range(2):
        pcatool.transform("m.npz", "data", output="data/scores/")
        assert tree("data/scores") == NAMES
    pcatool.transform("m.npz", "data", output="data/scores/", resume=True)


def test_nor_are_those_that_a_link_leads_to(here: Path) -> None:
    (here / "out").mkdir()
    (here / "data/scores").symlink_to("../out")
    for _ in range(2):
        pcatool.transform("m.npz", "data", output="out/")
        assert tree("out") == NAMES


@pytest.mark.parametrize("flags", ["", "--keep=c", "--keep-all", "--with-error", "--resume"])
def test_earlier_results_are_told_by_their_columns(here: Path, flags: str, plain_environment: dict[str, str]) -> None:
    command = ["pcatool", "transform", "m.npz", "data", "-o", "data/scores/", *flags.split()]
    said = []
    for _ in range(2):
        done = subprocess.run(command, env=plain_environment, capture_output=True, text=True, check=True)
        said.append(done.stderr)
        assert tree("data/scores") == NAMES
    rest = (
        "pcatool: note: 6 of 6 output files are up to date, and are not written again\n" if flags == "--resume" else ""
    )
    assert said == [
        "",
        "pcatool: note: 'data/scores/' holds 6 results of an earlier run, which are not read as input\n" + rest,
    ]
    pcatool.transform("m.npz", "data", output="data/scores/", components=1, keep_all=flags == "--keep-all")


def test_and_so_are_those_of_inputs_that_are_gone(here: Path) -> None:
    for _ in range(2):
        pcatool.transform("m.npz", "data", output="data/scores/")
        (here / "data/d.tsv").unlink(missing_ok=True)
    assert tree("data/scores") == NAMES


def test_and_of_scores_that_come_back(here: Path) -> None:
    pcatool.transform("m.npz", "data", output="out/")
    for _ in range(2):
        pcatool.reconstruct("m.npz", "out", output="out/rows/")
        assert tree("out/rows") == NAMES


def test_a_search_goes_on_in_the_folder_of_the_outputs(here: Path) -> None:
    """What lies there and is no result is read, time after time."""
    for _ in range(2):
        pcatool.transform("m.npz", "data", output="data/year=2/")
        assert tree("data/year=2") == sorted(["a.csv", "b.csv.gz", *(f"{name}" for name in NAMES)])
        assert (here / "data/year=2/a.csv").read_text() == text(2)


@pytest.mark.parametrize("settings", [{}, {"resume": True}, {"keep_all": True}])
@pytest.mark.parametrize("data", [["data"], ["data/a.csv", "data/*/*.csv"], ["data/**/a.csv"]])
def test_an_input_is_never_taken_for_an_earlier_result(here: Path, data: list[str], settings: Any) -> None:
    (here / "data/a.csv").write_text(text(7))
    before = contents("data")
    said = "results of data/a.csv would replace data/year=2/a.csv, which is an input too, and does not look like"
    said = said.replace("data/a.csv", "'data/a.csv'").replace("data/year=2/a.csv", "'data/year=2/a.csv'")
    with pytest.raises(UsageError, match=said + " a result of an earlier run; write to another folder"):
        pcatool.transform("m.npz", data, output="data/year=2/", **settings)
    assert contents("data") == before


def test_rows_that_come_back_cannot_be_told_from_inputs(here: Path) -> None:
    pcatool.reconstruct("m.npz", "data", output="data/rows/")
    with pytest.raises(UsageError, match=r"would replace 'data/rows/d.tsv', which is an input too"):
        pcatool.reconstruct("m.npz", "data", output="data/rows/")


def test_nor_can_what_no_table_is_read_from(here: Path) -> None:
    (here / "data/out").mkdir()
    (here / "data/out/d.tsv").write_bytes(b"")
    with pytest.raises(UsageError, match=r"would replace 'data/out/d.tsv', which is an input too"):
        pcatool.transform("m.npz", "data", output="data/out/")


def test_only_earlier_results(here: Path) -> None:
    pcatool.transform("m.npz", "data/d.tsv", output="data/out/")
    with pytest.raises(FileError, match="all inputs are in the output folder 'data/out/'; name another"):
        pcatool.transform("m.npz", "data/o*/*", output="data/out/")


@pytest.mark.parametrize(
    ("data", "output", "error", "message"),
    [
        (["data/year=1/a.csv", "data/year=1/a.csv"], "out/", UsageError, "would both be written to 'out/year=1/a.csv'"),
        (
            ["data/d.tsv", "other/d.tsv"],
            "out/",
            UsageError,
            "'data/d.tsv' and 'other/d.tsv' would both be written to 'out/d.tsv'",
        ),
        (["data"], "data/", UsageError, "is the same file as the input"),
        (["data"], "", UsageError, "the name of the output is empty"),
        (["data"], "link/", UsageError, "is the same file as the input"),
        (["-"], "out/", UsageError, "each file in 'out/' is named after its input, but standard input has no name"),
        (["data", "none.csv"], "out/", FileError, "cannot read 'none.csv'"),
        (["data/d.tsv"], "m.npz/", FileError, "cannot make the folder 'm.npz'"),
        (["odd.json"], "out/", UsageError, "cannot write 'out/odd.json': there is no writer for '.json'"),
    ],
)
def test_refused(here: Path, data: list[str], output: str, error: type[PcatoolError], message: str) -> None:
    (here / "other").mkdir()
    (here / "other/d.tsv").write_text(text(1))
    (here / "odd.json").write_text(text(1))
    (here / "link").symlink_to("data")
    before = contents("data")
    with pytest.raises(error, match=message):
        pcatool.transform("m.npz", data, output=output)
    assert contents("data") == before
    if error is UsageError:
        assert not (here / "out").exists()


def test_no_clobber_and_resume(here: Path) -> None:
    with pytest.raises(UsageError, match="resume=True needs an output folder"):
        pcatool.transform("m.npz", "data", output="out.csv", resume=True)
    with pytest.raises(UsageError, match="a model from a pipe or from memory has no file time"):
        pcatool.transform(pcatool.load_model("m.npz"), "data", output="out/", resume=True)
    with pytest.raises(UsageError, match="the output is a folder, but the data are not files"):
        pcatool.transform("m.npz", np.eye(3), output="out/")
    pcatool.transform("m.npz", "data", output="out/", resume=True)
    whole = contents("out")
    (here / "out/d.tsv").unlink()
    with pytest.raises(FileError, match=r"'out/c.parquet' exists, and no_clobber=True was given; name another folder"):
        pcatool.transform("m.npz", "data", output="out/", no_clobber=True)
    assert "d.tsv" not in tree("out")
    stamps = {name: (here / "out" / name).stat().st_mtime_ns for name in tree("out")}
    pcatool.transform("m.npz", "data", output="out/", resume=True, no_clobber=True)
    assert contents("out") == whole
    assert {name: (here / "out" / name).stat().st_mtime_ns for name in stamps} == stamps
    later = time.time() + 10
    os.utime("data/c.parquet", (later, later))
    with pytest.raises(FileError, match=r"'out/c.parquet' exists"):
        pcatool.transform("m.npz", "data", output="out/", resume=True, no_clobber=True)
    pcatool.transform("m.npz", "data", output="out/", resume=True)
    changed = {name for name in stamps if (here / "out" / name).stat().st_mtime_ns != stamps[name]}
    assert changed == {"c.parquet"}


@pytest.mark.parametrize("gone", ["a.csv", "b.csv"])
def test_a_resumed_run_warns_of_rows_left_empty(gone: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("data").mkdir()
    for name in ("a.csv", "b.csv"):
        Path("data", name).write_text("x,y\n1,2\n,3\n5,4\n4,9\n")
    with pytest.warns(PcatoolWarning, match="dropped 1 of 4 rows"):
        pcatool.save_model(pcatool.fit("data/a.csv", missing="drop"), "m.npz")
    with pytest.warns(PcatoolWarning, match="2 of 8 rows have missing cells: their results are empty"):
        pcatool.transform("m.npz", "data", output="out/")
    Path("out", gone).unlink()
    with pytest.warns(PcatoolWarning, match="1 of 4 rows has missing cells: its results are empty"):
        pcatool.transform("m.npz", "data", output="out/", resume=True)


def test_an_input_that_is_replaced_while_it_is_read_is_not_done(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By a file that was written before, as a job does that writes one and renames it."""
    Path("new.csv").write_text(text(7, 9))
    os.utime("new.csv", (1, 1))
    write = folder.write

    def replaced(results: Any, output: Any, model: Any) -> None:
        write(results, output, model)
        if Path("new.csv").exists():
            Path("new.csv").rename("data/year=1/a.csv")

    monkeypatch.setattr(folder, "write", replaced)
    said = r"data/year=1/a.csv changed while it was read: the output '.*a.csv' may hold results of the earlier content"
    with pytest.warns(PcatoolWarning, match=said):
        pcatool.transform("m.npz", "data/year=1/a.csv", output="out/")
    assert len(Path("out/year=1/a.csv").read_text().splitlines()) == 6
    pcatool.transform("m.npz", "data/year=1/a.csv", output="out/", resume=True)
    assert len(Path("out/year=1/a.csv").read_text().splitlines()) == 10
    stamp = Path("out/year=1/a.csv").stat().st_mtime_ns
    pcatool.transform("m.npz", "data/year=1/a.csv", output="out/", resume=True)
    assert Path("out/year=1/a.csv").stat().st_mtime_ns == stamp


def test_a_bad_file(here: Path) -> None:
    (here / "data/year=1/z.csv").write_text(text(1, 3000) + "1,2,x\n")
    (here / "data/year=2/a.csv").write_text("a,b\n1,2\n")
    (here / "data/year=2/b.csv.gz").write_bytes(b"")
    (here / "data/year=2/c.csv").write_text(HEADER + "1,,2\n")
    with pytest.raises(DataError, match=r"z.csv, line 3002, column 'c': 'x' is not a number.*skip_bad=True"):
        pcatool.transform("m.npz", "data", output="out/")
    assert tree("out") == NAMES[:4]  # those before it are there, and nothing of it
    with pytest.warns(pcatool.errors.PcatoolWarning, match="left out 4 of 8 files:"):
        pcatool.transform("m.npz", "data", output="out/", skip_bad=True)
    assert tree("out") == NAMES[:4]
    with pytest.warns(pcatool.errors.PcatoolWarning) as told:
        pcatool.transform("m.npz", "data", output="out/", skip_bad=True, resume=True)
    warned = [str(one.message) for one in told if isinstance(one.message, pcatool.errors.PcatoolWarning)]
    assert len(warned) == 1 and warned[0].startswith("left out 4 of 8 files:")
    with pytest.raises(DataError, match=r"none of the 2 files can be used; the first error is: .*no column 'c'"):
        pcatool.transform("m.npz", ["data/year=2/a.csv", "data/year=2/b.csv.gz"], output="out/", skip_bad=True)
    with pytest.raises(MissingColumns, match="no column 'nope'"):
        pcatool.transform("m.npz", "data", output="out/", keep="nope")


def test_a_disk_that_takes_no_more_is_not_skipped(here: Path) -> None:
    (here / "out/d.tsv").mkdir(parents=True)
    with pytest.raises(FileError, match=r"cannot write 'out/d.tsv': it names a folder"):
        pcatool.transform("m.npz", "data", output="out/", skip_bad=True)


def test_the_summary(here: Path, plain_environment: dict[str, str]) -> None:
    (here / "data/z.csv").write_text("")
    command = ["pcatool", "transform", "m.npz", "data", "-o", "out/", "--json", "-v", "--resume", "--skip-bad"]
    done = subprocess.run(command, env=plain_environment, capture_output=True, text=True)
    facts = json.loads(done.stdout)
    assert done.returncode == 0
    assert (facts["files_read"], facts["files_written"], facts["files_resumed"], facts["rows_read"]) == (6, 6, 0, 30)
    assert facts["outputs"][1] == {"file": "data/d.tsv", "output": "out/d.tsv", "rows": 5}
    assert facts["skipped"] == [{"file": "data/z.csv", "reason": "data/z.csv is empty"}]
    assert "pcatool: 6 files written to out/\n" in done.stderr
    (here / "data/z.csv").unlink()
    done = subprocess.run(command, env=plain_environment, capture_output=True, text=True)
    assert json.loads(done.stdout)["files_resumed"] == 6
    assert "pcatool: note: 6 of 6 output files are up to date, and are not written again\n" in done.stderr


def test_killed_and_resumed(here: Path, plain_environment: dict[str, str]) -> None:
    parts = here / "parts"
    parts.mkdir()
    for i in range(40):
        (parts / f"{i:02}.csv").write_text(text(i, 2000))
    pcatool.transform("m.npz", "parts", output="whole/")
    command = ["pcatool", "transform", "m.npz", "parts", "-o", "out/", "--resume"]
    run = subprocess.Popen(command, env=plain_environment)
    while run.poll() is None and not (here / "out/03.csv").exists():
        time.sleep(0.001)
    run.send_signal(signal.SIGKILL)
    run.wait()
    there = {path.name for path in (here / "out").glob("[0-9]*")}
    assert {"00.csv", "03.csv"} <= there
    for name in there:
        assert (here / "out" / name).read_bytes() == (here / "whole" / name).read_bytes()
    subprocess.run(command, env=plain_environment, check=True, stderr=subprocess.DEVNULL)
    assert {p.name: p.read_bytes() for p in (here / "out").glob("[0-9]*")} == contents("whole")


def test_a_bad_pipe_is_an_error_beside_bad_files(here: Path) -> None:
    """What a pipe had is gone: nobody could look what was wrong with it."""
    os.mkfifo(here / "pipe.csv")
    (here / "rows").write_text(HEADER + "1,2,x\n")
    writer = subprocess.Popen(["sh", "-c", "cat rows > pipe.csv"], cwd=here)
    with pytest.raises(PcatoolError, match=r"pipe.csv.*'x' is not a number") as caught:
        pcatool.transform("m.npz", ["data/year=2/a.csv", "pipe.csv"], output="out/", skip_bad=True)
    assert writer.wait(10) == 0
    assert "--skip-bad" not in str(caught.value)

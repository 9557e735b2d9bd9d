"""Every spelling of a missing cell is counted as it stands there, by every way in which rows are read."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet

from pcatool.arrays import Array, run_serially
from pcatool.options import NULLS, SelectOptions, TableOptions
from pcatool.progress import Reporter
from pcatool.readers.csv_reader import count_missing
from pcatool.readers.csv_reader.chunk_parser import WIDE
from pcatool.readers.inputs import Inputs
from pcatool.readers.parquet import table as parquet_reader
from programs import kernels
from readers.reading import records, write

CASES = sorted({form for null in (*NULLS, "-nan") for form in (null, null.upper(), null.lower(), null.capitalize())})


def counted(data: Any, columns: Sequence[str] = (), labels: Sequence[str] = (), **options: Any) -> dict[str, int]:
    """All batches together; in each as many spellings as X has holes."""
    inputs = Inputs([str(data)] if isinstance(data, Path) else data, TableOptions(**options), Reporter())
    wanted = inputs.columns.choose(SelectOptions(tuple(columns)), labels=labels)
    total: Counter[str] = Counter()
    for piece in inputs.stream.pieces(wanted, eager=False, run=run_serially):
        assert piece.part is not None
        batch = piece.part.batch()
        added = batch if wanted.classes is None else wanted.classes.with_classes(batch)
        assert dict(added.spellings()) == dict(batch.spellings())
        assert sum(added.spellings().values()) == np.isnan(batch.X).sum()
        assert all(added.spellings().values())
        total.update(batch.spellings())
    return dict(total)


@pytest.fixture(params=["cut", "by Arrow", "exactly"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Each way of finding the cells, which the others stand aside for."""
    if request.param != "cut":
        monkeypatch.setattr(count_missing, "_between_separators", lambda *given: None)
    if request.param == "exactly":
        monkeypatch.setattr(count_missing, "_by_arrow", lambda *given: None)
    return str(request.param)


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_letter_case_is_kept_and_blanks_around_are_not(end: str, tmp_path: Path) -> None:
    rows = [f"{i},{pad}{case}{pad},3" for i, case in enumerate(CASES) for pad in ("", " ", "\t ")]
    text = end.join(["a,b,c", "1,2,3", *rows])
    expected = dict.fromkeys(CASES, 3)
    assert counted(write(tmp_path, text)) == expected
    assert counted(write(tmp_path, text + end)) == expected
    assert counted(write(tmp_path, text + end + end + "9,na,5" + end))["na"] == 4  # a blank line between


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('a,b\n1,""\n2," "\n3,"NA"\n4,\n5," na "\n"6",7\n', {"": 3, "NA": 1, "na": 1}),
        ('a,b\nNA,1\n"\n",2\n3,\n\n4,\n', {"NA": 1, "": 3}),
        ("a,b\r1,NA\r.,2\r", {"NA": 1, ".": 1}),
        ("a\n1\nNA\n\n2\nnull\n", {"NA": 1, "null": 1, "": 1}),
        ("a\n1\r\n.\r2\n\n", {".": 1, "": 1}),
        ("a,t,b\n1,é,NA\n,ß,2\n", {"NA": 1, "": 1}),
        ("a,b\n1,2\n", {}),
        ("a,b\n", {}),
        ("a,b\n1,\n2,\n", {"": 2}),
    ],
)
def test_quotes_line_ends_and_other_columns(text: str, expected: dict[str, int], tmp_path: Path) -> None:
    assert counted(write(tmp_path, text)) == expected


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize(
    ("text", "options", "expected"),
    [
        ("a,b\n1,-999\n2, -999 \n3,NA\n4,-999.0\n", {"null_value": ("-999",)}, {"-999": 2, "NA": 1}),
        (
            "a,b\n1,Missing\n2,?\n3, missing\n4,7\n",
            {"null_value": ("missing", "?")},
            {"Missing": 1, "missing": 1, "?": 1},
        ),
        ("a;b\n1,5;NA\n2,5;\n;3\n", {"delimiter": ";", "decimal": ","}, {"NA": 1, "": 2}),
        ("a\tb\n1 000\tNA\n.\t$3\n", {"delimiter": "tab", "thousands": " ", "strip": "$"}, {"NA": 1, ".": 1}),
        ('a,b\n"1,000",NA\n2,"."\n', {"thousands": ","}, {"NA": 1, ".": 1}),
        ("  a   b\n  1  NA\n .\t 2 \n3 null", {"delimiter": "blanks"}, {"NA": 1, ".": 1, "null": 1}),
        ("a,b\n1,NA # NA\n# NA,NA\n2, #x\n3,4\n", {"comment": "#"}, {"NA": 1, "": 1}),
        ("a b\n1 NA\n. 2\n", {"delimiter": "space"}, {"NA": 1, ".": 1}),
        ("1,NA\n.,2\n", {"header": False}, {"NA": 1, ".": 1}),
    ],
    ids=["number", "text", "decimal comma", "thousands", "quoted", "blanks", "comments", "space", "no header"],
)
def test_dialects(text: str, options: dict[str, Any], expected: dict[str, int], tmp_path: Path) -> None:
    assert counted(write(tmp_path, text), **options) == expected


@pytest.mark.usefixtures("way")
def test_few_rows_with_holes_among_many(tmp_path: Path) -> None:
    rows = [f"{i},{i},{i}" for i in range(1000)]
    rows[0], rows[400], rows[999] = "NA,1,.", "5,,6", "1,2, nan"
    assert counted(write(tmp_path, "\n".join(["a,b,c", *rows]))) == {"NA": 1, ".": 1, "": 1, "nan": 1}


@pytest.mark.usefixtures("way")
def test_only_the_columns_of_x_count(tmp_path: Path) -> None:
    """Booleans that are named, labels that are numbers; not columns left out, nor labels of words."""
    file = write(tmp_path, "a,b,t,y\n1,true,NA,1\nnull,NA,x,2\n3,FALSE,y,none\n4, ,x,.\n")
    assert counted(file, ["a"]) == {"null": 1}
    assert counted(file, ["b"]) == {"NA": 1, "": 1}
    assert counted(file, ["y", "b", "a"]) == {"NA": 1, "": 1, "null": 1, "none": 1, ".": 1}
    assert counted(file, ["a"], labels=["y"]) == {"null": 1, "none": 1, ".": 1}
    assert counted(file, ["a"], labels=["t", "y"]) == {"null": 1, "none": 1, ".": 1}


@pytest.mark.usefixtures("way")
def test_many_columns(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    cells = rng.integers(0, 99, (40, WIDE + 3)).astype("U8")
    holes = rng.random(cells.shape) < 0.1
    cells[holes] = rng.choice(["", "NA", " na", "."], int(holes.sum()))
    cells[:, 0] = "1"
    names = ",".join(f"c{j}" for j in range(cells.shape[1]))
    for text in (
        "\n".join([names, *(",".join(row) for row in cells.tolist())]),
        "\r\n".join([names, *('"1",' + ",".join(row[1:]) for row in cells.tolist())]),
    ):
        expected = Counter(cell.strip() for cell in cells[holes | (cells == "")].tolist() if not cell.strip().isdigit())
        assert counted(write(tmp_path, text)) == dict(expected)


def test_many_chunks_of_anything_as_python_reads_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pcatool.arrays.MOST_ROWS", 8)
    monkeypatch.setattr("pcatool.readers.csv_reader.chunk_parser.rows_at_once", lambda d: 8)
    rng = np.random.default_rng(5)
    choices = ["1", "-2.5", "7e3", "", "NA", " na ", '"."', '"NaN"', '""', "null\t", '"3"']
    for seed in range(20):
        rows = rng.choice(choices[: 4 + seed % 8], (100, 3)).tolist()
        ends = rng.choice(["\n", "\r\n", "\n\n"], 100).tolist()
        file = write(tmp_path, "a,b,c\n1,1,1\n" + "".join(",".join(r) + e for r, e in zip(rows, ends, strict=True)))
        cells = [cell.strip() for row in records(file.read_bytes().decode()) for cell in row]
        expected = Counter(cell for cell in cells[3:] if cell in ("", "NA", "na", ".", "NaN", "null"))
        assert counted(file) == dict(expected)


def test_a_chunk_that_arrow_cannot_read(tmp_path: Path) -> None:
    """Text after a closing quote, and then a row that Arrow would not count."""
    file = write(tmp_path, 'a,t\n1,"N"x\n"",x\n3,"x"y\nNA,x\n')
    assert counted(file) == {"NA": 1, "": 1}


# --- what is no text ---


def save(folder: Path, table: pa.Table) -> Path:
    path = folder / "t.parquet"
    try:
        parquet.write_table(table, path)
    except pa.ArrowNotImplementedError as error:  # of missing vectors of one size, before Arrow 18
        pytest.skip(str(error))
    return path


NAN = float("nan")
TABLES: dict[str, tuple[pa.Table, dict[str, int]]] = {
    "nulls and NaN": (pa.table({"a": [1.5, None, NAN, NAN], "b": [None, 1, 2, None]}), {"null": 3, "NaN": 2}),
    "single": (pa.table({"a": pa.array([1.5, None, NAN], pa.float32())}), {"null": 1, "NaN": 1}),
    "nothing but nulls": (pa.table({"a": [1, 2], "b": pa.nulls(2), "c": [NAN, NAN]}), {"null": 2, "NaN": 2}),
    "dictionary": (pa.table({"a": pa.array([1.5, None, NAN, 1.5]).dictionary_encode()}), {"null": 1, "NaN": 1}),
    "decimals": (pa.table({"a": pa.array([1, None], pa.decimal128(5, 2))}), {"null": 1}),
    "vectors": (pa.table({"v": [[1.0, None], None, [NAN, 2.0], [3.0, 4.0]]}), {"null": 3, "NaN": 1}),
    "vectors of one size": (
        pa.table({"v": pa.array([[1, None], None, [NAN, 2]], pa.list_(pa.float32(), 2))}),
        {"null": 3, "NaN": 1},
    ),
    "no vector in a batch": (pa.table({"v": pa.chunked_array([[[1.0, 2.0]], [None]])}), {"null": 2}),
    "clean": (pa.table({"a": [1.5, 2.5]}), {}),
}


@pytest.mark.parametrize("case", TABLES)
def test_arrow_and_parquet(case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table, expected = TABLES[case]
    assert counted(table) == expected
    file = save(tmp_path, table)
    assert counted(file) == expected
    monkeypatch.setattr(parquet_reader, "MOST_OPEN", -1)  # turned through a file
    assert counted(file) == expected


def test_booleans_and_labels_of_parquet(tmp_path: Path) -> None:
    file = save(tmp_path, pa.table({"a": [1.0, NAN], "b": [True, None], "y": [None, 1], "t": ["x", None]}))
    assert counted(file, ["a", "b"], labels=["y", "t"]) == {"NaN": 1, "null": 2}


def test_frames_and_arrays() -> None:
    frame = pd.DataFrame(
        {
            "a": [1.5, NAN, 2],
            "b": np.array([NAN, NAN, 2], dtype=np.float32),
            "nullable": pd.array([1, None, 3], dtype="Int64"),
            "category": pd.Categorical([7, None, 7]),
        }
    )
    assert counted(frame) == {"NaN": 4, "null": 1}
    assert counted(pd.DataFrame({"a": [1, 2]})) == {}
    assert counted(np.array([[1, NAN], [NAN, 2.0]])) == {"NaN": 2}
    assert counted(np.array([[1, 2.0]])) == {}


def test_an_array_keeps_its_own_nan() -> None:
    """Only bits are looked at: whatever other NaN stand in an array are NaN."""
    X: Array = np.array([[1.0, -NAN], [np.uint64(0x7FF0_0000_0000_0001).view(np.float64), 2.0]])
    assert counted(X) == {"NaN": 2}


def test_counting_does_not_bring_in_pandas(tmp_path: Path) -> None:
    text = "a,b,c\n" + "".join(f"{i},NA,\n{i},{i},{i}\n" for i in range(100))
    files = [
        str(write(tmp_path, text)),
        str(write(tmp_path, text + '"1",2,3\n', "quoted.csv")),
        str(write(tmp_path, text + '1,"NA" ,3\n', "odd.csv")),
        str(save(tmp_path, TABLES["nulls and NaN"][0])),
    ]
    program = (
        "import sys\nfrom pcatool.readers.inputs import Inputs\nfrom pcatool.options import *\n"
        "from pcatool.arrays import run_serially\nfrom pcatool.progress import Reporter\n"
        "for path in sys.argv[1:]:\n"
        "    inputs = Inputs([path], TableOptions(), Reporter())\n"
        "    wanted = inputs.columns.choose(SelectOptions())\n"
        "    for piece in inputs.stream.pieces(wanted, eager=False, run=run_serially):\n"
        "        assert piece.part.batch().spellings()\n"
        "sys.exit('pandas' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, *files], env={**kernels(), "PYTHONPATH": ":".join(p for p in sys.path if p)}
    )
    assert done.returncode == 0

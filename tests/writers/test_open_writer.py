"""Which format an output gets, and what no format takes."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from pcatool.errors import UsageError
from pcatool.options import OutputOptions
from pcatool.registry import READERS, WRITERS, Entry
from pcatool.writers.base import format_name, open_writer
from pcatool.writers.csv_writer import CsvWriter
from pcatool.writers.sink import open_sink

SINK = open_sink("/dev/null", no_clobber=False)


@pytest.mark.parametrize(
    ("output", "asked", "expected"),
    [
        (None, None, "csv"),
        ("-", None, "csv"),
        ("scores", None, "csv"),
        ("scores.dat", None, "csv"),
        ("scores.csv", None, "csv"),
        ("scores.tsv", None, "tsv"),
        ("Scores.TSV.GZ", None, "tsv"),
        ("scores.parquet", None, "parquet"),
        ("scores.jsonl.zst", None, "jsonl"),
        ("scores.ndjson.bz2", None, "jsonl"),
        ("scores.gz", None, "csv"),
        ("scores.parquet", "csv", "csv"),
        (None, "parquet", "parquet"),
    ],
)
def test_format(output: str | None, asked: str | None, expected: str) -> None:
    options = OutputOptions(output=output, output_format=asked)
    assert format_name(options) == expected
    assert type(open_writer(options, SINK, [], ["PC1"])) is WRITERS.load(expected)


@pytest.mark.parametrize("output", ["x.new", "X.NEW.gz"])
def test_a_format_that_is_only_read_is_not_written_as_csv(output: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert format_name(OutputOptions(output=output)) == "csv"
    monkeypatch.setitem(READERS.entries, "new", Entry("pcatool.readers.csv_reader.table:TsvTable", "", (".new",)))
    with pytest.raises(
        UsageError, match=r"there is no writer for '\.(new|NEW)'; .* choose a format with --output-format"
    ):
        format_name(OutputOptions(output=output))
    assert format_name(OutputOptions(output=output, output_format="tsv")) == "tsv"


@pytest.mark.parametrize("name", list(WRITERS))
@pytest.mark.parametrize(("kept", "names"), [(["PC1"], ["PC1", "PC2"]), (["id", "id"], ["PC1"]), ([], ["a", "b", "a"])])
def test_two_columns_of_one_name_are_refused(name: str, kept: list[str], names: list[str]) -> None:
    with pytest.raises(UsageError) as caught:
        open_writer(OutputOptions(output_format=name), SINK, [(k, pa.string()) for k in kept], names)
    twice = "PC1" if "PC1" in kept else (kept or names)[0]
    assert str(caught.value) == (
        f"two output columns have the name '{twice}'; "
        f"give --keep with other columns only, or rename '{twice}' in the input if the model does not use this column"
    )


REFUSED = [
    (
        "parquet",
        {"header": False},
        "a Parquet file always contains the column names; leave out --no-output-header, or give --output-format csv",
    ),
    (
        "parquet",
        {"float_format": ".3f"},
        "--float-format does not go with Parquet: a Parquet file stores numbers in binary form, not as text; "
        "leave out --float-format, or give --output-format csv",
    ),
    (
        "jsonl",
        {"header": False},
        "JSON Lines has no header line: every row contains the column names; "
        "leave out --no-output-header, or give --output-format csv",
    ),
    (
        "jsonl",
        {"float_format": "+.2f"},
        "--float-format '%+.2f' gives '+0.00', which is not a JSON number; "
        "leave the flags '+', '0' and '#' out of the format, or give --output-format csv",
    ),
]


@pytest.mark.parametrize(("name", "asked", "message"), REFUSED)
def test_wishes_a_format_cannot_grant(name: str, asked: dict[str, object], message: str) -> None:
    options = OutputOptions(output_format=name, **asked)  # type: ignore[arg-type]
    with pytest.raises(UsageError) as caught:
        open_writer(options, SINK, [], ["PC1"])
    assert str(caught.value) == message


def test_wishes_arrive(tmp_path: Path) -> None:
    options = OutputOptions(output=str(tmp_path / "x.tsv.gz"), header=False, float_format=".2f")
    with open_sink(options.output, no_clobber=False) as sink:
        writer = open_writer(options, sink, [], ["PC1", "PC2"])
        writer.write([], np.array([[1.0, 2.0]]))
        writer.close()
    assert gzip.decompress((tmp_path / "x.tsv.gz").read_bytes()) == b"1.00\t2.00\n"


def test_many_columns_are_no_burden() -> None:
    """Looking for a name that is there twice must not take the square of the columns."""
    names = [f"PC{j}" for j in range(200_000)]
    CsvWriter(SINK, [], names)
    with pytest.raises(UsageError):
        CsvWriter(SINK, [], [*names, "PC199999"])

"""The files in sample_data/ are what their generator makes, and have the traits the README and other tests count on."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from sklearn.datasets import load_digits

import make_sample_data as made

ALL = [*made.TEXTS, *made.TABLES]


def rows_of(name: str) -> list[dict[str, str]]:
    with (made.SAMPLE_DATA / name).open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def numbers(rows: list[dict[str, str]], names: list[str]) -> np.ndarray:
    """The rows without a hole in `names`, (n, d)."""
    full = [row for row in rows if not {row[name] for name in names} & {"", "NA"}]
    return np.array([[float(row[name]) for name in names] for row in full])


@pytest.mark.parametrize("name", made.TEXTS)
def test_text_is_as_generated(name: str) -> None:
    assert (made.SAMPLE_DATA / name).read_bytes().decode() == made.TEXTS[name]()


@pytest.mark.parametrize("name", made.TABLES)
def test_table_is_as_generated(name: str) -> None:
    found, expected = pq.read_table(made.SAMPLE_DATA / name), made.TABLES[name]()
    assert found.schema == expected.schema
    assert found.equals(expected)


def test_nothing_else_is_there_and_it_is_small() -> None:
    there = {path.name: path.stat().st_size for path in made.SAMPLE_DATA.iterdir()}
    assert sorted(there) == sorted(ALL)
    assert sum(there.values()) < 3_000_000


def test_houses_is_the_worked_example() -> None:
    assert (made.SAMPLE_DATA / "houses.csv").read_bytes() == b"price,area\n10,10\n2,2\n7,7\n1,1\n5,5\n"


def test_digits_are_those_of_scikit_learn() -> None:
    rows, expected = rows_of("digits.csv"), load_digits()
    names = [f"p{j}" for j in range(64)]
    assert list(rows[0]) == [*names, "digit"]
    np.testing.assert_array_equal(numbers(rows, names), expected.data)
    np.testing.assert_array_equal([int(row["digit"]) for row in rows], expected.target)
    text = (made.SAMPLE_DATA / "digits.csv").read_text()
    assert "." not in text.partition("\n")[2]  # whole numbers are written as such


def test_orders_have_holes_quotes_and_correlated_columns() -> None:
    rows = rows_of("orders.csv")
    names = list(made.MEASURES)
    assert list(rows[0])[4:-1] == names
    X = numbers(rows, names)
    assert len(rows) == 200
    assert 5 <= len(rows) - len(X) <= 30
    assert {row[name] for row in rows for name in names} >= {"", "NA"}
    cells = [cell for row in rows for cell in row.values()]
    assert all(any(sign in cell for cell in cells) for sign in [",", '"', "\n", "é", "2024-03-"])
    eigenvalues = np.linalg.eigvalsh(np.corrcoef(X.T))[::-1]
    assert eigenvalues[:2].sum() / 6 > 0.9  # size and distance


def test_embeddings_lie_near_four_dimensions() -> None:
    table = pq.read_table(made.SAMPLE_DATA / "embeddings.parquet")
    assert table.num_rows == 300
    X = np.array(table["embedding"].to_pylist())
    eigenvalues = np.linalg.eigvalsh(np.cov(X.T))[::-1]
    assert eigenvalues[:4].sum() / eigenvalues.sum() > 0.99
    assert eigenvalues[3] / eigenvalues[4] > 20


def test_generator_writes_what_it_makes(tmp_path: Path) -> None:
    made.main(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(ALL)
    assert (tmp_path / "orders.csv").read_bytes() == (made.SAMPLE_DATA / "orders.csv").read_bytes()
    assert list(csv.reader(io.StringIO((tmp_path / "houses.csv").read_text())))[1] == ["10", "10"]

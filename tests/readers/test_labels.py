"""Labels of any type become the numbers of their classes, in the order in which they first appear."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from pcatool.errors import DataError
from pcatool.readers.base import Batch, Column
from pcatool.readers.labels import Classes, find_labels


def numbers(classes: Classes, *columns: list[object] | pa.Array) -> list[float]:
    arrays = [column if isinstance(column, pa.Array) else pa.array(column) for column in columns]
    batch = Batch(np.zeros((len(arrays[0]), 2)), arrays, str, True)
    added = classes.with_classes(batch)
    assert added.X.shape == (len(arrays[0]), 3)
    assert added.finite == (not np.isnan(added.X).any())
    return [float(x) for x in added.X[:, -1]]


def test_as_they_first_appear_across_batches() -> None:
    classes = Classes(["species"])
    assert numbers(classes, ["cat", "dog", "cat"]) == [0, 1, 0]
    assert numbers(classes, ["emu", "dog", "ant"]) == [2, 1, 3]
    assert classes.levels() == ["cat", "dog", "emu", "ant"]


@pytest.mark.parametrize(
    "column",
    [
        pa.array([3, 7, 3]),
        pa.array([True, False, True]),
        pa.array([1.5, 2.5, 1.5]),
        pa.array(["b", "a", "b"]).dictionary_encode(),
        pa.array(["é", "", "é"]).fill_null("x"),
    ],
    ids=["integers", "booleans", "floats", "dictionary", "letters"],
)
def test_of_any_type(column: pa.Array) -> None:
    found = numbers(Classes(["label"]), column)
    assert found[0] == found[2] == 0
    assert found[1] == 1 or np.isnan(found[1])  # an empty text is missing


def test_missing_ones() -> None:
    found = numbers(Classes(["label"], nulls=["-"]), pa.array(["a", None, "NA", "", " n/a ", "-", "b"]))
    assert np.isnan(found).tolist() == [False, True, True, True, True, True, False]
    assert (found[0], found[-1]) == (0, 1)
    assert np.isnan(numbers(Classes(["label"]), pa.nulls(2))).all()


def test_several_columns_make_one_class_of_each_combination() -> None:
    classes = Classes(["city", "size"])
    assert numbers(classes, ["Ulm", "Bonn", "Ulm", "Ulm"], [1, 1, 2, 1]) == [0, 1, 2, 0]
    assert classes.levels() == ["Ulm, 1", "Bonn, 1", "Ulm, 2"]
    assert np.isnan(numbers(classes, ["Ulm", None], [2, 1])).tolist() == [False, True]


def test_many_columns_are_not_mixed_up() -> None:
    """A number for each combination there might be would not fit into a double."""
    rng = np.random.default_rng(0)
    columns = [pa.array([f"{word}" for word in rng.permutation(20_000)]) for _ in range(5)]
    assert sorted(numbers(Classes(["a", "b", "c", "d", "e"]), *columns)) == list(range(20_000))


def test_numbers_are_equal_when_their_values_are() -> None:
    classes = Classes(["grade"], ["grade"])
    batch = Batch(np.array([[9.0, 1.0], [9.0, 2.5], [9.0, np.nan], [9.0, -0.0], [9.0, 0.0]]), [], str, False)
    added = classes.with_classes(batch)
    np.testing.assert_array_equal(added.X, [[9, 0], [9, 1], [9, np.nan], [9, 2], [9, 2]])
    assert not added.finite
    assert classes.levels() == ["1", "2.5", "0"]


def test_combinations_are_told_apart_whatever_their_letters() -> None:
    classes = Classes(["a", "b"])
    assert numbers(classes, ["x, y", "x", 'x"'], ["z", "y, z", ", y"]) == [0, 1, 2]
    assert classes.levels() == ['"x, y", z', 'x, "y, z"', '"x""", ", y"']
    assert numbers(Classes(["a"]), ["x, y"]) == [0]


def test_a_label_alone_is_its_name() -> None:
    classes = Classes(["a"])
    numbers(classes, ["x, y"])
    assert classes.levels() == ["x, y"]


def test_labels_stand_in_the_order_in_which_they_were_given() -> None:
    """Which of them looks like a number is an accident of the file."""
    classes = Classes(["species", "grade"], ["grade"])
    batch = Batch(np.array([[9.0, 1.0], [9.0, 2.0]]), [pa.array(["cat", "dog"])], str, True)
    classes.with_classes(batch)
    assert classes.levels() == ["cat, 1", "dog, 2"]


def test_rows_in_which_something_is_missing_make_no_class() -> None:
    classes = Classes(["species"])
    X = np.array([[1.0, 2.0], [np.nan, 2.0], [1.0, 2.0]])
    added = classes.with_classes(Batch(X, [pa.array(["cat", "emu", "dog"])], str, False))
    assert classes.levels() == ["cat", "dog"]
    assert added.X[[0, 2], 2].tolist() == [0, 1]
    assert not np.isnan(added.X[1, 2])  # its label is there


def test_a_name_that_no_model_keeps_is_refused() -> None:
    classes = Classes(["a"])
    numbers(classes, ["x", "x\0"])
    with pytest.raises(
        DataError,
        match=r"label 'a': 'x\\x00' ends in a NUL byte, which a model cannot store; remove the NUL byte from the label",
    ):
        classes.levels()


COLUMNS = (
    Column("x"),
    Column("species", "text", "setosa"),
    Column("grade"),
    Column("v", "vector", width=3),
    Column("price", "marked number", "1,000", remedy="read the table with --thousands ,"),
)


def test_text_means_classes_and_numbers_mean_numbers() -> None:
    assert find_labels(["species"], None, COLUMNS, "t") == ([1], [], [1], True)
    assert find_labels(["grade", "x"], None, COLUMNS, "t") == ([2, 0], [2, 0], [], False)
    assert find_labels(["grade"], "delta", COLUMNS, "t") == ([2], [2], [], True)
    assert find_labels(["grade", "species"], None, COLUMNS, "t") == ([2, 1], [2], [1], True)
    assert find_labels(["price"], "delta", COLUMNS, "t") == ([4], [], [4], True)
    assert find_labels([], None, COLUMNS, "t") == ([], [], [], False)


@pytest.mark.parametrize(
    ("term", "kernel", "said"),
    [
        ("species", "linear", "--label 'species' holds no numbers (first value 'setosa'); --label-kernel linear needs"),
        ("species", "rbf", "--label-kernel rbf needs numbers: use --label-kernel delta, which takes classes"),
        ("v", None, "--label 'v' is a vector column; name columns with one value per row"),
        ("price", None, "column 'price': '1,000' is not a plain number; read the table with --thousands ,"),
        ("specis", None, "no column 'specis' (nearest: 'species')"),
    ],
)
def test_what_is_no_label(term: str, kernel: str | None, said: str) -> None:
    with pytest.raises(DataError) as caught:
        find_labels([term], kernel, COLUMNS, "t.csv")
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("term", "kernel", "said"),
    [
        ("species", "linear", "label 'species' holds no numbers (first value 'setosa'), but in the model the label"),
        ("species", "delta", "label 'species' holds no numbers (first value 'setosa'), but in the model the label"),
        ("price", "linear", "'1,000' is not a plain number; read the table with --thousands ,"),
    ],
)
def test_a_label_of_a_model_is_refused_without_options_of_a_fit(term: str, kernel: str, said: str) -> None:
    """The commands that add rows to a model have no --label-kernel."""
    with pytest.raises(DataError) as caught:
        find_labels([term], kernel, COLUMNS, "t.csv", known=[term])
    assert said in str(caught.value)
    assert "--label" not in str(caught.value)

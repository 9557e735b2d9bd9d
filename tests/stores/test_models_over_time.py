"""A nightly job on a store: aligned to the model that it replaces, its scores beside it, compared with the old one."""

from __future__ import annotations

from pathlib import Path

import pytest

import pcatool
from fuzz.calls import called
from stores.server import Store

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def table(store: Store) -> str:
    return store.put("digits.csv", (ROOT / "sample_data" / "digits.csv").read_bytes())


def test_a_model_is_aligned_to_the_one_it_replaces(store: Store, table: str, tmp_path: Path) -> None:
    model, near = store.uri("m.npz"), tmp_path / "m.npz"
    assert called("fit", table, "-c", "p18-p30", "-k", "4", "-o", model).code == 0
    (tmp_path / "m.npz").write_bytes(store.get("m.npz"))
    for old, scores in ((model, store.uri("s.csv")), (near, tmp_path / "s.csv")):
        done = called("fit", table, "-c", "p19-p31", "-k", "3", "--align-to", old, "-o", old, "--scores", scores)
        assert done.code == 0, done.said
        assert "only in the older model" in done.said
    assert store.get("m.npz") == near.read_bytes()
    assert store.get("s.csv") == (tmp_path / "s.csv").read_bytes()
    assert pcatool.inspect(model)["aligned"] == [1, 2, 3]
    assert pcatool.diff(model, near)["identical"]


def test_model_and_scores_need_two_objects(store: Store, table: str) -> None:
    name = store.uri("one.csv")
    done = called("fit", table, "-x", "digit", "-k", "1", "-o", name, "--scores", name)
    assert (done.code, "-o and --scores both name" in done.said) == (2, True)
    done = called("fit", table, "-x", "digit", "-k", "1", "-o", store.uri("m.npz"), "--scores", table)
    assert (done.code, "is the same object as the input" in done.said) == (2, True)
    assert store.names() == ["digits.csv"]

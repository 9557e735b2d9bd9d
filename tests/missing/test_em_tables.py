"""EM on tables of every shape, fewer rows than columns among them: a fit, and all that is done with its model.

The lecture's table has 4 users and 6 films, with `?` for what nobody saw; the ratings have 60 books and 150 readers.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import pcatool
from missing.made import Array, made, punched
from often import often
from pcatool.errors import DataError, ModelError, PcatoolError, RefusedError
from pcatool.model.model import Model
from pcatool.model.npz import dumps, loads

RATINGS = Path(__file__).parents[2] / "sample_data" / "ratings.csv"

LECTURE = """\
m1,m2,m3,m4,m5,m6
5,4,?,1,1,2
4,?,5,1,?,1
1,1,2,?,5,4
?,2,1,5,4,5
"""

SETTINGS: list[dict[str, Any]] = [{}, {"center": False}, {"standardize": True}, {"ddof": 1}, {"center_rows": True}]
every_setting = pytest.mark.parametrize("settings", SETTINGS, ids=lambda s: "-".join(s) or "plain")

little = pytest.mark.filterwarnings("ignore::pcatool.errors.PcatoolWarning")


@pytest.fixture(scope="module")
def typed(tmp_path_factory: pytest.TempPathFactory, environment: dict[str, str]) -> Callable[..., Any]:
    home = tmp_path_factory.mktemp("em")
    (home / "films.csv").write_text(LECTURE)
    whole = [f"{user},{item},{i * j % 7}" for i, user in enumerate("abcd", 2) for j, item in enumerate("pqr", 3)]
    (home / "whole.csv").write_text("\n".join(["user,item,x", *whole, ""]))
    (home / "ratings.csv").write_bytes(RATINGS.read_bytes())

    def run(command: str) -> subprocess.CompletedProcess[str]:
        words = ["pcatool", *command.split()]
        return subprocess.run(words, cwd=home, env=environment, capture_output=True, text=True, check=False)

    return run


# --- as it is typed ---

FITS = {
    "films": ("films.csv --null-value ?", "--missing em"),
    "books": ("ratings.csv --triples book,reader,stars", ""),
}


@pytest.mark.parametrize("table", FITS)
@pytest.mark.parametrize("k", [1, 2])
def test_all_is_done_with_a_model_of_fewer_rows_than_columns(table: str, k: int, typed: Callable[..., Any]) -> None:
    rows, em = FITS[table]
    data = f"{rows} {em if table == 'films' else ''}"
    commands = [
        f"fit {data} -k {k} --plan",
        f"fit {data} -k {k} -q -q -o m.npz --scores s.csv",
        f"transform m.npz {rows} -q -q --with-error --with-coverage",
        f"reconstruct m.npz {rows} -q -q",
        f"reconstruct m.npz {rows} -q -q --fill",
        "reconstruct m.npz s.csv -q -q --missing keep",
        "explain-variance m.npz",
        "scree m.npz",
        "scree m.npz -o scree.svg",
        "components m.npz",
        "inspect m.npz -v",
        "diff m.npz m.npz",
        "plot loadings m.npz -o loadings.svg",
    ]
    if table == "films":
        commands += [f"report m.npz {rows} -o page.html"]
        commands += [f"plot {kind} m.npz {rows} -o plot.svg -q -q" for kind in ("scores", "biplot") if k > 1]
    for command in commands:
        done = typed(command)
        assert done.returncode == 0, (command, done.stderr)
        assert "rror" not in done.stderr, command


def test_every_cell_of_the_lecture_is_filled(typed: Callable[..., Any]) -> None:
    assert typed("fit films.csv --null-value ? --missing em -k 1 -q -q -o one.npz").returncode == 0
    filled = typed("reconstruct one.npz films.csv --null-value ? --fill --float-format .2f").stdout.splitlines()
    assert len(filled) == 5
    for before, after in zip(LECTURE.splitlines()[1:], filled[1:], strict=True):
        for cell, value in zip(before.split(","), after.split(","), strict=True):
            assert -1 < float(value) < 7
            assert cell == "?" or float(cell) == float(value)


@pytest.mark.parametrize(
    ("k", "code", "said"),
    [
        (
            "3",
            3,
            "-k 3 with 6 columns needs more than 22 observed cells, but the data have 19 observed cells; "
            "use -k 2 or less",
        ),
        ("9", 3, "-k 9 is not possible: 4 rows with values and 6 columns give 1 to 4 components; use -k 4 or less"),
        ("all", 0, ""),
        ("0.9", 0, ""),
        ("kaiser", 0, ""),
        ("elbow", 0, ""),
    ],
)
def test_the_plan_is_refused_as_the_fit_is(k: str, code: int, said: str, typed: Callable[..., Any]) -> None:
    for more in ("--plan", "-o k.npz"):
        done = typed(f"fit films.csv --null-value ? --missing em -k {k} -q -q {more}")
        assert (done.returncode, done.stderr) == (code, said and f"pcatool: error: {said}\n"), more


def test_the_plan_of_triples_is_refused_as_the_fit_is(typed: Callable[..., Any]) -> None:
    said = [typed(f"fit ratings.csv --triples book,reader,stars -k 40 {more}") for more in ("--plan", "-o k.npz")]
    assert [done.returncode for done in said] == [3, 3]
    assert said[0].stderr == said[1].stderr
    assert "observed cells, but the data have" in said[0].stderr


def test_the_plan_of_triples_that_are_all_there_is_that_of_their_table(typed: Callable[..., Any]) -> None:
    """A share is refused only where cells are missing."""
    for more in ("--plan", "-o k.npz"):
        done = typed(f"fit whole.csv --triples user,item,x -k 0.9 -q -q {more}")
        assert (done.returncode, done.stderr) == (0, ""), more


# --- models ---


@little
@every_setting
@pytest.mark.parametrize("solved", ["em", "closed form"])
def test_the_noise_has_every_direction(settings: dict[str, Any], solved: str) -> None:
    """Rank, eigenvalues and reports count as many as there are columns, in the file, too."""
    X = made(6, 15, [9, 4], 0.5, 1).X
    X = punched(X, 0.2, 2) if solved == "em" else np.insert(X, 3, np.nan, axis=0)
    model = pcatool.fit(X, components=1, missing="em", **settings)
    varied = 14 if settings.get("center_rows") else 15  # centred rows have one direction less
    assert len(model.eigenvalues) == model.possible == 15
    assert model.meta["rank"] in (15, varied)
    np.testing.assert_allclose(model.eigenvalues[1:], model.noise, rtol=1e-9)
    np.testing.assert_allclose(model.eigenvalues.sum(), model.total_variance, rtol=1e-12)
    again = loads(dumps(model))
    assert again == model
    facts = pcatool.inspect(again)
    assert facts["eigenvalues_possible"] == 15
    assert pcatool.explain_variance(again).shape[0] == 15
    np.testing.assert_array_equal(pcatool.transform(again, X), pcatool.transform(model, X))


def test_other_models_have_a_rank_of_rows_at_most() -> None:
    model = pcatool.fit(made(6, 15, [9, 4], 0.5, 1).X, components=1, missing="em")
    assert "em" not in model.meta
    with pytest.raises(ModelError, match="'rank' is '7', but must be from 1 to 6"):
        model.with_meta(rank=7)
    holed = pcatool.fit(punched(made(6, 15, [9, 4], 0.5, 1).X, 0.2, 2), components=1, missing="em")
    with pytest.raises(ModelError, match="'rank' is '16', but must be from 1 to 15"):
        holed.with_meta(rank=16)


# --- what is claimed of its eigenvalues ---


def test_vouched_means_eight_digits() -> None:
    """What EM knows to four digits it does not vouch for, and says how far it is from the maximum."""
    X = punched(made(60, 8, [9, 4], 0.6, 3).X, 0.3, 4)
    model = pcatool.fit(X, components=2, missing="em")
    errors, sure = (model.meta["certificate"][name] for name in ("relative_error", "vouched"))
    assert model.meta["em"]["proved"] is True
    assert sure == [error <= 1e-8 for error in errors]
    assert 1e-8 < max(errors) < 1e-3
    said = f"the eigenvalues have a relative error of at most {max(errors):.1e}"
    assert said in pcatool.report(model)


def test_nothing_is_claimed_where_nothing_is_known() -> None:
    with pytest.warns(pcatool.PcatoolWarning, match="and leave no noise"):
        model = pcatool.fit(punched(made(200, 12, [5, 3], 0, 0).X, 0.3, 1), components=2, missing="em")
    certificate = model.meta["certificate"]
    assert (certificate["relative_error"], certificate["vouched"]) == ([None, None], [False, False])
    assert "the error of the eigenvalues is unknown" in pcatool.report(model)
    assert not any("digits" in row for row in pcatool.inspect(model)["variance"])


def test_what_earlier_versions_claimed_is_not_repeated() -> None:
    """Their models hold how far the last steps went, as an error."""
    model = pcatool.fit(punched(made(60, 8, [9, 4], 0.6, 3).X, 0.3, 4), components=2, missing="em")
    old = {name: value for name, value in model.meta["em"].items() if name != "proved"}
    model = model.with_meta(em=old)
    assert "the error of the eigenvalues is unknown" in pcatool.report(loads(dumps(model)))
    assert not any("digits" in row for row in pcatool.inspect(model)["variance"])


# --- weights ---


@pytest.mark.parametrize(
    ("weights", "kind", "error", "said"),
    [
        ([1 / 7] * 7, "frequency", DataError, "ddof=1 leaves a divisor of"),
        ([0.3] * 7, "frequency", DataError, "ddof=1 leaves a divisor of -0.1 for column 'a'"),
        ([1e-200] * 7, "reliability", RefusedError, "squares of the weights underflow a double"),
        ([1e200] * 7, "reliability", RefusedError, "squares of the weights overflow a double"),
    ],
)
def test_weights_that_leave_no_divisor_are_refused(
    weights: list[float], kind: str, error: type[PcatoolError], said: str
) -> None:
    """Seven rows, and column a in three of them."""
    X = made(7, 4, [9], 0.5, 1).X
    X[3:, 0] = np.nan
    frame = pd.DataFrame(X, columns=list("abcd")).assign(w=weights)
    with pytest.raises(error, match=said):
        pcatool.fit(frame, components=1, missing="em", weights="w", weights_kind=kind, ddof=1)


def test_rounding_of_the_divisor_is_in_the_bound() -> None:
    """Weights that add up to a little more than 1 leave a divisor that is hardly known."""
    X = punched(made(40, 4, [9], 0.5, 1).X, 0.1, 2)
    frame = pd.DataFrame(X, columns=list("abcd"))
    w = np.full(40, (1 + 1e-9) / 40)
    w[0] += 1.0  # or else columns with holes have less than 1
    frame.loc[0] = [1.0, 2.0, 3.0, 5.0]
    w[1:] *= 1e-9
    model = pcatool.fit(frame.assign(w=w), components=1, missing="em", weights="w", ddof=1)
    divisor = w.sum() - 1
    assert not any(model.meta["certificate"]["vouched"])
    error = model.meta["certificate"]["relative_error"][0]
    assert error is None or error >= np.finfo(float).eps / divisor


# --- tables at random ---

# What a fit or its uses may refuse, and how.
DOCUMENTED = {
    DataError: (
        r"columns? .* (has|have) no value; leave the columns? out with exclude",
        r"every cell is missing; give rows with values",
        r"components=\d+ with \d+ columns needs more than [\d,]+ observed cells, "
        r"but the data have [\d,]+ observed cells; "
        r"(use compon|give more)",
        r"components=\d+ is not possible: \d+ rows with values and \d+ columns give 1 to \d+ components; use comp",
        r"components=\d+ is more than the data can have: .*; use components=\d+ or less",
        r"all \d+ columns are constant: .*; add a column that varies",
        r"every value is 0: .*; give a table with values",
        r"a centred fit needs at least 2 rows",
        r"ddof=1 leaves a divisor of .*; use ddof=0",
    ),
    RefusedError: (
        r"squares of the values of columns? .* (over|under)flow a double; rescale the columns?",
        r"the observed cells do not determine \d+ components?; (use components=\d+ or less|leave columns)",
    ),
}


def any_table(rng: np.random.Generator) -> Array:
    """2 to 60 rows of 2 to 80 columns, of low rank, with noise or none, whole numbers, offsets, scales and holes."""
    n, d, r = int(rng.integers(2, 61)), int(rng.integers(2, 81)), int(rng.integers(1, 6))
    X = rng.normal(size=(n, r)) @ rng.normal(size=(r, d)) + rng.choice([0.0, 0.1, 1.0]) * rng.normal(size=(n, d))
    X = X * rng.choice([1.0, 1.0, 1.0, 1e-3, 1e5, 1e-120, 1e120]) + rng.choice([0.0, 0.0, 3.0, 1e6])
    if rng.random() < 0.2:
        X = np.round(X)
    X = np.where(rng.random((n, d)) < rng.choice([0, 0.02, 0.1, 0.3, 0.6, 0.9]), np.nan, X)
    if rng.random() < 0.1:
        X[:, int(rng.integers(d))] = np.nan
    if rng.random() < 0.15:
        X[int(rng.integers(n))] = np.nan
    if rng.random() < 0.15:
        X[:, j] = np.where(np.isnan(X[:, j := int(rng.integers(d))]), np.nan, 7.0)
    if rng.random() < 0.1:
        X[:, 0] *= 1e12
    return X


def any_settings(rng: np.random.Generator, X: Array) -> dict[str, Any]:
    rules = ["all", "kaiser", "elbow", "broken-stick", "ratio:0.05", "eigenvalue:1"]
    most = min(*X.shape, 12)  # each step costs k^2, and the tests have other work
    ways = [int(rng.integers(1, most + 1)), float(rng.choice([0.5, 0.9, 0.99])), str(rng.choice(rules))]
    k = ways[int(rng.choice(3, p=[0.6, 0.2, 0.2]))]
    if k == "all" and min(X.shape) > most:
        k = most
    return {
        "components": k,
        "standardize": bool(rng.random() < 0.4),
        "center": bool(rng.random() < 0.75),
        "ddof": int(rng.random() < 0.3),
        "center_rows": bool(rng.random() < 0.1),
    }


@little
@pytest.mark.parametrize("part", range(10))
def test_no_error_but_the_documented_ones(part: int) -> None:
    fits = 0
    for seed in range(part * often(10), (part + 1) * often(10)):
        rng = np.random.default_rng(seed)
        X = any_table(rng)
        settings = any_settings(rng, X)
        try:
            model = pcatool.fit(X, missing="em", **settings)
        except (DataError, RefusedError) as error:
            assert any(re.match(text, str(error)) for text in DOCUMENTED[type(error)]), (seed, settings, str(error))
            if np.isnan(X[~np.isnan(X).all(axis=1)]).any():
                with pytest.raises(type(error), match=re.escape(str(error))):
                    pcatool.plan(X, missing="em", **settings)
            continue
        fits += 1
        pcatool.plan(X, missing="em", **settings)
        used(model, X)
    assert fits >= often(10) // 3


def used(model: Model, X: Array) -> None:
    """Apply and report; every number is one."""
    assert loads(dumps(model)) == model
    assert np.all(np.isfinite(model.eigenvalues))
    empty = np.isnan(X).all(axis=1)
    Z = pcatool.transform(model, X)
    assert Z.shape == (len(X), model.k)
    assert np.array_equal(np.isnan(Z).any(axis=1), empty)
    filled = pcatool.reconstruct(model, X, source="rows", fill=True)
    assert np.array_equal(filled[~np.isnan(X)], X[~np.isnan(X)])
    assert not np.isnan(filled[~empty]).any()
    table = pcatool.explain_variance(model)
    assert table["cumulative"].is_monotonic_increasing
    assert table["cumulative"].iloc[-1] == pytest.approx(1)
    assert pcatool.scree(model)
    assert pcatool.components(model).shape[0] == X.shape[1]
    assert pcatool.inspect(model)["rank"] == model.meta["rank"]
    assert pcatool.diff(model, model)


@little
@pytest.mark.parametrize(
    ("scales", "kept", "reason"),
    [
        ([1] * 30, 1, "no component stands out from the noise, so the first one is kept"),
        ([9, *[1] * 29], 1, "only this component stands out from the noise"),
        ([9, 8, *[1] * 28], 2, "only these components stand out from the noise"),
    ],
)
def test_the_reason_counts_the_components_that_stand_out(scales: list[int], kept: int, reason: str) -> None:
    rng = np.random.default_rng(5)
    X = rng.normal(size=(2000, 30)) * scales
    X[rng.random(X.shape) < 0.05] = np.nan
    model = pcatool.fit(X, missing="em")
    assert (model.k, model.meta["choice"]) == (kept, f"{reason}; -k 0.99 would need more components")

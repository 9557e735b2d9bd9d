"""Pictures of scores and loadings: what is given is told apart, the numbers are those of transform, and every route
gives the same picture."""

from __future__ import annotations

import subprocess
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import pcatool
from pcatool.api.arguments import Warnings
from pcatool.model.description import short_settings_text
from pcatool.model.model import Model
from pcatool.options import EngineOptions, FitOptions, PictureOptions, PlotOptions, SelectOptions, TableOptions
from pcatool.pipeline import plot as rows
from pcatool.pipeline.fit import Job
from pcatool.pipeline.plot import collect_rows, draw, note_omissions
from pcatool.pipeline.plot_request import PlotRequest
from pcatool.readers.inputs import Inputs
from pcatool.registry import PLOTS
from pcatool.render.plots import points as clouds
from pcatool.render.plots.points import ALL, RowCollector

pytestmark = pytest.mark.filterwarnings("ignore:dropped .* rows because of missing cells")

ROOT = Path(__file__).resolve().parents[2]
ORDERS = str(ROOT / "sample_data" / "orders.csv")
DIGITS = str(ROOT / "sample_data" / "digits.csv")
NUMBERS: dict[str, Any] = {"columns": "items-days_to_deliver", "standardize": True, "missing": "drop"}
ONE = pd.DataFrame({"a": [1.0, 2, 4]})


@pytest.fixture(scope="module")
def orders() -> Model:
    return pcatool.fit(ORDERS, **NUMBERS, components=3)


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    made = pd.DataFrame(rng.normal(size=(400, 3)) * [5, 3, 1], columns=["a", "b", "c"])
    made["kind"] = np.array(["x", "y", "z"])[rng.integers(0, 3, 400)]
    made["size"] = rng.normal(size=400)
    made.loc[[3, 7], "b"] = np.nan
    made.loc[[3, 11], "size"] = np.nan
    made.loc[12, "kind"] = None
    return made


def job_of(data: Any, **table: Any) -> Job:
    return Job(data, TableOptions(**table), SelectOptions(), FitOptions(), EngineOptions(), Warnings())


def cloud(
    data: Any, model: Model | None, color: str | None = None, axes: tuple[int, ...] = (1, 2), **table: Any
) -> RowCollector:
    job = job_of(data, **table)
    return collect_rows(job, PlotRequest("scores", PlotOptions(color=color)), axes, model, job.open())


# --- numbers ---


def test_scores_are_those_of_transform(orders: Model) -> None:
    found = pcatool.plot("scores", orders, ORDERS, axes="3,1", color="customer")
    expected = pcatool.transform(orders, ORDERS, keep="customer")
    pd.testing.assert_frame_equal(found, expected[["customer", "PC3", "PC1"]])
    scores = expected[["PC1", "PC2", "PC3"]]
    pd.testing.assert_frame_equal(pcatool.plot("scores", scores, axes=(3, 1)), scores[["PC3", "PC1"]])


def test_rows_of_a_model_may_come_as_triples(tmp_path: Path) -> None:
    rows = tmp_path / "triples.csv"
    rows.write_text("who,what,value\n" + "".join(f"u{i},w{j},{(i * j) % 5 + i}\n" for i in range(6) for j in range(3)))
    model = pcatool.fit(rows, triples="who,what,value", components=2)
    found = pcatool.plot("scores", model, rows, triples="who,what,value")
    pd.testing.assert_frame_equal(found, pcatool.transform(model, rows, triples="who,what,value"))
    with pytest.raises(pcatool.UsageError, match="triples has no effect"):
        pcatool.plot("loadings", model, triples="who,what,value")


def test_a_scree_without_room_is_refused_too(orders: Model, tmp_path: Path) -> None:
    with pytest.raises(
        pcatool.UsageError, match=r"size=.3\.5x8. is too small for the texts of a plot; give 4x3 or more"
    ):
        pcatool.scree(orders, output=tmp_path / "a.png", size="3.5x8")


def test_letters_that_the_font_lacks_are_told(tmp_path: Path) -> None:
    frame = pd.DataFrame({"横浜": [1.0, 2, 4, 3], "b": [2.0, 1, 5, 0]})
    model = pcatool.fit(frame, components=2)
    with pytest.warns(
        pcatool.PcatoolWarning, match="the font of the picture lacks '横', '浜', and shows boxes instead"
    ):
        pcatool.plot("loadings", model, output=tmp_path / "m.png")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", pcatool.PcatoolNote)
        pcatool.plot("loadings", pcatool.fit(frame.rename(columns={"横浜": "Århus"})), output=tmp_path / "m.svg")


def test_loadings_are_those_of_components(orders: Model) -> None:
    expected = pcatool.components(orders)
    pd.testing.assert_frame_equal(pcatool.plot("loadings", orders), expected)
    pd.testing.assert_frame_equal(pcatool.plot("loadings", orders, axes=2), expected[["column", "PC2"]])


def test_arrows_of_a_biplot_are_loadings_or_as_columns_correlate(orders: Model) -> None:
    rows = pcatool.plot("biplot", orders).set_index("column")
    columns = pcatool.plot("biplot", orders, scaling="columns").set_index("column")
    np.testing.assert_array_equal(rows, orders.basis[:, :2])
    correlations = pcatool.components(orders, values="correlations").set_index("column")  # of standardised columns
    np.testing.assert_allclose(columns, correlations[["PC1", "PC2"]], rtol=1e-12)


def test_data_are_fitted_with_enough_components() -> None:
    assert list(pcatool.plot("scores", DIGITS, exclude="digit", axes=(1, 50))) == ["PC1", "PC50"]
    assert list(pcatool.plot("scores", ONE)) == ["PC1"]
    with pytest.raises(
        pcatool.DataError, match=r'axes="1,3": the model has 2 components; .* or fit with a larger value of components'
    ):
        pcatool.plot("scores", ORDERS, axes=(1, 3), **NUMBERS, components=2)


# --- rows ---


@pytest.mark.parametrize("color", [None, "kind", "size", "a"])
def test_rows_are_drawn_where_their_scores_are(frame: pd.DataFrame, color: str | None) -> None:
    model = pcatool.fit(frame, columns="a-c", missing="drop", components=2)
    made = cloud(frame, model, color)
    whole = frame["b"].notna()
    expected = pcatool.transform(model, frame)[whole]
    np.testing.assert_array_equal(made.points()[:, :2], expected)
    assert (made.rows, made.left_out) == (398, 2)
    if color == "kind":
        groups = {group.name: group.rows for group in made.groups()}
        assert groups == {**frame[whole]["kind"].value_counts().to_dict(), "missing": 1}
    elif color is not None:
        np.testing.assert_array_equal(made.points()[:, 2], frame[whole][color])


def test_the_same_rows_give_the_same_cloud_by_any_route(
    frame: pd.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clouds, "MAX_MARKS", 100)
    frame.to_csv(tmp_path / "a.csv", index=False)
    frame.to_parquet(tmp_path / "a.parquet")
    half = len(frame) // 2
    for at, part in enumerate((frame[:half], frame[half:])):
        part.to_csv(tmp_path / f"part{at}.csv", index=False)
    model = pcatool.fit(frame, columns="a-c", missing="drop", components=2)
    routes = [[str(tmp_path / name)] for name in ("a.csv", "a.parquet")]
    routes.append([str(tmp_path / f"part{at}.csv") for at in (0, 1)])
    for color in ("kind", "size"):
        first, *others = [cloud(route, model, color) for route in routes]
        assert first.grid is not None and first.grid.layer(ALL).sum() == 398
        for other in others:
            assert other.grid is not None and other.grid.numbers == first.grid.numbers
            assert [g[:2] for g in other.groups()] == [g[:2] for g in first.groups()]
            for number in first.grid.numbers:
                np.testing.assert_array_equal(other.grid.layer(number), first.grid.layer(number))


def test_a_picture_from_a_pipe_a_file_and_one_thread_is_the_same(
    folder: Path, plain_environment: dict[str, str]
) -> None:
    script = "cat sample_data/digits.csv | pcatool plot scores -x digit -q --color digit --threads 1 -o a.svg"
    done = subprocess.run(["bash", "-c", script], cwd=folder, env=plain_environment, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    pcatool.plot("scores", DIGITS, exclude="digit", color="digit", output=folder / "c.svg")
    assert (folder / "c.svg").read_bytes() == (folder / "a.svg").read_bytes()
    assert (folder / "c.svg").read_text().count("<!-- digit -->") == 1


def test_a_table_of_scores_is_told_by_its_columns(orders: Model, tmp_path: Path) -> None:
    scores = pcatool.transform(orders, ORDERS, keep="customer", missing="keep")
    made = cloud(scores, None, "customer")
    assert made.rows == 184 and made.left_out == 16
    assert len(made.groups()) == 7
    as_rows = pcatool.plot("scores", scores, source="rows", standardize=True, missing="drop")
    np.testing.assert_allclose(as_rows.std(ddof=0).dropna() ** 2, 1, rtol=1e-9)  # scores do not correlate
    with pytest.raises(
        pcatool.UsageError,
        match='holds scores: standardize=True has no effect; leave out standardize, or give source="rows" to read',
    ):
        pcatool.plot("scores", scores, standardize=True)
    with pytest.raises(pcatool.UsageError, match="holds scores, but a biplot also shows the loadings of a model; name"):
        pcatool.plot("biplot", scores, output=tmp_path / "a.svg")
    pcatool.plot("biplot", orders, scores, output=tmp_path / "a.svg")
    pcatool.plot("biplot", orders, ORDERS, output=tmp_path / "b.svg")
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()


# --- what makes no sense ---


def asked(kind: str, **more: Any) -> None:
    pcatool.plot(kind, ORDERS, **{**NUMBERS, **more})


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: asked("scoers"), pcatool.UsageError, r"there is no plot called 'scoers'; did you mean 'scores'\?"),
        (lambda: asked("loadings", color="items"), pcatool.UsageError, "color has no effect in plot loadings"),
        (lambda: asked("scores", scaling="rows"), pcatool.UsageError, "scaling has no effect"),
        (lambda: asked("scores", axes=(1, 2, 3)), pcatool.UsageError, "at most 2 components; name fewer components"),
        (lambda: asked("biplot", axes=1), pcatool.UsageError, "a biplot needs two components, but axes names only one"),
        (lambda: pcatool.plot("biplot", ONE), pcatool.DataError, "the model has 1 component; to draw one component"),
        (lambda: asked("scores", axes="1,1"), pcatool.UsageError, "names a component twice"),
        (lambda: asked("scores", axes="1-2"), pcatool.UsageError, "axes='1-2' is not a list of components"),
        (lambda: asked("scores", color=""), pcatool.UsageError, "color is empty"),
        (lambda: asked("scores", color="items,shipping"), pcatool.UsageError, "names 2 columns; name one"),
        (
            lambda: asked("scores", source="cells"),
            pcatool.UsageError,
            "invalid value 'cells' for source: choose scores or rows",
        ),
        (lambda: asked("scores", output="a.gif"), pcatool.UsageError, r"end the name with \.png, \.svg or \.pdf"),
        (lambda: asked("scores", whiten="zca", components=2), pcatool.UsageError, "a ZCA model gives whitened columns"),
        (lambda: asked("biplot", whiten="pca", scaling="rows"), pcatool.UsageError, 'scaling="rows" does not suit'),
        (lambda: asked("loadings", method="kernel"), pcatool.UsageError, "not combinations of columns"),
        (lambda: asked("biplot", method="kernel"), pcatool.UsageError, "not combinations of columns"),
        (lambda: asked("scores", color="remarks"), pcatool.DataError, r"no column 'remarks' \(nearest: 'remark'\)"),
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_refused(call: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        call()


@pytest.mark.parametrize(
    ("wish", "words"),
    [
        (
            PlotRequest("scores", PlotOptions(), form="json"),
            "--format json is for small tables, but scores can have many rows; give",
        ),
        (
            PlotRequest("scores", PlotOptions(), PictureOptions("4x4"), form="csv"),
            "--size has no effect without a picture; leave out --size or",
        ),
        (
            PlotRequest("biplot", PlotOptions(), PictureOptions(dpi=99), form="csv"),
            "--dpi has no effect without a picture; leave out --dpi or",
        ),
        (
            PlotRequest("biplot", PlotOptions()),
            r"a picture needs a file; name the file with -o, such as -o biplot\.png",
        ),
        (
            PlotRequest("scores", PlotOptions(), output="a.PNG", form="csv"),
            "'a.PNG' is the name of a picture, but --format csv",
        ),
        (
            PlotRequest("scores", PlotOptions(), PictureOptions("4x2"), "a.png"),
            "--size 4x2 is too small for .*; give 4x3",
        ),
        (
            PlotRequest("scores", PlotOptions(), output="-"),
            r"cannot write the picture '-': its format is not known; end the name with \.png, \.svg or \.pdf",
        ),
    ],
)
def test_what_does_not_go_together_is_refused_before_the_work(wish: PlotRequest, words: str) -> None:
    with pytest.raises(pcatool.UsageError, match=words):
        wish.check(FitOptions())


def test_texts_that_are_no_classes_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows, "MOST_TEXTS", 199)
    words = "--color 'order_id' has more than 199 different values; name a column with fewer values, or a column of"
    model = pcatool.fit(ORDERS, **NUMBERS, components=2)
    with pytest.raises(pcatool.DataError, match=words):
        cloud([ORDERS], model, "order_id")
    monkeypatch.setattr(rows, "MOST_TEXTS", 200)
    assert len(cloud([ORDERS], model, "order_id").groups()) == 10


@pytest.mark.parametrize(
    ("color", "axes", "words"),
    [
        (None, (1, 2), "1 of 400 rows has missing cells and no scores, and is not drawn"),
        ("a", (1,), "--color has no effect: in a plot of one component, only a column of classes can colour the bars"),
        ("often", (1, 2), "--color often has 20 values: only the 9 most frequent values have colours of their own"),
        (
            "once",
            (1, 2),
            "--color once has 400 values: no value occurs twice; name a column of classes, or a column of",
        ),
    ],
)
def test_what_a_picture_leaves_out_is_told(
    color: str | None, axes: tuple[int, ...], words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    numbers = range(400)
    X = pd.DataFrame({"a": [*map(float, numbers)], "b": np.random.default_rng(0).normal(size=400)})
    made = X.assign(often=[f"v{i % 20}" for i in numbers], once=[f"v{i}" for i in numbers])
    if color is None:
        made.loc[7, "b"] = np.nan
    drawn = cloud(made, pcatool.fit(X, components=2), color, axes)
    told: list[str] = []
    reporter = Warnings()
    monkeypatch.setattr(reporter, "show", lambda kind, text, items=(): told.append(text))
    note_omissions(drawn, PlotRequest("scores", PlotOptions(color=color)), reporter)
    assert len(told) == 1 and told[0].startswith(words)


def test_a_model_needs_rows_and_a_picture_of_columns_none(orders: Model, tmp_path: Path) -> None:
    pcatool.save_model(orders, tmp_path / "m.npz")
    for model in (orders, tmp_path / "m.npz"):
        with pytest.raises(pcatool.UsageError, match="a model has no rows to draw; give the rows, as in data="):
            pcatool.plot("scores", model)
    with pytest.raises(pcatool.UsageError, match="already fitted: standardize=True has no effect"):
        pcatool.plot("scores", orders, ORDERS, standardize=True)
    with pytest.raises(
        pcatool.UsageError, match=r"plot loadings --format csv needs no rows: .* has no effect; name only the model"
    ):
        pcatool.plot("loadings", [str(tmp_path / "m.npz"), ORDERS])
    with pytest.raises(
        pcatool.DataError, match="a biplot needs two components, but the model has 1 component; fit with components=2"
    ):
        pcatool.plot("biplot", orders.truncated(1))


def test_kernel_and_supervised_models_have_scores(tmp_path: Path) -> None:
    for settings, names in (
        ({"method": "kernel"}, ["PC1", "PC2"]),
        ({"method": "supervised", "label": "shipping"}, ["PC1"]),
    ):
        found = pcatool.plot("scores", ORDERS, **{**NUMBERS, "standardize": False, **settings})
        assert list(found) == names
    assert len(pcatool.plot("loadings", ORDERS, **NUMBERS, method="supervised", label="shipping")) == 5
    supervised = pcatool.fit(ORDERS, **NUMBERS, method="supervised", label="shipping")
    assert (
        short_settings_text(supervised)
        == "standardised, percentages are shares of the dependence on the label shipping"
    )
    kernel = pcatool.fit(ORDERS, **NUMBERS, method="kernel", gamma=0.5, components=1)
    assert short_settings_text(kernel) == "standardised; kernel rbf (gamma 0.5)"


def test_without_a_row_there_is_nothing_to_draw(orders: Model, frame: pd.DataFrame, tmp_path: Path) -> None:
    empty = pd.read_csv(ORDERS).head(0)
    with pytest.raises(pcatool.DataError, match="has no rows to draw; name a table with rows"):
        pcatool.plot("scores", orders, empty, output=tmp_path / "a.png")
    model = pcatool.fit(frame, columns="a-c", missing="drop", components=2)
    with pytest.raises(
        pcatool.DataError,
        match="no row has scores, because every row has missing cells; name a table with complete rows",
    ):
        pcatool.plot("scores", model, frame.loc[[3, 7]], output=tmp_path / "a.png")
    assert list(tmp_path.iterdir()) == []
    files = [tmp_path / "a.csv", tmp_path / "b.csv"]
    for file in files:
        empty.to_csv(file, index=False)
    with pytest.raises(pcatool.DataError, match="the 2 inputs have no rows to draw; name a table with rows"):
        pcatool.plot("scores", orders, files, output=tmp_path / "a.png")


def test_a_biplot_of_a_whitened_model_is_scaled_to_columns(tmp_path: Path) -> None:
    """Its scores have one variance already, so that it is the picture of the same model without whitening."""
    settings = {**NUMBERS, "components": 2, "epsilon": 0.0}
    white = pcatool.plot("biplot", ORDERS, **settings, whiten="pca")
    settings.pop("epsilon")
    pd.testing.assert_frame_equal(white, pcatool.plot("biplot", ORDERS, **settings, scaling="columns"))


@pytest.mark.parametrize("kind", [*PLOTS])
def test_a_new_kind_is_one_entry(kind: str) -> None:
    drawer = PLOTS.load(kind)
    assert drawer.rows or drawer.columns
    assert 1 <= drawer.default_count <= drawer.max_count


def test_outputs_are_not_replaced_where_that_was_asked(orders: Model, tmp_path: Path) -> None:
    place = tmp_path / "a.svg"
    place.touch()
    wish = PlotRequest("loadings", PlotOptions(), output=str(place), no_clobber=True)
    with pytest.raises(pcatool.FileError, match="exists, and --no-clobber was given"):
        draw(job_of([]), wish, orders)
    assert place.read_bytes() == b""


def test_inputs_are_opened_once(orders: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows may come through a pipe."""
    opened: list[Any] = []
    plain = Inputs.__init__
    monkeypatch.setattr(
        Inputs, "__init__", lambda self, *given, **more: (opened.append(given), plain(self, *given, **more))[1]
    )
    pcatool.plot("scores", orders, ORDERS, color="customer")
    assert len(opened) == 1

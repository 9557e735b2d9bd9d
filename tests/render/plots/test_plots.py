"""Pictures of scores and loadings, from plain arrays: what is counted, what is drawn, and the same bytes each time."""

import re

import numpy as np
import pytest

from pcatool.errors import UsageError
from pcatool.options import PictureOptions
from pcatool.registry import PLOTS
from pcatool.render.figures import CLASS_COLORS, NEGATIVE, POSITIVE, figure_file, plain_matplotlib
from pcatool.render.plots import points as clouds
from pcatool.render.plots.base import PlotData
from pcatool.render.plots.biplot import MAX_ARROWS, Biplot, arrow_scale, arrows_of, axis_limits
from pcatool.render.plots.marks import fit_scale, isolated_cells, spread_cells
from pcatool.render.plots.points import ALL, CLASSES, MAX_LAYERS, SUM_FACTOR, ColorColumn, Grid, RowCollector, Side
from pcatool.render.plots.scores import histogram

MAGIC = {"png": b"\x89PNG\r\n\x1a\n", "svg": b"<?xml", "pdf": b"%PDF-"}
rng = np.random.default_rng(0)


# --- the grid ---


def counted(blocks, cells=(16, 8)):
    grid = Grid(cells)
    for x, y in blocks:
        grid.add(x, y, [(0, None, None), (1, None, x * SUM_FACTOR)])
    return grid


CASES = {
    "normal": rng.normal(size=(500, 2)) * [3, 1],
    "an outlier at the end": np.vstack([rng.normal(size=(300, 2)), [[1e6, -1e6]]]),
    "growing": np.column_stack([2.0 ** np.arange(-40, 40), -(2.0 ** np.arange(40, -40, -1.0))]),
    "far from 0": rng.normal(size=(300, 2)) * 1e-9 + 1e6,
    "one place": np.full((20, 2), 3.7),
    "huge": rng.uniform(-1, 1, size=(100, 2)) * 1.7e308,
    "tiny": rng.uniform(-1, 1, size=(100, 2)) * 1e-310,
    "nothing": np.zeros((5, 2)),
}


@pytest.mark.parametrize("case", CASES)
def test_what_a_grid_holds_depends_on_the_rows_alone(case):
    X = CASES[case]
    X.flags.writeable = False
    whole = counted([X.T])
    for cuts in ([1, 2, 3], [len(X) // 2], list(range(1, len(X), 7))):
        parts = counted([part.T for part in np.split(X, cuts)])
        assert parts.sides == whole.sides
        np.testing.assert_array_equal(parts.layer(0), whole.layer(0))
    assert counted([X[::-1].T]).sides == whole.sides
    np.testing.assert_array_equal(counted([X[::-1].T]).layer(0), whole.layer(0))


@pytest.mark.parametrize("case", CASES)
def test_each_row_is_in_its_cell(case):
    X = CASES[case]
    grid = counted([X.T])
    assert grid.layer(0).sum() == len(X)
    for side, values, cells in zip(grid.sides, X.T, grid.cells, strict=True):
        width = np.ldexp(1.0, side.exponent)
        with np.errstate(under="ignore"):
            places = np.floor(values / width) if width else np.floor(np.ldexp(values, -side.exponent))
        assert places.min() == side.first
        assert places.max() - places.min() < side.cells <= cells
        finer = Side(side.least, side.most, side.exponent - 1, 0)
        of_one_place = values.min() == values.max()
        exact = side.exponent <= np.frexp(np.abs(values).max())[1] - 53 or side.exponent == -1074
        assert of_one_place or exact or np.ptp(finer.cells_of(values)) >= cells, "the cells are as small as can be"


def test_a_grid_agrees_with_numpys_histogram():
    X = rng.normal(size=(1000, 2))
    grid = counted([X.T], (64, 32))
    edges = [[side.edge(i, 1.0) for i in range(side.cells + 1)] for side in grid.sides]
    expected, *_ = np.histogram2d(*X.T, bins=edges)
    np.testing.assert_array_equal(grid.layer(0), expected)
    sums, *_ = np.histogram2d(*X.T, bins=edges, weights=X[:, 0])
    np.testing.assert_allclose(grid.layer(1) / SUM_FACTOR, sums, rtol=1e-12, atol=1e-12)


def test_edges_are_in_a_unit_that_can_be_drawn():
    side = Side.of(-1.7e308, 1.7e308, 16)
    assert side.edge(0, 1e308) <= -1.7 < side.edge(1, 1e308)
    side = Side.of(-1e-310, 1e-310, 16)
    assert side.edge(0, 1e-310) == pytest.approx(-1, abs=0.3)


# --- the cloud ---


def collect_rows(X, color=None, numeric=False, words=(), axes=2):
    hue = None if color is None else ColorColumn("color", numeric)
    made = RowCollector(axes, hue)
    block = X if color is None else np.column_stack([X, color])
    for start in range(0, len(block), 64):
        made.add(block[start : start + 64])
    made.words = list(words)
    return made


@pytest.fixture
def few_marks(monkeypatch):
    """And few cells, which tests draw sooner."""
    monkeypatch.setattr(clouds, "MAX_MARKS", 100)
    monkeypatch.setattr(clouds, "GRID_CELLS", 64)


def test_few_rows_are_kept_and_many_counted(few_marks):
    X = rng.normal(size=(101, 2))
    few, many = collect_rows(X[:100]), collect_rows(X)
    assert not few.is_dense
    np.testing.assert_array_equal(few.points(), X[:100])
    assert many.is_dense and many.grid.layer(ALL).sum() == many.rows == 101


@pytest.mark.parametrize("rows", [90, 300])
def test_classes_are_named_in_order_and_counted(few_marks, rows):
    codes = np.arange(rows) % 3.0
    codes[:2] = np.nan
    found = collect_rows(rng.normal(size=(rows, 2)), codes, words=["b", "10", "9"]).groups()
    assert [(group.name, group.color_index) for group in found] == [("9", 0), ("10", 1), ("b", 2), ("missing", None)]
    assert [group.rows for group in found] == [rows // 3, rows // 3 - 1, rows // 3 - 1, 2]


@pytest.mark.parametrize("rows", [90, 900])
def test_of_many_classes_the_largest_have_colours(few_marks, rows):
    codes = np.concatenate([np.arange(20.0), np.repeat(np.arange(8.0, 17), 4), np.zeros(rows - 56)])
    found = collect_rows(rng.normal(size=(rows, 2)), codes, words=[f"w{i:02}" for i in range(20)]).groups()
    assert [group.name for group in found] == ["w00", *(f"w{i:02}" for i in range(8, 16)), "11 others"]
    assert len(found) == CLASSES and found[-1].color_index is None
    assert sum(group.rows for group in found) == rows


def test_more_classes_than_are_counted_go_to_the_others(few_marks):
    codes = np.concatenate([np.arange(MAX_LAYERS + 5.0), np.repeat(3.0, 200), np.repeat(MAX_LAYERS + 2.0, 300)])
    made = collect_rows(rng.normal(size=(len(codes), 2)), codes, words=[f"w{i:02}" for i in range(MAX_LAYERS + 5)])
    assert "w03" in [group.name for group in made.groups()]
    assert made.groups()[-1].rows > 300
    drawn = sum(made.grid.layer(number).sum() for number in made.grid.numbers if number != ALL)
    assert drawn == made.rows


@pytest.mark.parametrize("rows", [90, 900])
@pytest.mark.parametrize(
    ("values", "by_class"),
    [
        ([0, 1, 2], True),
        ([-3, 1e6], True),
        ([0.5, 1.0], False),
        (range(CLASSES), True),
        (range(CLASSES + 1), False),
        ([np.nan], True),
        ([np.nan, 1.5], False),
    ],
)
def test_few_whole_numbers_are_classes(few_marks, rows, values, by_class):
    color = np.resize(np.array(values, float), rows)
    made = collect_rows(rng.normal(size=(rows, 2)), color, numeric=True)
    assert made.by_class is by_class
    if by_class:
        assert sum(group.rows for group in made.groups()) == rows


# --- the pictures ---


def view_of(cloud=None, d=5, axes=(1, 2), names=None, **more):
    loadings = np.linalg.qr(np.random.default_rng(1).normal(size=(max(d, len(axes)), len(axes))))[0][:d]
    columns = tuple(names or [f"c{j}" for j in range(d)])
    spreads = np.arange(len(axes), 0, -1.0)
    shares = 0.5 ** np.arange(1.0, len(axes) + 1)
    return PlotData(axes, "caption", shares, cloud, columns, loadings, spreads, **more)


def picture(kind, plot_data, form="svg", look=PictureOptions()):  # noqa: B008
    with plain_matplotlib():
        return figure_file(PLOTS.load(kind)().draw(plot_data, look), form, look)


def texts(svg):
    return re.findall(r"<!-- (.*?) -->", svg.decode(), re.DOTALL)


def marks(svg, color):
    """Marks that are drawn with a colour, those of the legend included."""
    return svg.decode().lower().count(f"fill: {color.lower()}")


X = rng.normal(size=(40, 2)) * [3, 1]
VIEWS = {
    "scores": lambda: view_of(collect_rows(X, np.arange(40.0) % 3, words="abc")),
    "loadings": lambda: view_of(d=5, axes=(1, 5)),
    "biplot": lambda: view_of(collect_rows(X), scaling="columns"),
}


@pytest.mark.parametrize(("kind", "form"), [("scores", "png"), ("biplot", "pdf")])
def test_the_file_is_of_its_kind_and_the_same_each_time(kind, form):
    first = picture(kind, VIEWS[kind](), form, PictureOptions("4x4", "40"))
    assert first.startswith(MAGIC[form])
    assert picture(kind, VIEWS[kind](), form, PictureOptions("4x4", "40")) == first
    assert not re.search(rb"\d{4}-\d{2}-\d{2}T|CreationDate|[Mm]atplotlib v|Software", first)


def test_each_row_has_a_mark_in_the_colour_of_its_class():
    svg = picture("scores", VIEWS["scores"]())
    for color, count, name in zip(CLASS_COLORS, (14, 13, 13), "abc", strict=False):
        assert marks(svg, color) == count + 1
        assert f"{name}  ({count})" in texts(svg)
    assert {"PC1 (50.00%)", "PC2 (25.00%)", "Scores of rows", "color"} <= set(texts(svg))


def test_numbers_have_a_bar_of_colours_and_holes_are_grey():
    numbers = np.arange(40) / 7
    numbers[:3] = np.nan
    svg = picture("scores", view_of(collect_rows(X, numbers, numeric=True)))
    assert any("(grey: 3 rows without a value)" in text for text in texts(svg))
    assert marks(svg, "#B0B0B0") == 3


@pytest.mark.parametrize(("form", "hue"), [("svg", "none"), ("svg", "numbers"), ("pdf", "classes")])
def test_many_rows_are_a_raster_in_a_small_file(few_marks, form, hue):
    Y = rng.normal(size=(3000, 2))
    color = {"none": None, "classes": np.arange(3000.0) % 4, "numbers": Y[:, 0]}[hue]
    made = collect_rows(Y, color, numeric=hue == "numbers", words="abcd")
    data = picture("scores", view_of(made), form)
    assert (b"<image" if form == "svg" else b"/Image") in data
    assert data.count(b"<use") < 1200


def test_a_row_that_lies_alone_has_a_mark(few_marks):
    Y = np.vstack([rng.normal(size=(2000, 2)) * 0.01, [[5.0, 5.0], [-4.0, 0.0]]])
    made = collect_rows(Y)
    assert isolated_cells(made.grid.layer(ALL) > 0).sum() >= 2
    there = np.zeros((30, 30), bool)
    there[3, 3] = there[20:25, 20:25] = True
    assert np.argwhere(isolated_cells(there)).tolist() == [[3, 3]]


def test_empty_cells_take_after_the_fullest_beside_them():
    weight = np.zeros((3, 4))
    weight[1, 0], weight[1, 2] = 0.2, 0.9
    image = np.zeros((3, 4, 4), np.float32)
    image[1, 0], image[1, 2] = 0.25, 1.0
    made = spread_cells(image, weight)
    assert made.shape == (5, 6, 4)
    assert made[2, 1, 0] == 0.25 and made[2, 3, 0] == 1.0, "cells with rows stay as they are"
    assert made[2, 2, 0] == 1.0, "the fuller of two"
    assert made[1, 0, 0] == 0.25 and made[1, 0, 3] == pytest.approx(0.25 * 0.75)
    assert not made[2, 5].any()


@pytest.mark.parametrize(
    ("kind", "rows", "scale"),
    [("scores", 40, 1e300), ("scores", 400, 1e-300), ("biplot", 400, 1e300)],
)
def test_numbers_of_any_size_are_drawn(few_marks, kind, rows, scale):
    Y = rng.normal(size=(rows, 2)) * scale
    svg = picture(kind, view_of(collect_rows(Y, Y[:, 0], numeric=True))).lower()
    assert not re.search(rb"[^a-z](nan|inf)[^a-z]", re.sub(rb"base64,[^\"]*", b"", svg))
    unit = {1e300: " / 1e30", 1e-300: " / 1e-"}[scale]
    assert any(text.startswith(f"PC1{unit}") for text in texts(svg.replace(b"pc1", b"PC1")))


def test_both_sides_have_one_scale_unless_that_would_be_a_line():
    round, flat = fit_scale(collect_rows(X)), fit_scale(collect_rows(X * [1, 0.01]))
    assert round.equal and not flat.equal
    assert "different scales" in " ".join(texts(picture("scores", view_of(collect_rows(X * [1, 0.01])))))
    assert fit_scale(collect_rows(X * [1, 0])).equal, "no extent at all is drawn to the scale of the other"
    assert fit_scale(collect_rows(np.full((3, 2), 7.0))).equal


@pytest.mark.parametrize("rows", [1, 1000])
def test_one_component_is_a_histogram(rows):
    made = collect_rows(rng.normal(size=(rows, 1)), np.arange(rows) % 2.0, words="ab", axes=1)
    svg = picture("scores", view_of(made, axes=(2,)))
    assert {"PC2 (50.00%)", "rows", f"a  ({-(-rows // 2)})"} <= set(texts(svg))
    axes = histogram(view_of(made, axes=(2,)), made, PictureOptions()).axes[0]
    assert axes.get_ylim()[1] > max(bar.get_y() + bar.get_height() for bar in axes.patches), "no bar touches the top"


def test_rows_far_from_the_origin_are_not_at_the_edge():
    """Scores that were not centred, along one component, and with the origin of arrows in the picture."""
    far = rng.normal((9000.0, 0.0), 1.0, (50, 2))
    low, high = histogram(view_of(axes=(1,)), collect_rows(far[:, :1], axes=1), PictureOptions()).axes[0].get_xlim()
    assert 8900 < low < high < 9100
    low, high = Biplot().draw(view_of(collect_rows(far)), PictureOptions()).axes[0].get_xlim()
    assert low < -1000 and far[:, 0].max() + 100 < high
    assert axis_limits((-1.0, 2.0), np.array([-0.5, 1.5])) == (-1.0, 2.0)
    low, high = axis_limits((-1.0, 2.0), np.array([-3.0, 2.5]))
    assert low < -3.0 and high > 2.5


def test_bars_are_sorted_by_size_and_coloured_by_sign():
    plot_data = view_of(d=4, axes=(1,))
    svg = picture("loadings", plot_data)
    loadings = plot_data.loadings[:, 0]
    order = [plot_data.columns[j] for j in np.argsort(-np.abs(loadings))]
    assert [text for text in texts(svg) if text in plot_data.columns] == order
    assert marks(svg, POSITIVE) == (loadings >= 0).sum() and marks(svg, NEGATIVE) == (loadings < 0).sum()
    assert f"{np.abs(loadings).max():.2f}" in " ".join(texts(svg))


@pytest.mark.parametrize("d", [30, 784])
def test_of_many_columns_the_largest_of_each_component_are_drawn(d):
    plot_data = view_of(d=d, axes=(1, 2))
    said = texts(picture("loadings", plot_data))
    assert f"the 20 largest of {d} loadings of each component" in " ".join(said).replace("\n", " ")
    largest = [
        plot_data.columns[j] for m in (0, 1) for j in np.argsort(-np.abs(plot_data.loadings[:, m]), kind="stable")[:20]
    ]
    assert [text for text in said if re.fullmatch(r"c\d+", text)] == largest


def test_small_pictures_of_loadings_show_fewer_or_are_refused():
    plot_data = view_of(d=30, axes=(1, 2, 3, 4))
    said = texts(picture("loadings", plot_data, look=PictureOptions("5x4")))
    assert 8 <= sum(re.fullmatch(r"c\d+", text) is not None for text in said) < 80
    with pytest.raises(UsageError, match="--size 4x3 is too small for the loadings of 12 components; give --size 4x"):
        picture("loadings", view_of(d=30, axes=tuple(range(1, 13))), look=PictureOptions("4x3"))


@pytest.mark.parametrize("count", [7, 9, 15, 17, 19])
def test_the_size_that_an_error_names_is_large_enough(count: int) -> None:
    plot_data = view_of(d=30, axes=tuple(range(1, count + 1)))
    with pytest.raises(UsageError) as error:
        picture("loadings", plot_data, look=PictureOptions("4x3"))
    named = re.search(r"give --size ([0-9.]+x[0-9.]+) or more", str(error.value))
    assert named is not None
    picture("loadings", plot_data, look=PictureOptions(named[1], "20"))


@pytest.mark.parametrize("size", [(4.0, 3.0), (8.0, 3.0), None])
def test_a_legend_of_many_classes_fits(size):
    plot_data = view_of(collect_rows(X, np.arange(40.0) % 14, words="abcdefghijklmn"))
    with plain_matplotlib():
        figure = PLOTS.load("scores")().draw(plot_data, PictureOptions(size=size))
        figure.draw_without_rendering()
        legend = figure.axes[0].get_legend().get_window_extent()
    assert len(plot_data.cloud.groups()) == CLASSES
    assert figure.bbox.y0 <= legend.y0 < legend.y1 <= figure.bbox.y1
    assert legend.x1 <= figure.bbox.x1


def test_a_row_and_an_arrow_multiply_to_the_cell():
    """Whatever the scaling: Z S^-a (B S^a)^T = Z B^T (Gabriel 1971)."""
    Z = rng.normal(size=(9, 2))
    for scaling in ("rows", "columns"):
        plot_data = view_of(scaling=scaling)
        drawn = Z / (plot_data.spreads if scaling == "columns" else 1)
        np.testing.assert_allclose(drawn @ arrows_of(plot_data).T, Z @ plot_data.loadings.T, rtol=1e-12)


def test_the_longest_arrows_are_drawn_and_all_stay_inside():
    plot_data = view_of(collect_rows(X), d=MAX_ARROWS + 10)
    said = texts(picture("biplot", plot_data))
    longest = [plot_data.columns[j] for j in np.argsort(-np.hypot(*plot_data.loadings.T))][:MAX_ARROWS]
    assert {text for text in said if re.fullmatch(r"c\d+", text)} <= set(longest)
    assert f"the {MAX_ARROWS} longest of {MAX_ARROWS + 10}" in " ".join(said).replace("\n", " ")
    scale = fit_scale(plot_data.cloud)
    tips = arrows_of(plot_data) * arrow_scale(arrows_of(plot_data), scale)
    farthest = np.abs(X).max(axis=0)
    assert 0.9 < (np.abs(tips).max(axis=0) / farthest).max() < 1
    assert arrow_scale(np.zeros((3, 2)), scale) == 1.0


def test_many_rows_are_coloured_by_the_mean_of_a_cell_and_that_is_said(few_marks):
    Y = rng.normal(size=(3000, 2))
    numbers = np.exp(2 * rng.normal(size=3000))
    histogram = {}
    for rows in (90, 3000):
        plot_data = view_of(collect_rows(Y[:rows], numbers[:rows], numeric=True))
        with plain_matplotlib():
            figure = PLOTS.load("scores")().draw(plot_data, PictureOptions())
            figure.draw_without_rendering()
            histogram[rows] = figure.axes[1]
    assert histogram[90].get_ylabel() == "color\nends of the scale: 1% and 99% quantiles"
    assert histogram[3000].get_ylabel() == "mean of color in a cell\nends of the scale: 1% and 99% quantiles"
    for bar in histogram.values():
        assert bar._colorbar.extend == "both", "its ends say that values lie beyond"
        assert bar._colorbar.vmax < numbers.max()


def test_any_name_can_be_drawn():
    names = [r"$\frac{$", "a\nb", "花びら", "x" * 500, "", "\x00", "$x$"]
    made = collect_rows(X[:35], np.arange(35.0) % 7, words=names)
    data = picture("biplot", view_of(made, d=7, names=names))
    assert r"$\frac{$" in " ".join(texts(data))

"""Names in biplots and pictures of loadings, measured by their boxes: none meets anything else."""

import io
import itertools
import re

import numpy as np
import pandas as pd
import pytest

import pcatool
from often import TIMES
from pcatool.options import PictureOptions
from pcatool.registry import PLOTS
from pcatool.render.figures import distinct_names, plain_matplotlib
from pcatool.render.plots import points as clouds
from pcatool.render.plots.arrow_names import OccupiedArea, crossings, place_names, through_boxes
from pcatool.render.plots.base import PlotData
from pcatool.render.plots.points import ColorColumn, RowCollector

LETTERS = (26, 16)  # of the names in a biplot


def sample(name):
    """Tables whose biplots are often drawn."""
    datasets = pytest.importorskip("sklearn.datasets")
    if name == "forty long names":
        random = np.random.default_rng(5)
        X = random.normal(size=(300, 6)) @ random.normal(size=(6, 40)) + 0.3 * random.normal(size=(300, 40))
        return pd.DataFrame(X, columns=[f"concentration of the substance number {j} [mg/l]" for j in range(40)]), None
    if name == "penguins":
        random = np.random.default_rng(6)
        kind = np.repeat([0, 1, 2], (152, 68, 124))
        middle = np.array([[38.8, 18.3, 190, 3700], [48.8, 18.4, 196, 3733], [47.5, 15.0, 217, 5076]])[kind]
        X = middle + random.normal(size=(344, 4)) * [2.9, 1.1, 6.5, 450]
        names = ["bill_length_mm", "bill_depth_mm", "flipper_length_mm", "body_mass_g"]
        return pd.DataFrame(X, columns=names), kind
    found = getattr(datasets, f"load_{name}")(as_frame=True)
    return found.data, found.target.to_numpy()


def view_of(frame, kind=None, *, numeric=False, standardize=True, scaling="rows"):
    model = pcatool.fit(frame, standardize=standardize, components=2)
    scores = pcatool.transform(model, frame).to_numpy() / (np.sqrt(model.eigenvalues[:2]) if scaling != "rows" else 1)
    cloud = RowCollector(2, None if kind is None else ColorColumn("kind", numeric))
    cloud.add(scores if kind is None else np.column_stack([scores, kind]))
    cloud.words = [f"class {i}" for i in range(9)]
    spreads = np.sqrt(model.eigenvalues[:2])
    shares, B = model.variance.share[:2], model.basis[:, :2]
    return PlotData((1, 2), "", shares, cloud, model.columns, B, spreads, scaling, "standardised"), scores


def drawn(kind, plot_data, look=PictureOptions()):  # noqa: B008
    with plain_matplotlib():
        figure = PLOTS.load(kind)().draw(plot_data, look)
        figure.draw_without_rendering()
        return figure


def overlap(a, b):
    return a.x0 < b.x1 and b.x0 < a.x1 and a.y0 < b.y1 and b.y0 < a.y1


def texts_outside(figure, own):
    """Everything else that is written: titles, names of axes, ticks, legends."""
    from matplotlib.text import Text

    return [text for text in figure.findobj(Text) if text.get_visible() and text.get_text() and text not in own]


def named_in(axes, plot_data):
    names = {name for most in LETTERS for name in distinct_names(plot_data.columns, most)}
    return [text for text in axes.texts if text.get_text() in names]


def check_biplot(figure, plot_data, scores):
    """Names, arrows and rows as they were drawn; the number of names."""
    axes = figure.axes[0]
    names = named_in(axes, plot_data)
    arrows = [text for text in axes.texts if getattr(text, "arrow_patch", None) is not None]
    boxes = [text.get_window_extent() for text in names]
    assert not any(overlap(a, b) for a, b in itertools.combinations(boxes, 2))
    frame = axes.get_window_extent()
    for box in boxes:
        assert frame.x0 < box.x0 and box.x1 < frame.x1 and frame.y0 < box.y0 and box.y1 < frame.y1
    origin = axes.transData.transform((0, 0))
    for box in boxes:
        assert not box.x0 < origin[0] < box.x1 and not box.y0 < origin[1] < box.y1, "the lines of 0"
    for text in texts_outside(figure, [*names, *arrows]):
        other = text.get_window_extent()
        assert not any(overlap(box, other) for box in boxes), text.get_text()
    places = axes.transData.transform(scores)
    tips = np.array([axes.transData.transform(arrow.xy) for arrow in arrows]).reshape(-1, 2)
    shafts = np.hstack([np.broadcast_to(origin, tips.shape), tips])
    lines = [line.get_xydata() for line in axes.lines if len(line.get_xdata()) == 2 and line.get_zorder() > 4.4]
    leaders = np.array([axes.transData.transform(line).ravel() for line in lines]).reshape(-1, 4)
    for box in boxes:
        inside = (places > (box.x0, box.y0)).all(axis=1) & (places < (box.x1, box.y1)).all(axis=1)
        assert not inside.any()
        corners = np.array([[box.x0 + 4, box.y0 + 4, box.x1 - 4, box.y1 - 4]])  # through_boxes adds some room
        assert not through_boxes(shafts, corners).any()
        assert not through_boxes(leaders, corners).any()
    assert (tips > (frame.x0, frame.y0)).all() and (tips < (frame.x1, frame.y1)).all(), "arrows stay inside"
    reach = np.abs(np.array([arrow.xy for arrow in arrows])).max(axis=0) / np.abs(scores).max(axis=0)
    assert 0.85 < reach.max() <= 1, "arrows fill the cloud"
    said = " ".join(text.get_text().replace("\n", " ") for text in axes.texts)
    without = re.search(r"([0-9]+) of (them|[0-9]+ arrows) without a name", said)
    assert len(arrows) - len(names) == (int(without[1]) if without else 0)
    lengths = [np.hypot(*arrow.xy) for arrow in arrows]
    assert lengths == sorted(lengths, reverse=True)
    return len(names)


@pytest.mark.parametrize("scaling", ["rows", "columns"])
@pytest.mark.parametrize(
    ("name", "least"), [("breast_cancer", 30), ("wine", 13), ("iris", 4), ("penguins", 4), ("forty long names", 24)]
)
def test_no_name_meets_anything(name, least, scaling):
    frame, kind = sample(name)
    plot_data, scores = view_of(frame, kind, scaling=scaling)
    assert check_biplot(drawn("biplot", plot_data), plot_data, scores) >= (least if scaling == "rows" else 0.6 * least)


WORDS = ["Größe", "temp", "x", "длина волны", "flipper_length_mm", "W" * 30, "µg/l", "a name of many words", "ﬁ", "É́"]


def random_case(seed):
    """A table of its own kind: many columns, long names, columns that nearly coincide, outliers, many rows."""
    random = np.random.default_rng(seed)
    d, n = int(random.choice([2, 3, 8, 20, 45, 90])), int(random.choice([5, 60, 400, 3000]))
    inner = int(random.integers(1, 5))
    Z = random.normal(size=(n, inner)) if seed % 3 else random.lognormal(sigma=1.5, size=(n, inner))
    X = Z @ random.normal(size=(inner, d)) + random.choice([0.01, 0.3, 3.0]) * random.normal(size=(n, d))
    if seed % 4 == 0:
        X[:, 1:] = X[:, :1] + 0.05 * X[:, 1:]
    names = [
        f"{random.choice(WORDS)} {j}" if seed % 5 else f"a name that begins like all others {j} [mm]" for j in range(d)
    ]
    kind = [None, random.integers(0, 4, n).astype(float), random.normal(size=n)][seed % 3]
    size = [None, "4x3", "6x9", "12x4"][int(random.integers(4))]
    return pd.DataFrame(X, columns=names), kind, seed % 3 == 2, size, ["rows", "columns"][seed % 2]


@pytest.mark.parametrize("seed", range(16 * TIMES))
def test_names_of_any_table_meet_nothing(seed, monkeypatch):
    monkeypatch.setattr(clouds, "MAX_MARKS", 1000)
    frame, kind, numeric, size, scaling = random_case(seed)
    plot_data, scores = view_of(frame, kind, numeric=numeric, standardize=bool(seed % 2), scaling=scaling)
    check_biplot(drawn("biplot", plot_data, PictureOptions(size=size)), plot_data, scores)


@pytest.mark.parametrize("dpi", [72, 220])
def test_names_are_as_wide_as_they_were_measured(dpi):
    """In a raster, where letters are rounded to its pixels, and in .svg and .pdf, where they are not."""
    from matplotlib.backends.backend_svg import RendererSVG

    frame, *_, scaling = random_case(10)
    plot_data, scores = view_of(frame, scaling=scaling)
    look = PictureOptions(size=(7, 5), dpi=dpi)
    figure = drawn("biplot", plot_data, look)
    assert figure.dpi == dpi
    assert check_biplot(figure, plot_data, scores) > 10
    figure.set_dpi(72)
    svg = RendererSVG(7 * 72, 5 * 72, io.StringIO(), image_dpi=dpi)
    figure.draw(svg)
    boxes = [text.get_window_extent(svg) for text in named_in(figure.axes[0], plot_data)]
    assert not any(overlap(a, b) for a, b in itertools.combinations(boxes, 2))


@pytest.mark.parametrize("seed", range(10 * TIMES))
def test_no_name_of_loadings_meets_anything(seed):
    frame, _, _, size, _ = random_case(seed)
    model = pcatool.fit(frame, standardize=True, components=min(4, *frame.shape))
    axes = tuple(range(1, model.k + 1))
    plot_data = PlotData(
        axes, "", model.variance.share[: model.k], None, model.columns, model.basis, brief="standardised"
    )
    figure = drawn("loadings", plot_data, PictureOptions(size=size))
    texts = texts_outside(figure, [])
    boxes = [(text.get_text(), text.get_window_extent()) for text in texts if text.get_window_extent().width > 0]
    for (one, a), (other, b) in itertools.combinations(boxes, 2):
        assert not overlap(a, b), (one, other)
    for panel in figure.axes:
        if not panel.get_visible():
            continue
        for name in panel.get_yticklabels():
            box = name.get_window_extent()
            assert not any(overlap(box, other.get_window_extent()) for other in figure.axes if other.get_visible())
        for text in panel.texts:
            if text.get_fontsize() == 7.5:
                assert text.get_window_extent().x1 <= panel.get_window_extent().x1 + 1
                assert text.get_window_extent().x0 >= panel.get_window_extent().x0 - 1
                assert not any(overlap(text.get_window_extent(), bar.get_window_extent()) for bar in panel.patches)


# --- the ground ---


def test_a_name_lies_beside_its_arrow_or_has_a_leader():
    ground = OccupiedArea(300, 200)
    origin, tip = np.array([150.0, 100.0]), np.array([[200.0, 100.0]])
    place = place_names(ground, origin, tip, np.array([[40.0, 10.0]]))[0]
    assert place.leader is None and place.left > 200
    crowded = OccupiedArea(300, 200)
    x, y = np.meshgrid(np.arange(120.0, 260, 4), np.arange(40.0, 160, 4))
    crowded.add_marks(np.column_stack([x.ravel(), y.ravel()]), 2.0)
    place = place_names(crowded, origin, tip, np.array([[20.0, 10.0]]))[0]
    assert place.leader is not None and (place.left > 258 or place.right < 120 or place.bottom > 158 or place.top < 40)


def test_where_there_is_no_room_there_is_no_name():
    full = OccupiedArea(100, 50)
    x, y = np.meshgrid(np.arange(0.0, 100, 3), np.arange(0.0, 50, 3))
    full.add_marks(np.column_stack([x.ravel(), y.ravel()]), 2.0)
    for ground, size in ((full, (20.0, 10.0)), (OccupiedArea(100, 50), (120.0, 10.0))):
        assert place_names(ground, np.array([50.0, 25.0]), np.array([[70.0, 30.0]]), np.array([size])) == [None]


def test_lines_that_cross_and_boxes_that_are_met():
    some = np.array([[0.0, 0.0, 10.0, 10.0], [0.0, 0.0, 10.0, 0.0]])
    assert crossings(some, np.array([[0.0, 10.0, 10.0, 0.0], [0.0, 0.0, 5.0, -9.0]])).tolist() == [1, 0]
    assert through_boxes(some, np.array([[6.0, 5.0, 9.0, 8.0]])).tolist() == [1, 0]


def test_names_with_one_beginning_show_where_they_differ():
    names = [f"concentration of substance {j} in the water" for j in range(12)]
    made = distinct_names(names, 20)
    assert len(set(made)) == 12 and all(len(name) <= 20 for name in made)
    assert made[11] == "conce…ance 11 in th…"
    assert distinct_names(["a", "b" * 30, "c"], 20) == ["a", "b" * 19 + "…", "c"]

"""Components as images: the right pixel in the right place and colour, the same bytes each time."""

import io
import itertools
import re
import sys

import numpy as np
import pytest

from pcatool.errors import UsageError
from pcatool.render.component_images import centred_levels, component_picture, grid_columns, image_layout
from pcatool.render.figures import DPI, PICTURES

MAGIC = {"png": b"\x89PNG\r\n\x1a\n", "svg": b"<?xml", "pdf": b"%PDF-"}
CAPTION = ("3 components", "centred, not standardised, divisor n (ddof 0)")

SHAPES = [(8, 8), (112, 92), (1, 1), (1, 64), (64, 1), (3, 5)]


def waves(k, shape):
    """Orthonormal images, frozen: what is drawn stays as it is."""
    B = np.linalg.qr(np.random.default_rng(0).normal(size=(shape[0] * shape[1], k)))[0]
    B.flags.writeable = False
    return B


def picture(k=3, shape=(8, 8), form="png", mean="ramp", caption=CAPTION, basis=None):
    d = shape[0] * shape[1]
    means = {"ramp": np.arange(float(d)), "none": None, "even": np.full(d, 3.0), "huge": np.linspace(-1, 1, d) * 1e308}
    k = min(k, d)
    basis = waves(k, shape) if basis is None else basis
    return component_picture(means[mean], basis, 0.5 ** np.arange(1, k + 1), shape=shape, form=form, caption=caption)


@pytest.mark.parametrize("form", PICTURES)
@pytest.mark.parametrize("shape", SHAPES)
def test_the_file_is_of_its_kind_and_the_same_each_time(shape, form):
    first = picture(shape=shape, form=form)
    assert first.startswith(MAGIC[form])
    assert picture(shape=shape, form=form) == first


@pytest.mark.parametrize("form", PICTURES)
def test_no_clock_and_no_version_in_the_file(form):
    assert not re.search(rb"\d{4}-\d{2}-\d{2}T|CreationDate|[Mm]atplotlib v|Software", picture(form=form))


@pytest.mark.parametrize("mean", ["none", "even", "huge"])
def test_any_mean_can_be_drawn(mean):
    svg = picture(form="svg", mean=mean)
    assert (b"<!-- mean -->" in svg) == (mean != "none")
    assert svg != picture(form="svg")


def test_panels_are_named_and_say_their_share():
    svg = picture(form="svg").decode()
    for text in ("mean", "PC1", "PC2", "PC3", "50.00%", "25.00%", "12.50%", "loading", "3 components"):
        assert f"<!-- {text} -->" in svg
    assert "<!-- PC4 -->" not in svg


@pytest.mark.parametrize("caption", [[r"$\frac{$ and $x$"], ["花びら"], ["a\x00\nb"], ["long words " * 40], [""], []])
def test_any_caption_can_be_drawn(caption):
    assert picture(caption=caption).startswith(MAGIC["png"])


def pixels(data):
    from matplotlib.image import imread

    return imread(io.BytesIO(data))[:, :, :3]


def seen(image, box, shape, i, j):
    """The colour in the middle of a pixel of a panel."""
    x = box.x + (j + 0.5) / shape[1] * box.w
    y = box.y + (i + 0.5) / shape[0] * box.h
    return image[int(y * DPI), int(x * DPI)]


@pytest.mark.parametrize("shape", [(3, 5), (8, 8), (5, 3), (1, 64)])
def test_columns_are_pixels_line_by_line(shape):
    """The first component is one pixel above 0, the second one below: red and blue in their places, white elsewhere."""
    H, W = shape
    basis = np.zeros((H * W, 2))
    places = [(0, W - 2), (H - 1, 1)]
    for m, (i, j) in enumerate(places):
        basis[i * W + j, m] = 1 - 2 * m
    image = pixels(picture(k=2, shape=shape, basis=basis))
    layout = image_layout(2, shape, with_mean=True, lines=3)
    for m, place in enumerate(places):
        for i, j in itertools.product(range(H), range(W)):
            red, green, blue = seen(image, layout.panels[m], shape, i, j)
            if (i, j) == place:
                assert (red > blue) == (m == 0)
                assert abs(red - blue) > 0.2
            else:
                assert min(red, green, blue) > 0.99


def test_the_mean_goes_from_black_to_white():
    layout = image_layout(3, (8, 8), with_mean=True, lines=3)
    image = pixels(picture())
    greys = np.array([seen(image, layout.mean, (8, 8), i, j) for i, j in itertools.product(range(8), range(8))])
    assert np.all(np.ptp(greys, axis=1) == 0)
    assert np.all(np.diff(greys[:, 0]) > 0)
    assert (greys[0, 0], greys[-1, 0]) == (0, 1)


def test_all_components_share_one_scale():
    """A component spread over many pixels is paler than one of few."""
    basis = np.zeros((64, 2))
    basis[0, 0], basis[1:50, 1] = 1, 1 / 7
    image = pixels(picture(k=2, basis=basis))
    panels = image_layout(2, (8, 8), with_mean=True, lines=3).panels
    strong, pale = seen(image, panels[0], (8, 8), 0, 0), seen(image, panels[1], (8, 8), 0, 1)
    assert strong.sum() < 1
    assert pale.sum() > 2.5


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("k", [1, 2, 7, 16, 36, 100])
@pytest.mark.parametrize("with_mean", [True, False])
def test_nothing_overlaps_and_all_is_inside(shape, k, with_mean):
    layout = image_layout(k, shape, with_mean=with_mean, lines=5)
    boxes = [*layout.panels, *([layout.mean] if with_mean else [])]
    assert len(layout.panels) == k
    for box in boxes:
        assert min(box.x, box.y, layout.width - box.x - box.w, layout.height - box.y - box.h) > 0.1
        assert min(box.w, box.h) > 0.2
    for a, b in itertools.combinations(boxes, 2):
        apart = max(a.x - b.x - b.w, b.x - a.x - a.w, a.y - b.y - b.h, b.y - a.y - a.h)
        assert apart > 0.05


def test_the_grid_is_nearly_square():
    assert [grid_columns(k, 1.0) for k in (1, 4, 9, 16, 36)] == [1, 2, 3, 4, 6]
    assert grid_columns(36, 4.0) > 9  # tall images side by side
    assert grid_columns(36, 0.25) < 4


def test_zero_is_in_the_middle():
    np.testing.assert_array_equal(centred_levels(np.array([-2.0, 0.0, 1.0, 2.0]), 2.0), [0, 0.5, 0.75, 1])


def test_the_settings_of_the_caller_change_nothing_and_stay():
    import matplotlib

    plain = picture(form="svg")
    with matplotlib.rc_context({"image.origin": "lower", "font.size": 30, "svg.hashsalt": "mine"}):
        assert picture(form="svg") == plain
        assert matplotlib.rcParams["image.origin"] == "lower"


def test_without_matplotlib_the_message_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(UsageError, match=r"needs matplotlib; run pip install 'pcatool\[plot\]'"):
        picture()


def test_an_unknown_form_is_refused():
    with pytest.raises(UsageError, match="unknown picture format 'gif'; choose png, svg, pdf"):
        picture(form="gif")

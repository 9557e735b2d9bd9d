"""What all pictures share: colours that are told apart in grey and by the colour-blind, and texts as they are."""

import itertools

import numpy as np
import pytest

from pcatool.errors import RefusedError, UsageError
from pcatool.options import PictureOptions
from pcatool.render.figures import (
    CLASS_COLORS,
    DENSITY,
    KEPT,
    LEFT,
    MARK,
    MARKERS,
    MOST_PIXELS,
    NUMBERS,
    draw_titles,
    figure_file,
    new_figure,
    number_colormap,
    plain_matplotlib,
    shortened,
    signed,
)

# Machado, Oliveira and Fernandes (2009), table 1, of full severity; they work on linear RGB.
SIGHT = {
    "normal": np.eye(3),
    "protanopia": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "deuteranopia": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
}
# Of sRGB (IEC 61966-2-1) and the white D65.
TO_XYZ = np.array(
    [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503]]
)
WHITE = np.array([0.95047, 1.0, 1.08883])


def lab(color, sight="normal"):
    """CIE L*a*b* of a colour as it is seen."""
    srgb = np.array([int(color[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    linear = np.where(srgb <= 0.04045, srgb / 12.92, ((srgb + 0.055) / 1.055) ** 2.4)
    x, y, z = np.cbrt(TO_XYZ @ np.clip(SIGHT[sight] @ linear, 0, 1) / WHITE)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


@pytest.mark.parametrize("sight", SIGHT)
def test_neighbouring_colours_stay_apart(sight):
    """A difference of 2.3 is just seen; these are for small marks, far from each other."""
    for a, b in itertools.pairwise(CLASS_COLORS):
        assert np.linalg.norm(lab(a, sight) - lab(b, sight)) > 40, (a, b)
    for a, b in itertools.combinations(CLASS_COLORS, 2):
        assert np.linalg.norm(lab(a, sight) - lab(b, sight)) > 13, (a, b)
    for a, b in itertools.combinations((KEPT, LEFT, MARK), 2):
        assert np.linalg.norm(lab(a, sight) - lab(b, sight)) > 30, (a, b)


def test_neighbouring_colours_differ_in_grey():
    assert all(abs(lab(a)[0] - lab(b)[0]) > 10 for a, b in itertools.pairwise(CLASS_COLORS))


def test_more_rows_are_darker():
    lightness = [lab(color)[0] for color in DENSITY]
    assert np.all(np.diff(lightness) < -10)
    assert lightness[0] < 80, "the lightest is seen on white"


def test_numbers_are_coloured_as_in_viridis():
    import matplotlib

    at = np.linspace(0, 1, 256)
    assert np.abs(number_colormap()(at) - matplotlib.colormaps["viridis"](at)).max() < 0.02
    assert np.all(np.diff([lab(color)[0] for color in NUMBERS]) > 2)


@pytest.mark.parametrize(("value", "text"), [(-0.123, "\N{MINUS SIGN}0.12"), (-0.001, "0.00"), (2.0, "2.00")])
def test_a_minus_is_one_and_zero_has_none(value, text):
    assert signed(value, 2) == text


def test_classes_have_marks_of_their_own():
    assert len(set(MARKERS)) == len(set(CLASS_COLORS)) == len(MARKERS)


def test_names_are_made_to_fit():
    assert shortened("x" * 40) == "x" * 27 + "…"
    assert shortened("a\nb") == "a\\nb"


def test_a_picture_too_large_is_refused():
    look = PictureOptions("100x100", "2400")
    with (
        plain_matplotlib(),
        pytest.raises(
            RefusedError,
            match=r"240,000 x 240,000 pixels is too large: the limit is 100,000,000 pixels; .* --size or --dpi",
        ),
    ):
        new_figure(look)  # before texts are measured with all its pixels
    with plain_matplotlib(), pytest.raises(RefusedError, match="pixels is too large"):
        figure_file(new_figure(PictureOptions()), "png", look)
    assert MOST_PIXELS < 240000**2


@pytest.mark.parametrize("dpi", [60, 72, 150, 300])
@pytest.mark.parametrize("width", [4, 6.5])
def test_titles_are_not_wider_than_their_picture(dpi, width):
    wide = "WIDE NAMES OF MANY COLUMNS " * 5
    for title, below in (("Eigenvalues and cumulative shares", "i" * 40), (wide, wide)):
        with plain_matplotlib():
            figure = new_figure(PictureOptions((width, 3), dpi))
            rows, drawn = draw_titles(figure, figure.subplots(), title, below)
            assert rows == len(drawn[0].get_text().splitlines())
            assert all(text.get_window_extent().x1 < width * dpi for text in drawn)


def test_size_and_fineness_make_the_pixels():
    for size, dpi, pixels in ((None, None, (1200, 900)), ("4x3", None, (600, 450)), ((4, 2.5), 100, (400, 250))):
        look = PictureOptions(size, dpi)
        with plain_matplotlib():
            png = figure_file(new_figure(look), "png", look)
        assert tuple(int.from_bytes(png[i : i + 4], "big") for i in (16, 20)) == pixels


@pytest.mark.parametrize("size", ["8", "8x", "1x5", "8x101", "8x6x4", "-8x6", "8 x 6", "٨x٦", "", "nanx5", "1e1x5"])
def test_other_sizes_are_refused(size):
    with pytest.raises(
        UsageError, match="is not a width and a height from 2 to 100 inches; give width x height in inches"
    ):
        PictureOptions(size)


@pytest.mark.parametrize("dpi", ["0", "19", "2401", "a", "", "-100", "1e2", "nan"])
def test_other_finenesses_are_refused(dpi):
    with pytest.raises(UsageError, match="is not a number from 20 to 2400; give pixels per inch, such as 150"):
        PictureOptions(dpi=dpi)

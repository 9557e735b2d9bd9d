"""Pictures: the right kind of file, the same bytes each time, on any machine that has matplotlib."""

import itertools
import logging
import os
import re
import subprocess
import sys
import warnings
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import pcatool
from pcatool.errors import UsageError
from pcatool.model.model import VarianceTable
from pcatool.options import PictureOptions
from pcatool.render.figures import PICTURES, in_units, picture_form, plain_matplotlib
from pcatool.render.scree import FIRST_COMPONENTS, ScreeLook, scree_figure, scree_picture
from pcatool.rules.base import Verdict
from pcatool.wording import percent

pytestmark = pytest.mark.long

MAGIC = {"png": b"\x89PNG\r\n\x1a\n", "svg": b"<?xml", "pdf": b"%PDF-"}

SPECTRA = {
    "houses": ([21.6, 0.0], 2),
    "one": ([5.0], 1),
    "tiny": ([1e-310, 1e-311], 1),
    "huge": ([1e308, 3e307, 1.0], 2),
    "most_bars": (np.arange(40, 0, -1), 12),
    "hundreds": (np.arange(1.0, 785) ** -1.5, 331),
    "hundreds_all_kept": (np.arange(1.0, 785) ** -1.5, 784),
}


def table_of(eigenvalues):
    eigenvalues = np.array(eigenvalues, dtype=float)
    return VarianceTable.of(eigenvalues, float(eigenvalues.sum()))


def picture(name, form, title="model.npz"):
    eigenvalues, kept = SPECTRA[name]
    return scree_picture(table_of(eigenvalues), kept=kept, form=form, title=title)


made = cache(picture)  # drawn once for all tests that only look at it


@pytest.mark.parametrize("form", PICTURES)
@pytest.mark.parametrize("name", SPECTRA)
def test_the_file_is_of_its_kind_and_the_same_each_time(name, form):
    first = made(name, form)
    assert first.startswith(MAGIC[form])
    if form == "png" or name in ("houses", "hundreds"):
        assert picture(name, form) == first


@pytest.mark.parametrize("form", PICTURES)
def test_no_clock_and_no_version_in_the_file(form):
    data = made("houses", form)
    assert not re.search(rb"\d{4}-\d{2}-\d{2}T|CreationDate|[Mm]atplotlib v|Software", data)


def test_different_models_look_different():
    assert len({made(name, "png") for name in SPECTRA}) == len(SPECTRA)
    table = table_of(SPECTRA["hundreds"][0])
    assert len({scree_picture(table, kept=k, form="svg", title="") for k in (1, 2, 300)}) == 3
    every = ScreeLook(all_components=True)
    assert len({scree_picture(table, kept=k, form="svg", title="", scree=every) for k in (1, 2, 300)}) == 3


@pytest.mark.parametrize("name", ["tiny", "huge", "most_bars"])
def test_kept_components_are_blue_and_the_others_grey(name):
    svg = made(name, "svg").lower()
    assert b"fill: #0072b2" in svg
    assert b"fill: #b8b8b8" in svg
    assert b"nan" not in svg and b"inf" not in svg.replace(b"info", b"")


def test_there_is_one_blue_bar_for_each_kept_component():
    table = table_of(SPECTRA["most_bars"][0])
    blue = [scree_picture(table, kept=k, form="svg", title="").lower().count(b"fill: #0072b2") for k in range(1, 6)]
    assert np.diff(blue).tolist() == [1, 1, 1, 1]


@pytest.mark.parametrize(
    ("values", "drawn", "unit"),
    [
        ([21.6, 0.5], [21.6, 0.5], ""),
        ([2e300, 1e300, 0.0], [2, 1, 0], " / 1e300"),
        ([4e-320, 0.0], [4, 0], " / 1e-320"),
        ([3e-4], [3], " / 1e-4"),
        ([0.0], [0], ""),
    ],
)
def test_the_axis_is_of_numbers_that_can_be_drawn(values, drawn, unit):
    found = in_units(np.array(values))
    np.testing.assert_allclose(found[0], drawn, rtol=1e-3)
    assert found[1] == unit


@pytest.mark.parametrize("form", PICTURES)
@pytest.mark.parametrize("title", [r"$\frac{$ and $x$.npz", "花びら.npz", "a\x00\nb", "long words " * 40, ""])
def test_any_title_can_be_drawn(title, form):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", pcatool.PcatoolNote)
        assert picture("houses", form, title).startswith(MAGIC[form])


def test_the_settings_of_the_caller_change_nothing_and_stay(monkeypatch):
    import matplotlib

    log = logging.getLogger("matplotlib")
    monkeypatch.setattr(log, "level", logging.INFO)

    plain = picture("houses", "svg")
    with matplotlib.rc_context({"lines.linewidth": 9, "font.size": 30, "svg.hashsalt": "mine"}):
        assert picture("houses", "svg") == plain
        assert matplotlib.rcParams["font.size"] == 30
        assert matplotlib.rcParams["svg.hashsalt"] == "mine"
    assert log.level == logging.INFO


def test_a_job_without_display_and_home_draws_in_silence(tmp_path):
    (tmp_path / "file").touch()
    code = (
        "import sys, numpy as np; from pcatool.model.model import VarianceTable;"
        "from pcatool.render.scree import scree_picture;"
        "picture = scree_picture(VarianceTable.of(np.array([2.0, 1.0]), 3.0), kept=1, form='png', title='x');"
        "assert 'matplotlib.pyplot' not in sys.modules; sys.stdout.buffer.write(picture)"
    )
    gone = ("DISPLAY", "WAYLAND_DISPLAY", "MPLBACKEND", "MPLCONFIGDIR", "XDG_CONFIG_HOME", "XDG_CACHE_HOME")
    environment = {name: value for name, value in os.environ.items() if name not in gone}
    environment["HOME"] = str(tmp_path / "file" / "home")  # no folder can be made there
    environment["PYTHONPATH"] = os.pathsep.join(sys.path)
    run = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, check=False)
    assert (run.returncode, run.stderr.decode()) == (0, "")
    assert run.stdout.startswith(MAGIC["png"])


def test_without_matplotlib_the_message_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(UsageError) as caught:
        picture("houses", "png")
    assert caught.value.exit_code == 2
    assert str(caught.value) == (
        "drawing a picture needs matplotlib; run pip install 'pcatool[plot]'; "
        "charts on a terminal and tables do not need matplotlib"
    )


@pytest.mark.parametrize("broken", [True, False], ids=["broken", "bad backend"])
def test_a_matplotlib_that_does_not_load_is_no_traceback(broken, tmp_path):
    code = (
        "import numpy as np; from pcatool.errors import UsageError; from pcatool.model.model import VarianceTable;"
        "from pcatool.render.scree import scree_picture\n"
        "try: scree_picture(VarianceTable.of(np.array([2.0, 1.0]), 3.0), kept=1, form='png', title='x')\n"
        "except UsageError as error: print(error)"
    )
    environment = os.environ | {"MPLBACKEND": "no-such-backend", "PYTHONPATH": os.pathsep.join(sys.path)}
    if broken:
        (tmp_path / "matplotlib.py").write_text("raise ImportError('no-such-backend.so: cannot open')")
        environment["PYTHONPATH"] = os.pathsep.join([str(tmp_path), *sys.path])
    run = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert run.stdout.startswith("matplotlib does not load: "), run.stderr
    assert "no-such-backend" in run.stdout
    reinstall = "run pip uninstall matplotlib, then pip install 'pcatool[plot]'"
    assert run.stdout.rstrip().endswith(reinstall if broken else "unset the environment variable MPLBACKEND")


@pytest.mark.parametrize(("path", "form"), [("a.png", "png"), (Path("b/c.d.SVG"), "svg"), ("x y.Pdf", "pdf")])
def test_the_ending_says_the_form(path, form):
    assert picture_form(path) == form


@pytest.mark.parametrize("path", ["a.jpg", "png", "a.png.gz", "", ".png", "a.png/b"])
def test_other_endings_are_refused(path):
    with pytest.raises(UsageError, match=r"\.png, \.svg or \.pdf") as caught:
        picture_form(path)
    assert caught.value.exit_code == 2


def test_an_unknown_form_is_refused():
    with pytest.raises(UsageError, match="'gif'; choose png, svg, pdf"):
        picture("houses", "gif")


# --- on request ---


def drawn(name, **more):
    """The words of the picture."""
    eigenvalues, kept = SPECTRA[name]
    svg = scree_picture(table_of(eigenvalues), kept=kept, form="svg", title="", **more)
    return re.findall(r"<!-- (.*?) -->", svg.decode())


@pytest.mark.parametrize("name", ["houses", "hundreds", "tiny"])
def test_a_logarithmic_scale_leaves_out_what_is_0_and_says_so(name):
    said = drawn(name, scree=ScreeLook(log=True))
    assert any(text.startswith("eigenvalue") and text.endswith("(logarithmic)") for text in said)
    assert ("not shown: 1 eigenvalue equal to 0" in said) == (name == "houses")


def test_each_rule_is_named_with_what_it_picks():
    verdicts = [Verdict("kaiser", 12, ""), Verdict("elbow", 1, ""), Verdict("mle", None, "no"), Verdict("0.9", 12, "")]
    said = drawn("most_bars", verdicts=verdicts)
    assert {"kaiser", "elbow", "mle", "0.9", "does not apply", "rules (2 pick 12)"} <= set(said)
    assert said.count("12") == 2 and said.count("1") >= 1
    assert "rules" in drawn("most_bars", verdicts=verdicts[:2])


def figure_of(eigenvalues, kept=1, look=PictureOptions(), verdicts=(), **scree):  # noqa: B008
    with plain_matplotlib():
        figure = scree_figure(table_of(eigenvalues), kept, "title", ScreeLook(**scree), verdicts, look)
        figure.draw_without_rendering()
        return figure


def shares_of(axes):
    return [text for text in axes.texts if re.fullmatch(r"[<>]?[0-9.]+%", text.get_text())]


def test_the_first_components_are_on_a_linear_axis_with_bars_points_and_shares():
    above, below = figure_of(SPECTRA["hundreds"][0], kept=12).axes
    assert below.get_xscale() == above.get_xscale() == above.get_yscale() == "linear"
    assert below.get_xlim() == (0.5, FIRST_COMPONENTS + 0.5) and below.get_xlabel() == "component"
    assert len(above.patches) == FIRST_COMPONENTS and len(above.lines[0].get_xdata()) == FIRST_COMPONENTS
    eigenvalues = np.array(SPECTRA["hundreds"][0])
    shares = [text.get_text() for text in shares_of(above)]
    assert shares == [percent(share) for share in (eigenvalues / eigenvalues.sum())[: len(shares)]]
    assert len(shares) == 10


def test_all_components_and_logarithms_only_where_they_are_asked_for():
    eigenvalues = SPECTRA["hundreds"][0]
    above, below = figure_of(eigenvalues, all_components=True).axes
    assert below.get_xlim()[1] == 784.5 and below.get_xscale() == "linear"
    above, below = figure_of(eigenvalues, all_components=True, log_components=True).axes
    assert (below.get_xscale(), above.get_yscale()) == ("log", "linear")
    assert below.get_xlabel() == "component (logarithmic)"
    assert figure_of(eigenvalues, log=True).axes[0].get_yscale() == "log"


@pytest.mark.parametrize("size", [None, "4x3", "5x8", "14x6"])
@pytest.mark.parametrize("name", SPECTRA)
def test_shares_and_marks_of_a_scree_meet_nothing(name, size):
    eigenvalues, kept = SPECTRA[name]
    figure = figure_of(eigenvalues, kept, PictureOptions(size))
    above = figure.axes[0]
    boxes = [text.get_window_extent() for text in above.texts if text.get_text() not in ("title", "Eigenvalues and")]
    boxes += [label.get_window_extent() for axes in figure.axes for label in axes.get_xticklabels() if label.get_text()]
    for a, b in itertools.combinations(boxes, 2):
        assert not (a.x0 < b.x1 and b.x0 < a.x1 and a.y0 < b.y1 and b.y0 < a.y1)
    for text in shares_of(above):
        box = text.get_window_extent()
        assert box.y1 < above.get_window_extent().y1
        for bar in above.patches:
            other = bar.get_window_extent()
            assert not (box.x0 < other.x1 and other.x0 < box.x1 and box.y0 < other.y1)


@pytest.mark.parametrize("size", [None, "5x5", "7x4.5"])
def test_names_of_rules_meet_nothing(size):
    verdicts = [Verdict(f"marchenko-pastur-{j}", j + 1, "") for j in range(13)]
    with plain_matplotlib():
        look = PictureOptions(size)
        figure = scree_figure(table_of(np.arange(40, 0, -1)), 12, "title", ScreeLook(), verdicts, look)
        figure.draw_without_rendering()
        axes = figure.axes[2]
        for texts in (axes.get_yticklabels(), axes.texts):
            boxes = [text.get_window_extent() for text in texts]
            assert len(boxes) == 13
            for a, b in itertools.combinations(boxes, 2):
                assert not (a.x0 < b.x1 and b.x0 < a.x1 and a.y0 < b.y1 and b.y0 < a.y1)


def test_what_lies_past_the_last_component_shown_is_named_with_an_arrow():
    said = [text.get_text() for text in figure_of(SPECTRA["hundreds"][0], kept=331).axes[0].texts]
    assert any(text.startswith("k = 331 kept: ") and text.endswith("\N{RIGHTWARDS ARROW}") for text in said)
    late = np.concatenate([np.full(50, 10.0), np.full(10, 0.001)])
    said = [text.get_text() for text in figure_of(late, kept=3).axes[0].texts]
    assert "largest drop: after 50 \N{RIGHTWARDS ARROW}" in said


def test_pictures_are_as_large_as_asked_for():
    for look, size in (
        (PictureOptions("4x3", 50), (200, 150)),
        (PictureOptions(), (1200, 900)),
        (PictureOptions(dpi=75), (600, 450)),
    ):
        data = scree_picture(table_of([2.0, 1.0]), kept=1, form="png", title="", picture=look)
        assert tuple(int.from_bytes(data[i : i + 4], "big") for i in (16, 20)) == size


def test_from_python_what_is_for_a_picture_needs_one(tmp_path):
    X = np.random.default_rng(0).normal(size=(20, 3))
    scales = ({"log": True}, {"log_components": True}, {"all_components": True})
    for wish in (*scales, {"rules": "all"}, {"size": "4x3"}, {"dpi": 50}):
        with pytest.raises(UsageError, match="all_components, rules, size and dpi need a picture; give output"):
            pcatool.scree(X, **wish)
    for wish in ({"size": "4x3"}, {"dpi": 50}):
        with pytest.raises(UsageError, match="size and dpi need a picture; give image and output, as in image="):
            pcatool.components(X, **wish)
    with pytest.raises(
        UsageError, match="width has no effect on a picture; give the width and height of the picture in inches"
    ):
        pcatool.scree(X, output=tmp_path / "a.svg", width=40)
    assert not (tmp_path / "a.svg").exists()
    pcatool.scree(X, output=tmp_path / "a.svg", rules=["kaiser", "0.9"], log=True)
    assert {"<!-- kaiser -->", "<!-- 0.9 -->"} <= set(re.findall(r"<!-- .*? -->", (tmp_path / "a.svg").read_text()))
    pcatool.components(X, image="1x3", output=tmp_path / "b.png", size=(4, 2), dpi=50)
    assert [int.from_bytes((tmp_path / "b.png").read_bytes()[i : i + 4], "big") for i in (16, 20)] == [200, 100]

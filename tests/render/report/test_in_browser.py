"""The page in a real browser, used as a person would: by mouse, by touch and by keyboard alone.

One browser for all, as it takes seconds to start: one test, for one process of a run in several.
"""

from __future__ import annotations

import io
import json
import os
import re
from base64 import b64decode
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.image import imread

import pcatool
from pcatool.model.model import Model
from pcatool.pipeline.loadings import MATRICES
from pcatool.render.plots.arrow_names import through_boxes
from render.report.chromium import PROGRAM, Browser, browser

pytestmark = pytest.mark.long(first=True)

ROOT = Path(__file__).resolve().parents[3]
DIGITS, ORDERS = (ROOT / "sample_data" / f"{name}.csv" for name in ("digits", "orders"))

needs_chromium = pytest.mark.skipif(
    PROGRAM is None and "CI" not in os.environ, reason="the page is looked at in Chromium, and there is none"
)

HANDLE = "#scree-drawing .handle"


@needs_chromium
def test_the_page_in_a_browser(tmp_path: Path) -> None:
    model = pcatool.fit(DIGITS, exclude="digit", components=0.95)
    pages = {
        name: tmp_path / f"{name}.html" for name in ("digits", "hostile", "kernel", "wide", "few", "cancer", "large")
    }
    digits = pd.read_csv(DIGITS)[:400]
    pcatool.save_model(model, tmp_path / "digits.npz")
    pcatool.report(tmp_path / "digits.npz", digits, color="digit", image=(8, 8), output=pages["digits"])
    pcatool.report(pcatool.fit(digits, exclude="digit", method="kernel", components=1), digits, output=pages["kernel"])
    pcatool.report(pcatool.fit(np.eye(150, 300) - 1.0), output=pages["wide"])
    hostile(pages["hostile"])
    few = pd.DataFrame({"a": [1.0, 2.5, 4.0, 3.0, 7.5], "b": [2.0, 1.0, 5.5, 0.0, 9.0], "c": [1.0, 0.0, 2.0, 5.0, 4.0]})
    pcatool.report(pcatool.fit(few, components=3), few, output=pages["few"])
    pcatool.report(*many_like_columns(), output=pages["cancer"])
    pcatool.report(pcatool.fit(300 * few, components=3), 300 * few, output=pages["large"])
    with browser(tmp_path / "profile") as page:
        page.window(1180, 900)
        page.media(prefers_reduced_motion="reduce")  # nothing has to be waited for
        page.open(pages["digits"])
        the_threshold_can_be_dragged(page, model)
        the_threshold_goes_by_keys(page, model)
        components_go_one_by_one(page)
        the_eigenvalues_can_be_logarithms(page)
        loadings_are_those_of_the_model(page, model)
        loadings_can_be_sorted_searched_and_paged(page, model)
        a_row_can_be_pointed_at(page, model, digits)
        rows_go_by_keys(page)
        axes_can_be_chosen(page)
        categories_can_be_hidden(page)
        columns_can_be_shown_as_arrows(page, model)
        images_are_there(page)
        commands_can_be_copied(page)
        every_control_is_reached_by_tab_and_seen(page)
        elements_have_names_and_order(page)
        it_fits_a_telephone(page, pages.values())
        every_axis_has_three_ticks_on_a_telephone(page, pages.values())
        numbers_of_axes_are_not_cut(page, pages["large"])
        names_of_arrows_meet_nothing(page, pages["cancer"])
        the_threshold_can_be_touched(page, pages["digits"])
        it_goes_dark_and_to_paper(page, pages["digits"])
        names_do_nothing(page, pages["hostile"])
        many_eigenvalues_are_shown_in_part(page, pages["wide"])
        it_is_read_without_scripts(page, pages["digits"])
        assert page.complaints == []
        assert {url.partition(":")[0] for url in page.requests} <= {"file", "data"}
        assert {url for url in page.requests if url.startswith("file:")} == {p.as_uri() for p in pages.values()}


def hostile(place: Path) -> None:
    """Names and cells that would be scripts, and a colour of numbers."""
    names = ["</script><script>window.hacked = 1</script>", '"><img src=x onerror="window.hacked = 2">', "c"]
    X = np.random.default_rng(0).normal(size=(50, 3))
    frame = pd.DataFrame(X, columns=names).assign(note="<img src=x onerror=window.hacked=3>", size=X[:, 0].round(3))
    model = pcatool.fit(frame, columns=[*names], components=3)
    pcatool.report(model, frame, keep=["note"], color="size", output=place)


def many_like_columns() -> tuple[Model, pd.DataFrame]:
    """Thirty columns with long names, whose arrows nearly coincide."""
    random = np.random.default_rng(4)
    X = random.lognormal(size=(500, 3)) @ random.normal(size=(3, 30)) + 0.2 * random.normal(size=(500, 30))
    frame = pd.DataFrame(X, columns=[f"mean of the property {j} (µm)" for j in range(30)])
    return pcatool.fit(frame, standardize=True, components=3), frame


def said(page: Browser) -> str:
    return page.text("#scree-said")


def k_of(page: Browser) -> int:
    return int(page.text("#scree-k"))


# --- the scree ---


def the_threshold_can_be_dragged(page: Browser, model: Model) -> None:
    assert k_of(page) == model.k == 29
    assert "pcatool refit " in page.text("#scree-command code")
    page.drag(f"{HANDLE} .knob", 150)
    k = k_of(page)
    share = float(re.match(r"([0-9.]+)%", said(page))[1]) / 100  # type: ignore[index]
    assert k < 12
    assert k == model.variance.smallest_k(share)
    assert f"{100 * share:.2f}% needs {k} component" in said(page)
    assert f"capture {100 * model.variance.cumulative[k - 1]:.2f}% of the variance" in said(page)
    assert page.text("#scree-command code").endswith(f"digits.npz -k {k} -o digits-k{k}.npz")
    assert page.js("document.querySelectorAll('#scree-bars .kept').length") == k


def the_threshold_goes_by_keys(page: Browser, model: Model) -> None:
    page.js(f"document.querySelector({json.dumps(HANDLE)}).focus()")
    page.press("End")
    assert "100.00% needs 61 components" in said(page)
    page.press("ArrowDown")
    assert said(page).startswith("99.00% needs ")
    for key, text in (("PageDown", "95.00%"), ("ArrowRight", "96.00%"), ("ArrowLeft", "95.00%"), ("Home", "1.00%")):
        page.press(key)
        assert said(page).startswith(text), key
    page.press("ArrowUp", shift=True)
    assert said(page).startswith("1.10% needs 1 component.")
    assert (
        page.js(f"document.querySelector({json.dumps(HANDLE)}).getAttribute('aria-valuetext')")
        == "1.10% needs 1 component"
    )
    for share in (0.5, 0.9, 0.95, 0.99):  # every share gives what the program gives
        page.press("Home")
        for _ in range(round(share * 20)):
            page.press("PageUp")
        while not said(page).startswith(f"{100 * share:.2f}%"):
            page.press("ArrowDown")
        assert k_of(page) == model.variance.smallest_k(share)


def components_go_one_by_one(page: Browser) -> None:
    before = k_of(page)
    page.click("#scree-fewer")
    assert k_of(page) == before - 1
    page.click("#scree-more")
    assert k_of(page) == before


def the_eigenvalues_can_be_logarithms(page: Browser) -> None:
    height = "document.querySelectorAll('#scree-bars rect')[30].getBBox().height"
    low = page.js(height)
    page.click("input[name=scale][value=log]")
    assert page.js(height) > 5 * low
    assert "0.01" in page.js(
        "[...document.querySelectorAll('#scree-drawing svg > text')].map(text => text.textContent)"
    )
    page.click("input[name=scale][value=linear]")


def many_eigenvalues_are_shown_in_part(page: Browser, place: Path) -> None:
    page.window(1180, 900)
    page.open(place)
    assert page.text("#scree-leading") != page.text("#scree-all") == "all 150"
    page.click("input[name=range][value=all]")
    assert page.js("document.querySelectorAll('#scree-bars path').length") in (1, 2)
    page.press("End")


# --- the loadings ---


def table(page: Browser) -> list[list[str]]:
    rows = "[...document.querySelectorAll('#loadings-table tbody tr')]"
    found: list[list[str]] = page.js(f"{rows}.map(row => [...row.cells].map(cell => cell.textContent))")
    return found


def loadings_are_those_of_the_model(page: Browser, model: Model) -> None:
    """Every value that can be chosen, against the program's own."""
    for name, make in MATRICES.items():
        page.click(f"input[name=values][value={name}]")
        matrix, places = make(model), {column: i for i, column in enumerate(model.columns)}
        rows = table(page)
        assert len(rows) == 64
        shown = np.array([[float(cell.replace("\N{MINUS SIGN}", "-")) for cell in row[1:]] for row in rows])
        expected = matrix[[places[row[0]] for row in rows], : shown.shape[1]]
        assert np.abs(shown - expected).max() < (0.0051 if name == "contributions" else 0.00051), name
    page.click("input[name=values][value=loadings]")


def loadings_can_be_sorted_searched_and_paged(page: Browser, model: Model) -> None:
    def sort() -> Any:
        return page.js("[...document.querySelectorAll('#loadings-table th[aria-sort]')].map(th => th.ariaSort)")

    size = np.argsort(-np.abs(model.basis[:, 0]))
    assert sort()[1] == "descending"
    assert table(page)[0][0] == model.columns[size[0]]
    page.click("#loadings-table th[data-key='1'] button")
    assert (sort()[1:3], table(page)[0][0]) == (
        ["none", "descending"],
        model.columns[np.abs(model.basis[:, 1]).argmax()],
    )
    page.press("Enter")  # the button keeps the focus
    assert sort()[2] == "ascending"
    page.click("input[name=order][value=value]")
    assert table(page)[0][0] == model.columns[model.basis[:, 1].argmin()]
    page.click("#loadings-table th[data-key=column] button")
    assert [row[0] for row in table(page)] == [f"p{i}" for i in range(64)]
    page.click("#loadings-filter")
    page.write("p1")
    assert [row[0] for row in table(page)] == ["p1", *(f"p{i}" for i in range(10, 20))]
    assert page.text("#loadings-said") == "11 of 64 columns. "
    page.write("x")
    assert table(page) == [["No column name contains this text."]]
    page.press("Escape")  # empties a field to search in
    assert len(table(page)) == 64
    for _ in range(9):
        page.click("#loadings-on")
    assert page.text("#loadings-shown") == "25–29 of 29"
    assert page.js("document.querySelector('#loadings-on').disabled")


# --- the scores ---


def tip(page: Browser) -> list[str]:
    hidden = page.js("document.querySelector('#scores-tip').hidden")
    return (
        []
        if hidden
        else page.js("[...document.querySelectorAll('#scores-tip :is(strong, dt, dd)')].map(n => n.textContent)")
    )


def a_row_can_be_pointed_at(page: Browser, model: Model, digits: pd.DataFrame) -> None:
    x, y = page.middle("#scores-canvas")
    found: list[str] = []
    for step in range(0, 200, 10):
        page.mouse("mouseMoved", x + step, y)
        found = tip(page)
        if found:
            break
    assert found[0].startswith("row ")
    row = int(found[0][4:]) - 1
    known = dict(zip(found[1::2], found[2::2], strict=True))
    scores = pcatool.transform(model, digits[row : row + 1], keep="digit")
    assert known["digit"] == str(scores["digit"].iloc[0])
    for name in ("PC1", "PC2", "PC3"):
        assert float(known[name].replace("\N{MINUS SIGN}", "-")) == pytest.approx(scores[name].iloc[0], rel=1e-4)
    page.mouse("mouseMoved", 2, 2)
    assert tip(page) == []


def rows_go_by_keys(page: Browser) -> None:
    page.js("document.querySelector('#scores-canvas').focus()")
    page.press("Home")
    first = tip(page)
    page.press("ArrowRight")
    assert tip(page)[0] != first[0]
    assert page.text("#scores-picked").startswith(f"R{tip(page)[0][1:]}: digit ")
    page.press("ArrowLeft")
    assert tip(page) == first
    value = dict(zip(first[1::2], first[2::2], strict=True))["PC1"]
    lowest = page.js("Math.min(...JSON.parse(document.querySelector('#facts').textContent).scores.scores[0])")
    assert float(value.replace("\N{MINUS SIGN}", "-")) == pytest.approx(lowest, rel=1e-4)
    page.press("Escape")
    assert tip(page) == []


def pixels(page: Browser) -> str:
    return str(page.js("document.querySelector('#scores-canvas').toDataURL()"))


def axes_can_be_chosen(page: Browser) -> None:
    before = pixels(page)
    page.js(
        "{ const one = document.querySelector('#scores-y'); one.value = 3; one.dispatchEvent(new Event('change')) }"
    )
    assert pixels(page) != before
    page.js("document.querySelector('#scores-canvas').focus()")
    page.press("Home")
    assert tip(page)[3:7:2] == ["PC1", "PC4"]
    page.press("Escape")
    assert page.js("[...document.querySelector('#scores-x').options].at(-1).text") == "row number"


def categories_can_be_hidden(page: Browser) -> None:
    before = pixels(page)
    labels = page.js("[...document.querySelectorAll('#scores-legend button')].map(button => button.textContent)")
    assert labels == list("0123456789")
    page.click("#scores-legend li:nth-child(3) button")
    assert page.js("document.querySelector('#scores-legend li:nth-child(3) button').ariaPressed") == "false"
    assert pixels(page) != before
    page.click("#scores-legend li:nth-child(3) button")
    assert page.js("document.querySelector('#scores-legend li:nth-child(3) button').ariaPressed") == "true"


ARROWS = "document.querySelectorAll('#scores-over .shaft').length"


def columns_can_be_shown_as_arrows(page: Browser, model: Model) -> None:
    """By the keyboard, for components of which there are loadings; the text says by how much they are longer."""
    assert page.js(ARROWS) == 0
    page.js("document.querySelector('#scores-arrows').focus()")
    page.press("Enter")
    page.settle()
    assert page.js("document.querySelector('#scores-arrows').ariaPressed") == "true"
    assert page.js(ARROWS) == 60
    (zoom,) = re.findall(r"Arrows: loadings x ([0-9.]+), the 60 longest of 64", page.text("#scores-arrows-said"))
    one = "document.querySelector('#scores-over .shaft')"
    x1, y1, x2, y2 = page.js(f"['x1', 'y1', 'x2', 'y2'].map(name => Number({one}.getAttribute(name)))")
    arrows = model.basis[:, [0, 3]]  # the axes that were chosen last
    longest = arrows[np.argmax(np.hypot(*arrows.T))]
    assert np.hypot(x2 - x1, y2 - y1) > 40
    assert (x2 - x1) / (y1 - y2) == pytest.approx(longest[0] / longest[1], rel=1e-4)
    assert float(zoom) > 1
    page.js(
        "{ const one = document.querySelector('#scores-x'); one.value = 29; one.dispatchEvent(new Event('change')) }"
    )
    assert page.js("document.querySelector('#scores-arrows').disabled") and page.js(ARROWS) == 0
    assert page.text("#scores-arrows-said") == "No arrows for these axes."
    page.js(
        "{ const one = document.querySelector('#scores-x'); one.value = 0; one.dispatchEvent(new Event('change')) }"
    )
    assert page.js(ARROWS) == 60
    page.press("Enter")
    page.js("document.querySelector('#scores-arrows').click()")
    assert page.js(ARROWS) == 0


# --- the rest ---


def images_are_there(page: Browser) -> None:
    sizes = page.js(
        "[...document.querySelectorAll('.images img')].map(i => [i.complete, i.naturalWidth, i.naturalHeight])"
    )
    assert sizes == [[True, 8, 8]] * 29


def commands_can_be_copied(page: Browser) -> None:
    page("Browser.grantPermissions", permissions=["clipboardReadWrite", "clipboardSanitizedWrite"])
    page.click("#commands .copy")
    page.settle()
    assert page.text("#commands .copy") == "Copied"
    copied = page.js("navigator.clipboard.readText()")
    assert copied == page.text("#commands pre code")
    assert re.fullmatch(r"pcatool fit data.csv -c p0-p63 -k 0.95 -o \S*digits.npz", copied)


FOCUS = """{
  const found = document.activeElement, box = found.getBoundingClientRect();
  const parts = [found, found.nextElementSibling, found.querySelector('.knob')].filter(Boolean);
  const marked = look => parseFloat(look.outlineWidth) >= 2 && look.outlineStyle !== 'none';
  [found.tagName, found.id || found.textContent.slice(0, 20) || found.value,
   parts.map(one => getComputedStyle(one)).some(look => marked(look) || parseFloat(look.strokeWidth) >= 4),
   box.width > 0 && box.bottom > 0 && box.top < innerHeight]
}"""


def every_control_is_reached_by_tab_and_seen(page: Browser) -> None:
    """Each has a mark of focus, and is in the window; none is left out, and nothing holds the focus."""
    page.js("document.activeElement.blur(); scrollTo(0, 0); getSelection().removeAllRanges()")
    page.js("document.body.tabIndex = -1; document.body.focus(); document.body.removeAttribute('tabindex')")
    reached: list[str] = []
    for _ in range(200):
        page.press("Tab")
        if page.js("document.activeElement === document.body"):
            break
        tag, name, marked, inside = page.js(FOCUS)
        assert marked, (tag, name)
        assert inside, (tag, name)
        reached.append(f"{tag} {name}")
    controls = "a[href], button:not(:disabled), select, input[type=search], input:checked, summary, [tabindex='0']"
    visible = "one => one.checkVisibility()"
    wanted = page.js(f"[...document.querySelectorAll({json.dumps(controls)})].filter({visible}).length")
    assert len(reached) == wanted > 40
    for name in ("g ", "CANVAS scores-canvas", "SELECT scores-x", "BUTTON scree-fewer", "INPUT loadings-filter"):
        assert any(one.startswith(name) for one in reached), name


NAMES = """[...document.querySelectorAll('button, select, input, canvas[tabindex], [role=slider], [role=region], img')]
.filter(one => !(one.ariaLabel || one.alt || one.textContent.trim() || one.labels?.length)
).map(one => one.outerHTML.slice(0, 80))"""


def elements_have_names_and_order(page: Browser) -> None:
    assert page.js(NAMES) == []
    levels = [int(tag[1]) for tag in page.js("[...document.querySelectorAll('h1, h2, h3')].map(h => h.tagName)")]
    assert levels[0] == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))
    assert levels.count(1) == 1
    for landmark in ("header", "nav", "main", "footer", "html[lang=en]"):
        assert page.js(f"document.querySelectorAll('{landmark}').length") == 1, landmark
    assert page.js("[...document.querySelectorAll('table')].every(table => table.caption)")
    ids = page.js("[...document.querySelectorAll('[id]')].map(one => one.id)")
    assert len(set(ids)) == len(ids)


SMALL = """[...document.querySelectorAll('button, select, input[type=search], .switch label, summary, nav a')].filter(
  one => one.checkVisibility() && one.getBoundingClientRect().height < 40
).map(one => one.outerHTML.slice(0, 80))"""


def it_fits_a_telephone(page: Browser, places: Any) -> None:
    page.window(360, 740, scale=2, touch=True)
    for place in places:
        page.open(place)
        assert page.js("[document.documentElement.scrollWidth, innerWidth]") == [360, 360], place
        assert page.js(SMALL) == [], place


# What is written on canvases is taken down, with its place.
WRITTEN = """{ const write = CanvasRenderingContext2D.prototype.fillText; window.written = [];
  CanvasRenderingContext2D.prototype.fillText = function (text, x, y) {
    window.written.push([text, x, y, this.textAlign]); return write.call(this, text, x, y);
  } }"""
SCREE = """['start', 'middle', 'end'].map(side => [...document.querySelectorAll('#scree-drawing svg > text')].filter(
  text => (getComputedStyle(text).textAnchor || 'start') === side && text.textContent !== 'component').length)"""


def every_axis_has_three_ticks_on_a_telephone(page: Browser, places: Any) -> None:
    """Of the scree on both scales, and of the scores by every axis."""
    added = page("Page.addScriptToEvaluateOnNewDocument", source=WRITTEN)["identifier"]
    page.window(390, 844, scale=2, touch=True)
    for place in places:
        page.open(place)
        for scale in ("log", "linear"):
            page.click(f"input[name=scale][value={scale}]")
            ticks = page.js(SCREE)
            known = page.js("JSON.parse(document.querySelector('#facts').textContent).scree.eigenvalues.length")
            assert ticks[0] == 5 and ticks[1] >= min(3, known) and ticks[2] >= 3, (place, scale, ticks)
        if not page.js("document.querySelectorAll('#scores-canvas').length"):
            continue
        for which in ("x", "y"):
            count = page.js(f"document.querySelector('#scores-{which}').options.length")
            for axis in {0, min(1, count - 1), count - 1}:
                page.js("window.written.length = 0")
                page.js(f"document.querySelector('#scores-{which}').value = {axis}")
                page.js(f"document.querySelector('#scores-{which}').dispatchEvent(new Event('change'))")
                across = {text for text, x, y, side in page.js("written") if side == "center" and text[:1] not in "Pr"}
                up = {text for text, x, y, side in page.js("written") if side == "right"}
                assert len(across) >= 3 and len(up) >= 3, (place, which, axis, across, up)
    page("Page.removeScriptToEvaluateOnNewDocument", identifier=added)


def numbers_of_axes_are_not_cut(page: Browser, place: Path) -> None:
    """Those of six digits, of eigenvalues and of scores."""
    added = page("Page.addScriptToEvaluateOnNewDocument", source=WRITTEN)["identifier"]
    for width in (390, 1180):
        page.window(width, 844, touch=width < 600)
        page.open(place)
        page.click("input[name=scale][value=linear]")
        left = page.js("[...document.querySelectorAll('#scree-drawing svg > text')].map(text => text.getBBox().x)")
        longest = page.js("[...document.querySelectorAll('#scree-drawing svg > text')].map(text => text.textContent)")
        assert min(left) >= 0 and max(map(len, longest)) >= 6, longest
        up = [x - page.js(wide(text)) for text, x, y, side in page.js("written") if side == "right"]
        assert min(up) > 20, "the name of the axis ends there"
    page("Page.removeScriptToEvaluateOnNewDocument", identifier=added)


def wide(text: str) -> str:
    """Pixels of a number as the canvas draws it."""
    return f"document.querySelector('#scores-canvas').getContext('2d').measureText({json.dumps(text)}).width"


def names_of_arrows_meet_nothing(page: Browser, place: Path) -> None:
    """Neither each other nor arrows, rows and the edges of the drawing, on a telephone and on a desk."""
    for width, least in ((390, 5), (1180, 20)):
        page.window(width, 900, touch=width < 600)
        page.open(place)
        page.js("document.querySelector('#scores-arrows').click()")
        boxes = page.js(
            "{ const corner = document.querySelector('#scores-canvas').getBoundingClientRect();"
            " [...document.querySelectorAll('#scores-over text')].map(text => text.getBoundingClientRect()).map("
            "box => [box.left - corner.left, box.top - corner.top, box.right - corner.left, box.bottom - corner.top]) }"
        )
        lines = page.js(
            "[...document.querySelectorAll('#scores-over line')].map("
            "line => ['x1', 'y1', 'x2', 'y2'].map(name => Number(line.getAttribute(name))))"
        )
        said = page.text("#scores-arrows-said")
        without = int(re.search(r"([0-9]+) of 30 arrows have no name", said)[1]) if "no name" in said else 0  # type: ignore[index]
        assert len(boxes) == 30 - without >= least
        inner = np.array([[box[0] + 4, box[1] + 4, box[2] - 4, box[3] - 4] for box in boxes])
        assert not through_boxes(np.array(lines), inner).any()
        for one, other in combinations(boxes, 2):
            assert not (one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3])
        canvas = "document.querySelector('#scores-canvas')"
        size = page.js(f"[{canvas}.clientWidth, {canvas}.clientHeight]")
        middle = page.js(
            "['x1', 'y1'].map(name => Number(document.querySelector('#scores-over line').getAttribute(name)))"
        )
        assert not any(box[which] < middle[which] < box[which + 2] for box in boxes for which in (0, 1)), "zero lines"
        assert all(box[0] > 60 and box[1] > 14 and box[2] < size[0] - 14 and box[3] < size[1] - 46 for box in boxes)
        image = imread(io.BytesIO(b64decode(pixels(page).partition(",")[2])))
        for left, top, right, bottom in boxes:  # only grid lines, which are light
            part = image[round(top) + 2 : round(bottom) - 2, round(left) + 2 : round(right) - 2]
            assert part[part[..., 3] > 0, 0].min(initial=1) > 0.4, "no mark lies below a name"


def the_threshold_can_be_touched(page: Browser, place: Path) -> None:
    page.open(place)
    page.drag(f"{HANDLE} .knob", 60, touch=True)
    assert 3 < k_of(page) < 29
    x, y = page.middle("#scores-canvas")
    page("Input.dispatchTouchEvent", type="touchStart", touchPoints=[{"x": x, "y": y}])
    page("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])
    assert tip(page)[0].startswith("row ")


def it_goes_dark_and_to_paper(page: Browser, place: Path) -> None:
    page.window(1180, 900)
    page.open(place)
    ground = "getComputedStyle(document.body).backgroundColor"
    light, drawn = page.js(ground), pixels(page)
    page.media(prefers_color_scheme="dark", prefers_reduced_motion="reduce")
    assert page.js(ground) != light
    assert pixels(page) != drawn
    assert page.js("getComputedStyle(document.documentElement).scrollBehavior") == "auto"
    page("Emulation.setEmulatedMedia", media="print", features=[])
    assert page.js("getComputedStyle(document.querySelector('nav')).display") == "none"
    page("Emulation.setEmulatedMedia", media="", features=[])


def names_do_nothing(page: Browser, place: Path) -> None:
    page.open(place)
    page.js("document.querySelector('#scores-canvas').focus()")
    page.press("Home")
    assert "<img src=x onerror=window.hacked=3>" in tip(page)
    assert "</script><script>window.hacked = 1</script>" in [row[0] for row in table(page)]
    assert page.js("[typeof window.hacked, document.querySelectorAll('main img').length]") == ["undefined", 0]
    assert page.js("document.querySelectorAll('#scores-legend .shades').length") == 1


def it_is_read_without_scripts(page: Browser, place: Path) -> None:
    page("Emulation.setScriptExecutionDisabled", value=True)
    page.open_quietly(place)
    text = page.text_of_page()
    for wanted in (
        "29 components keep 95.48%",
        "JavaScript is off",
        "with the largest loadings on PC1",
        "accurate to at least",
    ):
        assert wanted in text
    page("Emulation.setScriptExecutionDisabled", value=False)

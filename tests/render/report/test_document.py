"""The page as text: nothing in the data is markup, the same rows give the same bytes, and it stays small."""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys
import warnings
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import pcatool
from pcatool.api.arguments import Warnings
from pcatool.model.model import SCIKIT_LEARN, Model
from pcatool.options import EngineOptions, FitOptions, PlotOptions, SelectOptions, TableOptions
from pcatool.options.showing import PageOptions
from pcatool.pipeline.fit import Job
from pcatool.pipeline.plot import collect_rows
from pcatool.pipeline.plot_request import PlotRequest
from pcatool.pipeline.report_page import POINTS
from pcatool.pipeline.results import hashes
from pcatool.readers.inputs import Inputs
from pcatool.render.report.document import color_styles

ROOT = Path(__file__).resolve().parents[3]
HOUSES, DIGITS, ORDERS = (ROOT / "sample_data" / f"{name}.csv" for name in ("houses", "digits", "orders"))
MODELS = ROOT / "tests" / "data" / "format_2"
PROGRAM = str(Path(sys.executable).with_name("pcatool"))


class Read(HTMLParser):
    """Elements with their attributes, and the text of each kind of element."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: dict[str, list[str]] = {}
        self._open: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in ("img", "input", "meta"):
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self._open:
            self.texts.setdefault(self._open[-1], []).append(data)

    def finished(self) -> Read:
        assert self._open == []
        return self

    @property
    def facts(self) -> dict[str, Any]:
        return json.loads(self.texts["script"][0])

    @property
    def words(self) -> str:
        return " ".join(text for tag, found in self.texts.items() if tag not in ("script", "style") for text in found)


def read(model: Any, data: Any = None, **settings: Any) -> Read:
    return Read(pcatool.report(model, data, **settings)).finished()


@pytest.fixture(scope="module")
def digits() -> Model:
    return pcatool.fit(DIGITS, exclude="digit", components=0.95)


# --- what comes from outside is text ---

HOSTILE = (
    "</script><img src=x onerror=alert(1)>",
    '"><b onclick="x">',
    "<!--",
    "@facts@",
    "]]>",
    "\u2028\u202e\x1b[2J",
    "&lt;i&gt;",
    "__proto__",
    "${alert(1)}",
    "'; alert(1) //",
)


def test_nothing_from_outside_is_markup(tmp_path: Path) -> None:
    X = np.random.default_rng(1).normal(size=(30, len(HOSTILE)))
    frame = pd.DataFrame(X, columns=list(HOSTILE))
    frame["kind <b>"] = [HOSTILE[i % 7] for i in range(30)]
    model = pcatool.fit(frame, components=3, exclude="kind <b>")
    place = tmp_path / "<img src=x>.npz"
    pcatool.save_model(model, place)
    page = pcatool.report(place, frame, color="kind <b>", keep=list(HOSTILE[:3]))
    found = Read(page).finished()
    kinds = [tag for tag, _ in found.elements]
    assert (kinds.count("script"), kinds.count("img"), kinds.count("b")) == (2, 0, 0)
    assert not any(name.startswith("on") for _, attributes in found.elements for name in attributes)
    assert found.facts["loadings"]["columns"][:5] == list(HOSTILE[:5])
    assert found.facts["loadings"]["columns"][5] == "\\u2028\\u202e\\x1b[2J"
    assert [name for name, _ in found.facts["scores"]["kept"]] == [*HOSTILE[:3], "kind <b>"]
    assert "\x1b" not in page
    assert "\u202e" not in page


def test_a_long_name_does_not_fill_the_page() -> None:
    frame = pd.DataFrame({"x" * 5000: [1.0, 2, 3], "y": [1.0, 5, 2]})
    found = read(pcatool.fit(frame, components=1), frame, keep="y")
    assert found.facts["loadings"]["columns"][0] == "x" * 197 + "..."


# --- the same rows, the same bytes ---


def test_every_route_gives_the_same_page(tmp_path: Path) -> None:
    """More rows than a page shows, as CSV, Parquet and a pipe that stops and goes; one thread and two."""
    n = 12_000
    X = np.round(np.random.default_rng(2).normal(size=(n, 4)), 3)
    frame = pd.DataFrame(X, columns=list("abcd")).assign(kind=[f"k{i % 5}" for i in range(n)])
    frame.to_csv(tmp_path / "x.csv", index=False)
    frame.to_parquet(tmp_path / "x.parquet", row_group_size=777)
    model = pcatool.fit(frame, exclude="kind", components=2)
    pcatool.save_model(model, tmp_path / "m.npz")
    first = [PROGRAM, "report", "m.npz"]
    then = ["--color", "kind", "--keep", "kind"]
    text = (tmp_path / "x.csv").read_bytes()
    by_pipe = subprocess.Popen([*first, "-", *then], cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert by_pipe.stdin is not None
    for at in range(0, len(text), 70_001):
        by_pipe.stdin.write(text[at : at + 70_001])
        by_pipe.stdin.flush()
    piped = by_pipe.communicate()[0].decode()
    place = tmp_path / "m.npz"
    settings: Any = {"color": "kind", "keep": "kind"}
    pages = [
        pcatool.report(place, tmp_path / "x.csv", threads=1, **settings),
        pcatool.report(place, tmp_path / "x.csv", threads=2, **settings),
        pcatool.report(place, tmp_path / "x.parquet", **settings),
        pcatool.report(place, frame, **settings),
    ]
    assert len(set(pages)) == 1
    assert piped == pages[0].replace(str(place), "m.npz"), "but for the name of the model as it was given"
    assert str(tmp_path) not in piped
    numbers = np.arange(1, n + 1)
    smallest = np.sort(numbers[np.argsort(hashes(numbers))][:POINTS])
    scores = Read(pages[0]).facts["scores"]
    assert (scores["rows"], scores["of"]) == (smallest.tolist(), n)
    expected = pcatool.transform(model, frame.drop(columns="kind").to_numpy())[smallest - 1]
    assert np.allclose(np.array(scores["scores"]).T, expected, rtol=1e-5, atol=1e-9)
    assert scores["kept"] == [["kind", frame["kind"].iloc[smallest - 1].tolist()]]
    assert "5,000 of 12,000 rows" in pages[0]


def test_the_rows_taken_are_spread_evenly() -> None:
    """In each tenth of many rows a tenth of those taken, but for four standard deviations."""
    numbers = np.arange(1, 100_001)
    taken = numbers[np.argsort(hashes(numbers))[:5000]]
    counts = np.bincount((taken - 1) // 10_000)
    assert np.abs(counts - 500).max() < 4 * np.sqrt(500)


def test_python_and_the_command_line_write_the_same(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    pd.DataFrame({"price": [1.0, 3, 4], "area": [2.0, 1, 4]}).to_csv("x.csv", index=False)
    pcatool.save_model(pcatool.fit("x.csv", components=2), "m.npz")
    pcatool.report("m.npz", "x.csv", keep="price", axes=(2, 1), output="a.html")
    words = ["m.npz", "x.csv", "--keep", "price", "--axes", "2,1", "-o", "b.html"]
    subprocess.run([PROGRAM, "report", *words], check=True)
    assert Path("a.html").read_bytes() == Path("b.html").read_bytes()


# --- what is in it ---


def test_numbers_are_those_of_the_model(digits: Model) -> None:
    facts = read(digits, DIGITS, color="digit").facts
    assert facts["scree"]["eigenvalues"] == digits.eigenvalues.tolist()
    assert facts["scree"]["lost"] == digits.variance.lost_share.tolist()
    assert np.allclose(facts["loadings"]["loadings"], digits.basis, atol=1e-5)
    assert facts["scores"]["color"]["labels"] == list("0123456789")
    assert facts["scree"]["again"] == ["pcatool refit model.npz -k ", " -o model-k", ".npz"]


def test_it_asks_for_nothing_and_runs_nothing_but_its_own(digits: Model) -> None:
    page = pcatool.report(digits, DIGITS, image="8x8")
    assert not re.search(r"https?:|url\(|@import|//[a-z0-9-]+\.", page)
    (policy,) = [a["content"] for tag, a in Read(page).elements if tag == "meta" and a.get("http-equiv")]
    assert policy.startswith("default-src 'none'; img-src data:; style-src 'sha256-")
    assert "unsafe" not in policy
    assert all(a["src"].startswith("data:image/png;") for tag, a in Read(page).elements if tag == "img")


def test_it_stays_small() -> None:
    """Without data: of 20,000 columns, and of 3,000 eigenvalues and more."""
    rng = np.random.default_rng(3)
    wide = pcatool.fit(rng.normal(size=(40, 20_000)), components=39)
    found = pcatool.report(wide)
    assert len(found.encode()) < 500_000
    loadings = Read(found).facts["loadings"]
    assert (len(loadings["columns"]), loadings["of"]) == (500, 20_000)
    leading = np.abs(wide.basis[:, 0]).argmax()
    assert leading + 1 in loadings["places"]
    assert "with the largest loadings, of" in found
    assert "and -c chooses among them" not in found  # c1-c20000 says it
    values = np.sort(rng.random(4000))[::-1]
    names = tuple(f"f{i:04}" for i in range(4000))
    many = Model(np.zeros(4000), np.ones(4000), np.eye(4000, 2), values, float(values.sum()), 5000, names)
    page = pcatool.report(many)
    assert len(page.encode()) < 500_000
    assert "<dt>rank</dt><dd>unknown</dd>" in page


@pytest.mark.parametrize(
    "path", [*sorted(MODELS.glob("*.npz")), MODELS.parent / "houses_format_1.npz"], ids=lambda path: path.stem
)
def test_every_kind_of_model_has_a_page(path: Path) -> None:
    """Sections that do not apply say why, in one sentence."""
    of_cells = path.stem.startswith("triples")
    model = pcatool.load_model(path)
    rows = MODELS / ("cells.csv" if of_cells else "square.csv" if path.stem == "kernel_precomputed" else "rows.csv")
    rows = HOUSES if path.stem.startswith("houses") else rows
    found = read(path, rows, triples="user,item,value" if of_cells else None)
    assert len(found.facts["scores"]["rows"]) >= 5
    kernel = "kernel" in model.meta
    assert (found.facts["loadings"] is None) == kernel
    assert ("There are no loadings: the components of a kernel model" in found.words) == kernel
    headings = found.texts["h2"]
    assert headings[:4] == ["Summary", "Scree", "Loadings", "Scores"]
    assert headings[-2:] == ["Certificate", "Commands"]
    if model.meta["method"] == "supervised" and not kernel:
        assert found.facts["loadings"]["values"] == ["loadings", "contributions"]
        assert found.facts["loadings"]["lacks"].startswith("correlations and cos2 are not defined for supervised PCA")
    assert ("refit" in (found.facts["scree"]["again"] or [""])[0]) == (model.statistic is not None)


def test_a_model_of_scikit_learn() -> None:
    """As from_sklearn makes one, without that import of seconds."""
    X = np.random.default_rng(4).normal(size=(20, 4))
    fitted = pcatool.fit(X, components=2)
    meta = {name: value for name, value in fitted.meta.items() if name != "certificate"}
    found = read(replace(fitted, meta={**meta, "solver": SCIKIT_LEARN}, variances=None, statistic=None), X)
    assert "The accuracy of the eigenvalues is unknown." in found.words
    assert "There is no pcatool command that makes this model: the model was fitted by scikit-learn." in found.words
    assert found.facts["loadings"]["lacks"].startswith("correlations and cos2 need the variances of the columns")
    assert found.facts["scree"]["again"] is None


def test_what_to_be_careful_with() -> None:
    X = np.array([[1.0, 0, 0, 7], [-1, 0, 0, 7], [0, 1, 0, 7], [0, -1, 0, 7]])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        said = read(pcatool.fit(X, components=3)).words
        past = read(pcatool.fit(X, components=3, center=False)).words
    assert (
        "Some eigenvalues are too close to each other to determine the directions of the components: PC1 and PC2."
        in said
    )
    assert "Only 2 of 3 components have an eigenvalue above 0." in said
    assert "The columns were not centred, so shares refer to the sum of squares about 0" in past
    Y = np.random.default_rng(6).normal(size=(9, 2))
    twice = np.column_stack([Y, Y.sum(axis=1), np.ones(9)])
    assert (
        "1 column is constant, and some columns are linear combinations of other columns"
        in read(pcatool.fit(twice, components=1)).words
    )


def test_residuals_and_close_eigenvalues_are_said_once() -> None:
    X = np.array([[1.0, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0], [0, 0, 3], [0, 0, -3]])
    words = read(pcatool.fit(X, components=3)).words.lower()
    assert words.count("eigen-residual") == 1
    assert words.count("too close to each other") == 1


def test_the_sentence_and_the_verdict(digits: Model) -> None:
    words = read(digits).words
    assert "29 components keep 95.48% of the variance in 1,797 rows of 64 columns." in words
    assert "All 29 eigenvalues are accurate to at least 12 digits." in words
    assert "To see scores, give the data after the model: pcatool report MODEL DATA -o FILE." in words


def test_em_is_told_once_and_its_eigenvalues_are_not_called_inaccurate() -> None:
    X = np.random.default_rng(1).normal(size=(40, 3)) * [3, 2, 1]
    X[::7, 1] = np.nan
    words = read(pcatool.fit(X, components=1, missing="em")).words
    assert words.count("EM has converged") == 1
    assert "component eigenvalue largest relative error digits PC1" in words
    whole = read(pcatool.fit(X[:, [0, 2]], components=1)).words
    assert "component eigenvalue largest relative error digits accurate PC1" in whole


def test_the_share_of_components_past_the_rank_is_not_called_variance() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = pcatool.fit(DIGITS, method="supervised", label="digit", components=3)
    words = read(model).words
    assert "Only 1 of 3 components has an eigenvalue above 0." in words
    assert "The row of PCk shows the dependence on the label that the first k components capture and lose" in words


def test_rows_with_missing_cells_are_counted() -> None:
    with pytest.warns(pcatool.PcatoolWarning, match="dropped 16"):
        model = pcatool.fit(ORDERS, columns="items-days_to_deliver", missing="drop", standardize=True)
    found = read(model, ORDERS, color="net_price", keep="customer", with_error=True)
    scores = found.facts["scores"]
    assert "The page shows all 200 rows. 16 of all 200 rows have missing cells, and no scores." in found.words
    assert sum(one is None for one in scores["scores"][0]) == 16
    assert len([one for one in scores["color"]["numbers"] if one is not None]) > 150
    assert [name for name, _ in scores["kept"]] == ["customer", "net_price"]
    assert len(scores["more"]["squared_error"]) == 200


def test_rows_with_missing_cells_are_counted_in_all_rows_not_in_the_sample() -> None:
    random = np.random.default_rng(8)
    X = random.normal(size=(12_000, 3))
    X[random.random(12_000) < 0.1, 1] = np.nan
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    count = int(np.isnan(X).any(axis=1).sum())
    model = pcatool.fit(frame.dropna(), components=2)
    words = read(model, frame, missing="keep").words
    assert (
        f"The page shows a random sample of 5,000 of 12,000 rows. {count:,} of all 12,000 rows have missing cells, and"
        in words
    )
    assert f"{count:,} of all 12,000 rows have missing cells. " in read(model, frame, missing="project").words


def test_classes_have_the_colours_of_plots(tmp_path: Path) -> None:
    """Words, numbers, truths and dates; few and many; some so rare that the sample may lack them."""
    random = np.random.default_rng(9)
    n = 7_000
    frame = pd.DataFrame(random.normal(size=(n, 2)), columns=["a", "b"])
    frame["word"] = [f"w{min(i, 14)}" for i in random.integers(0, 30, n)]
    frame["rare"] = np.where(np.arange(n) == 17, "a first", np.where(random.random(n) < 0.5, "b", "c"))
    frame["digit"] = random.integers(-2, 8, n)
    frame["truth"] = random.random(n) < 0.3
    frame["half"] = random.integers(0, 3, n) / 2
    frame["day"] = pd.Timestamp("2026-01-01") + pd.to_timedelta(random.integers(0, 3, n), "D")
    frame.loc[5, "word"] = None
    place = str(tmp_path / "x.parquet")
    frame.to_parquet(place)
    model = pcatool.fit(frame[["a", "b"]], components=2)
    for name in ("word", "rare", "digit", "truth", "half", "day"):
        found = read(model, place, color=name).facts["scores"]["color"]
        job = Job([place], TableOptions(), SelectOptions(), FitOptions(), EngineOptions(), Warnings())
        inputs = Inputs([place], TableOptions(), Warnings())
        cloud = collect_rows(job, PlotRequest("scores", PlotOptions(color=name)), (1, 2), model, inputs)
        assert ("labels" in found) == cloud.by_class, name
        if not cloud.by_class:
            continue
        groups = [group for group in cloud.groups() if group.color_index is not None]
        assert found["labels"] == [group.name for group in groups], name
        assert found["others"] == len([code for code in cloud.counts if code >= 0]) - len(groups)
        codes = np.array(found["codes"])
        assert {*codes[codes >= 0].tolist()} >= {0, 1} - ({0} if name == "rare" else set()), name
        assert len(codes) == POINTS and (codes >= 0).mean() > (0.4 if name == "word" else 0.99), name


def test_only_the_first_components() -> None:
    model = pcatool.fit(DIGITS, exclude="digit", components=20)
    found = read(model, DIGITS, first=3, image=(8, 8), axes=(2, 9))
    assert len(found.facts["loadings"]["loadings"][0]) == 3
    assert [one["alt"] for tag, one in found.elements if tag == "img"][2:] == [
        f"PC{j} as an image of 8 by 8 pixels" for j in (1, 2, 3)
    ]
    assert found.facts["scores"]["names"] == ["PC1", "PC2", "PC3", "PC9"]
    assert found.facts["scores"]["axes"] == [1, 3]
    fewer = read(model, components=4)
    assert "4 of 64 kept" in fewer.words
    assert "the first 4 of the 20 components in the model" in fewer.words
    assert "pcatool transform model.npz data.csv -k 4 -o scores.csv" in " ".join(fewer.texts["span"])


def test_images_are_those_of_the_components(digits: Model) -> None:
    image = pytest.importorskip("matplotlib.image")
    found = read(digits, image=(8, 8))
    sources = [a for tag, a in found.elements if tag == "img"]
    pixels = image.imread(io.BytesIO(_bytes(next(a["src"] for a in sources if (a["alt"] or "").startswith("PC2 ")))))
    assert pixels.shape[:2] == (8, 8)
    red_over_blue = (pixels[..., 0] - pixels[..., 2]).ravel()
    loading = digits.basis[:, 1]
    sure = np.abs(loading) > 0.05
    assert (np.sign(red_over_blue[sure]) == np.sign(loading[sure])).all()
    mean = image.imread(io.BytesIO(_bytes(next(a["src"] for a in sources if a["alt"] == "the mean as an image"))))
    grey = mean if mean.ndim == 2 else mean[..., 0]
    assert np.corrcoef(grey.ravel(), digits.mean)[0, 1] > 0.9999


def _bytes(uri: str | None) -> bytes:
    from base64 import b64decode

    return b64decode((uri or "").partition(",")[2])


# --- what is refused ---


@pytest.mark.parametrize(
    ("data", "settings", "kind", "message"),
    [
        (None, {"color": "digit"}, pcatool.UsageError, "color has no effect without rows"),
        (None, {"axes": (1, 2)}, pcatool.UsageError, "axes has no effect without rows"),
        (None, {"keep": "digit"}, pcatool.UsageError, "keep has no effect without rows"),
        (None, {"threads": 2}, pcatool.UsageError, "threads has no effect without rows"),
        (None, {"delimiter": ";"}, pcatool.UsageError, "delimiter has no effect without rows"),
        (None, {"first": 99}, pcatool.DataError, "first=99: the model has 29 components"),
        (None, {"image": (7, 9)}, pcatool.DataError, "an image of 7x9 has 63 pixels, but the model has 64 columns"),
        (DIGITS, {"axes": "1,30"}, pcatool.DataError, 'axes="1,30": the model has 29 components'),
        (DIGITS, {"axes": "1,1"}, pcatool.UsageError, "axes='1,1' names a component twice; name each component once"),
        (DIGITS, {"axes": "0,1"}, pcatool.UsageError, "axes='0,1' is not a list of components"),
        (
            DIGITS,
            {"axes": "1,2,3"},
            pcatool.UsageError,
            'axes="1,2,3": scores are drawn along two components; give two',
        ),
        (DIGITS, {"color": "digits"}, pcatool.DataError, "no column 'digits'"),
        (DIGITS, {"color": "p1*"}, pcatool.UsageError, "color='p1*' names 11 columns; name one"),
        (DIGITS, {"engine": "dask"}, pcatool.UsageError, 'engine="dask" does not go with a report'),
        (DIGITS, {"color": "digit", "triples": "a,b,c"}, pcatool.UsageError, "color does not go with triples"),
        (pd.read_csv(DIGITS)[:0], {}, pcatool.DataError, "the input has no rows"),
    ],
)
def test_refusals(digits: Model, data: Any, settings: Any, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=re.escape(message)):
        pcatool.report(digits, data, **settings)


def test_one_component_is_told_as_one() -> None:
    with pytest.raises(pcatool.DataError, match='axes="1,2": the model has 1 component;'):
        pcatool.report(pcatool.fit(HOUSES, components=1), HOUSES, axes=(1, 2))


def test_axes_are_read_as_they_are_written() -> None:
    assert (PageOptions(axes="3,1").axes, PageOptions(axes=(3, 1)).axes, PageOptions().axes) == ((3, 1), (3, 1), None)


# --- colours ---


def tokens() -> list[dict[str, str]]:
    """Those of a light page, and of a dark one."""
    style = color_styles() + (ROOT / "pcatool" / "render" / "report" / "page.css").read_text()
    blocks = re.findall(r":root \{(.*?)\}", style, re.DOTALL)
    shared, shared_dark, light, dark = (dict(re.findall(r"--([a-z-]+): (#[0-9a-fA-F]{6});", one)) for one in blocks[:4])
    return [{**shared, **light}, {**shared, **light, **shared_dark, **dark}]


def contrast(one: str, other: str) -> float:
    """Of two colours, by WCAG 2.2."""

    def luminance(color: str) -> float:
        parts = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
def test_colours_have_contrast(theme: int) -> None:
    found = tokens()[theme]
    for text in ("ink", "quiet", "accent"):
        for ground in ("paper", "ground", "soft"):
            assert contrast(found[text], found[ground]) >= 4.5, (text, ground)
    assert contrast(found["on-accent"], found["accent"]) >= 4.5
    for mark in ("kept", "left", "sum", "mark", "focus", "negative", "positive"):
        assert contrast(found[mark], found["paper"]) >= 3, mark

"""A model as notebooks show it."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest

import pcatool

X = np.random.default_rng(3).normal(size=(30, 12)) * np.arange(1, 13)


class Page(HTMLParser):
    """Tags, styles and text of a piece of HTML, in which every tag must be closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.attributes: set[str] = set()
        self.text = ""
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open.append(tag)
        self.tags.append(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data + " "


def test_shares_are_in_a_small_table() -> None:
    model = pcatool.fit(X, components=3, standardize=True)
    page = Page(model._repr_html_())
    table = model.variance
    assert page.tags.count("tr") == 4
    for j in range(3):
        assert (
            f"PC{j + 1}  {table.eigenvalue[j]:.6g}  {table.share[j]:.2%}  {table.cumulative[j]:.2%}"
            in page.text.replace(" ", "  ").replace("    ", "  ")
        )
    assert "30 rows, 12 columns; 3 components kept" in page.text
    assert "centred, standardised, divisor n (ddof 0); solver covariance" in page.text
    assert "columns: c1, c2, c3, c4, c5, c6, c7, c8 and 4 more columns" in page.text


def test_of_many_components_the_others_are_counted() -> None:
    page = Page(pcatool.fit(X, components=12)._repr_html_())
    assert page.tags.count("tr") == 11
    assert "and 2 more components" in page.text


def test_nothing_in_it_runs_or_is_loaded_and_it_takes_the_colours_of_the_page() -> None:
    html = pcatool.fit(X, components=3)._repr_html_()
    page = Page(html)
    assert set(page.tags) <= {"div", "strong", "table", "thead", "tbody", "tr", "th", "td"}
    assert page.attributes <= {"style", "scope"}
    assert "url(" not in html
    assert not re.search(r"#[0-9a-f]{3}|rgb|(?<!-)color:(?!inherit)|black|white", html)
    assert len(html) < 8000


def test_names_are_text() -> None:
    names = ["<script>alert(1)</script>", 'a"b', "a&b", "x\u202ey"]
    html = pcatool.fit(pd.DataFrame(X[:, :4], columns=names), components=2)._repr_html_()
    assert "<script" not in html
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in html
    assert "a&amp;b" in html
    assert "\u202e" not in html
    assert len(Page(pcatool.fit(pd.DataFrame({"a" * 5000: X[:, 0]}))._repr_html_()).text) < 1000


KINDS = {
    "kernel": ({"method": "kernel", "kernel": "rbf"}, "kernel PCA", "kernel rbf (gamma 0.0833333)"),
    "supervised": ({"method": "supervised", "label": "c12"}, "supervised PCA", "of the dependence on the label"),
    "not centred": ({"center": False}, "linear PCA", "of the sum of squares about 0"),
    "whitened": ({"whiten": "zca", "epsilon": 0.5}, "linear PCA", "ZCA whitening, epsilon 0.5"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_model_shows_itself(kind: str) -> None:
    settings, method, said = KINDS[kind]
    frame = pd.DataFrame(X, columns=[f"c{i}" for i in range(1, 13)])
    page = Page(pcatool.fit(frame, **{"components": 1, **settings})._repr_html_())
    assert page.text.lstrip().startswith(method)
    assert said in page.text

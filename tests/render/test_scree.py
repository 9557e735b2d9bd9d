"""The chart in a terminal: right at every width, with every mark, for every shape of spectrum; and the picture."""

import re

import numpy as np
import pytest
from rich.cells import cell_len

import pcatool
from pcatool.linalg.spectrum import largest_drop
from pcatool.model.model import VarianceTable
from pcatool.render.scree import ScreeLook, rules_report, scree_chart, scree_picture
from pcatool.rules.base import Verdict
from pcatool.wording import percent

IRIS = [4.228, 0.243, 0.078, 0.024]


def table_of(eigenvalues, total=None):
    eigenvalues = np.array(eigenvalues, dtype=float)
    return VarianceTable.of(eigenvalues, float(eigenvalues.sum()) if total is None else total)


def chart(eigenvalues, kept, width=80, *, total=None, color=False, unicode=True, **more):
    return scree_chart(table_of(eigenvalues, total), kept=kept, width=width, color=color, unicode=unicode, **more)


def components(text):
    """The numbers of the components that have a row."""
    return [int(found[1]) for line in text.splitlines() if (found := re.match(r" *(\d+)  ", line))]


def steep(m):
    return np.arange(1.0, m + 1) ** -1.5


# Eigenvalues, components kept.
SPECTRA = {
    "houses": ([21.6, 0.0], 2),
    "iris": (IRIS, 2),
    "one": ([5.0], 1),
    "one_tiny": ([1e-300], 1),
    "all_in_one": ([3.0, 0.0, 0.0, 0.0], 1),
    "equal": ([1.0] * 12, 5),
    "past_the_rank": ([3.0, 2.0, 1.0] + [0.0] * 40, 3),
    "extremes": ([1e300, 1e299, 1.0, 1e-300, 0.0], 2),
    "hundreds": (steep(784), 331),
    "hundreds_all_kept": (steep(784), 784),
    "hundreds_late_drop": (np.repeat([5.0, 1.0], [400, 384]), 3),
    "thousands": (steep(20_000), 19_000),
}


@pytest.mark.parametrize("unicode", [True, False])
@pytest.mark.parametrize("name", SPECTRA)
def test_no_line_is_wider_than_the_window(name, unicode):
    eigenvalues, kept = SPECTRA[name]
    table = table_of(eigenvalues)
    step = 1 if len(table.eigenvalue) < 1000 else 20
    for width in range(40, 201, step):
        text = scree_chart(table, kept=kept, width=width, color=False, unicode=unicode)
        assert max(map(cell_len, text.splitlines())) <= width, width
        assert text.isascii() or unicode


@pytest.mark.parametrize("width", [12, 20, 30])
def test_in_a_very_narrow_window_numbers_give_way(width):
    text = chart(IRIS, 2, width)
    assert max(map(cell_len, text.splitlines())) <= width
    assert components(text) == [1, 2, 3, 4]
    assert "kept" in text


@pytest.mark.parametrize("width", [60, 80, 200])
@pytest.mark.parametrize("name", SPECTRA)
def test_both_marks_stand_below_their_component(name, width):
    eigenvalues, kept = SPECTRA[name]
    drop = largest_drop(np.array(eigenvalues, dtype=float))
    above = 0
    found = {}
    for line in chart(eigenvalues, kept, width).splitlines():
        above = (components(line) or [above])[0]
        if f"k = {kept} kept: " in line:
            found["kept"] = above
        if f"largest drop: after {drop}" in line:
            found["drop"] = above
    assert found == ({"kept": kept, "drop": drop} if drop else {"kept": kept})


@pytest.mark.parametrize("unicode", [True, False])
@pytest.mark.parametrize("width", [40, 60, 80, 200])
@pytest.mark.parametrize("name", SPECTRA)
def test_bars_follow_the_eigenvalues(name, width, unicode):
    eigenvalues, kept = SPECTRA[name]
    lengths = {}
    for line in chart(eigenvalues, kept, width, unicode=unicode).splitlines():
        if components(line):
            eighths = {mark: i for i, mark in enumerate("▏▎▍▌▋▊▉█", start=1)} | {"#": 8}
            lengths[components(line)[0]] = sum(eighths.get(c, 0) for c in line)
    values = list(lengths.values())
    assert values == sorted(values, reverse=True)
    assert values[0] >= 80
    for j, length in lengths.items():
        ratio = eigenvalues[j - 1] / eigenvalues[0]
        assert 0 <= length - ratio * values[0] <= (1 if unicode else 8) + 1e-9
        assert (length > 0) == (ratio > 0)


@pytest.mark.parametrize("name", SPECTRA)
def test_color_only_adds(name):
    eigenvalues, kept = SPECTRA[name]
    colored = chart(eigenvalues, kept, color=True)
    assert "\x1b[" in colored
    assert re.sub(r"\x1b\[\d+m", "", colored) == chart(eigenvalues, kept)


def test_the_houses():
    assert chart([21.6, 0.0], 2, 60) == (
        "PC  eigenvalue    share  cumulative\n"
        " 1        21.6  100.00%     100.00%  ███████████████████████\n"
        "┄┄ largest drop: after 1 ┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄\n"
        " 2           0    0.00%     100.00%\n"
        "── k = 2 kept: 100.00% ─────────────────────────────────────\n"
    )


def test_two_marks_in_one_place_share_a_line_when_it_is_long_enough():
    assert "\n-- k = 1 kept: 92.46%, largest drop: after 1 ---" in chart(IRIS, 1, 60, unicode=False)
    narrow = chart(IRIS, 1, 40, unicode=False)
    assert "\n-- k = 1 kept: 92.46% -" in narrow
    assert "\n.. largest drop: after 1 ." in narrow


def test_every_mark_is_a_rule_that_ends_at_the_edge():
    for width in range(30, 70):
        marks = [line for line in chart(IRIS, 1, width, unicode=False).splitlines() if line.startswith(("--", ".."))]
        assert 1 <= len(marks) <= 2
        assert all(len(line) == width and line.endswith((" -", "--", " .", "..")) for line in marks), width


def test_the_kept_components_have_the_color():
    lines = chart(IRIS, 2, color=True).splitlines()
    assert [components(line)[0] for line in lines if "\x1b[36m" in line] == [1, 2]


def test_bars_are_in_ascii_when_asked():
    assert chart([2.0, 1.0], 1, 60, unicode=False).splitlines()[1:4:2] == [
        " 1           2  66.67%      66.67%  ########################",
        " 2           1  33.33%     100.00%  ############",
    ]


def test_many_components_are_summed_up():
    table = table_of(steep(784))
    text = chart(steep(784), 5)
    assert components(text) == list(range(1, 31))
    assert text.splitlines()[-1] == f"⋮ 754 more components: {percent(table.lost_share[29])} in all"


def test_the_rows_reach_past_the_kept_components():
    assert components(chart(steep(784), 50)) == list(range(1, 54))


def test_a_far_mark_is_shown_without_what_lies_between():
    text = chart(steep(784), 331)
    shown = components(text)
    assert shown == [*range(1, 29), 331, 332]
    share = percent(float(table_of(steep(784)).share[28:330].sum()))
    assert f"\n⋮ 29 to 330: {share} in all\n331  " in text
    assert text.splitlines()[-1].startswith("⋮ 452 more components: ")


@pytest.mark.parametrize("max_rows", [4, 5, 10, 100])
def test_max_rows_bounds_the_rows(max_rows):
    shown = components(chart(steep(784), 331, max_rows=max_rows))
    assert {1, 2, 331, 332} <= set(shown)
    assert len(shown) == max_rows


def test_a_single_row_is_shown_rather_than_said_to_be_hidden():
    assert components(chart(steep(6), 4, max_rows=4)) == [1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize(
    ("total_components", "last"),
    [
        (100, "⋮ 97 more components: 25.00% in all"),
        (4, "⋮ 1 more component: 25.00% in all"),
        (None, "⋮ components not computed: 25.00% in all"),
    ],
)
def test_components_that_were_not_computed_are_counted(total_components, last):
    text = chart([3.0, 2.0, 1.0], 2, total=8.0, total_components=total_components)
    assert text.splitlines()[-1] == last


def test_the_largest_drop_of_an_aligned_model_is_that_of_the_sorted_eigenvalues():
    """Alignment to an older model may change the order: the drop from 0.1 to 5 would be none."""
    text = chart([5.0, 0.2, 4.0, 0.1], 2)
    assert "largest drop: after 2" in text


def test_a_kernel_model_has_as_many_components_as_rows():
    rows = np.random.default_rng(0).normal(size=(60, 2))
    model = pcatool.fit(rows, method="kernel", kernel="rbf", components=1)
    assert re.search("30 more components: .* in all\n", pcatool.scree(model))


def test_of_components_not_computed_the_number_may_be_unknown():
    text = chart(steep(100), 2, total=10.0)
    assert text.splitlines()[-1].startswith("⋮ at least 70 more components: ")


def test_nothing_is_said_of_a_rest_that_is_not_there():
    assert components(chart(IRIS, 2).splitlines()[-1]) == [4]


@pytest.mark.parametrize(
    ("eigenvalues", "drop"),
    [
        (IRIS, 1),
        ([5.0, 4.9, 1.0, 0.9], 2),
        ([3.0, 2.0, 1.0], 1),
        ([0.3, 0.2, 0.1], 1),  # 0.3 - 0.2 is below 0.2 - 0.1 in floating point
        ([0.7, 0.6, 0.5, 0.4], 1),
        ([2.0, 2.0, 2.0, 0.5], 3),
        ([1.0, 1.0, 1.0], 0),
        ([1.0 + 4e-16, 1.0, 1.0 - 2e-16], 0),
        ([7.0], 0),
        ([0.0, 0.0], 0),
        ([1e300, 1e-300], 1),
        ([2e-300, 1e-300, 0.0], 1),
    ],
)
def test_the_largest_drop(eigenvalues, drop):
    assert largest_drop(np.array(eigenvalues)) == drop


# --- the picture ---


def words_of(eigenvalues, kept, **more):
    """The words of the picture."""
    svg = scree_picture(table_of(eigenvalues), kept=kept, form="svg", title="m.npz", **more)
    return re.findall(r"<!-- (.*?) -->", svg.decode())


def test_the_caption_of_the_rules_does_not_call_a_few_rules_most():
    verdicts = [Verdict(name, k, "") for name, k in {"a": 12, "b": 3, "c": 12, "d": 5, "e": 7, "f": None}.items()]
    said = rules_report(verdicts, "table", None)
    assert "k = 12 is picked by a, c; no other k is picked by more rules" in said
    assert "no two rules agree" in rules_report(verdicts[:2], "table", None)


def test_a_picture_names_marks_scales_and_what_the_rules_pick():
    verdicts = [Verdict("kaiser", 12, ""), Verdict("elbow", 3, ""), Verdict("mle", None, "no"), Verdict("0.9", 12, "")]
    said = words_of([50.0, 40.0, 30.0, *np.linspace(3, 1, 17), 0.0], 12, scree=ScreeLook(log=True), verdicts=verdicts)
    assert {"m.npz", "component", "eigenvalue (logarithmic)", "not shown: 1 eigenvalue equal to 0"} <= {*said}
    assert {"kaiser", "elbow", "mle", "0.9", "does not apply", "rules (2 pick 12)"} <= {*said}
    assert "largest drop: after 3" in said
    assert any(word.startswith("k = 12 kept: ") for word in said)


def test_a_picture_of_many_components_shows_the_first_unless_all_are_asked_for():
    said = words_of(steep(784), 331)
    assert any(word.startswith("k = 331 kept: ") and word.endswith("\N{RIGHTWARDS ARROW}") for word in said)
    assert "784" not in said
    said = words_of(steep(784), 331, scree=ScreeLook(all_components=True, log_components=True))
    assert "component (logarithmic)" in said
    assert "500" in said
    assert any(word.startswith("k = 331 kept: ") and word.endswith("%") for word in said)

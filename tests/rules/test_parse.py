"""`-k` of a fit: numbers, shares, rules, and rules with a number."""

import pytest

from pcatool.errors import UsageError
from pcatool.methods.base import check_rule
from pcatool.options import FitOptions, parse_components
from pcatool.registry import RULES, Entry
from pcatool.rules.base import rules_for_any_method, split_rule

TAKE_A_NUMBER = [name for name in RULES if RULES[name].default is not None]


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("1", 1),
        ("007", 7),
        (12, 12),
        ("0.99", 0.99),
        (".5", 0.5),
        (0.25, 0.25),
        ("ratio:0.1", "ratio:0.1"),
        ("ratio:.1", "ratio:.1"),
        ("ratio:5e-2", "ratio:5e-2"),
        ("ratio:0.999", "ratio:0.999"),
        ("eigenvalue:2", "eigenvalue:2"),
        ("eigenvalue:1e-300", "eigenvalue:1e-300"),
        ("eigenvalue:1E+9", "eigenvalue:1E+9"),
    ],
)
def test_what_is_accepted(text, meaning):
    found = parse_components(text)
    assert found == meaning
    assert type(found) is type(meaning)
    FitOptions(components=text)


@pytest.mark.parametrize("name", tuple(RULES))
def test_every_rule_by_name(name):
    assert parse_components(name) == name


@pytest.mark.parametrize("name", tuple(RULES))
def test_a_number_only_where_there_is_a_default(name):
    if RULES[name].default is None:
        with pytest.raises(UsageError, match=f"{name} takes no number; give -k {name}$"):
            parse_components(f"{name}:0.5")
    else:
        assert parse_components(f"{name}:0.5") == f"{name}:0.5"


def test_some_rules_take_a_number():
    assert set(TAKE_A_NUMBER) >= {"ratio", "eigenvalue"}


@pytest.mark.parametrize("number", ["", "0", "0.0", "-1", "-0.5", "nan", "inf", "-inf", "1e400", "1e-400", "1_0", "5%"])
@pytest.mark.parametrize("rule", TAKE_A_NUMBER)
def test_numbers_that_are_no_threshold(rule, number):
    with pytest.raises(UsageError, match=f"is not a threshold of {rule}; give a number"):
        parse_components(f"{rule}:{number}")


@pytest.mark.parametrize("number", ["1", "1.0", "1e0", "2", "100"])
def test_a_ratio_stays_below_one(number):
    with pytest.raises(UsageError, match=r"give a number between 0 and 1, such as ratio:0\.05"):
        parse_components(f"ratio:{number}")


@pytest.mark.parametrize(
    "text", ["eigenvalue:x", "eigenvalue: 1", "eigenvalue:1 ", "eigenvalue:1:2", "ratio:0x1", "ratio:٠.١"]
)
def test_text_that_is_no_number(text):
    with pytest.raises(UsageError, match="is not a threshold"):
        parse_components(text)


@pytest.mark.parametrize(
    ("text", "near"),
    [
        ("kaisr", "kaiser"),
        ("Kaiser", "kaiser"),
        ("MLE", "mle"),
        ("broken_stick", "broken-stick"),
        ("brokenstick", "broken-stick"),
        ("paralel-95", "parallel-95"),
        ("paralel", "parallel"),
        ("gavish", "gavish-donoho"),
        ("crossvalidation", "cross-validation"),
        ("ratoi:0.1", "ratio"),
        ("elbo", "elbow"),
    ],
)
def test_the_nearest_rule_is_suggested(text, near):
    with pytest.raises(UsageError, match=f"did you mean '{near}'"):
        parse_components(text)


def test_a_name_like_no_other_lists_them_all():
    with pytest.raises(UsageError, match="or a rule: " + ", ".join(RULES)):
        parse_components("xyzzy")


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "0",
        "-1",
        "+5",
        "1.5",
        "2.0",
        "1.0",
        "1e3",
        "nan",
        "NaN",
        "inf",
        "Infinity",
        "0.0",
        "5%",
        "1 2",
        ":0.5",
        "9" * 5000,
    ],
)
def test_what_is_no_number_of_components(text):
    with pytest.raises(UsageError, match="is not a number of components") as caught:
        parse_components(text)
    assert caught.value.exit_code == 2


def test_a_rule_is_split_into_name_and_number():
    assert split_rule("ratio:0.1") == ("ratio", 0.1)
    assert split_rule("ratio") == ("ratio", RULES["ratio"].default)
    assert split_rule("mle") == ("mle", None)


def test_a_new_rule_for_any_method_is_allowed_and_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(RULES.entries, "new", Entry("pcatool.rules.all:everything", "", any_method=True))
    assert rules_for_any_method().endswith(", new")
    check_rule("new", "--method kernel")
    monkeypatch.setitem(RULES.entries, "new", Entry("pcatool.rules.all:everything", ""))
    with pytest.raises(UsageError, match="the rule needs --method pca"):
        check_rule("new", "--method kernel")


@pytest.mark.parametrize("text", ["1.0", 1.0, "1.", "100%", "100 %"])
def test_all_of_the_variance(text: str | float) -> None:
    with pytest.raises(UsageError, match="give -k all for all of the variance, or -k 1 for one component"):
        parse_components(text)

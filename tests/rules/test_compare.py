"""All rules side by side, and what most of them agree on."""

import pytest

from pcatool.errors import UsageError
from pcatool.registry import RULES
from pcatool.rules.base import Verdict, agreement, compare, decide
from rules.planted import evidence_of, planted, spectrum


def test_every_rule_has_its_say():
    evidence = evidence_of(planted(500, 20, [20, 18, 16], 1))
    verdicts = compare(evidence)
    assert [v.rule for v in verdicts] == [*RULES, "0.99"]
    for rule, k, reason in verdicts:
        choice = decide(0.99 if rule == "0.99" else rule, evidence)
        assert (k, reason) == (choice.k, choice.reason)
    found = agreement(verdicts)
    assert found.k == 3
    assert set(found.rules) == {rule for rule in RULES if decide(rule, evidence).k == 3}
    assert {"kaiser", "elbow", "parallel", "mle", "cross-validation"} < set(found.rules)


def test_named_ones_with_their_numbers():
    verdicts = compare(spectrum([8, 4, 2, 1]), ["ratio:0.2", "eigenvalue:3", "0.9", "3"])
    assert [(v.rule, v.k) for v in verdicts] == [("ratio:0.2", 2), ("eigenvalue:3", 2), ("0.9", 3), ("3", 3)]


def test_a_rule_that_cannot_be_applied_says_why():
    verdicts = {v.rule: v for v in compare(spectrum([8, 4, 2, 1]))}
    assert verdicts["cross-validation"].k is None
    assert verdicts["cross-validation"].reason.startswith("cross-validation needs all rows in memory")
    assert all(v.k for rule, v in verdicts.items() if rule != "cross-validation")


def test_with_the_leading_eigenvalues_only():
    evidence = spectrum([8, 4], n=100, d=50, rank=2)
    verdicts = compare(evidence)
    assert all(v.k is None and "needs all eigenvalues" in v.reason for v in verdicts if v.rule != "0.99")


def test_a_share_that_the_leading_eigenvalues_do_not_reach():
    evidence = spectrum([8, 4], n=100, d=50, rank=2)._replace(total_variance=24.0)
    half, most = compare(evidence, ["0.5", "0.99"])
    assert half.k == 2
    assert most.k is None
    more = "fit with a larger -k, or with --solver covariance and --eigenvalues all"
    assert most.reason == f"the 2 known eigenvalues keep 0.5 of the variance, not 0.99; {more}"


def test_too_large_a_number_says_the_bound():
    (verdict,) = compare(spectrum([8, 4, 2, 1]), ["9"])
    assert verdict.k is None
    assert "at most 4" in verdict.reason


def test_a_name_that_is_none_is_an_error():
    with pytest.raises(UsageError, match="did you mean 'kaiser'"):
        compare(spectrum([8, 4]), ["kaisr"])


@pytest.mark.parametrize(
    ("ks", "k", "rules"),
    [
        ([3, 3, 2], 3, "ab"),
        ([3, 2, 2, 3], 2, "bc"),  # the smaller of equals
        ([None, None, 4, 4, 5], 4, "cd"),
    ],
)
def test_what_most_agree_on(ks, k, rules):
    found = agreement([Verdict(name, k, "") for name, k in zip("abcdefg", ks, strict=False)])
    assert (found.k, found.rules) == (k, tuple(rules))


@pytest.mark.parametrize("ks", [[], [1], [1, 2, 3], [None, None], [4, None]])
def test_no_two_agree(ks):
    assert agreement([Verdict(name, k, "") for name, k in zip("abcdefg", ks, strict=False)]) is None


def test_all_has_no_vote():
    assert agreement([Verdict("all", 7, ""), Verdict("mle", 7, ""), Verdict("elbow", 2, "")]) is None
    found = agreement([Verdict("all", 7, ""), Verdict("mle", 7, ""), Verdict("elbow", 7, "")])
    assert found.rules == ("mle", "elbow")

"""Ranges are read from ``require`` and worded one way."""

from typing import Any

import pytest

from bookpress.notebooks.ranges import Rule, comment_with, meaning_of, rules_of
from bookpress.notebooks.source import Notebook, faults_of_comments, with_ranges

DEFAULTS = {"n": 3, "width": 24, "rate": 0.1, "names": ["a"], "device": "cpu"}


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        ("n=(n, 1, None)", "at least 1"),
        ("n=(n, None, 10**6)", "at most 1000000"),
        ("rate=(rate, 1e-6, 1.0)", "from 1e-6 to 1"),
        ("n=(n, 2, 2 * width - 1)", "from 2 to 2 * width - 1"),
        ("width=(width, range(24, 4097, 24))", "a multiple of 24 from 24 to 4080"),
        ("width=(width, range(2 * n, 8193, 2 * n))", "a multiple of 2 * n from 2 * n to 8192"),
        ("n=(n, {16, 8, 128})", "one of 8, 16, 128"),
        ('device=(device, {"cuda", "cpu"})', 'one of "cpu", "cuda"'),
        ('names=(names, ("a", "b"))', 'each one of "a", "b"'),
    ],
)
def test_a_rule_is_worded_in_one_way(rule: str, text: str) -> None:
    (found,) = rules_of(f"require({rule})", DEFAULTS).values()
    assert found.text == text


@pytest.mark.parametrize(
    "rule", ["product=(n * width, 1, None)", "n=(width, 1, None)", "n=(n, 1 if width else 0, None)", "n=(n, library())"]
)
def test_what_is_no_range_of_one_parameter_is_not_told_as_one(rule: str) -> None:
    assert rules_of(f"require({rule})", DEFAULTS) == {}


def test_ends_are_taken_where_the_other_parameters_are() -> None:
    assert Rule("2", "2 * width - 1").ends(DEFAULTS) == [2, 47]
    assert Rule("1", None).ends(DEFAULTS) == [1, None]
    assert Rule(choices="range(24, 4097, 24)").ends(DEFAULTS) == [24, 4080]
    assert Rule(choices="{'cuda', 'cpu'}").ends(DEFAULTS) == ["cpu", "cuda"]


@pytest.mark.parametrize(
    ("before", "rule", "after"),
    [
        ("heads, at least 1", Rule("1", "20"), "heads, from 1 to 20"),
        ("N, even, at least 24; 360 in the paper", Rule("24", "720"), "N, even, from 24 to 720; 360 in the paper"),
        ("seed", Rule("0"), "seed, at least 0"),
        ("letters, at least 2 (the paper writes two)", Rule("2", "4"), "letters, from 2 to 4 (the paper writes two)"),
        ("values, at least 3 values", Rule("1", each=True), "values, at least 3 values, each at least 1"),
        ("d, more than n, a multiple of 4", Rule(choices="range(12, 49, 4)"), "d, a multiple of 4 from 12 to 48"),
        ('where: "cpu" or "cuda"', Rule(choices="{'cpu', 'cuda'}"), 'where: one of "cpu", "cuda"'),
    ],
)
def test_a_comment_gets_the_range_and_keeps_the_rest(before: str, rule: Rule, after: str) -> None:
    assert comment_with(before, rule) == after
    assert comment_with(after, rule) == after
    assert rule.text not in meaning_of(after)


def test_comments_that_say_otherwise_are_told_and_mended(toy: Any) -> None:
    toy.add("good")
    path = toy.layout.source("demo/good")
    path.write_text(path.read_text().replace("require(n=(n, 1, None))", "require(n=(n, 1, 5))"))
    (fault,) = faults_of_comments(Notebook("demo/good", toy.layout))
    assert fault == "demo/good: the comment of n says 'n, at least 1', which has to be 'n, from 1 to 5'"
    path.write_text(with_ranges(Notebook("demo/good", toy.layout)))
    assert "n = 3  # n, from 1 to 5\n" in path.read_text()
    assert faults_of_comments(Notebook("demo/good", toy.layout)) == []

"""Patterns find what `re` finds, and none of them can be kept busy for ever."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kdissect.query.values.patterns import LOOKED_AT, searcher

ALLOWED = [
    "orders", "^orders-[0-9]+$", "orders.*", ".*orders.*", "(?i)ORDERS", "^(orders|payments)-.*$", "a{3}",
    "a{2,5}b", "^__", r"\.v\d+$", "(ab){2}", "x?y?z?", "[[:alpha:]]", "^.*a.*b.*c$", "a(?=b)", "(?:abc)+",
    r"\bword\b", "^$", "", ".*", "a++b", "(?>a+)b", r"\.*", "[a|b]+", "(a|b)+",
]  # fmt: skip
REFUSED = [
    "(a+)+", "(a*)*", "(a+)*b", "((a|bc))+", "(aa|b)*", "(a?){20}", "(.*)*", r"(a)\1", "(?P<x>a)(?P=x)",
    "a*b*c*d*", "a{0,16}b{0,16}c{0,16}",
    "(", "[a", "a{2,1}", "*a", "(?i", "a**", "x" * 501, "((((a{1,30}){1,30}){1,30}){1,30})", "(a{0,99}){2}",
    "(?:a|b|cd){0,9}", "(x(?=a+))+",
]  # fmt: skip


TEXTS = ("orders", "payments-1", "abcabc", "__x", "a.v12", "", "aaab", "xyz", "ORDERS", "ab", "b.", "word")


@pytest.mark.parametrize("pattern", ALLOWED)
def test_allowed(pattern: str) -> None:
    search = searcher(pattern)
    with_warnings = pattern == "[[:alpha:]]"
    if with_warnings:
        assert search("a]")
        return
    for text in (
        "orders",
        "payments-1",
        "abcabc",
        "__x",
        "a.v12",
        "",
        "aaab",
        "xyz",
        "ORDERS",
        "ab",
        "b.",
        "word",
    ):
        assert search(text) == (re.search(pattern, text) is not None), text


@pytest.mark.parametrize(
    ("pattern", "looked_at"),
    [
        ("^[^x]*x", 65_536), ("x", 65_536), ("a*x", 16_384), ("a*b*x", 1024), ("a*b*c*x", 256),
        ("^a*-*b*x", 1024),
    ],
)  # fmt: skip
def test_of_long_texts_the_beginning_counts(pattern: str, looked_at: int) -> None:
    """docs/filter.md."""
    search = searcher(pattern)
    assert search("x".rjust(looked_at, "-"))
    assert not search("x".rjust(looked_at + 1, "-"))


@pytest.mark.parametrize("pattern", REFUSED)
def test_refused(pattern: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        searcher(pattern)


@settings(max_examples=400, deadline=None)
@given(st.text(alphabet="ab.*+?()|[]{}^$\\1,", max_size=12))
def test_any_pattern_is_refused_or_like_re(pattern: str) -> None:
    try:
        search = searcher(pattern)
    except ValueError:
        return
    for text in ("", "a", "ab", "bba", "aaaa1", "a,b\n"):
        assert search(text) == (re.search(pattern, text) is not None)


@pytest.mark.parametrize("pattern", ["a.*b.*c", "^a.*b.*c.*d", "a*b*c", "x?x?x?x?x?x?x?x?x?xxxxxxxxxx!"])
def test_the_worst_text_takes_a_moment(pattern: str) -> None:
    """Without the bounds these take hours: then this test does not end."""
    search = searcher(pattern)
    for text in ("ab" * 40_000, "a" * 40_000 + "b" * 40_000, "abc" * 30_000, "x" * 9):
        search(text)


def test_longer_texts_are_looked_at_as_far_as_the_cost_allows() -> None:
    assert searcher("needle")("x" * (LOOKED_AT[1] - 6) + "needle")
    assert not searcher("needle")("x" * LOOKED_AT[1] + "needle")
    assert searcher("^.*n")("x" * 1000 + "n")

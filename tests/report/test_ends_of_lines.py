"""Where lines of the page of `why` end, and parts of reports that only some captures have."""

from collections import Counter

import pytest

from kdissect.report.about import inconclusive_text
from kdissect.report.causes.html import causes_html
from kdissect.report.causes.text import cause_lines, causes_text
from kdissect.report.causes.words import cost_text, since_text
from kdissect.report.html.findings import rules_section
from kdissect.report.html.markup import scrolled
from kdissect.report.html.traffic import matrix_section
from kdissect.rules.pages import page
from kdissect.rules.registry import rule_by
from tests.report.hand_made_verdict import hand_made, nothing
from tests.report.test_causes_by_hand import CAUSE, MADE, ONE

WIDE = 96  # 110 less four for the indent of the page and ten for the names


@pytest.mark.parametrize(("over", "lines"), [(0, 1), (1, 2)])
def test_lines_are_as_wide_as_the_page(over: int, lines: int) -> None:
    words = "x" * 40 + " " + "y" * (WIDE - 41 + over)
    assert len(words) == WIDE + over
    who = [line for name, line in cause_lines(CAUSE._replace(who=words), ["a"]) if name in ("who", "")]
    assert len([line for line in who if line[:1] in "xy"]) == lines
    seen = causes_text(MADE._replace(not_seen=(words,))).splitlines()
    assert seen.count(f"    not seen  {words}") == (lines == 1)
    assert [line for line in seen if line.startswith(" " * 14 + "y")] == ([] if lines == 1 else [seen[-1]])


@pytest.mark.parametrize(("over", "lines"), [(0, 1), (1, 2)])
def test_sentences_are_as_wide_as_the_page_but_for_its_indent(over: int, lines: int) -> None:
    found = list(cause_lines(CAUSE._replace(sentence="z" * (106 + over)), ["a"]))
    assert [name for name, _ in found].count(None) == lines


def test_the_shortest_span_is_one() -> None:
    at = CAUSE.since_ns
    assert since_text(CAUSE._replace(until_ns=at)) == "2023-11-14T22:13:20.000Z, 2 times"
    assert since_text(CAUSE._replace(until_ns=at + 1)) == "2023-11-14T22:13:20.000Z, for 0 us, 2 times"
    assert cost_text(CAUSE.cost._replace(time_ns=0)) == "1 error, 2 retries, 4 records, 1.5 kB"
    assert cost_text(CAUSE.cost._replace(time_ns=1)).startswith("0 us of waiting, 1 error")


def test_effects_on_the_page() -> None:
    assert "<dt>then</dt><dd><bdi>Requests time out.</bdi></dd>" in causes_html(ONE)
    assert "<dt>then</dt>" not in causes_html(ONE._replace(causes=(CAUSE._replace(effects=()),)))


def test_what_is_wide_scrolls_by_the_keyboard() -> None:
    assert scrolled("A & b", "x") == (
        '<div class="scroll" tabindex="0" role="region" aria-label="A &amp; b">x</div>'
    )


def test_rules_have_the_first_line_of_their_page_as_a_title() -> None:
    from kdissect.report.html.markup import text

    rule = rule_by("PRD001")
    assert rule is not None
    title = page(rule).splitlines()[0]
    assert f'<li title="{text(title)}"><code>PRD001</code>' in rules_section(hand_made())


@pytest.mark.parametrize(
    ("checks", "text"),
    [
        ({}, ""), ({("PRD001", "a"): 1}, "1 check of 1 rule"),
        ({("PRD001", "a"): 2, ("PRD001", "b"): 3, ("FRM006", "a"): 1}, "6 checks of 2 rules"),
    ],
)  # fmt: skip
def test_checks_that_came_to_nothing(checks: dict[tuple[str, str], int], text: str) -> None:
    verdict = nothing()
    verdict.inconclusive = Counter(checks)
    assert inconclusive_text(verdict) == text


@pytest.mark.parametrize(
    ("versions", "other"),
    [
        ((0, 5, 13), ""), ((0, 13, 14), "v14: 1"), ((-1, 0), "v-1: 1"), ((None, 0), ""),
        ((-2, 99), "v-2: 1, v99: 1"),
    ],
)  # fmt: skip
def test_versions_that_have_no_column(versions: tuple[int | None, ...], other: str) -> None:
    """Produce has the versions 0 to 13."""
    verdict = hand_made()
    verdict.coverage.apis = Counter({(0, version): 1 for version in versions})
    text = matrix_section(verdict)
    assert (">other</th>" in text) == bool(other)
    assert f'<td class="other">{other}</td>' in text
    assert text.count('scope="col"') == 1 + 14 + 1

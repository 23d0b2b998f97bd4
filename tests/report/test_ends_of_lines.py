"""Where lines of the page of `why` end, and parts of reports that only some captures have."""

import json
import re
from collections import Counter
from pathlib import Path

import jsonschema
import pytest

from kdissect.model.packets.packet import packet_ref
from kdissect.report.about import inconclusive_text
from kdissect.report.causes.html import causes_html
from kdissect.report.causes.json import causes_json, causes_schema
from kdissect.report.causes.text import cause_lines, causes_text
from kdissect.report.causes.words import cost_text, since_text
from kdissect.report.folds import Fold
from kdissect.report.html import report_html
from kdissect.report.html.findings import rules_section
from kdissect.report.html.markup import scrolled
from kdissect.report.html.traffic import matrix_section
from kdissect.report.json import report_json, report_schema
from kdissect.report.junit import report_junit
from kdissect.report.markdown import report_markdown
from kdissect.report.sarif import report_sarif
from kdissect.report.text import also_lines, file_of, hex_text, report_text
from kdissect.rules.pages import page
from kdissect.rules.registry import rule_by
from tests.report.hand_made_verdict import BARE, PLACE, found, hand_made, nothing
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
    assert cost_text(CAUSE.cost._replace(time_ns=1)).startswith("0 us of waits added up, 1 error")


def test_facts_on_the_page() -> None:
    names = re.findall("<dt>([a-z ]+)</dt>", causes_html(ONE))
    assert names[:9] == ["who", "since", "cost", "then", "sure", "packets", "more", "helps", "looked at"]


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


@pytest.mark.parametrize(("others", "said"), [(8, ""), (9, "1 more form;"), (10, "2 more forms;")])
def test_forms_of_a_finding(others: int, said: str) -> None:
    one = found("PRD001")
    lines = list(also_lines(Fold(one, (one,) * others), ("a.pcap", "b.pcap")))
    assert len(lines) == 8 + bool(said)
    assert lines[-1].startswith(said or "1 time, ")


@pytest.mark.parametrize(("ref", "name"), [(0, "a"), (packet_ref(1, 1), "b"), (packet_ref(2, 1), "-")])
def test_files_of_places(ref: int, name: str) -> None:
    assert file_of(PLACE._replace(first_ref=ref), ("a", "b")) == name


def located(files: tuple[str, ...], ref: int) -> object:
    """Return where SARIF has a finding in a capture."""
    verdict = hand_made(files=files, hashes={})
    verdict.findings = [found("PRD001", place=PLACE._replace(first_ref=ref))]
    (run,) = json.loads(report_sarif(verdict))["runs"]
    return run["results"][0]["locations"][0].get("physicalLocation")


def test_a_finding_without_packets_is_of_the_only_capture() -> None:
    artifact = {"uri": "a", "index": 0}
    assert located(("a",), 0) == {"artifactLocation": artifact}
    assert located(("a", "b"), 0) is None
    assert located((), 0) is None
    region = {"startLine": 3, "endLine": 6}
    assert located(("a", "b"), packet_ref(0, 3)) == {"artifactLocation": artifact, "region": region}
    assert located(("a",), packet_ref(1, 3)) is None


def test_rules_of_sarif_have_their_page() -> None:
    text = report_sarif(hand_made())
    assert text.startswith('{\n "$schema": "')
    for row in json.loads(text)["runs"][0]["tool"]["driver"]["rules"]:
        rule = rule_by(row["id"])
        assert rule is not None
        paragraphs = page(rule).split("\n\n")
        assert row["shortDescription"]["text"] == page(rule).splitlines()[0]
        assert row["fullDescription"]["text"] == " ".join(paragraphs[1].splitlines())
        assert row["help"] == {"text": page(rule), "markdown": page(rule)}


def test_hashes_of_captures(tmp_path: Path) -> None:
    path = tmp_path / "a.pcap"
    path.write_bytes(b"abc")
    verdict = nothing()
    verdict.files, verdict.hashes = (str(path), "-", str(tmp_path / "no")), {}
    known = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"  # FIPS 180-4, of "abc"
    assert [digest for _, digest in verdict.captures] == [known, None, None]


def test_pages_fit_their_schemas() -> None:
    for schema, text in ((causes_schema(), causes_json(ONE)), (report_schema(), report_json(hand_made()))):
        document = json.loads(schema)
        assert document["$schema"] == "https://json-schema.org/draft/2020-12/schema"
        jsonschema.Draft202012Validator(document).validate(json.loads(text))
        assert set(document["required"]) <= set(json.loads(text))


@pytest.mark.parametrize(
    ("file", "seen", "parent", "snippet"),
    [(0, b"ab", 0, "YWI="), (1, b"a", 1, None), (2, b"abc", None, None)],
)
def test_bytes_in_a_frame_that_stands_in_a_capture(
    file: int, seen: bytes, parent: int | None, snippet: str | None
) -> None:
    verdict = hand_made(files=("a", "b"), hashes={})
    place = PLACE._replace(first_ref=packet_ref(file, 1), start=3, end=5, bytes_seen=seen)
    verdict.findings = [found("PRD001", place=place)]
    (run,) = json.loads(report_sarif(verdict))["runs"]
    physical = run["results"][0]["relatedLocations"][0]["physicalLocation"]
    region = physical["region"]
    assert (region["byteOffset"], region["byteLength"]) == (3, 2)
    assert region.get("snippet") == (None if snippet is None else {"binary": snippet})
    assert run["artifacts"][physical["artifactLocation"]["index"]].get("parentIndex") == parent


@pytest.mark.parametrize(
    ("start", "end", "seen", "text"),
    [
        (3, 5, b"ab", "61 62"), (3, 5, b"a", "61 ..."), (3, 6, b"ab", "61 62 ..."), (0, 2, b"ab", "61 62"),
        (3, 5, b"", "***"), (7, 7, b"a", "61"),
    ],
)  # fmt: skip
def test_bytes_of_a_place(start: int, end: int, seen: bytes, text: str) -> None:
    assert hex_text(PLACE._replace(start=start, end=end, bytes_seen=seen)) == text


@pytest.mark.parametrize(
    ("span_ns", "text"), [(0, "0.000"), (2_000_499_999, "2.000"), (2_000_500_001, "2.001"), (10**9, "1.000")]
)
def test_the_time_of_a_testcase_is_that_between_its_findings(span_ns: int, text: str) -> None:
    verdict = hand_made()
    verdict.findings = [found("PRD001", last_time_ns=PLACE.time_ns + span_ns)]
    report = report_junit(verdict)
    assert f'name="PRD001 invalid-acks" time="{text}"' in report
    assert report.splitlines()[1].endswith(f' time="{text}">')


@pytest.mark.parametrize(
    ("seen", "shown"),
    [("a [b] c", "a [b] c"), ("[b](c)", "\\[b\\](c)"), ("\\[b](c)", "\\\\\\[b\\](c)")],
)
def test_messages_of_sarif_have_no_links(seen: str, shown: str) -> None:
    """SARIF 2.1.0 section 3.11.6."""
    verdict = hand_made(hashes={})
    verdict.findings = [found("PRD001", expected="x", seen=seen)]
    (run,) = json.loads(report_sarif(verdict))["runs"]
    assert f"expected x, seen {shown}." in run["results"][0]["message"]["text"]


@pytest.mark.parametrize(
    ("start", "end", "is_there"), [(-1, 2, False), (0, 0, False), (0, 1, True), (3, 3, False), (3, 4, True)]
)
def test_places_without_bytes(start: int, end: int, is_there: bool) -> None:
    verdict = hand_made(hashes={})
    verdict.findings = [found("PRD001", place=PLACE._replace(start=start, end=end))]
    texts = (
        report_text(verdict).count("\n  bytes     "), report_markdown(verdict).count("\n| bytes | "),
        report_html(verdict).count("<dt>bytes</dt>"), report_sarif(verdict).count('"relatedLocations"'),
    )  # fmt: skip
    assert texts == (is_there,) * 4


def test_statistics_have_the_most_frequent_first_then_the_code() -> None:
    verdict = hand_made(hashes={})
    verdict.findings = [
        found("TXN003"),
        found("PRD001"),
        found("FRM006", count=2),
        found("PRD001", party=BARE),
    ]
    lines = [line for line in report_text(verdict, statistics=True).splitlines() if line.startswith("      ")]
    assert [line.split()[:2] for line in lines[:3]] == [["2", "FRM006"], ["2", "PRD001"], ["1", "TXN003"]]

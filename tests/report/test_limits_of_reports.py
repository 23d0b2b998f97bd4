"""Where reports end: so many rows are shown, and the rest is counted."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from kdissect.model.finding import Party, Who
from kdissect.report.html import findings, quality, timeline, traffic
from kdissect.report.html.findings import findings_section, rules_section
from kdissect.report.html.quality import quality_section, software_section
from kdissect.report.html.timeline import timeline_section
from kdissect.report.html.traffic import latency_section, matrix_section
from kdissect.report.markdown import MAX_FOLDS, code, report_markdown
from kdissect.report.sarif import uri_of
from kdissect.report.verdict import Verdict
from kdissect.rules.run_coverage.capture_quality import quality_of
from kdissect.rules.run_coverage.coverage import Coverage
from tests.report.hand_made_verdict import CODES, MS, START, found, hand_made, nothing


def with_findings(*codes: str) -> Verdict:
    """Return a verdict with a fold for each."""
    verdict = hand_made()
    verdict.dropped = 0
    verdict.findings = [found(each, party=Party(Who.CLIENT, "a", f"s{at}")) for at, each in enumerate(codes)]
    return verdict


@pytest.mark.parametrize(
    ("limit", "said"),
    [(5, ""), (4, "1 more rule without a row."), (1, "4 more rules without a row.")],
)
def test_rules_of_the_timeline(limit: int, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timeline, "MAX_RULES", limit)
    text = timeline_section(with_findings(*CODES))
    assert text.count('class="lane info') + text.count('class="lane error') == limit
    assert said in text and ("without a row" in text) == bool(said)


@pytest.mark.parametrize(("limit", "said"), [(4, ""), (3, "1 more API version not shown.")])
def test_latencies_of_the_busiest(limit: int, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(traffic, "MAX_VERSIONS", limit)
    text = latency_section(hand_made())
    assert text.count("<tr>") == limit + 2
    assert said in text and ("not shown" in text) == bool(said)
    assert '<th scope="row">Fetch <' in text  # it has the most


def test_rows_of_the_matrix(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(traffic, "MAX_APIS", 2)
    assert matrix_section(hand_made()).count('scope="row"') == 2


@pytest.mark.parametrize(("limit", "said"), [(4, ""), (2, "2 more ends not shown.")])
def test_ends_with_the_most_connections(limit: int, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quality, "MAX_ENDS", limit)
    text = software_section(hand_made())
    assert text.count("<tr>") == limit + 1
    assert said in text and ("not shown" in text) == bool(said)
    assert "10.0.0.2" in text and "10.0.0.1<" in text


def test_checks_that_came_to_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quality, "MAX_CHECKS", 1)
    assert quality_section(hand_made()).count("<tr>") == 2


@pytest.mark.parametrize(("folds", "more"), [(7, ""), (8, "2 more"), (9, "3 more")])
def test_many_findings_of_one_rule_fold_away(folds: int, more: str) -> None:
    text = findings_section(with_findings(*["PRD001"] * folds))
    assert text.count('class="finding') == folds
    assert text.count('class="more"') == bool(more)
    assert f"<summary>{more}" in text
    assert text.count(" open=") == 1


def test_only_the_first_finding_is_open() -> None:
    text = findings_section(with_findings("PRD001", "PRD001", "FRM006"))
    assert text.count(" open=") == 1
    assert text.index(" open=") < text.index("FRM006")


def test_findings_of_both_ends_are_hidden_with_neither() -> None:
    verdict = with_findings("FRM006", "FRM006")
    verdict.findings[1].party = verdict.findings[1].party._replace(role=Who.BROKER)
    assert "only-" not in findings_section(verdict)
    assert 'class="rule is-error is-refused only-client"' in findings_section(with_findings("FRM006"))


@pytest.mark.parametrize(
    ("shown", "dropped", "said"),
    [(2, 0, ""), (1, 0, "1 more finding omitted"), (2, 5, "5 more findings omitted")],
)
def test_findings_that_are_not_shown(
    shown: int, dropped: int, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(findings, "MAX_SHOWN", shown)
    verdict = with_findings("PRD001", "FRM006")
    verdict.dropped = dropped
    text = findings_section(verdict)
    assert said in text and ("omitted here" in text) == bool(said)


@pytest.mark.parametrize(
    ("left", "said"), [(0, ""), (1, "\n1 more finding stands in"), (2, "\n2 more findings ")]
)
def test_findings_of_a_summary(left: int, said: str) -> None:
    text = report_markdown(with_findings(*["PRD001"] * (MAX_FOLDS + left)))
    assert said in text and ("other reports" in text) == bool(said)
    assert text.count("| :x: |") == MAX_FOLDS == 200


@pytest.mark.parametrize(
    ("text", "limit", "shown"),
    [
        ("x" * 300, 300, "x" * 300),
        ("x" * 301, 300, "x" * 300 + " &#46;&#46;&#46;"),
        ("x" * 400, 0, "x" * 400),
    ],
)
def test_values_of_a_summary(text: str, limit: int, shown: str) -> None:
    assert code(text, limit) == f"<code>{shown}</code>"
    assert code("") == ""
    assert code("x" * 301) == code("x" * 301, 300)


@pytest.mark.parametrize(
    ("files", "said"), [(3, "</code></p>"), (4, "</code> and 1 more</p>"), (5, "</code> and 2 more</p>")]
)
def test_captures_in_the_head(files: int, said: str) -> None:
    from kdissect.report.html.page import header

    text = header(hand_made(files=[f"{number}.pcap" for number in range(files)]))
    assert said.replace("</p>", " · 2023-11-14 22:13:20 UTC</p>") in text


@pytest.mark.parametrize(
    ("path", "uri"),
    [
        ("-", "stdin"),
        ("a b.pcap", "a%20b.pcap"),
        ("c:d/e", "c%3Ad/e"),
        ("/a b", "file:///a%20b"),
        ("x~@!,=", "x~@!,="),
    ],
)
def test_paths_as_uris(path: str, uri: str) -> None:
    assert uri_of(path) == uri


def bars_of(latencies: dict[int, int]) -> Iterator[tuple[int, float]]:
    """Place and height of each bar of a histogram."""
    import re

    from kdissect.sketches.distribution import Distribution

    verdict = hand_made()
    made = Distribution()
    for latency, count in latencies.items():
        made.add_all([latency] * count)
    verdict.coverage.traffic._latencies = {(1, 4): made}
    for x, height in re.findall(
        r'<rect x="(\d+)" y="[\d.]+" width="0.86" height="([\d.]+)"', latency_section(verdict)
    ):
        yield int(x), float(height)


@pytest.mark.parametrize(
    ("latencies", "bars"),
    [
        ({1: 1, 10_000: 1}, [(0, 24), (31, 24)]),
        ({1: 1, 100: 2, 10_000: 1}, [(0, 12), (16, 24), (31, 12)]),
        ({0: 1, 10_000: 100}, [(0, 1.5), (31, 24)]),
        ({1: 1}, [(0, 24)]),
        ({1: 1, 2: 1}, [(0, 24), (31, 24)]),
        ({0: 3}, [(0, 24)]),
        ({5: 3}, [(0, 24)]),
    ],
)
def test_bars_of_latencies(latencies: dict[int, int], bars: list[Any]) -> None:
    assert Counter(bars_of(latencies)) == Counter(bars * 2)  # of all, and of the one API


def test_the_legend_of_the_matrix() -> None:
    text = matrix_section(hand_made())
    for number, said in enumerate(("1 to 9", "10 to 99", "100 to 999", "1,000+"), 1):
        assert f'<i class="heat-{number}"></i>{said}</li>' in text
    assert text.count("<li>") == 6


def test_rules_that_judged_something_and_those_that_did_not() -> None:
    judged, idle = rules_section(hand_made()).split("2 rules not exercised")
    assert "<summary>3 rules exercised</summary>" in judged
    for text, codes in ((judged, ("FRM006", "PRD001", "TXN003")), (idle, ("ADM011", "PAI004"))):
        assert [code for code in CODES if code in text] == [*codes]
    assert "odd-delete-offset (no DeleteRecords)" in idle
    assert "invalid-acks</li>" in judged


def test_links_to_sources_are_apart() -> None:
    assert "</a>; <a href=" in findings_section(with_findings("PRD001"))


def test_versions_that_no_schema_knows() -> None:
    verdict = hand_made()
    assert "v20: 5, v21: 5, v22: 5 ...</td>" in matrix_section(verdict)
    del verdict.coverage.apis[1, 23]
    assert "v20: 5, v21: 5, v22: 5</td>" in matrix_section(verdict)


def test_latencies_of_nothing() -> None:
    from kdissect.sketches.distribution import Distribution

    verdict, made = hand_made(), Distribution()
    made.add_all([0, 0, 0])
    verdict.coverage.traffic._latencies = {(1, 4): made}
    text = latency_section(verdict)
    assert text.count('aria-label="p50 0 us, from 0 us to 0 us"') == 2
    assert text.count('<td class="number">0 us</td>') == 8


@pytest.mark.parametrize(
    ("start_ms", "last_ms", "x", "width"),
    [
        (0, 0, 0, 4), (-5, -5, 0, 4), (-5, 4, 0, 500), (8, 8, 996, 4), (9, 30, 996, 4), (4, 4, 500, 4),
        (2, 6, 250, 500),
    ],
)  # fmt: skip
def test_marks_of_findings_on_the_time_line(start_ms: int, last_ms: int, x: int, width: int) -> None:
    """The time line has 8 slots of a millisecond, and a width of 1000."""
    verdict = with_findings("PRD001")
    (one,) = verdict.findings
    one.place = one.place._replace(time_ns=START + start_ms * MS)
    one.last_time_ns = START + last_ms * MS
    assert f'<rect x="{x}" y="4" width="{width}" height="12" rx="2"></rect>' in timeline_section(verdict)


@pytest.mark.parametrize(("key", "columns"), [(999, 1), (0, 14)])
def test_columns_of_the_matrix(key: int, columns: int) -> None:
    """Versions up to the newest of the APIs that were seen; an API that no schema knows has one."""
    verdict = hand_made()
    verdict.coverage.apis = Counter({(key, 0): 1})
    assert matrix_section(verdict).count('scope="col"') == 1 + columns + 1


@pytest.mark.parametrize(
    ("exchanges", "missing", "said"),
    [
        (0, 0, "The capture holds no Kafka exchange."),
        (5, 0, "Every byte of the judged connections is there."),
        (0, 3, "The capture holds no Kafka exchange."),
        (5, 3, "Rules that what is missing could explain stay silent."),
    ],
)
def test_what_the_quality_means(exchanges: int, missing: int, said: str) -> None:
    seen = Coverage()
    seen.exchanges, seen.gaps, seen.gap_bytes = exchanges, missing, missing
    verdict = nothing(quality_of(seen))
    verdict.coverage.exchanges = exchanges
    assert f" {said}</p>" in quality_section(verdict)

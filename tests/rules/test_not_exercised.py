"""Rules that had nothing to judge say why."""

from collections.abc import Iterator

import pytest

from kdissect.rules.judge import Judge
from kdissect.rules.registry import ALL_RULES, rule_by
from kdissect.rules.run_coverage.not_exercised import why_not_exercised
from tests.report.verdicts import verdict_of

ACKS = "tansu_rdk216_acks.pcap"


def test_every_rule_has_a_reason() -> None:
    """Of traffic of one API, and of none."""
    coverage = Judge().coverage
    assert {why_not_exercised(rule, coverage) for rule in ALL_RULES} == {"no exchange"}
    coverage.exchanges = coverage.apis[18, 3] = 1
    assert all(why_not_exercised(rule, coverage) for rule in ALL_RULES)


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("ADM011", "no DeleteRecords"),
        ("ADM002", "no ListOffsets v0"),
        ("ADM003", "no request of CreateTopics that was accepted"),
        ("FET009", "no ShareAcknowledge or ShareFetch"),
        ("SAS002", "no SaslAuthenticate or SaslHandshake"),
        ("FET013", "watched, and nothing came up in Fetch"),
        ("PAI010", "watched, and nothing came up"),
        ("REC037", "no batch of magic 0"),
        ("REC036", "no produced batch of magic 1"),
        ("BDY016", "no nullable struct in a body"),
        ("CON001", "no failed connection"),
    ],
)
def test_the_reason_is_what_the_traffic_lacks(code: str, why: str) -> None:
    verdict = verdict_of(ACKS)
    rule = rule_by(code)
    assert rule in verdict.not_exercised
    assert verdict.why_not_exercised(rule) == why
    for text in _reports():
        assert code in text and rule.name in text and why in text


def _reports() -> Iterator[str]:
    from kdissect.cli.findings.report_files import render

    for name in ("text", "json", "markdown", "github", "html", "junit", "sarif"):
        yield " ".join(render(name, verdict_of(ACKS), statistics=True).decode().replace("%0A", "\n").split())

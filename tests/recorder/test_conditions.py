"""Conditions of `--when`: what they mean, and when they hold."""

import pytest

from kdissect.api import Dissection
from kdissect.query import Context
from kdissect.recorder.condition import CauseCondition, RuleCondition, parse_condition
from kdissect.recorder.exchange_condition import CountCondition, ExchangeCondition, PercentileCondition
from kdissect.recorder.symptom import CAUSE, RULE, Symptom
from tests.support.console import CAPTURES

ERRORS = CAPTURES / "kafka44_java_errors.pcapng"
GROUPS = CAPTURES / "kafka44_java_groups.pcapng"
SLOW = Symptom(CAUSE, "slow-broker", "delays", "", "", ("broker b:1",), 10, 20, 3, True, ("leader-moved",))


@pytest.mark.parametrize(
    ("text", "holds"),
    [("cause", True), ("delays", True), ("slow-broker", True), ("leader-moved", True), ("stops", False),
     ("login-refused", False)],
)  # fmt: skip
def test_causes_by_severity_id_and_consequence(text: str, holds: bool) -> None:
    condition = parse_condition(text)
    assert isinstance(condition, CauseCondition)
    assert condition.holds(SLOW) == holds
    assert not condition.holds(SLOW._replace(is_firm=False))
    assert not condition.holds(SLOW._replace(kind=RULE))


@pytest.mark.parametrize("name", ["capture-too-poor", "rolling-restart"])
def test_poor_captures_and_deployments_need_their_id(name: str) -> None:
    found = SLOW._replace(name=name, level="wastes", effects=())
    held = [text for text in ("cause", "wastes", name) if parse_condition(text).holds(found)]  # type: ignore[union-attr]
    assert held == [name]


@pytest.mark.parametrize("text", ["PRD001", "PRD"])
def test_rules_by_code_and_prefix(text: str) -> None:
    condition = parse_condition(text)
    assert isinstance(condition, RuleCondition)
    found = Symptom(RULE, condition.rules[0].code, "error", "", "", (), 1, 1, 1)
    assert condition.holds(found)
    assert not condition.holds(found._replace(name="XYZ999"))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("slow-brokr", "is no condition"),
        ("latency > ", "a value is missing"),
        ("nosuchfield == 1, 3 in 10s", "nosuchfield"),
        ("latency p00 > 1s for 1m", "percentile"),
        ("api == Fetch, 0 in 10s", "at least one"),
        ("has finding", "Name the rule"),
    ],
)
def test_what_is_no_condition_has_a_reason(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        parse_condition(text)


def seen(condition: ExchangeCondition, capture: object = ERRORS) -> list[Symptom]:
    dissection = Dissection(str(capture))
    condition.bind(Context(topics_of=dissection.topics.topics_of))
    found = []
    for exchange in dissection:
        condition.see(exchange)
        symptom = condition.take_symptom()
        if symptom is not None:
            found.append(symptom)
    return found


def times_of(text: str, capture: object = ERRORS) -> list[int]:
    """Return the times of the responses that a filter takes."""
    condition = parse_condition(text)
    return [symptom.until_ns for symptom in seen(condition, capture)]  # type: ignore[arg-type]


def test_a_count_holds_when_so_many_come_within_the_time() -> None:
    times = times_of("errors")
    assert len(times) > 10
    for least, span_ns in ((3, 10**9), (5, 4 * 10**9), (len(times), 10**9)):
        condition = parse_condition(f"errors, {least} in {span_ns // 10**6}ms")
        assert isinstance(condition, CountCondition)
        expected = [
            last for first, last in zip(times, times[least - 1 :], strict=False) if last - first <= span_ns
        ]
        assert [symptom.until_ns for symptom in seen(condition)] == expected


def test_exchanges_that_a_later_analysis_reads_again_count_once() -> None:
    condition = parse_condition("errors")
    assert isinstance(condition, CountCondition)
    assert seen(condition)
    assert seen(condition) == []


def test_a_percentile_holds_if_it_is_above_over_the_whole_time() -> None:
    condition = parse_condition("latency p90 > 5ms for 2s")
    assert isinstance(condition, PercentileCondition)
    found = seen(condition, GROUPS)
    rows = [
        (frame.time_ns, exchange.latency_ns)
        for exchange in Dissection(str(GROUPS))
        if (frame := exchange.response or exchange.request) is not None and exchange.latency_ns is not None
    ]
    first = min(time for time, _ in rows)
    part = 2 * 10**9 // 20
    for symptom in found:
        now = symptom.until_ns
        window = sorted(latency for time, latency in rows if time <= now and time // part > now // part - 20)
        assert now - first >= 2 * 10**9
        assert len(window) >= 10
        assert window[-(-9 * len(window) // 10) - 1] > 5_000_000
    assert found
    assert not seen(parse_condition("latency p90 > 1h for 2s"), GROUPS)  # type: ignore[arg-type]

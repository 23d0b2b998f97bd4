"""Two judges, one behind the other, come to what one judge comes to: for the fixtures of every rule."""

import pickle
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from kdissect.api import Dissection
from kdissect.engine.analyzer import Analyzer
from kdissect.engine.event_order import OrderedAnalyzer, Placed
from kdissect.model.anomaly import AnomalyKind
from kdissect.model.packets.packet import Packet
from kdissect.rules.judge import Judge
from kdissect.rules.kinds import BodyRule, ExchangeRule
from kdissect.rules.registry import ALL_RULES
from kdissect.rules.rule import Rule
from kdissect.session.exchange import Exchange
from kdissect.stages.forwarding import NAMES, NO_CODES, Codes, ForwardedEvent, Forwarder, Silenced
from kdissect.stages.judges import CaptureSetJudge, FlowJudge, Judgement
from kdissect.stages.replay import replay
from kdissect.stages.rows.judgement_rows import coverage_rows, finding_rows
from tests.rules.test_rules import CASES

CAPTURES = Path(__file__).parents[2] / "captures"
FILES = ("capture.pcap",)
Said = Sequence[Packet] | Sequence[Exchange]
Told = tuple[list[dict[str, Any]], list[dict[str, Any]]]


def _told(judged: Judgement) -> Told:
    return list(finding_rows(judged, FILES)), list(coverage_rows(judged))


def _placed(told: Said, lost_at: int = -1) -> Iterator[Placed]:
    """Yield the events of packets, or exchanges as they are; before exchange `lost_at` bytes were lost."""
    if told and isinstance(told[0], Exchange):
        for number, exchange in enumerate(told):
            assert isinstance(exchange, Exchange)
            if number == lost_at:
                exchange.connection.count_anomalies({AnomalyKind.GAP: 1})
            yield b"\x80" + number.to_bytes(8), exchange
        return
    ordered = OrderedAnalyzer(Analyzer())
    for packet in told:
        assert isinstance(packet, Packet)
        for placed in map(ordered.placed, ordered.feed_each([packet])):
            yield from placed
    yield from ordered.close({})


def at_once(told: Said, lost_at: int = -1) -> Told:
    """Return what one judge comes to."""
    judge = Judge()
    for _, event in _placed(told, lost_at):
        judge.add(event)
    judge.finish()
    judgement = Judgement()
    judgement.merge(judge)
    return _told(judgement)


def in_stages(told: Said, lost_at: int = -1, silenced: Codes = NO_CODES) -> Told:
    """Return what two judges come to, one behind the other."""
    total, forwarded = _first(told, lost_at)
    random.Random(0).shuffle(forwarded)
    judge = CaptureSetJudge()
    events = sorted(row for row in forwarded if not row.event_order.startswith(NAMES))
    for event, told_silenced in replay(row.blob for row in events):
        also: Silenced = ()
        if silenced and isinstance(event, Exchange):
            also = ((event.connection.id, event.ordinal, tuple(silenced)),)
        judge.add_replayed(event, told_silenced + also)
    judge.finish()
    total.merge(judge)
    return _told(total)


def _first(told: Said, lost_at: int = -1) -> tuple[Judgement, list[ForwardedEvent]]:
    relay = Forwarder()
    judge = FlowJudge(relay.judged)
    for placed in _placed(told, lost_at):
        relay.add(placed)
        judge.add(placed[1])
    judge.finish()
    judgement = Judgement()
    judgement.merge(judge)
    return pickle.loads(pickle.dumps(judgement)), list(relay.take())


@pytest.mark.sampled(12)
@pytest.mark.parametrize("rule", ALL_RULES, ids=lambda rule: rule.code)
def test_fixtures_of_every_rule(rule: Rule) -> None:
    case = CASES[rule.code]
    for said in (case.violating, case.legal):
        assert in_stages(said()) == at_once(said())


@pytest.mark.parametrize("code", ["TXN004", "PRD003", "GRP013", "FET012"])
def test_what_the_per_flow_stage_silenced_is_silent_in_the_other(code: str) -> None:
    said = CASES[code].violating
    assert any(row["code"] == code for row in in_stages(said())[0])
    assert not any(row["code"] == code for row in in_stages(said(), silenced=frozenset({code}))[0])


def test_the_per_flow_stage_reports_what_it_silenced() -> None:
    rules = [rule for rule in ALL_RULES if isinstance(rule, ExchangeRule | BodyRule) and rule.overrides]
    told: set[str] = set()
    for rule in rules:
        judge = FlowJudge(lambda _, silenced: told.update(silenced))
        for _, event in _placed(CASES[rule.code].violating()):
            judge.add(event)
        judge.finish()
    assert told & {code for rule in rules for code in rule.overrides}


@pytest.mark.parametrize("code", ["TXN004", "GRP013", "FET012"])
def test_what_was_lost_makes_facts_unsure_in_both(code: str) -> None:
    said = CASES[code].violating
    unsure = 0
    for lost_at in range(len(said())):
        wanted = at_once(said(), lost_at)
        assert in_stages(said(), lost_at) == wanted
        unsure += any(row["what"] == "inconclusive" and row["names"][0] == code for row in wanted[1])
    assert unsure


def test_nothing_of_a_judgement_depends_on_the_order_of_parts() -> None:
    path = str(CAPTURES / "kafka28_scala_consumer.pcapng")
    packets = list(Dissection(path).captures.packets())
    parts = [_first(packets[:half] if half else packets)[0] for half in (200, 90, 0)]
    told: list[Told] = []
    for order in (parts, parts[::-1]):
        total = Judgement()
        for part in order:
            total.merge(pickle.loads(pickle.dumps(part)))
        told.append(_told(total))
    assert told[0] == told[1]

"""What a scrape sees in the middle of a capture: connections that are open, counts that only grow."""

from collections.abc import Mapping

from kdissect.engine.analyzer import Analyzer
from kdissect.history.topics.topic_names import TopicNames
from kdissect.metrics.meter import Meter
from kdissect.model.endpoint import Ports
from kdissect.model.finding import Severity
from kdissect.net.streams.repair import QUIET_GRACE_NS
from kdissect.rules.judge import Judge
from kdissect.session.events import Event
from tests.support.messages.traffic import CLIENT, Conversation, request, response

VERSIONS = b"\0\0\0\0\0\0"


def talk_with_a_hole() -> Conversation:
    talk = Conversation().handshake()
    talk.client(request(18, 0, 1)).broker(response(1, VERSIONS))
    lost = request(18, 0, 2)
    talk.lose(CLIENT, lost).broker(response(2, VERSIONS)).wait(QUIET_GRACE_NS)
    for number in range(3, 6):
        talk.client(request(18, 0, number)).broker(response(number, VERSIONS)).wait(100_000_000)
    return talk.fin(CLIENT).fin(1)


def test_every_scrape_is_at_least_the_one_before() -> None:
    analyzer, meter = Analyzer(Ports({9092})), Meter(TopicNames())
    before: Mapping[str, int] = {}
    opened, gaps_while_open = 0, 0

    def take(events: list[Event]) -> None:
        nonlocal before, opened, gaps_while_open
        for event in [None, *events, None]:
            if event is not None:
                meter.take([event])
            now = meter.snapshot()
            assert all(now.anomalies.get(kind, 0) >= count for kind, count in before.items())
            before = now.anomalies
            if now.open_connections.get("kafka"):
                opened = max(opened, now.open_connections["kafka"])
                gaps_while_open = max(gaps_while_open, now.anomalies.get("gap", 0))

    for packet in talk_with_a_hole().packets:
        take(analyzer.feed(packet))
    assert (opened, gaps_while_open) == (1, 1)
    take(analyzer.close())
    assert before["gap"] == 1
    assert meter.snapshot().open_connections == {"kafka": 0}
    assert meter.snapshot().connections == {"kafka": 1}


def test_a_reader_that_meets_a_change_reads_again() -> None:
    meter = Meter(TopicNames())
    tries = []

    def changing() -> Mapping[str, int]:
        tries.append(1)
        if len(tries) < 3:
            raise RuntimeError("dictionary changed size during iteration")
        return {"gap": 7}

    meter.other_anomalies = changing
    assert meter.snapshot().anomalies == {"gap": 7}
    meter.other_anomalies = lambda: {"gap": 6}  # read at an odd moment: a counter must not fall
    assert meter.snapshot().anomalies == {"gap": 7}


def test_findings_are_counted_by_rule() -> None:
    analyzer, meter, judge = Analyzer(Ports({9092})), Meter(TopicNames()), Judge()
    assert meter.snapshot().findings is None
    meter.findings = judge.findings.all
    talk = Conversation().handshake()
    talk.client(request(18, 0, 1)).broker(response(1, VERSIONS))
    for number in (2, 3):
        talk.client(request(18, 99, number) + b"").broker(response(99 + number, VERSIONS))
    for packet in talk.packets:
        for event in analyzer.feed(packet):
            judge.add(event)
            meter.take([event])
    for event in analyzer.close():
        judge.add(event)
        meter.take([event])
    judge.finish()
    found = meter.snapshot().findings
    assert found
    assert sum(found.values()) == sum(finding.count for finding in judge.findings.all())
    assert {severity for _, severity in found} <= set(map(str, Severity))

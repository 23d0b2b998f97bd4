"""What waits for the proof that an end speaks Kafka is bounded, and is told all the same."""

from collections.abc import Iterable, Iterator

import pytest

from kdissect.engine.analyzer import Analyzer
from kdissect.history.connections import connection_problems
from kdissect.history.connections.connection_problems import (
    ConnectionProblem,
    ConnectionProblems,
    PlainEnd,
    plain_end,
)
from kdissect.history.exchange_view import ExchangeView
from kdissect.model.packets.packet import Packet
from kdissect.session.events import ConnectionClosed, Event
from kdissect.session.exchange import Exchange
from tests.rules.fixtures.connections import ADVERTISED, METADATA, all_of, connection, kafka, refused, silent
from tests.rules.scripted_connection import VERSIONS, Fields, ScriptedConnection
from tests.support.messages.traffic import CLIENT


def events(packets: Iterable[Packet]) -> Iterator[Event]:
    analyzer = Analyzer()
    for packet in packets:
        yield from analyzer.feed(packet)
    yield from analyzer.close()


def told(packets: Iterable[Packet]) -> list[ConnectionProblem]:
    machine, found = ConnectionProblems(), []
    for event in events(packets):
        if isinstance(event, Exchange):
            if event.api_key in connection_problems.ANNOUNCING:
                machine.feed(ExchangeView(event))
        elif isinstance(event, ConnectionClosed):
            found += machine.close(event)
    return [*found, *machine.finish()]


def shown(found: Iterable[ConnectionProblem]) -> list[tuple[str, bool]]:
    return [(str(one.problem.reason), one.is_kafka) for one in found]


def test_an_end_that_speaks_kafka_later() -> None:
    assert shown(told(silent(0, CLIENT))) == [("probe", False)]
    assert shown(told(all_of(silent(0, CLIENT), kafka(1)))) == [("probe", True)]


@pytest.mark.parametrize("most", [1, 3])
def test_what_waits_is_bounded_and_told(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection_problems, "PENDING_KEPT", most)
    machine, told_before = ConnectionProblems(), 0
    talks = [connection(number, 9000 + number).handshake().fin(CLIENT).packets for number in range(9)]
    for event in events(all_of(*talks)):
        if isinstance(event, ConnectionClosed):
            told_before += len(machine.close(event))
            assert sum(map(len, machine._pending.values())) <= most
    assert told_before + len(machine.finish()) == 9


def test_attempts_at_what_was_advertised_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection_problems, "PENDING_KEPT", 2)
    found = told(all_of(kafka(), *(refused(number, 9093) for number in range(1, 6))))
    assert sorted(shown(found)) == [("advertised_unreached", True)] * 2 + [("refused", True)] * 3


def test_a_node_that_was_heard_is_down_not_wrong() -> None:
    there = ScriptedConnection(handshake=False, negotiate=False)
    there.talk = connection(2, 9093).handshake()
    there.exchange("ApiVersions", 0, {}, VERSIONS)
    packets = all_of(kafka(), refused(1, 9093), there.close())
    assert shown(told(packets)) == [("refused", True)]


def test_told_to_another_host_is_not_told() -> None:
    """Another client was told of the address."""
    packets = [
        packet._replace(data=packet.data.replace(b"\x0a\0\0\x01", b"\x0a\0\0\x07")) for packet in kafka()
    ]
    assert shown(told(all_of(packets, refused(1, 9093)))) == [("refused", False)]


def asking(times: int, answer: Fields = ADVERTISED) -> list[Packet]:
    talk = ScriptedConnection(handshake=False, negotiate=False)

    talk.talk = connection(0).handshake()
    for _ in range(times):
        talk.exchange("Metadata", 12, METADATA, answer)
    return talk.close()


def test_asked_again_and_again() -> None:
    assert shown(told(asking(2))) == []
    assert shown(told(asking(3))) == [("advertised_untried", True)]
    assert shown(told(all_of(asking(3), connection(1, 9093).handshake().packets))) == []


@pytest.mark.parametrize("host", ["10.0.0.2", "kafka-1.example"])
def test_the_end_that_told_it_may_be_meant(host: str) -> None:
    """By its address, or by a name that nobody knows."""
    assert shown(told(asking(3, {"brokers": [{"node_id": 1, "host": host, "port": 9092}]}))) == []


def _worker(number: int, port: int) -> list[Packet]:
    """Return a connection that does more than ask, to an end of its own."""
    there = ScriptedConnection(handshake=False, negotiate=False)
    there.talk = connection(number, port).handshake()
    there.exchange("ApiVersions", 0, {}, VERSIONS)
    there.exchange("ListGroups", 0, {}, {"error_code": 0, "groups": []})
    return there.close()


@pytest.mark.parametrize("most", [4000, 1])
@pytest.mark.parametrize(
    "packets",
    [
        all_of(silent(0, CLIENT), kafka(1), kafka(2)),
        all_of(kafka(), refused(1, 9093), refused(2, 9093)),
        all_of(kafka(), refused(1, 9093), _worker(2, 9093), _worker(3, 9093)),
        all_of(asking(4), refused(1, 9093)),
        all_of(asking(4), _worker(1, 9093)),
        all_of(asking(2), kafka(1), silent(2, CLIENT)),
    ],
)
def test_ends_alike_told_together(packets: list[Packet], most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ends that prove the same, taken first and at once, are as all of them in their order."""
    monkeypatch.setattr(connection_problems, "ASKING_KEPT", most)
    singly, together = ConnectionProblems(), ConnectionProblems()
    closed: list[ConnectionClosed] = []
    for event in events(packets):
        if isinstance(event, ConnectionClosed):
            closed.append(event)
        elif isinstance(event, Exchange) and event.api_key in connection_problems.ANNOUNCING:
            singly.feed(ExchangeView(event))
            together.feed(ExchangeView(event))
    expected = [one for event in closed for one in singly.close(event)] + singly.finish()
    plain: dict[PlainEnd, list[str]] = {}
    rest = []
    for event in closed:
        end = plain_end(event)
        if end is None or (end.only_asks and together.asked_often(event.connection.id)):
            rest.append(event)
        else:
            plain.setdefault(end, []).append(event.connection.id)
    assert plain or len(closed) < 3, "nothing is plain"
    found = [one for end, names in plain.items() for one in together.close_plain(end, names)]
    found += [one for event in rest for one in together.close(event)] + together.finish()
    assert sorted(map(repr, map(_named, found))) == sorted(map(repr, map(_named, expected)))


def _named(one: ConnectionProblem) -> tuple[str, str, bool]:
    return one.connection.id, str(one.problem), one.is_kafka

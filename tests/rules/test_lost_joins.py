"""What a member does on one connection is not judged by what was lost of another."""

import pytest

from kdissect.decoders.encoder import encode_request, encode_response
from kdissect.engine.analyzer import Analyzer
from kdissect.model.packets.packet import Packet
from kdissect.rules.judge import Judge
from tests.rules.test_damaged_captures import packets_of
from tests.support.messages.traffic import BROKER, CLIENT, Conversation
from tests.support.run import exchanges_of

JOIN, HEARTBEAT, SYNC = 11, 12, 14
REBALANCE_IN_PROGRESS = 27
SECOND_NS = 1_000_000_000
FRANZ = "kafka44_franz_groups.pcapng"


class Line(Conversation):
    """A connection of a member."""

    def ask(self, key: int, version: int, number: int, request: object, response: object) -> "Line":
        self.client(encode_request(key, version, number, "member", request))  # type: ignore[arg-type]
        self.broker(encode_response(key, version, number, response))  # type: ignore[arg-type]
        return self

    def join(self, number: int, generation: int, protocol: str = "r", member_id: str = "m") -> "Line":
        asked: dict[str, object] = {"group_id": "g", "member_id": member_id, "protocol_type": "consumer"}
        asked |= {"protocols": [{"name": protocol}]}
        asked |= {"session_timeout_ms": 5000, "rebalance_timeout_ms": 5000}
        told = {"generation_id": generation, "protocol_name": protocol, "leader": "m", "member_id": member_id}
        return self.ask(JOIN, 5, number, asked, told)

    def sync(self, number: int, generation: int, protocol: str) -> "Line":
        asked = {"group_id": "g", "generation_id": generation, "member_id": "m", "protocol_type": "consumer"}
        return self.ask(SYNC, 5, number, asked | {"protocol_name": protocol}, {})

    def beat(self, number: int, generation: int, error: int = 0) -> "Line":
        asked = {"group_id": "g", "generation_id": generation, "member_id": "m"}
        return self.ask(HEARTBEAT, 3, number, asked, {"error_code": error})


def member(*, joins_again: bool, loses: bool) -> list[Packet]:
    """Return a member that heartbeats on another connection, with the generation after that of its
    JoinGroup.
    """
    joins, beats = Line(ports=(40000, 9092)).handshake(), Line(ports=(40001, 9092)).handshake()
    assert isinstance(joins, Line)
    assert isinstance(beats, Line)
    joins.join(1, 2)
    beats.wait(SECOND_NS).beat(1, 2)  # type: ignore[attr-defined]
    kept = len(joins.packets)
    joins.wait(2 * SECOND_NS)
    if joins_again:
        joins.join(2, 3)
        if loses:
            del joins.packets[kept:]
    beats.wait(3 * SECOND_NS).beat(2, 3)  # type: ignore[attr-defined]
    joins.wait(5 * SECOND_NS).join(3, 3)  # type: ignore[attr-defined]
    joins.fin(CLIENT).fin(BROKER)
    packets = sorted([*joins.packets, *beats.packets], key=lambda packet: packet.time_ns)
    return [packet._replace(ref=number) for number, packet in enumerate(packets, 1)]


def judged(packets: list[Packet]) -> Judge:
    """Each event is judged as it comes: what a later packet shows is not known yet."""
    analyzer, judge = Analyzer(), Judge()
    for packet in packets:
        for event in analyzer.feed(packet):
            judge.add(event)
    for event in analyzer.close():
        judge.add(event)
    judge.finish()
    return judge


def told_to_join(*, joins: bool, error: int) -> list[Packet]:
    """Return a member that has to join again, and heartbeats for longer than the rebalance timeout."""
    line, beats = Line(ports=(40000, 9092)).handshake(), Line(ports=(40001, 9092)).handshake()
    assert isinstance(line, Line)
    assert isinstance(beats, Line)
    line.join(1, 2)
    kept = len(line.packets)
    beats.wait(SECOND_NS).beat(1, 2, REBALANCE_IN_PROGRESS)  # type: ignore[attr-defined]
    if joins:
        line.wait(2 * SECOND_NS).join(2, 3)  # type: ignore[attr-defined]
        del line.packets[kept:]
    for number in range(2, 12):
        beats.wait(SECOND_NS).beat(number, 3 if joins else 2, error)  # type: ignore[attr-defined]
    line.wait(20 * SECOND_NS).fin(CLIENT).fin(BROKER)
    packets = sorted([*line.packets, *beats.packets], key=lambda packet: packet.time_ns)
    return [packet._replace(ref=number) for number, packet in enumerate(packets, 1)]


def test_a_member_whose_heartbeats_are_answered_well_has_joined() -> None:
    assert "GRP018" in codes(told_to_join(joins=False, error=REBALANCE_IN_PROGRESS))
    assert not {"GRP010", "GRP018"} & codes(told_to_join(joins=True, error=0))


@pytest.mark.parametrize("is_lost", [False, True])
def test_a_protocol_is_that_of_the_join_of_its_generation(is_lost: bool) -> None:
    """Another member is told of generation 3 and its protocol; the JoinGroup of the first may be lost."""
    lines = [Line(ports=(port, 9092)).handshake() for port in (40000, 40001, 40002)]
    for at, line in enumerate(lines):
        assert isinstance(line, Line)
        if at == 0:
            line.join(1, 2)
            kept = len(line.packets)
            line.wait(SECOND_NS).join(2, 3, "r" if not is_lost else "s")  # type: ignore[attr-defined]
            del line.packets[kept if is_lost else len(line.packets) :]
        elif at == 1:
            line.wait(SECOND_NS).join(1, 3, "s" if is_lost else "r", "n")  # type: ignore[attr-defined]
        else:
            line.wait(2 * SECOND_NS).sync(1, 3, "s")  # type: ignore[attr-defined]
    packets = sorted((one for line in lines for one in line.packets), key=lambda packet: packet.time_ns)
    found = codes([packet._replace(ref=number) for number, packet in enumerate(packets, 1)])
    assert ("GRP014" in found) is not is_lost


def codes(packets: list[Packet]) -> set[str]:
    return {found.code for found in judged(packets).findings.all()}


def test_a_generation_that_a_member_was_not_told_is_found() -> None:
    assert "GRP010" in codes(member(joins_again=False, loses=False))


def test_a_generation_of_a_lost_join_is_none() -> None:
    """When the heartbeat comes, nothing shows that a JoinGroup is missing on the other connection."""
    packets = member(joins_again=True, loses=True)
    assert len(exchanges_of(packets)) == 4
    assert "GRP010" not in codes(packets)
    assert any(code == "GRP010" for code, _ in judged(packets).inconclusive)
    assert "GRP010" not in codes(member(joins_again=True, loses=False))


@pytest.mark.parametrize(("first", "count"), [(554, 36), (552, 38), (554, 30)])
def test_a_burst_that_hides_a_join_adds_no_error(first: int, count: int) -> None:
    packets = packets_of(FRANZ)
    assert codes(packets[:first] + packets[first + count :]) <= codes(packets)

"""A connection of which one SYN was seen is held as that packet: nobody can tell, by any event."""

from random import Random

import pytest

from benchmarks.hostile_load import ACK, FIN, PSH, START_NS, SYN, Wire, request, response
from kdissect.engine.analyzer import Analyzer
from kdissect.engine.flows import HalfOpen
from kdissect.model.limits import Limits
from kdissect.model.packet import PlainPacket
from kdissect.model.ports import Ports
from tests.engine.test_in_order import plain

RST = 4
SECOND_NS = 1_000_000_000
# Packets of a connection, by side, what it says and flags: cut anywhere, so that many end half-open.
TALKS = [
    [(0, b"", SYN)],
    [(0, b"", SYN), (0, b"", SYN), (1, b"", SYN | ACK)],
    [(1, b"", SYN | ACK), (0, b"", ACK), (0, request(1), PSH | ACK), (1, response(1), PSH | ACK)],
    [(0, b"", SYN), (1, b"", SYN | ACK), (0, b"", ACK), (0, request(1), PSH | ACK)],
    [(0, b"", SYN), (1, b"", RST | ACK)],
    [(0, b"", SYN), (1, b"", SYN), (0, request(1), PSH | ACK)],
    [(0, b"early", SYN)],
    [(0, b"", SYN | FIN)],
    [(0, b"", SYN), (0, request(1), PSH | ACK), (0, b"", FIN | ACK), (0, b"", SYN)],
    [(0, b"", ACK), (0, b"", SYN)],
]


def packets(seed: int) -> list[PlainPacket]:
    """Connections of many kinds side by side, with silences that end some of them."""
    dice = Random(seed)
    waiting = []
    for number in range(60):
        wire, talk = Wire(number), dice.choice(TALKS)
        waiting.append([wire.say(*one) for one in talk[: dice.randint(1, len(talk))]])
    found: list[PlainPacket] = []
    time_ns = START_NS
    while waiting:
        said = dice.choice(waiting)
        time_ns += dice.choice((1000, -500, SECOND_NS, 900 * SECOND_NS))
        data = said.pop(0)
        found.append((len(found) + 1, time_ns, 1, data, len(data)))
        waiting = [each for each in waiting if each]
    return found


def told(analyzer: Analyzer, given: list[PlainPacket]) -> list[object]:
    said: list[object] = [plain(analyzer.feed_batch([packet])) for packet in given]
    return [*said, plain(analyzer.close({"": given[-1][1]})), repr(analyzer.anomalies)]


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("most", [200_000, 20])
def test_nobody_can_tell(seed: int, most: int) -> None:
    given = packets(seed)
    held, opened = (Analyzer(Ports((9092,)), limits=Limits(connections=most)) for _ in "ab")
    opened._holds_syns = False
    assert told(held, given) == told(opened, given)


def test_one_syn_is_half_open_and_any_more_is_not() -> None:
    analyzer, wire = Analyzer(), Wire(1)
    for number, (said, is_half) in enumerate(
        [(wire.say(0, b"", SYN), True), (wire.say(1, b"", SYN | ACK), False)], 1
    ):
        analyzer.feed_batch([(number, START_NS + number, 1, said, len(said))])
        assert isinstance(next(iter(analyzer._flows.values()))[2], HalfOpen) is is_half
        assert analyzer._count == 1

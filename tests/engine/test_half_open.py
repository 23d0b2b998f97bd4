"""A connection of which a handshake was seen is held as its packets: nobody can tell, by any event."""

from random import Random
from sys import getsizeof

import pytest

from benchmarks.hostile_load import ACK, FIN, PSH, START_NS, SYN, Wire, request, response, syn_flood
from kdissect.engine.analyzer import Analyzer
from kdissect.engine.flows import Connection
from kdissect.engine.half_open import ONE_SYN, ONE_SYN_OF_BROKER, was_one_syn
from kdissect.model.endpoint import Ports
from kdissect.model.limits import Limits
from kdissect.model.native import native
from kdissect.model.packets.packet import PlainPacket
from kdissect.model.packets.segment import PlainSegment
from kdissect.session.events import ConnectionClosed
from tests.engine.test_in_order import blocks, each, plain

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
    [(0, b"", SYN), (1, b"", SYN | ACK), (1, b"", SYN | ACK), (0, b"", ACK)],
    [(0, b"", SYN), (1, b"", SYN | ACK), (0, b"", ACK), (0, b"", ACK), (1, response(1), PSH | ACK)],
    [(0, b"", SYN), (1, b"", SYN | ACK), (0, b"", ACK), (0, b"", RST)],
    [(0, b"", SYN), (1, b"", SYN | ACK), (0, b"", ACK), (0, b"", SYN), (1, b"", FIN | ACK)],
    [(0, b"", SYN), (1, b"", SYN | ACK), (0, request(1), PSH | ACK), (1, response(1), PSH | ACK)],
    [(0, b"", SYN), (0, b"", ACK), (1, b"", SYN | ACK)],
]


def packets(seed: int) -> list[PlainPacket]:
    """Return connections of many kinds side by side, with silences that end some of them."""
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


@pytest.mark.sampled(16)
@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("most", [200_000, 20])
def test_nobody_can_tell(seed: int, most: int) -> None:
    given = packets(seed)
    held, opened = (Analyzer(Ports((9092,)), limits=Limits(connections=most)) for _ in "ab")
    opened._holds_syns = False
    assert told(held, given) == told(opened, given)


@pytest.mark.sampled(8)
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("holds_syns", [True, False])
def test_who_goes_is_who_was_heard_longest_ago(
    seed: int, holds_syns: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those that are found at a time go one by one, but for those that were heard since."""
    dice, wires = Random(seed), [Wire(number) for number in range(400)]
    said = [(wire, (0, b"", SYN)) for wire in wires]
    for wire in wires:
        at = said.index((wire, (0, b"", SYN)))
        said.insert(dice.randint(at + 1, min(at + 300, len(said))), (wire, (1, b"", SYN | ACK)))
    given = [
        (number, START_NS + number * 1000, 1, data, len(data))
        for number, data in enumerate((wire.say(*one) for wire, one in said), 1)
    ]
    gone = []
    for most_found in (1, 20_000):
        monkeypatch.setattr("kdissect.engine.analyzer.EVICTED_AT_ONCE", 1)
        monkeypatch.setattr("kdissect.engine.analyzer.FOUND_AT_ONCE", most_found)
        analyzer = Analyzer(limits=Limits(connections=100))
        analyzer._holds_syns = holds_syns
        gone.append(told(analyzer, given))
    assert gone[0] == gone[1]
    assert "is evicted" in str(gone[0])


@pytest.mark.parametrize("said", [(0, b"", SYN), (1, b"", SYN | ACK)])
@pytest.mark.parametrize("holds_syns", [True, False])
def test_equal_numbers_do_not_make_a_connection_one_packet(
    said: tuple[int, bytes, int], holds_syns: bool
) -> None:
    """Rows of those that are one packet are made without a look at anything else."""
    analyzer = Analyzer(Ports((9092,)))
    analyzer._holds_syns = holds_syns
    data = Wire(1).say(*said)
    analyzer.feed_batch([(1, START_NS, 1, data, len(data))])
    (closed,) = analyzer.close({"": START_NS + 3600 * SECOND_NS})
    assert isinstance(closed, ConnectionClosed)
    assert closed.connection.tcp in (ONE_SYN, ONE_SYN_OF_BROKER)
    assert was_one_syn(closed.connection) is holds_syns


def test_a_handshake_is_half_open_and_any_more_is_not() -> None:
    analyzer, wire = Analyzer(), Wire(1)
    for number, (said, is_half) in enumerate(
        [
            (wire.say(0, b"", SYN), True),
            (wire.say(1, b"", SYN | ACK), True),
            (wire.say(0, b"", ACK), True),
            (wire.say(0, b"", ACK), False),
        ],
        1,
    ):
        analyzer.feed_batch([(number, START_NS + number, 1, said, len(said))])
        assert isinstance(next(iter(analyzer._flows.values())), bytes) is is_half
        assert analyzer.open_connections() == 1


def test_what_acknowledges_something_else_is_no_handshake() -> None:
    analyzer, wire, other = Analyzer(), Wire(1), Wire(1)
    other.say(0, b"more", PSH | ACK)
    wire_packets = [wire.say(0, b"", SYN), other.say(1, b"", SYN | ACK)]
    for number, said in enumerate(wire_packets, 1):
        analyzer.feed_batch([(number, START_NS + number, 1, said, len(said))])
    assert not any(isinstance(flow, bytes) for flow in analyzer._flows.values())


@pytest.mark.sampled(8)
@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("most", [200_000, 20])
def test_nobody_can_tell_in_blocks(seed: int, most: int) -> None:
    given = packets(seed)
    held, opened = (Analyzer(limits=Limits(connections=most)) for _ in "ab")
    opened._holds_syns = False
    said = list(each(held, blocks(given, [3, 50, 1])))
    assert said == list(each(opened, [[packet] for packet in given]))
    assert plain(held.close({"": given[-1][1]})) == plain(opened.close({"": given[-1][1]}))
    assert repr(held.anomalies) == repr(opened.anomalies)


@pytest.mark.parametrize("ports", [Ports(), Ports((), (9092,))])
def test_a_flood_in_a_block_is_held_as_packet_by_packet(
    ports: Ports, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Compiled, without a call for each."""
    given = [(n, START_NS + n, 1, data, len(data)) for n, data in enumerate(syn_flood(1000), 1)]
    one, other = Analyzer(ports), Analyzer(ports)
    for packet in given:
        one.feed_batch([packet])
    calls, first = [], Analyzer._first

    def counted(self: Analyzer, plain: PlainSegment, ref: int, time_ns: int) -> Connection | None:
        calls.append(ref)
        return first(self, plain, ref, time_ns)

    monkeypatch.setattr(Analyzer, "_first", counted)
    for block in blocks(given, [300]):
        assert list(other.feed_each(block)) == []
    assert list(other._flows.items()) == list(one._flows.items())
    assert {type(flow) for flow in other._flows.values()} == {bytes}
    assert other.open_connections() == 1000
    assert len(calls) == (1 if native is not None and not ports.only else 1000)


def test_a_table_of_flows_does_not_grow_by_those_that_go() -> None:
    """A dict keeps the places of what went, and is made twice as large where they are all there is."""
    analyzer = Analyzer(limits=Limits(connections=1000))
    given = [(n, START_NS + n, 1, data, len(data)) for n, data in enumerate(syn_flood(10_000), 1)]
    analyzer.feed_batch(given[:1000])
    size = getsizeof(analyzer._flows)
    analyzer.feed_batch(given[1000:])
    assert getsizeof(analyzer._flows) == size
    assert analyzer.open_connections() == len(analyzer._flows) == 1000 - (10_000 - 1000) % 100


def test_who_goes_where_times_are_beyond_any_clock() -> None:
    """Such a connection is no SYN that is held; those heard before it go first."""
    analyzer = Analyzer(limits=Limits(connections=10))
    for number, data in enumerate(syn_flood(12), 1):
        analyzer.feed_batch([(number, (1 << 70) - number, 1, data, len(data))])
    assert analyzer.open_connections() == 10

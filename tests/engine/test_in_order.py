"""A block of packets and the same packets one by one tell the same, whatever happened to them."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kdissect.capture.files import open_captures
from kdissect.engine.analyzer import Analyzer
from kdissect.model.frame import Frame
from kdissect.model.native import native
from kdissect.model.packets.packet import PacketBlock, PlacedPacket, PlainPacket
from kdissect.session.exchange import Exchange
from kdissect.session.identities import Identities
from tests.support.messages.traffic import BROKER, CLIENT, Conversation, request, response

CAPTURES = Path(__file__).parent.parent.parent / "captures"
SHIPPED = ("kafka44_sarama_transactions.pcapng", "kafka44_rdkafka_transactions.pcapng")
MINUTE = 60 * 10**9
# Bytes of an Ethernet packet that are changed: in the EtherType, IPv4's fragment field, three fields of TCP.
AT = {"type": 13, "fragment": 20, "sequence": 40, "flags": 47, "window": 48}
WHAT = ("swap", "late", "lose", "copy", "cut", "link", "idle", *AT)
DAMAGE = st.lists(st.tuples(st.integers(0, 2000), st.sampled_from(WHAT), st.integers(1, 255)), max_size=10)
FLIPS = st.lists(st.tuples(st.integers(0, 2000), st.integers(78, 312), st.integers(1, 255)), max_size=30)
CUTS = st.lists(st.integers(1, 150), max_size=5)


@cache
def large_frames() -> list[PlainPacket]:
    """Three connections in turns, frames of up to 50 KB in segments of an MTU, eight to an acknowledgment."""
    found: list[PlainPacket] = []
    talks = [Conversation(ports=(40000 + number, 9092)) for number in range(3)]
    for number in range(6):
        for index, talk in enumerate(talks):
            if not number and index < 2:  # the third is heard from its middle on
                talk.handshake()
            talk.client(request(1, 4, number, bytes(300 * number)))
            answer = response(number, bytes(range(256)) * 40 * number)
            for at in range(0, len(answer), 8 * 1448):
                talk.broker(answer[at : at + 8 * 1448], mss=1448).packet(CLIENT)
            found += talk.packets  # in turns of a frame: what follows one another can be a run
            talk.packets.clear()
    talks[0].fin(CLIENT).fin(BROKER)
    talks[1].rst(BROKER)
    return [*found, *talks[0].packets, *talks[1].packets]


@cache
def shipped(name: str) -> list[PlainPacket]:
    return list(chain.from_iterable(open_captures([str(CAPTURES / name)]).batches()))


def damaged(packets: list[PlainPacket], damage: list[tuple[int, str, int]]) -> list[PlainPacket]:
    """Return the packets after a damage, with new numbers."""
    found = list(packets)
    for where, what, by in damage:
        at = where % len(found)
        ref, time_ns, link, data, wire = found[at]
        if what in ("swap", "late"):
            found.insert(min(at + (1 if what == "swap" else by), len(found) - 1), found.pop(at))
        elif what == "lose" and len(found) > 1:
            found.pop(at)
        elif what == "copy":
            found.insert(min(at + by % 20, len(found)), found[at])
        elif what == "cut":
            found[at] = ref, time_ns, link, data[: max(1, len(data) - by)], wire
        elif what == "link":
            found[at] = ref, time_ns, (0, 101, 113, 276, 999)[by % 5], data, wire
        elif what == "idle":
            found[at:] = [(r, t + by * MINUTE, *rest) for r, t, *rest in found[at:]]  # type: ignore[misc]
        elif what in AT:
            found[at] = ref, time_ns, link, changed(data, what, by), wire
    return [(number, *packet[1:]) for number, packet in enumerate(found, 1)]


def flipped(packets: list[PlainPacket], flips: list[tuple[int, int, int]]) -> list[PlainPacket]:
    """Return the packets with changed bits after a frame's headers. Flips: packet, byte, bits."""
    found = list(packets)
    for where, at, by in flips:
        ref, time_ns, link, data, wire = found[where % len(found)]
        if at + 1 < len(data):
            changed_data = data[:at] + bytes([data[at] ^ by]) + data[at + 1 :]
            found[where % len(found)] = ref, time_ns, link, changed_data, wire
    return found


def changed(data: bytes, what: str, by: int) -> bytes:
    at = AT[what]
    if len(data) < at + 2:
        return data
    new = b"\0\0" if what == "window" else bytes((data[at] ^ by, data[at + 1]))
    return data[:at] + new + data[at + 2 :]


def blocks(packets: list[PlainPacket], cuts: list[int]) -> list[PacketBlock]:
    """Return the packets as they lie in a file, behind headers of 16 bytes, in blocks of these sizes."""
    data, places = bytearray(), list[PlacedPacket]()
    for _, time_ns, link_type, content, wire in packets:
        data += b"\xa5" * 16
        places.append((len(data), time_ns, link_type, len(data) + len(content), wire))
        data += content
    whole, found = PacketBlock(bytes(data), packets[0][0], places), []
    for size in cuts:
        found.append(whole[:size])
        whole = whole[size:]
    return [*found, whole]


def plain(value: Any) -> Any:
    """Return what an event and all that hangs on it says, as values that can be compared."""
    if isinstance(value, (Exchange, Frame)) or type(value).__name__ in ("ConnectionInfo", "TlsInfo"):
        names = [name for name in type(value).__slots__ if not name.endswith("_cache")]
        if "named_cluster" in names and value.close is None:  # known once the connection is over
            names.remove("named_cluster")
        return type(value).__name__, [(name, plain(getattr(value, name))) for name in names]
    if isinstance(value, Counter):
        return dict(value)
    if isinstance(value, Identities):
        known = vars(value) | {"_bodies": list(vars(value)["_bodies"].values())}  # keys: hashes of a process
        return "Identities", sorted((name, plain(held)) for name, held in known.items())
    return [plain(item) for item in value] if isinstance(value, (tuple, list)) else repr(value)


def each(analyzer: Analyzer, batches: Iterable[Sequence[PlainPacket]]) -> Iterator[Any]:
    """Yield each event in its state at that time, with the number of the packet that completed it."""
    before = 0
    for batch in batches:
        for events in analyzer.feed_each(batch):
            for event in events:
                yield before + analyzer.index, plain(event)
        before += len(batch)


def streams(analyzer: Analyzer) -> list[Any]:
    """Directions of its connections."""
    open_ones = (one for one in analyzer._flows.values() if not isinstance(one, bytes))
    return [stream for one in open_ones for stream in one.tcp.streams]


def told(batches: list[Any]) -> tuple[list[Any], Any]:
    """Return the events of each packet, in their state at that time, and the counts of the parser."""
    analyzer = Analyzer()
    said: list[Any] = list(each(analyzer, batches))
    parser = analyzer.parser
    counts = parser.packets, parser.tcp_segments, parser.malformed, parser.others, parser.unsupported
    said += [list(stream.recent) for stream in streams(analyzer)]
    said.append(plain(analyzer.close()))
    return said, (counts, repr(parser.anomalies), repr(analyzer.anomalies))


def assert_same(packets: list[PlainPacket], cuts: list[int]) -> None:
    assert told(list(blocks(packets, cuts))) == told([packets])


@pytest.mark.exhaustive
@settings(max_examples=50, deadline=None)
@given(DAMAGE, CUTS)
def test_large_frames(damage: list[tuple[int, str, int]], cuts: list[int]) -> None:
    assert_same(damaged(large_frames(), damage), cuts)


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", SHIPPED)
@settings(max_examples=20, deadline=None)
@given(damage=DAMAGE, cuts=CUTS)
def test_recorded_connections(name: str, damage: list[tuple[int, str, int]], cuts: list[int]) -> None:
    assert_same(damaged(shipped(name), damage), cuts)


@pytest.mark.parametrize("what", WHAT)
def test_each_damage_everywhere(what: str) -> None:
    """The same thing happens to every ninth packet."""
    assert_same(damaged(large_frames(), [(at, what, 1 + at % 7) for at in range(3, 200, 9)]), [100])


@pytest.mark.parametrize("first", range(9))
def test_silence_of_all(first: int) -> None:
    """Connections that were silent for too long are over before the next packet, whichever way that goes."""
    assert_same(damaged(large_frames(), [(at, "idle", 40) for at in range(first, 300, 27)]), [])


@pytest.mark.parametrize("spacing", [1, 5, 20])
def test_silence_of_one(spacing: int) -> None:
    """One connection falls silent while the segments of another come on, seconds apart."""
    silent, busy = Conversation(ports=(40000, 9092)), Conversation(ports=(40001, 9092))
    packets: list[PlainPacket] = [*silent.handshake().client(request(1, 4, 1)).packets]
    busy.handshake().client(request(1, 4, 1)).broker(response(1, bytes(1448 * 300)), mss=1448)
    start = packets[-1][1]
    packets += [(ref, start + at * spacing * 10**9, *rest) for at, (ref, _, *rest) in enumerate(busy.packets)]  # type: ignore[misc]
    numbered = damaged(packets, [])
    kinds = [
        type(event).__name__ for events in Analyzer().feed_each(blocks(numbered, [])[0]) for event in events
    ]
    assert ("ConnectionClosed" in kinds) == (spacing * 300 > 30 * 60)
    assert_same(numbered, [])


@pytest.mark.exhaustive
def test_what_is_kept_after_any_packet() -> None:
    """`recent` is what it would be packet by packet wherever one looks."""
    packets = damaged(large_frames(), [])
    for end in range(100, len(packets), 3):
        assert_same(packets[:end], [])


@pytest.mark.skipif(native is None, reason="no compiled hot path (docs/native.md)")
def test_most_segments_go_the_short_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """Or the tests above compare one way with itself."""
    asked: list[PlainPacket] = []
    feed = Analyzer._feed_packet

    def counted(analyzer: Analyzer, packet: PlainPacket) -> None:
        asked.append(packet)
        feed(analyzer, packet)

    monkeypatch.setattr(Analyzer, "_feed_packet", counted)
    packets = large_frames()
    told(list(blocks(packets, [])))
    assert len(asked) < len(packets) / 10


def test_a_block_is_the_sequence_of_its_packets() -> None:
    packets = large_frames()
    (block,) = blocks(damaged(packets, []), [])
    assert list(block) == damaged(packets, [])
    assert block[-1] == block[len(block) - 1] == list(block)[-1]
    assert list(block[3:9]) == list(block)[3:9]
    with pytest.raises(IndexError):
        block[len(block)]

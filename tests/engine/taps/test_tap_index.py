"""The index over connections finds what a look at all of them finds, and looks at few."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from random import Random
from typing import NamedTuple

import pytest

from benchmarks.hostile_commands import files_of_one_tap, same_file
from benchmarks.hostile_load import START_NS
from kdissect.engine.analyzer import Analyzer
from kdissect.engine.taps.duplicate_taps import DuplicateTaps
from kdissect.engine.taps.tap_index import CLOCK_NS, FEW, NO_MATCH, Between, Seen, Span
from kdissect.model.native import native
from kdissect.model.packets.packet import FILE_SHIFT, MergedBlock, PlainPacket
from kdissect.model.packets.segment import ACK, SYN, Segment, reverse_flow
from kdissect.net.streams.sequence import MASK
from kdissect.net.streams.tcp import TcpConnection
from kdissect.session.events import ConnectionClosed
from kdissect.session.info import ConnectionInfo
from tests.engine.test_in_order import blocks
from tests.support.messages.traffic import BROKER, CLIENT, Conversation, request, response

FLOW = b"\x0a\0\0\1\x9c\x40\x0a\0\0\2\x23\x84"


def all_looked_at(known: Sequence[Seen], segment: Segment, capture_set: str, start_ns: int) -> Seen | None:
    """Return the reference: every connection of another set is compared."""
    best, found = NO_MATCH, None
    for seen in known:
        if seen.capture_set != capture_set:
            off = seen.distance(segment, start_ns)
            if off < NO_MATCH and off <= best:
                best, found = off, seen
    return found


class Plainly(DuplicateTaps):
    """The reference for `DuplicateTaps`: remembers in a list, and looks at all. Forgets nothing."""

    def __init__(self) -> None:
        super().__init__()
        self.known: dict[bytes, list[Seen]] = {}
        self.by_id: dict[str, Seen] = {}

    def open(self, info: ConnectionInfo, tcp: TcpConnection, segment: Segment) -> None:
        known = self.known.setdefault(min(segment.flow, reverse_flow(segment.flow)), [])
        seen = Seen(info.id, info.capture_set, segment.flow, info.start_ns, tcp)
        info.same_as = seen.join(all_looked_at(known, segment, info.capture_set, info.start_ns))
        known.append(seen)
        self.by_id[info.id] = seen

    def close(self, info: ConnectionInfo) -> None:
        seen = self.by_id.pop(info.id)
        seen.look()
        seen.tcp = None


class Dice(NamedTuple):
    """Where random streams lie: close to each other, so that they meet, at a wrap, or anywhere."""

    random: Random
    places: tuple[int, ...]
    lengths: tuple[int, ...]
    hours: tuple[float, ...]

    def number(self) -> int:
        return (self.random.choice(self.places) + self.random.randrange(-3, 4) * 7) & MASK

    def span(self) -> Span:
        if self.random.random() < 0.2:
            return -1, -1 & MASK, False
        start = self.number()
        return start, (start + self.random.choice(self.lengths)) & MASK, self.random.random() < 0.5

    def time(self) -> int:
        return START_NS + int(self.random.choice(self.hours) * CLOCK_NS / 2) + self.random.randrange(9)


def segment_of(dice: Dice) -> Segment:
    flow = FLOW if dice.random.random() < 0.5 else reverse_flow(FLOW)
    flags = dice.random.choice((SYN, SYN | ACK, ACK, ACK, ACK, 0))
    return Segment(flow, dice.number(), dice.number(), flags, 0, b"", 0, 0)


KINDS = (
    ((1 << 20, 1 << 21, MASK - 3), (0, 5, 700, 1 << 20), (0, 0.5, 1)),
    (((1 << 30), (1 << 30) + 100, (1 << 30) + (1 << 28)), (0, 1, 9, 100, 1 << 28, 3 << 30), (0, 1, 3, 5, 50)),
    (tuple(n * 77_777_777 & MASK for n in range(400)), (0, 40, 4000), (0,)),
    ((5, 1 << 16, (1 << 16) + 20, 1 << 31), (1, 30, (1 << 31) - 1, 1 << 31), (-9, 0, 2, 4, 400_000)),
)


@pytest.mark.parametrize("kind", range(len(KINDS)))
@pytest.mark.parametrize("seed", range(12))
def test_random_connections_are_found_as_by_a_look_at_all(kind: int, seed: int) -> None:
    dice = Dice(Random(seed), *KINDS[kind])
    between = Between(min(FLOW, reverse_flow(FLOW)))
    known: dict[int, Seen] = {}
    found = 0
    for _ in range(150):
        segment, capture_set, start_ns = segment_of(dice), dice.random.choice("abcdefgh"), dice.time()
        expected = all_looked_at(list(known.values()), segment, capture_set, start_ns)
        assert between.nearest(segment, capture_set, start_ns) is expected
        found += expected is not None
        seen = Seen("id", capture_set, segment.flow, start_ns, None)
        seen.spans = dice.span(), dice.span()
        seen.last_ns = dice.time()
        known[between.add(seen)] = seen
        if dice.random.random() < 0.3:  # one has moved
            number = dice.random.choice(list(known))
            known[number].spans, known[number].last_ns = (dice.span(), dice.span()), dice.time()
            between.moved(number)
        if dice.random.random() < 0.1:
            number = dice.random.choice(list(known))
            del known[number]
            between.forget(number)
    assert len(known) > 4 * FEW
    assert found > 10


def taps(seed: int) -> list[tuple[int, int, bytes]]:
    """(time, capture set, packet) of a few connections, used again and again, as lossy taps saw them."""
    dice = Random(seed)
    packets: list[tuple[int, bytes]] = []
    at = START_NS
    for _ in range(dice.randrange(3, 7)):
        isn = dice.randrange(1 << 17, 1 << 32), dice.choice((1 << 18, 0xFFFFFFF0, dice.randrange(1 << 32)))
        talk = Conversation(isn=isn).handshake()
        for n in range(dice.randrange(1, 9)):
            talk.client(request(18, 0, n)).broker(response(n, bytes(6)))
        if dice.random() < 0.7:
            talk.fin(CLIENT).fin(BROKER)
        for packet in talk.packets:
            at += dice.choice((1000, 10**6, 10**9, 40 * 60 * 10**9 if dice.random() < 0.05 else 10))
            packets.append((at, packet.data))
    seen = []
    for capture_set in range(30):
        shift, loss = dice.choice((0, 10, 10**9, 3600 * 10**9, 3 * 3600 * 10**9)), dice.random() * 0.8
        begin = dice.choice((0, 0, dice.randrange(len(packets))))
        seen += [(t + shift, capture_set, data) for t, data in packets[begin:] if dice.random() >= loss]
    return sorted(seen, key=lambda one: one[0])


def marks(
    duplicate_taps: DuplicateTaps, packets: Sequence[tuple[int, int, bytes]]
) -> list[tuple[str, str | None]]:
    return marks_of(duplicate_taps, ([packet] for packet in plain_packets(packets)))


def plain_packets(packets: Sequence[tuple[int, int, bytes]]) -> list[PlainPacket]:
    return [
        ((capture_set << FILE_SHIFT) + number, time_ns, 1, data, len(data))
        for number, (time_ns, capture_set, data) in enumerate(packets)
    ]


def marks_of(
    duplicate_taps: DuplicateTaps, batches: Iterable[Sequence[PlainPacket]]
) -> list[tuple[str, str | None]]:
    analyzer = Analyzer(capture_set_of=str, duplicate_taps=duplicate_taps)
    events = [event for batch in batches for event in analyzer.feed_batch(batch)] + analyzer.close()
    return [(e.connection.id, e.connection.same_as) for e in events if isinstance(e, ConnectionClosed)]


def in_blocks(packets: list[PlainPacket], size: int) -> Iterator[Sequence[PlainPacket]]:
    """So many packets at a time, as they lie in blocks of each set."""
    for start in range(0, len(packets), size):
        by_set: dict[int, list[PlainPacket]] = {}
        for packet in packets[start : start + size]:
            by_set.setdefault(packet[0] >> FILE_SHIFT, []).append(packet)
        found = [block for _, own in sorted(by_set.items()) for block in blocks(own, [])]
        yield found[0] if len(found) == 1 else MergedBlock([(block, 0, len(block)) for block in found])


@pytest.mark.sampled(8)
@pytest.mark.parametrize("seed", range(30))
def test_taps_of_real_streams_have_the_marks_of_a_look_at_all(seed: int) -> None:
    packets = taps(seed)
    expected = marks(Plainly(), packets)
    assert marks(DuplicateTaps(), packets) == expected
    assert sum(same is not None for _, same in expected) > 5
    if native is not None:
        for size in (2, 40, 1000):
            assert marks_of(DuplicateTaps(), in_blocks(plain_packets(packets), size)) == expected


def other_connections(count: int) -> list[tuple[int, int, bytes]]:
    """Each set has another connection between the two ends."""
    dice = Random(1)
    made = []
    for capture_set in range(count):
        talk = Conversation(isn=(dice.randrange(1 << 17, 1 << 32), dice.randrange(1 << 32)))
        talk.client(request(18, 0, 1)).broker(response(1, bytes(6)))
        made += [
            (START_NS + capture_set * 10**6 + n, capture_set, p.data) for n, p in enumerate(talk.packets)
        ]
    return made


LOADS: dict[str, Callable[[int], list[tuple[int, int, bytes]]]] = {
    "one file copied": lambda count: list(same_file(count)),
    "files of an hour": lambda count: list(files_of_one_tap(count, 3600)),
    "files of a second": lambda count: list(files_of_one_tap(count, 1)),
    "other connections": other_connections,
}


@pytest.mark.parametrize("name", LOADS)
def test_four_times_the_files_are_four_times_the_comparisons(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = [0]
    distance = Seen.distance

    def counted(self: Seen, segment: Segment, time_ns: int) -> int:
        asked[0] += 1
        return distance(self, segment, time_ns)

    monkeypatch.setattr(Seen, "distance", counted)
    counts = []
    for files in (100, 400):
        asked[0] = 0
        found = marks(DuplicateTaps(), LOADS[name](files))
        assert len({connection for connection, _ in found}) >= files
        counts.append(asked[0])
    assert counts[1] < 4 * 4 * 100 + 4.5 * counts[0]
    assert counts[1] < 5 * len(found)

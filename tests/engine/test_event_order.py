"""The place of an event: keys sort as one process reports, and each connection alone tells the same keys."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from kdissect.api import Dissection
from kdissect.capture.files import ends_of
from kdissect.engine.analyzer import Analyzer
from kdissect.engine.event_order import OrderedAnalyzer, Placed
from kdissect.engine.flows import IDLE_NS, LINGER_NS, SWEEP_EVERY_NS
from kdissect.model.packets.packet import Packet, PlainPacket
from kdissect.model.packets.segment import reverse_flow
from kdissect.net.parser import SegmentParser
from kdissect.session.exchange import Exchange
from tests.support.messages.traffic import BROKER, CLIENT, Conversation, request, response
from tests.support.packets.pcaps import write_pcap

CAPTURES = Path(__file__).parents[2] / "captures"
NAMES = ("kafka28_java_tools.pcapng", "kafka28zk_sarama_releases.pcapng", "kafka28_scala_consumer.pcapng")
Name = tuple[bytes, str, str, int | None]


def _names(placed: list[Placed]) -> list[Name]:
    return [
        (key, type(e).__name__, e.connection.id, e.ordinal if isinstance(e, Exchange) else None)
        for key, e in placed
    ]


def _together(paths: list[str]) -> list[Name]:
    dissection = Dissection(paths)
    ordered = OrderedAnalyzer(dissection.analyzer)
    found: list[Name] = []
    for packets in dissection.captures.batches():
        for events in ordered.feed_each(packets):
            found += _names(ordered.placed(events))
    return found + _names(ordered.close(ends_of(dissection.captures.files)))


def _apart(paths: list[str]) -> list[Name]:
    """Return each flow by an analyzer of its own, all of them one after the other."""
    dissection = Dissection(paths)
    files = dissection.captures.files
    flows: dict[tuple[str, bytes], OrderedAnalyzer] = {}
    found: list[Name] = []
    for segment, ref, time_ns, now_ns in _segments(dissection.captures.batches()):
        capture_set = files[ref >> 40].capture_set
        flow = min(segment[0], reverse_flow(segment[0]))
        alone = flows.get((capture_set, flow))
        if alone is None:
            alone = OrderedAnalyzer(Analyzer(capture_set_of=lambda index: files[index].capture_set))
            flows[capture_set, flow] = alone
        found += _names(alone.feed_segment(segment, ref, time_ns, now_ns))
    for alone in flows.values():
        found += _names(alone.close(ends_of(dissection.captures.files)))
    return sorted(found)


def _segments(batches: Iterator[list[PlainPacket]]) -> Iterator[tuple]:  # type: ignore[type-arg]
    parser = SegmentParser()
    now_ns = 0
    for packets in batches:
        for packet, segment in zip(packets, parser.parse_batch(packets), strict=True):
            now_ns = max(now_ns, packet[1])
            if segment is not None:
                yield segment, packet[0], packet[1], now_ns


@pytest.mark.parametrize("name", NAMES)
def test_keys_sort_as_one_process_reports(name: str) -> None:
    path = str(CAPTURES / name)
    found = _together([path])
    assert found == sorted(found)
    plain = [
        (type(e).__name__, e.connection.id, e.ordinal if isinstance(e, Exchange) else None)
        for e in Dissection(path).events()
    ]
    assert [row[1:] for row in found] == plain
    assert len({row[0] for row in found}) == len(found)


@pytest.mark.parametrize("name", NAMES)
def test_a_flow_alone_tells_the_same_keys(name: str) -> None:
    paths = [str(CAPTURES / name)]
    assert _apart(paths) == _together(paths)


def test_flows_of_several_capture_sets_stay_apart() -> None:
    paths = [str(CAPTURES / name) for name in NAMES[:2]]
    assert _apart(paths) == sorted(_together(paths))


def _silent(waits: list[int]) -> list[Packet]:
    """Return connections that ask, fall silent and end or go on, and one that talks all the time."""
    talker = Conversation(ports=(40000, 9092)).handshake()
    packets = talker.packets
    for number in range(2 * (max(waits) // 10**10)):
        talker.wait(5 * 10**9).client(request(18, 0, number)).broker(response(number, bytes(6)))
    for number, wait in enumerate(waits):
        other = Conversation(
            ports=(41000 + number, 9092), start_ns=packets[0].time_ns + number * 7_000
        ).handshake()
        other.client(request(18, 0, 1)).broker(response(1, bytes(6))).client(request(3, 0, 2, bytes(4)))
        if number % 2:
            other.fin(CLIENT).fin(BROKER)
        packets += other.wait(wait).client(request(18, 0, 3)).packets
    packets.sort(key=lambda packet: packet.time_ns)
    return [packet._replace(ref=number) for number, packet in enumerate(packets, 1)]


def test_silence_ends_a_connection_at_the_same_place_for_everybody(tmp_path: Path) -> None:
    around = [
        -SWEEP_EVERY_NS - 1,
        -1,
        0,
        SWEEP_EVERY_NS // 2,
        SWEEP_EVERY_NS,
        SWEEP_EVERY_NS + 1,
        3 * SWEEP_EVERY_NS,
    ]
    waits = [limit + more for limit in (IDLE_NS, LINGER_NS) for more in around for _ in range(2)]
    path = write_pcap(tmp_path / "silent.pcap", _silent(waits))
    together = _together([path])
    assert together == sorted(together)
    assert _apart([path]) == together
    closed = [row for row in together if row[1] == "ConnectionClosed"]
    assert len(closed) > len(waits) + 10  # some went on as new connections


def test_silence_at_the_end_of_the_capture_is_told_alike(tmp_path: Path) -> None:
    packets = list(_silent([IDLE_NS, LINGER_NS]))
    for end_ns in range(packets[0].time_ns + IDLE_NS - 10**10, packets[-1].time_ns, 3 * 10**9):
        path = write_pcap(tmp_path / "cut.pcap", [packet for packet in packets if packet.time_ns < end_ns])
        assert _apart([path]) == _together([path])

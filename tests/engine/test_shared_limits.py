"""Bounds over all connections together: reached with small ones, told, and what was held is given back."""

import struct
from collections import Counter

from kdissect.engine.analyzer import Analyzer
from kdissect.model.limits import Limits
from kdissect.model.packets.packet import Packet
from kdissect.session.events import ConnectionClosed, Event
from kdissect.session.exchange import Exchange
from kdissect.session.framing import COUNTED_BYTES
from tests.support.messages.traffic import ACK, CLIENT, PSH, Conversation, request, response

METADATA = b"\xff\xff\xff\xff"


def connection(number: int) -> Conversation:
    return Conversation(client=f"10.1.{number >> 8}.{number & 255}").handshake()


def analyzed(packets: list[Packet], limits: Limits) -> tuple[list[Event], Analyzer]:
    analyzer = Analyzer(limits=limits)
    events = analyzer.feed_batch(packets)
    return events + analyzer.close(), analyzer


def anomalies(events: list[Event]) -> Counter[str]:
    found: Counter[str] = Counter()
    for event in events:
        if isinstance(event, ConnectionClosed):
            found.update({str(kind): n for kind, n in event.connection.anomaly_counts.items()})
        elif isinstance(event, Exchange):
            found.update(str(anomaly.kind) for anomaly in event.all_anomalies())
    return found


def holds_nothing(analyzer: Analyzer) -> bool:
    store, counts = analyzer._store, analyzer._store.counts
    return not any(
        (store.out_of_order_bytes, counts.frame_bytes, counts.pending_bytes, counts.pending_requests)
    )


def test_open_connections() -> None:
    packets = [packet for n in range(100) for packet in connection(n).packets]
    events, analyzer = analyzed(packets, Limits(connections=20))
    assert sum(isinstance(event, ConnectionClosed) for event in events) == 100
    assert analyzer.anomaly_counts["evicted_idle"] >= 80
    assert len(analyzer.anomalies) <= 100


def test_a_flood_of_connections_keeps_few_anomalies() -> None:
    packets = [connection(n).packets[0] for n in range(3000)]
    _, analyzer = analyzed(packets, Limits(connections=50))
    assert analyzer.anomaly_counts["evicted_idle"] >= 2950
    assert len(analyzer.anomalies) == 100


def test_out_of_order_bytes() -> None:
    talks = [connection(n) for n in range(20)]
    for talk in talks:
        talk.client(request(3, 1, 0, METADATA)).broker(response(0, bytes(8))).lose(CLIENT, b"lost")
    for _ in range(20):
        for talk in talks:
            talk.packet(CLIENT, bytes(1000), PSH | ACK)
    packets = sorted((p for talk in talks for p in talk.packets), key=lambda p: p.time_ns)
    assert not anomalies(analyzed(packets, Limits())[0])["reassembly_limit"]
    events, analyzer = analyzed(packets, Limits(out_of_order_bytes=50_000))
    assert anomalies(events)["reassembly_limit"]
    assert holds_nothing(analyzer)


def test_frames_under_way() -> None:
    size = 3 * COUNTED_BYTES
    talks = [connection(n) for n in range(4)]
    for talk in talks:
        talk.client(request(3, 1, 0, METADATA)).broker(response(0, bytes(8)))
        talk.client(request(0, 0, 1, bytes(size)), 60_000)
    packets = [p for talk in talks for p in talk.packets[:-5]] + [
        p for talk in talks for p in talk.packets[-5:]
    ]
    whole = [e for e in analyzed(packets, Limits())[0] if isinstance(e, Exchange) and e.api_key == 0]
    assert [e.request is not None and e.request.is_cut for e in whole] == [False] * 4
    events, analyzer = analyzed(packets, Limits(frame_bytes=4 * COUNTED_BYTES))
    found = [e for e in events if isinstance(e, Exchange) and e.api_key == 0]
    cut = [e for e in found if e.request is not None and e.request.is_cut]
    assert 0 < len(cut) < len(found) == 4
    assert {"reassembly_limit", "cut_frame"} <= set(anomalies(events))
    assert holds_nothing(analyzer)


def test_requests_in_flight() -> None:
    talks = [connection(n) for n in range(10)]
    for talk in talks:
        talk.client(b"".join(request(3, 1, n, METADATA) for n in range(100)), 1460)
    packets = [p for talk in talks for p in talk.packets]
    events, analyzer = analyzed(packets, Limits(pending_requests=300))
    assert sum(isinstance(e, Exchange) for e in events) == 1000
    assert anomalies(events)["pending_limit"] == 700
    assert holds_nothing(analyzer)


def test_bytes_of_requests_in_flight() -> None:
    one_topic = struct.pack(">ih", 1, 4994) + b"t" * 4994
    talks = [connection(n) for n in range(5)]
    for talk in talks:
        talk.client(b"".join(request(3, 1, n, one_topic) for n in range(10)), 1460)
    packets = [p for talk in talks for p in talk.packets]
    events, analyzer = analyzed(packets, Limits(pending_bytes=100_000))
    held = sum(len(e.request.data) for e in events if isinstance(e, Exchange) and e.request is not None)
    assert held < 110_000
    assert anomalies(events)["pending_limit"] >= 29
    assert holds_nothing(analyzer)

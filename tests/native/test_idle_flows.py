"""The native engine finds the connections that may be over, and silent ones forget what they delivered."""

from pathlib import Path
from typing import Any

import pytest

from kdissect.api import Dissection
from kdissect.engine.analyzer import Analyzer
from kdissect.engine.flows import (
    IDLE_NS,
    LINGER_NS,
    LOGGED_IDLE_NS,
    SWEEP_EVERY_NS,
    FlowTable,
    last_ns,
    may_be_over,
    over_ns,
)
from kdissect.model.anomaly import AnomalyKind
from kdissect.model.packets.packet import PlainPacket
from kdissect.net.streams.recent import RECENT_NS
from tests.engine.test_half_open import packets
from tests.engine.test_in_order import CAPTURES, blocks
from tests.support.messages.traffic import CLIENT, START_NS, Conversation, request, response

PATHS = [
    CAPTURES / "kafka44_aiokafka_admin.pcapng",
    CAPTURES / "kafka28_java_admin.pcapng",
    CAPTURES / "logged/recorded/kafka44.requests.log.gz",
]


def checked(analyzer: Analyzer) -> int:
    """Compare the keys of flows that may be over with all flows, and return how many were left out."""
    left_out = 0
    for table in analyzer._tables.values():
        assert isinstance(table, FlowTable)
        assert list(may_be_over(table, 1 << 63)) == list(table)  # no clock shows that
        for flow in list(table)[:20]:
            limits = LINGER_NS, LOGGED_IDLE_NS, IDLE_NS
            for silent_ns in (0, *limits, *(limit + 1 for limit in limits), 2 * IDLE_NS):
                time_ns = last_ns(table[flow]) + silent_ns
                asked = list(may_be_over(table, time_ns))
                assert asked == [key for key in table if key in set(asked)]  # in the order of the table
                over = {key for key, connection in table.items() if over_ns(connection) < time_ns}
                assert over <= set(asked)
                left_out += len(table) - len(asked)
    return left_out


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.name)
def test_connections_that_spoke_lately_are_left_out(native: Any, path: Path) -> None:
    dissection, left_out = Dissection(str(path)), 0
    for _ in dissection.batches():
        left_out += checked(dissection.analyzer)
    assert left_out > 100


@pytest.mark.parametrize("seed", range(3))
def test_half_open_connections(native: Any, seed: int) -> None:
    analyzer, left_out = Analyzer(), 0
    for block in blocks(packets(seed), [20] * 10):
        analyzer.feed_batch(block)
        left_out += checked(analyzer)
    assert left_out > 0


def resent_after(silent_ns: int) -> list[PlainPacket]:
    """Return a connection that sends its last bytes again, with another value, after a silence. Another one
    goes on meanwhile.
    """
    # between two looks at silent connections: they need not be there for it
    talk, other = Conversation(start_ns=START_NS + SWEEP_EVERY_NS // 2), Conversation(ports=(40001, 9092))
    for one in (talk, other):
        one.handshake()
        for number in range(20):
            one.client(request(3, 1, number, bytes(4))).broker(response(number, bytes(8)))
    first = talk.packets[-2]
    changed = first.data[:-1] + bytes([first.data[-1] ^ 1])
    late = first._replace(data=changed, time_ns=first.time_ns + silent_ns)
    while other.now < late.time_ns - 2 * 10**9:
        other.wait(10**9).packet(CLIENT)
    found = sorted([*talk.packets, *other.packets], key=lambda packet: packet.time_ns)
    return [(number, *packet[1:]) for number, packet in enumerate([*found, late], 1)]


@pytest.mark.parametrize("in_blocks", [True, False])
@pytest.mark.parametrize(("silent_ns", "differ"), [(RECENT_NS - 10**9, 1), (RECENT_NS + 10**9, 0)])
def test_bytes_that_come_late_are_not_compared(silent_ns: int, differ: int, in_blocks: bool) -> None:
    analyzer, sent = Analyzer(), resent_after(silent_ns)
    for batch in blocks(sent, [len(sent) - 1]) if in_blocks else [[one] for one in sent]:
        list(analyzer.feed_batch(batch))
    (table,) = analyzer._tables.values()
    found = [connection.tcp.anomaly_counts for connection in table.values()]
    assert sum(one[AnomalyKind.OVERLAP_DIFFERS] for one in found) == differ


def test_silent_connections_forget(native: Any) -> None:
    analyzer, sent = Analyzer(), resent_after(RECENT_NS + 60 * 10**9)
    analyzer.feed_batch(blocks(sent, [len(sent) - 1])[0])
    (table,) = analyzer._tables.values()
    delivered = [connection.tcp.streams[CLIENT].recent for connection in table.values()]
    assert sorted(map(bool, delivered)) == [False, True]


def ended(path: Path, in_copy: bool) -> tuple[list[str], int]:
    """Return what an analysis reports when it ends with connections that are open, and how many these are."""
    dissection = Dissection(str(path))
    batches = dissection.batches()
    for events in batches:
        if dissection.analyzer.open_connections() > 10:
            break
        list(events)
    count = dissection.analyzer.open_connections()
    found = [event for events in dissection.closing(in_copy=in_copy) for event in events]
    return [
        f"{type(event).__name__} {event.connection.id} {event.connection.close}" for event in found
    ], count


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.name)
def test_an_analysis_that_ends_in_a_copy_reports_the_same(native: Any, path: Path) -> None:
    found, count = ended(path, in_copy=True)
    assert (found, count) == ended(path, in_copy=False)
    assert len(found) >= count > 10

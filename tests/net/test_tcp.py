"""Rules of `TcpConnection`, one by one."""

import pickle

import pytest

from kdissect.model.anomaly import AnomalyKind
from kdissect.model.limits import DEFAULT_LIMITS
from kdissect.model.packets.segment import ACK, FIN, PSH, RST, SYN
from kdissect.model.packets.stream import CloseKind
from kdissect.net.streams.repair import (
    GRACE_FEW_PACKETS,
    GRACE_NS,
    GRACE_PACKETS,
    ONE_WAY_GRACE_NS,
    QUIET_GRACE_NS,
)
from tests.net.recorder import BROKER, CLIENT, MASK, Wire

SECOND = 1_000_000_000


def opened(isn: tuple[int, int] = (1000, 5000)) -> Wire:
    wire = Wire(isn)
    wire.open()
    return wire


def kinds(wire: Wire) -> dict[AnomalyKind, int]:
    return dict(wire.connection.anomaly_counts)


def test_handshake_data_and_close() -> None:
    wire = opened()
    wire.send(CLIENT, 0, b"ask")
    wire.send(BROKER, 0, b"answer", ack=3)
    wire.send(CLIENT, 3, flags=FIN | ACK, ack=6)
    wire.send(BROKER, 6, flags=FIN | ACK, ack=4)
    wire.send(CLIENT, 4, flags=ACK, ack=7)
    client, broker = wire.sinks
    assert client.calls == [
        ("opened",),
        ("data", b"ask", 4, 4000),
        ("end", CloseKind.FIN, 6, 6000),
    ]
    assert broker.calls == [("opened",), ("data", b"answer", 5, 5000), ("end", CloseKind.FIN, 7, 7000)]
    connection = wire.connection
    assert (connection.initiator, connection.closed) == (CLIENT, True)
    assert connection.closed_by == (CLIENT, CloseKind.FIN, 6000)
    assert connection.last_time_ns == 8000
    assert [(each.packets, each.bytes, each.retransmissions) for each in connection.health] == [
        (5, 3, 0),
        (3, 6, 0),
    ]
    wire.flush()
    assert len(client.ends) == 1
    assert kinds(wire) == {}


def test_initiator_from_the_answer_alone() -> None:
    wire = Wire()
    wire.send(BROKER, -1, flags=SYN | ACK)
    assert wire.connection.initiator == CLIENT


def test_start_of_the_answers_without_their_syn() -> None:
    wire = Wire()
    wire.send(CLIENT, -1, flags=SYN)
    wire.send(CLIENT, 0, b"ask")
    wire.send(BROKER, 6, b" more", ack=3)
    wire.send(BROKER, 0, b"answer", ack=3)
    wire.send(BROKER, -1, flags=SYN | ACK)
    assert wire.sinks[BROKER].runs == [b"answer more"]
    assert wire.sinks[BROKER].calls[0] == ("opened",)
    assert wire.connection.health[BROKER].retransmissions == 0


def test_data_in_the_syn() -> None:
    wire = Wire()
    wire.send(CLIENT, -1, b"early", flags=SYN)
    wire.send(BROKER, -1, flags=SYN | ACK, ack=5)
    wire.send(CLIENT, 5, b"more")
    assert wire.sinks[CLIENT].runs == [b"earlymore"]
    assert wire.sinks[CLIENT].calls[0] == ("opened",)


def test_start_in_the_middle() -> None:
    wire = Wire()
    wire.send(BROKER, 0, b"first seen")
    wire.send(CLIENT, 0, b"ask", ack=10)
    wire.send(BROKER, -100, b"x" * 100)  # from before the capture
    wire.send(BROKER, 10, b" then")
    wire.flush()
    assert wire.sinks[BROKER].runs == [b"first seen then"]
    assert ("opened",) not in wire.sinks[BROKER].calls
    assert wire.connection.initiator is None
    assert kinds(wire) == {}
    assert wire.connection.health[BROKER].retransmissions == 0


@pytest.mark.parametrize("garbage", [b"", b"\0"])
def test_keep_alive_is_no_data(garbage: bytes) -> None:
    wire = opened()
    wire.send(CLIENT, 0, b"ask")
    wire.send(CLIENT, 2, garbage, flags=ACK)
    wire.send(BROKER, 0, flags=ACK, ack=3)
    wire.send(CLIENT, 3, b"more")
    wire.flush()
    assert wire.sinks[CLIENT].runs == [b"askmore"]
    assert kinds(wire) == {}
    assert wire.connection.health[CLIENT].retransmissions == 0


@pytest.mark.parametrize("garbage", [b"", b"\0"])
def test_capture_that_starts_with_a_keep_alive(garbage: bytes) -> None:
    wire = Wire()
    wire.send(CLIENT, -1, garbage, flags=ACK)
    wire.send(BROKER, 0, flags=ACK)
    wire.send(CLIENT, 0, b"ask")
    wire.send(BROKER, 0, b"answer", ack=3)
    wire.flush()
    assert wire.sinks[CLIENT].runs == [b"ask"]
    assert wire.sinks[BROKER].runs == [b"answer"]


def test_reordering_across_the_wrap() -> None:
    wire = opened((0xFFFFFFFB, 0x7FFFFFFF))
    for offset in (10, 5, 0, 15):
        wire.send(CLIENT, offset, b"%05d" % offset)
    assert wire.sinks[CLIENT].runs == [b"00000000050001000015"]
    assert wire.connection.health[CLIENT].out_of_order == 2
    assert [call[2] for call in wire.sinks[CLIENT].calls[1:]] == [6, 5, 4, 7]


def test_retransmission_and_partial_overlap() -> None:
    wire = opened()
    wire.send(CLIENT, 0, b"abcdef")
    wire.send(CLIENT, 0, b"abcdef")
    wire.send(CLIENT, 3, b"defghi")
    assert wire.sinks[CLIENT].runs == [b"abcdefghi"]
    assert wire.sinks[CLIENT].calls[-1] == ("data", b"ghi", 6, 6000)
    assert wire.connection.health[CLIENT].retransmissions == 2
    assert kinds(wire) == {}


def test_overlap_that_differs() -> None:
    wire = opened()
    wire.send(CLIENT, 0, b"abcdef")
    wire.send(CLIENT, 6, b"ghijkl")
    wire.send(CLIENT, 4, b"efgXij")
    wire.send(CLIENT, 9, b"jkLmno")
    assert wire.sinks[CLIENT].runs == [b"abcdefghijklmno"]
    assert kinds(wire) == {AnomalyKind.OVERLAP_DIFFERS: 2}
    assert [each.detail.split()[1] for each in wire.connection.anomalies] == ["7", "11"]
    assert wire.connection.anomalies[0].ref == 6


def test_snapped_payload() -> None:
    wire = opened()
    wire.send(CLIENT, 0, b"head", missing=96)
    wire.send(CLIENT, 100, b"next", missing=6)
    wire.send(CLIENT, 100, b"next", missing=6)
    wire.send(CLIENT, 50, b"", missing=70)  # overlaps, and nothing of the new was captured
    wire.send(BROKER, 0, b"answer", ack=120)
    wire.flush()
    assert wire.sinks[CLIENT].calls[1:4] == [
        ("data", b"head", 4, 4000),
        ("gap", 96, True, 4, 4000),
        ("data", b"next", 5, 5000),
    ]
    assert wire.sinks[CLIENT].runs == [b"head", 96, b"next", 16]
    health = wire.connection.health[CLIENT]
    assert (health.bytes, health.snapped_bytes, health.gaps, health.retransmissions) == (8, 112, 0, 2)
    assert kinds(wire) == {}


def lose(wire: Wire) -> None:
    """`def` is lost, `ghi` waits behind the hole, the broker acknowledged all of it."""
    wire.send(CLIENT, 0, b"abc")
    wire.send(CLIENT, 6, b"ghi")
    wire.send(BROKER, 0, flags=ACK, ack=9)
    assert wire.sinks[CLIENT].runs == [b"abc"]


@pytest.mark.parametrize(
    ("packets", "wait_ns"), [(GRACE_PACKETS, GRACE_NS - 1), (GRACE_PACKETS - 1, QUIET_GRACE_NS - 1)]
)
def test_packets_or_time_alone_give_up_nothing(packets: int, wait_ns: int) -> None:
    wire = opened()
    lose(wire)
    for _ in range(packets):
        wire.send(BROKER, 0, flags=ACK, ack=9, wait_ns=wait_ns // packets)
    assert wire.sinks[CLIENT].runs == [b"abc"]
    wire.send(CLIENT, 3, b"def")
    assert wire.sinks[CLIENT].runs == [b"abcdefghi"]
    health = wire.connection.health[CLIENT]
    assert (health.out_of_order, health.retransmissions, health.gaps) == (1, 0, 0)
    assert wire.connection._streams[CLIENT].odd.delayed_ns == 0
    assert kinds(wire) == {}


def test_loss_is_given_up_after_packets_and_time() -> None:
    wire = opened()
    lose(wire)
    for _ in range(GRACE_PACKETS - 1):
        wire.send(BROKER, 0, flags=ACK, ack=9, wait_ns=GRACE_NS // GRACE_PACKETS + 1)
    assert wire.sinks[CLIENT].runs == [b"abc"]
    wire.send(BROKER, 0, flags=ACK, ack=9, wait_ns=GRACE_NS // GRACE_PACKETS + 1)
    assert wire.sinks[CLIENT].runs == [b"abc", 3, b"ghi"]
    assert wire.sinks[CLIENT].calls[-2] == ("gap", 3, False, 5, 5000)
    health = wire.connection.health[CLIENT]
    assert (health.gaps, health.gap_bytes, health.bytes) == (1, 3, 6)
    assert kinds(wire) == {AnomalyKind.GAP: 1}
    wire.send(CLIENT, 9, b"jkl")
    assert wire.sinks[CLIENT].runs == [b"abc", 3, b"ghijkl"]


def wait_out(wire: Wire, ack: int) -> None:
    """As many packets and as much time as a hole of a quiet connection is waited for."""
    for _ in range(GRACE_FEW_PACKETS):
        wire.send(BROKER, 0, flags=ACK, ack=ack, wait_ns=QUIET_GRACE_NS)


def test_quiet_loss_is_given_up_after_more_time_and_a_few_packets() -> None:
    wire = opened()
    lose(wire)
    wait_out(wire, 9)
    assert wire.sinks[CLIENT].runs == [b"abc", 3, b"ghi"]


def test_time_alone_gives_up_nothing() -> None:
    """Of two queues of a card one may be behind for long where little is said."""
    wire = opened()
    lose(wire)
    wire.send(BROKER, 0, flags=ACK, ack=9, wait_ns=100 * GRACE_NS)
    wire.send(CLIENT, 3, b"def")
    assert wire.sinks[CLIENT].runs == [b"abcdefghi"]


def test_the_broker_side_captured_before_the_opening() -> None:
    """The queue of the broker's direction comes first: its handshake, its acknowledgment, its answer."""
    wire = Wire()
    wire.send(BROKER, -1, flags=SYN | ACK)
    wire.send(BROKER, 0, flags=ACK, ack=3)
    wire.send(BROKER, 0, b"answer", ack=3)
    wire.send(CLIENT, -1, flags=SYN)
    wire.send(CLIENT, 0, b"ask")
    wire.flush()
    assert wire.journal[:2] == [(CLIENT, b"ask"), (BROKER, b"answer")]
    assert not kinds(wire)


def test_acknowledgment_captured_before_the_data() -> None:
    wire = opened()
    lose(wire)
    wire.send(CLIENT, 3, b"def")
    assert wire.sinks[CLIENT].runs == [b"abcdefghi"]
    wire.send(CLIENT, 9, b"j", wait_ns=SECOND)
    wire.flush()
    assert wire.sinks[CLIENT].runs == [b"abcdefghij"]
    assert kinds(wire) == {}


def test_unacknowledged_hole_is_filled_by_a_late_retransmission() -> None:
    wire = opened()
    wire.send(CLIENT, 0, b"abc")
    wire.send(CLIENT, 6, b"ghi")
    for _ in range(3 * GRACE_PACKETS):
        wire.send(BROKER, 0, flags=ACK, ack=3, wait_ns=GRACE_NS)
    wire.send(CLIENT, 3, b"def")
    assert wire.sinks[CLIENT].runs == [b"abcdefghi"]
    health = wire.connection.health[CLIENT]
    assert (health.retransmissions, health.out_of_order) == (1, 0)


def test_late_segment_is_dropped() -> None:
    wire = opened()
    lose(wire)
    wait_out(wire, 9)
    wire.send(CLIENT, 3, b"def")
    assert wire.sinks[CLIENT].runs == [b"abc", 3, b"ghi"]
    assert kinds(wire) == {AnomalyKind.GAP: 1, AnomalyKind.LATE_SEGMENT: 1}


def test_lost_tail_is_a_gap() -> None:
    wire = opened()
    wire.send(CLIENT, 0, b"abc")
    wire.send(BROKER, 0, flags=ACK, ack=50)
    wait_out(wire, 50)
    assert wire.sinks[CLIENT].runs == [b"abc", 47]
    wire.send(CLIENT, 50, b"rest")
    assert wire.sinks[CLIENT].runs == [b"abc", 47, b"rest"]


def test_lost_tail_at_the_end_of_the_capture() -> None:
    wire = opened()
    wire.send(CLIENT, 0, b"abc")
    wire.send(BROKER, 0, flags=ACK, ack=50)
    wire.flush()
    assert wire.sinks[CLIENT].runs == [b"abc", 47]


def test_lost_fin_is_no_gap() -> None:
    wire = opened()
    wire.send(CLIENT, 0, b"abc")
    wire.send(BROKER, 0, b"answer", ack=4)  # the client's FIN was not captured
    assert wire.sinks[BROKER].runs == []
    wire.send(BROKER, 6, flags=FIN | ACK, ack=4, wait_ns=GRACE_NS)
    wire.flush()
    assert wire.sinks[CLIENT].runs == [b"abc"]
    assert wire.sinks[BROKER].runs == [b"answer"]
    assert (wire.sinks[CLIENT].ends, wire.sinks[BROKER].ends) == ([CloseKind.CAPTURE_END], [CloseKind.FIN])


def test_answer_captured_before_its_question() -> None:
    wire = opened()
    wire.send(BROKER, 0, b"answer", ack=3)
    wire.send(BROKER, 6, b" more", ack=3)
    wire.send(CLIENT, 0, b"ask")
    assert wire.journal == [(CLIENT, b"ask"), (BROKER, b"answer"), (BROKER, b" more")]
    wire.send(BROKER, 11, b"!", ack=3)
    assert wire.sinks[BROKER].runs == [b"answer more!"]


def test_answer_to_a_lost_question_comes_after_the_gap() -> None:
    wire = opened()
    wire.send(CLIENT, 0, b"ask")
    wire.send(CLIENT, 8, b"third")
    wire.send(BROKER, 0, b"answer", ack=13)
    wire.send(CLIENT, 13, flags=ACK, ack=6)
    for _ in range(GRACE_FEW_PACKETS):
        wire.send(CLIENT, 13, flags=ACK, ack=6, wait_ns=QUIET_GRACE_NS)
    assert wire.journal == [(CLIENT, b"ask"), (CLIENT, 5), (CLIENT, b"third"), (BROKER, b"answer")]


def test_each_direction_waiting_for_the_other_ends() -> None:
    wire = opened()
    wire.send(CLIENT, 0, b"ask", ack=6)  # impossible: each acknowledges what the other sends only after it
    wire.send(BROKER, 0, b"answer", ack=3)
    wire.flush()
    assert wire.sinks[CLIENT].runs == [b"ask"]
    assert wire.sinks[BROKER].runs == [b"answer"]
    assert kinds(wire) == {}


def test_implausible_acknowledgments_are_ignored() -> None:
    wire = opened()
    wire.send(CLIENT, 0, b"abc")
    wire.send(BROKER, 0, flags=ACK, ack=0x50000000)
    wire.send(BROKER, 0, flags=ACK, ack=100 << 20)
    wire.send(BROKER, 0, flags=ACK, ack=-5000)
    wire.send(CLIENT, 3, b"def", wait_ns=SECOND)
    wire.send(CLIENT, 9, b"jkl")
    wire.send(BROKER, 0, flags=ACK, ack=0x50000000)
    wire.send(BROKER, 0, flags=ACK, wait_ns=SECOND)
    wire.send(CLIENT, 6, b"ghi", wait_ns=SECOND)
    wire.flush()
    assert wire.sinks[CLIENT].runs == [b"abcdefghijkl"]
    assert kinds(wire) == {}


def test_one_direction_alone_gives_up_by_time() -> None:
    wire = Wire()
    wire.send(CLIENT, 0, b"abc")
    wire.send(CLIENT, 6, b"ghi")
    for _ in range(2 * GRACE_PACKETS):
        wire.send(CLIENT, 9, flags=ACK)
    assert wire.sinks[CLIENT].runs == [b"abc"]
    wire.send(CLIENT, 9, b"jkl", wait_ns=ONE_WAY_GRACE_NS)
    assert wire.sinks[CLIENT].runs == [b"abc", 3, b"ghijkl"]


def test_out_of_order_segments_are_bounded() -> None:
    wire = opened()
    for number in range(DEFAULT_LIMITS.direction_out_of_order_segments + 1):
        wire.send(CLIENT, 100 + number, b"x")
    assert wire.sinks[CLIENT].runs == [100, b"x" * (DEFAULT_LIMITS.direction_out_of_order_segments + 1)]
    assert kinds(wire) == {AnomalyKind.REASSEMBLY_LIMIT: 1, AnomalyKind.GAP: 1}


def test_out_of_order_bytes_are_bounded() -> None:
    wire = opened()
    payload = bytes(256 << 10)
    for number in range(40):
        wire.send(CLIENT, 100 + number * len(payload), payload)
        out_of_order = wire.connection._streams[0].odd.out_of_order_bytes
        assert out_of_order <= (8 << 20) + len(payload)
    assert wire.sinks[CLIENT].runs == [100, bytes(40 * len(payload))]


def test_delivered_bytes_kept_are_bounded() -> None:
    wire = opened()
    for number in range(1000):
        wire.send(CLIENT, number * 5000, bytes(5000))
        recent = wire.connection._streams[0].recent
        assert sum(len(payload) for _, payload, _, _ in recent) <= 2 * 65536 + 5000


def test_duplicate_capture_is_no_retransmission() -> None:
    wire = opened()
    for _ in range(2):
        wire.send(CLIENT, 0, b"ask", ip_id=77)
    for _ in range(2):
        wire.send(CLIENT, 3, flags=FIN | ACK, ip_id=78)
    for _ in range(2):
        wire.send(BROKER, 10, b"later", ip_id=5)
    health = wire.connection.health
    assert (health[CLIENT].duplicates, health[CLIENT].retransmissions) == (2, 0)
    assert (health[BROKER].duplicates, health[BROKER].retransmissions) == (1, 0)
    assert kinds(wire) == {AnomalyKind.DUPLICATE_CAPTURE: 3}
    wire.send(CLIENT, 0, b"ask", ip_id=79, wait_ns=SECOND)
    assert wire.connection.health[CLIENT].retransmissions == 1


@pytest.mark.parametrize(("wait_ns", "duplicates"), [(1000, 1), (200_000_000, 0)])
@pytest.mark.parametrize("ip_id", [0, -1])
def test_duplicate_without_identification_is_told_by_time(ip_id: int, wait_ns: int, duplicates: int) -> None:
    wire = opened()
    wire.send(CLIENT, 0, b"ask", ip_id=ip_id)
    wire.send(CLIENT, 0, b"ask", ip_id=ip_id, wait_ns=wait_ns)
    health = wire.connection.health[CLIENT]
    assert (health.duplicates, health.retransmissions) == (duplicates, 1 - duplicates)


def test_repeated_syn() -> None:
    wire = Wire()
    wire.send(CLIENT, -1, flags=SYN, ip_id=1)
    wire.send(CLIENT, -1, flags=SYN, ip_id=1)
    wire.send(CLIENT, -1, flags=SYN, ip_id=2, wait_ns=SECOND)
    wire.send(BROKER, -1, flags=SYN | ACK)
    wire.send(CLIENT, 0, b"ask")
    assert wire.sinks[CLIENT].calls[0] == ("opened",)
    assert wire.sinks[CLIENT].runs == [b"ask"]
    health = wire.connection.health[CLIENT]
    assert (health.duplicates, health.retransmissions) == (1, 1)


def test_second_syn_before_any_data_replaces_the_first() -> None:
    wire = Wire()
    wire.send(CLIENT, -1, flags=SYN)
    wire.send(CLIENT, 7000, flags=SYN)
    wire.send(CLIENT, 7001, b"ask")
    assert wire.sinks[CLIENT].calls == [("opened",), ("data", b"ask", 3, 3000)]


def test_fin_waits_for_the_hole_before_it() -> None:
    wire = opened()
    wire.send(CLIENT, 3, b"def", flags=FIN | ACK)
    assert wire.sinks[CLIENT].ends == []
    wire.send(CLIENT, 0, b"abc")
    assert wire.sinks[CLIENT].runs == [b"abcdef"]
    assert wire.sinks[CLIENT].ends == [CloseKind.FIN]
    assert wire.connection.closed_by == (CLIENT, CloseKind.FIN, 4000)
    assert not wire.connection.closed


def test_data_after_the_end() -> None:
    wire = opened()
    wire.send(CLIENT, 0, b"ask", flags=FIN | ACK)
    wire.send(CLIENT, 0, b"ask", flags=FIN | ACK)  # sent again
    wire.send(CLIENT, 4, b"more")
    assert wire.sinks[CLIENT].runs == [b"ask"]
    assert kinds(wire) == {AnomalyKind.DATA_AFTER_CLOSE: 1}
    assert wire.connection.health[CLIENT].retransmissions == 1


def test_reset_ends_both_directions_and_flushes_holes() -> None:
    wire = opened()
    wire.send(CLIENT, 0, b"abc")
    wire.send(CLIENT, 6, b"ghi")
    wire.send(BROKER, 0, b"answer", ack=3)
    wire.send(BROKER, 6, flags=RST)
    client, broker = wire.sinks
    assert client.runs == [b"abc"]
    wire.send(BROKER, 6, flags=RST)
    wire.flush()
    assert client.runs == [b"abc", 3, b"ghi"]
    assert broker.runs == [b"answer"]
    assert client.calls[-1] == broker.calls[-1] == ("end", CloseKind.RST, 7, 7000)
    assert wire.connection.closed_by == (BROKER, CloseKind.RST, 7000)
    assert wire.connection.health[BROKER].resets == 2
    wire.send(CLIENT, 9, b"jkl")
    assert kinds(wire) == {AnomalyKind.GAP: 1, AnomalyKind.DATA_AFTER_CLOSE: 1}


def test_what_a_reset_overtook_is_waited_for() -> None:
    wire = opened()
    wire.send(CLIENT, 3, b"def", ack=6)
    wire.send(CLIENT, 6, flags=RST)
    wire.send(BROKER, 0, b"answer")
    wire.send(CLIENT, 0, b"abc")
    assert wire.sinks[CLIENT].runs == [b"abcdef"]
    assert wire.sinks[BROKER].runs == [b"answer"]
    assert wire.sinks[CLIENT].calls[-1] == ("end", CloseKind.RST, 5, 5000)
    assert wire.connection.closed
    assert kinds(wire) == {}


def test_reset_after_a_fin_leaves_the_fin_as_the_close() -> None:
    wire = opened()
    wire.send(CLIENT, 0, flags=FIN | ACK)
    wire.send(BROKER, 0, flags=RST, wait_ns=5000)
    assert wire.connection.closed_by == (CLIENT, CloseKind.FIN, 4000)
    assert (wire.sinks[0].ends, wire.sinks[1].ends) == ([CloseKind.FIN], [CloseKind.RST])


def test_refused_connection() -> None:
    wire = Wire()
    wire.send(CLIENT, -1, flags=SYN)
    wire.send(BROKER, 0, flags=RST | ACK)
    assert wire.connection.closed
    assert wire.connection.closed_by == (BROKER, CloseKind.RST, 2000)
    wire.send(BROKER, 0, b"ghost")
    assert wire.sinks[BROKER].runs == []
    assert kinds(wire) == {AnomalyKind.DATA_AFTER_CLOSE: 1}


def test_zero_windows() -> None:
    wire = opened()
    wire.send(BROKER, 0, flags=ACK, window=0)
    wire.send(BROKER, 0, b"x", window=0)
    assert wire.connection.health[BROKER].zero_windows == 2
    assert wire.sinks[BROKER].runs == [b"x"]


LAST = b"ask"


@pytest.mark.parametrize("closer", [CLIENT, BROKER])
@pytest.mark.parametrize("isn", [(1000, 5000), (MASK - 4, MASK - 1), (MASK - 5, MASK - 5)])
def test_a_fin_that_was_not_captured_is_proven_by_its_acknowledgment(
    closer: int, isn: tuple[int, int]
) -> None:
    wire = opened(isn)
    wire.send(closer, 0, LAST)
    wire.send(1 - closer, 0, b"x", ack=3)
    wire.send(1 - closer, 1, flags=FIN | ACK, ack=4)
    wire.flush()
    assert wire.connection.closed_by == (closer, CloseKind.FIN, 6000)
    assert wire.connection.health[closer].gaps == 0


def test_a_fin_is_first_if_the_other_one_acknowledges_it() -> None:
    """The capture has it later."""
    wire = opened()
    wire.send(CLIENT, 0, LAST)
    wire.send(BROKER, 0, flags=FIN | ACK, ack=4)
    wire.send(CLIENT, 3, flags=FIN | ACK)
    assert wire.connection.closed_by == (CLIENT, CloseKind.FIN, 5000)


def test_a_fin_that_was_not_captured_is_second_if_it_is_acknowledged_later() -> None:
    wire = opened()
    wire.send(CLIENT, 0, LAST)
    wire.send(BROKER, 0, flags=FIN | ACK, ack=3)
    wire.send(BROKER, 1, flags=ACK, ack=4)
    wire.flush()
    assert wire.connection.closed_by == (BROKER, CloseKind.FIN, 5000)


def test_bytes_that_were_not_captured_may_have_a_fin() -> None:
    wire = opened()
    wire.send(CLIENT, 0, LAST)
    wire.send(BROKER, 0, flags=FIN | ACK, ack=50)
    wire.flush()
    assert wire.connection.closed_by == (None, CloseKind.FIN, 5000)


def test_who_resets_is_known_without_its_last_bytes() -> None:
    wire = opened()
    wire.send(CLIENT, 0, LAST)
    wire.send(BROKER, 0, flags=ACK, ack=50)
    wire.send(CLIENT, 49, flags=RST)
    wire.flush()
    assert wire.connection.closed_by == (CLIENT, CloseKind.RST, 6000)


def test_two_acknowledgments_of_bytes_that_were_not_captured_prove_no_fin() -> None:
    """The last byte may be data: nobody knows where a segment ended."""
    wire = opened()
    wire.send(CLIENT, 0, LAST)
    wire.send(BROKER, 0, flags=ACK, ack=50)
    for _ in range(GRACE_PACKETS):
        wire.send(BROKER, 0, flags=ACK, ack=50, wait_ns=GRACE_NS)
    assert wire.sinks[CLIENT].runs == [LAST, 47]
    wire.send(BROKER, 0, flags=FIN | ACK, ack=51)
    wire.flush()
    assert wire.connection.closed_by == (None, CloseKind.FIN, wire.time_ns)


def test_a_gap_before_captured_bytes_changes_nothing() -> None:
    wire = opened()
    wire.send(CLIENT, 3, LAST)  # the bytes before were not captured
    wire.send(BROKER, 0, flags=FIN | ACK, ack=7)
    wire.flush()
    assert wire.sinks[CLIENT].runs == [3, LAST]
    assert wire.connection.closed_by == (CLIENT, CloseKind.FIN, 5000)


def test_bytes_before_a_fin_that_were_captured_late() -> None:
    wire = opened()
    wire.send(BROKER, 0, flags=FIN | ACK, ack=4)
    wire.send(CLIENT, 0, LAST)
    wire.flush()
    assert wire.connection.closed_by == (CLIENT, CloseKind.FIN, 4000)


def test_a_fin_with_data() -> None:
    wire = opened()
    wire.send(CLIENT, 0, LAST, flags=FIN | ACK)
    wire.send(BROKER, 0, flags=FIN | ACK, ack=4)
    assert wire.connection.closed_by == (CLIENT, CloseKind.FIN, 4000)


@pytest.mark.parametrize("closer", [CLIENT, BROKER])
def test_a_reset_that_acknowledges_a_fin(closer: int) -> None:
    wire = opened()
    wire.send(closer, 0, LAST)
    wire.send(1 - closer, 0, flags=RST | ACK, ack=4)
    assert wire.connection.closed  # nothing is awaited
    assert wire.connection.closed_by == (closer, CloseKind.FIN, 5000)


@pytest.mark.parametrize("closer", [CLIENT, BROKER])
def test_a_reset_that_acknowledges_bytes_that_were_not_captured(closer: int) -> None:
    """A FIN may be among them: the end that resets may not have been the first."""
    wire = opened()
    wire.send(closer, 0, LAST)
    wire.send(1 - closer, 0, flags=RST | ACK, ack=50)
    assert wire.connection.closed  # nothing is awaited
    assert wire.connection.closed_by == (None, CloseKind.RST, 5000)


def test_a_reset_that_acknowledges_what_cannot_be() -> None:
    wire = opened()
    wire.send(CLIENT, 0, LAST)
    wire.send(BROKER, 0, flags=RST | ACK, ack=(1 << 30) + 100)
    assert wire.connection.closed_by == (BROKER, CloseKind.RST, 5000)


def test_a_reset_without_acknowledgment_proves_no_fin() -> None:
    wire = opened()
    wire.send(CLIENT, 0, LAST)
    wire.send(BROKER, 0, flags=RST, ack=4)  # the field is not valid (RFC 9293 section 3.1)
    assert wire.connection.closed_by == (BROKER, CloseKind.RST, 5000)


def test_the_other_direction_was_not_captured() -> None:
    wire = Wire()
    wire.send(BROKER, 0, b"answer", ack=40)
    wire.send(BROKER, 6, flags=FIN | ACK, ack=41)
    wire.flush()
    assert wire.connection.closed_by == (None, CloseKind.FIN, 2000)


class TestIncarnations:
    """Which SYN starts a connection of its own."""

    def asks(
        self, wire: Wire, side: int, offset: int, flags: int = SYN, ack: int = 0, later: int = 0
    ) -> bool:
        probe = Wire(wire.isn)
        segment = probe.send(side, offset, flags=flags, ack=ack)
        return wire.connection.opens_new_incarnation(side, segment, wire.time_ns + later)

    def test_syn_sent_again(self) -> None:
        wire = opened()
        wire.send(CLIENT, 0, b"ask")
        assert not self.asks(wire, CLIENT, -1)
        assert not self.asks(wire, BROKER, -1, SYN | ACK)

    def test_other_number_after_data(self) -> None:
        wire = opened()
        wire.send(CLIENT, 0, b"ask")
        assert self.asks(wire, CLIENT, 77777)
        assert self.asks(wire, BROKER, 77777, SYN | ACK)

    def test_other_number_before_data(self) -> None:
        wire = opened()
        assert not self.asks(wire, CLIENT, 77777)

    def test_after_a_refusal(self) -> None:
        wire = Wire()
        wire.send(CLIENT, -1, flags=SYN)
        wire.send(BROKER, 0, flags=RST | ACK)
        assert self.asks(wire, CLIENT, 77777)

    def test_answer_captured_after_the_first_data(self) -> None:
        wire = Wire()
        wire.send(CLIENT, -1, flags=SYN)
        wire.send(CLIENT, 0, b"ask")
        assert not self.asks(wire, BROKER, -1, SYN | ACK)
        assert self.asks(wire, BROKER, 77777, SYN | ACK, ack=77777)

    def test_answer_to_a_syn_that_was_not_captured(self) -> None:
        wire = Wire()
        wire.send(CLIENT, 0, b"ask")
        assert self.asks(wire, BROKER, -1, SYN | ACK, ack=77777)
        assert not self.asks(wire, BROKER, -1, SYN | ACK)

    def test_syn_in_a_connection_seen_from_the_middle(self) -> None:
        wire = Wire()
        wire.send(CLIENT, 0, b"ask")
        assert self.asks(wire, CLIENT, 77777)

    def test_same_number_only_long_after_the_end(self) -> None:
        wire = opened()
        wire.send(CLIENT, 0, flags=FIN | ACK)
        wire.send(BROKER, 0, flags=FIN | ACK)
        assert not self.asks(wire, CLIENT, -1, later=SECOND)
        assert self.asks(wire, CLIENT, -1, later=300 * SECOND)

    def test_anything_but_a_syn(self) -> None:
        wire = opened()
        wire.send(CLIENT, 0, flags=FIN | ACK)
        wire.send(BROKER, 0, flags=FIN | ACK)
        assert not self.asks(wire, CLIENT, 50, ACK | PSH, later=300 * SECOND)


def test_gigabytes_lost_are_believed_only_when_they_go_on() -> None:
    wire = opened()
    wire.send(CLIENT, 0, b"abc")
    far = 1_500_000_000
    wire.send(CLIENT, 7 - 800_000_000, b"noise")
    wire.send(CLIENT, 3, b"def")
    for number in range(5):
        wire.send(CLIENT, far + 5 * number, b"%05d" % number)
    wire.flush()
    assert wire.sinks[CLIENT].runs == [b"abcdef", far + 15 - 6, b"0000300004"]


@pytest.mark.parametrize("far", [1_500_000_000, 3_500_000_000])
def test_gigabytes_lost_to_either_side_of_half_the_space(far: int) -> None:
    wire = opened()
    wire.send(CLIENT, 0, b"abc")
    for number in range(4):
        wire.send(CLIENT, far + 5 * number, b"%05d" % number)
    assert wire.sinks[CLIENT].runs == [b"abc", far + 12, b"00003"]


def test_state_can_be_pickled_between_calls() -> None:
    wire = opened()
    lose(wire)
    copy = pickle.loads(pickle.dumps(wire))
    for each in (wire, copy):
        each.send(CLIENT, 3, b"def")
        each.send(CLIENT, 9, flags=FIN | ACK)
        each.flush()
    assert copy.sinks[CLIENT].calls == wire.sinks[CLIENT].calls
    assert copy.connection.health == wire.connection.health
    assert copy.sinks[CLIENT].runs == [b"abcdefghi"]


def test_anomalies_are_bounded_but_counted() -> None:
    wire = opened()
    wire.send(CLIENT, 0, b"abc")
    for _ in range(500):
        wire.send(CLIENT, 0, b"xyz")
    assert kinds(wire) == {AnomalyKind.OVERLAP_DIFFERS: 500}
    assert len(wire.connection.anomalies) == 100
    assert MASK == 0xFFFFFFFF


def test_an_opening_that_was_captured_late() -> None:
    """The SYN shows where the stream begins: what came before the first data that was captured is missing."""
    wire = Wire()
    wire.send(CLIENT, 0, b"ask", flags=ACK)
    wire.send(BROKER, 10, b"later")
    segment = Wire(wire.isn).send(BROKER, -1, flags=SYN | ACK)
    assert not wire.connection.opens_new_incarnation(BROKER, segment, wire.time_ns)
    wire.send(BROKER, -1, flags=SYN | ACK)
    assert wire.sinks[BROKER].runs == [b"later"]
    assert kinds(wire) == {AnomalyKind.GAP: 1}
    assert wire.connection.health[BROKER].gaps == 1

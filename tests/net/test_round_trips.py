"""Round trips and delays by retransmissions, of packets with known times."""

import struct

import pytest

from kdissect.model.packets.segment import ACK, DSACK, FIN, PSH, SYN
from kdissect.net.headers.combined_header import with_dsack
from kdissect.net.streams.round_trips import Part, RoundTrips, captured_near, part_of
from tests.net.recorder import BROKER, CLIENT, Wire

MS = 1_000_000


def trips(wire: Wire) -> RoundTrips:
    """Return the round trips that acknowledgments show for both ends."""
    client, broker = wire.connection.streams
    return RoundTrips(part_of(broker.acks), part_of(client.acks))


def delayed(wire: Wire, side: int) -> list[tuple[int, int]]:
    """From when to when retransmissions of a side held it up."""
    return [delay[:2] for delay in wire.connection.streams[side].odd.delays]


def opened(broker_ms: int = 20, client_ms: int = 1) -> Wire:
    """Return a handshake, captured so far from both ends; it ends at the time 0."""
    wire = Wire()
    wire.time_ns = -(1 + broker_ms + client_ms) * MS
    wire.send(CLIENT, -1, flags=SYN, wait_ns=MS)
    wire.send(BROKER, -1, flags=SYN | ACK, wait_ns=broker_ms * MS)
    wire.send(CLIENT, 0, flags=ACK, wait_ns=client_ms * MS)
    return wire


def test_handshake() -> None:
    assert trips(opened()) == (Part(MS, True), Part(20 * MS, True))
    assert trips(opened()).round_trip_ns == 21 * MS


def test_acknowledgments_of_data() -> None:
    wire = opened()
    wire.send(CLIENT, 0, b"ask", wait_ns=MS)
    wire.send(BROKER, 0, flags=ACK, ack=3, wait_ns=30 * MS)
    wire.send(CLIENT, 3, b"more", wait_ns=MS)
    wire.send(BROKER, 0, flags=ACK, ack=7, wait_ns=16 * MS)
    assert trips(wire).broker == Part(16 * MS, True)


def test_answer_that_acknowledges_waited_for_the_broker() -> None:
    wire = opened()
    wire.send(CLIENT, 0, b"ask", wait_ns=MS)
    wire.send(BROKER, 0, b"answer", ack=3, wait_ns=9 * MS)
    assert trips(wire).broker == Part(20 * MS, True)
    wire.send(CLIENT, 3, flags=ACK, ack=6, wait_ns=MS // 2)
    assert trips(wire).client == Part(MS // 2, True)


def test_one_segment_at_a_time_is_timed_until_all_of_it_is_acknowledged() -> None:
    wire = opened()
    wire.send(CLIENT, 0, b"one", wait_ns=MS)
    wire.send(CLIENT, 3, b"two", wait_ns=5 * MS)
    wire.send(BROKER, 0, flags=ACK, ack=2, wait_ns=MS)
    assert trips(wire).broker.least_ns == 20 * MS
    wire.send(BROKER, 0, flags=ACK, ack=6, wait_ns=MS)
    assert trips(wire).broker.least_ns == 7 * MS


def test_what_was_sent_again_is_not_timed() -> None:
    wire = opened()
    wire.send(CLIENT, 0, b"ask", wait_ns=MS)
    wire.send(CLIENT, 0, b"ask", wait_ns=200 * MS)
    wire.send(BROKER, 0, flags=ACK, ack=3, wait_ns=2 * MS)
    assert trips(wire).broker.least_ns == 20 * MS
    wire.send(CLIENT, 3, b"next", wait_ns=MS)
    wire.send(BROKER, 0, flags=ACK, ack=7, wait_ns=18 * MS)
    assert trips(wire).broker.least_ns == 18 * MS


def test_syn_sent_again_is_not_timed() -> None:
    wire = Wire()
    wire.send(CLIENT, -1, flags=SYN)
    wire.send(CLIENT, -1, flags=SYN, wait_ns=1000 * MS)
    wire.send(BROKER, -1, flags=SYN | ACK, wait_ns=20 * MS)
    wire.send(CLIENT, 0, flags=ACK, wait_ns=MS)
    assert trips(wire) == (Part(MS, True), Part(None, False))
    assert trips(wire).round_trip_ns is None


def test_copies_of_packets_are_no_retransmissions() -> None:
    wire = Wire()
    wire.send(CLIENT, -1, flags=SYN, ip_id=7)
    wire.send(CLIENT, -1, flags=SYN, ip_id=7)
    wire.send(BROKER, -1, flags=SYN | ACK, wait_ns=20 * MS)
    assert trips(wire).broker == Part(20 * MS + 1000, True)


def test_handshake_without_its_last_acknowledgment() -> None:
    wire = Wire()
    wire.send(CLIENT, -1, flags=SYN)
    wire.send(BROKER, -1, flags=SYN | ACK, wait_ns=20 * MS)
    wire.send(CLIENT, 0, b"ask", wait_ns=500 * MS)
    assert trips(wire).client == Part(None, False)
    wire.send(BROKER, 0, b"answer", ack=3, wait_ns=MS)
    wire.send(CLIENT, 3, flags=ACK, ack=6, wait_ns=2 * MS)
    assert trips(wire).client == Part(2 * MS, False)  # the true way may be shorter


def test_tools_that_write_all_at_one_time_tell_nothing() -> None:
    wire = Wire()
    wire.send(CLIENT, -1, flags=SYN, wait_ns=0)
    wire.send(BROKER, -1, flags=SYN | ACK, wait_ns=0)
    wire.send(CLIENT, 0, flags=ACK, wait_ns=-5)
    assert trips(wire) == (Part(None, False), Part(None, False))


def test_acknowledgment_that_stands_before_its_data_in_the_capture() -> None:
    wire = opened()
    wire.send(CLIENT, 0, b"ask", wait_ns=MS)
    wire.send(BROKER, 0, flags=ACK, ack=7, wait_ns=MS)
    wire.send(CLIENT, 3, b"late", wait_ns=MS)
    wire.send(BROKER, 0, flags=ACK, ack=7, wait_ns=900 * MS)
    assert trips(wire).broker == Part(MS, True)


def test_sequence_numbers_wrap() -> None:
    wire = Wire((0xFFFFFFFD, 0xFFFFFFFE))
    wire.send(CLIENT, -1, flags=SYN)
    wire.send(BROKER, -1, flags=SYN | ACK, wait_ns=20 * MS)
    wire.send(CLIENT, 0, flags=ACK)
    wire.send(CLIENT, 0, b"over the end", wait_ns=MS)
    wire.send(BROKER, 0, flags=ACK, ack=12, wait_ns=7 * MS)
    assert trips(wire).broker == Part(7 * MS, True)


def test_loss_behind_the_capture() -> None:
    wire = opened()
    wire.send(CLIENT, 0, b"ask", wait_ns=MS)
    wire.send(CLIENT, 0, b"ask", wait_ns=200 * MS)
    assert delayed(wire, CLIENT) == [(MS, 201 * MS)]
    wire.send(CLIENT, 0, b"ask", wait_ns=400 * MS)
    assert delayed(wire, CLIENT) == [(MS, 201 * MS), (MS, 601 * MS)]
    assert wire.connection.streams[CLIENT].odd.delayed_ns == 600 * MS


def test_loss_before_the_capture() -> None:
    wire = opened()
    wire.send(CLIENT, 3, b"behind", wait_ns=MS)
    wire.send(CLIENT, 9, b"more", wait_ns=MS)
    wire.send(CLIENT, 0, b"ask", wait_ns=200 * MS)
    assert delayed(wire, CLIENT) == [(MS, 202 * MS)]
    assert wire.sinks[CLIENT].runs == [b"askbehindmore"]


def test_overtaken_segments_are_no_loss() -> None:
    wire = opened()
    wire.send(CLIENT, 3, b"behind", wait_ns=MS)
    wire.send(CLIENT, 0, b"ask", wait_ns=2 * MS)
    assert delayed(wire, CLIENT) == []


@pytest.mark.parametrize("told", [False, True])
def test_what_had_arrived_held_nothing_up(told: bool) -> None:
    wire = opened()
    wire.send(CLIENT, 0, b"ask", wait_ns=MS)
    if not told:
        wire.send(BROKER, 0, flags=ACK, ack=3, wait_ns=MS)
    wire.send(CLIENT, 0, b"ask", wait_ns=40 * MS)
    if told:
        assert delayed(wire, CLIENT) == [(MS, 41 * MS)]
        wire.send(BROKER, 0, flags=ACK | DSACK, ack=3, wait_ns=MS)
    assert delayed(wire, CLIENT) == []
    assert wire.connection.streams[CLIENT].odd.delayed_ns == 0


def test_keep_alives_are_no_retransmissions() -> None:
    wire = opened()
    wire.send(CLIENT, 0, b"ask", wait_ns=MS)
    wire.send(CLIENT, 2, b"\0", flags=ACK, wait_ns=1000 * MS)
    assert delayed(wire, CLIENT) == []


def test_delays_kept_are_bounded() -> None:
    wire = opened()
    for number in range(100):
        wire.send(CLIENT, number, b"xy", wait_ns=MS)
        wire.send(CLIENT, number, b"xy", wait_ns=200 * MS)
    assert len(delayed(wire, CLIENT)) == 16


def sack(*edges: int, before: bytes = b"\1\1") -> bytes:
    """Return options with blocks of SACK."""
    return before + bytes([5, 2 + 4 * len(edges)]) + struct.pack(f">{len(edges)}I", *edges)


@pytest.mark.parametrize(
    ("options", "is_told"),
    [
        (sack(100, 142), True),  # all of it acknowledged
        (sack(200, 300), False),  # beyond a hole
        (sack(220, 240, 200, 300), True),  # a part of what is beyond a hole came twice
        (sack(200, 300, 220, 240), False),
        (sack(100, 142, before=b"\1\1\x08\x0a" + bytes(8)), True),
        (sack(100, 142, before=b""), True),
        (sack(100, 142, before=b"\1"), True),
        (sack(100, 142, before=b"\1\1\1"), True),
        (sack(100, 143, before=b"\1"), False),
        (sack(200, 300, 200, 300), True),
        (sack(199, 300, 200, 300), False),
        (sack(200, 301, 200, 300), False),
        (b"\5\x09" + sack(100, 142, before=b"")[2:9] + b"\1\1\1", False),  # too short for a block
        (b"\5\x11" + sack(220, 240, 200, 300, before=b"")[2:17] + b"\1\1\1", False),  # for two
        (b"\x08\0" + sack(100, 142, before=b""), True),  # a length that is none
        (b"\x08\1" + sack(100, 142, before=b""), True),
        (b"\x08\3\1" + sack(100, 142, before=b""), True),
        (sack(100, 142)[:9], False),  # cut
        (b"\5\0\5\0\5\0\5\0", False),
        (b"\0" + sack(100, 142), False),
        (b"", False),
    ],
)
def test_told_by_dsack(options: bytes, is_told: bool) -> None:
    assert with_dsack(ACK, 142, options) == ACK | DSACK * is_told


def part(least: int | None, by_handshake: bool = True) -> Part:
    """Return a way, in microseconds."""
    return Part(None if least is None else least * 1000, by_handshake)


@pytest.mark.parametrize(
    ("client", "broker", "near"),
    [
        (part(30), part(20_000), "client"),
        (part(20_000), part(40), "broker"),
        (part(5000), part(20_000), "between"),
        (part(5000, False), part(20_000), None),  # an acknowledgment may have waited
        (part(30, False), part(20_000, False), "client"),
        (part(None), part(20_000), None),
        (part(5), part(60), None),  # too short to tell
    ],
)
def test_captured_near(client: Part, broker: Part, near: str | None) -> None:
    assert captured_near(RoundTrips(client, broker), is_one_host=False) == near
    assert captured_near(RoundTrips(client, broker), is_one_host=True) == "both"


def test_data_with_fin() -> None:
    wire = opened()
    wire.send(CLIENT, 0, b"ask", flags=ACK | PSH | FIN, wait_ns=MS)
    wire.send(BROKER, 0, flags=ACK, ack=4, wait_ns=19 * MS)
    assert trips(wire).broker.least_ns == 19 * MS

"""One packet seen by several interfaces, as it is or cut at other places, is no retransmission."""

from collections.abc import Iterable

import pytest

from kdissect.model.anomaly import AnomalyKind
from tests.net.recorder import CLIENT, Wire

MSS = 1448
BIG = bytes(range(256)) * 255  # what a network card is given at once: nearly 64 KiB
SECOND = 1_000_000_000
Piece = tuple[int, bytes, int]  # stream offset, bytes, IP identification


def opened() -> Wire:
    wire = Wire()
    wire.open()
    return wire


def pieces(ip_id: int, numbered: bool = True) -> list[Piece]:
    """Return the packets that a card makes of BIG (segmentation offload numbers them on)."""
    return [
        (at, BIG[at : at + MSS], ip_id + (at // MSS if numbered else 0)) for at in range(0, len(BIG), MSS)
    ]


def send(wire: Wire, packets: Iterable[Piece]) -> None:
    for offset, payload, ip_id in packets:
        wire.send(CLIENT, offset, payload, ip_id=ip_id)


def repeats(wire: Wire) -> tuple[int, int]:
    health = wire.connection.health[CLIENT]
    assert wire.sinks[CLIENT].runs == [BIG]
    return health.duplicates, health.retransmissions


@pytest.mark.parametrize("ip_id", [100, 0, -1])
def test_a_packet_larger_than_what_is_kept(ip_id: int) -> None:
    wire = opened()
    send(wire, [(0, BIG, ip_id)] * 3)
    assert repeats(wire) == (2, 0)
    assert wire.connection.anomaly_counts == {AnomalyKind.DUPLICATE_CAPTURE: 2}


@pytest.mark.parametrize("ip_id", [100, -1])
def test_before_and_behind_segmentation_offload(ip_id: int) -> None:
    wire = opened()
    cut = pieces(ip_id, numbered=ip_id > 0)
    send(wire, [(0, BIG, ip_id), *cut])
    assert repeats(wire) == (len(cut), 0)


def test_a_large_packet_behind_some_of_its_pieces() -> None:
    """Receive offload joins what the interface before showed one by one; only what is kept can be known."""
    wire = opened()
    cut = [(at, b"x" * MSS, 500 + at // MSS) for at in range(0, 5 * MSS, MSS)]
    send(wire, cut)
    wire.send(CLIENT, 0, b"x" * 5 * MSS, ip_id=500)
    health = wire.connection.health[CLIENT]
    assert (health.duplicates, health.retransmissions) == (1, 0)


def test_sent_again_in_pieces_is_a_retransmission() -> None:
    """What is sent again has numbers of its own, behind those of what was sent before."""
    wire = opened()
    cut = pieces(100)
    send(wire, [(0, BIG, 100)])
    send(wire, [(at, data, ip_id + len(cut)) for at, data, ip_id in cut[:10]])
    assert repeats(wire) == (0, 10)


def test_pieces_that_come_late_are_sent_again() -> None:
    wire = opened()
    send(wire, [(0, BIG, -1)])
    wire.send(CLIENT, 0, BIG[:MSS], ip_id=-1, wait_ns=SECOND)
    assert repeats(wire) == (0, 1)


def test_other_bytes_are_no_copy() -> None:
    wire = opened()
    send(wire, [(0, BIG, 100), (MSS, b"?" * MSS, 101)])
    assert repeats(wire) == (0, 1)
    assert AnomalyKind.OVERLAP_DIFFERS in wire.connection.anomaly_counts


def test_a_retransmission_captured_twice_is_one() -> None:
    wire = opened()
    send(wire, [(0, BIG, 100), (0, BIG[:MSS], 200), (0, BIG[:MSS], 200), (0, BIG[:MSS], 201)])
    assert repeats(wire) == (1, 2)

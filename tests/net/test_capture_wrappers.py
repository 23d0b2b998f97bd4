"""Packets as NFLOG and PKTAP wrap them: the same segment, and whose it is."""

import struct

import pytest

from kdissect.model.packets.link_types import LinkType
from kdissect.model.packets.packet import Packet
from kdissect.net.headers.capture_wrappers import unwrapped
from kdissect.net.headers.datagram import MalformedPacketError
from kdissect.net.parser import SegmentParser
from tests.support.messages.traffic import Conversation
from tests.support.packets.wrapped import ETHERNET_HEADER, IN, OUT, nflog, pktap

SENT = Conversation().handshake().client(b"\0\0\0\4kafka", 9).packets[-1]


@pytest.mark.parametrize("order", ["<", ">"])
def test_nflog_has_its_packet_behind_other_attributes(order: str) -> None:
    data = nflog(SENT.data, order)
    wrapped = Packet(SENT.ref, SENT.time_ns, LinkType.NFLOG, data, len(data))
    assert SegmentParser().parse(wrapped) == SegmentParser().parse(SENT)


@pytest.mark.parametrize(("flags", "is_sender"), [(OUT, True), (IN, False), (0, None), (IN | OUT, None)])
@pytest.mark.parametrize("extra", [0, 4])
@pytest.mark.parametrize("link_type", [LinkType.PKTAP, 149])
def test_pktap_says_whose_the_packet_is(
    link_type: int, extra: int, flags: int, is_sender: bool | None
) -> None:
    """Header: XNU, bsd/net/pktap.h. macOS wrote link type 149 before PKTAP had a number."""
    parser = SegmentParser()
    data = pktap(SENT.data, flags, pid=4094, name=b"java", extra=extra)
    found = parser.parse(Packet(SENT.ref, SENT.time_ns, link_type, data, len(data)))
    assert found == SegmentParser().parse(SENT)
    inner, end = unwrapped(Packet(SENT.ref, SENT.time_ns, link_type, data, len(data) + 5))
    assert inner.wire_length == len(SENT.data) + 5
    assert end is not None
    assert (end.process.process, end.process.pid, end.is_sender) == ("java", 4094, is_sender)


def test_a_packet_that_is_no_pktap() -> None:
    """Link type 149 may be anything else: it is left as it is, and counted as a link that is not read."""
    data = pktap(SENT.data)
    short = data[:4] + b"\2" + data[5:]
    with pytest.raises(MalformedPacketError):
        unwrapped(Packet(1, 1, LinkType.PKTAP, short, len(short)))
    packet = Packet(1, 1, 149, short, len(short))
    assert unwrapped(packet) == (packet, None)


@pytest.mark.parametrize(("pid", "told"), [(1, 1), (0, None), (-1, None)])
def test_a_process_without_an_id(pid: int, told: int | None) -> None:
    data = pktap(SENT.data, pid=pid)
    _, end = unwrapped(Packet(1, 1, LinkType.PKTAP, data, len(data)))
    assert end is not None
    assert end.process.pid == told


@pytest.mark.parametrize(("length", "is_right"), [(3, False), (4, True)])
def test_nflog_attributes_have_a_length(length: int, is_right: bool) -> None:
    """An attribute of less than its own header would be read without end."""
    wrapped = nflog(SENT.data)
    data = wrapped[:4] + length.to_bytes(2, "little") + b"\1\0" + wrapped[4:]
    packet = Packet(1, 1, LinkType.NFLOG, data, len(data))
    if is_right:
        assert unwrapped(packet)[0].wire_length == len(SENT.data) - ETHERNET_HEADER
    else:
        with pytest.raises(MalformedPacketError, match="NFLOG attribute of 3 bytes"):
            unwrapped(packet)


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("size", [0x0008, 0x0104, 0x1004, 0x8004])
def test_nflog_of_either_byte_order_whatever_comes_first(size: int, order: str) -> None:
    """0x1004 and 0x8004 are larger than with their bytes swapped."""
    wrapped = nflog(SENT.data, order)
    data = wrapped[:4] + struct.pack(order + "HH", size, 1) + bytes(size - 4) + wrapped[4:]
    assert unwrapped(Packet(1, 1, LinkType.NFLOG, data, len(data)))[0].data == SENT.data[ETHERNET_HEADER:]


@pytest.mark.parametrize("size", [4, 5, 6, 7, 8])
def test_nflog_attributes_begin_at_multiples_of_four(size: int) -> None:
    wrapped = nflog(SENT.data)
    attribute = size.to_bytes(2, "little") + b"\1\0" + b"x" * (size - 4)
    data = wrapped[:4] + attribute.ljust((size + 3) // 4 * 4, b"\0") + wrapped[4:]
    packet = Packet(1, 1, LinkType.NFLOG, data, len(data))
    assert unwrapped(packet)[0].data == SENT.data[ETHERNET_HEADER:]

"""Packets as NFLOG hands them over: the packet is one of its attributes, whichever comes before it."""

import pytest

from kdissect.model.packets.link_types import LinkType
from kdissect.model.packets.packet import Packet
from kdissect.net.parser import SegmentParser
from tests.support.messages.traffic import Conversation
from tests.support.packets.wrapped import nflog

SENT = Conversation().handshake().client(b"\0\0\0\4kafka", 9).packets[-1]


@pytest.mark.parametrize("order", ["<", ">"])
def test_nflog_has_its_packet_behind_other_attributes(order: str) -> None:
    data = nflog(SENT.data, order)
    wrapped = Packet(SENT.ref, SENT.time_ns, LinkType.NFLOG, data, len(data))
    assert SegmentParser().parse(wrapped) == SegmentParser().parse(SENT)

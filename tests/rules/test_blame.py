"""What findings must not say: faults that are none, and those of the other end."""

from kdissect.model.packet import Packet
from tests.rules.dialogue import Dialogue, findings
from tests.rules.fixtures.wire import CLUSTER, METADATA
from tests.support.traffic import BROKER, CLIENT, RST, request

SNAP = 96


def codes(packets: list[Packet]) -> set[str]:
    return {finding.code for finding in findings(packets)}


def snapped(packets: list[Packet], kept: int = SNAP) -> list[Packet]:
    """The packets as a capture with a snap length has them."""
    return [packet._replace(data=packet.data[:kept]) for packet in packets]


# FRM005


def test_a_frame_that_a_snap_length_cut_was_sent_whole() -> None:
    talk = Dialogue().exchange("Metadata", 12, {"topics": [{"name": "a" * 200}]}, CLUSTER)
    for packets in (talk.close(CLIENT), talk.talk.packet(CLIENT, flags=RST).packets):
        assert "FRM005" not in codes(snapped(packets, 150))


def test_a_frame_of_which_a_snap_length_hides_how_it_ends() -> None:
    """Its sender did cut it, but how much of it was sent the capture does not show."""
    half = request(3, 8, 2, bytes(300))[:-100]
    assert "FRM005" in codes(Dialogue().send(CLIENT, half).close(CLIENT))
    assert "FRM005" not in codes(snapped(Dialogue().send(CLIENT, half).close(CLIENT)))


# HDR003


def test_a_null_topic_is_no_header_without_tags() -> None:
    """DescribeLogDirs v2 with a null name: read a byte earlier, it would have tag 0 twice."""
    content = bytes.fromhex("0023 0002 00000002 0004 74657374 00 02 00 00 00 00")
    found = codes(Dialogue().raw(CLIENT, content).close())
    assert "HDR003" not in found
    assert "BDY003" in found


def test_a_header_without_tags_is_told_still() -> None:
    content = bytes.fromhex("0003 000c 00000002 0004 74657374 00 01 00 00")  # Metadata v12 with header v1
    assert "HDR003" in codes(Dialogue().raw(CLIENT, content).close())

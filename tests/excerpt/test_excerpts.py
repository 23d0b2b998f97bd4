"""Excerpts: what is kept of a capture, what is closed over, and what stays a hole."""

import struct
from pathlib import Path

import pytest

from kdissect.api import Dissection
from kdissect.excerpt.cutter import Piece, StreamCutter
from kdissect.excerpt.excerpts import MAX_BYTES, Wanted, excerpts
from kdissect.excerpt.frame_plans import ConnectionPlan, FramePlan, HeldFrames
from kdissect.excerpt.packet_headers import Headers, headers_of
from kdissect.model.packets.link_types import LinkType
from kdissect.model.packets.packet import Packet, packet_ref
from kdissect.model.packets.stream import UNKNOWN_LENGTH, CloseKind
from kdissect.net.parser import SegmentParser
from kdissect.report.evidence_files import collect_evidence, file_comment
from kdissect.rules.judge import Judge
from kdissect.session.exchange import Exchange
from tests.rules.scripted_connection import ScriptedConnection
from tests.support.console import CAPTURES
from tests.support.messages.traffic import BROKER, CLIENT, Conversation, request, response
from tests.support.packets.pcaps import write_pcap
from tests.support.run import events_of

SECRET = b"xq7SECRETvvz"
ACKS = CAPTURES / "tansu_rdk216_acks.pcap"


def exchanges_of(packets: list[Packet]) -> list[Exchange]:
    return [event for event in events_of(packets) if isinstance(event, Exchange)]


def excerpt(path: str, *ordinals: int, **options: int) -> list[Packet]:
    """Return exchanges of the first connection of a capture."""
    first = next(iter(Dissection(path))).connection.id
    (made,) = excerpts([[Wanted(first, frozenset(ordinals), **options)]], lambda: Dissection(path))
    return [item.packet for item in made]


@pytest.fixture
def long_talk(tmp_path: Path) -> str:
    """Twelve exchanges, of which two share segments with their neighbours."""
    talk = Conversation().handshake()
    for number in range(12):
        together = number in (5, 6)
        if not together:
            talk.client(request(3, 8, number, b"\xff\xff\xff\xff\0\0\0"))
            talk.broker(response(number, bytes(24)))
    talk.client(b"".join(request(3, 8, number, b"\xff\xff\xff\xff\0\0\0") for number in (20, 21, 22)))
    talk.broker(b"".join(response(number, bytes(24)) for number in (20, 21, 22)))
    return write_pcap(tmp_path / "long.pcap", talk.fin(CLIENT).packets)


@pytest.mark.parametrize(
    ("ordinals", "options", "kept"),
    [
        ((4,), {}, [4]),
        ((4,), {"before": 2, "after": 1}, [2, 3, 4, 7]),
        ((11,), {}, [21]),  # in the middle of its segment
        ((0, 12), {}, [0, 22]),
        ((0, 12), {"after": 1}, [0, 1, 22]),
        ((2,), {"whole": True}, [0, 1, 2]),
        ((), {"whole": True}, [0, 1, 2, 3, 4, 7, 8, 9, 10, 11, 20, 21, 22]),
    ],
)
def test_what_is_asked_for_is_there_and_nothing_else(
    long_talk: str, ordinals: tuple[int, ...], options: dict[str, int], kept: list[int]
) -> None:
    packets = excerpt(long_talk, *ordinals, **options)
    found = exchanges_of(packets)
    assert [e.correlation_id for e in found] == kept
    assert all(e.response is not None and not e.all_anomalies() for e in found)
    assert found[0].connection.close is not None
    assert found[0].connection.close.by == "client"


def test_streams_are_closed_over_what_is_left_out(long_talk: str) -> None:
    (info,) = {e.connection for e in exchanges_of(excerpt(long_talk, 0, 12))}
    assert info.tcp is not None
    assert (info.tcp.gaps, info.tcp.retransmissions, info.tcp.out_of_order) == (0, 0, 0)


def test_a_hole_inside_of_a_frame_stays(tmp_path: Path) -> None:
    talk = Conversation().handshake().client(request(3, 8, 1, b"\xff\xff\xff\xff\0\0\0"))
    whole = response(1, bytes(2000))
    talk.packet(BROKER, whole[:700], 24).lose(BROKER, whole[700:1400]).packet(BROKER, whole[1400:], 24)
    talk.client(request(3, 8, 2, b"\xff\xff\xff\xff\0\0\0")).broker(response(2, bytes(24))).fin(CLIENT)
    path = write_pcap(tmp_path / "hole.pcap", talk.packets)
    before = next(iter(Dissection(path))).response
    (after,) = exchanges_of(excerpt(path, 0))
    assert before is not None and after.response is not None
    assert before.is_cut
    assert (after.response.size, after.response.data) == (before.size, before.data)
    assert after.connection.tcp is not None
    assert after.connection.tcp.gap_bytes == 700


def test_bytes_in_no_frame_are_overwritten_behind_the_first(tmp_path: Path) -> None:
    conversation = ScriptedConnection().exchange("Metadata", 12, {"topics": None}, {"brokers": []})
    packets = conversation.send(CLIENT, b"\xff\xff\xff\xff" + bytes(60) + SECRET).close()
    path = write_pcap(tmp_path / "lost.pcap", packets)
    (item,) = {event.connection.id for event in Dissection(path)}
    for show_secrets in (False, True):
        (made,) = excerpts([[Wanted(item, whole=True)]], lambda: Dissection(path), show_secrets)
        data = b"".join(each.packet.data for each in made)
        assert (SECRET in data) == show_secrets
        assert b"\xff\xff\xff\xff" in data  # what the finding is about


@pytest.mark.parametrize("held", range(1, 8))
def test_a_frame_that_begins_at_the_very_end_of_a_segment(tmp_path: Path, held: int) -> None:
    """What is left out ends with zeros, and so begins the size of what is kept."""
    talk = Conversation().handshake()
    for number in (0, 1):
        talk.client(request(3, 8, number, b"\xff\xff\xff\xff\0\0\0")).broker(response(number, bytes(24)))
    first, second = (request(3, 8, number, b"\0\0\0\0\0\0\0") for number in (2, 3))
    talk.client(first + second[:held]).client(second[held:])
    talk.broker(response(2, bytes(24)) + response(3, bytes(24)))
    path = write_pcap(tmp_path / "tail.pcap", talk.fin(CLIENT).packets)
    found = exchanges_of(excerpt(path, 3))
    assert [each.correlation_id for each in found] == [3]
    assert found[0].request is not None
    assert found[0].request.data == second[4:]


@pytest.mark.parametrize("inside", [True, False])
def test_a_hole_of_unknown_length_takes_the_rest_of_its_frame(inside: bool) -> None:
    whole = response(1, b"abcdefgh")
    made: list[Piece] = []
    frames = HeldFrames()
    frames.add(FramePlan(7, whole[:64], len(whole), (), 0, False, len(whole)))
    cutter = StreamCutter(ConnectionPlan("c", frames), 0, True, made.append)
    cutter.data(whole[:10] if inside else whole, 7, 1)
    cutter.gap(UNKNOWN_LENGTH, False, 8, 2)
    cutter.data(b"other", 9, 3)
    cutter.end(CloseKind.FIN, 9, 4)
    assert b"".join(piece.payload for piece in made) == (whole[:10] if inside else whole)
    assert made[-1].skip == (len(whole) - 10 if inside else 0)


def test_one_that_is_too_large_is_empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert MAX_BYTES > 1 << 20
    monkeypatch.setattr("kdissect.excerpt.excerpts.MAX_BYTES", 100)
    talk = Conversation().handshake().client(request(3, 8, 1, b"\xff\xff\xff\xff\0\0\0"))
    path = write_pcap(tmp_path / "large.pcap", talk.broker(response(1, bytes(200))).packets)
    assert excerpt(path, 0) == []


def test_what_no_excerpt_shows_again_is_given_in_its_smallest_form() -> None:
    judge = Judge()
    for event in Dissection(ACKS).events():
        judge.add(event)
    judge.finish()
    (finding,) = [each for each in judge.findings.all() if each.code == "FRM006"]
    (evidence,) = collect_evidence([finding], lambda: Dissection(ACKS), lambda: Judge(rules=[]))
    assert not evidence.shows_again
    assert len(evidence.packets) < 10
    assert "does not show the finding again" in file_comment(evidence, ["a"], False)


# headers


def ipv4_packet(payload: bytes, options: bytes = b"") -> bytes:
    tcp = struct.pack(">HHIIBBHHH", 1, 2, 3, 4, (5 + len(options) // 4) << 4, 24, 9, 0, 0) + options
    head = struct.pack(">BBHHHBBH8s", 0x45, 0, 20 + len(tcp + payload), 7, 0, 64, 6, 0, bytes(range(8)))
    return head + tcp + payload


def ipv6_packet(payload: bytes) -> bytes:
    tcp = struct.pack(">HHIIBBHHH", 1, 2, 3, 4, 5 << 4, 24, 9, 0, 0)
    return struct.pack(">IHBB32s", 6 << 28, len(tcp + payload), 6, 64, bytes(range(32))) + tcp + payload


ETHERNET = bytes(12)
SACK = bytes((1, 1, 5, 10)) + bytes(8)
FORMS = {
    "ethernet": (1, ETHERNET + b"\x08\0" + ipv4_packet(b"old")),
    "vlan": (1, ETHERNET + b"\x81\0\0\x07\x08\0" + ipv4_packet(b"old")),
    "ipv6": (1, ETHERNET + b"\x86\xdd" + ipv6_packet(b"old")),
    "raw": (101, ipv4_packet(b"old")),
    "padded": (1, ETHERNET + b"\x08\0" + ipv4_packet(b"") + bytes(6)),
    "selective": (1, ETHERNET + b"\x08\0" + ipv4_packet(b"old", SACK)),
    "tunnel": (101, struct.pack(">BBHHHBBH8s", 0x45, 0, 63, 1, 0, 9, 4, 0, bytes(8)) + ipv4_packet(b"old")),
}


def folded(data: bytes) -> int:
    """Return the sum of RFC 1071, word by word; of bytes with their checksum it is 0xffff."""
    total = 0
    for at in range(0, len(data), 2):
        total += int.from_bytes(data[at : at + 2].ljust(2, b"\0"))
        total = (total & 0xFFFF) + (total >> 16)
    return total


@pytest.mark.parametrize("form", FORMS)
def test_headers_fit_other_bytes(form: str) -> None:
    link_type, data = FORMS[form]
    segment = SegmentParser().parse_batch([(packet_ref(0, 1), 0, link_type, data, len(data))])[0]
    assert segment is not None
    headers = headers_of(link_type, data, segment)
    made = headers.packet(1 << 32, 77, 24, b"new bytes, odd")
    again = SegmentParser().parse(Packet(1, 0, headers.link_type, made, len(made)))
    assert again is not None
    assert (again.flow, again.seq, again.ack, again.payload) == (segment[0], 0, 77, b"new bytes, odd")
    assert (headers.link_type == LinkType.RAW) == (form in ("raw", "tunnel"))
    assert made[: headers.ip] == data[: headers.ip] or form == "tunnel"
    assert_checksums(made, headers)
    assert SACK[2:] not in made


def assert_checksums(made: bytes, headers: Headers) -> None:
    ip, tcp = headers.ip, headers.tcp
    if made[ip] >> 4 == 4:
        assert folded(made[ip:tcp]) == 0xFFFF
        addresses = made[ip + 12 : ip + 20]
    else:
        addresses = made[ip + 8 : ip + 40]
    length = (len(made) - tcp).to_bytes(2)
    assert folded(addresses + b"\0\x06" + length + made[tcp:]) == 0xFFFF

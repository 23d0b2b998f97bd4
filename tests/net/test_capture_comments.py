"""What comments of a packet tell of its process, one byte short of a limit, at it, and beyond it."""

import struct
import sys

import pytest

from kdissect.model.limits import Limits
from kdissect.model.packets.commented import LITTLE
from kdissect.model.packets.link_types import LinkType
from kdissect.model.packets.packet import Packet
from kdissect.model.packets.process import LocalEnd, Process
from kdissect.net.anomaly_log import AnomalyLog
from kdissect.net.headers import capture_wrappers
from kdissect.net.headers.capture_wrappers import is_wrapped, unwrapped
from kdissect.net.headers.datagram import Fragment, MalformedPacketError
from kdissect.net.headers.fragments import FragmentTable
from kdissect.net.headers.layers import Layers
from tests.support.packets.wrapped import OUT, nflog, outer_ip, pktap

DATA = b"a packet"


def option(code: int, value: bytes) -> bytes:
    return struct.pack("<HH", code, len(value)) + value + bytes(-len(value) & 3)


def told(*comments: str, flags: int = 0) -> LocalEnd | None:
    """Of a packet of Ethernet with these comments."""
    options = b"".join(option(1, text.encode()) for text in comments)
    options += option(2, struct.pack("<I", flags)) if flags else b""
    data = struct.pack("<II", len(DATA), len(DATA)) + DATA + bytes(-len(DATA) & 3) + options
    packet, end = unwrapped(Packet(1, 1, LinkType.ETHERNET | LITTLE, data, len(DATA)))
    assert (packet.link_type, packet.data, packet.wire_length) == (LinkType.ETHERNET, DATA, len(DATA))
    return end


@pytest.mark.parametrize(
    ("comment", "process"),
    [
        ("PID: 7", Process(pid=7)), ("PID: 9999999999", Process(pid=9_999_999_999)),
        ("PID: 10000000000\nCmd: sh", Process("sh")), ("PID: 0\nCmd: sh", Process("sh")),
        ("PID: -1\nCmd: sh", Process("sh")), ("PID: \u0663\nCmd: sh", Process("sh", 3)),
        ("Cmd:  /bin/sh ", Process("/bin/sh")), ("Cmd: " + "x" * 1024, Process("x" * 1024)),
        ("Cmd: " + "x" * 1025, Process("x" * 1024)),
        ("PodName: p\nPodNamespace: n", Process(pod="p", namespace="n")),
        ("ContainerName: c\nContainerId: 01", Process(container="c")),
        ("ContainerName:  \nContainerId: 01", None), ("ContainerId: 01", Process(container="01")),
        ("Cmd: first\nCmd: second", Process("first")), ("PIDs: 7", None), (" PID: 7", None), ("", None),
    ],
)  # fmt: skip
def test_a_comment(comment: str, process: Process | None) -> None:
    assert told(comment) == (None if process is None else LocalEnd(process, None))


@pytest.mark.parametrize(("flags", "is_sender"), [(0, None), (1, False), (2, True), (3, None), (6, True)])
def test_whose_it_is(flags: int, is_sender: bool | None) -> None:
    """draft-ietf-opsawg-pcapng section 4.3: bits 0 and 1 of epb_flags are the direction."""
    assert told("PID: 7", flags=flags) == LocalEnd(Process(pid=7), is_sender)


def test_comments_of_pods_and_containers_count_first() -> None:
    forged = "Args: x\nPodName: forged\nContainerName: forged"
    for own in ("PodName: real", "ContainerName: real"):
        found = told(forged, own)
        assert found is not None
        assert "real" in (found.process.pod, found.process.container)


@pytest.mark.parametrize(("size", "is_cached"), [(8192, True), (8196, False)])
def test_long_comments_are_not_kept_in_memory(size: int, is_cached: bool) -> None:
    capture_wrappers._end_of.cache_clear()
    for _ in range(2):
        assert told("PID: 7\nArgs: ".ljust(size - 4, "x")) == LocalEnd(Process(pid=7), None)
    assert capture_wrappers._end_of.cache_info().hits == is_cached
    assert capture_wrappers._end_of.cache_info().currsize == is_cached


@pytest.mark.parametrize(
    ("length", "extra", "is_right"),
    [(107, 0, False), (108, 0, True), (108 + len(DATA), 0, True), (109 + len(DATA), 0, False)],
)
def test_the_header_of_pktap_ends_within_the_packet(length: int, extra: int, is_right: bool) -> None:
    """struct pktap_header has 108 bytes (XNU, bsd/net/pktap.h)."""
    data = struct.pack("<I", length) + pktap(DATA)[4:]
    packet = Packet(1, 1, LinkType.PKTAP, data, 50)
    if is_right:
        inner, _ = unwrapped(packet)
        assert (inner.data, inner.wire_length, inner.link_type) == (data[length:], 0, LinkType.ETHERNET)
    else:
        with pytest.raises(MalformedPacketError, match=f"^PKTAP header of {length} bytes before link type 1"):
            unwrapped(packet)
        assert unwrapped(packet._replace(link_type=149)) == (packet._replace(link_type=149), None)


def test_pktap_names_its_process() -> None:
    _, end = unwrapped(Packet(1, 1, LinkType.PKTAP, pktap(DATA, OUT, 1, b"x\xff\0rest"), 200))
    assert end == LocalEnd(Process("x\ufffd", 1), True)
    _, end = unwrapped(Packet(1, 1, LinkType.PKTAP, pktap(DATA, OUT, -1, b""), 200))
    assert end is None


def test_what_is_wrapped() -> None:
    wrapped = (149, LinkType.PKTAP, LinkType.NFLOG, LinkType.ETHERNET | LITTLE)
    assert all(map(is_wrapped, wrapped))
    assert not any(is_wrapped(link) for link in (*LinkType, 148, 150) if link not in wrapped)


@pytest.mark.parametrize("length", [0, 3, 4, 5])
def test_the_packet_of_nflog_is_what_its_attribute_has(length: int) -> None:
    head = nflog(bytes(14) + b"\x45")[:-8]
    data = head + struct.pack("<HH", length + 4, 9) + b"12345678"
    inner, _ = unwrapped(Packet(1, 1, LinkType.NFLOG, data, 500))
    assert (inner.data, inner.wire_length, inner.link_type) == (b"12345678"[:length], length, LinkType.RAW)


def test_a_whole_packet_is_no_longer_kept_in_pieces() -> None:
    """Copies of its fragments may still come: its place is kept, its bytes are not."""
    payload = bytes(range(100, 108))
    before = sys.getrefcount(payload)
    table = FragmentTable(AnomalyLog(), Limits())
    assert table.add(Fragment(bytes(8), 6, 1, 0, True, payload, 8, 1), 1, 1) is None
    assert sys.getrefcount(payload) == before + 1
    assert table.add(Fragment(bytes(8), 6, 1, 8, False, b"x", 1, 1), 2, 2) is not None
    assert sys.getrefcount(payload) == before


@pytest.mark.parametrize(("second", "is_whole"), [(8, True), (9, False)])
def test_overlapping_fragments_are_kept_as_long_as_a_packet_may_be(second: int, is_whole: bool) -> None:
    """RFC 791 section 3.1: a length has 16 bits."""
    table = FragmentTable(AnomalyLog(), Limits())
    made = [(8, 65_527, False), (16, second, True), (0, 8, True)]
    found = [
        table.add(Fragment(bytes(8), 6, 1, at, more, bytes(length), length, 1), 1, 1)
        for at, length, more in made
    ]
    assert [one is not None for one in found] == [False, False, is_whole]


def nested(depth: int) -> bytes:
    """Return a TCP packet in so many IPv4 packets."""
    data = outer_ip(6, struct.pack(">HHIIHHHH", 1, 2, 3, 4, 0x5018, 5, 0, 0) + b"data")[14:]
    for _ in range(depth):
        data = outer_ip(4, data)[14:]
    return data


@pytest.mark.parametrize(("depth", "fits"), [(0, True), (2, True), (3, False)])
def test_packets_inside_each_other(depth: int, fits: bool) -> None:
    from collections import Counter

    log = AnomalyLog()
    layers = Layers(log, Limits(packet_depth=3), Counter(), Counter(), {})
    data = nested(depth)
    found = layers.segment(Packet(1, 1, LinkType.RAW, data, len(data)))
    assert (found is not None, layers.malformed) == (fits, not fits)
    assert [one.detail for one in log.kept] == ([] if fits else ["more than 3 packets inside each other"])

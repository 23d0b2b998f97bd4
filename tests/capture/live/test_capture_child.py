"""Packets from libpcap to blocks: one by one, and as a pcap file that libpcap writes in memory."""

import ctypes
from collections.abc import Iterator
from io import BytesIO
from types import SimpleNamespace
from typing import cast

import pytest

from kdissect.capture.formats.capture_writer import PcapngWriter
from kdissect.capture.formats.pcap import PcapParser
from kdissect.capture.live import bindings, capture_child
from kdissect.capture.live.blocks import Blocks
from kdissect.capture.live.libpcap import PacketHeader, library
from kdissect.capture.live.live_settings import LiveError, MissingError
from kdissect.model.packets.link_types import LinkType

BEGIN_S = 1_790_000_000
PACKETS = [(BEGIN_S * 10**9 + number * 7, bytes([number]) * number, number + 5) for number in range(1, 60)]
HEAD = bytes.fromhex("4d3cb2a1 02000400 00000000 00000000 00000400 01000000")  # nanoseconds, Ethernet


class Output:
    """Blocks as they would be written."""

    def __init__(self) -> None:
        self.data = b""
        self.packets = 0

    def put(self, blocks: Blocks) -> None:
        self.data += blocks.data
        self.packets += blocks.packets


@pytest.fixture
def dump() -> Iterator[bindings._Dump]:
    try:
        pcap = library()
    except MissingError as missing:
        pytest.skip(str(missing))
    pcap.pcap_open_dead_with_tstamp_precision.restype = ctypes.c_void_p
    handle = pcap.pcap_open_dead_with_tstamp_precision(1, 1 << 18, bindings._NANOSECONDS)
    found = bindings._Dump.of(handle)
    if found is None:
        pytest.skip("this C library has no streams in memory")
    yield found
    found.close()
    pcap.pcap_close(ctypes.c_void_p(handle))


def write(dump: bindings._Dump, time_ns: int, data: bytes, wire: int) -> None:
    header = PacketHeader(time_ns // 10**9, time_ns % 10**9, len(data), wire)
    content = ctypes.create_string_buffer(data, len(data))
    dump.handler(dump.dumper, ctypes.byref(header), ctypes.cast(content, ctypes.c_void_p))


def reader(multiplier: int = 1) -> tuple[capture_child._Reader, Output]:
    """Return the reader of an interface that is the second of a file, and where it writes."""
    out, output = BytesIO(), Output()
    writer = PcapngWriter(out)
    for _ in range(2):
        writer.interface(LinkType.ETHERNET, resolution=9 if multiplier == 1 else 6)
    out.seek(0)
    out.truncate()
    handle = cast(bindings.PcapHandle, SimpleNamespace(name="eth0", multiplier=multiplier))
    return capture_child._Reader(handle, 1, cast(capture_child._Output, output), writer, out), output


def test_each_call_takes_what_was_written_since_the_last_one(dump: bindings._Dump) -> None:
    parser = PcapParser()
    found = []
    for first, last in ((0, 40), (40, 41), (41, 41), (41, 59)):
        for packet in PACKETS[first:last]:
            write(dump, *packet)
        found.append([packet[1:2] + packet[3:] for packet in parser.feed(dump.take())])
    assert found == [PACKETS[:40], PACKETS[40:41], [], PACKETS[41:]]
    assert not parser.stopped


@pytest.mark.parametrize("multiplier", [1, 1000])
def test_a_file_in_memory_becomes_the_same_blocks_as_single_packets(multiplier: int) -> None:
    one_by_one, expected = reader(multiplier)
    for time_ns, data, wire in PACKETS:
        one_by_one.take(time_ns // multiplier * multiplier, data, wire)
    one_by_one._flush()
    at_once, found = reader(multiplier)
    head = HEAD if multiplier == 1 else b"\xd4\xc3\xb2\xa1" + HEAD[4:]
    rows = b"".join(
        b"".join(
            number.to_bytes(4, "little")
            for number in (time_ns // 10**9, time_ns % 10**9 // multiplier, len(data), wire)
        )
        + data
        for time_ns, data, wire in PACKETS
    )
    at_once.take_file(head + rows[:17])
    at_once.take_file(rows[17:])
    at_once._flush()
    assert (found.data, found.packets) == (expected.data, len(PACKETS))
    assert at_once._latest_ns == one_by_one._latest_ns


def test_what_is_no_pcap_file_ends_the_capture() -> None:
    with pytest.raises(LiveError, match="eth0: not a pcap file"):
        reader()[0].take_file(bytes(24))

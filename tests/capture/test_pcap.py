"""The pcap parser against captures made by hand from the format's description."""

import struct

import pytest

from kdissect.capture.formats.pcap import MAX_PACKET, PcapParser
from kdissect.model.anomaly import AnomalyKind
from kdissect.model.packets.packet import Packet, packet_ref, ref_file, ref_number
from tests.capture.capture_samples import SECOND, feed, pcap_header, pcap_packet, pieces, sample_pcap


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize(("magic", "unit"), [(0xA1B2C3D4, 1000), (0xA1B23C4D, 1)])
def test_both_byte_orders_and_resolutions(order: str, magic: int, unit: int) -> None:
    capture = pcap_header(order, magic, link=113) + pcap_packet(
        7, b"abcd", order=order, fraction=654321, wire=9
    )
    packets, parser = feed(capture)
    assert packets == [Packet(1, 7 * SECOND + 654321 * unit, 113, b"abcd", 9)]
    assert (parser.error, parser.anomalies, parser.link_types) == (None, [], {113})


def test_modified_format_with_longer_packet_headers() -> None:
    packet = pcap_packet(7, b"")[:8] + bytes([4, 0, 0, 0, 4, 0, 0, 0]) + b"\1\0\0\0\0\x08\0\0" + b"data"
    packets, parser = feed(pcap_header(magic=0xA1B2CD34) + packet * 3)
    assert [packet.data for packet in packets] == [b"data"] * 3
    assert parser.captured_bytes == 12
    assert parser.error is None


def test_type_and_reference_of_packets() -> None:
    parser = PcapParser(file=3)
    packets = [Packet._make(plain) for plain in parser.feed(sample_pcap())]
    assert all(type(packet) is Packet and type(packet.data) is bytes for packet in packets)
    assert [(ref_file(packet.ref), ref_number(packet.ref)) for packet in packets] == [
        (3, n) for n in range(1, 6)
    ]


def test_counts() -> None:
    packets, parser = feed(sample_pcap(size=77))
    assert (parser.packets, parser.captured_bytes) == (len(packets), 5 * 77)


def test_time_of_2106_stays_positive() -> None:
    (packet,), _ = feed(pcap_header() + pcap_packet(0xFFFFFFFF, b"x"))
    assert packet.time_ns == 0xFFFFFFFF * SECOND


def test_packet_cut_by_snaplen_keeps_its_wire_length() -> None:
    (packet,), parser = feed(pcap_header(snaplen=96) + pcap_packet(1, b"x" * 96, wire=1514))
    assert (len(packet.data), packet.wire_length, parser.error) == (96, 1514, None)


@pytest.mark.parametrize(
    ("field", "link"), [(1, 1), (0x14000001, 1), (0x03FF0001, 1), (276, 276), (12, 101), (14, 101)]
)
def test_link_type_without_fcs_bits_and_aliases(field: int, link: int) -> None:
    (packet,), _ = feed(pcap_header(link=field) + pcap_packet(1, b"x"))
    assert packet.link_type == link


@pytest.mark.parametrize("size", [1, 2, 3, 7, 16, 61, 76, 1000])
def test_any_cut_of_the_input_gives_the_same(size: int) -> None:
    capture = sample_pcap(range(30), size=61)[:-5]
    whole, one = feed(capture)
    cut, other = feed(capture, size)
    assert cut == whole
    assert (other.anomalies, other.captured_bytes) == (one.anomalies, one.captured_bytes)


def test_a_packet_is_delivered_with_its_last_byte() -> None:
    parser = PcapParser()
    capture = sample_pcap([1, 2], size=10)
    ends = [i for i, byte in enumerate(pieces(capture, 1), 1) if parser.feed(byte)]
    assert ends == [24 + 26, 24 + 52]


@pytest.mark.parametrize("missing", [1, 59, 60, 61, 75])
def test_cut_in_the_last_packet_is_an_anomaly_only(missing: int) -> None:
    packets, parser = feed(sample_pcap()[:-missing])
    assert len(packets) == 4
    assert parser.error is None
    (anomaly,) = parser.anomalies
    assert anomaly.kind is AnomalyKind.CUT_CAPTURE
    assert anomaly.ref == packet_ref(0, 4)
    assert "packet 5" in anomaly.detail
    assert f"offset {24 + 4 * 76}" in anomaly.detail


@pytest.mark.parametrize("size", [1, 40, 1 << 20])
@pytest.mark.parametrize("length", [MAX_PACKET + 1, 0x7FFFFFFF, 0xFFFFFFFF])
def test_implausible_length_stops_but_keeps_what_came_before(length: int, size: int) -> None:
    bad = pcap_packet(9, b"y" * 500, length=length)
    packets, parser = feed(sample_pcap() + bad + sample_pcap()[24:], size)
    assert len(packets) == 5
    (anomaly,) = parser.anomalies
    assert anomaly.kind is AnomalyKind.CORRUPT_CAPTURE
    assert anomaly.ref == packet_ref(0, 5)
    assert anomaly.detail == parser.error
    assert f"packet 6 at offset {len(sample_pcap())}" in anomaly.detail
    assert str(length) in anomaly.detail


def test_snaplen_in_the_header_raises_the_plausible_length() -> None:
    capture = pcap_header(snaplen=MAX_PACKET * 2) + pcap_packet(1, bytes(MAX_PACKET + 1))
    packets, parser = feed(capture, 1 << 16)
    assert len(packets) == 1
    assert parser.error is None


@pytest.mark.parametrize("size", [1, 1 << 20])
def test_length_zero_of_a_longer_packet_is_corruption(size: int) -> None:
    packets, parser = feed(sample_pcap() + pcap_packet(9, b"", wire=60) + sample_pcap()[24:], size)
    assert len(packets) == 5
    assert "captured length 0" in (parser.error or "")
    assert len(parser.anomalies) == 1


@pytest.mark.parametrize("size", [1, 1 << 20])
def test_empty_packet_is_noted_once_and_reading_goes_on(size: int) -> None:
    empty = pcap_packet(9, b"")
    packets, parser = feed(sample_pcap() + empty + empty + sample_pcap()[24:], size)
    assert [len(packet.data) for packet in packets] == [60] * 5 + [0] * 2 + [60] * 5
    assert [ref_number(packet.ref) for packet in packets] == list(range(1, 13))
    assert "packet 6" in (parser.error or "")
    assert len(parser.anomalies) == 1


def test_zeros_behind_a_valid_prefix_are_corruption() -> None:
    packets, parser = feed(sample_pcap() + bytes(4096))
    assert len(packets) == 5
    assert parser.error is not None
    assert parser.stopped


@pytest.mark.parametrize("wire", [0, 59, 0xFFFFFFFF])
def test_odd_wire_length_costs_nothing(wire: int) -> None:
    packets, parser = feed(pcap_header() + pcap_packet(1, b"x" * 60, wire=wire) + pcap_packet(2, b"y"))
    assert [packet.wire_length for packet in packets] == [max(60, wire), 1]
    assert parser.error is None


@pytest.mark.parametrize("version", [(1, 4), (3, 0), (543, 0)])
def test_other_versions_are_refused(version: tuple[int, int]) -> None:
    packets, parser = feed(pcap_header(version=version) + pcap_packet(1, b"x"))
    assert packets == []
    assert parser.error == f"pcap version {version[0]}.{version[1]} is not supported"


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("version", [(2, 0), (2, 1), (2, 2), (2, 3)])
def test_lengths_of_old_versions_stand_in_either_order(version: tuple[int, int], order: str) -> None:
    def old(wire: int, data: bytes, swapped: bool) -> bytes:
        lengths = (wire, len(data)) if swapped else (len(data), wire)
        return struct.pack(order + "IIII", 1, 0, *lengths) + data

    records = old(90, b"cut", True) + old(4, b"abcd", True) + old(70, b"also cut", False)
    packets, parser = feed(pcap_header(version=version, order=order) + records)
    assert [(packet.data, packet.wire_length) for packet in packets] == [
        (b"cut", 90),
        (b"abcd", 4),
        (b"also cut", 70),
    ]
    assert parser.error is None


def test_a_version_whose_bytes_alone_are_swapped() -> None:
    packets, parser = feed(pcap_header(version=(0x0200, 0x0400)) + pcap_packet(1, b"x", wire=9))
    assert [(packet.link_type, packet.data, packet.wire_length) for packet in packets] == [(1, b"x", 9)]
    assert parser.error is None


def test_wrong_magic_is_refused() -> None:
    packets, parser = feed(b"\1\2\3\4" + sample_pcap()[4:])
    assert packets == []
    assert parser.error == "not a pcap file"


def test_cut_in_the_file_header() -> None:
    packets, parser = feed(pcap_header()[:20])
    assert packets == []
    assert [anomaly.kind for anomaly in parser.anomalies] == [AnomalyKind.CUT_CAPTURE]
    assert "file header" in parser.anomalies[0].detail


def test_nothing_after_a_fault() -> None:
    parser = PcapParser()
    parser.feed(sample_pcap() + bytes(16))
    assert parser.feed(sample_pcap()[24:]) == []
    parser.close()
    assert len(parser.anomalies) == 1

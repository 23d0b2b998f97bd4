"""Packets of every link type and encapsulation, built by scapy, against the fields scapy was given."""

import struct
import subprocess
import sys
import warnings
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kdissect.model.anomaly import AnomalyKind
from kdissect.model.packets.link_types import LinkType
from kdissect.model.packets.packet import Packet
from kdissect.model.packets.segment import Segment, flow_endpoints
from kdissect.net.headers.header_length import header_length
from kdissect.net.parser import SegmentParser

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # scapy meets deprecations of other packages while it is imported
    from scapy.contrib.geneve import GENEVE
    from scapy.contrib.mpls import MPLS
    from scapy.layers.dot11 import Dot11, RadioTap
    from scapy.layers.inet import ICMP, IP, TCP, UDP, IPOption_NOP, fragment
    from scapy.layers.inet6 import (
        IPv6,
        IPv6ExtHdrDestOpt,
        IPv6ExtHdrFragment,
        IPv6ExtHdrHopByHop,
        IPv6ExtHdrRouting,
        fragment6,
    )
    from scapy.layers.ipsec import AH
    from scapy.layers.l2 import (
        ARP,
        GRE,
        LLC,
        SNAP,
        CookedLinux,
        CookedLinuxV2,
        Dot1AD,
        Dot1Q,
        Dot3,
        Ether,
        Loopback,
    )
    from scapy.layers.ppp import HDLC, PPP, PPPoE
    from scapy.layers.vxlan import VXLAN
    from scapy.packet import Packet as ScapyPacket
    from scapy.packet import Padding, Raw

PAYLOAD = b"\x00\x00\x00\x10 kafka \xff" * 3
MACS = {"src": "02:00:00:00:00:01", "dst": "02:00:00:00:00:02"}
ETHERNET = Ether(**MACS)
V4 = IP(src="10.1.2.3", dst="10.9.8.7", id=4711)
V6 = IPv6(src="2001:db8::1", dst="2001:db8::2")
SEGMENT = TCP(sport=40001, dport=9092, seq=0xFFFFFFF0, ack=77, flags="PA", window=501) / Raw(PAYLOAD)
OPTIONS = TCP(
    sport=40001, dport=9092, seq=0xFFFFFFF0, ack=77, flags="PA", window=501, options=[("Timestamp", (1, 2))]
) / Raw(PAYLOAD)


def packet(data: bytes, link_type: int = 1, wire_length: int | None = None, ref: int = 1) -> Packet:
    return Packet(ref, ref * 1000, link_type, data, len(data) if wire_length is None else wire_length)


def parse(data: bytes | ScapyPacket, link_type: int = 1) -> Segment | None:
    """Return the segment. Without its content, the packet has the same one."""
    data = bytes(data)
    segment = SegmentParser().parse(packet(data, link_type))
    if segment is not None:
        headers = data[: header_length(link_type, data)]
        cut = SegmentParser().parse(packet(headers, link_type, len(data)))
        missing = segment.missing + len(segment.payload)
        assert cut == segment._replace(payload=b"", missing=missing)
    return segment


@pytest.mark.parametrize(
    "frame",
    [
        ETHERNET / V4 / UDP(dport=53) / Raw(PAYLOAD), ETHERNET / V4 / ICMP() / Raw(bytes(V4 / SEGMENT)),
        ETHERNET / IP(src="10.1.2.3", dst="10.9.8.7", flags="MF") / SEGMENT,
        ETHERNET / V6 / IPv6ExtHdrFragment(offset=0, m=1, id=7) / SEGMENT,
        ETHERNET / V6 / IPv6ExtHdrFragment(offset=9, m=0, id=7) / Raw(PAYLOAD),
        Ether(type=0x1234, **MACS) / PAYLOAD,
    ],
)  # fmt: skip
def test_what_is_no_whole_segment_has_no_content_in_its_headers(frame: ScapyPacket) -> None:
    data = bytes(frame)
    headers = data[: header_length(LinkType.ETHERNET, data)]
    assert not any(PAYLOAD[at : at + 4] in headers for at in range(len(PAYLOAD) - 4))
    assert header_length(4711, data) == 0


def check(segment: Segment | None, *, ipv6: bool = False, payload: bytes = PAYLOAD) -> None:
    assert segment is not None
    client, broker = flow_endpoints(segment.flow)
    assert str(client) == ("[2001:db8::1]:40001" if ipv6 else "10.1.2.3:40001")
    assert str(broker) == ("[2001:db8::2]:9092" if ipv6 else "10.9.8.7:9092")
    assert segment[1:5] == (0xFFFFFFF0, 77, 0x18, 501)
    assert segment.payload == payload
    assert segment.missing == 0
    assert segment.ip_id == (-1 if ipv6 else 4711)


BSD_LOOPBACK_V4 = struct.pack("<I", 2)
LINKS: dict[str, tuple[int, Callable[[ScapyPacket], bytes]]] = {
    "ethernet": (1, lambda ip: bytes(ETHERNET / ip)),
    "vlan": (1, lambda ip: bytes(ETHERNET / Dot1Q(vlan=5) / ip)),
    "qinq": (1, lambda ip: bytes(ETHERNET / Dot1AD(vlan=9) / Dot1Q(vlan=5) / ip)),
    "three tags": (1, lambda ip: bytes(ETHERNET / Dot1Q(vlan=9) / Dot1Q(vlan=8) / Dot1Q(vlan=5) / ip)),
    "sll": (113, lambda ip: bytes(CookedLinux() / ip)),
    "sll2": (276, lambda ip: bytes(CookedLinuxV2() / ip)),
    "sll2 vlan": (276, lambda ip: bytes(CookedLinuxV2(proto=0x8100) / Dot1Q(vlan=5) / ip)),
    "raw": (101, bytes),
    "raw as in old files": (12, bytes),
    "raw as in other old files": (14, bytes),
    "mpls": (1, lambda ip: bytes(ETHERNET / MPLS(label=16, s=0) / MPLS(label=17, s=1) / ip)),
    "mpls multicast": (1, lambda ip: bytes(Ether(type=0x8848, **MACS) / MPLS(label=16, s=1) / ip)),
    "vlan mpls": (1, lambda ip: bytes(ETHERNET / Dot1Q(vlan=5) / MPLS(label=17, s=1) / ip)),
    "pppoe": (1, lambda ip: bytes(ETHERNET / PPPoE(sessionid=3) / PPP() / ip)),
    "sll pppoe": (113, lambda ip: bytes(CookedLinux(proto=0x8864) / PPPoE(sessionid=3) / PPP() / ip)),
    "snap": (1, lambda ip: bytes(Dot3(**MACS) / LLC() / SNAP() / ip)),
    "ppp as ethertype": (1, lambda ip: bytes(Ether(type=0x880B, **MACS) / HDLC() / PPP() / ip)),
    "ppp": (9, lambda ip: bytes(HDLC() / PPP() / ip)),
    "ppp in hdlc framing": (50, lambda ip: bytes(HDLC() / PPP() / ip)),
    "pppoe alone": (51, lambda ip: bytes(PPPoE(sessionid=3) / PPP() / ip)),
    "802.11": (105, lambda ip: bytes(Dot11(type=2, subtype=0, FCfield=1) / LLC() / SNAP() / ip)),
    "radiotap": (
        127,
        lambda ip: bytes(RadioTap() / Dot11(type=2, subtype=0, FCfield=1) / LLC() / SNAP() / ip),
    ),
}


@pytest.mark.parametrize("tcp", [SEGMENT, OPTIONS], ids=["plain", "options"])
@pytest.mark.parametrize("ipv6", [False, True], ids=["ipv4", "ipv6"])
@pytest.mark.parametrize("link", LINKS)
def test_link_types(link: str, ipv6: bool, tcp: ScapyPacket) -> None:
    link_type, build = LINKS[link]
    check(parse(build((V6 if ipv6 else V4) / tcp), link_type), ipv6=ipv6)


@pytest.mark.parametrize("order", [">", "<"])
@pytest.mark.parametrize("link_type", [LinkType.NULL, LinkType.LOOP])
@pytest.mark.parametrize("family", [2, 10, 23, 24, 28, 30])
def test_loopback_families_in_either_byte_order(link_type: int, family: int, order: str) -> None:
    ip = V4 if family == 2 else V6
    check(parse(struct.pack(f"{order}I", family) + bytes(ip / SEGMENT), link_type), ipv6=family != 2)


def test_loopback_as_scapy_writes_it() -> None:
    check(parse(Loopback(type=2) / V4 / SEGMENT, LinkType.NULL))


@pytest.mark.parametrize("link_type", [LinkType.IPV4, LinkType.IPV6])
def test_raw_ip_link_types(link_type: int) -> None:
    ipv6 = link_type == LinkType.IPV6
    check(parse((V6 if ipv6 else V4) / SEGMENT, link_type), ipv6=ipv6)


def test_ipv4_options() -> None:
    with_options = IP(src="10.1.2.3", dst="10.9.8.7", id=4711, options=[IPOption_NOP()] * 8)
    check(parse(ETHERNET / with_options / SEGMENT))


@pytest.mark.parametrize(
    "extensions",
    [
        IPv6ExtHdrHopByHop(),
        IPv6ExtHdrHopByHop() / IPv6ExtHdrDestOpt() / IPv6ExtHdrRouting(addresses=["2001:db8::2"]),
        AH(nh=6, payloadlen=4, icv=b"123456789012"),
        IPv6ExtHdrFragment(offset=0, m=0, id=7),
    ],
    ids=["hop-by-hop", "chain", "authentication", "atomic fragment"],
)
def test_ipv6_extension_headers(extensions: ScapyPacket) -> None:
    check(parse(ETHERNET / V6 / extensions / SEGMENT), ipv6=True)


TUNNELS = {
    "ipip": lambda inner: IP(src="1.1.1.1", dst="2.2.2.2") / inner,
    "6in4 or 6in6": lambda inner: V6 / inner,
    "gre": lambda inner: IP(src="1.1.1.1", dst="2.2.2.2") / GRE() / inner,
    "gre with key and sequence": lambda inner: (
        IP(src="1.1.1.1", dst="2.2.2.2")
        / GRE(key_present=1, key=1, seqnum_present=1, chksum_present=1)
        / inner
    ),
    "gre bridged": lambda inner: IP(src="1.1.1.1", dst="2.2.2.2") / GRE(proto=0x6558) / ETHERNET / inner,
    "erspan": lambda inner: (
        IP(src="1.1.1.1", dst="2.2.2.2")
        / GRE(proto=0x88BE, seqnum_present=1)
        / Raw(struct.pack(">II", 0x10010000, 0))
        / ETHERNET
        / inner
    ),
    "vxlan": lambda inner: IP() / UDP(dport=4789) / VXLAN(vni=3) / ETHERNET / Dot1Q(vlan=2) / inner,
    "geneve": lambda inner: IP() / UDP(dport=6081) / GENEVE(vni=3, proto=0x6558) / ETHERNET / inner,
    "vxlan in gre": lambda inner: (
        IP(src="1.1.1.1", dst="2.2.2.2") / GRE() / IP() / UDP(dport=8472) / VXLAN(vni=3) / ETHERNET / inner
    ),
}


@pytest.mark.parametrize("ipv6", [False, True], ids=["ipv4", "ipv6"])
@pytest.mark.parametrize("tunnel", TUNNELS)
def test_tunnels(tunnel: str, ipv6: bool) -> None:
    inner = (V6 if ipv6 else V4) / SEGMENT
    check(parse(ETHERNET / TUNNELS[tunnel](inner)), ipv6=ipv6)


def test_ethernet_padding_is_not_payload() -> None:
    ack = V4 / TCP(sport=40001, dport=9092, seq=0xFFFFFFF0, ack=77, flags="PA", window=501)
    for frame in (ETHERNET / ack, ETHERNET / Dot1Q(vlan=5) / ack, ETHERNET / IP() / ack):
        check(parse(frame / Padding(b"\xaa" * 20)), payload=b"")


def test_length_zero_of_segmentation_offload_means_all_that_was_captured() -> None:
    check(parse(ETHERNET / IP(src="10.1.2.3", dst="10.9.8.7", id=4711, len=0) / SEGMENT))
    check(parse(ETHERNET / IPv6(src="2001:db8::1", dst="2001:db8::2", plen=0) / SEGMENT), ipv6=True)


@pytest.mark.parametrize("zero_length", [False, True])
@pytest.mark.parametrize("ip", [V4, V6], ids=["ipv4", "ipv6"])
def test_snap_length_at_every_byte(ip: ScapyPacket, zero_length: bool) -> None:
    if zero_length:
        ip = ip.copy()
        ip.setfieldval("len" if ip.version == 4 else "plen", 0)
    frame = bytes(ETHERNET / ip / OPTIONS)
    headers = len(frame) - len(PAYLOAD)
    for cut in range(len(frame)):
        segment = SegmentParser().parse(packet(frame[:cut], wire_length=len(frame)))
        if segment is not None:
            assert segment.payload == PAYLOAD[: max(0, cut - headers)]
            assert len(segment.payload) + segment.missing == len(PAYLOAD)
        else:
            assert cut < headers
    assert segment is not None


def fragments_of(ipv6: bool, payload: bytes, ident: int = 4711) -> list[bytes]:
    tcp = TCP(sport=40001, dport=9092, seq=0xFFFFFFF0, ack=77, flags="PA", window=501) / Raw(payload)
    if ipv6:
        pieces = fragment6(V6 / IPv6ExtHdrFragment(id=ident) / tcp, 1280)
    else:
        pieces = fragment(IP(src="10.1.2.3", dst="10.9.8.7", id=ident) / tcp, 1000)
    return [bytes(ETHERNET / piece) for piece in pieces]


@pytest.mark.parametrize("ipv6", [False, True], ids=["ipv4", "ipv6"])
@pytest.mark.parametrize("order", [(0, 1, 2, 3), (3, 2, 1, 0), (1, 3, 0, 2), (0, 0, 1, 1, 2, 2, 3, 3)])
def test_fragments(order: tuple[int, ...], ipv6: bool) -> None:
    payload = bytes(range(256)) * 15 + b"end"
    frames = fragments_of(ipv6, payload)
    assert len(frames) == 4
    parser = SegmentParser()
    results = [parser.parse(packet(frames[at], ref=ref)) for ref, at in enumerate(order)]
    found = [each for each in results if each]
    assert len(found) == 1
    check(found[0], ipv6=ipv6, payload=payload)
    parser.close()
    assert parser.anomalies == []
    assert parser.tcp_segments == 1
    assert parser.others == {"fragment": len(order) - 1}


def test_incomplete_fragments_become_anomalies_and_stay_bounded() -> None:
    parser = SegmentParser()
    first = fragments_of(False, bytes(2000))[0]
    for ident in range(1000):
        frame = first[:18] + ident.to_bytes(2) + first[20:]
        assert parser.parse(packet(frame, ref=ident)) is None
    assert parser.anomaly_counts == {AnomalyKind.FRAGMENT_INCOMPLETE: 1000 - 256}
    assert parser.anomalies[0].ref == 0
    assert len(parser.anomalies) == 100
    parser.close()
    assert parser.anomaly_counts == {AnomalyKind.FRAGMENT_INCOMPLETE: 1000}


def test_old_fragments_expire() -> None:
    first, second, *_ = fragments_of(False, bytes(1500))
    parser = SegmentParser()
    assert parser.parse(Packet(1, 0, 1, first, len(first))) is None
    assert parser.parse(Packet(2, 31_000_000_000, 1, second, len(second))) is None
    assert parser.anomaly_counts == {AnomalyKind.FRAGMENT_INCOMPLETE: 1}


def test_snapped_fragments_give_what_was_captured() -> None:
    payload = bytes(range(256)) * 15
    frames = fragments_of(False, payload)
    parser = SegmentParser()
    results = [parser.parse(packet(frame[:96], wire_length=len(frame))) for frame in frames]
    segment = results[-1]
    assert segment is not None
    assert segment.payload == payload[: 96 - 54]
    assert segment.missing == len(payload) - len(segment.payload)


def test_what_is_not_tcp_is_counted_by_name() -> None:
    parser = SegmentParser()
    for frame in (
        ETHERNET / ARP(),
        ETHERNET / V4 / UDP(dport=53),
        ETHERNET / V6 / UDP(dport=53) / Raw(bytes(50)),
        ETHERNET / IP(proto=253) / Raw(bytes(40)),
        Ether(type=0x88B5, **MACS) / Raw(bytes(60)),
        ETHERNET / Dot1Q(vlan=3) / ARP(),
    ):
        assert parser.parse(packet(bytes(frame))) is None
    assert parser.others == {"arp": 2, "udp": 2, "ip-253": 1, "ethertype-0x88b5": 1}
    assert (parser.packets, parser.tcp_segments, parser.malformed) == (6, 0, 0)


def test_control_packets_of_ppp_are_unknown() -> None:
    parser = SegmentParser()
    assert parser.parse(packet(bytes(HDLC() / PPP(proto=0xC021) / Raw(b"\1\1\0\4")), 9)) is None
    assert (parser.others, parser.malformed, parser.unsupported) == ({"unknown": 1}, 0, {})


def test_unsupported_link_type_is_one_anomaly() -> None:
    parser = SegmentParser()
    for _ in range(3):
        assert parser.parse(packet(bytes(60), 147)) is None
    assert parser.unsupported == {147: 3}
    assert [(each.kind, each.detail) for each in parser.anomalies] == [
        (AnomalyKind.UNSUPPORTED_LINK, "LINKTYPE_147")
    ]


@pytest.mark.parametrize(
    "frame",
    [
        ETHERNET / IP(ihl=3) / SEGMENT,
        ETHERNET / IP(len=30) / SEGMENT,
        ETHERNET / V4 / TCP(dataofs=4) / Raw(PAYLOAD),
        ETHERNET / V4 / TCP(dataofs=15),
        ETHERNET / V6 / TCP(dataofs=15),
        ETHERNET / IP(version=7) / SEGMENT,
        Ether(type=0x8100, **MACS),
    ],
)
def test_malformed_headers(frame: ScapyPacket) -> None:
    parser = SegmentParser()
    assert parser.parse(packet(bytes(frame))) is None
    assert parser.malformed == 1
    assert parser.anomaly_counts == {AnomalyKind.MALFORMED_PACKET: 1}


def test_tunnels_nested_without_end_are_malformed() -> None:
    header = bytes(IP(proto=4, len=65535))[:20]
    parser = SegmentParser()
    assert parser.parse(packet(header * 100, LinkType.RAW)) is None
    assert parser.malformed == 1


LINK_TYPES = [*LinkType, 9, 12, 50, 51, 105, 127, 147]
SEEDS = [bytes(ETHERNET / V4 / OPTIONS), bytes(ETHERNET / V6 / IPv6ExtHdrHopByHop() / SEGMENT)] + [
    bytes(ETHERNET / tunnel(V4 / SEGMENT)) for tunnel in TUNNELS.values()
]


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(LINK_TYPES), st.binary(max_size=120), st.integers(0, 2000))
def test_random_bytes_never_raise(link_type: int, data: bytes, wire_length: int) -> None:
    parser = SegmentParser()
    result = parser.parse(packet(data, link_type, wire_length))
    assert result is None or isinstance(result, Segment)


@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from(LINK_TYPES),
    st.sampled_from(SEEDS),
    st.lists(st.tuples(st.integers(0, 119), st.integers(0, 255)), max_size=4),
    st.integers(0, 200),
)
def test_damaged_packets_never_raise(
    link_type: int, seed: bytes, damage: list[tuple[int, int]], length: int
) -> None:
    data = bytearray(seed)
    for at, value in damage:
        data[at % len(data)] = value
    SegmentParser().parse(packet(bytes(data[:length]), link_type))
    SegmentParser().parse(packet(bytes(data[14:length]), link_type))


def test_plain_traffic_imports_neither_dpkt_nor_scapy() -> None:
    code = "import kdissect.net.parser, kdissect.net.streams.tcp, sys; print(*sys.modules)"
    modules = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    heavy = {"dpkt", "scapy", "dataclasses", "inspect", "logging", "socket"}
    assert heavy.isdisjoint(modules.split())

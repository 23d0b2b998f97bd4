"""Names of what is not read: tunnels over UDP, protocols, EtherTypes."""

import struct

import pytest

from kdissect.net.headers.combined_header import ethertype_name, protocol_name
from kdissect.net.headers.datagram import Datagram
from kdissect.net.headers.tunnel import inner_network_layer, unread_tunnel

TZSP, L2TP, VXLAN_GPE = 37008, 1701, 4790


def udp(port: int, payload: bytes, protocol: int = 17) -> Datagram:
    """Return a datagram behind two other bytes."""
    data = b"--" + struct.pack(">HHHH", 50001, port, 8 + len(payload), 0) + payload
    return Datagram(bytes(8), protocol, data, 2, len(data), 0)


@pytest.mark.parametrize(
    ("port", "payload", "name"),
    [
        (TZSP, b"\1\0\0\1", "tzsp"),
        (TZSP, b"\1\1\0\1", "tzsp"),
        (TZSP, b"\1\2\0\1", None),
        (TZSP, b"\2\0\0\1", None),
        (TZSP, b"\1\0\0\2", None),
        (TZSP, b"\1\0\0", None),
        (TZSP + 1, b"\1\0\0\1", None),
        (L2TP, b"\0\2\0\0", "l2tp"),
        (L2TP, b"\0\xf3\0\0", "l2tp"),
        (L2TP, b"\0\1\0\0", None),
        (L2TP, b"\0\4\0\0", None),
        (L2TP - 1, b"\0\2\0\0", None),
        (VXLAN_GPE, b"\x0c\0\0\0", "vxlan-gpe"),
        (VXLAN_GPE, b"\xff\0\0\0", "vxlan-gpe"),
        (VXLAN_GPE, b"\x08\0\0\0", None),
        (VXLAN_GPE, b"\x04\0\0\0", None),
        (VXLAN_GPE + 1, b"\x0c\0\0\0", None),
    ],
)
def test_tunnels_that_are_not_read_have_a_name(port: int, payload: bytes, name: str | None) -> None:
    assert unread_tunnel(udp(port, payload)) == name
    assert unread_tunnel(udp(port, payload, protocol=6)) is None
    assert inner_network_layer(udp(port, payload.ljust(30, b"\0"))) is None


@pytest.mark.parametrize(
    ("ethertype", "name"),
    [
        (0, "unknown"), (1, "llc"), (0x5FF, "llc"), (0x600, "ethertype-0x0600"), (0x0806, "arp"),
        (0x8035, "rarp"), (0x8809, "slow"), (0x8847, "mpls"), (0x8848, "mpls"), (0x8863, "pppoe"),
        (0x8864, "pppoe"), (0x888E, "eapol"), (0x88CC, "lldp"), (0x88E5, "macsec"), (0x88F7, "ptp"),
        (0x894F, "nsh"), (0x88B5, "ethertype-0x88b5"),
    ],
)  # fmt: skip
def test_ethertypes(ethertype: int, name: str) -> None:
    """IEEE 802 numbers, as IANA lists them."""
    assert ethertype_name(ethertype) == name


@pytest.mark.parametrize(
    ("protocol", "name"),
    [
        (0, "hopopt"), (1, "icmp"), (2, "igmp"), (4, "ipip"), (17, "udp"), (41, "ipv6"), (47, "gre"),
        (50, "esp"), (51, "ah"), (58, "icmpv6"), (59, "none"), (88, "eigrp"), (89, "ospf"), (103, "pim"),
        (112, "vrrp"), (115, "l2tp"), (132, "sctp"), (136, "udplite"), (253, "ip-253"),
    ],
)  # fmt: skip
def test_protocols(protocol: int, name: str) -> None:
    """IANA protocol numbers."""
    assert protocol_name(protocol) == name

"""Link layers that kdissect does not decode itself: dpkt finds the IP packet in them.

dpkt is imported at the first such packet: it costs start-up time that other captures need not pay.
"""

from importlib import import_module
from struct import pack
from typing import Any

from kdissect.net.headers.combined_header import LENGTHS_BELOW
from kdissect.net.headers.datagram import MalformedPacketError
from kdissect.net.headers.link_header import ip_by_version

# LINKTYPE numbers of the tcpdump registry, and the dpkt module and class for each.
_ETHERNET = ("dpkt.ethernet", "Ethernet")
_CLASSES = {
    9: ("dpkt.ppp", "PPP"),
    50: ("dpkt.ppp", "PPP"),  # PPP in HDLC-like framing
    51: ("dpkt.pppoe", "PPPoE"),
    105: ("dpkt.ieee80211", "IEEE80211"),
    127: ("dpkt.radiotap", "Radiotap"),
}
_CARRIERS = frozenset((0x8847, 0x8848, 0x8864, 0x880B))  # MPLS unicast and multicast, PPPoE session, PPP


def is_known(link_type: int) -> bool:
    """Return whether dpkt has a parser for packets of this link type."""
    return link_type in _CLASSES


def network_layer(link_type: int, data: bytes) -> tuple[int, int]:
    """Return EtherType and offset of the IP packet in a packet of a link type that `is_known`, EtherType 0
    for none.

    Raises MalformedPacketError if dpkt cannot read the packet.
    """
    return _find_ip(_CLASSES[link_type], data) or (0, 0)


def behind_ethertype(data: bytes, ethertype: int, at: int) -> tuple[int, int]:
    """Return EtherType and offset for the bytes `data[at:]` after a header with this EtherType.

    For other protocols than IP, and if dpkt is not needed, the arguments come back.
    """
    if ethertype not in _CARRIERS and ethertype >= LENGTHS_BELOW:
        return ethertype, at
    ethernet_header = bytes(12) + pack(">H", ethertype)
    found = _find_ip(_ETHERNET, ethernet_header + data[at:])
    return (found[0], found[1] + at - len(ethernet_header)) if found else (ethertype, at)


def _find_ip(parser: tuple[str, str], data: bytes) -> tuple[int, int] | None:
    module, name = parser
    try:
        header = _ip_header(getattr(import_module(module), name)(data))
        # dpkt returns no offsets. An IP header contains addresses and lengths: its first occurrence is its
        # position.
        return None if header is None else ip_by_version(data, data.index(header))
    except (
        Exception
    ) as error:  # dpkt raises its own errors, and others (IndexError, struct.error) on odd bytes
        raise MalformedPacketError(f"{name}: {error}") from error


def _ip_header(packet: Any) -> bytes | None:
    from dpkt import ip, ip6, llc  # an extra

    while packet is not None:  # dpkt nests packets: each is shorter than the one around it
        if isinstance(packet, ip.IP | ip6.IP6):
            return bytes(packet.pack_hdr())
        if hasattr(packet, "data_frame"):  # 802.11 leaves its payload as bytes
            packet = llc.LLC(packet.data_frame.data)
        else:
            packet = getattr(packet, "data", None)
    return None

"""Link-layer headers: the offset of the network layer, and its kind."""

from struct import Struct

from kdissect.model.packets.link_types import LinkType
from kdissect.net.headers.datagram import MalformedPacketError

# EtherTypes, IANA IEEE 802 numbers.
IPV4 = 0x0800
IPV6 = 0x86DD
VLAN_TAGS = frozenset((0x8100, 0x88A8, 0x9100, 0x9200))  # IEEE 802.1Q, 802.1ad, and what came before 802.1ad

_ETHERTYPE = Struct(">H").unpack_from

# Offset of the EtherType and end of the header: IEEE 802.3, and tcpdump's LINKTYPE_LINUX_SLL and _SLL2 pages.
_HEADERS = {
    LinkType.ETHERNET: (12, 14),
    LinkType.LINUX_SLL: (14, 16),
    LinkType.LINUX_SLL2: (0, 20),
}
_RAW = frozenset((LinkType.RAW, LinkType.IPV4, LinkType.IPV6))
# LINKTYPE_RAW was written as DLT_RAW, 12 or 14, by some systems (tcpdump's link-layer header types page).
_OLD_RAW = frozenset((12, 14))
_LOOPBACK = frozenset((LinkType.NULL, LinkType.LOOP))
# Address families as the loopback header carries them: AF_INET is 2 everywhere. AF_INET6 is 24 (NetBSD,
# OpenBSD), 28 (FreeBSD), 30 (macOS), 10 (Linux), 23 (Windows). Source: tcpdump's LINKTYPE_NULL page.
_FAMILIES = {2: IPV4, 10: IPV6, 23: IPV6, 24: IPV6, 28: IPV6, 30: IPV6}


def network_layer(link_type: int, data: bytes) -> tuple[int, int] | None:
    """Return EtherType and offset of a packet's network layer, VLAN tags skipped, or None for an unknown link
    type.

    Raises MalformedPacketError or struct.error if the header is cut.
    """
    header = _HEADERS.get(link_type)  # type: ignore[call-overload]  # an IntEnum key is found by its number
    if header is not None:
        place, at = header
        (ethertype,) = _ETHERTYPE(data, place)
        return skip_vlan_tags(data, ethertype, at)
    if link_type in _RAW or link_type in _OLD_RAW:
        return ip_by_version(data, 0)
    if link_type in _LOOPBACK:
        return _loopback(data)
    return None


def skip_vlan_tags(data: bytes, ethertype: int, at: int) -> tuple[int, int]:
    """Return EtherType and offset after any number of VLAN tags."""
    while ethertype in VLAN_TAGS:
        (ethertype,) = _ETHERTYPE(data, at + 2)
        at += 4
    return ethertype, at


def ip_by_version(data: bytes, at: int) -> tuple[int, int]:
    """EtherType and offset of an IP packet by its version. Raises MalformedPacketError."""
    version = data[at] >> 4 if at < len(data) else 0
    if version not in (4, 6):
        raise MalformedPacketError(f"IP version {version}")
    return (IPV4 if version == 4 else IPV6), at


def _loopback(data: bytes) -> tuple[int, int]:
    # NULL is in the byte order of the capturing host, LOOP in network order, and files disagree. Families are
    # small numbers: the byte order that makes more of them is the wrong one.
    family = min(int.from_bytes(data[:4], "little"), int.from_bytes(data[:4], "big"))
    if family not in _FAMILIES:
        raise MalformedPacketError(f"address family {family}")
    return _FAMILIES[family], 4

"""Several headers with one `unpack_from`: what nearly every packet of a Kafka capture is read with.

IPv4 without options or IPv6 without extension headers, whole, with TCP. For any other packet these return
None, and the general path (`layers`) decodes it.
"""

import struct
from collections.abc import Callable
from typing import Any

from kdissect.model.packets.link_types import LinkType
from kdissect.model.packets.segment import DSACK, PlainSegment
from kdissect.net.streams.sequence import HALF, MASK

# Version and length, total length, identification, fragment with time to live and protocol, addresses with
# ports, sequence, acknowledgment, data offset with flags, window: RFC 791 section 3.1, RFC 9293 section 3.1.
_IPV4_TCP = "BxHHIxx12sIIHH"
# Payload length, next header, then the same from the addresses on: RFC 8200 section 3.
_IPV6_TCP = "xxxxHBx36sIIHH"

PLAIN_IPV4 = 0x45  # version 4, five words of header, RFC 791 section 3.1
# Of fragment, time to live and protocol in one number: more fragments, fragment offset, protocol; RFC 791
# section 3.1. Equal to `TCP` for TCP that is no fragment.
FRAGMENT_AND_PROTOCOL = 0x3FFF00FF
SHORTEST_TCP = 0x5000  # five words of header in the four bits above the flags, RFC 9293 section 3.1

# Eight words of header can contain SACK (RFC 2018 section 3) or a timestamp, which nearly all segments with
# data have.
_DATA_HAS_SACK = 0x9000
_NOP, _SACK, _ONE_BLOCK, _TWO_BLOCKS = 1, 5, 10, 18
_BLOCKS = struct.Struct(">2I").unpack_from, struct.Struct(">4I").unpack_from

# Link header up to IP, what its protocol field says for IPv4, its length. `link` names the sources.
_LINKS: dict[int, tuple[str, int | bytes, int]] = {
    LinkType.ETHERNET: ("12xH", 0x0800, 14),
    LinkType.LINUX_SLL: ("14xH", 0x0800, 16),
    LinkType.LINUX_SLL2: ("H18x", 0x0800, 20),
    LinkType.NULL: ("I", 0x02000000, 4),  # of a little-endian host
    LinkType.LOOP: ("I", 2, 4),
    LinkType.RAW: ("0s", b"", 0),
    LinkType.IPV4: ("0s", b"", 0),
}

# Link type -> unpack, expected protocol field, offset of the IP header.
COMBINED_HEADERS: dict[int, tuple[Callable[..., tuple[Any, ...]], int | bytes, int]] = {
    link_type: (struct.Struct(f">{header}{_IPV4_TCP}").unpack_from, expected, length)
    for link_type, (header, expected, length) in _LINKS.items()
}

_unpack_ipv4 = struct.Struct(f">{_IPV4_TCP}").unpack_from
_unpack_ipv6 = struct.Struct(f">{_IPV6_TCP}").unpack_from
TCP = 6  # IANA protocol numbers

_PROTOCOLS = {
    0: "hopopt", 1: "icmp", 2: "igmp", 4: "ipip", 17: "udp", 41: "ipv6", 47: "gre", 50: "esp", 51: "ah",
    58: "icmpv6", 59: "none", 88: "eigrp", 89: "ospf", 103: "pim", 112: "vrrp", 115: "l2tp", 132: "sctp",
    136: "udplite",
}  # fmt: skip
_ETHERTYPES = {
    0: "unknown",  # the content of a link type without EtherTypes
    0x0806: "arp", 0x8035: "rarp", 0x8809: "slow", 0x8847: "mpls", 0x8848: "mpls", 0x8863: "pppoe",
    0x8864: "pppoe", 0x888E: "eapol", 0x88CC: "lldp", 0x88E5: "macsec", 0x88F7: "ptp",
    0x894F: "nsh",
}  # fmt: skip
LENGTHS_BELOW = 0x600  # smaller numbers are lengths, IEEE 802.3 clause 3.2.6: LLC follows


def read_plain(data: bytes, at: int) -> PlainSegment | None:
    """Return the segment of the IP packet at `data[at:]`, None if anything about its headers is unusual or
    cut.
    """
    try:
        if data[at] == PLAIN_IPV4:
            _, total, ip_id, fragment_ttl_protocol, flow, seq, ack, flags, window = _unpack_ipv4(data, at)
            start, end, protocol = at + 20, at + total, fragment_ttl_protocol & FRAGMENT_AND_PROTOCOL
        else:
            length, protocol, flow, seq, ack, flags, window = _unpack_ipv6(data, at)
            start, end, ip_id = at + 40, at + 40 + length, -1
            if data[at] >> 4 != 6:
                return None
    except (IndexError, struct.error):
        return None
    tcp = start
    start += flags >> 12 << 2
    if protocol != TCP or end < start or flags < SHORTEST_TCP:
        return None
    missing = max(0, end - max(start, len(data)))
    flags = segment_flags(flags, ack, data, tcp, start, end)
    return flow, seq, ack, flags, window, data[start:end], missing, ip_id


def segment_flags(offset_flags: int, ack: int, data: bytes, tcp: int, start: int, end: int) -> int:
    """Return the flags of a segment whose header is at `tcp`, its payload from `start` to `end`.

    `DSACK`, if the options have one, replaces CWR.
    """
    flags = offset_flags & 0xFF & ~DSACK
    if start == end or offset_flags >= _DATA_HAS_SACK:
        flags = with_dsack(flags, ack, data[tcp + 20 : start])
    return flags


def with_dsack(flags: int, ack: int, options: bytes) -> int:
    """Return the flags with `DSACK` if the options have one.

    SACK's first block reports bytes that came twice if they are acknowledged, or are part of the second block
    (RFC 2883 section 4).
    """
    at = 0
    while at + 1 < len(options) and options[at]:
        if options[at] == _NOP:
            at += 1
            continue
        size = options[at + 1]
        if options[at] == _SACK and size >= _ONE_BLOCK:
            if at + size > len(options):
                return flags
            left, right, *more = _BLOCKS[size >= _TWO_BLOCKS](options, at + 2)
            inside = more and (left - more[0]) & MASK < HALF and (more[1] - right) & MASK < HALF
            return flags | DSACK if (ack - right) & MASK < HALF or inside else flags
        at += max(size, 2)
    return flags


# Names of the protocols in a capture besides TCP.
def protocol_name(protocol: int) -> str:
    """Name of an IP protocol number (IANA keywords), `ip-253` for one without."""
    return _PROTOCOLS.get(protocol, f"ip-{protocol}")


def ethertype_name(ethertype: int) -> str:
    """Name of an EtherType, `llc` for a length (IEEE 802.2 follows), `ethertype-0x88b5` for one without."""
    if 0 < ethertype < LENGTHS_BELOW:
        return "llc"
    return _ETHERTYPES.get(ethertype, f"ethertype-0x{ethertype:04x}")

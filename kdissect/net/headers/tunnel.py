"""IP inside IP: the encapsulations of overlay networks and traffic mirrors."""

from struct import Struct

from kdissect.net.headers.datagram import Datagram, MalformedPacketError
from kdissect.net.headers.link_header import IPV4, IPV6, ip_by_version, skip_vlan_tags

_TUNNEL_PROTOCOLS = {4: IPV4, 41: IPV6}  # IP in IP, IANA protocol numbers
_GRE = 47
_UDP = 17
_ETHERNET_BRIDGED = 0x6558  # transparent Ethernet bridging, RFC 1701
_ERSPAN = 0x88BE  # draft-foschiano-erspan: Ethernet after an 8-byte header
# draft-foschiano-erspan section 4.3: Ethernet after 12 bytes, and 8 more if the O bit is set, or IP.
_ERSPAN_III, _ERSPAN_III_HEADER, _SUBHEADER = 0x22EB, 12, 8
_FRAME_IS_IP = 2  # in the frame type, FT
_GTP_PORT = 2152  # 3GPP TS 29.281 section 4.4.2.3
_GTP_VERSION_1 = 0x30  # version and protocol type in the five highest bits, section 5.1
_GTP_EXTENSION, _GTP_OPTIONAL = 0x04, 0x07  # flag E; E, S or PN: four optional bytes are there
_G_PDU = 0xFF
# What is named and not read: TZSP version 1 with Ethernet inside; L2TP with its version (RFC 3931 section
# 4.1.2); VXLAN-GPE (draft-ietf-nvo3-vxlan-gpe section 3) with I and P set, which NSH comes in.
_TZSP_PORT, _L2TP_PORT, _VXLAN_GPE_PORT = 37008, 1701, 4790
_VXLAN_PORTS = frozenset((4789, 8472))  # IANA; the default of Linux's own driver, which overlays still use
_GENEVE_PORT = 6081  # RFC 8926 section 3.3

_WORD = Struct(">H").unpack_from
_WORDS = Struct(">HH").unpack_from


def _word(data: bytes, at: int) -> int:
    word: int
    (word,) = _WORD(data, at)
    return word


def inner_network_layer(datagram: Datagram) -> tuple[int, int] | None:
    """Return EtherType and offset, in `datagram.data`, of the packet a tunnel carries, or None if this is no
    tunnel.

    Raises struct.error if headers are cut.
    """
    _, protocol, data, at, _, _ = datagram
    if protocol in _TUNNEL_PROTOCOLS:
        return _TUNNEL_PROTOCOLS[protocol], at
    if protocol == _GRE:
        return _gre(data, at)
    if protocol == _UDP:
        return _udp(data, at)
    return None


def unread_tunnel(datagram: Datagram) -> str | None:
    """Return the name of an encapsulation over UDP that is not read, or None if this is none."""
    _, protocol, data, at, _, _ = datagram
    if protocol != _UDP or len(data) < at + 12:
        return None
    port = _word(data, at + 2)
    if port == _TZSP_PORT and data[at + 8] == 1 and data[at + 9] <= 1 and _word(data, at + 10) == 1:
        return "tzsp"
    if port == _L2TP_PORT and (data[at + 9] & 0x0E) == 2:  # version 2 or 3
        return "l2tp"
    return "vxlan-gpe" if port == _VXLAN_GPE_PORT and data[at + 8] & 0x0C == 0x0C else None


def _gre(data: bytes, at: int) -> tuple[int, int] | None:
    flags, ethertype = _WORDS(data, at)
    # Checksum, key and sequence number each add four bytes, RFC 2890 section 2.
    inner = at + 4 + 4 * bool(flags & 0x8000) + 4 * bool(flags & 0x2000) + 4 * bool(flags & 0x1000)
    if ethertype in (IPV4, IPV6):
        return ethertype, inner
    if ethertype == _ETHERNET_BRIDGED:
        return _ethernet(data, inner)
    if ethertype == _ERSPAN:
        return _ethernet(data, inner + 8 * bool(flags & 0x1000))  # type I has neither sequence nor header
    return _erspan_iii(data, inner) if ethertype == _ERSPAN_III else None


def _erspan_iii(data: bytes, at: int) -> tuple[int, int]:
    last = data[at + 11]
    inner = at + _ERSPAN_III_HEADER + _SUBHEADER * (last & 1)
    return ip_by_version(data, inner) if data[at + 10] >> 2 & 0x1F == _FRAME_IS_IP else _ethernet(data, inner)


def _udp(data: bytes, at: int) -> tuple[int, int] | None:
    if len(data) < at + 16:  # UDP header and the shortest tunnel header
        return None
    port = _word(data, at + 2)
    if port in _VXLAN_PORTS and data[at + 8] & 0x08:  # the I flag must be set, RFC 7348 section 5
        return _ethernet(data, at + 16)
    if port == _GENEVE_PORT:
        inner = at + 16 + (data[at + 8] & 0x3F) * 4  # options in units of four bytes, RFC 8926 section 3.4
        ethertype = _word(data, at + 10)
        return _ethernet(data, inner) if ethertype == _ETHERNET_BRIDGED else (ethertype, inner)
    return _gtp(data, at + 8) if port == _GTP_PORT else None


def _gtp(data: bytes, at: int) -> tuple[int, int] | None:
    """Return a packet of a user (3GPP TS 29.281 section 5.1), or None for packets between the tunnel's ends,
    and other versions.
    """
    flags, inner = data[at], at + 8
    if flags & 0xF0 != _GTP_VERSION_1 or data[at + 1] != _G_PDU:
        return None
    if flags & _GTP_OPTIONAL:
        inner += 4
        following = data[inner - 1] if flags & _GTP_EXTENSION else 0
        while following:  # section 5.2.1: length in units of four bytes, the next one's type at the end
            if not data[inner]:
                raise MalformedPacketError("GTP-U extension header of length 0")
            inner += 4 * data[inner]
            following = data[inner - 1]
    return ip_by_version(data, inner)


def _ethernet(data: bytes, at: int) -> tuple[int, int]:
    return skip_vlan_tags(data, _word(data, at + 12), at + 14)

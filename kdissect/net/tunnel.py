"""IP inside IP: the encapsulations of overlay networks and traffic mirrors."""

from struct import Struct

from kdissect.net.datagram import Datagram
from kdissect.net.link import IPV4, IPV6, skip_vlan_tags

_TUNNEL_PROTOCOLS = {4: IPV4, 41: IPV6}  # IP in IP, IANA protocol numbers
_GRE = 47
_UDP = 17
_ETHERNET_BRIDGED = 0x6558  # transparent Ethernet bridging, RFC 1701
_ERSPAN = 0x88BE  # draft-foschiano-erspan: Ethernet behind an 8-byte header
_VXLAN_PORTS = frozenset((4789, 8472))  # IANA; the default of Linux's own driver, which overlays still use
_GENEVE_PORT = 6081  # RFC 8926 section 3.3

_WORD = Struct(">H").unpack_from
_WORDS = Struct(">HH").unpack_from


def inner_network_layer(datagram: Datagram) -> tuple[int, int] | None:
    """EtherType and offset, in `datagram.data`, of the packet a tunnel carries; None if this is no tunnel.

    Raises struct.error where headers are cut.
    """
    _, protocol, data, at, _, _ = datagram
    if protocol in _TUNNEL_PROTOCOLS:
        return _TUNNEL_PROTOCOLS[protocol], at
    if protocol == _GRE:
        return _gre(data, at)
    if protocol == _UDP:
        return _udp(data, at)
    return None


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
    return None


def _udp(data: bytes, at: int) -> tuple[int, int] | None:
    if len(data) < at + 16:  # UDP header and the shortest tunnel header
        return None
    port = _WORD(data, at + 2)[0]
    if port in _VXLAN_PORTS and data[at + 8] & 0x08:  # the I flag must be set, RFC 7348 section 5
        return _ethernet(data, at + 16)
    if port == _GENEVE_PORT:
        inner = at + 16 + (data[at + 8] & 0x3F) * 4  # options in units of four bytes, RFC 8926 section 3.4
        ethertype = _WORD(data, at + 10)[0]
        return _ethernet(data, inner) if ethertype == _ETHERNET_BRIDGED else (ethertype, inner)
    return None


def _ethernet(data: bytes, at: int) -> tuple[int, int]:
    return skip_vlan_tags(data, _WORD(data, at + 12)[0], at + 14)

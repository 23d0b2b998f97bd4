"""The length of a packet's headers, up to the content of its TCP segment."""

import struct

from kdissect.model.limits import in_force
from kdissect.model.packets.packet import Packet
from kdissect.net.headers import foreign_links as foreign
from kdissect.net.headers.capture_wrappers import is_wrapped, unwrapped
from kdissect.net.headers.combined_header import TCP
from kdissect.net.headers.datagram import Datagram, MalformedPacketError
from kdissect.net.headers.layers import read_ip
from kdissect.net.headers.link_header import IPV4, IPV6, network_layer
from kdissect.net.headers.tunnel import inner_network_layer

_IPV6_HEADER = 40  # bytes, RFC 8200 section 3
_OFFSET_AT = 12  # of the data offset in a TCP header, RFC 9293 section 3.1


def header_length(link_type: int, data: bytes) -> int:
    """Return how many bytes of a packet come before content: 0 if nothing is known of it. Never raises.

    Anything but TCP ends with its IP header, and fragments do: only whole packets show where content begins.
    """
    try:
        return min(_length(link_type, data), len(data))
    except (MalformedPacketError, struct.error, IndexError):
        return 0


def _length(link_type: int, data: bytes) -> int:
    if is_wrapped(link_type):
        inner, _ = unwrapped(Packet(0, 0, link_type, data, len(data)))
        is_one = inner.data and not is_wrapped(inner.link_type)
        return data.index(inner.data) + _length(inner.link_type, inner.data) if is_one else 0
    found = network_layer(link_type, data)
    if found is None and foreign.is_known(link_type):
        found = foreign.network_layer(link_type, data)
    elif found is not None:
        found = foreign.behind_ethertype(data, *found)
    return 0 if found is None else _of_network(data, *found)


def _of_network(data: bytes, ethertype: int, at: int) -> int:
    for _ in range(in_force().packet_depth):
        if ethertype not in (IPV4, IPV6):
            return 0
        ip = read_ip(data, at, len(data))
        if not isinstance(ip, Datagram):
            return at + ((data[at] & 15) * 4 if ethertype == IPV4 else _IPV6_HEADER)
        if ip.protocol == TCP:
            return ip.start + (data[ip.start + _OFFSET_AT] >> 4) * 4
        inner_layer = inner_network_layer(ip)
        if inner_layer is None:
            return ip.start
        ethertype, at = inner_layer
    return at

"""One TCP segment as captured."""

from struct import Struct
from typing import NamedTuple

from kdissect.model.endpoint import Endpoint

# Flags of a TCP header, RFC 9293 section 3.1.
FIN = 0x01
SYN = 0x02
RST = 0x04
PSH = 0x08
ACK = 0x10
# In the place of CWR, which no code reads: its options say by D-SACK (RFC 2883) that bytes came twice.
DSACK = 0x80

_PORTS = 4  # two 16-bit ports end a flow key
_IPV4_KEY = Struct(">8B2H")


# A `Segment` without its names, in the same order, as `packet.PlainPacket`.
PlainSegment = tuple[bytes, int, int, int, int, bytes, int, int]


class Segment(NamedTuple):
    """One TCP segment.

    `flow` is source address, destination address, source port, destination port as they stand in the packet:
    12 bytes for IPv4, 36 for IPv6. `flags` are the header's, with `DSACK`. `payload` is the captured part;
    `missing` counts the payload bytes after it that a snap length cut. `ip_id` is the IPv4 identification, -1
    for IPv6.
    """

    flow: bytes
    seq: int
    ack: int
    flags: int
    window: int
    payload: bytes
    missing: int
    ip_id: int


def reverse_flow(flow: bytes) -> bytes:
    """Return the flow key of the other direction."""
    half = (len(flow) - _PORTS) // 2
    ports = 2 * half
    return flow[half:ports] + flow[:half] + flow[ports + 2 :] + flow[ports : ports + 2]


def flow_key(source: Endpoint, destination: Endpoint) -> bytes:
    """Return the flow key of packets between two ends."""
    ports = source.port.to_bytes(2) + destination.port.to_bytes(2)
    return _address(source.host) + _address(destination.host) + ports


def flow_ports(flow: bytes) -> tuple[int, int]:
    """Return the two ports of a flow key, the sender's first."""
    at = len(flow) - _PORTS
    return int.from_bytes(flow[at : at + 2]), int.from_bytes(flow[at + 2 :])


def flow_endpoints(flow: bytes) -> tuple[Endpoint, Endpoint]:
    """Return the source and destination of a flow key."""
    return flow_source(flow), flow_destination(flow)


def flow_texts(flow: bytes) -> tuple[str, str]:
    """Return the source and destination of a flow key as `str` of an `Endpoint` gives them."""
    if len(flow) != _IPV4_KEY.size:
        return str(flow_source(flow)), str(flow_destination(flow))
    # Hot, once a connection: a flood has a million of them.
    a, b, c, d, e, f, g, h, source, destination = _IPV4_KEY.unpack(flow)
    return f"{a}.{b}.{c}.{d}:{source}", f"{e}.{f}.{g}.{h}:{destination}"


def flow_source(flow: bytes) -> Endpoint:
    """Return the sender of a flow's packets."""
    half = (len(flow) - _PORTS) // 2
    return Endpoint(source_host(flow), int.from_bytes(flow[2 * half : 2 * half + 2]))


def source_host(flow: bytes) -> str:
    """Host of who sends the packets of a flow."""
    return _host(flow[: (len(flow) - _PORTS) // 2])


def flow_destination(flow: bytes) -> Endpoint:
    """Return the receiver of a flow's packets."""
    half = (len(flow) - _PORTS) // 2
    return Endpoint(_host(flow[half : 2 * half]), int.from_bytes(flow[2 * half + 2 :]))


def address_text(host: str, port: int) -> str:
    """Return an address that a body names in the form that addresses of connections have."""
    return str(Endpoint(canonical_host(host), port))


def canonical_host(host: str) -> str:
    """Return a host in the form that the ends of connections have: an IPv6 address as RFC 5952 writes it."""
    if ":" not in host:
        return host
    try:
        return _host(_address(host.strip("[]")))
    except (OSError, ValueError):  # not an address
        return host


def _host(address: bytes) -> str:
    if len(address) == 4:
        first, second, third, fourth = address
        return f"{first}.{second}.{third}.{fourth}"
    import socket  # IPv6 only: the text form of RFC 5952, from the C library

    return socket.inet_ntop(socket.AF_INET6, address)


def _address(host: str) -> bytes:
    if ":" not in host:
        return bytes(map(int, host.split(".")))
    import socket  # IPv6 only

    return socket.inet_pton(socket.AF_INET6, host)

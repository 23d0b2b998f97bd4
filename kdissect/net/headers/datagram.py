"""IP payloads on their way from the IP layer to the TCP layer, and what makes a packet malformed."""

from typing import NamedTuple


class MalformedPacketError(Exception):
    """Header fields of a packet contradict each other or the bytes there are. Never leaves `net`."""


class Datagram(NamedTuple):
    """The payload of one whole IP packet.

    `addresses` is source and destination as in the header (8 or 32 bytes), `protocol` the number of the
    transport protocol, `data[start:end]` its bytes. `end > len(data)` if a snap length cut them. `ip_id` is
    -1 for IPv6.
    """

    addresses: bytes
    protocol: int
    data: bytes
    start: int
    end: int
    ip_id: int


class Fragment(NamedTuple):
    """A fragment of an IP payload: `length` bytes at `offset`, `payload` captured, and whether `more`
    follow.
    """

    addresses: bytes
    protocol: int
    identification: int
    offset: int
    more: bool
    payload: bytes
    length: int
    ip_id: int

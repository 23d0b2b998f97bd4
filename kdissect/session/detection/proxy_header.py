"""PROXY protocol headers, which a load balancer sends on a connection before the bytes of its client.

Each proxy of a chain may send one (PROXY 2.1, PROXY 2.2).

Rules:
- A header is believed if it is the first content of a direction, and well-formed. Version 1 is a line of text
  (section 2.1), version 2 is binary (section 2.2).
- Of version 2 only the addresses are read. Its other fields (TLVs) are skipped, however long they are.
- Bytes that only begin like a header are left to the reader of the connection.
"""

from __future__ import annotations

import re
import struct
from typing import NamedTuple

from kdissect.model.endpoint import Endpoint
from kdissect.model.packets.segment import flow_source

V1_LIMIT = 107  # bytes of a line with its CRLF (section 2.1)
MAX_HEADERS = 16  # in a chain of proxies, after which bytes are data
_V1 = b"PROXY "
_V2 = b"\r\n\r\n\0\r\nQUIT\n"
# After the signature: version and command, family and transport, length of the rest (section 2.2).
_V2_FIXED = struct.Struct(">12sBBH")
_VERSION_2 = 0x20
_LOCAL, _PROXY = 0, 1
# Bytes of both addresses with their ports, by family. The last one has paths of UNIX sockets (section 2.2).
_IPV4, _IPV6 = 1, 2
_ADDRESSES = {0: 0, _IPV4: 12, _IPV6: 36, 3: 216}
_MOST_TRANSPORT = 2  # unspecified, stream, datagram
_LINE = re.compile(rb"PROXY (?:UNKNOWN(?: [^\r\n]*)?|TCP([46]) (\S+) (\S+) (\d{1,5}) (\d{1,5}))\r\n")


class ProxyHeader(NamedTuple):
    """Content of a header.

    `source` is the address of the client that the proxy accepted, None if the header has none. `is_local`:
    the proxy connected for itself, as it does for a health check.
    """

    version: int
    source: Endpoint | None
    is_local: bool = False


class _Found(NamedTuple):
    """A header, and its bytes with all that belongs to it."""

    header: ProxyHeader
    size: int


_Piece = tuple[bytes, int, int]
"""Bytes, and reference and time of the packet with them."""


class ProxyHeaders:
    """The headers that one direction begins with, in whatever pieces they come."""

    __slots__ = ("_held", "_skip", "count", "direction", "header", "is_over")

    def __init__(self, direction: int) -> None:
        self.direction = direction
        self.header: ProxyHeader | None = None
        """The last one that has an address, which is nearest to the client, or else the last one."""
        self.count = 0
        self.is_over = False
        """Whether the next bytes belong to no header."""
        self._held: tuple[_Piece, ...] = ()  # at most `V1_LIMIT` bytes, the last piece not counted
        self._skip = 0  # bytes that are left of a header that was read

    def take(self, payload: bytes, ref: int, time_ns: int) -> tuple[_Piece, ...]:
        """Read the next bytes of the direction. Return the bytes that belong to no header."""
        if self._skip >= len(payload):
            self._skip -= len(payload)
            return ()
        pieces = (*self._held, (payload[self._skip :], ref, time_ns))
        self._held, self._skip = (), 0
        data = whole = _joined(pieces)
        while data and self.count < MAX_HEADERS:
            found = _header_at(data)
            if found is None:
                break
            if found is _MORE:
                self._held = _without(pieces, len(whole) - len(data))
                return ()
            self._keep(found.header)
            data, self._skip = data[found.size :], max(0, found.size - len(data))
        if not data:
            return ()
        self.is_over = True
        return _without(pieces, len(whole) - len(data))

    def gap(self, length: int) -> tuple[tuple[_Piece, ...], int]:
        """Skip missing bytes. Return the bytes held back, and how many of the missing ones belong to no
        header.
        """
        data = _joined(self._held)
        if length > 0 and len(data) >= _V2_FIXED.size and data.startswith(_V2):
            # The addresses are cut, the size is known.
            self._keep(ProxyHeader(2, None))
            _, _, _, size = _V2_FIXED.unpack_from(data)
            self._held, self._skip = (), _V2_FIXED.size + size - len(data)
        if 0 < length <= self._skip:
            self._skip -= length
            return (), 0
        left, self._skip = length - self._skip if length > 0 else length, 0
        return self.flush(), left

    def flush(self) -> tuple[_Piece, ...]:
        """Return the bytes held back: no more bytes come, so that they are no header."""
        held, self._held, self.is_over = self._held, (), True
        return held

    def _keep(self, header: ProxyHeader) -> None:
        self.count += 1
        if header.source is not None or self.header is None or self.header.source is None:
            self.header = header


def is_malformed(data: bytes) -> bool:
    """Return True for bytes that begin like a header and are left over by `ProxyHeaders`."""
    return data.startswith((_V1, _V2))


def _joined(pieces: tuple[_Piece, ...]) -> bytes:
    return b"".join(payload for payload, _, _ in pieces)


def _without(pieces: tuple[_Piece, ...], first: int) -> tuple[_Piece, ...]:
    """Return pieces without their first bytes."""
    left: list[_Piece] = []
    for payload, ref, time_ns in pieces:
        if first < len(payload):
            left.append((payload[first:], ref, time_ns))
        first = max(0, first - len(payload))
    return tuple(left)


_MORE = _Found(ProxyHeader(0, None), 0)


def _header_at(data: bytes) -> _Found | None:
    """Return the header that `data` begins with, `_MORE` if bytes of it are missing, None if it is none."""
    if data.startswith(_V2[: len(data)]):
        return _binary(data) if len(data) >= _V2_FIXED.size else _MORE
    if data.startswith(_V1[: len(data)]):
        return _line(data)
    return None


def _binary(data: bytes) -> _Found | None:
    _, version_command, family_transport, length = _V2_FIXED.unpack_from(data)
    family, transport = family_transport >> 4, family_transport & 15
    command = version_command - _VERSION_2
    size = _V2_FIXED.size + length
    if command == _LOCAL:  # the receiver must discard family and addresses (section 2.2)
        return _Found(ProxyHeader(2, None, is_local=True), size)
    addresses = _ADDRESSES.get(family)
    if command != _PROXY or transport > _MOST_TRANSPORT or addresses is None or length < addresses:
        return None
    if family not in (_IPV4, _IPV6):
        return _Found(ProxyHeader(2, None), size)
    end = _V2_FIXED.size + addresses
    if len(data) < end:
        return _MORE
    # Both addresses, then both ports, as in a flow key.
    return _Found(ProxyHeader(2, flow_source(data[_V2_FIXED.size : end])), size)


def _line(data: bytes) -> _Found | None:
    end = data.find(b"\n", 0, V1_LIMIT) + 1
    if not end:
        return _MORE if len(data) < V1_LIMIT else None
    match = _LINE.fullmatch(data, 0, end)
    if match is None:
        return None
    family, *fields = match.groups()
    if family is None:
        return _Found(ProxyHeader(1, None), end)
    source = _source(family, *fields)
    return None if source is None else _Found(ProxyHeader(1, source), end)


def _source(family: bytes, host: bytes, other_host: bytes, port: bytes, other_port: bytes) -> Endpoint | None:
    """Return the first address of a line, or None if one of its fields is malformed."""
    import socket  # start-up: few captures have a header

    kind = socket.AF_INET if family == b"4" else socket.AF_INET6
    try:
        hosts = (socket.inet_pton(kind, text.decode("ascii")) for text in (host, other_host))
        return flow_source(b"".join((*hosts, int(port).to_bytes(2), int(other_port).to_bytes(2))))
    except (OSError, ValueError, OverflowError):
        return None

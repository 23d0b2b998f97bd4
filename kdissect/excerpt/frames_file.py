"""Frames as packets, if their packets cannot be read again: frames of streams.

The packets are new: IP and TCP without a link layer, in the order of time, without a handshake, since the
earlier traffic is unknown. If bytes of a frame were not captured, a hole in the sequence numbers shows it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kdissect.excerpt.packet_headers import MAX_PAYLOAD, Headers, headers_between
from kdissect.model.frame import Frame
from kdissect.model.packets.packet import Packet
from kdissect.model.packets.segment import ACK, flow_key
from kdissect.session.exchange import Exchange
from kdissect.session.info import ConnectionInfo

_PUSH = 8  # RFC 9293 section 3.1
_FIRST = 1  # sequence number of either direction's first byte


class _Connection:
    """The two directions of one connection: 0 from the client, 1 from the broker."""

    def __init__(self, info: ConnectionInfo) -> None:
        ends = info.client, info.broker
        self._headers: tuple[Headers, Headers] = (
            headers_between(flow_key(*ends)),
            headers_between(flow_key(*reversed(ends))),
        )
        self._next = [_FIRST, _FIRST]

    def packets(self, direction: int, frame: Frame) -> Iterator[Packet]:
        """Yield the packets of a frame."""
        headers, seq = self._headers[direction], self._next[direction]
        content = frame.size.to_bytes(4) + frame.data
        for at in range(0, len(content), MAX_PAYLOAD):
            part = content[at : at + MAX_PAYLOAD]
            data = headers.packet(seq + at, self._next[1 - direction], ACK | _PUSH, part)
            time_ns = frame.end_time_ns if 0 < at >= len(content) - MAX_PAYLOAD else frame.time_ns
            yield Packet(0, time_ns, headers.link_type, data, len(data))
        self._next[direction] = seq + 4 + frame.size  # also if it was cut: the hole shows it


def frame_packets(exchanges: Iterable[Exchange]) -> Iterator[tuple[Packet, Exchange, str]]:
    """Yield packets with the exchange and side they carry, by time. Frames without bytes are left out."""
    connections: dict[str, _Connection] = {}
    for _, _, exchange, side in _by_time(exchanges):
        frame = exchange.request if side == "request" else exchange.response
        if frame is None or not frame.data:
            continue
        info = exchange.connection
        if info.id not in connections:
            connections[info.id] = _Connection(info)
        for packet in connections[info.id].packets(0 if side == "request" else 1, frame):
            yield packet, exchange, side


def _by_time(exchanges: Iterable[Exchange]) -> list[tuple[int, int, Exchange, str]]:
    """Sort frames by time, without their bytes, which come one frame at a time."""
    found = []
    for number, exchange in enumerate(exchanges):
        for side, frame in (("request", exchange.request), ("response", exchange.response)):
            if frame is not None:
                found.append((frame.time_ns, number, exchange, side))
    return sorted(found, key=lambda each: each[:2])

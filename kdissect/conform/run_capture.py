"""The bytes of a run as a packet file: each connection with its handshake, data and end, TLS as plaintext."""

from __future__ import annotations

import threading
import time
from typing import BinaryIO

from kdissect.capture.formats.capture_writer import PcapngWriter
from kdissect.excerpt.packet_headers import headers_between
from kdissect.model.endpoint import Endpoint
from kdissect.model.packets.link_types import LinkType
from kdissect.model.packets.segment import flow_key

_FIN, _SYN, _PSH, _ACK = 1, 2, 8, 16
_SEGMENT = 32_768  # bytes of payload in a packet, as on a loopback interface
_CLIENT, _BROKER = 0, 1


class RunCapture:
    """Writer of one packet file, for several threads.

    Packets have the time at which kdissect sent or received them.
    """

    def __init__(self, stream: BinaryIO) -> None:
        self._writer = PcapngWriter(stream, application="kdissect conform")
        self._writer.interface(LinkType.RAW)
        self._last_ns = 0
        self._lock = threading.Lock()

    def connection(self, client: Endpoint, broker: Endpoint) -> RecordedConnection:
        """Return a connection that has just been made."""
        return RecordedConnection(self, client, broker)

    def write(self, packet: bytes) -> None:
        """Write a packet with the present time, later than that of the packet before."""
        with self._lock:
            self._last_ns = max(self._last_ns + 1, time.time_ns())
            self._writer.write(self._last_ns, packet)


class RecordedConnection:
    """One TCP connection of a file."""

    def __init__(self, capture: RunCapture, client: Endpoint, broker: Endpoint) -> None:
        self._capture = capture
        self._headers = (
            headers_between(flow_key(client, broker)),
            headers_between(flow_key(broker, client)),
        )
        self._next = [0, 0]
        self._lock = threading.Lock()
        self._packet(_CLIENT, _SYN)
        self._packet(_BROKER, _SYN | _ACK)
        self._packet(_CLIENT, _ACK)

    def sent(self, data: bytes) -> None:
        """Write bytes of the client."""
        self._data(_CLIENT, data)

    def received(self, data: bytes) -> None:
        """Write bytes of the broker."""
        self._data(_BROKER, data)

    def closed(self, *, by_broker: bool) -> None:
        """Write the end of the connection."""
        first, second = (_BROKER, _CLIENT) if by_broker else (_CLIENT, _BROKER)
        self._packet(first, _FIN | _ACK)
        self._packet(second, _FIN | _ACK)

    def _data(self, side: int, data: bytes) -> None:
        for at in range(0, len(data), _SEGMENT):
            self._packet(side, _PSH | _ACK, data[at : at + _SEGMENT])

    def _packet(self, side: int, flags: int, payload: bytes = b"") -> None:
        with self._lock:
            ack = self._next[1 - side] if flags & _ACK else 0
            self._capture.write(self._headers[side].packet(self._next[side], ack, flags, payload))
            self._next[side] += len(payload) + bool(flags & (_SYN | _FIN))

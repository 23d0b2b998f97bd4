"""Whole connections, their packets as they were captured."""

from collections.abc import Callable, Container, Iterable, Sequence

from kdissect.excerpt.headers import headers_of
from kdissect.excerpt.reader import Tap
from kdissect.model.packet import Packet, PlainPacket
from kdissect.model.ports import Ports
from kdissect.model.segment import PlainSegment

Write = Callable[[Packet], None]


def copy_connections(
    connections: Container[str],
    batches: Iterable[Sequence[PlainPacket]],
    ports: Ports,
    capture_set_of: Callable[[int], str],
    write: Write,
) -> None:
    """Read packets again and write those of some connections, in their order. Raises nothing of its own."""
    copier = _Copier(write)
    tap = Tap(ports, capture_set_of, lambda connection: (copier,) if connection in connections else ())
    for packets in batches:
        tap.feed_batch(packets)
    tap.close()


class _Copier:
    """Hears the segments of all connections that are wanted."""

    def __init__(self, write: Write) -> None:
        self._write = write

    def feed(self, direction: int, segment: PlainSegment, packet: PlainPacket) -> None:
        """Write the packet; one that was put together from IP fragments as one with the same addresses."""
        ref, time_ns, link_type, data, wire = packet
        payload = segment[5]
        if payload and payload not in data:
            headers = headers_of(link_type, b"", segment)
            data = headers.packet(segment[1], segment[2], segment[3], payload)
            link_type, wire = headers.link_type, len(data) + segment[6]
        self._write(Packet(ref, time_ns, link_type, data, wire))

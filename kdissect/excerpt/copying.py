"""Whole connections, their packets as they were captured."""

from collections.abc import Callable, Collection, Iterable, Sequence

from kdissect.excerpt.headers import headers_of
from kdissect.excerpt.reader import NOBODY, listen
from kdissect.model.endpoint import Ports
from kdissect.model.packets.packet import Packet, PlainPacket
from kdissect.model.packets.segment import PlainSegment
from kdissect.model.packets.stream import StreamSink

Write = Callable[[Packet], None]


def copy_connections(
    connections: Collection[str],
    batches: Iterable[Sequence[PlainPacket]],
    ports: Ports,
    capture_set_of: Callable[[int], str],
    write: Write,
) -> None:
    """Read packets again and write those of some connections, in their order. Raises nothing of its own."""
    copiers = (_Copier(write),)
    if connections:
        listen(ports, capture_set_of, connections, lambda _connection: copiers, batches)


class _Copier:
    """Hears the segments of all connections that are wanted."""

    sinks: tuple[StreamSink, StreamSink] = NOBODY

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
            if headers.commented is not None:
                link_type, data = headers.commented.around(link_type, data)
        self._write(Packet(ref, time_ns, link_type, data, wire))

    def fed(self, waits: bool) -> None:
        """Nothing is held back."""

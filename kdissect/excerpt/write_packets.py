"""Reads captures once more, and writes the packets of chosen frames or connections."""

from collections.abc import Callable, Collection, Iterable, Sequence

from kdissect.api import Dissection
from kdissect.capture.formats.packet_file import PacketFile
from kdissect.excerpt.excerpt_reader import NOBODY, ExcerptPacket, Recorder, listen
from kdissect.excerpt.find_frames import FoundFrames
from kdissect.excerpt.frame_plans import shown_api
from kdissect.excerpt.packet_headers import headers_of
from kdissect.model.endpoint import Ports
from kdissect.model.native import is_compiled, native
from kdissect.model.packets.packet import Packet, PlainPacket
from kdissect.model.packets.segment import PlainSegment
from kdissect.model.packets.stream import StreamSink


def write_frames(
    found: FoundFrames, again: Dissection, show_secrets: bool, file: PacketFile, noted: bool = False
) -> None:
    """Read the captures from their start and write the packets of the frames, as they come.

    Comments say which frame begins in a packet; `noted`: and what is noted of it. Memory grows with open
    connections and with data that waits for missing segments.
    """
    if not found.connections:
        return
    files = again.captures.files

    def write(item: ExcerptPacket) -> None:
        file.write(item.packet, "" if item.frame is None else item.frame.label(item.connection))

    listen(
        again.ports,
        lambda index: files[index].capture_set,
        found.connections,
        lambda connection: (Recorder(found.plan(connection), show_secrets, write, again.key_logs),),
        again.captures.batches(),
        # Python overwrites and notes frames.
        _copier(found, file) if show_secrets and not noted else None,
    )


def _copier(found: FoundFrames, file: PacketFile) -> "native.Copier | None":
    packed = found.frames.packed
    if not is_compiled or not isinstance(packed, native.MergedPlans):
        return None
    return native.Copier(packed, file.write_blocks, file.interface, lambda key: shown_api(key).encode())


Write = Callable[[Packet], None]


def copy_connections(
    connections: Collection[str],
    batches: Iterable[Sequence[PlainPacket]],
    ports: Ports,
    capture_set_of: Callable[[int], str],
    write: Write,
) -> None:
    """Read packets again and write the packets of some connections, in their order. Raises only what `write`
    raises.
    """
    copiers = (_Copier(write),)
    if connections:
        listen(ports, capture_set_of, connections, lambda _connection: copiers, batches)


class _Copier:
    """Hears the segments of all connections that are wanted."""

    sinks: tuple[StreamSink, StreamSink] = NOBODY

    def __init__(self, write: Write) -> None:
        self._write = write

    def feed(self, direction: int, segment: PlainSegment, packet: PlainPacket) -> None:
        """Write the packet. A packet joined from IP fragments becomes one with the same addresses."""
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
        """Do nothing: no packet waits."""

"""Where an event stands in the order of all: a sort key of bytes, the same whoever saw the event.

One process reports events as packets complete them. Whoever sees one connection alone can tell the same
place, and a sort then gives the order of the one process. An event stands

- at the packet that completed it: by the running maximum of time, file and number of the packet;
- or, where silence ended its connection, behind all packets of the time at which that was known;
- or, where the capture ended it, behind everything; connections then end in the order in which they began.

Several events of one place follow by a number. Keys of different lengths compare as bytes do, which is what
Python, Arrow and Spark all do.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from struct import Struct

from kdissect.engine.analyzer import Analyzer
from kdissect.model.packet import PlainPacket
from kdissect.model.segment import PlainSegment
from kdissect.session.events import Event
from kdissect.session.info import ConnectionInfo

_PLACE = Struct(">QQ")  # time and reference of a packet
_NUMBER = Struct(">I")
_LAST = (1 << 64) - 1
_END = _PLACE.pack(_LAST, _LAST)

Placed = tuple[bytes, Event]
"""An event and its sort key."""


class OrderedAnalyzer:
    """Feeds an analyzer one packet at a time and gives each event with its place.

    For one process, all packets go through one; for many, each gets those of some flows, in the same order.
    An analyzer that sees a part of the packets needs `now_ns` with each: the running maximum of time of all
    packets up to it.
    """

    def __init__(self, analyzer: Analyzer) -> None:
        self.analyzer = analyzer
        self._now_ns = 0

    def feed(self, packet: PlainPacket, now_ns: int = 0) -> list[Placed]:
        """Take the next packet in canonical order."""
        ref, time_ns = packet[0], packet[1]
        self._now_ns = now_ns = max(self._now_ns, time_ns, now_ns)
        analyzer = self.analyzer
        placed = _placed(analyzer.advance(ref, now_ns), b"")
        analyzer.place = place = _PLACE.pack(now_ns, ref)
        events = analyzer.feed_batch((packet,))
        return placed + _placed(events, place) if events else placed

    def feed_segment(self, segment: PlainSegment, ref: int, time_ns: int, now_ns: int) -> list[Placed]:
        """Take the segment of a packet that was taken apart before, like `feed`."""
        analyzer = self.analyzer
        placed = _placed(analyzer.advance(ref, now_ns), b"")
        analyzer.place = place = _PLACE.pack(now_ns, ref)
        events = analyzer.feed_segments(((segment, ref, time_ns),))
        return placed + _placed(events, place) if events else placed

    def feed_batch(self, packets: Iterable[PlainPacket]) -> list[Placed]:
        """Take several."""
        return [placed for packet in packets for placed in self.feed(packet)]

    def close(self, ends: Mapping[str, int]) -> list[Placed]:
        """The capture is over; `ends` are the latest times of all packets by capture set."""
        return _placed(self.analyzer.close(ends), _END)


def _placed(events: list[Event], place: bytes) -> list[Placed]:
    """Events of one packet, or of the end, with their keys."""
    placed: list[Placed] = []
    numbers: dict[bytes, int] = {}
    for event in events:
        at = _place_of(event.connection, place)
        number = numbers[at] = numbers.get(at, -1) + 1
        placed.append((at + _NUMBER.pack(number), event))
    return placed


def _place_of(info: ConnectionInfo, place: bytes) -> bytes:
    if info.over_ns:  # its events of now are those of its end: nothing else happens to it in this call
        return _PLACE.pack(info.over_ns, _LAST) + info.opened_at
    return place + info.opened_at if place == _END else place

"""The place of an event in the order of all events: a sort key of bytes that does not depend on the observer.

One process reports events as packets complete them. A process that sees one connection alone computes the
same place, and a sort then restores the order of the one process. An event stands

- at the packet that completed it: by the running maximum of time, file and number of the packet;
- or, where silence ended its connection, behind all packets of the time at which that was known;
- or, if the end of the capture ended it, after all other events. Connections then end in the order in which
  they began.

Several events of one place follow by a number. Keys of different lengths compare as bytes do, which Python,
Arrow and Spark all implement.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import chain
from struct import Struct
from typing import TypeAlias

from kdissect.engine.analyzer import NO_FILES, Analyzer
from kdissect.model.native import is_compiled, native
from kdissect.model.packets.packet import FILE_SHIFT, NEVER_NS, NUMBER_MASK, PlainPacket
from kdissect.model.packets.segment import PlainSegment
from kdissect.session.events import Event, Events
from kdissect.session.info import ConnectionInfo

_PLACE = Struct(">QQ")  # time and reference of a packet
_NUMBER = Struct(">I")
_BIAS = 1 << 63  # times before 1970 sort before later ones
_LAST = (1 << 63) - 1  # behind every time and every packet

Placed = tuple[bytes, Event]
"""An event and its sort key."""
PlacedEvents: TypeAlias = "list[Placed] | native.ExchangeBlock"
"""Events with their keys, or exchanges whose keys `OrderedAnalyzer.placed` gives."""


class OrderedAnalyzer:
    """Feeds an analyzer and gives each event with its place.

    In one process, one object takes all packets. In many, each gets the segments of some flows, in the same
    order. No other code may feed `analyzer`. `number_of` maps the index of a file to its number within its
    capture set. Without it the places of one set would depend on the other sets that are read.
    """

    def __init__(self, analyzer: Analyzer, number_of: Callable[[int], int] | None = None) -> None:
        self.analyzer = analyzer
        self.number_of: Callable[[int], int] = number_of or int
        analyzer.latest_ns = NEVER_NS

    @property
    def index(self) -> int:
        """As `Analyzer.index`."""
        return self.analyzer.index

    def feed_each(
        self, packets: Sequence[PlainPacket], without: Collection[int] = NO_FILES
    ) -> Iterator[PlacedEvents]:
        """Take packets in canonical order, and yield events before a packet changes the objects that they
        refer to.

        Of a block of packets exchanges come in blocks, as of `Analyzer.feed_each`.
        """
        return self._placed_each(self.analyzer.feed_each(packets, without))

    def feed_on(self, without: Collection[int]) -> Iterator[PlacedEvents]:
        """As `Analyzer.feed_on`."""
        return self._placed_each(self.analyzer.feed_on(without))

    def _placed_each(self, fed: Iterator[Events]) -> Iterator[PlacedEvents]:
        for events in fed:
            if is_compiled and isinstance(events, native.ExchangeBlock):
                yield events
            elif isinstance(events, list) and events:
                now_ns, ref = self.analyzer.place
                yield self._placed(events, self._in_set(ref), now_ns)

    def placed(self, events: PlacedEvents) -> list[Placed]:
        """Return the events of a block with their keys, each an object."""
        if isinstance(events, list):
            return events
        return [(self.order_of(events, at), events[at]) for at in range(len(events))]

    def order_of(self, block: native.ExchangeBlock, at: int) -> bytes:
        """Return the key of a block's exchange, by its number."""
        latest_ns, ref, behind = block.place(at)
        return _place(latest_ns, self._in_set(ref)) + _NUMBER.pack(behind)

    def feed_segment(self, segment: PlainSegment, ref: int, time_ns: int, now_ns: int) -> list[Placed]:
        """Take the segment of one packet. `now_ns` is the running maximum of time within its file."""
        analyzer = self.analyzer
        over = self.advance(ref, now_ns) if analyzer.is_due(ref, now_ns) else []
        analyzer.place = now_ns, ref
        events = analyzer.feed_segment(segment, ref, time_ns)
        return over + self._placed(events, self._in_set(ref), now_ns) if events else over

    def advance(self, ref: int, now_ns: int) -> list[Placed]:
        """End what was silent for too long when the capture set of a packet reaches `now_ns`."""
        return self._placed(self.analyzer.advance(ref, now_ns), self._in_set(ref), now_ns)

    def close(self, ends: Mapping[str, int]) -> list[Placed]:
        """End the capture; `ends` are the latest times of all packets by capture set."""
        return list(chain.from_iterable(self.close_each(ends)))

    def close_each(self, ends: Mapping[str, int]) -> Iterator[list[Placed]]:
        """`close` bit by bit, all events of a connection together."""
        for events in self.analyzer.close_each(ends):
            yield self._placed(events, _LAST, _LAST)

    def _placed(self, events: list[Event], ref: int, now_ns: int) -> list[Placed]:
        """Return events of one packet, or of the end, with their keys."""
        placed: list[Placed] = []
        here = _place(now_ns, ref)
        numbers: dict[tuple[str, bytes], int] = {}  # by capture set, because their places are independent
        for event in events:
            at = here
            info = event.connection
            if (
                info.over_ns
            ):  # its current events are the events of its end: it has no further ones in this call
                at = _place(info.over_ns, _LAST) + self._opened(info)
            elif now_ns == _LAST:
                at += self._opened(info)
            place = info.capture_set, at
            number = numbers[place] = numbers.get(place, -1) + 1
            placed.append((at + _NUMBER.pack(number), event))
        events.clear()  # a flood has many, which stay referenced until the next ones are created
        return placed

    def _opened(self, info: ConnectionInfo) -> bytes:
        opened_ns, ref = info.opened_at
        return _place(opened_ns, self._in_set(ref))

    def _in_set(self, ref: int) -> int:
        """Return a reference of a packet with the number of its file within the capture set."""
        return self.number_of(ref >> FILE_SHIFT) << FILE_SHIFT | ref & NUMBER_MASK


def _place(now_ns: int, ref: int) -> bytes:
    return _PLACE.pack(min(now_ns, _LAST) + _BIAS, ref)

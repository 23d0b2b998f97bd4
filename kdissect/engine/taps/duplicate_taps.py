"""Connections that two capture sets have: one traffic, tapped at two places, known by its first packet.

Rules:
- Two sets have the same connection if both have the same two ends, the sequence numbers of one TCP
  connection, and times no further apart than clocks are wrong. If both sets have a SYN, its number must be
  equal. Otherwise the first number in a set must be within the other set's stream.
- Small numbers come from tools that write packets and begin all connections equally: they prove no match. The
  first number of a real connection is random (RFC 9293 section 3.4.1), so one in 65,536 is counted twice for
  that.
- The one that comes first in canonical order is counted, the others name it (`ConnectionInfo.same_as`): where
  clocks are right that is the tap nearest to who opened the connection. It is known before any event of the
  connection, live and on many machines, while "the one with fewer losses" is only known at the end.
- Two connections in one set never match: a repeated one is new to the set.
- Sets stay separate nevertheless: the two share only their mark.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from kdissect.engine.taps.tap_index import CLOCK_NS, Between, Seen
from kdissect.model.packets.segment import Segment, reverse_flow

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kdissect.net.streams.tcp import TcpConnection
    from kdissect.session.events import Event, Events
    from kdissect.session.info import ConnectionInfo

# Connections that are over and may still come in another set, some 500 bytes each.
MAX_CLOSED = 100_000


class DuplicateTaps:
    """Remembers the connections of all capture sets. For an `Analyzer` that sees more than one of them.

    `sees_all_flows`: whether the analyzer has what `NatSides` needs.
    """

    sees_all_flows = True

    def __init__(self) -> None:
        self._seen: dict[bytes, Between] = {}
        self._open: dict[str, tuple[Between, int]] = {}
        self._closed: deque[tuple[Between, int, int]] = deque()
        self._turn = 0
        self._heard: dict[str, int] = {}
        """When each capture set had its turn, the last one last."""

    def hear(self, capture_set: str) -> None:
        """Note that the packets that follow are of a set, whose connections are thus no longer known
        entirely.
        """
        self._turn += 1
        self._heard.pop(capture_set, None)
        self._heard[capture_set] = self._turn

    def open(self, info: ConnectionInfo, tcp: TcpConnection, segment: Segment) -> None:
        """Begin a connection with a segment: set its `same_as` and `read_from`, unless `NatSides` did."""
        key = min(segment.flow, reverse_flow(segment.flow))
        known = self._seen.get(key)
        if known is None:
            known = self._seen[key] = Between(key)
        if known.is_indexed:
            self._look_again(known)
        known.looked_at = self._turn
        seen = Seen(info.id, info.capture_set, segment.flow, info.start_ns, tcp)
        found = known.nearest(segment, info.capture_set, info.start_ns)
        if info.same_as is not None:  # the other side of a NAT was first of all
            seen.root, seen.home = info.same_as, info.read_from or info.capture_set
        else:
            info.same_as = seen.join(found)
            if info.same_as is not None:
                info.read_from = seen.home
        number = known.open[info.capture_set] = known.add(seen)
        self._open[info.id] = known, number

    def _look_again(self, known: Between) -> None:
        """Those that may have moved since it was last done: of the sets that had a turn."""
        for capture_set, turn in reversed(self._heard.items()):
            if turn < known.looked_at:
                break
            number = known.open.get(capture_set)
            if number is not None:
                known.moved(number)

    def counted(self, fed: Iterator[Events]) -> Iterator[Events]:
        """Return the events unchanged: each connection counts as a whole or not at all."""
        return fed

    def counted_ends(self, closing: Iterator[list[Event]]) -> Iterator[list[Event]]:
        """Return the events of the end unchanged."""
        return closing

    def close(self, info: ConnectionInfo) -> None:
        """End a connection, whose `tcp` still exists."""
        known, number = self._open.pop(info.id, (None, 0))
        if known is None:
            return
        seen = known.seen[number]
        seen.look()
        seen.tcp = None
        known.moved(number)
        if known.open.get(info.capture_set) == number:
            del known.open[info.capture_set]
        self._closed.append((known, number, seen.last_ns))
        while self._closed and (
            len(self._closed) > MAX_CLOSED or seen.last_ns - self._closed[0][2] > 2 * CLOCK_NS
        ):
            self._forget(*self._closed.popleft())

    def _forget(self, known: Between, number: int, _last_ns: int) -> None:
        known.forget(number)
        if not known.seen:
            del self._seen[known.ends]

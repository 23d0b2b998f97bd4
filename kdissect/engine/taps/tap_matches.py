"""Decides whether two capture sets have the same connection, if no process sees both when it begins.

`DuplicateTaps` needs the packets of all sets in one order. A process that gets the files of one set hours
before another set's stores what each set saw of a connection, and decides again whenever more is known.

A connection that began before its capture is looked for in all that another set saw of its streams, and not,
as in `DuplicateTaps`, in what that set had seen by then: that can differ only where the same two ends had
several connections within two hours.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from kdissect.engine.taps.duplicate_taps import DuplicateTaps
from kdissect.engine.taps.tap_index import Between, Seen, Span
from kdissect.model.packets.segment import reverse_flow

if TYPE_CHECKING:
    from kdissect.model.packets.segment import Segment
    from kdissect.net.streams.tcp import TcpConnection
    from kdissect.session.info import ConnectionInfo


class Sighting(NamedTuple):
    """A connection as one capture set saw it so far, of some 300 bytes when pickled.

    `order_ns` is the place of its first packet, `first` that packet without payload, `spans` what its streams
    cover, that of the first packet before. `is_news`: it was not reported before.
    """

    connection: str
    capture_set: str
    order_ns: int
    start_ns: int
    last_ns: int
    first: Segment
    spans: tuple[Span, Span]
    is_open: bool
    is_news: bool


class Sightings(DuplicateTaps):
    """Replaces `DuplicateTaps` in an `Analyzer`: it marks no connection, and returns its sightings.

    Picklable.
    """

    sees_all_flows = False

    def __init__(self) -> None:
        super().__init__()
        self._now: dict[str, tuple[ConnectionInfo, TcpConnection, Segment]] = {}
        self._over: list[Sighting] = []
        self._told: set[str] = set()

    def open(self, info: ConnectionInfo, tcp: TcpConnection, segment: Segment) -> None:
        """Begin a connection with a segment."""
        self._now[info.id] = info, tcp, segment._replace(payload=b"")

    def hear(self, capture_set: str) -> None:
        """Do nothing: all open connections are read when they are reported."""

    def close(self, info: ConnectionInfo) -> None:
        """End a connection."""
        if info.id in self._now:
            self._over.append(self._sighting(info.id, False))
            del self._now[info.id]
            self._told.discard(info.id)

    def take(self) -> list[Sighting]:
        """Return all open connections, and the connections that ended since the last call."""
        over, self._over = self._over, []
        found = over + [self._sighting(connection, True) for connection in self._now]
        self._told = set(self._now)
        return found

    def _sighting(self, connection: str, is_open: bool) -> Sighting:
        info, tcp, first = self._now[connection]
        last_ns = tcp.last_time_ns or info.start_ns
        return Sighting(
            connection, info.capture_set, info.opened_at[0], info.start_ns, last_ns, first,
            (tcp.span(0), tcp.span(1)), is_open, connection not in self._told,
        )  # fmt: skip


def roots_of(sightings: Iterable[Sighting]) -> dict[str, str | None]:
    """Return, for each connection between two ends, the connection that counts instead, or None if it counts
    itself.
    """
    ordered = sorted(sightings, key=_place)
    if not ordered:
        return {}
    flow = ordered[0].first.flow
    known = Between(min(flow, reverse_flow(flow)))
    found: dict[str, str | None] = {}
    for one in ordered:
        seen = Seen(one.connection, one.capture_set, one.first.flow, one.start_ns, None)
        seen.spans, seen.last_ns = one.spans, one.last_ns
        found[one.connection] = seen.join(known.nearest(one.first, one.capture_set, one.start_ns))
        known.add(seen)
    return found


def _place(one: Sighting) -> tuple[int, str, str]:
    return one.order_ns, one.capture_set, one.connection

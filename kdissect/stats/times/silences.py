"""Times without a response of a broker, and connections whose next response was waited for as long."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from kdissect.history.state_table import Table
from kdissect.model.native import native
from kdissect.session.exchange import Exchange
from kdissect.session.info import ConnectionInfo
from kdissect.stats.client import host_of

SILENT_NS = 1_000_000_000
"""Less is no silence."""
_BROKERS_KEPT = 1_000
_CONNECTIONS_KEPT = 10_000
_SILENCES_KEPT = 2_000  # of a broker; 100 bytes each
_FIRSTS_KEPT = 20_000
_ROUTES_KEPT = 10_000

Place = tuple[str, str]
"""Capture set and broker."""
Route = tuple[str, str, str]
"""Capture set, host of the client, broker."""
Responding = tuple[int, int, int]
"""From the first byte of a response to the last byte of one, and how long the first was waited for."""


class Silence(NamedTuple):
    """A time between two responses of a broker, in nanoseconds."""

    from_ns: int
    until_ns: int


class _Responses:
    """When a broker sent responses."""

    __slots__ = ("first_ns", "last_ns", "silences")

    def __init__(self, first_ns: int) -> None:
        self.first_ns = self.last_ns = first_ns
        self.silences: list[Silence] = []

    def add(self, first_ns: int, last_ns: int) -> None:
        """Add responses without a silence between them."""
        if first_ns - self.last_ns >= SILENT_NS:
            self.silences.append(Silence(self.last_ns, first_ns))
            if len(self.silences) > _SILENCES_KEPT:
                del self.silences[: _SILENCES_KEPT // 2]
        elif first_ns < self.last_ns:
            self._interrupt(first_ns, last_ns)
        self.first_ns, self.last_ns = min(self.first_ns, first_ns), max(self.last_ns, last_ns)

    def within(self, from_ns: int, until_ns: int) -> bool:
        """Return whether some responses came within a time that is no shorter than a silence."""
        is_silent = any(one.from_ns <= from_ns and until_ns <= one.until_ns for one in self.silences)
        return self.first_ns < until_ns and self.last_ns > from_ns and not is_silent

    def _interrupt(self, first_ns: int, last_ns: int) -> None:
        """Interrupt silences: a response that is completed late may have begun within one."""
        at = len(self.silences)
        while at and self.silences[at - 1].until_ns > first_ns:
            at -= 1
        ended = self.silences[at:]
        del self.silences[at:]
        for one in ended:
            parts = (
                Silence(one.from_ns, min(first_ns, one.until_ns)),
                Silence(max(last_ns, one.from_ns), one.until_ns),
            )
            self.silences += [part for part in parts if part.until_ns - part.from_ns >= SILENT_NS]


class Silences:
    """Silences of brokers. It takes exchanges in their order, and connections as they end (`close`)."""

    def __init__(self) -> None:
        self._brokers: Table[Place, _Responses] = Table(_BROKERS_KEPT)
        self._last: dict[str, int] = {}
        self._first: Table[tuple[str, int], int] = Table(_FIRSTS_KEPT)
        self._served: Table[Route, int] = Table(_ROUTES_KEPT)

    def add(self, exchange: Exchange) -> None:
        """Take an exchange."""
        request, response, info = exchange.request, exchange.response, exchange.connection
        if response is not None and info.same_as is None:
            waited_ns = 0 if request is None else response.time_ns - request.end_time_ns
            times = ((response.time_ns, response.end_time_ns, waited_ns),)
            self._note(info, times)
            self._respond(place_of(info), times)

    def take_block(self, block: native.ExchangeBlock, start: int) -> int:
        """Take exchanges of a block from `start`, up to the first whose response came after a silence.

        Return its number, or the block's length.
        """
        found: dict[Place, list[Responding]] = {}
        of_connections, stop = block.response_times(start, SILENT_NS)
        for info, times in of_connections:
            if info.same_as is None:
                self._note(info, times)
                found.setdefault(place_of(info), []).extend(times)
        for place, times in found.items():
            self._respond(place, sorted(times))
        return stop

    def close(self, info: ConnectionInfo) -> None:
        """End a connection."""
        self._last.pop(info.id, None)

    def _respond(self, place: Place, times: Iterable[Responding]) -> None:
        of = self._brokers.get(place)
        for first_ns, last_ns, _ in times:
            if of is None:
                of = self._brokers.put(place, _Responses(first_ns))
            of.add(first_ns, last_ns)

    def _note(self, info: ConnectionInfo, times: Sequence[Responding]) -> None:
        """Remember the first responses after silences of a connection that were waited for."""
        last = self._last
        before_ns = last.pop(info.id, 0)
        for first_ns, last_ns, waited_ns in times:
            if first_ns - before_ns >= SILENT_NS:
                if waited_ns >= SILENT_NS:
                    self._first.put((info.id, first_ns), before_ns)
                if before_ns and first_ns - waited_ns - before_ns >= SILENT_NS:
                    self._serve(info, first_ns - waited_ns - before_ns)
            before_ns = last_ns
        last[info.id] = before_ns  # the last one: those used longest ago come first
        if len(last) > _CONNECTIONS_KEPT:
            del last[next(iter(last))]

    def _serve(self, info: ConnectionInfo, silent_ns: int) -> None:
        route = route_of(info)
        if silent_ns > (self._served.peek(route) or 0):
            self._served.put(route, silent_ns)

    # what was seen

    def last(self, connection: str) -> int | None:
        """Return the time of an open connection's last response, or None if it had none."""
        return self._last.get(connection) or None

    def served_after(self, route: Route) -> int:
        """Return a connection's longest silence after which a request was answered, in nanoseconds. 0:
        none.
        """
        return self._served.peek(route) or 0

    def of(self, place: Place) -> list[Silence]:
        """Return the silences of a broker."""
        found = self._brokers.peek(place)
        return [] if found is None else found.silences

    def before(self, connection: str, response_ns: int) -> int | None:
        """Return the time of the last response before the one at `response_ns`, 0 if there was none.

        None if the response was not the first one after a silence of the connection: it may have waited after
        other requests, because a broker reads the next request of a connection when it has answered the one
        before (spec/000 Network).
        """
        return self._first.peek((connection, response_ns))

    def span_ns(self, place: Place) -> int:
        """Return the time from the first response of a broker to the last."""
        found = self._brokers.peek(place)
        return 0 if found is None else found.last_ns - found.first_ns

    def responds_within(self, capture_set: str, from_ns: int, until_ns: int) -> bool:
        """Return whether any broker of a capture set sent a response within a time."""
        return any(
            of.within(from_ns, until_ns) for (name, _), of in self._brokers.items() if name == capture_set
        )

    def is_served_within(self, place: Place, from_ns: int, until_ns: int) -> bool:
        """Return whether a broker sent a response within a time, or False for less than a silence, which is
        unknown.
        """
        found = self._brokers.peek(place)
        return found is not None and until_ns - from_ns >= SILENT_NS and found.within(from_ns, until_ns)


def route_of(info: ConnectionInfo) -> Route:
    """Return the route of a connection."""
    return info.capture_set, host_of(info), info.broker_text


def place_of(info: ConnectionInfo) -> Place:
    """Return the broker of a connection."""
    return info.capture_set, info.broker_text

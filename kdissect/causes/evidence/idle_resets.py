"""Connections that were reset as soon as a client sent a request after a silence."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from kdissect.causes.evidence.seen import packets_of
from kdissect.history.exchange_view import ExchangeView
from kdissect.history.state_table import Table
from kdissect.model.cause import Packets
from kdissect.model.finding import Who
from kdissect.model.packets.stream import CloseKind
from kdissect.session.exchange import Exchange
from kdissect.stats.client import Client, client_of
from kdissect.stats.times.silences import SILENT_NS, Route, Silences, route_of
from kdissect.stats.times.waited import bytes_are_missing

_CONNECTIONS_KEPT = 10_000
_LEAST_NS = 2 * SILENT_NS
_PROMPT_NS = 2 * SILENT_NS  # from the request to the reset: a round trip, and retransmissions


class IdleReset(NamedTuple):
    """A connection that ended so, in nanoseconds."""

    route: Route
    client: Client
    start_ns: int
    reset_ns: int
    silent_ns: int
    """From its last response to the request."""
    packets: Packets


class IdleResets:
    """Takes unanswered requests before their connections are over for `silences`."""

    def __init__(self, silences: Silences) -> None:
        self._silences = silences
        self._found: Table[str, IdleReset] = Table(_CONNECTIONS_KEPT)
        self._after_close: Table[str, int] = Table(_CONNECTIONS_KEPT)

    def add(self, exchange: Exchange) -> None:
        """Take an exchange."""
        info, request, close = exchange.connection, exchange.request, exchange.close
        if exchange.response is not None or request is None or close is None:
            return
        if close.by == Who.BROKER and request.time_ns >= close.time_ns:
            self._after_close.put(info.id, self.asked_after_close(info.id) + 1)
        if close.how is not CloseKind.RST or close.by != Who.BROKER or info.id in self._found:
            return
        last_ns = self._silences.last(info.id)
        is_prompt = close.time_ns - request.end_time_ns <= _PROMPT_NS
        if last_ns is None or not is_prompt or bytes_are_missing(info, last_ns):
            return
        silent_ns = request.time_ns - last_ns
        if silent_ns >= _LEAST_NS:
            view = ExchangeView(exchange)
            found = IdleReset(
                route_of(info), client_of(view), info.start_ns, close.time_ns, silent_ns,
                packets_of(view.evidence),
            )  # fmt: skip
            self._found.put(info.id, found)

    def asked_after_close(self, connection: str) -> int:
        """Return how many requests a client sent after the broker had closed."""
        return self._after_close.peek(connection) or 0

    def by_broker(self) -> Iterator[list[IdleReset]]:
        """Yield the resets of each broker, in the order of time."""
        found: dict[tuple[str, str], list[IdleReset]] = {}
        for one in self._found:
            found.setdefault((one.route[0], one.route[2]), []).append(one)
        for of in found.values():
            yield sorted(of, key=lambda one: one.reset_ns)

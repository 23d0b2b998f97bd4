"""Ends of SASL sessions: the first request after the lifetime, for which a broker closes the connection.

A broker does not process that request (KIP-368). Logins with SaslHandshake v0 or SaslAuthenticate v0 do not
carry the lifetime. It shows if connections end so at one age, one after another, and no later request is
answered.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from kdissect.causes.evidence.seen import packets_of
from kdissect.history import api_keys as apis
from kdissect.history.connections.negotiated_versions import Range
from kdissect.history.connections.sasl_login import SaslFact
from kdissect.history.exchange_view import ExchangeView
from kdissect.history.fact import Evidence, Fact
from kdissect.history.state_table import Table
from kdissect.model.cause import Packets
from kdissect.model.finding import Who
from kdissect.model.packets.stream import CloseKind
from kdissect.session.exchange import Exchange, State
from kdissect.session.info import ConnectionInfo
from kdissect.stats.client import Client, client_of
from kdissect.stats.times.silences import Place, Silences, place_of
from kdissect.stats.times.waited import bytes_are_missing

_CONNECTIONS_KEPT = 10_000
_PROMPT = 10  # times as long as the request was open, the connection was quiet before it
_IN_USE = 4  # times as long as it was quiet, it was used before: it did not end for being idle
_LEAST = 3

_Listener = tuple[Place, str]
"""Broker and SASL mechanism."""


class Answered(NamedTuple):
    """An API that a broker answers to a client without an error, by client id and host."""

    broker: str
    api_key: int
    client_id: str
    host: str


class SessionEnd(NamedTuple):
    """The first request of a connection after its last response, for which the broker closed. Nanoseconds."""

    listener: _Listener
    client: Client
    served_ns: int
    """Time of the connection's last response."""
    asked_ns: int
    closed_ns: int
    packets: Packets
    kind: tuple[int, int] = (-1, -1)
    """API and version of the request."""


class InferredLifetime(NamedTuple):
    """Sessions that a broker ended at one age: later than `served_ns`, at `asked_ns` at the latest."""

    ends: list[SessionEnd]
    served_ns: int
    asked_ns: int


class SessionEnds:
    """Takes unanswered requests and connections, each before `silences` forgets the connection."""

    def __init__(self, silences: Silences) -> None:
        self._silences = silences
        self._found: Table[str, SessionEnd] = Table(_CONNECTIONS_KEPT)
        self._served: Table[str, tuple[_Listener, int]] = Table(_CONNECTIONS_KEPT)
        """The last response of each connection with SASL that ended."""

    def add(self, exchange: Exchange) -> None:
        """Take an exchange."""
        info, request, close = exchange.connection, exchange.request, exchange.close
        if exchange.response is not None or request is None or close is None or info.mechanism is None:
            return
        if close.how is not CloseKind.FIN or close.by != Who.BROKER or info.id in self._found:
            return
        last_ns = self._silences.last(info.id)
        if last_ns is None or bytes_are_missing(info, last_ns):
            return
        quiet_ns = request.time_ns - last_ns
        if quiet_ns < _PROMPT * (close.time_ns - request.end_time_ns):
            return
        view = ExchangeView(exchange)
        if view.request is None or exchange.state is not State.UNANSWERED:
            return  # the broker may close since it cannot read the request, or has no error to send
        found = SessionEnd(
            _listener(info, info.mechanism), client_of(view), last_ns, request.time_ns, close.time_ns,
            packets_of(view.evidence), (view.key, view.version),
        )  # fmt: skip
        self._found.put(info.id, found)

    def close(self, info: ConnectionInfo) -> None:
        """Take a connection that ended."""
        last_ns = self._silences.last(info.id)
        if info.mechanism is not None and last_ns is not None:
            self._served.put(info.id, (_listener(info, info.mechanism), last_ns))

    def inferred(
        self,
        logins: Iterable[Fact],
        offers: Collection[tuple[str, Mapping[int, Range]]],
        answered: Collection[Answered],
    ) -> list[InferredLifetime]:
        """Return the lifetimes that logins do not carry.

        `logins` are facts of connections that logged in. `offers` are brokers with the versions that each
        offers, `answered` the APIs that brokers answered to clients. A request that the broker may not know
        does not show a lifetime, nor does one whose API and version a broker closed for at an age at which it
        still answers.
        """
        since = _without_lifetime(logins)
        served: dict[_Listener, int] = {}
        for connection, (listener, last_ns) in self._served.items():
            if connection in since:
                age_ns = last_ns - since[connection]
                served[listener] = max(served.get(listener, 0), age_ns)
        ends: dict[_Listener, list[SessionEnd]] = {}
        refused: set[tuple[_Listener, tuple[int, int]]] = set()
        for connection, one in self._found.items():
            begun_ns = since.get(connection)
            if begun_ns is None or not _is_known(one, offers, answered):
                continue
            if one.asked_ns - one.served_ns <= (one.served_ns - begun_ns) // _IN_USE:
                ends.setdefault(one.listener, []).append(one)
            elif one.asked_ns - begun_ns <= served.get(one.listener, 0):
                refused.add((one.listener, one.kind))
        found = []
        for listener, of in ends.items():
            of.sort(key=lambda one: one.closed_ns)
            asked_ns = min(one.asked_ns - since[one.packets.connection] for one in of)
            ended = [one for one in of if (listener, one.kind) not in refused]
            if served.get(listener, 0) < asked_ns and _successive(ended, since) >= _LEAST:
                found.append(InferredLifetime(ended, served.get(listener, 0), asked_ns))
        return found


def _listener(info: ConnectionInfo, mechanism: str) -> _Listener:
    return place_of(info), mechanism


def _is_known(
    one: SessionEnd, offers: Collection[tuple[str, Mapping[int, Range]]], answered: Collection[Answered]
) -> bool:
    """Return whether the broker has the version of a request: it offers it.

    If its offers are not known, it answered the API to this client, which cannot choose versions.
    """
    broker, (api, version) = one.listener[0][1], one.kind
    of_broker = [ranges.get(api, (0, -1)) for name, ranges in offers if name == broker]
    if not of_broker:
        return Answered(broker, api, one.client.client_id or "", one.client.address) in answered
    return all(low <= version <= high for low, high in of_broker)


def _without_lifetime(logins: Iterable[Fact]) -> dict[str, int]:
    """Return when connections logged in whose login cannot carry a lifetime."""
    return {
        fact.evidence.connection: fact.evidence.answered_ns
        for fact in logins
        if fact.kind is SaslFact.AUTHENTICATED and fact.evidence.answered_ns and _is_old(fact.evidence)
    }


def _is_old(login: Evidence) -> bool:
    """Return whether a login is a token without SaslAuthenticate, or in its version 0."""
    return login.api_key is None or (login.api_key == apis.SASL_AUTHENTICATE and login.api_version == 0)


def _successive(ends: list[SessionEnd], since: Mapping[str, int]) -> int:
    """Return how many sessions there are of which each began when the one before had ended.

    Connections that end together may end with their broker.
    """
    count = until_ns = 0
    for one in ends:
        if since[one.packets.connection] >= until_ns:
            count += 1
            until_ns = one.closed_ns
    return count

"""Forwarded rows back to events: the other end of `forwarding`."""

from __future__ import annotations

import pickle
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from copy import copy
from typing import Any, NamedTuple

from kdissect.model.endpoint import Endpoint
from kdissect.model.frame import Frame, frame_of_row
from kdissect.model.packets.logged import Logged
from kdissect.model.packets.stream import CloseKind
from kdissect.session.events import ConnectionClosed, Event
from kdissect.session.exchange import Exchange, ExchangeKind, State
from kdissect.session.identities import Identities, learn_identities
from kdissect.session.info import Close, ConnectionInfo, ConnectionKind, TcpSummary
from kdissect.session.problem import Problem, Reason
from kdissect.stages.forwarding import ASKED, EXCHANGE, Silenced
from kdissect.stages.stub_frames import stub_bytes
from kdissect.tls.tls_info import TlsInfo


class Replayed(NamedTuple):
    """An event, and what rules of the per-flow stage silenced when it came."""

    event: Event
    silenced: Silenced


def replay(blobs: Iterable[bytes]) -> Iterator[Replayed]:
    """Return the events of one capture set, from rows in the order of `event_order`.

    The blobs come from `forwarding` in the same run: they are unpickled.
    """
    return Replay().events(blobs)


class Replay:
    """`replay` that goes on: what is known of open connections stays between calls. Picklable."""

    def __init__(self) -> None:
        self._open: dict[str, ConnectionInfo] = {}
        self._identities = Identities()

    @property
    def open(self) -> Collection[str]:
        """The connections that are open."""
        return self._open.keys()

    def set_aside(self, connection: str) -> ConnectionInfo:
        """Give what is known of an open connection, which is known here no more."""
        info = copy(
            self._open.pop(connection)
        )  # what was counted may still ask the other one for its cluster
        info.identities = None  # it is pickled alone
        return info

    def take_up(self, info: ConnectionInfo) -> None:
        """Know it again."""
        self._open[info.id] = info
        info.identities = self._identities

    def events(
        self,
        blobs: Iterable[bytes],
        without: Collection[str] = (),
        wake: Callable[[str], object] | None = None,
    ) -> Iterator[Replayed]:
        """Yield the next events, except events of connections in `without`.

        `wake` is called with a connection that is not known: it may `take_up` that.
        """
        open_ = self._open
        for blob in blobs:
            what, connection, news, *rest = pickle.loads(blob)  # made by this run
            if connection in without:
                continue
            if wake is not None and connection not in open_:
                wake(connection)
            info = open_.get(connection)
            if news is not None:
                info = open_[connection] = _connection(connection, info, news)
                info.identities = self._identities
            assert info is not None, f"the first event of connection {connection} is missing"
            *fields, silenced = rest
            if what == EXCHANGE:
                exchange = _exchange(info, fields)
                learn_identities(exchange)
                yield Replayed(exchange, silenced)
            else:
                del open_[connection]
                yield Replayed(_closed(info, fields), silenced)


def _exchange(info: ConnectionInfo, fields: list[Any]) -> Exchange:
    exchange = Exchange(info, fields[0])
    exchange.kind = ExchangeKind(fields[1])
    (
        _, _, exchange.api_key, exchange.api_version, exchange.correlation_id, exchange.client_id, state,
        request, exchange.request_body_offset, response, exchange.response_body_offset, close, kinds,
        exchange.answered_before_ns,
    ) = fields  # fmt: skip
    exchange.state = State(state)
    exchange.request = _frame(request)
    exchange.response = _frame(response)
    exchange.close = _close(close)
    if kinds:
        info.api_versions_seen = dict.fromkeys(kinds)
    return exchange


def _frame(fields: tuple[Any, ...] | None) -> Frame | None:
    if fields is None:
        return None
    pieces, *numbers, comment = fields
    return frame_of_row((stub_bytes(pieces), *numbers), comment)


def _close(fields: tuple[Any, ...] | None) -> Close | None:
    return None if fields is None else Close(fields[0], CloseKind(fields[1]), fields[2])


def _closed(info: ConnectionInfo, fields: list[Any]) -> ConnectionClosed:
    problem, kinds, sni = fields
    info.api_versions_seen = dict.fromkeys(kinds)
    if sni is not None:
        info.tls = TlsInfo()
        info.tls.sni = sni
    return ConnectionClosed(info, None if problem is None else Problem(Reason(problem[0]), *problem[1:]))


def _connection(name: str, known: ConnectionInfo | None, fields: tuple[Any, ...]) -> ConnectionInfo:
    """Return the connection, brought up to date: exchanges that wait point at it."""
    client, broker = Endpoint(*fields[1]), Endpoint(*fields[2])
    info = known or ConnectionInfo(name, fields[0], client, broker, fields[5])
    info.set_ends(client, broker)
    (
        _, _, _, info.client_text, info.broker_text, _, info.end_ns, kind, info.middle_start, info.client_id,
        info.software_name, info.software_version, info.mechanism, info.principal, counts, tcp, close,
        states, info.proxy, logged,
    ) = fields  # fmt: skip
    info.logged = None if logged is None else Logged(logged, 0)
    info.kind = ConnectionKind(kind)
    info.states = Counter(dict(states))
    info.anomaly_counts = Counter({kind: count for kind, count in zip(ASKED, counts, strict=True) if count})
    info.tcp = None if tcp is None else TcpSummary(*tcp)
    info.close = _close(close)
    return info

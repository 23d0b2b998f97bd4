"""Events that the per-flow stage forwards: every event, with stub frames and its `event_order`.

One row for each exchange and each end of a connection: capture set, `event_order`, and a blob of plain
tuples. The per-capture-set stage sorts the rows by their order and has the events of one process, but for the
records in them, which it has only for rules about keys and values. An event that changes a connection's facts
carries them.

An exchange that contains names of topic ids has a second row, whose order puts it before all events: an event
may need a name before the message that contains it.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from typing import Any, NamedTuple

from kdissect.engine.event_order import Placed
from kdissect.history.topics.topic_names import ANNOUNCING, may_announce_names
from kdissect.model.anomaly import AnomalyKind
from kdissect.model.frame import Frame
from kdissect.session.events import ConnectionClosed
from kdissect.session.exchange import Exchange
from kdissect.session.info import ConnectionInfo
from kdissect.stages.stub_frames import Pieces, stubs_of, whole_frames

EXCHANGE, CLOSED = 0, 1
# Prefix of the order of rows with names. Orders of events have another one, for times after the year 1678.
NAMES = b"\0"
# Remembered exchanges with names, to skip repetitions: clients poll Metadata all the time.
_MAX_TOLD = 4096
Codes = frozenset[str]
NO_CODES: Codes = frozenset()
Silenced = tuple[tuple[str, int, tuple[str, ...]], ...]
"""Exchanges, by connection and ordinal, and the codes that rules silenced about them."""


class ForwardedEvent(NamedTuple):
    """One event. `replay` takes the rows of a capture set, sorted by `event_order`."""

    capture_set: str
    event_order: bytes
    blob: bytes


class Forwarder:
    """Makes the rows of connections, whose events come one after the other.

    An event's row also lists the findings that rules of the per-flow stage silenced about exchanges whose
    turn came with this event, its own or buffered ones: rows are in the order of events, and no row waits for
    a later one.
    """

    def __init__(self, with_records: bool = False) -> None:
        self._with_records = with_records
        self._known: dict[str, tuple[Any, ...]] = {}
        self._held: tuple[bytes, str, tuple[Any, ...]] | None = None
        self._silenced: list[tuple[str, int, tuple[str, ...]]] = []
        self._ready: list[ForwardedEvent] = []
        self._told: set[int] = set()

    def add(self, placed: Placed) -> None:
        """Take the next event of a connection."""
        self._settle()
        order, event = placed
        info = event.connection
        if isinstance(event, Exchange):
            fields = _exchange_fields(event, self._with_records)
            place = EXCHANGE, info.id
            self._held = order, info.capture_set, (*place, self._news(info), *fields)
            self.add_names(placed, fields)
        elif isinstance(event, ConnectionClosed):
            end = _closed_fields(event)
            self._held = order, info.capture_set, (CLOSED, info.id, self._news(info, True), *end)
            self._known.pop(info.id, None)

    def add_names(self, placed: Placed, fields: tuple[Any, ...] | None = None) -> None:
        """Take an exchange only for the names that it may contain; `fields` are its `_exchange_fields`, if
        known.
        """
        order, event = placed
        if isinstance(event, Exchange) and self._tells_names(event):
            info = event.connection
            told = fields or _exchange_fields(event)
            named = EXCHANGE, info.id, _connection_fields(info), *told, ()
            self._ready.append(_row(NAMES + order, info.capture_set, named))

    def judged(self, exchange: Exchange, silenced: Codes = NO_CODES) -> None:
        """Note that the per-flow stage judged an exchange, with the event that was added last."""
        if silenced:
            self._silenced.append((exchange.connection.id, exchange.ordinal, tuple(sorted(silenced))))

    def take(self) -> Iterator[ForwardedEvent]:
        """Return the rows of the events that were added, which are judged."""
        self._settle()
        ready, self._ready = self._ready, []
        return iter(ready)

    def _settle(self) -> None:
        """All is known of the event that was added last."""
        if self._held is not None:
            order, capture_set, fields = self._held
            self._ready.append(_row(order, capture_set, (*fields, tuple(self._silenced))))
            self._held, self._silenced = None, []

    def _tells_names(self, exchange: Exchange) -> bool:
        """Return whether an exchange contains names that no earlier exchange contained."""
        if not may_announce_names(exchange):
            return False
        asked, answered = exchange.request_summary(), exchange.response_summary()
        what = asked.topics, answered.topics, asked.topic_ids, answered.topic_ids
        if exchange.api_key not in ANNOUNCING or not any(what):  # records, or a cluster's id
            return True
        told = hash((exchange.api_key, exchange.connection.broker_address, what))
        if told in self._told:
            return False
        if len(self._told) >= _MAX_TOLD:
            self._told.clear()
        self._told.add(told)
        return True

    def _news(self, info: ConnectionInfo, is_over: bool = False) -> tuple[Any, ...] | None:
        """Return the facts about a connection, or None if they were forwarded already."""
        now = _connection_fields(info)
        if not is_over and self._known.get(info.id) == now:
            return None
        self._known[info.id] = now
        return now


def _row(order: bytes, capture_set: str, fields: tuple[Any, ...]) -> ForwardedEvent:
    return ForwardedEvent(capture_set, order, pickle.dumps(fields, protocol=5))


def _exchange_fields(exchange: Exchange, with_records: bool = False) -> tuple[Any, ...]:
    """Return an exchange as plain values."""
    request, response = whole_frames(exchange) if with_records else stubs_of(exchange)
    close = exchange.close
    return (
        exchange.ordinal, str(exchange.kind), exchange.api_key, exchange.api_version,
        exchange.correlation_id, exchange.client_id, str(exchange.state),
        _frame(exchange.request, request), exchange.request_body_offset,
        _frame(exchange.response, response), exchange.response_body_offset,
        None if close is None else (close.by, str(close.how), close.time_ns),
        () if close is None else tuple(exchange.connection.api_versions_seen),
        exchange.answered_before_ns,
    )  # fmt: skip


def _closed_fields(event: ConnectionClosed) -> tuple[Any, ...]:
    """Return the facts about an ended connection that the per-capture-set stage needs."""
    info = event.connection
    return (
        None if event.problem is None else tuple(event.problem),
        tuple(info.api_versions_seen),
        None if info.tls is None else info.tls.sni,
    )


def _frame(frame: Frame | None, pieces: Pieces | None) -> tuple[Any, ...] | None:
    if frame is None:
        return None
    logged = frame.logged
    comment = None if logged is None else logged.comment()
    return pieces, *frame.row()[1:], comment


# Kinds of anomalies that histories and rules ask a connection for.
ASKED = (
    AnomalyKind.SKIPPED_BYTES, AnomalyKind.RESYNCHRONISED, AnomalyKind.BAD_FRAME_SIZE, AnomalyKind.GAP,
    AnomalyKind.PENDING_LIMIT, AnomalyKind.REASSEMBLY_LIMIT, AnomalyKind.FOREIGN_BYTES,
    AnomalyKind.TLS_ALERT,
)  # fmt: skip


def _connection_fields(info: ConnectionInfo) -> tuple[Any, ...]:
    """Return a connection as plain values, as far as the per-capture-set stage asks."""
    tcp = info.tcp
    return (
        info.capture_set, tuple(info.client), tuple(info.broker), info.client_text, info.broker_text,
        info.start_ns, info.end_ns if tcp is not None else info.start_ns, str(info.kind), info.middle_start,
        info.client_id, info.software_name, info.software_version, info.mechanism, info.principal,
        tuple(info.anomaly_counts[kind] for kind in ASKED),
        None if tcp is None else tuple(tcp._replace(times=None)),  # no stage reads them
        None if info.close is None else (info.close.by, str(info.close.how), info.close.time_ns),
        () if tcp is None else tuple((str(state), count) for state, count in info.states.items()),
        info.proxy,
        None if info.logged is None else info.logged.connection,
    )  # fmt: skip

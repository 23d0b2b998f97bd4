"""Events as bytes, for second stages on other machines: what a state machine sees there is what it sees here.

An exchange goes with the state its connection had when it was reported: what was lost up to then decides
what histories are sure of. That state is the same for most exchanges of a connection, so it is a column of
its own (`info`), which Parquet and compressed shuffles keep once.
"""

from __future__ import annotations

import pickle
from typing import Any, NamedTuple

from kdissect.session.events import ConnectionClosed, ConnectionOpened, Event
from kdissect.session.exchange import Exchange
from kdissect.session.info import ConnectionInfo

EXCHANGE, OPENED, CLOSED = 0, 1, 2
# Counters of a connection that grow with every exchange and that nobody asks for before its end.
_COUNTERS = frozenset({"exchanges", "states", "api_versions_seen"})
_CACHES = frozenset({"connection", "bodies_cache", "batches_cache", "request_summary_cache"})
_STATE = tuple(name for name in ConnectionInfo.__slots__ if name not in _COUNTERS)
_EXCHANGE = tuple(name for name in Exchange.__slots__ if name not in _CACHES)


class CodedEvent(NamedTuple):
    """An event as bytes. `kind` is EXCHANGE, OPENED or CLOSED; `event` is empty but for an exchange."""

    kind: int
    connection: str
    info: bytes
    event: bytes


def encode(event: Event) -> CodedEvent:
    """The bytes of an event; of no use to another version of kdissect."""
    info = event.connection
    if isinstance(event, Exchange):
        values = tuple(getattr(event, name) for name in _EXCHANGE)
        return CodedEvent(EXCHANGE, info.id, _coded(info, _STATE), pickle.dumps(values, protocol=5))
    kind = CLOSED if isinstance(event, ConnectionClosed) else OPENED
    return CodedEvent(kind, info.id, _coded(info, ConnectionInfo.__slots__), b"")


class EventDecoder:
    """Gives events back. Those of one connection share one `ConnectionInfo`, as they did."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[bytes, ConnectionInfo]] = {}

    def decode(self, coded: CodedEvent) -> Event:
        """The next event."""
        info = self._info(coded)
        if coded.kind == EXCHANGE:
            return _exchange(info, coded.event)
        if coded.kind == OPENED:
            return ConnectionOpened(info)
        self._known.pop(coded.connection, None)
        return ConnectionClosed(info)

    def _info(self, coded: CodedEvent) -> ConnectionInfo:
        state, info = self._known.get(coded.connection, (b"", None))
        if info is None:
            info = ConnectionInfo.__new__(ConnectionInfo)
            for name in _COUNTERS:
                setattr(info, name, _no_count(name))
        if state != coded.info:
            for name, value in pickle.loads(coded.info):
                setattr(info, name, value)
            self._known[coded.connection] = coded.info, info
        return info


def _coded(info: ConnectionInfo, names: tuple[str, ...]) -> bytes:
    return pickle.dumps([(name, getattr(info, name)) for name in names], protocol=5)


def _exchange(info: ConnectionInfo, state: bytes) -> Exchange:
    exchange = Exchange(info, 0)
    for name, value in zip(_EXCHANGE, pickle.loads(state), strict=True):
        setattr(exchange, name, value)
    return exchange


def _no_count(name: str) -> Any:
    from collections import Counter

    return 0 if name == "exchanges" else Counter()

"""Connections that two captures hold, as `connections --one-way` has them: one row for each."""

from __future__ import annotations

from collections.abc import Iterator

from kdissect.engine.exchange_rows import Row, RowField
from kdissect.model.limits import in_force
from kdissect.session.events import Event
from kdissect.session.exchange import Exchange
from kdissect.session.info import ConnectionInfo
from kdissect.stats.times.one_way import OneWay

ONE_WAY_FIELDS = (
    RowField("number", "int64", "1-based number of the row in this output, for presentation only"),
    RowField("connection", "string", "identity of the connection that counts: 16 hex digits"),
    RowField("client", "string", "address and port of the client"),
    RowField("broker", "string", "address and port of the broker"),
    RowField("client_id", "string", "client id of the first request that has one"),
    RowField("near_client", "string", "the capture set nearer to the client"),
    RowField("near_broker", "string", "the one nearer to the broker"),
    RowField("exchanges", "int64", "exchanges that both have, with request and response"),
    RowField("both_ways_ns", "int64", "to the broker and back between both captures, the mean"),
    RowField("to_broker_ns", "int64", "that of requests alone. Null: the clocks may differ by too much"),
    RowField("to_client_ns", "int64", "that of responses alone"),
    RowField("shortest_ns", "int64", "to the broker and back, of the exchange for which it was shortest"),
    RowField("shortest_to_broker_ns", "int64", "of the request for which it was shortest"),
    RowField("shortest_to_client_ns", "int64", "of the response for which it was shortest"),
    RowField("error_ns", "int64", "by how much one way alone may be wrong, because of the clocks"),
)


class OneWayConnections:
    """Collector of all capture sets' events."""

    def __init__(self, capture_sets: int, clocks_within_ns: int | None) -> None:
        self.ways = OneWay(capture_sets, clocks_within_ns)
        self._most = in_force().statistic_rows
        self._infos: dict[str, ConnectionInfo] = {}

    def add(self, event: Event, is_wanted: bool = True) -> None:
        """Take the analyzer's next event. A connection that is not wanted is no row."""
        if not isinstance(event, Exchange):
            return
        info = event.connection
        if info.same_as is not None:
            self.ways.add(event)
        elif is_wanted:
            self.ways.add(event, [(info.id,)])
            if info.id not in self._infos and len(self._infos) < self._most:
                self._infos[info.id] = info

    def rows(self) -> Iterator[Row]:
        """Yield a row for each connection and two captures of it, in the order in which they were first
        seen.
        """
        for number, ((connection,), (near, far), facts) in enumerate(self.ways.of_each(), 1):
            info = self._infos[connection or ""]
            yield {
                "number": number,
                "connection": info.id,
                "client": info.client_text,
                "broker": info.broker_text,
                "client_id": info.client_id,
                "near_client": near,
                "near_broker": far,
                **facts,
            }

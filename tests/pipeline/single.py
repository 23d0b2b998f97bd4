"""What one process finds, in the form in which a distributed run is compared with it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from kdissect.api import Dissection
from kdissect.capture.files import ends_of
from kdissect.engine.connection_rows import connection_row
from kdissect.engine.event_order import OrderedAnalyzer
from kdissect.engine.exchange_rows import ExchangeRows, Row
from kdissect.session.events import ConnectionClosed, Event
from kdissect.session.exchange import Exchange

Identity = tuple[str, int]
"""Connection and ordinal."""


class Found(NamedTuple):
    """Rows by identity."""

    exchanges: dict[Identity, Row]
    connections: dict[str, Row]


def by_one_process(paths: Sequence[str | Path], key_logs: Sequence[str] = ()) -> Found:
    """Return what every other command sees."""
    dissection = Dissection([str(path) for path in paths], key_logs=key_logs)
    events = dissection.events()
    return rows_of(events, dissection.file_names)


def order_of(paths: Sequence[str | Path]) -> list[Identity]:
    """Return the exchanges in the order of their places, when one process sees all packets."""
    dissection = Dissection([str(path) for path in paths])
    analyzer = OrderedAnalyzer(dissection.analyzer)
    placed = [
        event
        for batch in dissection.captures.batches()
        for told in analyzer.feed_each(batch)
        for event in analyzer.placed(told)
    ]
    placed += analyzer.close(ends_of(dissection.captures.files))
    placed.sort(key=lambda event: event[0])
    return [(event.connection.id, event.ordinal) for _, event in placed if isinstance(event, Exchange)]


def rows_of(events: Iterable[Event], files: Sequence[str]) -> Found:
    """Return the rows of events, without the numbers that are for people."""
    rows = ExchangeRows(files)
    found = Found({}, {})
    for event in events:
        if isinstance(event, Exchange):
            row = rows.row(event)
            del row["number"]
            found.exchanges[event.connection.id, event.ordinal] = row
        elif isinstance(event, ConnectionClosed):
            found.connections[event.connection.id] = connection_row(0, event.connection)
    return found

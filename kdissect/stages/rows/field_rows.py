"""Rows of the table `fields`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kdissect.engine.exchange_rows import Row
from kdissect.engine.listed_rows import ListedRows
from kdissect.history.topics.topic_names import TopicNames
from kdissect.query.binding import Context
from kdissect.query.fields.field_table import chosen_fields
from kdissect.query.fields.printed_fields import FieldValues
from kdissect.session.exchange import Exchange
from kdissect.stages.rows.table_rows import when

_OF_BODIES = frozenset({"body", "error"})


class FieldRows:
    """Makes the rows. `files` are the inputs' names by file index, and may still grow."""

    def __init__(self, names: Sequence[str], files: Sequence[str], topics: TopicNames) -> None:
        self._chosen = chosen_fields(names)
        bodies = any(not _OF_BODIES.isdisjoint(one.column.keys[1:2]) for one in self._chosen)
        self._rows = ListedRows(files, bodies, topics_of=topics.topics_of)
        made = [one.column.name for one in self._chosen if one.column.is_made]
        context = Context(topics_of=topics.topics_of, file_names=files)
        self._made = FieldValues(made, context) if made else None

    def row(self, exchange: Exchange, order: bytes) -> Row:
        """Return the row of an exchange."""
        held = self._rows.numbered(exchange, 0)
        if self._made is not None:
            held |= self._made(exchange)
        frame = exchange.request or exchange.response
        row = {
            "capture_set": held["capture_set"],
            "connection": held["connection"],
            "exchange": held["exchange"],
            "broker": held["broker"],
            "event_order": order,
        }
        for one in self._chosen:
            _put(row, one.column.name.split("."), one.fits(one.column.value(held)))
        for side in ("request", "response"):
            if held[side] is None and side in row:
                row[side] = None  # no struct of nulls stands for what was not captured
        return when(row, None if frame is None else frame.time_ns)


def _put(row: Row, path: Sequence[str], value: Any) -> None:
    for part in path[:-1]:
        row = row.setdefault(part, {})
    row[path[-1]] = value

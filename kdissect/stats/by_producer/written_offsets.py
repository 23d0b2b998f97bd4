"""How far partitions are written, as responses confirm it to producers without a producer id."""

from __future__ import annotations

from typing import NamedTuple

from kdissect.history.producing.produce_parts import ProduceParts, produce_results
from kdissect.history.state_table import Table
from kdissect.session.exchange import Exchange

PARTITIONS_KEPT = 20_000  # 400 bytes each

PartitionOf = tuple[str, str | bytes, int]
"""Scope of a connection, topic by name or id as the request names it, partition."""


class Written(NamedTuple):
    """The offset after the last one that a response confirms, and the time of that response."""

    end: int
    time_ns: int


class WrittenOffsets:
    """The highest offset of each partition."""

    def __init__(self) -> None:
        self._known: Table[PartitionOf, Written] = Table(PARTITIONS_KEPT)

    def add(self, where: PartitionOf, written: Written) -> None:
        """Take what a response confirms."""
        known = self._known.peek(where)
        if known is None or written.end > known.end:
            self._known.put(where, written)

    def take(self, exchange: Exchange, parts: ProduceParts | None) -> None:
        """Take a Produce of which no batch has a producer id."""
        response = exchange.response
        if parts is None or response is None or parts.without_id != len(parts.batches):
            return
        records: dict[tuple[str | bytes, int], int] = {}
        for place, *numbers in parts.batches:
            records[place] = records.get(place, 0) + numbers[-1]
        for topic, rows in produce_results(exchange) or ():
            for partition, error, base in rows:
                count = records.get((topic, partition), 0)
                if count > 0 and not error and base >= 0:
                    where = exchange.connection.scope, topic, partition
                    self.add(where, Written(base + count, response.end_time_ns))

    def of(self, where: PartitionOf) -> Written | None:
        """Return the confirmed offset of a partition, or None."""
        return self._known.peek(where)

    def all(self) -> list[tuple[PartitionOf, Written]]:
        """Return the confirmed offsets of all partitions."""
        return list(self._known.items())

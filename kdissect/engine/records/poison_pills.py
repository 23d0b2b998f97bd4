"""Keys and values that do not fit their schema: who wrote them, and who read them."""

from __future__ import annotations

from typing import Any, NamedTuple

from kdissect.engine.exchange_rows import Row

MAX_PILLS = 1000  # some 500 bytes each
_MAX_CLIENTS = 20  # of one
WRITES = "produce"
"""The direction in rows of written records."""


class PoisonPill(NamedTuple):
    """One key or value that does not fit: its position, the error, and the clients that wrote and read it, in
    their order.

    `offset` is None if no response contains it. `place`: file and packet that had it first.
    """

    topic: str | None
    partition: int | None
    offset: int | None
    part: str
    schema: str
    error: str
    place: tuple[str, int]
    writers: dict[str, None]
    readers: dict[str, None]

    def __str__(self) -> str:
        at = "" if self.offset is None else f" offset {self.offset}"
        by = [
            f"{verb} by {', '.join(clients)}"
            for verb, clients in (("written", self.writers), ("read", self.readers))
            if clients
        ]
        what = f"{self.part} does not fit {self.schema}: {self.error}"
        return f"{self.topic or 'a topic'}-{self.partition}{at}: {what}; {'; '.join(by)}"


class PoisonPills:
    """Collects poison pills from rows of records; `count` includes pills beyond the limit."""

    def __init__(self) -> None:
        self._found: dict[Any, PoisonPill] = {}
        self.count = 0

    @property
    def found(self) -> list[PoisonPill]:
        """The stored pills, in their order."""
        return list(self._found.values())

    def add(self, row: Row, part: str) -> None:
        """Add a row whose key or value does not fit."""
        offset = row["offset"]
        key: Any = (row["topic"] or row["topic_id"], row["partition"], offset, part)
        if offset is None:
            key = (*key, row["file"], row["packet"], row["batch"], row["record"])
        pill = self._found.get(key)
        if pill is None:
            self.count += 1
            if len(self._found) >= MAX_PILLS:
                return
            error, schema = row[f"{part}_error"], row[f"{part}_schema"]
            place = row["file"], row["packet"]
            pill = PoisonPill(
                row["topic"] or row["topic_id"], row["partition"], offset, part, schema, error, place, {}, {}
            )
            self._found[key] = pill
        add_client(pill.writers if row["direction"] == WRITES else pill.readers, row)


def add_client(clients: dict[str, None], row: Row) -> None:
    """Add the client that wrote or read a record, for people, unless there are many."""
    if len(clients) < _MAX_CLIENTS:
        clients[_client(row)] = None


def _client(row: Row) -> str:
    name = row["principal"] or row["client_id"]
    return f"{name!r} ({row['client']})" if name else str(row["client"])

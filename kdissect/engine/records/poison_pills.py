"""Keys and values that do not fit their schema: who wrote them, and who read them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from kdissect.engine.exchange_rows import Row
from kdissect.serdes.reading import Reading

MAX_PILLS = 1000  # some 500 bytes each
_MAX_CLIENTS = 20  # of one
WRITES = "produce"
"""The direction in rows of written records."""
PlaceOf = Callable[[Row], Any]
"""Returns for a row what locates its record for the caller."""


def file_and_packet(row: Row) -> tuple[str, int]:
    """Return the file and the packet of a row."""
    return row["file"], row["packet"]


class Sender(NamedTuple):
    """A client that wrote or read a record, and how often. `address` has its port."""

    principal: str | None
    client_id: str | None
    address: str
    times: int = 1

    @property
    def host(self) -> str:
        """The address without the port."""
        return self.address.rpartition(":")[0].strip("[]")

    def __str__(self) -> str:
        name = self.principal or self.client_id
        return f"{name!r} ({self.address})" if name else self.address


class PoisonPill:
    """One key or value that does not fit: its position, the error, and the clients that wrote and read it, in
    their order, by their texts.

    `offset` is None if no response contains it. `place` is that of the first write, or of the first read if
    no write was captured. `wire_format` is that of its id, unless the schema is known as one of the topic:
    ids of another registry may be equal. `last` is the last offset of the partition in the capture.
    """

    def __init__(self, row: Row, part: str, reading: Reading, place: Any) -> None:
        self.topic: str | None = row["topic"] or row["topic_id"]
        self.partition: int | None = row["partition"]
        self.offset: int | None = row["offset"]
        self.part = part
        self.schema = reading.schema or ""
        self.error = reading.error or ""
        self.wire_format = None if reading.is_of_topic else reading.wire_format
        self.place = place
        self.is_wanted = False
        """Whether an exchange that counts carries it."""
        self.writers: dict[str, Sender] = {}
        self.readers: dict[str, Sender] = {}
        self.last = self.offset
        self._received: dict[Sender, int] = {}
        self._passed: set[Sender] = set()

    @property
    def at(self) -> str:
        """The partition and the offset, for people: `orders-0 offset 4`."""
        offset = "" if self.offset is None else f" offset {self.offset}"
        return f"{self.topic or 'a topic'}-{self.partition}{offset}"

    def note_later(self, last: int) -> None:
        """Note an offset of the partition."""
        self.last = last if self.last is None else max(self.last, last)

    def note_received(self, reader: Sender, last: int) -> None:
        """Note that a client received this one in a response with records up to an offset."""
        who = _without_port(reader)
        if who in self._received or len(self._received) < _MAX_CLIENTS:
            self._received[who] = max(last, self._received.get(who, last))

    def note_passed(self, reader: Sender) -> None:
        """Note a client that fetched from a later offset, or received records after this one without it."""
        if len(self._passed) < _MAX_CLIENTS:
            self._passed.add(_without_port(reader))

    @property
    def stopped(self) -> list[Sender]:
        """Readers that did not go on after this one, on any connection, although there are records that they
        did not receive.
        """
        return [
            reader
            for reader in self.readers.values()
            if (who := _without_port(reader)) not in self._passed
            and self.last is not None
            and self.last > self._received.get(who, self.last)
        ]

    def __str__(self) -> str:
        by = [
            f"{verb} by {', '.join(clients)}"
            for verb, clients in (("written", self.writers), ("read", self.readers))
            if clients
        ]
        what = f"{self.part} does not fit {self.schema}: {self.error}"
        return f"{self.at}: {what}; {'; '.join(by)}"


class PoisonPills:
    """Collects poison pills from rows of records; `count` includes pills beyond the limit.

    `decodes` returns for a row whether the client that receives its record decodes it, `wants` whether its
    exchange counts.
    """

    def __init__(
        self,
        place_of: PlaceOf = file_and_packet,
        decodes: Callable[[Row], bool] = lambda _row: True,
        wants: Callable[[Row], bool] = lambda _row: True,
    ) -> None:
        self._place_of = place_of
        self._decodes = decodes
        self._wants = wants
        self._found: dict[Any, PoisonPill] = {}
        self._of_partition: dict[tuple[str | None, int | None], list[PoisonPill]] = {}
        self.count = 0

    @property
    def found(self) -> list[PoisonPill]:
        """The stored pills, in their order."""
        return list(self._found.values())

    def of_partition(self, topic: str | None, partition: int | None) -> Sequence[PoisonPill]:
        """Return the stored pills of a partition."""
        return self._of_partition.get((topic, partition), ())

    def add(self, row: Row, part: str, reading: Reading) -> None:
        """Add a row whose key or value does not fit."""
        offset = row["offset"]
        key: Any = (row["topic"] or row["topic_id"], row["partition"], offset, part)
        if offset is None:
            key = (*key, row["file"], row["packet"], row["batch"], row["record"])
        pill = self._found.get(key)
        is_write = row["direction"] == WRITES
        if pill is None:
            self.count += 1
            if len(self._found) >= MAX_PILLS:
                return
            pill = self._found[key] = PoisonPill(row, part, reading, self._place_of(row))
            self._of_partition.setdefault((pill.topic, pill.partition), []).append(pill)
        elif is_write and not pill.writers:
            pill.place = self._place_of(row)
        pill.is_wanted = pill.is_wanted or self._wants(row)
        if is_write:
            add_client(pill.writers, row)
        elif self._decodes(row):
            add_client(pill.readers, row)


def add_client(clients: dict[str, Sender], row: Row) -> None:
    """Count the client that wrote or read a record, unless there are many."""
    found = Sender(row["principal"], row["client_id"], row["client"])
    name = str(found)
    known = clients.get(name)
    if known is not None:
        clients[name] = known._replace(times=known.times + 1)
    elif len(clients) < _MAX_CLIENTS:
        clients[name] = found


def _without_port(client: Sender) -> Sender:
    return client._replace(address=client.host, times=1)

"""What a worker tells of an exchange: its line, as far as one shard knows it.

Rules:
- A line lacks its number, and the names of topic ids where the exchange has some: what an id is called
  depends on what all connections told before. Where only names are missing they are asked for by the parent;
  where an exchange may itself tell names, the parent gets the exchange and makes the line.
- Records of Kafka's own topics are decoded. Those of an id without a name are taken for records of users if
  their keys cannot be Kafka's; the parent checks that against the name.
"""

from __future__ import annotations

import os
import pickle
from argparse import Namespace
from binascii import a2b_base64
from typing import Any

from kdissect.api import Dissection
from kdissect.decoders.summary import Summary
from kdissect.engine.rows import ExchangeRows, Row, union
from kdissect.history.topics import DESCRIBE_CLUSTER, FETCH_SNAPSHOT, TELLING, TopicNames
from kdissect.model.anomaly import Anomaly
from kdissect.schema.metadata_topic import METADATA_TOPIC, METADATA_TOPIC_ID
from kdissect.session.exchange import Exchange
from kdissect.session.info import ConnectionInfo

# Kinds, behind the place: LINE text; NAMED text before and behind the names, capture set, broker, topics, ids,
# ids whose records were taken for those of users; WHOLE and PASSED a pickled exchange; SKIPPED nothing.
LINE, NAMED, WHOLE, PASSED, SKIPPED = range(5)
Told = tuple[Any, ...]


class NeedsAllError(Exception):
    """Only who sees all connections can make the line."""


class NamesLater(TopicNames):
    """Says a mark instead of the names of topic ids, and remembers what to ask for."""

    def __init__(self, known: TopicNames) -> None:
        super().__init__(known.given)
        self.mark = os.urandom(16).hex()  # not to be guessed by who writes captures
        self.question: tuple[str, str, tuple[str, ...], tuple[bytes, ...]] | None = None
        self.taken_for_users: list[bytes] = []

    def begin(self) -> None:
        """Another exchange."""
        self.question = None
        self.taken_for_users.clear()

    def topics_of(self, exchange: Exchange, asked: Summary, answered: Summary) -> tuple[str, ...]:
        """The names on the wire, or the mark. Raises NeedsAllError."""
        topics = union(asked.topics, answered.topics)
        ids = union(asked.topic_ids, answered.topic_ids)
        if not ids:
            if exchange.api_key == DESCRIBE_CLUSTER or METADATA_TOPIC in topics:
                raise NeedsAllError
            return topics
        if METADATA_TOPIC_ID in ids or (topics and exchange.api_key in TELLING):
            raise NeedsAllError
        info = exchange.connection
        self.question = info.capture_set, info.broker_address, topics, ids
        return (self.mark,)

    def name(self, connection: ConnectionInfo, topic_id: bytes) -> str | None:
        """The name that the user gave to an id; None for others, which are then asked about."""
        if topic_id in self.given:
            return self.given[topic_id]
        self.taken_for_users.append(topic_id)
        return None


class Teller:
    """Exchanges of a shard to what is told of them. Sets the names of the dissection to `NamesLater`."""

    def __init__(self, dissection: Dissection, options: Namespace) -> None:
        self._names = NamesLater(dissection.topics)
        dissection.topics = self._names
        self._mark = f'"topics":["{self._names.mark}"]'.encode()
        self._options = options
        self._line = self._writer(dissection)

    def _writer(self, dissection: Dissection) -> Any:
        options, names = self._options, self._names
        if not options.bodies:
            from kdissect.cli.formats.fastlines import FastLines

            return FastLines(dissection.file_names, names.topics_of).line
        from kdissect.cli.formats import delimited
        from kdissect.cli.formats.exchanges import RowWriter

        nest = self._nest if options.records else None
        rows = ExchangeRows(dissection.file_names, True, options.show_secrets, names.topics_of, nest)
        return RowWriter(rows, delimited("jsonl", (), True, False)).line

    def tell(self, exchange: Exchange) -> Told:
        """What is told of an exchange that is listed."""
        names = self._names
        names.begin()
        try:
            line: bytes = self._line(exchange)
        except NeedsAllError:
            return WHOLE, _pickled(exchange)
        line = behind_number(line)
        if names.question is None and not names.taken_for_users:
            return LINE, line
        if names.question is None:  # ids of zeros: nothing but their records
            info = exchange.connection
            names.question = info.capture_set, info.broker_address, (), ()
            head, tail = line, b""
        else:
            head, _, tail = line.partition(self._mark)
        return NAMED, head, tail, *names.question, tuple(names.taken_for_users)

    def pass_by(self, exchange: Exchange) -> Told:
        """What is told of one that is counted only."""
        if exchange.api_key in TELLING or exchange.api_key == FETCH_SNAPSHOT:
            return PASSED, _pickled(exchange)
        return (SKIPPED,)

    def _nest(self, row: Row, exchange: Exchange) -> list[Anomaly]:
        from kdissect.engine.nested_records import nest_batches, nested_batches

        names = self._names
        found = nest_batches(
            row,
            exchange,
            self._options.show_secrets,
            lambda records: (
                None
                if records.section.topic_id is None
                else names.name(exchange.connection, records.section.topic_id)
            ),
        )
        if names.taken_for_users and any(map(_may_be_own, nested_batches(row, exchange))):
            raise NeedsAllError
        return found


def behind_number(line: bytes) -> bytes:
    """A line of JSON without its first field, the number."""
    return line.partition(b",")[2]


def _may_be_own(batch: dict[str, Any]) -> bool:
    """Whether a batch as it is printed may be of one of Kafka's own topics, by the key of its first record.

    Those begin with an int16, the type of the record, of which there are less than 256.
    """
    records = batch["records"]
    key = records[0]["key"] if records else None
    if isinstance(key, dict):
        return a2b_base64(key["base64"][:4])[:1] == b"\0"
    return key is not None and key[:1] == "\0"


def _pickled(exchange: Exchange) -> bytes:
    exchange.forget_bodies()
    return pickle.dumps(exchange, protocol=5)

"""Messages of a worker about an exchange: its line, as far as one shard knows it.

Rules:
- A line lacks its number, and the names of topic ids where the exchange has some: what an id is called
  depends on what all connections showed before. If only names are missing, the parent looks them up. If an
  exchange may itself name ids, the parent gets the exchange and creates the line.
- Records of Kafka's own topics are decoded. Records with an unnamed topic id count as users' records if their
  keys cannot be Kafka's. The parent checks that against the name.
"""

from __future__ import annotations

import os
import pickle
from argparse import Namespace
from binascii import a2b_base64
from typing import TYPE_CHECKING, Any

from kdissect.api import Dissection
from kdissect.cli.formats.json_lines.fast_lines import FastLines
from kdissect.cli.formats.json_lines.line_filler import learns
from kdissect.cli.jobs.line_merge import behind_number
from kdissect.decoders.generated.summary import NO_SUMMARY, Summary
from kdissect.engine.exchange_rows import Row, union
from kdissect.history.topics.topic_names import ANNOUNCING, DESCRIBE_CLUSTER, FETCH_SNAPSHOT, TopicNames
from kdissect.model.anomaly import Anomaly
from kdissect.model.native import native
from kdissect.schema.logs import METADATA_TOPIC, METADATA_TOPIC_ID
from kdissect.session.exchange import Exchange
from kdissect.session.info import ConnectionInfo

if TYPE_CHECKING:
    from kdissect._native import LinePart
    from kdissect.engine.records.record_sets import RecordSet


_NUMBER = 3
"""Parts of a line that are the number, and what stands around it."""


class UnnumberedLines(FastLines):
    """`FastLines` without numbers."""

    def line_of(self, exchange: Exchange, number: int) -> bytes:
        """Return the exchange as a line of JSON."""
        return behind_number(super().line_of(exchange, number))

    def parts_of(self, exchange: Exchange) -> tuple[list[LinePart], bool]:
        """Return the line of a paired exchange, or of one to which no response belongs."""
        parts, is_stripped = super().parts_of(exchange)
        return [b'"connection":"', *parts[_NUMBER:]], is_stripped


class LinesOfBlocks(UnnumberedLines):
    """Those of blocks. An exchange with topic ids, or that may contain their names, has none
    (`hold_rows`).
    """

    def facts_of(
        self, exchange: Exchange, asked: Summary, answered: Summary | None
    ) -> tuple[tuple[bytes, ...], bool]:
        """Return errors and topics, and whether there are any that hold for the same summaries."""
        if learns(exchange, asked, answered or NO_SUMMARY):
            return (), False
        return super().facts_of(exchange, asked, answered)


# Kinds, after the place, with bytes. LINE has its text. NAMED has text, the offset of the topics' names in it
# (-1: none), capture set, broker, topics, ids, and pairs (id over records, whether there are any) for records
# that count as users' ones. WHOLE and PASSED have a pickled exchange, SKIPPED no bytes.
LINE, NAMED, WHOLE, PASSED, SKIPPED = range(5)
Message = tuple[Any, ...]


class _NeedsAllError(Exception):
    """Only who sees all connections can make the line."""


class _NamesLater(TopicNames):
    """Returns a mark instead of the names of topic ids, and remembers the needed names."""

    def __init__(self, known: TopicNames) -> None:
        super().__init__(known.given)
        self.mark = os.urandom(16).hex()  # not to be guessed by who writes captures
        self.question: tuple[str, str, tuple[str, ...], tuple[bytes, ...]] | None = None
        self.asked: list[bytes | None] = []
        """Ids over records fields, one for each field; None if no filter needs them."""

    def begin(self) -> None:
        """Another exchange."""
        self.question = None
        self.asked.clear()

    def topics_of(self, exchange: Exchange, asked: Summary, answered: Summary) -> tuple[str, ...]:
        """Return the names on the wire, or the mark. Raises _NeedsAllError."""
        topics = union(asked.topics, answered.topics)
        ids = union(asked.topic_ids, answered.topic_ids)
        if not ids:
            if exchange.api_key == DESCRIBE_CLUSTER or METADATA_TOPIC in topics:
                raise _NeedsAllError
            return topics
        if METADATA_TOPIC_ID in ids or (topics and exchange.api_key in ANNOUNCING):
            raise _NeedsAllError
        info = exchange.connection
        self.question = info.capture_set, info.broker_address, topics, ids
        return (self.mark,)

    def name(self, connection: ConnectionInfo, topic_id: bytes) -> str | None:
        """Return the user's name for an id; None for other ids, which the parent then looks up."""
        given = self.given.get(topic_id)
        self.asked.append(topic_id if given is None else None)
        return given


class MessageMaker:
    """Exchanges of a shard to messages. Sets the names of the dissection to `_NamesLater`."""

    def __init__(self, dissection: Dissection, options: Namespace) -> None:
        self._names = _NamesLater(dissection.topics)
        dissection.topics = self._names
        self._mark = f'"topics":["{self._names.mark}"]'.encode()
        self._options = options
        self.filler: native.LineFiller | None = None
        """Holds lines of blocks, where all exchanges are listed."""
        self._line = self._writer(dissection)
        self._taken: list[tuple[bytes, bool]] = []

    def _writer(self, dissection: Dissection) -> Any:
        # at first use, for start-up: each writer loads modules that other writers do not need
        options, names = self._options, self._names
        if not options.bodies:
            self.filler = LinesOfBlocks(dissection.file_names, names.topics_of).filler
            return UnnumberedLines(dissection.file_names, names.topics_of).line
        from kdissect.cli.formats.json_lines.body_lines import BodyLines  # start-up: workers alone make lines

        files, show_secrets = dissection.file_names, options.show_secrets
        if not options.records:
            return BodyLines(files, names.topics_of, show_secrets).line
        return BodyLines(files, names.topics_of, show_secrets, self._nest, _ask).line

    def listed(self, exchange: Exchange) -> Message:
        """Return the message of an exchange that is listed."""
        names = self._names
        names.begin()
        self._taken.clear()
        try:
            line: bytes = self._line(exchange)
        except _NeedsAllError:
            return WHOLE, _pickled(exchange)
        if self._options.bodies:
            line = behind_number(line)
        if names.question is None and not self._taken:
            return LINE, line
        if names.question is None:  # ids of zeros: only their records matter
            info = exchange.connection
            names.question = info.capture_set, info.broker_address, (), ()
            at = -1
        else:
            at = line.index(self._mark)
            line = line[:at] + line[at + len(self._mark) :]
        return NAMED, line, at, *names.question, tuple(self._taken)

    def pass_by(self, exchange: Exchange) -> Message:
        """Return the message of one that is counted only."""
        if exchange.api_key in ANNOUNCING or exchange.api_key == FETCH_SNAPSHOT:
            return PASSED, _pickled(exchange)
        return (SKIPPED,)

    def _nest(self, row: Row, exchange: Exchange) -> list[Anomaly]:
        from kdissect.engine.records.nested_records import nest_batches, nested_batches  # start-up, as above

        names = self._names

        def name_of(records: RecordSet) -> str | None:
            topic_id = records.records_field.topic_id
            if topic_id is None:
                names.asked.append(None)
                return None
            return names.name(exchange.connection, topic_id)

        found = nest_batches(row, exchange, self._options.show_secrets, name_of)
        for topic_id, batches in zip(names.asked, nested_batches(row, exchange), strict=False):
            if topic_id is not None:
                keys = [key for batch in batches for key in _first_key(batch)]
                if any(map(_may_be_own, keys)):
                    raise _NeedsAllError
                self._taken.append((topic_id, bool(keys)))
        return found


def _ask(_connection: ConnectionInfo, _topic_id: bytes) -> str | None:
    """Raise ValueError: `_nest` reads the value of a topic id, and notes what to ask for."""
    raise ValueError


def _first_key(batch: dict[str, Any]) -> list[Any]:
    """Return the key of a batch's first record in its printed form.

    Control records are equal in every topic.
    """
    return [] if batch.get("control") else [record["key"] for record in batch["records"][:1]]


def _may_be_own(key: Any) -> bool:
    """Return whether a key may be that of a record in one of Kafka's own topics.

    Those begin with an int16, the type of the record, of which there are less than 256.
    """
    if isinstance(key, dict):
        return a2b_base64(key["base64"][:4])[:1] == b"\0"
    return key is not None and key[:1] == "\0"


def _pickled(exchange: Exchange) -> bytes:
    exchange.forget_bodies()
    return pickle.dumps(exchange, protocol=5)
